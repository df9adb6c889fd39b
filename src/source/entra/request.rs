//! One request after the other: the token, waiting where the service is busy, and what an answer is.

use std::time::Duration;

use reqwest::{Response, StatusCode, Url, redirect};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;

use super::assertion;
use super::error::EntraErrorKind;
use super::limits::{ASKED_MAX, PAGE_BYTES_MAX};
use super::options::{Credential, Options};
use super::page::ListPage;
use super::refusal;
use crate::clock::Clock;
use crate::fault::chain;
use crate::http::{THIS_MACHINE, retry_after};
use crate::source::client_token::{self, ClientProof, TokenFault, TokenRequest};
use crate::source::https::Address;
use crate::tls;

/// The longest wait for a connection.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// The longest wait for the next bytes of an answer.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// The first wait where the service does not say how long, and the longest.
const WAIT_MIN: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(60);

/// What asks Microsoft Graph.
pub(super) struct Graph<'a> {
    options: &'a Options,
    clock: &'a Clock,
    http: reqwest::Client,
    token: Option<SecretString>,
    begun: Instant,
}

/// What is asked for, for messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Users,
    Groups,
    Members,
    Managers,
}

impl Asked {
    /// Whether it is an advanced query, with a count and by an index that lags a little.
    fn is_advanced(self) -> bool {
        matches!(self, Self::Users | Self::Members)
    }

    fn is_of_groups(self) -> bool {
        matches!(self, Self::Groups | Self::Members)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Users => "a request for users",
            Self::Groups => "a request for a group",
            Self::Members => "a request for the members of a group",
            Self::Managers => "a request for the managers of users",
        }
    }
}

impl<'a> Graph<'a> {
    pub(super) fn new(options: &'a Options, clock: &'a Clock) -> Result<Self, EntraErrorKind> {
        let http = client(options).map_err(EntraErrorKind::Setup)?;
        Ok(Self { options, clock, http, token: None, begun: Instant::now() })
    }

    /// Asks for a page. A token that is refused is replaced once; a service that is busy is asked again.
    pub(super) async fn page(&mut self, url: &Url, asked: Asked) -> Result<ListPage, EntraErrorKind> {
        let mut wait = WAIT_MIN;
        let mut has_new_token = self.token.is_none();
        for attempt in 1.. {
            let answer = self.send(url, asked).await?;
            let status = answer.status();
            let again = attempt < ASKED_MAX;
            match status {
                StatusCode::OK => return ListPage::parse(&body(answer).await?),
                StatusCode::UNAUTHORIZED if !has_new_token => {
                    self.token = None;
                    has_new_token = true;
                }
                StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
                    if again =>
                {
                    let said = retry_after(answer.headers(), self.clock.now());
                    if let Some(said) = said.filter(|said| self.begun.elapsed() + *said > self.options.timeout) {
                        let (status, seconds) = (status.as_u16(), said.as_secs());
                        return Err(EntraErrorKind::Busy { status, asked: asked.name(), seconds });
                    }
                    tokio::time::sleep(said.unwrap_or(wait)).await;
                    wait = (wait * 2).min(WAIT_MAX);
                }
                _ => return Err(refused(status, &body(answer).await?, asked)),
            }
        }
        Err(EntraErrorKind::Garbled("it never ends"))
    }

    async fn send(&mut self, url: &Url, asked: Asked) -> Result<Response, EntraErrorKind> {
        let token = match self.token.take() {
            Some(token) => token,
            None => self.new_token().await?,
        };
        let mut request = self.http.get(url.clone()).bearer_auth(token.expose_secret());
        self.token = Some(token);
        if asked.is_advanced() {
            request = request.header("ConsistencyLevel", "eventual");
        }
        request.send().await.map_err(unreachable)
    }

    async fn new_token(&self) -> Result<SecretString, EntraErrorKind> {
        let Options { tenant, client_id, login, graph, .. } = self.options;
        let url = token_url(login, tenant).map_err(|reason| EntraErrorKind::Token(reason.to_owned()))?;
        let secret = match &self.options.credential {
            Credential::Secret(secret) => secret.read().map_err(|unusable| {
                EntraErrorKind::Credential(format!("the credential {} {}", unusable.path.display(), unusable.problem))
            }),
            Credential::Certificate { certificate, key } => {
                assertion::signed(certificate, key, client_id, url.secret(), self.clock.now())
                    .map_err(EntraErrorKind::Credential)
            }
        }?;
        let proof = match &self.options.credential {
            Credential::Secret(_) => ClientProof::Form(&secret),
            Credential::Certificate { .. } => ClientProof::Assertion(&secret),
        };
        let scopes = [format!("{}/.default", graph.url().origin().ascii_serialization())];
        let asked = TokenRequest { url: &url, client_id, proof, scopes: &scopes };
        client_token::issued(&self.http, &asked).await.map_err(|fault| {
            let problem = match fault {
                TokenFault::Unreachable(reason) => format!("it can't be reached: {reason}"),
                TokenFault::Refused { status, body } => refusal::of_token(status, &body),
                TokenFault::None(reason) => reason.to_owned(),
            };
            EntraErrorKind::Token(format!("{url}: {problem}"))
        })
    }
}

fn token_url(login: &Address, tenant: &str) -> Result<Address, &'static str> {
    let base = login.secret().trim_end_matches('/');
    Address::parse(&format!("{base}/{tenant}/oauth2/v2.0/token"))
}

fn client(options: &Options) -> Result<reqwest::Client, String> {
    let ca_file = options.ca_file.as_deref();
    let has_tls = options.graph.is_tls() || options.login.is_tls();
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(if has_tls { tls::verified(ca_file) } else { tls::without_roots(ca_file) }?)
        .user_agent(concat!("rosterd/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_MAX)
        .read_timeout(SILENCE_MAX)
        .no_gzip()
        .no_proxy();
    if let Some(proxy) = &options.proxy {
        let proxy = reqwest::Proxy::all(proxy).map_err(|_| "the proxy is no usable address".to_owned())?;
        builder = builder.proxy(proxy.no_proxy(reqwest::NoProxy::from_string(THIS_MACHINE)));
    }
    builder.build().map_err(|error| format!("the HTTP client can't be made: {}", chain(&error.without_url())))
}

async fn body(mut answer: Response) -> Result<Vec<u8>, EntraErrorKind> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(unreachable)? {
        if body.len() + chunk.len() > PAGE_BYTES_MAX {
            return Err(EntraErrorKind::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn refused(status: StatusCode, body: &[u8], asked: Asked) -> EntraErrorKind {
    let hint = refusal::hint(status.as_u16(), body, asked.is_of_groups());
    EntraErrorKind::Status { status: status.as_u16(), code: refusal::code(body), asked: asked.name(), hint }
}

fn unreachable(error: reqwest::Error) -> EntraErrorKind {
    EntraErrorKind::Unreachable(client_token::unreachable(error))
}
