//! Made-up answers of a directory server, and what must hold of each.

use std::ops::ControlFlow;

use ldap3::asn1::{PL, StructureTag, parse_tag};

use super::attribute::Attributes;
use super::ber::{self, ENTRY, Flaw, REFERENCE};
use super::entry::{RawEntry, references};
use super::fetch::begins_with;
use super::limits::VALUE_BYTES_MAX;
use super::options::{Options, Server};
use super::position::{replicas, vector};
use super::read::Reading;
use super::{check_filter, range};
use crate::source::{ColumnRequirement, Name, RequiredColumns, dn};

/// What the server sends, one message behind the other; or a text of one of its attributes. The first byte says which.
pub(crate) fn ldap(bytes: &[u8]) {
    match bytes.split_first() {
        Some((0..128, rest)) => messages(rest),
        Some((_, rest)) => text(rest),
        None => {}
    }
}

fn messages(mut rest: &[u8]) {
    let mut reading = reading();
    while let Ok(Some(message)) = ber::message(rest) {
        let (whole, after) = rest.split_at(message.length);
        assert_eq!(ber::message(whole), Ok(Some(message)), "what follows a message says nothing about it");
        let cut = ber::message(&whole[..message.length - 1]);
        assert!(matches!(cut, Ok(None)) || cut == Err(Flaw::Garbled), "a message that was cut is none");
        let (unread, tag) = parse_tag(whole).expect("what may be taken apart can be");
        assert!(unread.is_empty(), "a message is taken apart to its end");
        let PL::C(parts) = tag.payload else { panic!("a message has parts") };
        if let Some(operation) = parts.into_iter().nth(1) {
            take(&mut reading, message.operation, operation, whole.len());
        }
        rest = after;
    }
}

fn take(reading: &mut Reading, operation: u8, tag: StructureTag, length: usize) {
    if operation == REFERENCE {
        _ = references(tag).map(|urls| urls.iter().any(|url| begins_with(url, "DomainDnsZones")));
        return;
    }
    let Some(entry) = (operation == ENTRY).then(|| RawEntry::parse(tag)).flatten() else { return };
    assert!(entry.bytes <= length, "an entry is no longer than its message");
    let dn = entry.dn.clone();
    let mut visits = 0;
    _ = reading.entry(entry, &mut |row| {
        visits += 1;
        assert_eq!((row.len(), row.dn()), (row.columns().len(), Some(dn.as_str())), "a row is whole");
        assert!(row.all(1).all(|text| !text.is_empty() && text.len() <= VALUE_BYTES_MAX), "a value is one");
        ControlFlow::Continue(())
    });
    assert_eq!(visits, 1, "an entry is a row");
}

fn reading() -> Reading {
    let needs = ["dn", "cn", "objectGUID", "jpegPhoto"];
    let needs = needs.map(|name| ColumnRequirement { name: Name::Plain(name.to_owned()), optional: false });
    let wanted = RequiredColumns { needs: needs.into(), ..RequiredColumns::default() };
    Reading::new(Attributes::new(&wanted, &Options::at(Vec::new(), Vec::new())))
}

fn text(bytes: &[u8]) {
    if let Some(cursors) = vector(bytes) {
        assert!(cursors.len() * 24 <= bytes.len(), "a vector has no more than it holds");
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    _ = replicas(&text.lines().map(str::to_owned).collect::<Vec<_>>()).count();
    _ = check_filter(text);
    if !text.to_ascii_lowercase().contains("range=") {
        let part = range::part(&range::asked(text, 1500)).expect("it asks for a part");
        assert_eq!((part.name.as_str(), part.next), (text, None));
    } else if let Some(part) = range::part(text) {
        assert!(part.name.len() < text.len(), "a part is called without its numbers");
    }
    names(text);
    if let Ok((server, _)) = Server::parse(text) {
        let again = Server::parse(&server.url).map(|(again, _)| again);
        assert_eq!(again.as_ref(), Ok(&server), "an address is read as it is shown");
        _ = begins_with(text, &server.host);
    }
}

/// An entry's name.
fn names(text: &str) {
    let parts = dn::parts(text);
    let parent = dn::parent(text);
    assert!(text.contains(parent) && parts.iter().all(|part| text.contains(part)), "it is part of the name");
    if !parent.is_empty() {
        assert_eq!(dn::parts(parent), parts[1..], "what an entry lies in has the other parts of its name");
    }
    _ = dn::place(text);
}
