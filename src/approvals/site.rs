//! What all requests share, and who a request is from.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::access::Allowed;
use super::attempt::Seal;
use super::consent::Consents;
use super::engine::{Engine, SharedStore};
use super::header;
use super::pages::Pages;
use super::provider::Provider;
use super::reply::{self, SESSION};
use super::session::{Session, Sessions};
use super::visitor::Visitor;
use crate::config::{Approvals, Instance, Login, Right};
use crate::record::JobName;
use crate::store::Store;

/// The longest wait for the state, which a command may have for itself.
const STORE_MAX: Duration = Duration::from_secs(10);
/// Pages that are made at a time: each may read all that a job holds.
const WORK_MAX: usize = 4;

/// What all requests share.
pub(super) struct Site {
    pub(super) approvals: Approvals,
    pub(super) engine: Arc<dyn Engine>,
    pub(super) sessions: Sessions,
    pub(super) consents: Consents,
    pub(super) seal: Seal,
    /// Where people log in; `None` behind a proxy that does that.
    pub(super) provider: Option<Provider>,
    pub(super) pages: Pages,
    work: Arc<tokio::sync::Semaphore>,
}

impl Site {
    /// Asks nothing and listens nowhere yet.
    ///
    /// # Errors
    ///
    /// Certificates or a proxy can't be used.
    pub(super) fn new(approvals: &Approvals, engine: Arc<dyn Engine>) -> Result<Self, String> {
        let provider = match &approvals.login {
            Login::Provider(options) => Some(Provider::new(options, approvals.callback())?),
            Login::Proxy(_) => None,
        };
        let account = Instance::of(&engine.config().source_path);
        Ok(Self {
            approvals: approvals.clone(),
            engine,
            sessions: Sessions::default(),
            consents: Consents::default(),
            seal: Seal::new(),
            provider,
            pages: Pages::new(account.as_ref()),
            work: Arc::new(tokio::sync::Semaphore::new(WORK_MAX)),
        })
    }

    /// Who asks to see something, `job` where it is of one; `Err` is the answer to who is not logged in.
    pub(super) fn visitor(&self, headers: &HeaderMap, job: Option<&str>) -> Result<Visitor, Box<Response>> {
        let session = self.session(headers);
        match &self.approvals.login {
            Login::Provider(_) => match session {
                Some(session) => Ok(Visitor::of(session)),
                None => {
                    let job = job.and_then(JobName::new).filter(|job| !job.is_part());
                    let query = job.map(|job| format!("?job={job}")).unwrap_or_default();
                    Err(Box::new(reply::see_other(&format!("/login{query}"))))
                }
            },
            Login::Proxy(proxy) => {
                let person = header::person(proxy, headers).ok_or_else(|| {
                    let text = "The proxy before this page says not, or not clearly, who you are.";
                    Box::new(self.pages.message(StatusCode::FORBIDDEN, "Not logged in", text))
                })?;
                // What the proxy says now counts, groups included.
                if let Some(session) = session.filter(|session| session.person.identity() == person.identity()) {
                    return Ok(Visitor { person, ..Visitor::of(session) });
                }
                let now = Instant::now();
                let id = self.sessions.begin(person.clone(), None, now);
                let session = self.sessions.of(&id, now).expect("it just began");
                Ok(Visitor { person, begun: Some(id), ..Visitor::of(session) })
            }
        }
    }

    /// Who sends a form: someone with a session that was there before.
    pub(super) fn sender(&self, headers: &HeaderMap) -> Option<Visitor> {
        let session = self.session(headers)?;
        match &self.approvals.login {
            Login::Provider(_) => Some(Visitor::of(session)),
            Login::Proxy(proxy) => {
                let person = header::person(proxy, headers)?;
                (session.person.identity() == person.identity()).then(|| Visitor { person, ..Visitor::of(session) })
            }
        }
    }

    fn session(&self, headers: &HeaderMap) -> Option<Session> {
        self.sessions.of(reply::kept(headers, SESSION)?, Instant::now())
    }

    /// The job of that name, where the visitor may do anything with it.
    pub(super) fn allowed(&self, visitor: &Visitor, name: &str) -> Option<Allowed> {
        let config = self.engine.config();
        let name = config.jobs.iter().map(|job| &job.name).find(|job| job.as_str() == name)?.clone();
        let rights = visitor.person.rights(&self.approvals, &name);
        (!rights.is_empty()).then_some(Allowed { config, name, rights })
    }

    /// The job of that name, where the visitor may see its people; `Err` says that there is no such job.
    pub(super) fn seen(&self, visitor: &Visitor, name: &str) -> Result<Allowed, Box<Response>> {
        let allowed = self.allowed(visitor, name).filter(|one| one.rights.allow(Right::See));
        allowed.ok_or_else(|| Box::new(self.pages.missing()))
    }

    /// Does work with the state on a thread that may wait; `Err` is the answer where that can't be had.
    pub(super) async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> T + Send + 'static,
    ) -> Result<T, Box<Response>> {
        let busy = || Box::new(self.pages.unavailable());
        let permit = tokio::time::timeout(STORE_MAX, Arc::clone(&self.work).acquire_owned()).await;
        let permit = permit.map_err(|_| busy())?.map_err(|_| busy())?;
        let store: SharedStore = match tokio::time::timeout(STORE_MAX, self.engine.store()).await {
            Ok(Ok(store)) => store,
            Ok(Err(_)) | Err(_) => return Err(busy()),
        };
        let work = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&store)
        });
        work.await.map_err(|_| busy())
    }
}
