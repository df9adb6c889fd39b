//! A request as data: what would be sent, without sending it.

use std::fmt;
use std::marker::PhantomData;

use jiff::Timestamp;
use jiff::tz;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use crate::RemoteId;
use crate::asked::Asked;
use crate::error::ErrorKind;
use crate::operation::{Operation, path_parameters};
use crate::zone::TimeZone;

/// Everything but letters, digits, `-`, `.`, `_` and `~`.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A request whose answer is read as `T`. It is data: it can be tested and shown without a server.
pub struct Call<T> {
    pub(crate) operation: &'static Operation,
    /// The ids in the path, in order.
    ids: Vec<RemoteId>,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) since: Option<Timestamp>,
    pub(crate) body: Option<Body>,
    /// The id that the answer must carry, where one was asked for.
    pub(crate) id: Option<RemoteId>,
    answer: PhantomData<fn() -> T>,
}

/// What a request carries.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Body {
    /// JSON.
    Json(serde_json::Value),
    /// Bytes of some media type.
    Bytes {
        /// The media type, such as `image/png`.
        media_type: String,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

impl<T> Call<T> {
    /// A call of an operation whose path asks for `ids`, in order.
    pub(crate) fn new(operation: &'static Operation, ids: Vec<RemoteId>) -> Self {
        Self { operation, ids, query: Vec::new(), since: None, body: None, id: None, answer: PhantomData }
    }

    /// The answer must be about that entity.
    pub(crate) fn of(mut self, id: RemoteId) -> Self {
        self.id = Some(id);
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: String) -> Self {
        self.query.push((name, value));
        self
    }

    /// Reads state the time zone of their answer; writes do so only after this call.
    pub(crate) fn utc(self) -> Self {
        self.zone(TimeZone::Utc)
    }

    pub(crate) fn asking(mut self, asked: &Asked) -> Self {
        let values = [
            ("q", Some(asked.filter.text()).filter(|text| !text.is_empty())),
            ("order", asked.order.clone()),
            ("limit", asked.limit.map(|limit| limit.to_string())),
            ("page", asked.page.map(|page| page.to_string())),
            ("id", asked.only.map(|id| id.to_string())),
        ];
        self.query.extend(values.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))));
        self.since = asked.since;
        self.zone(asked.zone)
    }

    pub(crate) fn json(self, input: &(impl Serialize + ?Sized)) -> Self {
        self.body(Body::Json(serde_json::to_value(input).expect("inputs have text keys and no failing parts")))
    }

    pub(crate) fn body(mut self, body: Body) -> Self {
        self.body = Some(body);
        self
    }

    /// Writes the times of the answer in a zone.
    pub fn zone(mut self, zone: TimeZone) -> Self {
        self.query.retain(|(name, _)| *name != "time_zone");
        self.with("time_zone", zone.to_string())
    }

    /// The operation.
    pub fn operation(&self) -> &'static Operation {
        self.operation
    }

    /// The path below the base address, with its query.
    pub fn target(&self) -> String {
        self.target_at(self.operation.path)
    }

    /// The same, where the account has another path for the operation.
    pub(crate) fn target_at(&self, path: &str) -> String {
        let mut filled = path.to_owned();
        for (name, id) in path_parameters(path).zip(&self.ids) {
            filled = filled.replace(&format!("{{{name}}}"), &id.to_string());
        }
        target(&filled, self.query.iter().map(|(name, value)| (*name, value.as_str())))
    }

    /// The `If-Modified-Since` header: UTC, without a zone (specification, Common behaviour).
    pub fn if_modified_since(&self) -> Option<String> {
        self.since.map(|since| since.to_zoned(tz::TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S").to_string())
    }

    /// The body that would be sent.
    pub fn sent(&self) -> Option<&Body> {
        self.body.as_ref()
    }

    /// Whether an answer of nothing says little: a filter or a time limits what was asked for.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.since.is_some() || self.query.iter().any(|(name, _)| matches!(*name, "q" | "id"))
    }
}

impl Body {
    /// The JSON, where it is some.
    pub(crate) fn as_json(&self) -> Option<&serde_json::Value> {
        match self {
            Self::Json(json) => Some(json),
            Self::Bytes { .. } => None,
        }
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

/// Shows nothing of it (law 11).
impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}

/// A path with its query, both encoded.
pub(crate) fn target<'a>(path: &str, query: impl Iterator<Item = (&'a str, &'a str)>) -> String {
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
pub(crate) fn segment(name: &str, value: &str) -> Result<String, ErrorKind> {
    match value {
        "" | "." | ".." => Err(ErrorKind::Parameter { name: name.to_owned(), problem: "is empty or no name" }),
        value => Ok(encode(value)),
    }
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use reqwest::Method;

    use super::*;
    use crate::api::Api;
    use crate::filter::Filter;
    use crate::query::Query;
    use crate::wire::{Element, ForMembers, ForStaff, Location, Staff, StaffInput};

    fn id(number: i64) -> RemoteId {
        RemoteId::new(number).unwrap()
    }

    #[test]
    fn calls_are_data() {
        fn check<T>(call: &Call<T>, method: Method, target: &str) {
            assert_eq!((&call.operation().method, call.target().as_str()), (&method, target));
        }
        let staff = Api::<Staff>::root();
        check(&staff.get(id(7)), Method::GET, "/staff/7?time_zone=UTC");
        check(&staff.list(&Query::default()), Method::GET, "/staff?time_zone=UTC");
        let page = Query::default().filter(Filter::default().id_above(id(12))).ascending("id").limit(50);
        check(&staff.list(&page), Method::GET, "/staff?q=id%3E12&order=id&limit=50&time_zone=UTC");
        check(&staff.create(&StaffInput::default()), Method::POST, "/staff");
        check(&staff.replace(id(7), &StaffInput::default()), Method::PUT, "/staff/7");
        check(&staff.delete(id(7)), Method::DELETE, "/staff/7");
        let call = staff.delete(id(7)).zone(TimeZone::AmericaBuenosAires);
        check(&call, Method::DELETE, "/staff/7?time_zone=America%2FArgentina%2FBuenos_Aires");
        check(&Api::<Location>::root().list(&Query::default()), Method::GET, "/location?time_zone=UTC");
        let elements = Api::<Element>::root();
        check(&elements.list_for::<ForStaff>(), Method::GET, "/customfield/element/staff?time_zone=UTC");
        check(&elements.list_for::<ForMembers>(), Method::GET, "/customfield/element/sp-member?time_zone=UTC");
    }

    #[test]
    fn the_time_of_a_delta_has_no_zone_and_no_fraction() {
        let since = "2026-03-04T05:06:07.89+13:00".parse().unwrap();
        let call = Api::<Staff>::root().list(&Query::default().since(since));
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
