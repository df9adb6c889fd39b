//! Dispatches one request, from its arrival to its answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use tokio::time::{Instant, sleep};

use crate::answer::{Answer, Rejection};
use crate::control;
use crate::decode;
use crate::engine::{self, Order};
use crate::fault::{Effect, FaultTarget};
use crate::fault_rules::Strike;
use crate::media;
use crate::openapi;
use crate::operation::{Operation, Route, operations, route};
use crate::service::Service;
use crate::token;

/// Where the API's paths begin.
const ROOT: &str = "/v1";

/// The token endpoint's path.
const TOKEN: &str = "/oauth2/token";

/// Where the control interface's paths begin.
const CONTROL: &str = "/control";

/// Where the sandbox describes itself.
const DESCRIPTION: &str = "/openapi.json";

/// What becomes of a request.
pub(crate) enum Outcome {
    /// It is answered.
    Answered(Answer),
    /// Its connection closes in the middle of this answer.
    Half(Answer),
    /// Its connection closes without an answer.
    Cut,
}

/// A request to the API that was counted.
pub(crate) struct Arrival {
    number: u64,
    at: Instant,
    route: Route,
}

impl Arrival {
    fn operation(&self) -> Option<&'static Operation> {
        if let Route::Operation(operation, _) = &self.route { Some(*operation) } else { None }
    }
}

impl Service {
    /// Counts a request to the API when its head is there; `None` for any other.
    pub(crate) fn arrive(&self, parts: &Parts) -> Option<Arrival> {
        let path = below_root(parts)?;
        let route = match decode::segments(path) {
            Some(segments) => route(parts.method.as_str(), &segments),
            None => Route::Unknown,
        };
        let operation = if let Route::Operation(operation, _) = &route { operation.name } else { "" };
        let number = self.traffic().arrive(parts, path, operation);
        Some(Arrival { number, at: Instant::now(), route })
    }

    /// Carries a request out and returns the answer; `None` means a body over the limit.
    pub(crate) async fn process(
        self: Arc<Self>,
        arrival: Option<Arrival>,
        parts: Parts,
        body: Option<Bytes>,
    ) -> Outcome {
        let Some(arrival) = arrival else { return self.process_outside(&parts, body).await };
        let outcome = match self.admit(&arrival, &parts) {
            Ok(strike) => {
                let act = || {
                    let body = body.as_deref().ok_or_else(too_large)?;
                    self.act(&arrival, &parts, body)
                };
                self.strike(&strike, || {
                    let answer = act().unwrap_or_else(Answer::from);
                    if answer.status.is_success() && !parts.method.is_safe() {
                        self.traffic().writes += 1;
                    }
                    answer
                })
                .await
            }
            Err(answer) => Outcome::Answered(answer),
        };
        let operation = arrival.operation();
        let outcome = match outcome {
            Outcome::Answered(answer) => Outcome::Answered(media::accepted(answer, &parts.headers, operation)),
            Outcome::Half(answer) => Outcome::Half(media::accepted(answer, &parts.headers, operation)),
            Outcome::Cut => Outcome::Cut,
        };
        let status = match &outcome {
            Outcome::Answered(answer) | Outcome::Half(answer) => answer.status.as_u16(),
            Outcome::Cut => 0,
        };
        self.traffic().answered(arrival.number, status);
        outcome
    }

    /// Asks for credential and rate, then for faults, so that these count only what came through.
    fn admit(&self, arrival: &Arrival, parts: &Parts) -> Result<Strike, Answer> {
        let caller = self.credentials.caller(&parts.headers)?;
        self.traffic().is_of(arrival.number, &caller.credential);
        if let Err(seconds) = self.rate().admit(&caller.credential, arrival.at) {
            let answer = Answer::error(StatusCode::TOO_MANY_REQUESTS, "too many requests in a minute");
            return Err(answer.with("retry-after", seconds.to_string()));
        }
        let operation = arrival.operation();
        let path = below_root(parts).unwrap_or_default();
        let strike = self.faults().strike(FaultTarget { method: parts.method.as_str(), path, operation });
        if let Some(operation) = operation.filter(|operation| !caller.may(&operation.scope)) {
            let message = format!("the credential lacks the scope {}", operation.scope);
            return Err(Answer::error(StatusCode::FORBIDDEN, &message));
        }
        Ok(strike)
    }

    fn act(&self, arrival: &Arrival, parts: &Parts, body: &[u8]) -> Result<Answer, Rejection> {
        let (operation, path) = match &arrival.route {
            Route::Operation(operation, path) => (operation, path),
            Route::OtherMethod(methods) => return Ok(Answer::other_method(methods)),
            Route::Unknown => return Err(Rejection::missing("there is no such path")),
        };
        let query = parts.uri.query().unwrap_or_default();
        let order = Order {
            operation,
            path,
            query,
            headers: &parts.headers,
            body,
            now: self.clock.now(),
            assets: self.assets.load(Ordering::Relaxed),
        };
        engine::carry_out(&self.store, &self.options, &order)
    }

    /// Acts as the faults let it, and keeps the answer back as long as they and the options say.
    async fn strike(&self, strike: &Strike, act: impl FnOnce() -> Answer) -> Outcome {
        if strike.held_before {
            self.gate.wait().await;
        }
        wait(strike.before).await;
        let refused = |status: u16, retry_after: Option<u64>| {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let answer = Answer::error(status, "a fault on purpose");
            retry_after.map_or(answer.clone(), |seconds| answer.with("retry-after", seconds.to_string()))
        };
        let outcome = match &strike.effect {
            None => Outcome::Answered(act().shown(&strike.shown)),
            Some(Effect::Status(status, retry_after)) => Outcome::Answered(refused(*status, *retry_after)),
            Some(Effect::StatusAfter(status, retry_after)) => {
                act();
                Outcome::Answered(refused(*status, *retry_after))
            }
            Some(Effect::CutBefore) => Outcome::Cut,
            Some(Effect::CutAfter) => {
                act();
                Outcome::Cut
            }
            Some(Effect::Half) => Outcome::Half(act()),
            Some(Effect::Html) => Outcome::Answered(Answer::web_page()),
            Some(Effect::EmptyList) => Outcome::Answered(Answer::document(StatusCode::OK, b"[]".to_vec())),
            Some(Effect::NotFound) => Outcome::Answered(Answer::error(StatusCode::NOT_FOUND, "not found")),
            Some(
                Effect::Delay(_) | Effect::DelayBefore(_) | Effect::Hold | Effect::HoldBefore | Effect::Disguised(_),
            ) => unreachable!("waits are summed up in a strike, and so is how entities are shown"),
        };
        if strike.held {
            self.gate.wait().await;
        }
        wait(self.options.delay + strike.later).await;
        outcome
    }

    /// Answers what is not below the API root: token requests and the control interface.
    async fn process_outside(&self, parts: &Parts, body: Option<Bytes>) -> Outcome {
        if let Some(path) = parts.uri.path().strip_prefix(CONTROL).and_then(decode::segments) {
            let answer =
                body.map_or_else(|| too_large().into(), |body| control::answer(self, &parts.method, &path, &body));
            return Outcome::Answered(answer);
        }
        if parts.uri.path() == DESCRIPTION {
            return Outcome::Answered(description(&parts.method));
        }
        if parts.uri.path() != TOKEN {
            let answer = Rejection::missing("the API is below /v1").into();
            return Outcome::Answered(media::accepted(answer, &parts.headers, None));
        }
        if parts.method != Method::POST {
            return Outcome::Answered(Answer::other_method(&["POST"]));
        }
        let Some(body) = body else { return Outcome::Answered(too_large().into()) };
        self.traffic().token_requests += 1;
        let name = token::operation(&parts.headers, &body);
        let operation = operations().iter().find(|operation| operation.name == name);
        let strike = self.faults().strike(FaultTarget { method: "POST", path: TOKEN, operation });
        self.strike(&strike, || token::answer(&self.credentials, &parts.headers, &body)).await
    }
}

/// The path below the API root, `/` for the root itself.
fn below_root(parts: &Parts) -> Option<&str> {
    match parts.uri.path().strip_prefix(ROOT)? {
        "" => Some("/"),
        rest => rest.starts_with('/').then_some(rest),
    }
}

fn description(method: &Method) -> Answer {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Answer::other_method(&["GET", "HEAD"]);
    }
    Answer::document(StatusCode::OK, openapi::document().to_string().into_bytes())
}

fn too_large() -> Rejection {
    Rejection::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")
}

async fn wait(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}
