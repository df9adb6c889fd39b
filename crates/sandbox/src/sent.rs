//! Single values as callers send them, turned into what is stored, where nothing else has to be asked.
//!
//! Numbers and flags are taken as text too: XML has nothing else, and the specification itself shows ids in strings.

use jiff::tz::TimeZone;
use serde_json::Value;

use crate::normal;
use crate::resource::FieldKind;
use crate::zone;

/// A value of a field, or what the field takes instead.
pub(crate) fn plain(kind: FieldKind, sent: &Value, normalize: bool) -> Result<Value, &'static str> {
    if let Some(text) = sent.as_str()
        && text.is_empty()
        && matches!(kind, FieldKind::Integer | FieldKind::Timestamp | FieldKind::Date)
    {
        return Ok(Value::Null);
    }
    match kind {
        FieldKind::Integer => integer(sent).map(Value::from).ok_or("a whole number"),
        FieldKind::Flag => flag(sent).map(|set| i64::from(set).into()).ok_or("1 or 0"),
        FieldKind::Bool => flag(sent).map(Value::Bool).ok_or("true or false"),
        FieldKind::Minutes => flag(sent)
            .or_else(|| integer(sent).filter(|minutes| *minutes >= 0).map(|minutes| minutes > 0))
            .map(Value::Bool)
            .ok_or("a number of minutes"),
        FieldKind::Timestamp => {
            let at = sent.as_str().and_then(zone::read).ok_or("a date and a time")?;
            Ok(zone::written(at, &TimeZone::UTC).into())
        }
        FieldKind::Date => sent.as_str().filter(|text| zone::is_day(text)).map(Value::from).ok_or("a day, YYYY-MM-DD"),
        FieldKind::Number if sent.is_i64() => Ok(sent.to_string().into()),
        FieldKind::Loose if sent.is_number() || sent.is_boolean() => Ok(sent.to_string().into()),
        kind => text(kind, sent, normalize),
    }
}

fn text(kind: FieldKind, sent: &Value, normalize: bool) -> Result<Value, &'static str> {
    let text = sent.as_str().ok_or("text")?;
    let text = if normalize { normalized(kind, text) } else { text.to_owned() };
    match kind {
        _ if text.is_empty() => Ok(Value::Null),
        FieldKind::Choice(words) if !words.contains(&text.as_str()) => Err("one of its words"),
        FieldKind::Email if !text.contains('@') => Err("an email address"),
        _ => Ok(text.into()),
    }
}

/// A number of 32 bits, as the specification has them.
fn integer(sent: &Value) -> Option<i64> {
    let number = match sent {
        Value::Number(number) => number.as_i64()?,
        Value::String(text) => text.parse().ok().filter(|number: &i64| number.to_string() == *text)?,
        _ => return None,
    };
    i32::try_from(number).ok().map(i64::from)
}

/// An id; 0 means none.
pub(crate) fn id(sent: &Value) -> Option<i64> {
    integer(sent).filter(|id| *id >= 0)
}

fn flag(sent: &Value) -> Option<bool> {
    match sent {
        Value::Bool(set) => Some(*set),
        Value::Number(number) if number.as_i64() == Some(1) => Some(true),
        Value::Number(number) if number.as_i64() == Some(0) => Some(false),
        Value::String(text) if text == "1" || text == "true" => Some(true),
        Value::String(text) if text == "0" || text == "false" => Some(false),
        _ => None,
    }
}

/// A flat list of names, as the list of lists that answers have.
pub(crate) fn nested_names(sent: &Value) -> Option<Value> {
    let names = sent.as_array()?;
    if !names.iter().all(|name| name.as_str().is_some_and(|name| !name.is_empty())) {
        return None;
    }
    Some(if names.is_empty() { Value::Array(Vec::new()) } else { Value::Array(vec![sent.clone()]) })
}

/// The value of a custom field.
pub(crate) fn custom_value(sent: &Value, is_checkbox: bool) -> Option<Value> {
    match sent {
        Value::Null => Some(Value::Null),
        Value::String(text) if is_checkbox && text.is_empty() => Some(Value::Null),
        _ if is_checkbox => flag(sent).map(|set| i64::from(set).to_string().into()),
        Value::String(_) => Some(sent.clone()),
        Value::Number(number) => Some(number.to_string().into()),
        _ => None,
    }
}

fn normalized(kind: FieldKind, text: &str) -> String {
    match kind {
        FieldKind::Phone => normal::phone(text),
        FieldKind::Email => text.trim().to_lowercase(),
        _ => text.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_stored_as_its_field_has_it_or_refused() {
        let choice = FieldKind::Choice(&["onsite", "offsite"]);
        for (kind, sent, expected) in [
            (FieldKind::Integer, json!(7), Some(json!(7))),
            (FieldKind::Integer, json!("7"), Some(json!(7))),
            (FieldKind::Integer, json!(""), Some(Value::Null)),
            (FieldKind::Integer, json!("07"), None),
            (FieldKind::Integer, json!(7.5), None),
            (FieldKind::Integer, json!(2_147_483_648_i64), None),
            (FieldKind::Flag, json!(true), Some(json!(1))),
            (FieldKind::Flag, json!("0"), Some(json!(0))),
            (FieldKind::Flag, json!(2), None),
            (FieldKind::Bool, json!(1), Some(json!(true))),
            (FieldKind::Bool, json!("false"), Some(json!(false))),
            (FieldKind::Bool, json!("yes"), None),
            (FieldKind::Minutes, json!(30), Some(json!(true))),
            (FieldKind::Minutes, json!(0), Some(json!(false))),
            (FieldKind::Minutes, json!(-1), None),
            (FieldKind::Timestamp, json!("2021-10-06T15:35:50+13:00"), Some(json!("2021-10-06T02:35:50+00:00"))),
            (FieldKind::Timestamp, json!("2021-10-06 02:35:50"), Some(json!("2021-10-06T02:35:50+00:00"))),
            (FieldKind::Timestamp, json!("soon"), None),
            (FieldKind::Date, json!("2026-02-28"), Some(json!("2026-02-28"))),
            (FieldKind::Date, json!("2026-02-30"), None),
            (FieldKind::Date, json!("2026-02-28T00:00:00Z"), None),
            (FieldKind::Number, json!(123), Some(json!("123"))),
            (FieldKind::Loose, json!(true), Some(json!("true"))),
            (FieldKind::Loose, json!(-36.8485), Some(json!("-36.8485"))),
            (FieldKind::Text, json!(7), None),
            (FieldKind::Text, json!(""), Some(Value::Null)),
            (choice, json!("onsite"), Some(json!("onsite"))),
            (choice, json!("away"), None),
            (FieldKind::Email, json!("nobody"), None),
        ] {
            assert_eq!(plain(kind, &sent, false).ok(), expected, "{kind:?} {sent}");
        }
    }
}
