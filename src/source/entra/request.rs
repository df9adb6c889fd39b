//! One request after the other: the token, waiting where the service is busy, and what an answer is.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode, Url, redirect};
use rosterd_client::PHOTO_BYTES_MAX;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
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
use crate::source::Access;
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

/// How often it is looked whether someone asked to end.
const STOP_LOOK: Duration = Duration::from_millis(100);

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
    /// Which photos users have, several in one request.
    Photos,
    /// The bytes of a photo.
    Photo,
}

/// One request.
struct GraphRequest<'c> {
    url: &'c Url,
    asked: Asked,
    /// What is posted.
    body: Option<&'c Value>,
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
            Self::Photos | Self::Photo => "a request for photos",
        }
    }
}

impl<'a> Graph<'a> {
    pub(super) fn new(options: &'a Options, clock: &'a Clock) -> Result<Self, EntraErrorKind> {
        let http = client(options).map_err(EntraErrorKind::Setup)?;
        Ok(Self { options, clock, http, token: None, begun: Instant::now() })
    }

    /// Asks for a page.
    pub(super) async fn page(&mut self, url: &Url, asked: Asked) -> Result<ListPage, EntraErrorKind> {
        let answer = self.answer(&GraphRequest { url, asked, body: None }).await?;
        ListPage::parse(&body(answer).await?)
    }

    /// Sends a batch of requests for the versions of photos; returns the answer to it.
    pub(super) async fn batch(&mut self, url: &Url, requests: &Value) -> Result<Vec<u8>, EntraErrorKind> {
        body(self.answer(&GraphRequest { url, asked: Asked::Photos, body: Some(requests) }).await?).await
    }

    /// Asks for the bytes of a photo, of one that is too large for more than are allowed; `None` where there is none.
    pub(super) async fn photo(&mut self, url: &Url) -> Result<Option<Vec<u8>>, EntraErrorKind> {
        let mut answer = self.answer(&GraphRequest { url, asked: Asked::Photo, body: None }).await?;
        if answer.status() != StatusCode::OK {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        while bytes.len() <= PHOTO_BYTES_MAX
            && let Some(chunk) = answer.chunk().await.map_err(unreachable)?
        {
            bytes.extend_from_slice(&chunk);
        }
        Ok(Some(bytes))
    }

    /// Waits as long as the service says, or longer each time. An error where no time is left for it.
    pub(super) async fn wait(&self, said: Option<Duration>, attempt: u32) -> Result<(), Duration> {
        if let Some(said) = said.filter(|said| !is_within(self.options.timeout, self.begun.elapsed(), *said)) {
            return Err(said);
        }
        tokio::time::sleep(said.unwrap_or_else(|| (WAIT_MIN * 2u32.saturating_pow(attempt - 1)).min(WAIT_MAX))).await;
        Ok(())
    }

    /// Waits where the service is busy; what was asked, and how often, is for the error where no time is left.
    async fn wait_until_free(
        &self,
        status: u16,
        headers: &HeaderMap,
        (asked, attempt): (&'static str, u32),
    ) -> Result<(), EntraErrorKind> {
        let said = retry_after(headers, self.clock.now());
        let too_long = |said: Duration| EntraErrorKind::Busy { status, asked, seconds: said.as_secs() };
        self.wait(said, attempt).await.map_err(too_long)
    }

    /// The answer to a request, which is a success; that for a photo may also be that there is none. A token that is
    /// refused is replaced once; a service that is busy is asked again.
    async fn answer(&mut self, request: &GraphRequest<'_>) -> Result<Response, EntraErrorKind> {
        let asked = request.asked;
        let mut has_new_token = self.token.is_none();
        for attempt in 1.. {
            let answer = self.send(request).await?;
            let status = answer.status();
            match status {
                StatusCode::OK => return Ok(answer),
                StatusCode::NOT_FOUND if asked == Asked::Photo => return Ok(answer),
                StatusCode::UNAUTHORIZED if !has_new_token => {
                    self.token = None;
                    has_new_token = true;
                }
                _ if is_busy(status.as_u16()) && attempt < ASKED_MAX => {
                    self.wait_until_free(status.as_u16(), answer.headers(), (asked.name(), attempt)).await?;
                }
                _ => return Err(refused(status, &body(answer).await?, asked)),
            }
        }
        Err(EntraErrorKind::Garbled("it never ends"))
    }

    async fn send(&mut self, request: &GraphRequest<'_>) -> Result<Response, EntraErrorKind> {
        let token = match self.token.take() {
            Some(token) => token,
            None => self.new_token().await?,
        };
        let url = request.url.clone();
        let call = match request.body {
            Some(body) => self.http.post(url).json(body),
            None => self.http.get(url),
        };
        let mut call = call.bearer_auth(token.expose_secret());
        self.token = Some(token);
        if request.asked.is_advanced() {
            call = call.header("ConsistencyLevel", "eventual");
        }
        call.send().await.map_err(unreachable)
    }

    /// A token; where the service is busy, it is asked again.
    async fn new_token(&self) -> Result<SecretString, EntraErrorKind> {
        for attempt in 1.. {
            let (url, fault) = match self.issued().await? {
                Ok(token) => return Ok(token),
                Err(refused) => refused,
            };
            let problem = match fault {
                TokenFault::Refused { status, headers, .. } if is_busy(status) && attempt < ASKED_MAX => {
                    self.wait_until_free(status, &headers, ("the request for a token", attempt)).await?;
                    continue;
                }
                TokenFault::Unreachable(reason) => format!("it can't be reached: {reason}"),
                TokenFault::Refused { status, body, .. } => refusal::of_token(status, &body),
                TokenFault::None(reason) => reason.to_owned(),
            };
            return Err(EntraErrorKind::Token(format!("{url}: {problem}")));
        }
        Err(EntraErrorKind::Garbled("it never ends"))
    }

    /// Asks for a token once. What a certificate signs holds for some minutes only, so it is signed each time.
    async fn issued(&self) -> Result<Result<SecretString, (Address, TokenFault)>, EntraErrorKind> {
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
        let issued = client_token::issued(&self.http, &asked).await;
        Ok(issued.map_err(|fault| (url, fault)))
    }
}

/// Whether a status says that the same request may succeed a little later.
fn is_busy(status: u16) -> bool {
    matches!(status, 429 | 503 | 504)
}

/// Whether there is time for a wait, whatever the service says.
pub(super) fn is_within(limit: Duration, elapsed: Duration, wait: Duration) -> bool {
    elapsed.saturating_add(wait) <= limit
}

/// Works within the time of a read, until someone asks to end.
pub(super) async fn bounded<T>(
    options: &Options,
    access: Access<'_>,
    work: impl Future<Output = Result<T, EntraErrorKind>>,
) -> Result<T, EntraErrorKind> {
    let stopped = async {
        while !(access.stop)() {
            tokio::time::sleep(STOP_LOOK).await;
        }
    };
    tokio::select! {
        biased;
        () = stopped => Err(EntraErrorKind::Interrupted),
        got = tokio::time::timeout(options.timeout, work) => {
            got.unwrap_or(Err(EntraErrorKind::Slow { seconds: options.timeout.as_secs() }))
        }
    }
}

/// The address of what lies there; each part is encoded.
pub(super) fn list_url(options: &Options, parts: &[&str]) -> Result<Url, EntraErrorKind> {
    let mut url = options.graph.url().clone();
    let wrong = || EntraErrorKind::Setup("graph_url can't be extended".to_owned());
    url.path_segments_mut().map_err(|()| wrong())?.pop_if_empty().extend(parts);
    Ok(url)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_beyond_all_time_is_none_that_is_waited() {
        let second = Duration::from_secs(1);
        for (wait, expected) in [(Duration::ZERO, true), (second, true), (second * 2, false), (Duration::MAX, false)] {
            assert_eq!(is_within(second * 2, second, wait), expected, "{wait:?}");
        }
    }
}
