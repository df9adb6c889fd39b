//! What the sandbox answers, before it becomes bytes on a connection.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::fault::Disguise;

const JSON: &str = "application/json";

/// An answer: its status, its own headers and its body.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

/// Why a request isn't carried out. Its message holds names of fields, never people's values.
#[derive(Clone, Debug)]
pub(crate) struct Rejection {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl Answer {
    /// A JSON document.
    pub(crate) fn document(status: StatusCode, body: Vec<u8>) -> Self {
        Self { status, headers: vec![("content-type", JSON.to_owned())], body }
    }

    /// A status and nothing else.
    pub(crate) fn bare(status: StatusCode) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    /// An error with its body, `{"error": "…"}`.
    pub(crate) fn error(status: StatusCode, message: &str) -> Self {
        Self::document(status, json!({ "error": message }).to_string().into_bytes())
    }

    /// A 405 that names the methods that there are.
    pub(crate) fn other_method(methods: &[&str]) -> Self {
        let answer = Self::error(StatusCode::METHOD_NOT_ALLOWED, "the method is not allowed here");
        answer.with("allow", methods.join(", "))
    }

    /// A web page, as a proxy or a captive portal would answer.
    pub(crate) fn web_page() -> Self {
        let page = "<!doctype html><title>Sign in</title><h1>Please sign in to the network</h1>\n";
        Self {
            status: StatusCode::OK,
            headers: vec![("content-type", "text/html; charset=utf-8".to_owned())],
            body: page.as_bytes().to_vec(),
        }
    }

    /// The same with its entities shown otherwise.
    pub(crate) fn shown(mut self, otherwise: &[Disguise]) -> Self {
        if !otherwise.is_empty()
            && self.status.is_success()
            && let Ok(mut document) = serde_json::from_slice::<Value>(&self.body)
        {
            otherwise.iter().for_each(|shown| shown.apply(&mut document));
            self.body = document.to_string().into_bytes();
        }
        self
    }

    /// The same with one more header.
    pub(crate) fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl Rejection {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// 400: the request is wrong.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// 404: there is no such thing.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }
}

impl From<Rejection> for Answer {
    fn from(refusal: Rejection) -> Self {
        Self::error(refusal.status, &refusal.message)
    }
}
