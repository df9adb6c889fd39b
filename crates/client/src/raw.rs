//! One request of any operation, from names and texts that a person gives.

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

use crate::answer;
use crate::call::{segment, target};
use crate::client::{Client, JSON, Outgoing};
use crate::error::{Error, ErrorKind};
use crate::json;
use crate::operation::{Operation, Verb, path_parameters};
use crate::photo::photo_format;
use crate::table::{self, GRANT};
use crate::transport::{self, Head};

/// The header that is given like a parameter.
const SINCE: &str = "If-Modified-Since";

/// A request as a person gives it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Raw {
    /// The operation's name.
    pub operation: String,
    /// Values for the path, the query, and `If-Modified-Since`, by name.
    pub parameters: Vec<(String, String)>,
    /// The body, sent as it is.
    pub body: Option<Vec<u8>>,
    /// What the body is; where it isn't said, the format of an image, and JSON for anything else.
    pub media_type: Option<String>,
}

/// Whatever the service answered.
#[derive(Clone, PartialEq, Eq)]
pub struct RawAnswer {
    /// The status code.
    pub status: u16,
    /// The answer's `Content-Type`.
    pub content_type: Option<String>,
    /// The answer's `Content-Length`; of a photo's head, the photo's size in bytes.
    pub length: Option<u64>,
    /// The answer's `Date`.
    pub date: Option<Timestamp>,
    /// The body; of an error at most 64 KiB.
    pub body: Vec<u8>,
}

impl RawAnswer {
    fn of(head: Head, body: Vec<u8>) -> Self {
        Self { status: head.status, content_type: head.content_type, length: head.length, date: head.date, body }
    }

    /// The entities of a list, however it is wrapped; `None` where it is none.
    pub fn list(&self) -> Option<Vec<Value>> {
        let list = answer::list(json::parse(&self.body).ok()?, false).ok()?;
        Some(list.into_iter().map(Value::Object).collect())
    }

    /// Whether the status is one of success.
    pub fn is_success(&self) -> bool {
        (200..=299).contains(&self.status)
    }
}

impl Client {
    /// Sends one request, and a token request before it where one is due. Any status is an answer; nothing is sent again.
    pub async fn raw(&self, request: Raw) -> Result<RawAnswer, Error> {
        let Some(operation) = table::by_name(&request.operation) else {
            let nearest = table::nearest(&request.operation);
            return Err(Error::new("api", ErrorKind::UnknownOperation { name: request.operation, nearest }));
        };
        self.answer(operation, request).await.map_err(|kind| Error::new(operation.name, kind))
    }

    async fn answer(&self, operation: &'static Operation, request: Raw) -> Result<RawAnswer, ErrorKind> {
        if operation.verb == Verb::Token {
            return self.raw_token(operation, request).await;
        }
        let out = outgoing(operation, self.path(operation), request)?;
        let authorization = self.authorization().await?;
        let incoming = self.exchange(&out, &authorization).await?;
        Ok(RawAnswer::of(incoming.head, incoming.body))
    }

    /// A token request takes its fields from the parameters; whose it is, from the client's own id and secret.
    async fn raw_token(&self, operation: &'static Operation, request: Raw) -> Result<RawAnswer, ErrorKind> {
        let grant = if operation == GRANT { "client_credentials" } else { "refresh_token" };
        let mut form = vec![("grant_type", grant.to_owned())];
        form.extend(request.parameters.iter().map(|(name, value)| (name.as_str(), value.clone())));
        let response = self.authority().ask(&form).await?;
        let head = Head::of(&response);
        let body = match head.is_success() {
            true => transport::body(response, self.authority().timeout()).await?,
            false => transport::error_body(response).await,
        };
        Ok(RawAnswer::of(head, body))
    }
}

/// Puts each value where its name belongs: the path, the header, else the query.
fn outgoing(operation: &Operation, template: &str, request: Raw) -> Result<Outgoing, ErrorKind> {
    let mut path = template.to_owned();
    for name in path_parameters(template) {
        let value = request.parameters.iter().find(|(given, _)| given == name);
        let Some((_, value)) = value else {
            return Err(ErrorKind::Parameter { name: name.to_owned(), problem: "is missing" });
        };
        path = path.replace(&format!("{{{name}}}"), &segment(name, value)?);
    }
    let (since, query): (Vec<_>, Vec<_>) = request
        .parameters
        .iter()
        .filter(|(name, _)| !path_parameters(template).any(|parameter| parameter == name))
        .partition(|(name, _)| name.eq_ignore_ascii_case(SINCE));
    let since = match since.first() {
        Some((name, value)) if value.chars().any(|c| c.is_control() || !c.is_ascii()) => {
            return Err(ErrorKind::Parameter { name: name.clone(), problem: "can't be sent as a header" });
        }
        since => since.map(|(_, value)| value.clone()),
    };
    let query = query.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let body = request.body.map(|bytes| {
        let guess = || photo_format(&bytes).unwrap_or(JSON).to_owned();
        (request.media_type.unwrap_or_else(guess), bytes)
    });
    Ok(Outgoing { verb: operation.verb, target: target(&path, query), since, body })
}

/// Shows no values (law 11).
impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw").field("operation", &self.operation).finish_non_exhaustive()
    }
}

/// Shows no body (law 11).
impl fmt::Debug for RawAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawAnswer").field("status", &self.status).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing_of(name: &str, parameters: &[(&str, &str)]) -> Result<Outgoing, ErrorKind> {
        let parameters = parameters.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let operation = table::by_name(name).unwrap();
        outgoing(operation, operation.path, Raw { operation: name.to_owned(), parameters, ..Raw::default() })
    }

    #[test]
    fn values_go_where_their_names_belong() {
        let check = |name: &str, parameters: &[(&str, &str)], expected: (&str, Option<&str>)| {
            let out = outgoing_of(name, parameters).unwrap();
            assert_eq!((out.target.as_str(), out.since.as_deref()), expected);
        };
        check("staff.list", &[], ("/staff", None));
        check("staff.get", &[("id", "7"), ("time_zone", "UTC")], ("/staff/7?time_zone=UTC", None));
        check("staff.get", &[("id", "a/b")], ("/staff/a%2Fb", None));
        check("staff.list", &[("q", "name%A+b")], ("/staff?q=name%25A%2Bb", None));
        let since = "2026-01-02T03:04:05";
        check("staff.list", &[("if-modified-since", since), ("limit", "3")], ("/staff?limit=3", Some(since)));
    }

    #[test]
    fn a_missing_or_empty_path_value_is_named() {
        for parameters in [&[][..], &[("id", "")][..], &[("id", "..")][..]] {
            let kind = outgoing_of("staff.delete", parameters).err().unwrap();
            assert!(kind.to_string().contains("\"id\""), "{kind}");
        }
    }
}
