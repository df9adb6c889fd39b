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
use super::site::Site;
use super::socket::ProxySocket;
use super::{guard, held, login, person, reply};
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
    site: Arc<Site>,
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
        let site = Site::new(approvals, engine).map_err(|reason| failed(std::io::Error::other(reason)))?;
        Ok(Self { listener, site: Arc::new(site) })
    }

    /// Where it answers.
    pub fn place(&self) -> String {
        match &self.listener {
            Bound::Address(listener, asked) => listener.local_addr().unwrap_or(*asked).to_string(),
            Bound::Socket(socket) => socket.path().display().to_string(),
        }
    }

    /// Serves until it is dropped.
    pub async fn serve(self) {
        let router = Router::new()
            .route("/", get(held::overview))
            .route("/login", get(login::begin))
            .route("/callback", get(login::end))
            .route("/logout", post(login::leave))
            .route("/held/{job}", get(held::look).post(held::decide))
            .route("/person/{job}", get(person::look).post(person::reveal_all))
            .route("/pause/{job}", post(held::pause))
            .route("/resume/{job}", post(held::resume))
            .fallback(elsewhere)
            .layer(from_fn_with_state(Arc::clone(&self.site), expected))
            .with_state(self.site);
        match self.listener {
            Bound::Address(listener, _) => web::serve(listener, router, Limits::STANDARD).await,
            Bound::Socket(socket) => web::serve(socket, router, Limits::STANDARD).await,
        }
    }
}

/// Answers requests for these pages only, and forms from these pages only.
async fn expected(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let url = &site.approvals.url;
    let mut response = if !guard::is_for(url, request.uri(), request.headers()) {
        let text = "These pages are not served under that name.";
        site.pages.message(StatusCode::MISDIRECTED_REQUEST, "Another name", text)
    } else if *request.method() == Method::POST && !guard::is_from(url, request.headers()) {
        let text = "Your browser does not say that this form comes from these pages. Nothing was done.";
        site.pages.message(StatusCode::FORBIDDEN, "Not from here", text)
    } else {
        next.run(request).await
    };
    reply::protect(&mut response);
    response
}

async fn elsewhere(State(site): State<Arc<Site>>) -> Response {
    site.pages.missing()
}
