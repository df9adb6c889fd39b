//! The typed client, and the services in this process that it calls.

use std::time::Duration;

use rosterd::api::{Client, Credential, Options, SecretSource};
use rosterd::clock::Clock;
use rosterd::record::RemoteId;
use rosterd::sandbox::Sandbox;

/// An id that is one.
pub(crate) fn id(number: i64) -> RemoteId {
    RemoteId::new(number).unwrap()
}

/// The options of a client of that address, with a rate that no test reaches.
pub(crate) fn options(base_url: String, key: &str) -> Options {
    let credential = Credential::ApiKey(SecretSource::Text(key.into()));
    let timeout = Duration::from_secs(20);
    Options { requests_per_minute: 1_000_000, timeout, page_size: 100, ..Options::new(base_url, credential) }
}

/// The options of a client that knows the sandbox's API key.
pub(crate) fn key_options(sandbox: &Sandbox) -> Options {
    options(sandbox.url(), &sandbox.options().api_key)
}

/// The options of the sandbox's OAuth client; without scopes it asks for what it has.
pub(crate) fn oauth_options(sandbox: &Sandbox, secret: &str, scopes: &[&str]) -> Options {
    let credential = Credential::Client {
        auth_url: sandbox.auth_url(),
        client_id: sandbox.options().client_id.clone(),
        secret: SecretSource::Text(secret.into()),
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
    };
    Options { credential, ..key_options(sandbox) }
}

pub(crate) fn client(options: &Options) -> Client {
    Client::new(options, &Clock::system()).unwrap()
}

/// Leaves the client no retry: a read that fails for a passing reason fails at once, instead of after a wait.
pub(crate) fn without_retries(client: &Client) -> &Client {
    client.begin_run();
    while client.take_retry() {}
    client
}
