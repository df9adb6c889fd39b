//! Made-up templates, and what must hold of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::outcome::VALUE_BYTES_MAX;
use super::{Mapped, Mapping, OnBadValue, Options, PhotoCells};
use crate::record::{Target, Value};
use crate::source::{Columns, Row};

/// A template, and on each further line a cell of the row that it sees.
pub(crate) fn templates(bytes: &[u8]) {
    let Ok(input) = std::str::from_utf8(bytes) else { return };
    let mut lines = input.split('\n');
    let template = lines.next().unwrap_or_default();
    let Ok(mapping) = Mapping::compile(&options(template)) else { return };
    let names: Vec<String> = ["no", "name", "site"].map(str::to_owned).into();
    let columns = Arc::new(Columns::new(&names));
    let Ok(bound) = mapping.bind(&columns) else { return };
    let cells: Vec<&str> = lines.chain(std::iter::repeat("")).take(names.len()).collect();
    let row = Row::new(2, Arc::clone(&columns), &cells);
    let read = bound.read(&row, None);
    assert_eq!(bound.read(&row, None), read, "a template sees the row and nothing else");
    assert_eq!(bound.digest(&row), bound.digest(&row));
    let Mapped::Record(record) = read.mapped else { return };
    for (_, value) in &record.fields {
        // A text is as long as a value may be, whatever was put together on the way.
        if let Value::Text(text) = value {
            assert!(text.len() <= VALUE_BYTES_MAX && text.trim() == text.as_str(), "a value has its limits");
        }
    }
}

fn options(template: &str) -> Options {
    let site = BTreeMap::from([("AKL".to_owned(), "Auckland Office".to_owned())]);
    Options {
        target: Target::Staff,
        prefix: "",
        key: "{{ no }}".to_owned(),
        joined: None,
        include: None,
        active_from: None,
        active_until: None,
        prefer: None,
        segment: None,
        fields: BTreeMap::from([("title".to_owned(), template.to_owned())]),
        tables: BTreeMap::from([("site".to_owned(), site)]),
        match_on: Vec::new(),
        on_bad_value: OnBadValue::Field,
        optional: Vec::new(),
        photos: PhotoCells::Base64,
        lookups: Vec::new(),
        time_zone: TimeZone::UTC,
    }
}
