//! Made-up templates, and what must hold of each.

use std::sync::Arc;

use super::outcome::VALUE_BYTES_MAX;
use super::{Mapped, Mapping, Options};
use crate::record::Value;
use crate::source::{Columns, Row};

/// A template, and on each further line a cell of the row that it sees.
pub(crate) fn templates(bytes: &[u8]) {
    let Ok(input) = std::str::from_utf8(bytes) else { return };
    let mut lines = input.split('\n');
    let template = lines.next().unwrap_or_default();
    let Ok(mapping) = Mapping::compile(&Options::of_test("{{ no }}", &[("title", template)])) else { return };
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
