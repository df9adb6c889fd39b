//! The sandbox as its callers see it: over HTTP.

mod access;
mod control;
mod compliance;
mod contractors;
mod entities;
mod everything;
mod faults;
mod garbage;
mod holdings;
mod lists;
mod media;
mod movements;
mod photos;
mod refusals;
mod replaced;
mod restart;
mod rosters;
mod shapes;
mod visits;

use jiff::Timestamp;
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::Value;

use super::{Clock, Options, Sandbox};

/// A sandbox and a caller with its API key.
struct Rig {
    sandbox: Sandbox,
    client: Client,
}

/// A clock that stands still.
fn fixed_clock(at: &str) -> Clock {
    let at: Timestamp = at.parse().unwrap();
    Clock::of(move || at)
}

/// A sandbox with something in every list.
fn full() -> Options {
    Options { seed_staff: 9, seed_contractors: 20, rate: 0, ..Options::default() }
}

async fn rig(options: Options) -> Rig {
    // A second installation is refused, and the first one does.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().no_proxy().build().unwrap();
    Rig { sandbox: Sandbox::start(options).await.unwrap(), client }
}

impl Rig {
    fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.sandbox.url())).header("accept", "application/json")
    }

    fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = method.parse().unwrap();
        self.bare(method, path).header("authorization", "APIKEY sandbox-key")
    }

    /// Sends a request and gives status and JSON; null where there is no body.
    async fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = self.request(method, path);
        answer(body.into_iter().fold(request, |request, body| request.json(&body))).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.send("GET", path, None).await
    }

    /// The ids of a list that answers 200.
    async fn ids(&self, path: &str) -> Vec<i64> {
        let (status, list) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {list}");
        list.as_array().unwrap().iter().map(|entity| entity["id"].as_i64().unwrap()).collect()
    }
}

async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status();
    let body = response.bytes().await.unwrap();
    assert!(status != StatusCode::NO_CONTENT || body.is_empty());
    (status.as_u16(), if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() })
}
