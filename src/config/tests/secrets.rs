//! Where secrets may lie, and that none is ever shown.

use std::fs;

use super::support::{API, JOB, Place, bare as bare_of, check};
use crate::api::{Credential, SecretSource};
use crate::config::Needs;

#[test]
fn fault_106_files_open_to_others_are_refused() {
    for (file, mode, expected) in [
        ("config.toml", 0o644, None),
        ("config.toml", 0o664, None),
        ("secret", 0o640, None),
        (
            "config.toml",
            0o666,
            Some("config.toml: every user of this machine may change it (mode 0666); chmod o-w config.toml"),
        ),
        (
            "secret",
            0o644,
            Some(
                "config.toml:5: api.client_secret_file: every user of this machine may read or change secret (mode 0644); \
                 chmod 600 secret",
            ),
        ),
        (
            "secret",
            0o602,
            Some(
                "config.toml:5: api.client_secret_file: every user of this machine may read or change secret (mode 0602); \
                 chmod 600 secret",
            ),
        ),
    ] {
        let place = Place::with(&format!("{API}{JOB}"));
        let text = fs::read_to_string(place.dir.path().join(file)).unwrap();
        place.file(file, &text, mode);
        let found = place.load(&[]).err().unwrap_or_default();
        assert_eq!(found, expected.map(str::to_owned).as_slice(), "{file} {mode:o}");
    }
}

#[test]
fn fault_106_a_file_with_a_secret_in_it_is_its_owners_only() {
    let text = format!("{}{JOB}", API.replace("client_secret_file = \"secret\"", "client_secret = \"sesame\""));
    for (mode, fits) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
        let place = Place::with("");
        place.file("config.toml", &text, mode);
        for variables in [&[][..], &[("ROSTERD__API__CLIENT_SECRET", "other")]] {
            let found = place.load(variables).err().unwrap_or_default();
            let expected = format!(
                "config.toml:5: api.client_secret: with a secret in it, only its owner may read this file (mode {mode:04o}); \
                 chmod 600 config.toml"
            );
            assert_eq!(found, if fits { vec![] } else { vec![expected] });
        }
    }
}

#[test]
fn fault_107_an_empty_or_missing_secret_is_named() {
    for (content, message) in [
        (Some(""), "secret has nothing in its first line; write the secret to it and nothing else"),
        (Some(" \n"), "secret has nothing in its first line; write the secret to it and nothing else"),
        (Some("\nsesame"), "secret has nothing in its first line; write the secret to it and nothing else"),
        (None, "secret: no such file; write the secret to it and nothing else"),
    ] {
        let place = Place::with(&format!("{API}{JOB}"));
        match content {
            Some(content) => place.file("secret", content, 0o600),
            None => fs::remove_file(place.dir.path().join("secret")).unwrap(),
        }
        let expected = format!("config.toml:5: api.client_secret_file: {message}");
        assert_eq!(place.load(&[]).unwrap_err(), [expected]);
    }
}

#[test]
fn systemds_credential_is_taken_when_nothing_else_is_given() {
    let client = API.replace("client_secret_file = \"secret\"\n", "");
    let bare = "[api]\nbase_url = \"https://api.example.com/v1\"\n";
    for (api, name) in [(client.as_str(), "client_secret"), (bare, "api_key")] {
        let place = Place::with(&format!("{api}{JOB}"));
        place.file(name, "sesame\n", 0o440);
        let dir = place.dir.path().to_str().unwrap().to_owned();
        let config = place.load(&[("CREDENTIALS_DIRECTORY", &dir)]).unwrap();
        let (Credential::Client { secret, .. } | Credential::ApiKey(secret)) = config.api.credential else {
            panic!("another kind")
        };
        assert!(matches!(secret, SecretSource::File(path) if path == place.dir.path().join(name)));
        place.load(&[]).unwrap_err();
    }
}

#[test]
fn a_secret_that_is_not_needed_may_be_missing_and_says_so_when_it_is_asked_for() {
    let bare = "[api]\nbase_url = \"https://api.example.com/v1\"\n";
    let client = API.replace("client_secret_file = \"secret\"\n", "");
    for (api, expected) in [
        (bare, "api.api_key is missing"),
        (client.as_str(), "api.client_secret is missing"),
        (&API.replace("\"secret\"", "\"gone\""), "gone can't be used: gone: no such file"),
        (
            &API.replace("\"secret\"", "\"open\""),
            "open can't be used: every user of this machine may read or change open",
        ),
    ] {
        let place = Place::with(&format!("{api}{JOB}"));
        place.file("open", "sesame\n", 0o644);
        place.load(&[]).unwrap_err();
        for needs in [Needs::Local, Needs::State] {
            let mut config = place.load_for(needs, &[]).unwrap();
            config.hold_secrets().unwrap();
            let (Credential::Client { secret, .. } | Credential::ApiKey(secret)) = &config.api.credential else {
                panic!("another kind")
            };
            let unusable = secret.read().unwrap_err();
            let found = bare_of(&format!("{} {}", unusable.path.display(), unusable.problem), place.dir.path());
            assert!(found.starts_with(expected), "{found}");
        }
        place.load_for(Needs::Account, &[]).unwrap_err();
    }
    // One that is there is found all the same, and so is what is wrong besides.
    let place = Place::with(&format!("{API}{JOB}"));
    let config = place.load_for(Needs::Local, &[]).unwrap();
    assert!(matches!(config.api.credential, Credential::Client { secret: SecretSource::File(_), .. }));
    let wrong = format!("{}{JOB}", API.replace("https://login", "http://login"));
    Place::with(&wrong).load_for(Needs::State, &[]).unwrap_err();
}

#[test]
fn there_is_exactly_one_credential() {
    let with = |lines: &str| format!("[api]\nbase_url = \"https://api.example.com/v1\"\n{lines}{JOB}");
    for (lines, expected) in [
        (
            "",
            &[
                "config.toml:1: api: there is no credential; give client_id, auth_url and client_secret_file, or api_key_file",
            ][..],
        ),
        (
            "client_id = \"x\"\napi_key_file = \"secret\"\n",
            &[
                "config.toml:4: api.api_key_file: two kinds of credential are given; keep either client_id, auth_url and \
               client_secret_file, or api_key_file",
            ],
        ),
        (
            "client_id = \"x\"\n",
            &[
                "config.toml:1: api.auth_url: is missing; give the address that issues tokens, such as \
                 https://login.example.com",
                "config.toml:1: api.client_secret_file: the client's secret is missing; put it into a file of its own and \
                 name that file as client_secret_file",
            ],
        ),
        (
            "auth_url = \"https://login.example.com/oauth2/token\"\nclient_secret_file = \"secret\"\n",
            &[
                "config.toml:1: api.client_id: is missing; it goes with auth_url",
                "config.toml:3: api.auth_url: the path /oauth2/token is added by itself; leave it out",
            ],
        ),
        (
            "api_key = \"x\"\napi_key_file = \"secret\"\n",
            &["config.toml:4: api.api_key_file: api_key and api_key_file are both given; keep one of them"],
        ),
        (
            "api_key_file = \"secret\"\napi_key_scheme = \"bearer\"\n",
            &["config.toml:4: api.api_key_scheme: \"bearer\" is none of \"header\", \"basic\""],
        ),
        (
            "api_key_file = \"secret\"\nscopes = [\"staff:read\"]\n",
            &["config.toml:4: api.scopes: an API key has no scopes; leave them out"],
        ),
    ] {
        check(&with(lines), &[], expected);
    }
}

#[test]
fn law_11_no_secret_is_shown() {
    let inline = API.replace("client_secret_file = \"secret\"", "client_secret = \"hunter2\"");
    let shown = format!("{:?}", Place::with(&format!("{inline}{JOB}")).load(&[]).unwrap());
    assert!(shown.contains("Text(***)") && !shown.contains("hunter2"), "{shown}");
    let variables = [("ROSTERD__API__CLIENT_SECRET", "hunter2")];
    let shown = format!("{:?}", Place::with(&format!("{API}{JOB}")).load(&variables).unwrap());
    assert!(!shown.contains("hunter2"), "{shown}");
    for broken in [
        "client_secret = \"hunter2",
        "client_secret = hunter2",
        "client_secret = [\"hunter2\"]",
        "client_secert = \"hunter2\"",
        "client_secret = \"hunter2\"\nclient_secret = \"hunter2\"",
        "client_secret = \"hunter2\"\nclient_secret_file = \"secret\"",
        "client_secret = \"hunter2\"\napi_key = \"hunter2\"",
        "proxy = \"http://ana:hunter2@example.com\"",
    ] {
        let text = format!("{}{JOB}", API.replace("client_secret_file = \"secret\"", broken));
        let errors = Place::with(&text).load(&[]).unwrap_err();
        assert!(!errors.join("\n").contains("hunter2"), "{errors:?}");
    }
}
