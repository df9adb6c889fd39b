//! What a fuzzer hands made-up answers of the service to. It is part of builds for tests and for the fuzzer alone.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::answer::{Answer, Done, Received};
use crate::operation::Verb;
use crate::page::Page;
use crate::resource::{Deleted, Resource};
use crate::token::Token;
use crate::wire::{
    Asset, AssetMovement, Carry, CertificationHolder, Element, GroupRef, InductionHolder, Insurance, Location, Member,
    MemberMovement, Membership, Organization, Staff, StaffMovement, VisitorEvent, Wire, Zone,
};
use crate::{PHOTO_BYTES_MAX, Photo, PhotoHead, RemoteId, http, json, photo, words};

/// What an answer may be called.
const TYPES: [&str; 4] = ["application/json", "application/vnd.api+json; charset=utf-8", "text/html", "image/png"];
/// What may have been asked for.
const VERBS: [Verb; 5] = [Verb::Get, Verb::List, Verb::Create, Verb::Replace, Verb::Delete];
/// How it may have ended.
const STATUSES: [u16; 4] = [200, 204, 304, 404];

/// Two bytes that say what was asked for, and how it ended; then the body of the answer.
///
/// # Panics
///
/// Where something does not hold that must.
pub fn answers(bytes: &[u8]) {
    let Some(([asked, ended], body)) = bytes.split_first_chunk::<2>() else { return };
    let (asked, ended) = (usize::from(*asked), usize::from(*ended));
    let received = Received {
        status: STATUSES[ended / TYPES.len() % STATUSES.len()],
        content_type: Some(TYPES[ended % TYPES.len()].to_owned()),
        length: Some(body.len() as u64),
        body: body.to_vec(),
        verb: VERBS[asked % 8 % VERBS.len()],
        id: RemoteId::new(7).filter(|_| asked & 8 != 0),
        narrowed: asked & 16 != 0,
        alone: asked & 32 != 0,
    };
    entities(&received);
    others(&received);
    strict(body);
    said(body);
}

fn entities(received: &Received) {
    entity(received, carried::<Staff>);
    entity(received, carried::<Member>);
    entity(received, carried::<Organization>);
    entity(received, carried::<Membership>);
    entity(received, carried::<Insurance>);
    entity(received, shown::<StaffMovement>);
    entity(received, shown::<MemberMovement>);
    entity(received, shown::<Location>);
    entity(received, carried::<Zone>);
    entity(received, shown::<Element>);
    entity(received, carried::<Asset>);
    entity(received, carried::<CertificationHolder>);
    entity(received, carried::<InductionHolder>);
    entity(received, carried::<VisitorEvent>);
}

/// One entity, or a list of them.
fn entity<R: Resource>(received: &Received, check: fn(&R)) {
    if let Ok(Some(one)) = Option::<R>::read(received) {
        assert!(received.id.is_none_or(|id| id == one.id()), "an answer is about whom it was asked for");
        check(&one);
    }
    if let Ok(Page::Items(items)) = Page::<R>::read(received) {
        let ids: BTreeSet<RemoteId> = items.iter().map(R::id).collect();
        assert_eq!(ids.len(), items.len(), "an id is there once");
        assert!(is_json(received), "what is no JSON is no list (law 1)");
        items.iter().for_each(check);
    }
    if let Ok(items) = Vec::<R>::read(received) {
        let is_nothing = received.status == 304 || received.status == 404 && received.narrowed;
        assert!(is_nothing && items.is_empty() || is_json(received), "an error is no empty list (law 1)");
    }
}

/// What was read is shown as it was.
fn shown<R: Wire + PartialEq>(one: &R) {
    if one.unreadable().is_empty() {
        assert!(
            R::read(object(one)).is_ok_and(|again| object(&again) == object(one)),
            "an entity is read as it is shown"
        );
    }
}

/// And sent back as it was: nothing is lost on the way (law 2).
fn carried<R: Carry + PartialEq>(one: &R) {
    shown(one);
    if let Ok(sent) = one.carried(|_| false) {
        let sent = object(&sent);
        assert!(R::REBUILT.iter().all(|(_, name)| sent.contains_key(*name)), "a PUT names every field");
    }
}

fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        other => panic!("an entity is an object, and not {other:?}"),
    }
}

fn is_json(received: &Received) -> bool {
    received.content_type.as_deref().is_some_and(|name| name.contains("json")) && json::parse(&received.body).is_ok()
}

fn others(received: &Received) {
    _ = Option::<AssetMovement>::read(received);
    _ = Vec::<GroupRef>::read(received);
    _ = Option::<Vec<GroupRef>>::read(received);
    _ = Option::<PhotoHead>::read(received);
    _ = Deleted::read(received);
    if Done::read(received).is_ok() && !received.body.iter().all(u8::is_ascii_whitespace) {
        assert!(is_json(received), "a page of a proxy is no success");
    }
    if let Ok(Some(photo)) = Option::<Photo>::read(received) {
        assert!(photo.bytes() == received.body && !photo.bytes().is_empty(), "a photo is what came");
    }
    if let Ok(photo) = Photo::new(received.body.clone()) {
        assert!(photo.bytes().len() <= PHOTO_BYTES_MAX);
        assert_eq!(Some(photo.media_type()), photo::photo_format(&received.body));
    }
}

/// JSON is read as it is written, and a name that is there twice is an error (fault 44).
fn strict(body: &[u8]) {
    let Ok(value) = json::parse(body) else { return };
    let written = value.to_string();
    assert_eq!(json::parse(written.as_bytes()).ok().as_ref(), Some(&value), "JSON is read as it is written");
    assert_eq!(serde_json::from_slice(body).ok(), Some(value), "what is taken is what everybody reads");
}

/// What is shown of a refusal is short, and names no one (law 11).
fn said(body: &[u8]) {
    const NAME: &str = "Ada Lovelace";
    const SECRET: &str = "s3cret";
    let shown = words::words(body, Some(&json!({ "name": NAME })), &[SECRET]);
    assert!(shown.chars().count() <= words::LENGTH_MAX && !shown.contains(char::is_control), "it is short");
    assert!(!shown.contains(NAME) && !shown.contains(SECRET) && !shown.contains('@'), "it names nobody");
    if let Ok(token) = Token::read(body) {
        assert!(token.life.as_secs() <= 24 * 60 * 60, "a token lasts a day at most");
    }
    if let Ok(text) = std::str::from_utf8(body) {
        let now = Timestamp::from_second(1_800_000_000).expect("it is a time");
        assert!(http::wait(text, now).is_none_or(|wait| wait <= http::WAIT_MAX), "a wait can be reckoned with");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::answers;

    #[test]
    fn whatever_a_fuzzer_began_with_or_found_holds() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/answers");
        let count = fs::read_dir(seeds).unwrap().map(|seed| answers(&fs::read(seed.unwrap().path()).unwrap())).count();
        assert!(count > 0, "there is no seed");
    }
}
