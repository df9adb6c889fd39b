//! Checks the credentials: each of exactly one kind, and complete.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::secret::FoundSecret;
use super::section::Section;
use super::url;
use crate::api::{Credential, SecretSource};

/// How an API key is sent.
type Scheme = fn(SecretSource) -> Credential;

const SCHEMES: [(&str, Scheme); 2] = [("header", Credential::ApiKey), ("basic", Credential::ApiKeyBasic)];

/// Where a credential is written.
#[derive(Clone, Copy)]
enum Place<'a, 'b> {
    /// In `[api]`; systemd may hand its secret.
    Api,
    /// In a list of several below this `[api]`.
    List(&'a Section<'b>),
}

/// The credential of an account, and further ones of the same account.
pub(super) fn check(api: &Section<'_>) -> (Option<Credential>, Vec<Credential>) {
    let listed = api.sections("credentials");
    let mut all: Vec<_> = listed.iter().map(|section| (section, credential(section, Place::List(api)))).collect();
    // What the file says of `[api]` itself comes first; where it says nothing, the first of the list does.
    if has_its_own(api) || all.is_empty() {
        all.insert(0, (api, credential(api, Place::Api)));
    }
    refuse_twins(&all);
    let mut credentials = all.into_iter().map(|(_, credential)| credential);
    (credentials.next().flatten(), credentials.flatten().collect())
}

/// The service counts the requests of a credential that is listed twice together: they would be twice what it allows.
fn refuse_twins(all: &[(&Section<'_>, Option<Credential>)]) {
    let mut seen: BTreeMap<String, &Section<'_>> = BTreeMap::new();
    for (section, credential) in all {
        let Some(identity) = credential.as_ref().and_then(|credential| credential.identity(b"")) else { continue };
        match seen.entry(identity) {
            Entry::Vacant(entry) => _ = entry.insert(section),
            Entry::Occupied(entry) => {
                let key = |section: &Section<'_>| {
                    ["client_id", "api_key_file", "api_key"].into_iter().find(|key| section.has(key)).unwrap_or("")
                };
                let message = format!("is the same credential as {}", entry.get().named(key(entry.get())));
                let hint = "name each credential once: the service counts the requests of both together";
                section.problem(key(section), message, Some(hint));
            }
        }
    }
}

fn has_its_own(api: &Section<'_>) -> bool {
    let keys = ["api_key", "api_key_file", "client_id", "client_secret", "client_secret_file"];
    keys.iter().any(|key| api.has(key) || api.is_bad(key))
}

fn credential(section: &Section<'_>, place: Place<'_, '_>) -> Option<Credential> {
    let given = |keys: &[&'static str]| keys.iter().copied().find(|key| section.has(key) || section.is_bad(key));
    let key = given(&["api_key", "api_key_file"]);
    let client = given(&["client_id", "client_secret", "client_secret_file", "auth_url"]);
    match (client, key, place) {
        (Some(_), Some(key), _) => {
            let hint = "keep either client_id, auth_url and client_secret_file, or api_key_file";
            section.wrong(key, "two kinds of credential are given", Some(hint))
        }
        (Some(_), None, _) => client_credential(section, place),
        (None, Some(_), _) => key_credential(section, place),
        (None, None, Place::List(_)) => {
            let hint = "give client_id and client_secret_file, or api_key_file";
            section.wrong("", "there is no credential", Some(hint))
        }
        (None, None, Place::Api) => {
            let credentials = &section.ground.credentials;
            if credentials.find("api_key").is_some() || !section.ground.wants_secrets {
                return key_credential(section, place);
            }
            let places = credentials.places("api_key");
            let hint = format!("give client_id, auth_url and client_secret_file, or api_key_file{places}");
            section.wrong("", "there is no credential", Some(&hint))
        }
    }
}

/// The secret of that name.
fn secret(section: &Section<'_>, name: &'static str, place: Place<'_, '_>) -> FoundSecret {
    match place {
        Place::Api => section.secret(name, &[name]),
        Place::List(_) => section.secret(name, &[]),
    }
}

fn key_credential(section: &Section<'_>, place: Place<'_, '_>) -> Option<Credential> {
    let scheme = section.choice("api_key_scheme", &SCHEMES);
    if !section.list::<String>("scopes").is_empty() {
        section.problem("scopes", "an API key has no scopes", Some("leave them out"));
    }
    match secret(section, "api_key", place) {
        FoundSecret::Secret(key) => Some(scheme.unwrap_or(Credential::ApiKey)(key)),
        FoundSecret::Nothing | FoundSecret::Bad => None,
    }
}

fn client_credential(section: &Section<'_>, place: Place<'_, '_>) -> Option<Credential> {
    if section.has("api_key_scheme") {
        section.problem("api_key_scheme", "goes with an API key, not with client_id", Some("leave it out"));
    }
    let scopes: Vec<String> = section.list("scopes");
    for scope in scopes.iter().filter(|scope| scope.is_empty() || scope.contains(char::is_whitespace)) {
        section.problem("scopes", format!("{scope:?} is no scope"), Some("write them like \"staff:read\""));
    }
    let client_id = section.required("client_id", "it goes with auth_url").map(str::to_owned);
    let auth_url = match place {
        Place::List(api) if !section.has("auth_url") && (api.has("auth_url") || api.is_bad("auth_url")) => {
            auth_url(api)
        }
        _ => auth_url(section),
    };
    let secret = secret(section, "client_secret", place);
    if matches!(secret, FoundSecret::Nothing) {
        let places = match place {
            Place::Api => section.ground.credentials.places("client_secret"),
            Place::List(_) => String::new(),
        };
        let hint = format!("put it into a file of its own and name that file as client_secret_file{places}");
        section.problem("client_secret_file", "the client's secret is missing", Some(&hint));
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
