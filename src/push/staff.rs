//! Employees as they are sent.

use std::collections::BTreeMap;

use crate::api::{Elements, Staff, StaffInput};
use crate::record::Value;

/// A new employee. What can't be sent is said in words.
pub(super) fn new(fields: &BTreeMap<String, Value>, elements: &Elements) -> Result<StaffInput, String> {
    let mut input = StaffInput::default();
    for (field, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        input.set(field, value, elements).map_err(|error| error.to_string())?;
    }
    Ok(input)
}

/// An employee as just read, with the fields of `moved` as they are wanted. What can't be carried over is said in words.
pub(super) fn changed(
    fresh: &Staff,
    wanted: &BTreeMap<String, Value>,
    moved: &[&str],
    elements: &Elements,
) -> Result<StaffInput, String> {
    let mut input =
        StaffInput::carried(fresh, |field| wanted.contains_key(field)).map_err(|error| error.to_string())?;
    for field in moved {
        let value = wanted.get(*field).unwrap_or(&Value::Empty);
        input.set(field, value, elements).map_err(|error| error.to_string())?;
    }
    Ok(input)
}
