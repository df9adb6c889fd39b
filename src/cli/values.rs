//! How values of people are shown.

use serde_json::{Map, json};

use super::ui::tame;
use crate::record::{Target, Value};

/// A value as a line shows it: those of sensitive fields only where somebody asks for them, and those of fields that this
/// version does not know likewise.
pub(super) fn text(field: &str, value: &Value, show_values: bool) -> String {
    let sensitive = Target::Staff.field(field).is_none_or(|field| field.sensitive);
    match value {
        value if value.is_empty() => "(empty)".to_owned(),
        _ if sensitive && !show_values => "***".to_owned(),
        value => format!("\"{}\"", tame(&value.shown())),
    }
}

/// Fields that moved, for a document; null for one whose values were dropped.
pub(super) fn moved<'a>(
    fields: impl Iterator<Item = (&'a String, &'a Option<[Value; 2]>)>,
) -> Map<String, serde_json::Value> {
    let delta = |values: &Option<[Value; 2]>| match values {
        Some([from, to]) => json!({"from": from.to_json(), "to": to.to_json()}),
        None => serde_json::Value::Null,
    };
    fields.map(|(field, values)| (field.clone(), delta(values))).collect()
}
