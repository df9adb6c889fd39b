//! Who a request is from.

use axum::response::Response;
use jiff::Timestamp;

use super::access::Person;
use super::reply::{self, SESSION};
use super::session::Session;

/// Someone who is logged in, at a request.
pub(super) struct Visitor {
    pub(super) person: Person,
    pub(super) token: String,
    pub(super) logged_in: Option<Timestamp>,
    /// The session that begins with this request.
    pub(super) begun: Option<String>,
}

impl Visitor {
    pub(super) fn of(session: Session) -> Self {
        let Session { person, token, logged_in, .. } = session;
        Self { person, token, logged_in, begun: None }
    }

    /// Has the browser keep a session that begins with this request.
    pub(super) fn kept(&self, mut response: Response) -> Response {
        if let Some(id) = &self.begun {
            reply::keep(&mut response, SESSION, id, None);
        }
        response
    }
}
