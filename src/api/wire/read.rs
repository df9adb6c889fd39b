//! Takes typed values out of a JSON object, whatever form the service gave them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::record::RemoteId;

/// Takes the fields of one object by name. What can't be read is noted; what is never asked for is left over.
pub(super) struct Reader {
    object: Map<String, Value>,
    unreadable: Vec<&'static str>,
}

impl Reader {
    pub(super) fn new(object: Map<String, Value>) -> Self {
        Self { object, unreadable: Vec::new() }
    }

    /// What was not asked for, and the names of what could not be read.
    pub(super) fn finish(self) -> (BTreeMap<String, Value>, Vec<&'static str>) {
        (self.object.into_iter().collect(), self.unreadable)
    }

    /// The id: a whole number that fits int32 and is above zero, or the same as text.
    pub(super) fn id(&mut self) -> Result<RemoteId, &'static str> {
        let id = self.object.remove("id").ok_or("an entity without an id")?;
        whole(&id).and_then(RemoteId::new).ok_or("an id that is not a whole int32")
    }

    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        self.take(name, |value| match value {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        })
        .filter(|text| !text.is_empty())
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Option<bool> {
        self.take(name, |value| match value {
            Value::Bool(flag) => Some(Some(flag)),
            Value::Number(number) => match number.as_i64() {
                Some(0) => Some(Some(false)),
                Some(1) => Some(Some(true)),
                _ => None,
            },
            Value::String(text) => match text.trim() {
                "" => Some(None),
                "0" | "false" => Some(Some(false)),
                "1" | "true" => Some(Some(true)),
                _ => None,
            },
            _ => None,
        })
        .flatten()
    }

    /// Names, from a list, a list of lists, or a list of objects with a name.
    pub(super) fn names(&mut self, name: &'static str) -> Vec<String> {
        self.take(name, |value| {
            let mut names = Vec::new();
            flatten(value, &mut |item| {
                names.push(match item {
                    Value::String(text) => text,
                    Value::Object(mut object) => match object.remove("name") {
                        Some(Value::String(text)) => text,
                        _ => return None,
                    },
                    _ => return None,
                });
                Some(())
            })?;
            Some(names)
        })
        .unwrap_or_default()
    }

    /// Ids, from a list of ids or of objects with an id; `None` where the service shows none.
    pub(super) fn ids(&mut self, name: &'static str) -> Option<Vec<i32>> {
        self.take(name, |value| {
            let mut ids = Vec::new();
            flatten(value, &mut |item| {
                let id = match &item {
                    Value::Object(object) => whole(object.get("id")?),
                    item => whole(item),
                };
                ids.push(i32::try_from(id?).ok()?);
                Some(())
            })?;
            Some(ids)
        })
    }

    /// An object; an empty list counts as an empty one.
    pub(super) fn object(&mut self, name: &'static str) -> BTreeMap<String, Value> {
        self.take(name, |value| match value {
            Value::Object(object) => Some(object.into_iter().collect()),
            Value::Array(items) if items.is_empty() => Some(BTreeMap::new()),
            Value::String(text) if text.is_empty() => Some(BTreeMap::new()),
            _ => None,
        })
        .unwrap_or_default()
    }

    /// A value as it is; `None` for null and missing.
    pub(super) fn any(&mut self, name: &'static str) -> Option<Value> {
        self.object.remove(name).filter(|value| !value.is_null())
    }

    fn take<T>(&mut self, name: &'static str, read: impl FnOnce(Value) -> Option<T>) -> Option<T> {
        let value = self.object.remove(name).filter(|value| !value.is_null())?;
        let taken = read(value);
        if taken.is_none() {
            self.unreadable.push(name);
        }
        taken
    }
}

/// A whole number, as such or as its own canonical text.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse::<i64>().ok().filter(|number| number.to_string() == *text),
        _ => None,
    }
}

/// Visits the items of a list and of the lists in it; empty text is an empty list. Ends at the first refusal.
fn flatten(value: Value, visit: &mut impl FnMut(Value) -> Option<()>) -> Option<()> {
    match value {
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::Array(_) => flatten(item, visit)?,
                    item => visit(item)?,
                }
            }
            Some(())
        }
        Value::String(text) if text.is_empty() => Some(()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(value: Value) -> Reader {
        match serde_json::json!({ "x": value }) {
            Value::Object(object) => Reader::new(object),
            _ => unreachable!("json! of an object is one"),
        }
    }

    #[test]
    fn texts_and_flags_come_in_many_forms() {
        let text = |json: Value, expected: Option<&str>| assert_eq!(reader(json).text("x").as_deref(), expected);
        text("a".into(), Some("a"));
        text(12.into(), Some("12"));
        text("".into(), None);
        text(Value::Null, None);
        let flag = |json: Value, expected: Option<bool>| assert_eq!(reader(json).flag("x"), expected);
        for on in [true.into(), 1.into(), "1".into(), "true".into()] {
            flag(on, Some(true));
        }
        for off in [false.into(), 0.into(), "0".into(), "false".into()] {
            flag(off, Some(false));
        }
        flag(Value::Null, None);
        flag("".into(), None);
    }

    #[test]
    fn lists_are_flat_or_nested() {
        let names = |text: &str, expected: &[&str]| {
            assert_eq!(reader(serde_json::from_str(text).unwrap()).names("x"), expected, "{text}");
        };
        names(r#"["a","b"]"#, &["a", "b"]);
        names(r#"[["a"],["b","c"]]"#, &["a", "b", "c"]);
        names(r#"[{"id":1,"name":"a"}]"#, &["a"]);
        names("[]", &[]);
        names("null", &[]);
        let ids = |text: &str, expected: Option<Vec<i32>>| {
            assert_eq!(reader(serde_json::from_str(text).unwrap()).ids("x"), expected, "{text}");
        };
        ids(r#"[1,"2"]"#, Some(vec![1, 2]));
        ids(r#"[{"id":3,"name":"a"}]"#, Some(vec![3]));
        ids("[]", Some(vec![]));
        ids("null", None);
    }

    #[test]
    fn what_can_t_be_read_is_noted() {
        for (json, read) in [(r#"{"a":1}"#, "text"), ("7", "flag"), ("[1]", "names"), (r#"["x"]"#, "ids")] {
            let mut reader = reader(serde_json::from_str(json).unwrap());
            match read {
                "text" => drop(reader.text("x")),
                "flag" => drop(reader.flag("x").map(|_| ())),
                "names" => drop(reader.names("x")),
                _ => drop(reader.ids("x")),
            }
            assert_eq!(reader.finish().1, ["x"], "{read} of {json}");
        }
    }

    #[test]
    fn fault_44_ids_are_whole() {
        let check = |json: &str, expected: Option<i32>| {
            let object = serde_json::from_str(json).unwrap();
            assert_eq!(Reader::new(object).id().ok().map(RemoteId::get), expected, "{json}");
        };
        check(r#"{"id":7}"#, Some(7));
        check(r#"{"id":"7"}"#, Some(7));
        for bad in [
            r#"{}"#,
            r#"{"id":null}"#,
            r#"{"id":0}"#,
            r#"{"id":-1}"#,
            r#"{"id":1.0}"#,
            r#"{"id":"07"}"#,
            r#"{"id":2147483648}"#,
            r#"{"id":12345678901234567890123}"#,
            r#"{"id":true}"#,
            r#"{"id":[1]}"#,
        ] {
            check(bad, None);
        }
    }
}
