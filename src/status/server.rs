//! Serves page, metrics and health over HTTP.
//!
//! Requests within [`FRESH`] get the same snapshot: a page that is reloaded in haste reads the store no more often than
//! that.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, REFRESH, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use super::counters::Counters;
use super::health::Health;
use super::hosts::Hosts;
use super::metrics::{self, metrics};
use super::page::{page, unreadable};
use super::snapshot::Snapshot;
use crate::api::Traffic;
use crate::web::{self, Limits};

/// How long a snapshot serves all who ask.
const FRESH: Duration = Duration::from_secs(2);
/// The longest that gathering one may take.
const GATHER_MAX: Duration = Duration::from_secs(10);
const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Where the figures come from.
pub trait Gather: Send + Sync + 'static {
    /// The present state, or why it could not be determined; names no person.
    fn snapshot(&self) -> BoxFuture<'_, Result<Snapshot, String>>;

    /// What came of requests to the service.
    fn traffic(&self) -> Traffic;

    /// Whether the loop that starts runs has turned not long ago.
    fn is_alive(&self) -> bool;
}

/// The page can't be served.
#[derive(Debug, thiserror::Error)]
#[error("the status page can't be served on {address}")]
pub struct StartError {
    /// Where it should answer.
    pub address: SocketAddr,
    /// Why it can't.
    pub source: std::io::Error,
}

/// A place that answers, before anybody is served there.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    hosts: Hosts,
}

/// A snapshot that several share, or why there is none.
type Gathered = Result<Arc<Snapshot>, String>;

struct Served {
    gather: Arc<dyn Gather>,
    counters: Arc<Counters>,
    last: Mutex<Option<(Instant, Gathered)>>,
}

impl Server {
    /// Takes the address; `hosts` are names of this machine besides its own.
    ///
    /// # Errors
    ///
    /// Another program has it, or this machine has it not.
    pub async fn bind(address: SocketAddr, hosts: &[String]) -> Result<Self, StartError> {
        let failed = |source| StartError { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, hosts: Hosts::new(hosts) })
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it is dropped.
    pub async fn serve(self, gather: Arc<dyn Gather>, counters: Arc<Counters>) {
        let served = Arc::new(Served { gather, counters, last: Mutex::default() });
        let router = Router::new()
            .route("/", get(of_page))
            .route("/metrics", get(of_metrics))
            .route("/healthz", get(of_health))
            .route("/livez", get(of_life))
            .layer(from_fn_with_state(self.hosts, expected))
            .with_state(served);
        web::serve(self.listener, router, Limits::STANDARD).await;
    }
}

impl Served {
    async fn snapshot(&self) -> Gathered {
        let mut last = self.last.lock().await;
        if let Some((at, snapshot)) = last.as_ref()
            && at.elapsed() < FRESH
        {
            return snapshot.clone();
        }
        let gathered = tokio::time::timeout(GATHER_MAX, self.gather.snapshot()).await;
        let snapshot = match gathered {
            Ok(snapshot) => snapshot.map(Arc::new),
            Err(_) => Err(format!("it is in use since {} seconds", GATHER_MAX.as_secs())),
        };
        *last = Some((Instant::now(), snapshot.clone()));
        snapshot
    }
}

/// Answers requests for this machine only.
async fn expected(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    if hosts.take(request.uri(), request.headers()) {
        return next.run(request).await;
    }
    let text = "this page is not served under that name; status.hosts of the configuration adds one\n";
    answer(StatusCode::MISDIRECTED_REQUEST, TEXT, text.to_owned())
}

/// Reloads by itself only if the reader asks for that: a page that changes while it is read can't be read by everyone.
async fn of_page(State(served): State<Arc<Served>>, RawQuery(query): RawQuery) -> Response {
    let mut response = match served.snapshot().await {
        Ok(snapshot) => answer(StatusCode::OK, HTML, page(&snapshot)),
        Err(reason) => answer(StatusCode::SERVICE_UNAVAILABLE, HTML, unreadable(&reason)),
    };
    if query.as_deref() == Some("reload") {
        response.headers_mut().insert(REFRESH, HeaderValue::from_static("60"));
    }
    response
}

async fn of_metrics(State(served): State<Arc<Served>>) -> Response {
    let snapshot = served.snapshot().await.ok();
    let text = metrics(snapshot.as_deref(), &served.gather.traffic(), &served.counters);
    answer(StatusCode::OK, metrics::CONTENT_TYPE, text)
}

async fn of_health(State(served): State<Arc<Served>>) -> Response {
    let health = match served.snapshot().await {
        Ok(snapshot) => Health::of(&snapshot),
        Err(reason) => Health::unknown(&reason),
    };
    if health.is_good() {
        answer(StatusCode::OK, TEXT, "ok\n".to_owned())
    } else {
        answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, health.problems.join("\n") + "\n")
    }
}

/// For supervisors: it asks nothing of the store, and says nothing of the jobs.
async fn of_life(State(served): State<Arc<Served>>) -> Response {
    if served.gather.is_alive() {
        answer(StatusCode::OK, TEXT, "ok\n".to_owned())
    } else {
        answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, "the loop that starts runs does not turn\n".to_owned())
    }
}

fn answer(status: StatusCode, content_type: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers: [(HeaderName, &'static str); 5] = [
        (CONTENT_TYPE, content_type),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
