//! Calls addresses: the webhook and the heartbeat.

use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, redirect};
use secrecy::ExposeSecret as _;

use super::error::SetupError;
use crate::config::{Endpoint, Notify};
use crate::fault::chain;
use crate::http::THIS_MACHINE;
use crate::tls;

/// The longest that one call may take.
const CALL_MAX: Duration = Duration::from_secs(15);

/// Why a call did not work; quotes nothing of the address but its host (law 11).
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: String,
    /// Whether another call to the same place is likely to fail as well.
    pub(super) is_general: bool,
}

impl Failure {
    /// A failure that another call to the same place is likely to meet as well.
    pub(super) fn general(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_general: true }
    }
}

/// Makes the client for these addresses.
pub(super) fn client(options: &Notify) -> Result<Client, SetupError> {
    let has_tls = options.webhook.iter().chain(&options.heartbeat).any(|hook| hook.origin.starts_with("https:"));
    let ca_file = options.ca_file.as_deref();
    let tls = if has_tls { tls::verified(ca_file) } else { tls::without_roots(ca_file) };
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls.map_err(SetupError)?)
        .user_agent(concat!("rosterd/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .timeout(CALL_MAX)
        .connect_timeout(CALL_MAX / 2)
        .pool_max_idle_per_host(0)
        .no_proxy();
    if let Some(proxy) = &options.proxy {
        let here = reqwest::NoProxy::from_string(THIS_MACHINE);
        let proxy = reqwest::Proxy::all(proxy).map_err(|_| SetupError("the proxy is no usable address".to_owned()))?;
        builder = builder.proxy(proxy.no_proxy(here));
    }
    builder.build().map_err(|error| SetupError(format!("the HTTP client can't be made: {}", error.without_url())))
}

/// Sends a document, or nothing but the call itself.
pub(super) async fn call(
    client: &Client,
    hook: &Endpoint,
    document: Option<&serde_json::Value>,
) -> Result<(), Failure> {
    let url = hook.url.expose_secret();
    let request = match document {
        Some(document) => client.post(url).header(CONTENT_TYPE, "application/json").body(document.to_string()),
        None => client.get(url),
    };
    let named = |reason: &str| format!("{}: {reason}", hook.origin);
    match request.send().await {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => {
            let status = answer.status();
            let is_general = !status.is_client_error() || matches!(status.as_u16(), 401 | 403 | 404 | 408 | 410 | 429);
            Err(Failure { reason: named(&format!("it answered {}", status.as_u16())), is_general })
        }
        Err(error) => Err(Failure::general(named(&explained(&chain(&error.without_url()))))),
    }
}

/// Adds what to do where a server is not believed.
pub(super) fn explained(text: &str) -> String {
    format!("{text}{}", tls::hint(text, "notify.ca_file"))
}
