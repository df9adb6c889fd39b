//! Listens, and says which request goes where.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use tokio::net::TcpListener;

use super::engine::Engine;
use super::handed::{AsksHolder, HandedPages, WayToHolder};
use super::pages::Pages;
use super::site::Site;
use super::socket::ProxySocket;
use super::{guard, handed, held, login, person, reply};
use crate::config::{Approvals, Login};
use crate::web::{self, Limits};

/// The pages can't be served.
#[derive(Debug, thiserror::Error)]
#[error("the pages for decisions can't be served on {place}")]
pub struct StartError {
    /// Where they should answer.
    pub place: String,
    /// Why they can't.
    pub source: std::io::Error,
}

/// A place that answers, before anybody is served there.
pub struct Server {
    listener: Bound,
    router: Router,
}

/// What a worker that stands by answers with.
struct Front {
    approvals: Approvals,
    pages: Pages,
    holder: WayToHolder,
}

enum Bound {
    Address(TcpListener, SocketAddr),
    Socket(ProxySocket),
}

impl Server {
    /// Takes the place.
    ///
    /// # Errors
    ///
    /// Another program has it, or what logs people in can't be used.
    pub async fn bind(approvals: &Approvals, engine: Arc<dyn Engine>) -> Result<Self, StartError> {
        Self::with(approvals, || Ok(routes(Arc::new(Site::new(approvals, engine)?)))).await
    }

    /// Takes the place for a worker that stands by: what is asked there, the worker answers that has the account.
    ///
    /// # Errors
    ///
    /// Another program has it.
    pub async fn stand_by(approvals: &Approvals, holder: Box<dyn AsksHolder>) -> Result<Self, StartError> {
        let front = Front { approvals: approvals.clone(), pages: Pages::new(None), holder: WayToHolder::new(holder) };
        Self::with(approvals, || Ok(Router::new().fallback(hand_on).with_state(Arc::new(front)))).await
    }

    async fn with(approvals: &Approvals, router: impl FnOnce() -> Result<Router, String>) -> Result<Self, StartError> {
        let (listener, place) = match &approvals.login {
            Login::Provider(provider) => {
                let bound = TcpListener::bind(provider.listen).await;
                let bound = bound
                    .and_then(|listener| Ok(Bound::Address(listener.local_addr().map(|_| listener)?, provider.listen)));
                (bound, provider.listen.to_string())
            }
            Login::Proxy(proxy) => (ProxySocket::bind(proxy).map(Bound::Socket), proxy.socket.display().to_string()),
        };
        let failed = |source| StartError { place: place.clone(), source };
        let listener = listener.map_err(failed)?;
        let router = router().map_err(|reason| failed(std::io::Error::other(reason)))?;
        Ok(Self { listener, router })
    }

    /// Where it answers.
    pub fn place(&self) -> String {
        match &self.listener {
            Bound::Address(listener, asked) => listener.local_addr().unwrap_or(*asked).to_string(),
            Bound::Socket(socket) => socket.path().display().to_string(),
        }
    }

    /// The same pages for requests that another worker hands on.
    pub fn handed(&self) -> HandedPages {
        HandedPages::new(self.router.clone())
    }

    /// Serves until it is dropped.
    pub async fn serve(self) {
        match self.listener {
            Bound::Address(listener, _) => web::serve(listener, self.router, Limits::STANDARD).await,
            Bound::Socket(socket) => web::serve(socket, self.router, Limits::STANDARD).await,
        }
    }
}

fn routes(site: Arc<Site>) -> Router {
    Router::new()
        .route("/", get(held::overview))
        .route("/login", get(login::begin))
        .route("/callback", get(login::end))
        .route("/logout", post(login::leave))
        .route("/held/{job}", get(held::look).post(held::decide))
        .route("/person/{job}", get(person::look).post(person::reveal_all))
        .route("/pause/{job}", post(held::pause))
        .route("/resume/{job}", post(held::resume))
        .fallback(elsewhere)
        .layer(from_fn_with_state(Arc::clone(&site), expected))
        .with_state(site)
}

/// Answers requests for these pages only, and forms from these pages only.
async fn expected(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let mut response = match refusal(&site.approvals, &site.pages, &request) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    reply::protect(&mut response);
    response
}

/// The answer to what is not for these pages, or a form from elsewhere.
fn refusal(approvals: &Approvals, pages: &Pages, request: &Request) -> Option<Response> {
    let url = &approvals.url;
    if !guard::is_for(url, request.uri(), request.headers()) {
        let text = "These pages are not served under that name.";
        return Some(pages.message(StatusCode::MISDIRECTED_REQUEST, "Another name", text));
    }
    let is_foreign = *request.method() == Method::POST && !guard::is_from(url, request.headers());
    let text = "Your browser does not say that this form comes from these pages. Nothing was done.";
    is_foreign.then(|| pages.message(StatusCode::FORBIDDEN, "Not from here", text))
}

/// Has the worker that has the account answer.
async fn hand_on(State(front): State<Arc<Front>>, request: Request) -> Response {
    let Front { approvals, pages, holder } = &*front;
    let mut response = match refusal(approvals, pages, &request) {
        Some(refusal) => refusal,
        None => match handed::written(&approvals.login, request).await {
            None => pages.message(StatusCode::BAD_REQUEST, "Not understood", "Nothing was done."),
            Some(request) => {
                let answer = holder.ask(&request).await;
                let answer = answer.inspect_err(|reason| tracing::warn!(reason, "a page could not be had: {reason}"));
                answer.ok().and_then(|answer| handed::read(&answer)).unwrap_or_else(|| pages.absent())
            }
        },
    };
    reply::protect(&mut response);
    response
}

async fn elsewhere(State(site): State<Arc<Site>>) -> Response {
    site.pages.missing()
}
