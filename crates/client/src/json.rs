//! JSON as strict as a safe reader needs it: a name that is there twice is an error, not the last value.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// What is wrong where a name is there twice.
pub(crate) const TWICE: &str = "a name is there twice";
/// What is wrong where a list holds something else than objects.
pub(crate) const NO_OBJECT: &str = "no object";

/// Reads one JSON document; an object that has a name twice is an error. Depth is limited by `serde_json` (128).
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Strict.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Any value, with all in it.
#[derive(Clone, Copy)]
pub(crate) struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self)?;
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom(TWICE));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_44_only_whole_and_unambiguous_json_is_read() {
        let check = |text: &str, good: bool| assert_eq!(parse(text.as_bytes()).is_ok(), good, "{text}");
        check(r#"[{"id": 1, "x": [null, true, 1.5, "a", -3]}]"#, true);
        check(r#"{"id": 1, "id": 2}"#, false);
        check(r#"[{"a": {"b": 1, "b": 1}}]"#, false);
        check(r#"[{"id": NaN}]"#, false);
        check(r#"[{"id": 1}"#, false);
        check(r#"[] []"#, false);
        check("", false);
        check("<html>", false);
    }

    #[test]
    fn a_number_too_long_for_an_integer_is_none() {
        let value = parse(b"12345678901234567890123").unwrap();
        assert!(value.as_i64().is_none() && value.as_u64().is_none());
    }
}
