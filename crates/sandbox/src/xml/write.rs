//! Writes a value as a document.
//!
//! The value comes as JSON text and is never built in memory: a page of thousands is copied from one form to the other,
//! its fields in the order of the answer.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use super::letters::{is_name, push};

/// Turns JSON into a document. `entity` is the name of the root element, or of each element of a list.
pub(crate) fn document(json: &[u8], entity: &str) -> Result<String, serde_json::Error> {
    let mut out = String::with_capacity(json.len() * 2);
    out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let is_list = json.trim_ascii_start().starts_with(b"[");
    let key = if is_list { "list" } else { entity };
    let mut reader = serde_json::Deserializer::from_slice(json);
    Element { key, item: entity, out: &mut out }.deserialize(&mut reader)?;
    reader.end()?;
    out.push('\n');
    Ok(out)
}

/// One element that is about to be written.
struct Element<'a> {
    key: &'a str,
    /// What its elements are called, if it is a list.
    item: &'a str,
    out: &'a mut String,
}

impl Element<'_> {
    fn open(&mut self, attribute: &str) {
        self.out.push('<');
        if is_name(self.key) {
            self.out.push_str(self.key);
        } else {
            self.out.push_str("field id=\"");
            push(self.key, self.out);
            self.out.push('"');
        }
        self.out.push_str(attribute);
        self.out.push('>');
    }

    fn close(self) {
        self.out.push_str("</");
        self.out.push_str(if is_name(self.key) { self.key } else { "field" });
        self.out.push('>');
    }

    fn simple(mut self, attribute: &str, text: &str) {
        self.open(attribute);
        push(text, self.out);
        self.close();
    }
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.simple(" nil=\"true\"", "");
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.simple(" type=\"boolean\"", if value { "true" } else { "false" });
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.simple(" type=\"number\"", &value.to_string());
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.simple(" type=\"number\"", &value.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        // As JSON writes it, so that a whole number with a fraction of zero stays one with a fraction.
        let text = Number::from_f64(value).map(|number| number.to_string());
        self.simple(" type=\"number\"", &text.unwrap_or_default());
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.simple("", text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.open(" type=\"array\"");
        while items.next_element_seed(Element { key: self.item, item: "item", out: &mut *self.out })?.is_some() {}
        self.close();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let mut is_open = false;
        while let Some(key) = members.next_key::<String>()? {
            if !std::mem::replace(&mut is_open, true) {
                // An object that has nothing but this key would be taken for a list.
                self.open(if key == "item" { " type=\"object\"" } else { "" });
            }
            members.next_value_seed(Element { key: &key, item: "item", out: &mut *self.out })?;
        }
        if !is_open {
            self.open(" type=\"object\"");
        }
        self.close();
        Ok(())
    }
}
