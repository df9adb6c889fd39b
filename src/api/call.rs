//! A request as data: what would be sent, without sending it.

use std::fmt;
use std::marker::PhantomData;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Serialize;

use super::error::Kind;
use super::operation::Operation;
use crate::record::RemoteId;

/// Everything but letters, digits, `-`, `.`, `_` and `~`.
const UNRESERVED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'!')
    .add(b'"')
    .add(b'#')
    .add(b'$')
    .add(b'%')
    .add(b'&')
    .add(b'\'')
    .add(b'(')
    .add(b')')
    .add(b'*')
    .add(b'+')
    .add(b',')
    .add(b'/')
    .add(b':')
    .add(b';')
    .add(b'<')
    .add(b'=')
    .add(b'>')
    .add(b'?')
    .add(b'@')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A request whose answer is read as `T`. It is data: it can be tested and shown without a server.
pub struct Call<T> {
    pub(super) operation: &'static Operation,
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) since: Option<Timestamp>,
    pub(super) body: Option<serde_json::Value>,
    /// The id that the answer must carry, where one was asked for.
    pub(super) id: Option<RemoteId>,
    answer: PhantomData<fn() -> T>,
}

/// What is asked of a list (specification, Common behaviour). Filters are of ids only: `q` has no escaping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Only what was created or changed since then.
    pub since: Option<Timestamp>,
    /// Sorted by id, ascending.
    pub order_by_id: bool,
    /// At most so many.
    pub limit: Option<u32>,
    /// Only ids above this one.
    pub id_above: Option<RemoteId>,
}

impl<T> Call<T> {
    /// A call of an operation whose path asks for nothing.
    pub(super) fn new(operation: &'static Operation) -> Self {
        Self {
            operation,
            path: operation.path.to_owned(),
            query: Vec::new(),
            since: None,
            body: None,
            id: None,
            answer: PhantomData,
        }
    }

    /// A call of an operation on one entity.
    pub(super) fn one(operation: &'static Operation, id: RemoteId) -> Self {
        Self { path: operation.path.replace("{id}", &id.to_string()), id: Some(id), ..Self::new(operation) }
    }

    /// Reads carry the time zone of the answer's times; writes don't.
    pub(super) fn time_zone(mut self) -> Self {
        self.query.push(("time_zone", "UTC".to_owned()));
        self
    }

    pub(super) fn query(mut self, query: &Query) -> Self {
        if let Some(id) = query.id_above {
            self.query.push(("q", format!("id>{id}")));
        }
        if query.order_by_id {
            self.query.push(("order", "id".to_owned()));
        }
        if let Some(limit) = query.limit {
            self.query.push(("limit", limit.to_string()));
        }
        self.since = query.since;
        self.time_zone()
    }

    pub(super) fn body(mut self, input: &impl Serialize) -> Self {
        self.body = Some(serde_json::to_value(input).expect("inputs have text keys and no failing parts"));
        self
    }

    /// The operation.
    pub fn operation(&self) -> &'static Operation {
        self.operation
    }

    /// The path below the base address, with its query.
    pub fn target(&self) -> String {
        target(&self.path, self.query.iter().map(|(name, value)| (*name, value.as_str())))
    }

    /// The `If-Modified-Since` header: UTC, without a zone (specification, Common behaviour).
    pub fn if_modified_since(&self) -> Option<String> {
        self.since.map(|since| since.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S").to_string())
    }

    /// The body that would be sent.
    pub fn json(&self) -> Option<&serde_json::Value> {
        self.body.as_ref()
    }

    /// Whether an answer of nothing says little: a filter or a time limits what was asked for.
    pub(super) fn is_narrowed(&self) -> bool {
        self.since.is_some() || self.query.iter().any(|(name, _)| *name == "q")
    }
}

/// Shows no body (law 11).
impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("operation", &self.operation.name)
            .field("target", &self.target())
            .field("since", &self.if_modified_since())
            .finish_non_exhaustive()
    }
}

/// A path with its query, both encoded.
pub(super) fn target<'a>(path: &str, query: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut target = path.to_owned();
    for (index, (name, value)) in query.enumerate() {
        target.push(if index == 0 { '?' } else { '&' });
        target.push_str(&encode(name));
        target.push('=');
        target.push_str(&encode(value));
    }
    target
}

/// One path segment. An empty one is refused, or reading one would become listing all; `.` and `..` would walk about.
pub(super) fn segment(name: &str, value: &str) -> Result<String, Kind> {
    match value {
        "" | "." | ".." => Err(Kind::Parameter { name: name.to_owned(), problem: "is empty or no name" }),
        value => Ok(encode(value)),
    }
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::operation::Method;
    use super::super::resource::Api;
    use super::super::wire::{Element, ForMembers, ForStaff, Location, Staff, StaffInput};
    use super::*;

    fn id(number: i64) -> RemoteId {
        RemoteId::new(number).unwrap()
    }

    #[test]
    fn calls_are_data() {
        fn check<T>(call: &Call<T>, method: Method, target: &str) {
            assert_eq!((call.operation().method, call.target().as_str()), (method, target));
        }
        let staff = Api::<Staff>::root();
        check(&staff.get(id(7)), Method::Get, "/staff/7?time_zone=UTC");
        check(&staff.list(&Query::default()), Method::Get, "/staff?time_zone=UTC");
        let page = Query { order_by_id: true, limit: Some(50), id_above: Some(id(12)), since: None };
        check(&staff.list(&page), Method::Get, "/staff?q=id%3E12&order=id&limit=50&time_zone=UTC");
        check(&staff.create(&StaffInput::default()), Method::Post, "/staff");
        check(&staff.replace(id(7), &StaffInput::default()), Method::Put, "/staff/7");
        check(&staff.delete(id(7)), Method::Delete, "/staff/7");
        check(&Api::<Location>::root().list(&Query::default()), Method::Get, "/location?time_zone=UTC");
        let elements = Api::<Element>::root();
        check(&elements.list_for::<ForStaff>(), Method::Get, "/customfield/element/staff?time_zone=UTC");
        check(&elements.list_for::<ForMembers>(), Method::Get, "/customfield/element/sp-member?time_zone=UTC");
    }

    #[test]
    fn the_time_of_a_delta_has_no_zone_and_no_fraction() {
        let since = Some("2026-03-04T05:06:07.89+13:00".parse().unwrap());
        let call = Api::<Staff>::root().list(&Query { since, ..Query::default() });
        assert_eq!(call.if_modified_since().as_deref(), Some("2026-03-03T16:06:07"));
        assert!(call.is_narrowed());
    }

    #[test]
    fn segments_and_values_are_encoded_and_never_empty() {
        for (text, expected) in [("a/b", "a%2Fb"), ("50%+", "50%25%2B"), ("é", "%C3%A9"), ("a.b", "a.b")] {
            assert_eq!(segment("id", text).unwrap(), expected);
        }
        for text in ["", ".", ".."] {
            assert!(segment("id", text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn law_11_debug_shows_no_body() {
        let input = StaffInput { name: Some("Ada Canary".to_owned()), ..StaffInput::default() };
        let call = Api::<Staff>::root().create(&input);
        assert!(!format!("{call:?} {input:?}").contains("Canary"));
    }
}
