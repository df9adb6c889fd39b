//! Serves page, metrics and health over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path as UrlPath, RawQuery, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, REFRESH, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use tokio::net::TcpListener;

use super::board::{Board, Gathered, ShownAccount};
use super::health::Health;
use super::hosts::Hosts;
use super::metrics::{self, Measured, Standing, metrics_of};
use super::overview::{Row, overview};
use super::page::{elsewhere, page_of, stopped, unreadable};
use crate::api::Traffic;
use crate::web::{self, Limits};

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

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

    /// The names under which it is asked; more may be added while it serves.
    pub fn hosts(&self) -> Hosts {
        self.hosts.clone()
    }

    /// Serves until it is dropped.
    pub async fn serve(self, board: Arc<Board>) {
        let router = Router::new()
            .route("/", get(of_all))
            .route("/account/{name}", get(of_account))
            .route("/metrics", get(of_metrics))
            .route("/healthz", get(of_health))
            .route("/livez", get(of_life))
            .layer(from_fn_with_state(self.hosts, expected))
            .with_state(board);
        web::serve(self.listener, router, Limits::STANDARD).await;
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

/// The page of the only account, or all accounts in a table.
async fn of_all(State(board): State<Arc<Board>>, RawQuery(query): RawQuery) -> Response {
    let accounts = board.accounts();
    let response = match &accounts[..] {
        [only] if only.name.is_none() => shown_page(only).await,
        _ => {
            let all = board.snapshots().await;
            let rows = all.iter().map(|(shown, snapshot)| row_of(shown, snapshot)).collect();
            answer(StatusCode::OK, HTML, overview(rows))
        }
    };
    reloading(response, query)
}

/// The page of one account of several.
async fn of_account(
    State(board): State<Arc<Board>>,
    UrlPath(name): UrlPath<String>,
    RawQuery(query): RawQuery,
) -> Response {
    match board.account(&name) {
        Some(shown) => reloading(shown_page(&shown).await, query),
        None => answer(StatusCode::NOT_FOUND, TEXT, "there is no such account here\n".to_owned()),
    }
}

async fn shown_page(shown: &ShownAccount) -> Response {
    if let Some(reason) = shown.gather.stopped() {
        return answer(StatusCode::SERVICE_UNAVAILABLE, HTML, stopped(&reason));
    }
    if let Some(node) = shown.gather.elsewhere() {
        return answer(StatusCode::OK, HTML, elsewhere(&node));
    }
    match shown.snapshot().await {
        Ok(snapshot) => answer(StatusCode::OK, HTML, page_of(&snapshot, shown.name.as_deref())),
        Err(reason) => answer(StatusCode::SERVICE_UNAVAILABLE, HTML, unreadable(&reason)),
    }
}

fn row_of<'a>(shown: &'a ShownAccount, snapshot: &'a Gathered) -> Row<'a> {
    let name = shown.name.as_deref().unwrap_or_default();
    match (shown.gather.stopped(), shown.gather.elsewhere(), snapshot) {
        (Some(reason), ..) => Row::stopped(name, &reason),
        (None, Some(node), _) => Row::elsewhere(name, &node),
        (None, None, Ok(snapshot)) => Row::of(name, snapshot),
        (None, None, Err(reason)) => Row::unknown(name, reason),
    }
}

/// Reloads by itself only if the reader asks for that: a page that changes while it is read can't be read by everyone.
fn reloading(mut response: Response, query: Option<String>) -> Response {
    if query.as_deref() == Some("reload") {
        response.headers_mut().insert(REFRESH, HeaderValue::from_static("60"));
    }
    response
}

async fn of_metrics(State(board): State<Arc<Board>>) -> Response {
    let all = board.snapshots().await;
    let traffic: Vec<Traffic> = all.iter().map(|(shown, _)| shown.gather.traffic()).collect();
    let measured: Vec<Measured<'_>> = all
        .iter()
        .zip(&traffic)
        .map(|((shown, snapshot), traffic)| Measured {
            account: shown.name.as_deref(),
            standing: Standing::of(shown),
            snapshot: snapshot.as_deref().ok(),
            traffic,
            counters: &shown.counters,
        })
        .collect();
    answer(StatusCode::OK, metrics::CONTENT_TYPE, metrics_of(&measured))
}

async fn of_health(State(board): State<Arc<Board>>) -> Response {
    let mut problems = Vec::new();
    for (shown, snapshot) in board.snapshots().await {
        let health = match (shown.gather.stopped(), snapshot) {
            (Some(reason), _) => Health::stopped(&reason),
            (None, _) if shown.gather.elsewhere().is_some() => continue,
            (None, Ok(snapshot)) => Health::of(&snapshot),
            (None, Err(reason)) => Health::unknown(&reason),
        };
        let named = |problem: String| match &shown.name {
            Some(name) => format!("{name}: {problem}"),
            None => problem,
        };
        problems.extend(health.problems.into_iter().map(named));
    }
    if problems.is_empty() {
        answer(StatusCode::OK, TEXT, "ok\n".to_owned())
    } else {
        answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, problems.join("\n") + "\n")
    }
}

/// For supervisors: it asks nothing of the store, and says nothing of the jobs.
async fn of_life(State(board): State<Arc<Board>>) -> Response {
    if board.is_alive() {
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
