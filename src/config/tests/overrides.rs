//! What the environment lays over the file.

use std::path::Path;

use secrecy::ExposeSecret;

use super::support::{API, JOB, Place, check};
use crate::api::{Credential, SecretSource};

#[test]
fn a_variable_overrides_the_file() {
    let place = Place::with(&format!("{API}{JOB}"));
    let config = place
        .load(&[
            ("ROSTERD__API__BASE_URL", "https://other.example.com/v2"),
            ("ROSTERD__API__CLIENT_ID", "007"),
            ("ROSTERD__API__CLIENT_SECRET", "from the environment\n"),
            ("ROSTERD__API__REQUESTS_PER_MINUTE", " 7 "),
            ("ROSTERD__API__SCOPES", "staff:read staff:write"),
            ("ROSTERD__STATE__DIR", "/tmp/state"),
            ("ROSTERD_CONFIG", "elsewhere.toml"),
            ("PATH", "/bin"),
        ])
        .unwrap();
    assert_eq!(config.api.base_url, "https://other.example.com/v2");
    assert_eq!(config.api.requests_per_minute, 7);
    assert_eq!(config.state.home.folder(), Some(Path::new("/tmp/state")));
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    let Credential::Client { client_id, secret, scopes, .. } = config.api.credential else { panic!("not a client") };
    assert_eq!(client_id, "007");
    assert_eq!(scopes, ["staff:read", "staff:write"]);
    let SecretSource::Text(secret) = secret else { panic!("not from the environment") };
    assert_eq!(secret.expose_secret(), "from the environment");
}

#[test]
fn a_mistake_in_the_environment_names_its_variable() {
    for (name, value, expected) in [
        (
            "ROSTERD__API__BASE_URL",
            "http://api.example.com/v1",
            "environment: ROSTERD__API__BASE_URL: plain http would send the credential unprotected; use https",
        ),
        (
            "ROSTERD__API__TIMEOUT",
            "soon",
            "environment: ROSTERD__API__TIMEOUT: \"soon\" is not a duration; write it like \"90s\", \"15m\", \"24h\" or \"30d\"",
        ),
        (
            "ROSTERD__API__REQUESTS_PER_MINUTE",
            "many",
            "environment: ROSTERD__API__REQUESTS_PER_MINUTE: must be a whole number",
        ),
        (
            "ROSTERD__API__REQUESTS_PER_MINUTE",
            "0",
            "environment: ROSTERD__API__REQUESTS_PER_MINUTE: 0 is not between 1 and 1000000",
        ),
        (
            "ROSTERD__API__BASEURL",
            "https://api.example.com/v1",
            "environment: ROSTERD__API__BASEURL: sets no known key; did you mean ROSTERD__API__BASE_URL?",
        ),
        (
            "ROSTERD__JOB__0__NAME",
            "x",
            "environment: ROSTERD__JOB__0__NAME: a job can't be set from the environment; write it into the configuration file",
        ),
        ("ROSTERD__API__CLIENT_SECRET", " \n", "environment: ROSTERD__API__CLIENT_SECRET: is empty"),
        (
            "ROSTERD__STATUS__LISTEN",
            "here",
            "environment: ROSTERD__STATUS__LISTEN: \"here\" is no address with a port; write it like \"127.0.0.1:9464\" or \
             \"[::1]:9464\"; \"\" turns the page off",
        ),
    ] {
        check(&format!("{API}{JOB}"), &[(name, value)], &[expected]);
    }
}

#[test]
fn a_variable_with_one_underscore_is_not_ignored_in_silence() {
    let place = Place::with(&format!("{API}{JOB}"));
    let config = place.load(&[("ROSTERD_API__BASE_URL", "https://other.example.com/v1")]).unwrap();
    assert_eq!(config.api.base_url, "https://api.example.com/v1");
    let expected = "environment: ROSTERD_API__BASE_URL: is ignored; did you mean ROSTERD__API__BASE_URL?";
    assert_eq!(config.warnings, [expected]);
}
