//! Formats values of people, and hides sensitive ones.

use serde_json::{Map, json};

use super::output::sanitize;
use crate::record::{Target, Value};
use crate::source::JoinedRow;

/// A value as a line shows it: values of sensitive fields only where the user asks for them, and those of fields that
/// this version does not know likewise.
pub(crate) fn text(field: &str, value: &Value, show_values: bool) -> String {
    let sensitive = is_sensitive(field);
    match value {
        value if value.is_empty() => "(empty)".to_owned(),
        _ if sensitive && !show_values => "***".to_owned(),
        value => format!("\"{}\"", sanitize(&value.shown())),
    }
}

/// Whether a field's values are shown only when they are asked for; one that no target has is.
pub(crate) fn is_sensitive(field: &str) -> bool {
    let mut known = Target::ALL.iter().filter_map(|target| target.field(field)).peekable();
    known.peek().is_none() || known.any(|field| field.sensitive)
}

/// The row of a lookup that was joined to a row, for people.
pub(crate) fn joined_line(joined: &JoinedRow) -> String {
    match &joined.place {
        Some(place) => format!("lookup {}: {}", joined.lookup, sanitize(place)),
        None => format!("lookup {}: no row fits", joined.lookup),
    }
}

/// The same for a document.
pub(crate) fn joined_document(joined: &[JoinedRow]) -> serde_json::Value {
    joined.iter().map(|joined| json!({"name": joined.lookup, "row": joined.place})).collect()
}

/// Fields that moved, for a document; null for one whose values were dropped.
pub(crate) fn moved<'a>(
    fields: impl Iterator<Item = (&'a String, &'a Option<[Value; 2]>)>,
) -> Map<String, serde_json::Value> {
    let delta = |values: &Option<[Value; 2]>| match values {
        Some([from, to]) => json!({"from": from.to_json(), "to": to.to_json()}),
        None => serde_json::Value::Null,
    };
    fields.map(|(field, values)| (field.clone(), delta(values))).collect()
}
