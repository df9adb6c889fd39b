//! Employees as they are sent.

use std::collections::BTreeMap;

use crate::api::{Carry as _, CarryError, Input as _, Staff, StaffInput};
use crate::mirror::Elements;
use crate::record::{Target, Value};

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
    let mut input = fresh.carried(|field| wanted.contains_key(field)).map_err(|error| error.to_string())?;
    // What no answer shows is sent as it is wanted, or not at all.
    let hidden = wanted.keys().map(String::as_str).filter(|field| input.undecided() == Some(*field));
    for field in hidden.chain(moved.iter().copied()).collect::<Vec<_>>() {
        let value = wanted.get(field).unwrap_or(&Value::Empty);
        input.set(field, value, elements).map_err(|error| error.to_string())?;
    }
    match input.undecided() {
        Some(field) => Err(CarryError::Unshown { field }.to_string()),
        None => Ok(input),
    }
}

/// A field that held something, that nobody meant to change, and that came back empty.
pub(super) fn lost(
    fresh: &Staff,
    shown: &Staff,
    wanted: &BTreeMap<String, Value>,
    elements: &Elements,
) -> Option<String> {
    let (before, after) = (fresh.entity(elements), shown.entity(elements));
    let emptied = before.fields.keys().find(|field| !wanted.contains_key(*field) && after.value(field).is_empty());
    emptied.cloned().or_else(|| {
        // Where no job maps custom fields, their titles are not known; their ids are.
        let empty = |value: Option<&serde_json::Value>| value.is_none_or(|value| value.is_null() || value == "");
        let untouched = wanted.keys().all(|field| !field.starts_with(Target::CUSTOM));
        let mut held = fresh.customfields.iter().filter(|(_, value)| untouched && !empty(Some(value)));
        held.find(|(id, _)| empty(shown.customfields.get(*id))).map(|(id, _)| format!("custom field {id}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Element, Wire as _};

    fn staff(text: &str) -> Staff {
        Staff::read(serde_json::from_str(text).unwrap()).unwrap()
    }

    #[test]
    fn law_2_what_came_back_is_compared() {
        let element = Element::read(serde_json::from_str(r#"{"id":4,"title":"Locker"}"#).unwrap()).unwrap();
        let before = r#"{"id":1,"name":"Ana","title":"Chief","mobile":"64 21","customfields":{"4":"B7"}}"#;
        let wanted = |fields: &[&str]| fields.iter().map(|field| ((*field).to_owned(), Value::Empty)).collect();
        for (after, mapped, titles, expected) in [
            (r#"{"id":1,"name":"Ana","mobile":"64 21","customfields":{"4":"B7"}}"#, &["title"][..], false, None),
            (r#"{"id":1,"name":"Ana","customfields":{"4":"B7"}}"#, &["title"], false, Some("mobile")),
            (r#"{"id":1,"name":"Ana","mobile":"64 21","customfields":[]}"#, &["title"], false, Some("custom field 4")),
            (r#"{"id":1,"name":"Ana","mobile":"64 21"}"#, &["title", "name"], true, Some("cf.Locker")),
            (r#"{"id":1,"name":"Ana","mobile":"64 21"}"#, &["title", "cf.Locker"], true, None),
        ] {
            let elements = Elements::new(titles.then(|| element.clone()).into_iter().collect());
            let found = lost(&staff(before), &staff(after), &wanted(mapped), &elements);
            assert_eq!(found.as_deref(), expected, "{after} {mapped:?}");
        }
    }
}
