//! The garbage that has no name.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use crate::support::answering::answer;

/// One random answer, and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Garbage {
    pub(super) bytes: Vec<u8>,
    pub(super) sort: Sort,
}

/// What is known of a random answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// It is an answer to nothing.
    Broken,
    /// It is JSON, neither a list nor an entity: no more than its status is an answer.
    Neither,
    /// It may be an answer by chance; nothing must break.
    Perhaps,
}

pub(super) fn garbage() -> impl Strategy<Value = Garbage> {
    let sorted = |sort: Sort| move |bytes: Vec<u8>| Garbage { bytes, sort };
    prop_oneof![
        1 => vec(any::<u8>(), 0..300).prop_map(sorted(Sort::Broken)),
        2 => noisy_head().prop_map(sorted(Sort::Broken)),
        1 => failure().prop_map(sorted(Sort::Broken)),
        2 => no_json().prop_map(sorted(Sort::Broken)),
        3 => cut().prop_map(sorted(Sort::Broken)),
        3 => neither().prop_map(|value| framed(value.to_string().as_bytes())).prop_map(sorted(Sort::Neither)),
        3 => flipped().prop_map(sorted(Sort::Perhaps)),
    ]
}

fn framed(body: &[u8]) -> Vec<u8> {
    answer(200, "application/json", body)
}

/// A success with random header lines, some of which mean something, and a body that is no JSON.
fn noisy_head() -> impl Strategy<Value = Vec<u8>> {
    let known =
        ["content-type: application/json", "transfer-encoding: chunked", "content-encoding: gzip", "date: soon"];
    let line = prop_oneof![select(known.to_vec()).prop_map(|line| line.as_bytes().to_vec()), vec(any::<u8>(), 0..40)];
    (vec(line, 0..6), vec(any::<u8>(), 1..60)).prop_map(|(lines, body)| {
        [b"HTTP/1.1 200 OK\r\n", lines.join(&b"\r\n"[..]).as_slice(), b"\r\n\r\n\x01", body.as_slice()].concat()
    })
}

/// An error with any body. What means something of its own (404, and 429, which makes the client wait) is left out.
fn failure() -> impl Strategy<Value = Vec<u8>> {
    let statuses = (300_u16..1_000).prop_filter("it has a meaning", |status| ![404, 429].contains(status));
    (statuses, vec(any::<u8>(), 0..100)).prop_map(|(status, body)| answer(status, "application/json", &body))
}

/// A success with random bytes that begin like no JSON.
fn no_json() -> impl Strategy<Value = Vec<u8>> {
    let kinds = select(vec!["application/json", "text/html", "application/xml", "application/problem+json", "", "*/*"]);
    (kinds, vec(any::<u8>(), 0..100))
        .prop_map(|(content_type, body)| answer(200, content_type, &[b"<", body.as_slice()].concat()))
}

/// The right answer without its end.
fn cut() -> impl Strategy<Value = Vec<u8>> {
    (right(), any::<Index>()).prop_map(|(value, at)| {
        let text = value.to_string();
        framed(&text.as_bytes()[..1 + at.index(text.len() - 1)])
    })
}

/// The right answer with a few other bytes in it.
fn flipped() -> impl Strategy<Value = Vec<u8>> {
    (right(), vec((any::<Index>(), any::<u8>()), 1..8)).prop_map(|(value, flips)| {
        let mut bytes = value.to_string().into_bytes();
        flips.into_iter().for_each(|(at, byte)| *at.get_mut(&mut bytes) = byte);
        framed(&bytes)
    })
}

/// What some call would take: an entity, or a list that isn't empty.
fn right() -> impl Strategy<Value = Value> {
    let entity = || {
        (any::<String>(), any::<i32>()).prop_map(|(name, number)| {
            json!({"id": 7, "asset_id": 7, "name": name, "globalroaming": number, "customfields": {"3": name}, "roles": [[name]]})
        })
    };
    prop_oneof![
        entity(),
        entity().prop_map(|entity| json!([entity])),
        entity().prop_map(|entity| json!({"event": [entity]}))
    ]
}

/// JSON that is neither a list nor an entity, of any content.
fn neither() -> impl Strategy<Value = Value> {
    let plain = || {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map_into(),
            any::<i64>().prop_map_into(),
            any::<f64>().prop_map(|number| json!(number)),
            any::<String>().prop_map_into(),
        ]
    };
    let any_json = plain().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map_into(),
            btree_map("[a-z_]{1,8}", inner, 0..4).prop_map(|object| object.into_iter().collect::<Value>()),
        ]
    });
    let object = move |id: BoxedStrategy<Value>| {
        (btree_map("[b-h]{1,8}", any_json.clone(), 0..3), id).prop_map(|(object, id)| {
            let mut object: Value = object.into_iter().collect();
            (object["id"], object["asset_id"]) = (id.clone(), id);
            object
        })
    };
    prop_oneof![
        plain(),
        btree_map("[b-h]{1,8}", plain(), 0..4).prop_map(|object| object.into_iter().collect::<Value>()),
        object(bad_id().boxed()),
        (vec(object(Just(json!(7)).boxed()), 0..3), prop_oneof![plain(), object(bad_id().boxed())], any::<Index>())
            .prop_map(|(mut items, bad, at)| {
                items.insert(at.index(items.len() + 1), bad);
                Value::Array(items)
            }),
    ]
}

/// What no id can be.
fn bad_id() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map_into(),
        (i64::MIN..=0).prop_map_into(),
        (i64::from(i32::MAX) + 1..).prop_map_into(),
        any::<f64>().prop_map(|number| json!(number)),
        "[a-z ]{0,6}|0[0-9]{1,4}|[1-9]\\.[0-9]".prop_map_into(),
        Just(json!([7])),
        Just(json!({"id": 7})),
    ]
}
