//! How an answer becomes a value: envelopes, ids, and what a 404 or an empty body means.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::RemoteId;
use crate::error::ErrorKind;
use crate::json;
use crate::operation::Verb;
use crate::page::Page;
use crate::photo::{Photo, PhotoHead};
use crate::resource::{Deleted, Resource};
use crate::wire::{AssetMovement, GroupRef, List, Wire};

/// A value with what the answer said beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered<T> {
    /// The value.
    pub value: T,
    /// The answer's `Date`: the service's clock.
    pub date: Option<Timestamp>,
    /// The status code.
    pub status: u16,
}

impl<T> Answered<T> {
    /// The same answer with what `make` makes of its value.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Answered<U> {
        Answered { value: make(self.value), date: self.date, status: self.status }
    }
}

/// An answer that is no error of transport, before it is understood. Error statuses come here only where a verb gives
/// them a meaning.
pub struct Received {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    /// How long the answer says that its body is, in bytes.
    pub(crate) length: Option<u64>,
    pub(crate) body: Vec<u8>,
    pub(crate) verb: Verb,
    /// The id that was asked for.
    pub(crate) id: Option<RemoteId>,
    /// Whether the request was limited by a filter, a time or an id.
    pub(crate) narrowed: bool,
    /// Whether a list was asked for one entity, which may come alone.
    pub(crate) alone: bool,
}

/// What a status means before the body is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The body holds the answer.
    Body,
    /// There is no such entity, or nothing that fits.
    Absent,
    /// Nothing changed since the time given.
    NotModified,
    /// The service refuses or fails.
    Failure,
}

/// The one place that says what a status means to which verb.
pub(crate) fn meaning(status: u16, verb: Verb, since: bool) -> Meaning {
    match (status, verb) {
        (200..=299, _) => Meaning::Body,
        (304, Verb::List) if since => Meaning::NotModified,
        (404, Verb::Get | Verb::Delete | Verb::List | Verb::Photo | Verb::PhotoHead) => Meaning::Absent,
        _ => Meaning::Failure,
    }
}

/// A type that an answer can be read as.
pub trait Answer: Sized {
    /// Reads an answer.
    fn read(received: &Received) -> Result<Self, ErrorKind>;
}

/// One entity, or none: absent (get) or confirmed without being shown (create, replace).
impl<R: Resource> Answer for Option<R> {
    fn read(received: &Received) -> Result<Self, ErrorKind> {
        let Some(entity) = received.shown::<R>("id")? else { return Ok(None) };
        if received.id.is_some_and(|id| id != entity.id()) {
            return Err(decode("$.id".to_owned(), "another id than the one asked for"));
        }
        Ok(Some(entity))
    }
}

/// What was done with an asset; `None` where the service confirms it without showing it.
impl Answer for Option<AssetMovement> {
    fn read(received: &Received) -> Result<Self, ErrorKind> {
        let Some(movement) = received.shown::<AssetMovement>("asset_id")? else { return Ok(None) };
        match movement.asset_id.and_then(RemoteId::new) {
            None => Err(decode("$.asset_id".to_owned(), "no id that is a whole int32")),
            Some(asset) if received.id.is_some_and(|id| id != asset) => {
                Err(decode("$.asset_id".to_owned(), "another id than the one asked for"))
            }
            Some(_) => Ok(Some(movement)),
        }
    }
}

/// A list. A 404 is an empty one only where a filter or a time limits what was asked for.
impl<R: Resource> Answer for Vec<R> {
    fn read(received: &Received) -> Result<Self, ErrorKind> {
        match Page::read(received)? {
            Page::Items(items) => Ok(items),
            Page::NotModified => Ok(Vec::new()),
            Page::Absent => received.nothing(),
        }
    }
}

impl<R: Resource> Answer for Page<R> {
    fn read(received: &Received) -> Result<Self, ErrorKind> {
        match received.status {
            304 => return Ok(Self::NotModified),
            404 => return Ok(Self::Absent),
            _ => {}
        }
        let items: Vec<R> = received.items()?;
        let mut seen = BTreeSet::new();
        match items.iter().all(|item| seen.insert(item.id())) {
            true => Ok(Self::Items(items)),
            false => Err(ErrorKind::Lying { rule: "an id is there twice on one page" }),
        }
    }
}

/// What a bulk upload left; `None` where the service confirms it without showing it.
impl<R: Resource> Answer for Option<Vec<R>> {
    fn read(received: &Received) -> Result<Self, ErrorKind> {
        if received.is_blank() { Ok(None) } else { Vec::read(received).map(Some) }
    }
}

/// The groups of an organization. One without an id is an error, as any entity is.
impl Answer for Vec<GroupRef> {
    fn read(received: &Received) -> Result<Self, ErrorKind> {
        if received.status == 404 {
            return received.nothing();
        }
        let groups: Vec<GroupRef> = received.items()?;
        match groups.iter().position(|group| group.id.and_then(RemoteId::new).is_none()) {
            Some(index) => Err(decode(format!("[{index}]"), "no id that is a whole int32")),
            None => Ok(groups),
        }
    }
}

/// The same after a change; `None` where the service confirms it without showing them.
impl Answer for Option<Vec<GroupRef>> {
    fn read(received: &Received) -> Result<Self, ErrorKind> {
        if received.is_blank() { Ok(None) } else { Vec::read(received).map(Some) }
    }
}

impl Answer for Option<Photo> {
    fn read(received: &Received) -> Result<Self, ErrorKind> {
        let photo = |media_type: &str| Photo::received(media_type.to_owned(), received.body.clone());
        match received.image()? {
            Some(_) if received.body.is_empty() => Err(ErrorKind::Photo { problem: "came without its bytes" }),
            media_type => Ok(media_type.map(photo)),
        }
    }
}

impl Answer for Option<PhotoHead> {
    fn read(received: &Received) -> Result<Self, ErrorKind> {
        let head = |media_type: &str| PhotoHead { media_type: media_type.to_owned(), length: received.length };
        Ok(received.image()?.map(head))
    }
}

/// A success of which nothing more is asked: photos put, zones linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done;

impl Answer for Done {
    fn read(received: &Received) -> Result<Self, ErrorKind> {
        if !received.is_blank() {
            received.json()?;
        }
        Ok(Self)
    }
}

impl Answer for Deleted {
    fn read(received: &Received) -> Result<Self, ErrorKind> {
        if received.status == 404 {
            return Ok(Self::Already);
        }
        Done::read(received).map(|Done| Self::Now)
    }
}

impl Received {
    /// A list as it comes where all went well.
    #[doc(hidden)]
    pub fn of_list(body: Vec<u8>) -> Self {
        let (content_type, length) = (Some("application/json".to_owned()), Some(body.len() as u64));
        let (verb, id, narrowed, alone) = (Verb::List, None, false, false);
        Self { status: 200, content_type, length, body, verb, id, narrowed, alone }
    }

    fn is_blank(&self) -> bool {
        self.body.iter().all(u8::is_ascii_whitespace)
    }

    /// The format of a photo; `None` where there is no photo. A proxy's page is none.
    fn image(&self) -> Result<Option<&str>, ErrorKind> {
        match self.content_type.as_deref() {
            _ if self.status == 404 => Ok(None),
            Some(media_type) if media_type.starts_with("image/") => Ok(Some(media_type)),
            _ => Err(ErrorKind::Photo { problem: "came as something that is no image" }),
        }
    }

    /// One object that has `key`; `None` where it is absent, or confirmed without being shown.
    fn shown<T: Wire>(&self, key: &str) -> Result<Option<T>, ErrorKind> {
        if self.status == 404 || (self.verb != Verb::Get && self.is_blank()) {
            return Ok(None);
        }
        T::read(single(self.json()?, key)?).map(Some).map_err(|problem| decode("$".to_owned(), problem))
    }

    /// The objects of a list; where one id was asked for, its entity may come alone.
    fn items<T: Wire>(&self) -> Result<Vec<T>, ErrorKind> {
        let wrong = |(index, problem)| decode(format!("[{index}]"), problem);
        // The form of a list that the specification shows; it may be long.
        if self.body.trim_ascii_start().starts_with(b"[") {
            return self.as_json(List::read)?.map_err(wrong);
        }
        let read = |(index, object)| T::read(object).map_err(|problem| wrong((index, problem)));
        list(self.json()?, self.alone)?.into_iter().enumerate().map(read).collect()
    }

    /// What a 404 to a list means.
    fn nothing<T>(&self) -> Result<Vec<T>, ErrorKind> {
        let absent = ErrorKind::Status { code: 404, words: String::new(), retry_after: None };
        if self.narrowed { Ok(Vec::new()) } else { Err(absent) }
    }

    /// The body as JSON, if it says so and is so.
    fn json(&self) -> Result<Value, ErrorKind> {
        self.as_json(json::parse)
    }

    fn as_json<T>(&self, parse: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>) -> Result<T, ErrorKind> {
        let not_json = || ErrorKind::NotJson { status: self.status, content_type: self.content_type.clone() };
        let media_type = self.content_type.as_deref().unwrap_or_default();
        if !is_json(media_type) {
            return Err(not_json());
        }
        parse(&self.body).map_err(|_| not_json())
    }
}

/// `application/json`, or a type built on it.
fn is_json(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media_type == "application/json" || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}

fn decode(path: String, problem: &'static str) -> ErrorKind {
    ErrorKind::Decode { path, problem }
}

/// What an object holds that says that something went wrong: the lists in it are none of entities.
const ERROR_NAMES: [&str; 6] = ["error", "errors", "error_description", "exception", "fault", "message"];

/// A list: an array, or an object without an id that has exactly one array of objects, and says nothing of an error.
pub(crate) fn list(value: Value, alone: bool) -> Result<Vec<Map<String, Value>>, ErrorKind> {
    let items = match value {
        Value::Array(items) => items,
        Value::Object(object) if alone && object.contains_key("id") => return Ok(vec![object]),
        Value::Object(object) if object.contains_key("id") => {
            return Err(decode("$".to_owned(), "one entity where a list is due"));
        }
        Value::Object(object)
            if ERROR_NAMES.iter().any(|name| object.get(*name).is_some_and(|said| !said.is_null())) =>
        {
            return Err(decode("$".to_owned(), "an error where a list is due"));
        }
        Value::Object(object) => {
            let mut lists = object.into_iter().filter_map(|(_, value)| match value {
                Value::Array(items) if items.iter().all(Value::is_object) => Some(items),
                _ => None,
            });
            match (lists.next(), lists.next()) {
                (Some(items), None) => items,
                _ => return Err(decode("$".to_owned(), "an object without exactly one list")),
            }
        }
        _ => return Err(decode("$".to_owned(), "neither a list nor an object")),
    };
    let objects = items.into_iter().enumerate().map(|(index, item)| match item {
        Value::Object(object) => Ok(object),
        _ => Err(decode(format!("[{index}]"), json::NO_OBJECT)),
    });
    objects.collect()
}

/// One entity: an object with its key, or an object that has exactly one object.
fn single(value: Value, key: &str) -> Result<Map<String, Value>, ErrorKind> {
    let Value::Object(object) = value else {
        return Err(decode("$".to_owned(), "no object where one entity is due"));
    };
    if object.contains_key(key) {
        return Ok(object);
    }
    let mut objects = object.into_iter().filter_map(|(_, value)| match value {
        Value::Object(object) => Some(object),
        _ => None,
    });
    match (objects.next(), objects.next()) {
        (Some(object), None) => Ok(object),
        _ => Err(decode("$".to_owned(), "neither an id nor exactly one object")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Staff;

    fn received(verb: Verb, status: u16, content_type: &str, body: &str) -> Received {
        let content_type = (!content_type.is_empty()).then(|| content_type.to_owned());
        Received {
            status,
            content_type,
            length: None,
            body: body.into(),
            verb,
            id: RemoteId::new(7),
            narrowed: false,
            alone: false,
        }
    }

    /// The ids read, or the start of the error's `Debug`.
    fn outcome<T: Answer>(received: &Received, ids: impl Fn(T) -> String) -> String {
        match T::read(received) {
            Ok(value) => ids(value),
            Err(kind) => format!("{kind:?}").split([' ', '(']).next().unwrap().to_owned(),
        }
    }

    #[test]
    fn lists_are_arrays_or_objects_with_one() {
        let check = |body: &str, expected: &str| {
            let received = received(Verb::List, 200, "application/json; charset=utf-8", body);
            let ids = |items: Vec<Staff>| items.iter().map(|i| i.id.to_string()).collect::<Vec<_>>().join(",");
            assert_eq!(outcome(&received, ids), expected, "{body}");
        };
        check("[]", "");
        check(r#"[{"id":1},{"id":"2"}]"#, "1,2");
        check(r#"{"staff":[{"id":1}],"total":1,"links":{}}"#, "1");
        check(r#"{"staff":[]}"#, "");
        check(r#"{"staff":[{"id":1}],"more":[{"id":2}]}"#, "Decode");
        check(r#"{"id":7,"tokens":[]}"#, "Decode");
        check("{}", "Decode");
        check("null", "Decode");
        check(r#"[{"id":1},null]"#, "Decode");
        check(r#"[{"id":1},{"name":"x"}]"#, "Decode");
        check(r#"[{"id":1.5}]"#, "Decode");
        check(r#"[{"id":1},{"id":1}]"#, "Lying");
        check(r#"[{"id":1}"#, "NotJson");
        check(r#"[{"id":1,"id":2}]"#, "NotJson");
        check("", "NotJson");
    }

    #[test]
    fn fault_38_a_success_that_is_no_json_is_no_answer() {
        for (content_type, body) in [
            ("text/html", "<html></html>"),
            ("text/html", "[]"),
            ("application/xml", "<staff/>"),
            ("", "[]"),
            ("application/json", "<html></html>"),
        ] {
            for verb in [Verb::List, Verb::Get, Verb::Replace, Verb::Delete] {
                let received = received(verb, 200, content_type, body);
                let seen = match verb {
                    Verb::List => outcome(&received, |_: Vec<Staff>| "read".to_owned()),
                    Verb::Delete => outcome(&received, |_: Deleted| "read".to_owned()),
                    _ => outcome(&received, |_: Option<Staff>| "read".to_owned()),
                };
                assert_eq!(seen, "NotJson", "{verb:?} {content_type} {body}");
            }
        }
    }

    #[test]
    fn fault_38_a_photo_is_an_image_or_an_error() {
        let check = |status: u16, content_type: &str, body: &str, photo: &str, head: &str| {
            let read = |verb| received(verb, status, content_type, body);
            let shown = |there: bool| if there { "read" } else { "none" }.to_owned();
            let seen = outcome(&read(Verb::Photo), |photo: Option<Photo>| shown(photo.is_some()));
            assert_eq!(seen, photo, "photo: {status} {content_type}");
            let seen = outcome(&read(Verb::PhotoHead), |head: Option<PhotoHead>| shown(head.is_some()));
            assert_eq!(seen, head, "head: {status} {content_type}");
        };
        check(200, "image/png", "bytes", "read", "read");
        check(200, "image/png", "", "Photo", "read");
        check(200, "text/html", "<html>", "Photo", "Photo");
        check(200, "", "bytes", "Photo", "Photo");
        check(404, "application/json", "{}", "none", "none");
    }

    #[test]
    fn one_entity_is_itself_or_wrapped() {
        let check = |verb: Verb, status: u16, body: &str, expected: &str| {
            let received = received(verb, status, "application/json", body);
            let id = |staff: Option<Staff>| staff.map_or("none".to_owned(), |staff| staff.id.to_string());
            assert_eq!(outcome(&received, id), expected, "{verb:?} {body}");
        };
        check(Verb::Get, 200, r#"{"id":7,"tokens":[],"customfields":{}}"#, "7");
        check(Verb::Get, 200, r#"{"staff":{"id":7}}"#, "7");
        check(Verb::Get, 200, r#"{"staff":{"id":7},"other":{"id":7}}"#, "Decode");
        check(Verb::Get, 200, r#"[{"id":7}]"#, "Decode");
        check(Verb::Get, 200, r#"{"id":8}"#, "Decode");
        check(Verb::Get, 404, "", "none");
        check(Verb::Get, 200, "", "NotJson");
        check(Verb::Replace, 204, "", "none");
        check(Verb::Replace, 200, " \n", "none");
        check(Verb::Replace, 200, r#"{"name":"x"}"#, "Decode");
        check(Verb::Create, 201, r#"{"id":7}"#, "7");
    }

    #[test]
    fn a_404_is_read_by_the_verb() {
        let check = |status: u16, verb: Verb, since: bool, expected: Meaning| {
            assert_eq!(meaning(status, verb, since), expected, "{status} {verb:?}");
        };
        check(404, Verb::Get, false, Meaning::Absent);
        check(404, Verb::Delete, false, Meaning::Absent);
        check(404, Verb::List, false, Meaning::Absent);
        check(404, Verb::Replace, false, Meaning::Failure);
        check(404, Verb::Create, false, Meaning::Failure);
        check(304, Verb::List, true, Meaning::NotModified);
        check(304, Verb::List, false, Meaning::Failure);
        check(202, Verb::Delete, false, Meaning::Body);
        check(500, Verb::Get, false, Meaning::Failure);
    }

    #[test]
    fn law_1_an_absent_unfiltered_list_is_not_an_empty_one() {
        let mut received = received(Verb::List, 404, "", "");
        assert_eq!(outcome(&received, |_: Vec<Staff>| "empty".to_owned()), "Status");
        received.narrowed = true;
        assert_eq!(outcome(&received, |_: Vec<Staff>| "empty".to_owned()), "empty");
    }
}
