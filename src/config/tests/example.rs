//! The example is complete, and it works.

use std::collections::BTreeSet;

use super::support::Place;
use crate::config::keys::{KNOWN, Key, Shape, canonical};
use crate::config::{Login, Protection};

const EXAMPLE: &str = include_str!("../../../config.example.toml");

#[test]
fn the_example_loads_without_a_warning() {
    let place = Place::with(EXAMPLE);
    place.file("client-secret", "sesame", 0o600);
    let config = place.load(&[]).unwrap();
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert_eq!(config.jobs.len(), 1);
}

#[test]
fn the_example_shows_every_key_and_no_other() {
    let shown: BTreeSet<String> = keys_shown(EXAMPLE).into_iter().map(|(key, _)| key).collect();
    let free = |key: &str| {
        KNOWN.iter().any(|table| {
            matches!(table.shape, Shape::Texts | Shape::Lookups | Shape::Named)
                && key.starts_with(&format!("{}.", table.name))
        })
    };
    for Key { name: key, shape, .. } in
        KNOWN.iter().filter(|key| !matches!(key.shape, Shape::Table | Shape::Tables | Shape::Named))
    {
        let there = shown.contains(*key) || shown.iter().any(|shown| shown.starts_with(&format!("{key}.")));
        assert!(there, "{key} ({shape:?}) is not in the example");
    }
    for key in &shown {
        assert!(KNOWN.iter().any(|known| known.name == key) || free(key), "{key} is in the example, and not known");
    }
}

#[test]
fn every_line_of_the_example_is_right_when_its_mark_is_removed() {
    let one_credential_only = ["api.client_secret", "api.api_key", "api.api_key_file", "api.api_key_scheme"];
    let of_a_database = ["state.password", "state.password_file", "state.ca_file", "state.spill_dir", "state.node"];
    let (before, _) = EXAMPLE.split_once(DIRECTORIES).unwrap();
    for (key, line) in keys_shown(before) {
        let marked = format!("# {line}");
        if !before.lines().any(|written| written == marked) {
            continue;
        }
        // A mail needs its keys all together, and so do the recipients of a job, decisions and further credentials.
        if key.starts_with("notify.mail.")
            || key.starts_with("job.notify.")
            || key.starts_with("approvals.")
            || key.starts_with("api.credentials.")
            || of_a_database.contains(&key.as_str())
            || one_credential_only.contains(&key.as_str())
            || !EXAMPLE.lines().any(|written| written == marked)
        {
            continue;
        }
        let place = Place::with(&before.replace(&marked, &line));
        place.file("client-secret", "sesame", 0o600);
        place.file("ca.pem", "", 0o600);
        if let Err(found) = place.load(&[]) {
            panic!("{line}: {found:?}");
        }
    }
}

/// Where the examples of directories begin; those of a tenant and of web servers are behind them.
const DIRECTORIES: &str = "# --- OpenLDAP ---\n";

/// Only one of the ways to give a secret.
const OTHER_WAYS: [&str; 7] =
    ["bind_password =", "password =", "token_file =", "token =", "client_secret =", "certificate_file =", "key_file ="];

/// The examples of directories, a tenant and web servers, without the marks before their lines; remarks stay remarks.
fn servers() -> Vec<String> {
    let (_, sections) = EXAMPLE.split_once(DIRECTORIES).unwrap();
    let is_code =
        |line: &str| line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
    let unmarked = |line: &str| match line.strip_prefix("# ") {
        Some(code) if is_code(code) && !OTHER_WAYS.iter().any(|way| code.starts_with(way)) => format!("{code}\n"),
        _ => format!("# {line}\n"),
    };
    sections.split("# --- ").map(|section| section.lines().map(unmarked).collect()).collect()
}

#[test]
fn every_server_of_the_example_works_as_it_stands() {
    let (api, _) = EXAMPLE.split_once("# One [[job]]").unwrap();
    let servers = servers();
    assert_eq!(servers.len(), 7);
    for server in servers {
        let place = Place::with(&format!("{api}{server}"));
        for (name, text) in [
            ("client-secret", "sesame"),
            ("bind-password", "sesame"),
            ("report-password", "sesame"),
            ("ca.pem", ""),
            ("rosterd.pem", include_str!("../../../tests/fixtures/certificates/client.pem")),
            ("rosterd.key", include_str!("../../../tests/fixtures/certificates/client.key")),
        ] {
            place.file(name, text, 0o600);
        }
        let config = place.load(&[]).unwrap();
        assert!(["directory", "report"].contains(&config.jobs[0].name.as_str()));
        assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    }
}

#[test]
fn the_mail_of_the_example_works_as_it_stands() {
    let (before, rest) = EXAMPLE.split_once("[notify.mail]\n").unwrap();
    let (mail, after) = rest.split_once("\n\n").unwrap();
    let given: Vec<&str> = mail.lines().filter(|line| !line.contains("password = ")).collect();
    let given: Vec<&str> =
        given.iter().map(|line| line.trim_start_matches("# ")).filter(|line| line.contains(" = ")).collect();
    let after = ["mail_to =", "digest =", "digest_names ="]
        .iter()
        .fold(after.to_owned(), |after, key| after.replace(&format!("# {key}"), key));
    let place = Place::with(&format!("{before}[notify.mail]\n{}\n\n{after}", given.join("\n")));
    place.file("client-secret", "sesame", 0o600);
    place.file("smtp-password", "sesame", 0o600);
    let config = place.load(&[]).unwrap();
    let own = &config.jobs[0].notify;
    assert_eq!((own.mail_to.len(), own.digest.is_some()), (1, true));
    let mail = config.notify.mail.unwrap();
    assert_eq!(mail.to, ["it@example.com"]);
    assert_eq!((mail.relay.port, mail.relay.protection), (465, Protection::Tls));
}

#[test]
fn the_decisions_of_the_example_work_as_they_stand() {
    let (before, rest) = EXAMPLE.split_once("[approvals]\n").unwrap();
    let (approvals, after) = rest.split_once("\n# How long people's data").unwrap();
    let of_proxy = ["socket", "proxy_user", "user_header", "groups_header"];
    let of_provider = ["listen", "fresh_login_leavers", "issuer", "client_id", "client_secret_file"];
    let of_provider = [&of_provider[..], &["user_claim", "groups_claim", "scopes", "ca_file", "proxy"]].concat();
    for (left_out, behind_proxy) in [(&of_proxy[..], false), (&of_provider, true)] {
        let is_code =
            |line: &&str| line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
        let key = |line: &str| line.split(" = ").next().unwrap_or_default().to_owned();
        let lines = approvals.lines().map(|line| line.trim_start_matches("# ")).filter(is_code);
        let lines = lines.filter(|line| !left_out.contains(&key(line).as_str()));
        let lines: Vec<&str> = lines.filter(|line| !["user", "client_secret"].contains(&key(line).as_str())).collect();
        let place = Place::with(&format!("{before}[approvals]\n{}\n# {after}", lines.join("\n")));
        for (name, text) in [("client-secret", "sesame"), ("oidc-secret", "sesame"), ("oidc-ca.pem", "")] {
            place.file(name, text, 0o600);
        }
        let approvals = place.load(&[]).unwrap().approvals.unwrap();
        assert_eq!(approvals.rules.len(), 1);
        assert_eq!(matches!(approvals.login, Login::Proxy(_)), behind_proxy);
    }
}

/// Every key of a part of the example, commented out or not, with its line.
fn keys_shown(text: &str) -> Vec<(String, String)> {
    let mut table = String::new();
    let mut keys = Vec::new();
    for line in text.lines() {
        if line.starts_with('[') {
            table = line.trim_matches(['[', ']']).to_owned();
            continue;
        }
        let line = line.strip_prefix("# ").unwrap_or(line);
        if line.starts_with('[') {
            table = line.trim_matches(['[', ']']).to_owned();
            continue;
        }
        let Some((key, _)) = line.split_once(" = ") else { continue };
        if key.contains(' ') {
            continue;
        }
        let key = format!("{table}.{}", key.replace('"', ""));
        keys.push((canonical(&key).into_owned(), line.to_owned()));
    }
    keys
}

#[test]
fn the_further_credentials_of_the_example_work_as_they_stand() {
    let start = EXAMPLE.find("# [[api.credentials]]").unwrap();
    let (block, after) = EXAMPLE[start..].split_once("\n\n").unwrap();
    for (kept, is_key) in
        [(&["api_key_file", "api_key_scheme"][..], true), (&["client_id", "client_secret_file", "scopes"], false)]
    {
        let lines = block.lines().map(|line| line.trim_start_matches("# "));
        let kept = |line: &&str| line.starts_with('[') || kept.iter().any(|key| line.starts_with(&format!("{key} = ")));
        let lines: Vec<&str> = lines.filter(kept).collect();
        let place = Place::with(&format!("{}{}\n\n{after}", &EXAMPLE[..start], lines.join("\n")));
        for name in ["client-secret", "second-key", "second-secret"] {
            place.file(name, "sesame", 0o600);
        }
        let further = place.load(&[]).unwrap().api.further;
        assert_eq!(further.len(), 1);
        assert_eq!(matches!(further[0].credential, crate::api::Credential::ApiKey(_)), is_key);
    }
}
