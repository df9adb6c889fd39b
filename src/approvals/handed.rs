//! Requests for these pages that another worker took, and their answers: where several workers share a state, one of them has
//! sessions and decisions, and each of them answers browsers.
//!
//! A worker that stands by looks at the name and the origin of a request, as the pages do, and hands it on. It keeps no
//! session: after a takeover people log in again. All of it is sealed on its way ([`sealed`](super::sealed)): it lies in the
//! database that they share.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use futures_util::future::BoxFuture;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde::{Deserialize, Serialize};

use super::guard::FETCH_SITE;
use super::sealed::{Channel, Channels, Opened, Opening, Received};
use crate::config::Login;

/// The largest form: a decision with some keys.
const FORM_BYTES_MAX: usize = 256 * 1024;
/// The largest page: all that a job holds.
const PAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Asks the worker that has the account.
pub trait AsksHolder: Send + Sync + 'static {
    /// What it answers to a request; the error is why there is no answer.
    fn ask(&self, request: Vec<u8>) -> BoxFuture<'_, Result<Vec<u8>, String>>;
}

/// A request that is handed on.
#[derive(Serialize, Deserialize)]
struct HandedRequest {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// The answer to it.
#[derive(Serialize, Deserialize)]
struct HandedAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

/// The pages, for requests that other workers took.
#[derive(Clone)]
pub struct HandedPages {
    router: Router,
    channels: Arc<Channels>,
}

impl HandedPages {
    pub(super) fn new(router: Router) -> Self {
        Self { router, channels: Arc::default() }
    }

    /// The answer to what another worker sends; `None` where that is nothing to answer.
    pub async fn answer(&self, received: &[u8]) -> Option<Vec<u8>> {
        match self.channels.take(received)? {
            Received::Reply(reply) => Some(reply),
            Received::Request(request, seal) => Some(seal.seal(&self.page(&request).await?)),
        }
    }

    async fn page(&self, request: &[u8]) -> Option<Vec<u8>> {
        let HandedRequest { method, target, headers, body } = serde_json::from_slice(request).ok()?;
        let mut request = Request::builder().method(method.as_str()).uri(target);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(body)).ok()?;
        let answer = TowerToHyperService::new(self.router.clone()).call(request).await.ok()?;
        let (head, body) = answer.into_parts();
        let body = to_bytes(body, PAGE_BYTES_MAX).await.ok()?;
        let answer = HandedAnswer {
            status: head.status.as_u16(),
            headers: texts(&head.headers, |_| true)?,
            body: String::from_utf8(body.into()).ok()?,
        };
        serde_json::to_vec(&answer).ok()
    }
}

/// The way to the worker that has the account.
pub(super) struct WayToHolder {
    holder: Box<dyn AsksHolder>,
    channel: Mutex<Option<Arc<Channel>>>,
}

impl WayToHolder {
    pub(super) fn new(holder: Box<dyn AsksHolder>) -> Self {
        Self { holder, channel: Mutex::default() }
    }

    /// What that worker answers to a request; the error is why there is no answer.
    pub(super) async fn ask(&self, request: &[u8]) -> Result<Vec<u8>, String> {
        let kept = self.channel.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Another worker may have the account by now, and knows nothing of the channel.
        if let Some(channel) = kept
            && let Some(answer) = self.ask_in(&channel, request).await?
        {
            return Ok(answer);
        }
        let opening = Opening::new();
        let answer = self.holder.ask(opening.message()).await?;
        let channel = Arc::new(opening.opened(&answer).ok_or("the other worker did not open a channel")?);
        *self.channel.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&channel));
        let answer = self.ask_in(&channel, request).await?;
        answer.ok_or_else(|| "another worker has the account by now".to_owned())
    }

    /// The answer; `None` where the worker does not know the channel, and did not look at the request.
    async fn ask_in(&self, channel: &Channel, request: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let request = channel.seal(request);
        let answer = self.holder.ask(request.bytes.clone()).await?;
        match channel.open(&request, &answer) {
            Opened::Answer(answer) => Ok(Some(answer)),
            Opened::UnknownChannel => Ok(None),
            Opened::Garbled => Err("its answer can't be read".to_owned()),
        }
    }
}

/// A request as it is handed on, with those headers that the pages read; `None` where it is none that they would answer.
pub(super) async fn written(login: &Login, request: Request<Body>) -> Option<Vec<u8>> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, FORM_BYTES_MAX).await.ok()?;
    let is_read = |name: &HeaderName| {
        [HOST, COOKIE, ORIGIN, CONTENT_TYPE].contains(name) || name == FETCH_SITE || is_of_proxy(login, name)
    };
    let request = HandedRequest {
        method: head.method.to_string(),
        target: head.uri.path_and_query().map(ToString::to_string)?,
        headers: texts(&head.headers, is_read)?,
        body: String::from_utf8(body.into()).ok()?,
    };
    serde_json::to_vec(&request).ok()
}

/// An answer as the browser gets it.
pub(super) fn read(answer: &[u8]) -> Option<Response<Body>> {
    let HandedAnswer { status, headers, body } = serde_json::from_slice(answer).ok()?;
    let mut answer = Response::new(Body::from(body));
    *answer.status_mut() = StatusCode::from_u16(status).ok()?;
    for (name, value) in headers {
        answer.headers_mut().append(name.parse::<HeaderName>().ok()?, HeaderValue::from_str(&value).ok()?);
    }
    Some(answer)
}

/// Whether a proxy says by this header who someone is: it is read only where the kernel has shown that the proxy is at the other
/// end.
fn is_of_proxy(login: &Login, name: &HeaderName) -> bool {
    let Login::Proxy(proxy) = login else { return false };
    let mut own = std::iter::once(&proxy.user_header).chain(&proxy.groups_header);
    own.any(|own| own.as_str().eq_ignore_ascii_case(name.as_str()))
}

fn texts(headers: &HeaderMap, is_kept: impl Fn(&HeaderName) -> bool) -> Option<Vec<(String, String)>> {
    let kept = headers.iter().filter(|(name, _)| is_kept(name));
    kept.map(|(name, value)| Some((name.to_string(), std::str::from_utf8(value.as_bytes()).ok()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::routing::post;

    use super::*;

    /// What passes the database, and the workers that have the account one after the other.
    struct Database {
        workers: Vec<HandedPages>,
        current: AtomicUsize,
        seen: Mutex<Vec<u8>>,
    }

    impl AsksHolder for Arc<Database> {
        fn ask(&self, request: Vec<u8>) -> BoxFuture<'_, Result<Vec<u8>, String>> {
            Box::pin(async move {
                let answer = self.workers[self.current.load(Ordering::SeqCst)].answer(&request).await;
                let answer = answer.ok_or("no answer")?;
                let mut seen = self.seen.lock().unwrap();
                seen.extend_from_slice(&request);
                seen.extend_from_slice(&answer);
                Ok(answer)
            })
        }
    }

    #[tokio::test]
    async fn a_session_and_a_page_pass_the_database_unseen_and_a_takeover_asks_once() {
        let asked = Arc::new(AtomicUsize::new(0));
        let worker = |name: &'static str| {
            let asked = Arc::clone(&asked);
            HandedPages::new(Router::new().route(
                "/held/employees",
                post(move |headers: HeaderMap| async move {
                    asked.fetch_add(1, Ordering::SeqCst);
                    format!("the page of {name} for {}", headers[COOKIE].to_str().unwrap())
                }),
            ))
        };
        let workers = vec![worker("one"), worker("two")];
        let database = Arc::new(Database { workers, current: AtomicUsize::new(0), seen: Mutex::default() });
        let way = WayToHolder::new(Box::new(Arc::clone(&database)));
        for (worker, name) in [(0, "one"), (0, "one"), (1, "two"), (1, "two")] {
            database.current.store(worker, Ordering::SeqCst);
            let before = asked.load(Ordering::SeqCst);
            let request = HandedRequest {
                method: "POST".to_owned(),
                target: "/held/employees?code=sesame".to_owned(),
                headers: vec![("cookie".to_owned(), "__Host-rosterd=sesame".to_owned())],
                body: "action=approve".to_owned(),
            };
            let answer = way.ask(&serde_json::to_vec(&request).unwrap()).await.unwrap();
            let page = to_bytes(read(&answer).unwrap().into_body(), PAGE_BYTES_MAX).await.unwrap();
            assert_eq!(page, format!("the page of {name} for __Host-rosterd=sesame"));
            assert_eq!(asked.load(Ordering::SeqCst), before + 1);
        }
        let seen = database.seen.lock().unwrap();
        for secret in ["sesame", "approve", "page of"] {
            assert!(!seen.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret}");
        }
    }
}
