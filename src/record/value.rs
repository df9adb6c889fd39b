//! One value of one field.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

use super::field_map::FieldMap;

/// One value of one field, as mapped from a source or as read from the service.
///
/// In JSON: `null`, a string, `true`/`false`, an array of strings, or an array of numbers. In forms for machines its kind comes
/// first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Value {
    /// Nothing: null, missing and "" are the same.
    #[default]
    Empty,
    /// Text, never empty. A short one, as nearly all are, takes no memory of its own.
    Text(SmolStr),
    /// A flag; the wire writes 1 and 0.
    Flag(bool),
    /// Names, in the order given, never empty.
    List(Vec<String>),
    /// Ids, in the order given, never empty.
    Ids(Vec<i32>),
}

/// Values by field name. A name takes no memory of its own: that of a table is a constant, nearly every other is short.
pub type Values = FieldMap<Value>;

impl Value {
    /// Text, or [`Value::Empty`] where `text` has no characters.
    pub fn text(text: impl Into<SmolStr>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::Empty } else { Self::Text(text) }
    }

    /// What a source says of a checkbox, as the 1 or 0 that the service holds (specification, Conventions).
    pub fn ticked(&self) -> Option<&'static str> {
        match self.as_text()?.to_lowercase().as_str() {
            "1" | "true" | "yes" => Some("1"),
            "0" | "false" | "no" => Some("0"),
            _ => None,
        }
    }

    /// A list, or [`Value::Empty`] where it has no entries.
    pub fn list(names: Vec<String>) -> Self {
        if names.is_empty() { Self::Empty } else { Self::List(names) }
    }

    /// Ids, or [`Value::Empty`] where there are none.
    pub fn ids(ids: Vec<i32>) -> Self {
        if ids.is_empty() { Self::Empty } else { Self::Ids(ids) }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// The text, where it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value as a person reads it; empty text for nothing.
    pub fn shown(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => text.to_string(),
            Self::Flag(flag) => if *flag { "1" } else { "0" }.to_owned(),
            Self::List(names) => names.join(", "),
            Self::Ids(ids) => ids.iter().map(i32::to_string).collect::<Vec<_>>().join(", "),
        }
    }

    /// Adds bytes that no other value gives, whatever follows them.
    pub(super) fn put_identity(&self, bytes: &mut Vec<u8>) {
        let mut kind = |kind: u8, parts: usize| {
            bytes.push(kind);
            bytes.extend_from_slice(&(parts as u64).to_le_bytes());
        };
        match self {
            Self::Empty => kind(0, 0),
            Self::Flag(flag) => kind(1, usize::from(*flag)),
            Self::Text(text) => {
                kind(2, 1);
                put_part(bytes, text);
            }
            Self::List(names) => {
                kind(3, names.len());
                names.iter().for_each(|name| put_part(bytes, name));
            }
            Self::Ids(ids) => {
                kind(4, ids.len());
                ids.iter().for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
            }
        }
    }

    /// The value as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("plain values")
    }
}

/// Adds a text with its length.
pub(super) fn put_part(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Shows the kind of value, never the value (law 11).
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Text(_) => f.write_str("Text(…)"),
            Self::Flag(_) => f.write_str("Flag(…)"),
            Self::List(names) => write!(f, "List({})", names.len()),
            Self::Ids(ids) => write!(f, "Ids({})", ids.len()),
        }
    }
}

/// A value in forms that don't show what kind of value comes next.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Value")]
enum Tagged {
    Empty,
    Text(SmolStr),
    Flag(bool),
    List(Vec<String>),
    Ids(Vec<i32>),
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return Tagged::serialize(self, serializer);
        }
        match self {
            Self::Empty => serializer.serialize_unit(),
            Self::Text(text) => text.serialize(serializer),
            Self::Flag(flag) => flag.serialize(serializer),
            Self::List(names) => names.serialize(serializer),
            Self::Ids(ids) => ids.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(Shapes)
        } else {
            Tagged::deserialize(deserializer)
        }
    }
}

/// Takes the shapes that [`Value::to_json`] writes, without a tree in between: a million people are read by this.
struct Shapes;

impl<'de> Visitor<'de> for Shapes {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Empty)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::text(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::text(text))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        Ok(match items.next_element()? {
            None => Value::Empty,
            Some(Item::Name(first)) => Value::List(rest(first, items)?),
            Some(Item::Id(first)) => Value::Ids(rest(first, items)?),
        })
    }
}

/// The first entry of a list says what all of them are.
#[derive(Deserialize)]
#[serde(untagged)]
enum Item {
    Name(String),
    Id(i32),
}

fn rest<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(first: T, mut items: A) -> Result<Vec<T>, A::Error> {
    let mut all = vec![first];
    while let Some(item) = items.next_element()? {
        all.push(item);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_survives_json_and_a_binary_form() {
        for value in [
            Value::Empty,
            Value::text("Ana"),
            Value::Flag(true),
            Value::list(vec!["a".into(), "b".into()]),
            Value::ids(vec![4, 7]),
        ] {
            let text = serde_json::to_string(&value).unwrap();
            assert_eq!(text, value.to_json().to_string());
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
            assert_eq!(serde_json::from_value::<Value>(value.to_json()).unwrap(), value);
            let bytes = postcard::to_extend(&value, Vec::new()).unwrap();
            assert_eq!(postcard::from_bytes::<Value>(&bytes).unwrap(), value);
        }
        for text in ["1", "{}", "[1,\"a\"]", "[\"a\",1]", "[null]", "[4000000000]"] {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
            assert!(serde_json::from_value::<Value>(text.parse().unwrap()).is_err(), "{text}");
        }
        for text in ["\"\"", "[]", "null"] {
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), Value::Empty, "{text}");
        }
    }

    #[test]
    fn law_11_debug_shows_no_value() {
        let shown = format!("{:?}{:?}", Value::text("Ana Secret"), Value::list(vec!["Ana".into()]));
        assert!(!shown.contains("Ana"), "{shown}");
    }
}
