//! Requests for these pages that another worker took, and their answers: where several workers share a state, one of them has
//! sessions and decisions, and each of them answers browsers.
//!
//! A worker that stands by looks at the name and the origin of a request, as the pages do, and hands it on. It keeps no
//! session: after a takeover people log in again.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use futures_util::future::BoxFuture;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde::{Deserialize, Serialize};

use super::guard::FETCH_SITE;
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
pub struct HandedPages(pub(super) Router);

impl HandedPages {
    /// The answer to a request; `None` where it is no request.
    pub async fn answer(&self, request: &[u8]) -> Option<Vec<u8>> {
        let HandedRequest { method, target, headers, body } = serde_json::from_slice(request).ok()?;
        let mut request = Request::builder().method(method.as_str()).uri(target);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(body)).ok()?;
        let answer = TowerToHyperService::new(self.0.clone()).call(request).await.ok()?;
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
