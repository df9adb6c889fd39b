//! The login: to the provider, and back.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use super::attempt::{Attempt, LOGIN_MAX};
use super::held::Form;
use super::provider::LoginError;
use super::random;
use super::reply::{self, LOGIN, SESSION};
use super::site::Site;
use crate::fault::chain;
use crate::record::JobName;

/// What a login is begun for.
#[derive(Deserialize)]
pub(super) struct Wanted {
    /// The job whose page was asked for.
    job: Option<String>,
    /// Whether it has to be a new login.
    fresh: Option<String>,
}

/// What the provider sends the browser back with.
#[derive(Deserialize)]
pub(super) struct Brought {
    code: Option<String>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
}

/// Leads to the provider.
pub(super) async fn begin(State(site): State<Arc<Site>>, Query(wanted): Query<Wanted>) -> Response {
    let Some(provider) = &site.provider else { return site.pages.missing() };
    let job = wanted.job.as_deref().and_then(JobName::new).filter(|job| !job.is_part());
    let attempt = Attempt::new(wanted.fresh.is_some(), job, site.engine.clock().now());
    match provider.login_address(&attempt).await {
        Ok(address) => {
            let mut response = reply::see_other(address.as_str());
            reply::keep(&mut response, LOGIN, &site.seal.close(&attempt), Some(LOGIN_MAX.as_secs()));
            response
        }
        Err(error) => failed(&site, &error),
    }
}

/// Takes up who comes back from the provider.
pub(super) async fn end(
    State(site): State<Arc<Site>>,
    Query(brought): Query<Brought>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let Some(provider) = &site.provider else { return site.pages.missing() };
    // What only asks whether there is a page uses up no code.
    if method == Method::HEAD {
        return site.pages.missing();
    }
    let now = site.engine.clock().now();
    let attempt = reply::kept(&headers, LOGIN).and_then(|text| site.seal.open(text, now));
    let fits = |attempt: &Attempt| brought.state.as_deref().is_some_and(|state| random::same(state, &attempt.state));
    let Some(attempt) = attempt.filter(fits) else {
        let text = "This login was not begun in this browser within the last ten minutes. Begin again.";
        return site.pages.login_failed(StatusCode::BAD_REQUEST, text, None);
    };
    let mut response = match (brought.error, brought.code) {
        (Some(error), _) => {
            let code: String = error.chars().filter(|c| c.is_ascii_lowercase() || *c == '_').take(40).collect();
            let text = format!("The provider did not log you in ({code}).");
            site.pages.login_failed(StatusCode::FORBIDDEN, &text, attempt.job.as_ref())
        }
        (None, Some(code)) if brought.iss.as_deref().is_none_or(|issuer| issuer == provider.issuer()) => {
            match provider.logged_in(&code, &attempt, now).await {
                Ok(logged_in) => {
                    if let Some(before) = reply::kept(&headers, SESSION) {
                        site.sessions.end(before);
                    }
                    let session = site.sessions.begin(logged_in.person, logged_in.at, Instant::now());
                    let page = attempt.job.as_ref().map_or("/".to_owned(), |job| format!("/held/{job}"));
                    let mut response = reply::see_other(&page);
                    reply::keep(&mut response, SESSION, &session, None);
                    response
                }
                Err(error) => failed(&site, &error),
            }
        }
        _ => {
            let text = "The provider sent an answer that is none.";
            site.pages.login_failed(StatusCode::BAD_REQUEST, text, attempt.job.as_ref())
        }
    };
    // It was for one login.
    reply::drop_cookie(&mut response, LOGIN);
    response
}

/// Ends the session.
pub(super) async fn leave(State(site): State<Arc<Site>>, request: axum::extract::Request) -> Response {
    let headers = request.headers().clone();
    let form = match Form::of(&site, request).await {
        Ok((form, _)) => form,
        Err(response) => return *response,
    };
    drop(form);
    if let Some(session) = reply::kept(&headers, SESSION) {
        site.sessions.end(session);
    }
    let mut response = site.pages.logged_out(site.provider.is_some());
    reply::drop_cookie(&mut response, SESSION);
    response
}

/// Says on the page what a person may do about it, and the whole reason in the log.
fn failed(site: &Site, error: &LoginError) -> Response {
    let reason = chain(error);
    tracing::warn!(reason, "a login for decisions failed: {reason}");
    let status = match error {
        LoginError::Unreachable(_) | LoginError::Answer { .. } | LoginError::Secret => StatusCode::BAD_GATEWAY,
        LoginError::Code(_) | LoginError::Token(_) | LoginError::Nameless(_) => StatusCode::FORBIDDEN,
    };
    site.pages.login_failed(status, &format!("You could not be logged in: {reason}."), None)
}
