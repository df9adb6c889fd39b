//! Logins at a provider that says the right, and at one that does not.

use serde_json::{Value, json};

use super::Pages;
use super::browser::Browser;
use super::provider::value;
use crate::support::web::{Part, answer};

/// Fails where someone is logged in.
fn expect_no_session(browser: &mut Browser) {
    assert!(!browser.cookies.contains_key("__Host-rosterd"), "{:?}", browser.cookies);
    assert_eq!(browser.get("/").status, 303);
}

#[test]
fn a_login_leads_to_the_provider_and_back_to_the_page_that_was_asked_for() {
    let pages = Pages::start().holding(0, 1..4);
    let mut browser = pages.browser();
    let asked = browser.get("/held/staff").expect(303);
    assert_eq!(asked.header("location"), Some("/login?job=staff"));
    pages.provider.person("ana", &["hr", "all"]);
    let url = pages.provider.begin(&mut browser, "/login?job=staff");
    for (name, expected) in [
        ("response_type", "code"),
        ("client_id", "rosterd"),
        ("scope", "openid profile email"),
        ("code_challenge_method", "S256"),
        ("redirect_uri", &format!("http://127.0.0.1:{}/callback", pages.port)),
    ] {
        assert_eq!(value(&url, name), expected);
    }
    let before = browser.cookies.clone();
    let back =
        browser.get(&format!("/callback?code=code-1&state={}&iss={}", value(&url, "state"), pages.provider.issuer()));
    assert_eq!((back.status, back.header("location")), (303, Some("/held/staff")), "{back:?}");
    let cookie = back.headers("set-cookie").find(|cookie| cookie.starts_with("__Host-rosterd=")).unwrap();
    assert!(cookie.ends_with("; Path=/; Secure; HttpOnly; SameSite=Lax"), "{cookie}");
    assert!(!browser.cookies.contains_key("__Host-rosterd-login"), "a login is used up");
    let page = browser.get("/held/staff").expect(200);
    assert!(page.body.contains("ana@example.com") && page.body.contains("Person 1"), "{page:?}");

    // The same code, by someone who saw it.
    let mut other = Browser { cookies: before, ..pages.browser() };
    let target = format!("/callback?code=code-1&state={}", value(&url, "state"));
    other.get(&target).expect(403);
    expect_no_session(&mut other);

    let token = page.field("token");
    let old = browser.cookies.clone();
    browser.post("/logout", &[("token", &token)]).expect(200);
    let mut again = Browser { cookies: old, ..pages.browser() };
    assert_eq!(again.get("/held/staff").status, 303, "the session is over wherever its cookie is");
}

#[test]
fn a_login_of_another_browser_is_none() {
    let pages = Pages::start().holding(0, 1..4);
    pages.provider.person("ana", &["hr"]);
    let (mut one, mut other) = (pages.browser(), pages.browser());
    let url = pages.provider.begin(&mut one, "/login");
    let state = value(&url, "state");
    // A link that an attacker prepared: their code, in the browser of someone who began no login, or another.
    other.get(&format!("/callback?code=code-1&state={state}")).expect(400);
    pages.provider.begin(&mut other, "/login");
    for target in [
        format!("/callback?code=code-1&state={state}"),
        "/callback?code=code-1&state=".to_owned(),
        "/callback?code=code-1".to_owned(),
        "/callback".to_owned(),
        format!("/callback?state={state}&state={state}"),
    ] {
        let mut other = other.clone();
        assert!(other.get(&target).status >= 400, "{target}");
        expect_no_session(&mut other);
    }
    let asked = pages.provider.asked().len();
    let mut forged = one.clone();
    forged.cookies.insert("__Host-rosterd-login".into(), "e30.AAAA".into());
    forged.get(&format!("/callback?code=code-1&state={state}")).expect(400);
    assert_eq!(pages.provider.asked().len(), asked, "the provider is not asked for what was not begun here");
    // An answer of another provider (RFC 9207), and one of an error.
    for rest in ["code=code-1&iss=https://evil.example.net", "error=access_denied"] {
        let mut browser = one.clone();
        assert!(browser.get(&format!("/callback?{rest}&state={state}")).status >= 400);
        expect_no_session(&mut browser);
    }
    let head = one.clone().send("HEAD", &format!("/callback?code=code-1&state={state}"), &[], "");
    assert_eq!(head.status, 404, "what only looks uses up no code");
    pages.provider.log_in(&mut one, "/login").expect(303);
}

#[test]
fn a_token_that_is_not_right_to_the_letter_logs_no_one_in() {
    let pages = Pages::start().holding(0, 1..4);
    pages.provider.person("ana", &["hr"]);
    let set = |name: &'static str, value: Value| {
        Box::new(move |_: &mut Value, claims: &mut Value| claims[name] = value.clone())
            as Box<dyn Fn(&mut Value, &mut Value) + Send + Sync>
    };
    let head = |name: &'static str, value: Value| {
        Box::new(move |head: &mut Value, _: &mut Value| head[name] = value.clone())
            as Box<dyn Fn(&mut Value, &mut Value) + Send + Sync>
    };
    for (case, twist) in [
        ("another issuer", set("iss", json!("https://evil.example.net"))),
        ("another client", set("aud", json!("other"))),
        ("another client too", set("aud", json!(["rosterd", "other"]))),
        ("another party", set("azp", json!("other"))),
        ("another login", set("nonce", json!("n"))),
        ("no login", set("nonce", Value::Null)),
        ("expired", set("exp", json!(1_600_000_000))),
        ("not yet", set("nbf", json!(4_000_000_000_u64))),
        ("nobody", set("sub", Value::Null)),
        ("unsigned", head("alg", json!("none"))),
        ("by a secret", head("alg", json!("HS256"))),
        ("an unknown key", head("kid", json!("other"))),
    ] {
        pages.provider.twist(twist);
        let mut browser = pages.browser();
        let answer = pages.provider.log_in(&mut browser, "/login");
        assert_eq!(answer.status, 403, "{case}: {answer:?}");
        expect_no_session(&mut browser);
    }
    pages.provider.be_good();
    pages.provider.change_key("k1", false);
    let mut browser = pages.browser();
    pages.provider.log_in(&mut browser, "/login").expect(403);
    expect_no_session(&mut browser);
}

#[test]
fn keys_are_asked_for_again_where_a_token_names_another() {
    let pages = Pages::start().holding(0, 1..4);
    pages.logged_in("ana", &["hr"]);
    pages.provider.change_key("k2", true);
    let asked = || pages.provider.asked().iter().filter(|line| line.contains("/jwks")).count();
    let before = asked();
    pages.provider.person("ana", &["hr"]);
    let mut browser = pages.browser();
    let answer = pages.provider.log_in(&mut browser, "/login");
    // Within ten seconds of the last time they are not: who sends tokens must not make it ask again and again.
    assert!(answer.status == 303 && asked() == before + 1 || answer.status == 403 && asked() == before, "{answer:?}");
}

#[test]
fn an_answer_that_is_endless_elsewhere_or_no_answer_logs_no_one_in() {
    let endless = || {
        let head = b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n".to_vec();
        vec![Part::Bytes(head), Part::Endless(b" ".repeat(64 * 1024))]
    };
    let leads = || answer(302, "text/html", "location: https://evil.example.net/\r\n", b"");
    for (target, parts) in [
        ("/token", endless()),
        ("/token", leads()),
        ("/token", answer(200, "application/json", "", b"{}")),
        ("/token", answer(200, "text/html", "", b"<html>")),
        ("/token", answer(500, "text/plain", "", b"")),
        ("/jwks", endless()),
        ("/jwks", leads()),
        ("/jwks", answer(200, "application/json", "", b"[]")),
    ] {
        let pages = Pages::start().holding(0, 1..4);
        pages.provider.person("ana", &["hr"]);
        pages.provider.say(target, parts);
        let mut browser = pages.browser();
        let refused = pages.provider.log_in(&mut browser, "/login");
        assert!(matches!(refused.status, 403 | 502), "{target}: {refused:?}");
        assert!(!refused.body.contains("evil.example.net"), "{refused:?}");
        expect_no_session(&mut browser);
        pages.provider.be_good();
        assert_eq!(pages.provider.log_in(&mut browser, "/login").status, 303, "{target}: then it works");
    }
}

#[test]
fn a_provider_that_calls_itself_otherwise_is_not_asked_to_log_anybody_in() {
    let described = |issuer: &str, endpoint: &str| {
        let text = json!({
            "issuer": issuer, "authorization_endpoint": endpoint, "token_endpoint": endpoint, "jwks_uri": endpoint,
        });
        answer(200, "application/json", "", text.to_string().as_bytes())
    };
    let pages = Pages::start().holding(0, 1..4);
    let issuer = pages.provider.issuer();
    for parts in [
        described("https://evil.example.net", "https://evil.example.net/x"),
        described(&format!("{issuer}/"), &format!("{issuer}/authorize")),
        described(&issuer, "http://evil.example.net/x"),
        described(&issuer, "javascript:alert(1)"),
        answer(200, "application/json", "", b"{}"),
        answer(404, "text/plain", "", b""),
    ] {
        pages.provider.be_good();
        pages.provider.say("/openid-configuration", parts);
        let answer = pages.browser().get("/login").expect(502);
        assert!(answer.header("location").is_none() && !answer.body.contains("<script"), "{answer:?}");
    }
    pages.provider.be_good();
    pages.browser().get("/login").expect(303);
}

#[test]
fn an_address_that_was_not_verified_names_no_one() {
    let rule = "[[approvals.allow]]\nuser = \"ana@example.com\"\njobs = [\"*\"]\nmay = [\"see\"]\n";
    let pages = Pages::with("", rule).holding(0, 1..4);
    let claims =
        |verified: Value| json!({"sub": "7", "email": "ana@example.com", "email_verified": verified, "groups": ["x"]});
    for (verified, expected) in [(json!(true), 200), (json!(false), 404), (json!("true"), 404), (Value::Null, 404)] {
        let mut browser = pages.browser();
        pages.provider.claims(claims(verified.clone()));
        pages.provider.log_in(&mut browser, "/login");
        assert_eq!(browser.get("/held/staff").status, expected, "{verified}");
    }
}
