//! Jobs with a file of a web server.

use std::time::Duration;

use super::support::{API, JOB, Place};
use crate::config::Config;
use crate::source::Source;
use crate::source::https::{Login, Options};

const URL: &str = "url = \"https://hr.example.com/report.csv?key=s3cret\"\n";

fn place(lines: &str) -> Place {
    let place = Place::with(&format!("{API}{}", JOB.replace("path = \"hr.csv\"\n", lines)));
    place.file("word", "hunter2\n", 0o600);
    place
}

fn options(config: Config) -> Options {
    let Source::Web(options) = config.jobs[0].source.clone() else { panic!("the job reads a download") };
    *options
}

#[test]
fn a_download_has_defaults_and_is_shown_without_its_secrets() {
    let options = options(place(URL).load(&[]).unwrap());
    assert_eq!((options.timeout, options.content.size_max), (Duration::from_secs(1800), 512_000_000));
    assert!(options.login.is_none() && options.ca_file.is_none() && options.headers.is_empty());
    assert_eq!(options.content.shown().to_str(), Some("https://hr.example.com/report.csv"));
}

#[test]
fn law_11_who_asks_is_said_in_one_of_three_ways_and_never_shown() {
    let oauth = "token_url = \"https://login.example.com/token?s3cret\", client_id = \"me\"";
    for (lines, is_expected) in [
        (
            "user = \"ana\"\npassword_file = \"word\"\n".to_owned(),
            (|login| matches!(login, Login::Basic { user, .. } if user == "ana")) as fn(&Login) -> bool,
        ),
        ("user = \"ana\"\npassword = \"hunter2\"\n".into(), |login| matches!(login, Login::Basic { .. })),
        ("token_file = \"word\"\n".into(), |login| matches!(login, Login::Bearer(_))),
        ("token = \"hunter2\"\n".into(), |login| matches!(login, Login::Bearer(_))),
        (
            format!("oauth = {{ {oauth}, client_secret_file = \"word\" }}\n"),
            |login| matches!(login, Login::Client(client) if client.scopes.is_empty()),
        ),
        (
            format!("oauth = {{ {oauth}, client_secret = \"hunter2\", scopes = [\"a\", \"b\"] }}\n"),
            |login| matches!(login, Login::Client(client) if client.scopes == ["a", "b"]),
        ),
    ] {
        let lines = format!("{URL}{lines}headers = {{ Accept = \"s3cret\" }}\n");
        let config = place(&lines).load(&[]).unwrap();
        let shown = format!("{config:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("s3cret"), "{shown}");
        assert!(is_expected(options(config).login.as_ref().unwrap()), "{lines}");
    }
    for (lines, name) in [
        ("user = \"ana\"\n", "employees.password"),
        ("oauth = { token_url = \"https://login.example.com/\", client_id = \"me\" }\n", "employees.oauth_secret"),
    ] {
        let place = place(&format!("{URL}{lines}"));
        place.file(name, "hunter2\n", 0o440);
        let dir = place.dir.path().to_str().unwrap().to_owned();
        assert!(options(place.load(&[("CREDENTIALS_DIRECTORY", &dir)]).unwrap()).login.is_some(), "{name}");
    }
}

#[test]
fn what_is_wrong_with_a_download_is_named() {
    let basic = "user = \"ana\"\npassword_file = \"word\"\n";
    for (lines, expected) in [
        ("url = \"http://hr.example.com/s3cret\"\n".to_owned(), "url: would have people sent in clear text"),
        ("url = \"https://ana:s3cret@hr.example.com/\"\n".into(), "url: holds a user or a password, which belong into"),
        ("url = [\"https://a.example.com/\", \"https://b.example.com/\"]\n".into(), "url: of a file is one address"),
        (format!("path = \"hr.csv\"\n{URL}"), "path: goes with a file; leave it out"),
        (format!("{URL}settle = \"2s\"\n"), "settle: goes with a file; leave it out"),
        (format!("{URL}pattern = \"*.csv\"\n"), "pattern: goes with a file; leave it out"),
        (format!("{URL}bind_dn = \"cn=me\"\n"), "bind_dn: goes with type = \"ldap\"; leave it out"),
        ("path = \"hr.csv\"\nheaders = {}\n".into(), "headers: goes with `url` of a file; leave it out"),
        ("path = \"hr.csv\"\nuser = \"ana\"\n".into(), "user: goes with `url` of a file; leave it out"),
        ("path = \"hr.csv\"\ntimeout = \"5m\"\n".into(), "timeout: goes with `url` of a file or type = \"ldap\""),
        (format!("{URL}{basic}token_file = \"word\"\n"), "token_file: two kinds of credential are given"),
        (format!("{URL}{basic}oauth = {{ client_id = \"me\" }}\n"), "oauth: two kinds of credential are given"),
        (format!("{URL}user = \"ana\"\n"), "password_file: is missing; put it into a file of its own"),
        (format!("{URL}password_file = \"word\"\n"), "user: is missing; a password is there; say whose it is"),
        (format!("{URL}user = \"a:b\"\npassword_file = \"word\"\n"), "user: holds a colon"),
        (
            format!("{URL}oauth = {{ client_id = \"me\", client_secret_file = \"word\" }}\n"),
            "oauth.token_url: is missing",
        ),
        (
            format!("{URL}headers = {{ Authorization = \"hunter2\" }}\n"),
            "headers: \"Authorization\" would carry a secret",
        ),
        (format!("{URL}headers = {{ Range = \"hunter2\" }}\n"), "headers: \"Range\" decides what is answered"),
        (format!("{URL}timeout = \"0s\"\n"), "timeout: must be more than nothing"),
        (format!("{URL}ca_file = \"none.pem\"\n"), "ca_file: there is no file"),
    ] {
        let errors = place(&lines).load(&[]).unwrap_err();
        let (line, said) = errors[0].split_once("job.source.").unwrap_or_default();
        assert!(line.starts_with("config.toml:") && said.starts_with(expected), "{lines}: {errors:?}");
        assert_eq!(errors.len(), 1, "{lines}: {errors:?}");
        assert!(!errors[0].contains("s3cret") && !errors[0].contains("hunter2"), "{errors:?}");
    }
}

#[test]
fn a_secret_in_place_makes_the_file_its_owners_only() {
    for line in ["user = \"ana\"\npassword = \"hunter2\"\n", "token = \"hunter2\"\n"] {
        let place = place(&format!("{URL}{line}"));
        let text = std::fs::read_to_string(place.dir.path().join("config.toml")).unwrap();
        place.file("config.toml", &text, 0o640);
        let errors = place.load(&[]).unwrap_err();
        assert!(errors[0].contains("with a secret in it, only its owner may read this file"), "{errors:?}");
    }
}
