//! Who asks for the file.

use super::{HIDDEN, TARGET, config, source};
use crate::support::web::{Arrived, Part, Web, answer, file};
use crate::support::{Config, World, authority, people};

const BASIC: &str = "user = \"ana\"\npassword_file = \"word\"\n";
const BEARER: &str = "token_file = \"word\"\n";

/// The lines of a client that gets its tokens at that address.
fn client(web: &Web) -> String {
    let url = web.url("/token?tenant=s3cret");
    format!(
        "oauth = {{ token_url = \"{url}\", client_id = \"rosterd\", client_secret_file = \"word\", scopes = [\"a\", \"b\"] }}\n"
    )
}

fn world(web: &Web, lines: &str) -> World {
    let world = World::of(Config { source: source(web, lines), ..config(web, "") });
    world.put("word", b"hunter2\n");
    world
}

fn issued(arrived: &Arrived) -> Option<Vec<Part>> {
    let token = br#"{"access_token": "t0ken", "token_type": "Bearer", "expires_in": 60}"#;
    arrived.line.starts_with("POST /token").then(|| answer(200, "application/json", "", token))
}

#[test]
fn the_file_is_asked_for_as_the_configuration_says() {
    // "ana:hunter2" and "rosterd:hunter2" in base64.
    for (lines, authorization) in [
        ("", None),
        (BASIC, Some("Basic YW5hOmh1bnRlcjI=")),
        (BEARER, Some("Bearer hunter2")),
        ("oauth", Some("Bearer t0ken")),
    ] {
        let web = Web::start(|arrived, _| issued(arrived).unwrap_or_else(|| file(&people(1..4))));
        let lines = if lines == "oauth" { client(&web) } else { lines.to_owned() };
        let world = world(&web, &lines);
        assert_eq!(world.sync().expect(0).writes(), (3, 0, 0), "{lines}");
        let arrived = web.arrived();
        let last = arrived.last().unwrap();
        assert_eq!(
            (last.line.as_str(), last.header("authorization")),
            (format!("GET {TARGET}").as_str(), authorization)
        );
        if lines.starts_with("oauth") {
            assert_eq!(arrived[0].header("authorization"), Some("Basic cm9zdGVyZDpodW50ZXIy"));
            assert_eq!(arrived[0].body, "grant_type=client_credentials&scope=a+b");
        }
    }
}

#[test]
fn law_11_a_credential_that_is_not_taken_is_named_by_its_keys() {
    for (lines, words) in [
        (BASIC, "401: the credential was not taken; check `user`"),
        (BEARER, "401: the credential was not taken; check `token_file`"),
        ("", "401: the credential was not taken; check whether it wants one"),
        ("oauth", "/token: "),
    ] {
        let web = Web::start(|_, _| answer(401, "text/html", "", b"hunter2 is wrong"));
        let lines = if lines == "oauth" { client(&web) } else { lines.to_owned() };
        let world = world(&web, &lines);
        let ran = world.sync().hides(&HIDDEN).hides(&["hunter2"]).expect(1);
        let (status, _, reason) = ran.ended();
        assert!(status == "failed" && reason.contains(words), "{lines}: {reason}");
        assert_eq!(web.arrived().len(), 1, "a refusal is not tried again in the same run");
    }
}

#[test]
fn a_password_that_was_refused_is_not_tried_again_before_it_changes_or_a_check_is_taken() {
    let web = Web::start(|_, _| answer(401, "text/plain", "", b""));
    let world = world(&web, BASIC);
    let asked = |code: i32, word: &str| {
        let ran = world.sync().hides(&HIDDEN).expect(code);
        assert!(ran.reason().contains(word), "{ran:?}");
        web.arrived().len()
    };
    assert_eq!(asked(1, "401: the credential was not taken"), 1);
    assert_eq!(asked(1, "are not tried again, so that the account is not locked"), 1);
    world.put("word", b"another\n");
    assert_eq!(asked(1, "401: the credential was not taken"), 2);
    world.put("word", b"hunter2\n");
    assert_eq!(asked(1, "are not tried again"), 2);
    web.say(|_, _| file(&people(1..4)));
    assert_eq!(asked(1, "are not tried again"), 0);
    world.run(&["check"]).expect(0);
    assert_eq!(asked(0, ""), 2);
}

#[test]
fn a_password_that_was_replaced_is_found_at_the_next_run() {
    let web = Web::start(|arrived, _| match arrived.header("authorization") {
        Some("Bearer hunter2") => answer(401, "text/plain", "", b""),
        _ => file(&people(1..4)),
    });
    let world = world(&web, BEARER);
    world.sync().expect(1);
    world.put("word", b"another\n");
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
}

#[test]
fn an_authority_of_ones_own_is_believed_where_it_is_named() {
    let dir = tempfile::tempdir().unwrap();
    authority::certificates(dir.path(), "DNS:localhost");
    let web = Web::secured(authority::server(dir.path()), |_, _| file(&people(1..13)));
    let world = World::of(config(&web, ""));
    let ran = world.sync().hides(&HIDDEN).expect(1);
    assert!(ran.reason().contains("set ca_file") && web.arrived().is_empty(), "{ran:?}");
    world.edit_config("type =", &format!("ca_file = {:?}\ntype =", dir.path().join("ca.pem")));
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (12, 0, 0));
}
