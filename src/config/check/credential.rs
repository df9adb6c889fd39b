//! Checks the credential: exactly one kind, and complete.

use super::secret::{self, FoundSecret};
use super::{Environment, text, url};
use crate::api::Credential;
use crate::config::raw::RawApi;
use crate::config::report::Report;

#[derive(Clone, Copy)]
enum Scheme {
    Header,
    Basic,
}

pub(super) fn check(raw: &RawApi, ground: &Environment, report: &mut Report) -> Option<Credential> {
    let given = |places: &[(&'static str, bool)], report: &Report| -> Option<&'static str> {
        places.iter().find(|(place, given)| *given || report.is_bad(place)).map(|(place, _)| *place)
    };
    let key =
        given(&[("api.api_key", raw.api_key.is_some()), ("api.api_key_file", raw.api_key_file.is_some())], report);
    let client = given(
        &[
            ("api.client_id", raw.client_id.is_some()),
            ("api.client_secret", raw.client_secret.is_some()),
            ("api.client_secret_file", raw.client_secret_file.is_some()),
            ("api.auth_url", raw.auth_url.is_some()),
        ],
        report,
    );
    match (client, key) {
        (Some(_), Some(place)) => {
            let hint = "keep either client_id, auth_url and client_secret_file, or api_key_file";
            report.problem(place, "two kinds of credential are given", Some(hint));
            None
        }
        (Some(_), None) => client_credential(raw, ground, report),
        (None, Some(_)) => key_credential(raw, ground, report),
        (None, None) if secret::has_credential("api_key", ground) || !ground.wants_secrets => {
            key_credential(raw, ground, report)
        }
        (None, None) => {
            let places = ground.credentials.places("api_key");
            let hint = format!("give client_id, auth_url and client_secret_file, or api_key_file{places}");
            report.problem("api", "there is no credential", Some(&hint));
            None
        }
    }
}

fn key_credential(raw: &RawApi, ground: &Environment, report: &mut Report) -> Option<Credential> {
    let schemes = [("header", Scheme::Header), ("basic", Scheme::Basic)];
    let scheme = text::choice("api.api_key_scheme", raw.api_key_scheme.as_deref(), &schemes, report);
    if !raw.scopes.is_empty() {
        report.problem("api.scopes", "an API key has no scopes", Some("leave them out"));
    }
    let key = secret::check(
        ("api", "api_key"),
        &["api_key"],
        raw.api_key.as_deref(),
        raw.api_key_file.as_deref(),
        ground,
        report,
    );
    match key {
        FoundSecret::Secret(key) => Some(match scheme.unwrap_or(Scheme::Header) {
            Scheme::Header => Credential::ApiKey(key),
            Scheme::Basic => Credential::ApiKeyBasic(key),
        }),
        FoundSecret::Nothing | FoundSecret::Bad => None,
    }
}

fn client_credential(raw: &RawApi, ground: &Environment, report: &mut Report) -> Option<Credential> {
    if raw.api_key_scheme.is_some() {
        report.problem("api.api_key_scheme", "goes with an API key, not with client_id", Some("leave it out"));
    }
    for scope in &raw.scopes {
        if scope.is_empty() || scope.contains(char::is_whitespace) {
            report.problem("api.scopes", format!("{scope:?} is no scope"), Some("write them like \"staff:read\""));
        }
    }
    let client_id = required("api.client_id", raw.client_id.as_deref(), "it goes with auth_url", report);
    let auth_url = auth_url(raw, report);
    let secret = secret::check(
        ("api", "client_secret"),
        &["client_secret"],
        raw.client_secret.as_deref(),
        raw.client_secret_file.as_deref(),
        ground,
        report,
    );
    if matches!(secret, FoundSecret::Nothing) {
        let places = ground.credentials.places("client_secret");
        let hint = format!("put it into a file of its own and name that file as client_secret_file{places}");
        report.problem("api.client_secret_file", "the client's secret is missing", Some(&hint));
    }
    let FoundSecret::Secret(secret) = secret else { return None };
    Some(Credential::Client {
        auth_url: auth_url?,
        client_id: client_id?.to_owned(),
        secret,
        scopes: raw.scopes.clone(),
    })
}

fn auth_url(raw: &RawApi, report: &mut Report) -> Option<String> {
    const PLACE: &str = "api.auth_url";
    let hint = "give the address that issues tokens, such as https://login.example.com";
    let text = required(PLACE, raw.auth_url.as_deref(), hint, report)?;
    let url = match url::service(text) {
        Ok(url) => url::trimmed(&url),
        Err((message, hint)) => {
            report.problem(PLACE, message, Some(hint));
            return None;
        }
    };
    if url.ends_with("/oauth2/token") {
        report.problem(PLACE, "the path /oauth2/token is added by itself", Some("leave it out"));
        return None;
    }
    Some(url)
}

fn required<'a>(place: &str, given: Option<&'a str>, hint: &str, report: &mut Report) -> Option<&'a str> {
    if given.is_none() {
        report.problem(place, "is missing", Some(hint));
    }
    text::filled(place, given, report)
}
