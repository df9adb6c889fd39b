//! Checks the credential: exactly one kind, and complete.

use super::secret::FoundSecret;
use super::section::Section;
use super::url;
use crate::api::{Credential, SecretSource};

/// How an API key is sent.
type Scheme = fn(SecretSource) -> Credential;

const SCHEMES: [(&str, Scheme); 2] = [("header", Credential::ApiKey), ("basic", Credential::ApiKeyBasic)];

pub(super) fn check(api: &Section<'_>) -> Option<Credential> {
    let given = |keys: &[&'static str]| keys.iter().copied().find(|key| api.has(key) || api.is_bad(key));
    let key = given(&["api_key", "api_key_file"]);
    let client = given(&["client_id", "client_secret", "client_secret_file", "auth_url"]);
    match (client, key) {
        (Some(_), Some(key)) => {
            let hint = "keep either client_id, auth_url and client_secret_file, or api_key_file";
            api.wrong(key, "two kinds of credential are given", Some(hint))
        }
        (Some(_), None) => client_credential(api),
        (None, Some(_)) => key_credential(api),
        (None, None) if api.ground.credentials.find("api_key").is_some() || !api.ground.wants_secrets => {
            key_credential(api)
        }
        (None, None) => {
            let places = api.ground.credentials.places("api_key");
            let hint = format!("give client_id, auth_url and client_secret_file, or api_key_file{places}");
            api.wrong("", "there is no credential", Some(&hint))
        }
    }
}

fn key_credential(api: &Section<'_>) -> Option<Credential> {
    let scheme = api.choice("api_key_scheme", &SCHEMES);
    if !api.list::<String>("scopes").is_empty() {
        api.problem("scopes", "an API key has no scopes", Some("leave them out"));
    }
    match api.secret("api_key", &["api_key"]) {
        FoundSecret::Secret(key) => Some(scheme.unwrap_or(Credential::ApiKey)(key)),
        FoundSecret::Nothing | FoundSecret::Bad => None,
    }
}

fn client_credential(api: &Section<'_>) -> Option<Credential> {
    if api.has("api_key_scheme") {
        api.problem("api_key_scheme", "goes with an API key, not with client_id", Some("leave it out"));
    }
    let scopes: Vec<String> = api.list("scopes");
    for scope in scopes.iter().filter(|scope| scope.is_empty() || scope.contains(char::is_whitespace)) {
        api.problem("scopes", format!("{scope:?} is no scope"), Some("write them like \"staff:read\""));
    }
    let client_id = api.required("client_id", "it goes with auth_url").map(str::to_owned);
    let auth_url = auth_url(api);
    let secret = api.secret("client_secret", &["client_secret"]);
    if matches!(secret, FoundSecret::Nothing) {
        let places = api.ground.credentials.places("client_secret");
        let hint = format!("put it into a file of its own and name that file as client_secret_file{places}");
        api.problem("client_secret_file", "the client's secret is missing", Some(&hint));
    }
    let FoundSecret::Secret(secret) = secret else { return None };
    Some(Credential::Client { auth_url: auth_url?, client_id: client_id?, secret, scopes })
}

fn auth_url(api: &Section<'_>) -> Option<String> {
    const KEY: &str = "auth_url";
    let text = api.required(KEY, "give the address that issues tokens, such as https://login.example.com")?;
    let url = url::trimmed(&api.taken(KEY, url::service(text))?);
    if url.ends_with("/oauth2/token") {
        return api.wrong(KEY, "the path /oauth2/token is added by itself", Some("leave it out"));
    }
    Some(url)
}
