//! What must not work, by anyone.

use super::browser::{Answer, Browser, encoded};
use super::{Pages, RULE};
use crate::support::HEADER;

/// A form that approves all that is held.
fn approval(page: &Answer) -> Vec<(&'static str, String)> {
    vec![
        ("token", page.field("token")),
        ("held_set", page.field("held_set")),
        ("digest", page.field("digest")),
        ("scope", "all".to_owned()),
        ("action", "approve".to_owned()),
    ]
}

fn text(form: &[(&'static str, String)]) -> String {
    encoded(&form.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>())
}

const SAME: (&str, &str) = ("Sec-Fetch-Site", "same-origin");

#[test]
fn who_follows_links_changes_nothing() {
    let pages = Pages::start().holding(0, 1..4);
    let with_session = pages.logged_in("ana", &["hr"]);
    let before = pages.decisions();
    for agent in [
        "Mozilla/5.0 (compatible; Microsoft Safe Links)",
        "Mimecast URL Protect",
        "Proofpoint-URL-Defense",
        "SkypeUriPreview",
        "Slackbot-LinkExpanding 1.0",
        "Slack-ImgProxy",
        "TelegramBot",
        "facebookexternalhit/1.1",
        "Barracuda Sentinel",
        "curl/8.0",
    ] {
        for browser in [pages.browser(), with_session.clone()] {
            let mut browser = browser.with("User-Agent", agent);
            for method in ["GET", "HEAD"] {
                for target in [
                    "/",
                    "/held/staff",
                    "/held/staff?action=approve&scope=all",
                    "/held/staff?set=1",
                    "/pause/staff",
                    "/resume/staff",
                    "/logout",
                    "/approve/staff",
                ] {
                    let status = browser.send(method, target, &[], "").status;
                    assert!([200, 303, 404, 405].contains(&status), "{agent}: {method} {target}: {status}");
                }
            }
            for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
                let status = browser.send(method, "/held/staff", &[SAME], "").status;
                assert!([404, 405].contains(&status), "{method}: {status}");
            }
        }
    }
    assert_eq!((pages.decisions(), pages.held()), (before, 3));
    assert_eq!(with_session.clone().get("/held/staff").status, 200, "they are logged in still");
}

#[test]
fn a_form_of_another_site_decides_nothing() {
    let pages = Pages::start().holding(0, 1..4);
    let mut browser = pages.logged_in("ana", &["hr"]);
    let page = browser.get("/held/staff").expect(200);
    let form = approval(&page);
    let own = format!("http://127.0.0.1:{}", pages.port);
    for headers in [
        &[("Sec-Fetch-Site", "cross-site")][..],
        &[("Sec-Fetch-Site", "cross-site"), ("Origin", own.as_str())],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Sec-Fetch-Site", "none")],
        &[("Origin", "https://evil.example.net")],
        &[("Origin", "null")],
        &[],
    ] {
        for target in ["/held/staff", "/pause/staff", "/logout"] {
            let answer = browser.send("POST", target, headers, &text(&form));
            assert_eq!(answer.status, 403, "{target} {headers:?}: {answer:?}");
        }
    }
    // From these pages, but without the token of the session, or with another's.
    let mut other = pages.logged_in("bo", &["hr"]);
    let theirs = other.get("/held/staff").expect(200).field("token");
    for token in [None, Some(String::new()), Some(theirs), Some("x".repeat(43))] {
        let rest = form.iter().filter(|(name, _)| *name != "token").cloned();
        let form: Vec<(&str, String)> = token.map(|token| ("token", token)).into_iter().chain(rest).collect();
        browser.send("POST", "/held/staff", &[SAME], &text(&form)).expect(403);
    }
    let twice = text(&form) + "&" + &encoded(&[("token", &page.field("token"))]);
    browser.send("POST", "/held/staff", &[SAME], &twice).expect(403);
    // Without a session, and as another kind of content than a form's.
    pages.browser().send("POST", "/held/staff", &[SAME], &text(&form)).expect(403);
    let plain = [SAME, ("Content-Type", "text/plain")];
    browser.send("POST", "/held/staff", &plain, &text(&form)).expect(415);
    assert_eq!((pages.decisions().len(), pages.held()), (0, 3));
    // An older browser says its origin only.
    browser.send("POST", "/held/staff", &[("Origin", &own)], &text(&form)).expect(200);
    assert_eq!(pages.decisions().len(), 1);
}

#[test]
fn another_host_is_not_answered() {
    let pages = Pages::start().holding(0, 1..4);
    let browser = pages.logged_in("ana", &["hr"]);
    let own = browser.host.clone();
    for host in
        ["evil.example.net", "127.0.0.1", "localhost", "evil.example.net:9465", &format!("{own}.evil.example.net")]
    {
        for target in ["/", "/held/staff", "/login", "/callback"] {
            let mut rebound = Browser { host: host.to_owned(), ..browser.clone() };
            let answer = rebound.get(target);
            assert_eq!(answer.status, 421, "{host} {target}: {answer:?}");
            assert!(!answer.body.contains("Person") && answer.header("set-cookie").is_none());
        }
    }
    let mut twice = browser.clone().with("Host", "evil.example.net");
    assert!([400, 421].contains(&twice.get("/held/staff").status));
    let mut absolute = browser.clone();
    absolute.get("http://evil.example.net/held/staff").expect(421);
}

#[test]
fn a_header_on_tcp_says_nothing() {
    let pages = Pages::start().holding(0, 1..4);
    for name in ["X-Remote-User", "X-Forwarded-User", "Remote-User", "X-Forwarded-Email", "Authorization"] {
        let mut browser = pages.browser().with(name, "ana@example.com").with("X-Remote-Groups", "hr");
        assert_eq!(browser.get("/held/staff").expect(303).header("location"), Some("/login?job=staff"), "{name}");
    }
}

#[test]
fn a_form_that_is_too_long_is_not_read_to_its_end() {
    let pages = Pages::start().holding(0, 1..4);
    let mut browser = pages.logged_in("ana", &["hr"]);
    let form = approval(&browser.get("/held/staff").expect(200));
    let long = text(&form) + "&key=" + &"a".repeat(10_000_000);
    let status = browser.send("POST", "/held/staff", &[SAME], &long).status;
    assert!([413, 0].contains(&status), "{status}");
    // Who is not logged in is answered without that anything of it is read.
    let status = pages.browser().send("POST", "/held/staff", &[SAME], &long).status;
    assert!([403, 0].contains(&status), "{status}");
    assert_eq!(pages.held(), 3);
}

#[test]
fn a_job_that_one_may_not_see_is_as_one_that_is_not_there() {
    let rule = format!(
        "{RULE}[[approvals.allow]]\ngroup = \"stop\"\njobs = [\"*\"]\nmay = [\"pause\"]\n\
                        [[approvals.allow]]\ngroup = \"look\"\njobs = [\"*\"]\nmay = [\"see\"]\n"
    );
    let pages = Pages::with("", &rule).holding(0, 1..4);
    let mut stranger = pages.logged_in("eve", &["it"]);
    let missing = stranger.get("/held/nothing").expect(404);
    let hidden = stranger.get("/held/staff").expect(404);
    assert_eq!(missing.body, hidden.body);
    let list = stranger.get("/").expect(200);
    assert!(!list.body.contains("staff") && list.body.contains("no job"), "{list:?}");
    let token = list.field("token");
    for target in ["/held/staff", "/held/nothing", "/pause/staff", "/pause/nothing", "/resume/staff"] {
        let form =
            [("token", token.as_str()), ("action", "approve"), ("scope", "all"), ("held_set", "1"), ("digest", "x")];
        let answer = stranger.post(target, &form).expect(404);
        assert_eq!(answer.body, missing.body, "{target}");
    }
    // Who may only look decides nothing; who may only pause sees no one.
    let mut looks = pages.logged_in("lou", &["look"]);
    let page = looks.get("/held/staff").expect(200);
    assert!(!page.body.contains("value=\"approve\"") && !page.body.contains("value=\"reject\""), "{page:?}");
    for action in ["approve", "reject"] {
        let mut form = approval(&page);
        form.retain(|(name, _)| *name != "action");
        form.push(("action", action.to_owned()));
        looks.send("POST", "/held/staff", &[SAME], &text(&form)).expect(403);
    }
    looks.post("/pause/staff", &[("token", &page.field("token"))]).expect(403);
    let mut stops = pages.logged_in("sam", &["stop"]);
    stops.get("/held/staff").expect(404);
    let list = stops.get("/").expect(200);
    assert!(list.body.contains("staff") && !list.body.contains("Person"), "{list:?}");
    assert_eq!((pages.decisions().len(), pages.held()), (0, 3));
}

#[test]
fn a_name_that_is_code_is_shown_as_a_text() {
    let pages = Pages::start();
    let name = "<script>alert(1)</script>\\\"'><img src=x onerror=alert(2)>";
    let row = format!("\"<b>1</b>\",\"{}\",ana@example.com,\"javascript:alert(3)\"\n", name.replace('"', "\"\""));
    pages.world.sync_of(format!("{HEADER}{row}")).expect(4);
    let pages = pages.up();
    let mut browser = pages.logged_in("ana", &["hr"]);
    let page = browser.get("/held/staff").expect(200);
    for part in ["<script", "<img", "<b>1", "src=x onerror=alert(2)>"] {
        assert!(!page.body.contains(part), "{part}: {page:?}");
    }
    assert!(page.body.contains("&lt;script&gt;alert(1)"), "{page:?}");
    let policy = page.header("content-security-policy").unwrap();
    for part in ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("script-src"), "{policy}");
    for (name, value) in [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        assert_eq!(page.header(name), Some(value), "{name}");
    }
    for target in ["/held/<script>", "/login?job=<script>", "/callback?error=<script>&state=<script>", "/<script>"] {
        let answer = browser.clone().get(&target.replace('<', "%3C").replace('>', "%3E"));
        assert!(!answer.body.contains("<script"), "{target}: {answer:?}");
    }
}
