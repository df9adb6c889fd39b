//! What callers send, turned into what is stored.

use serde_json::{Map, Value};

use super::answer::Refusal;
use super::normal;
use super::resource::{Field, Kind, Resource};
use super::row::{self, Row};
use super::store::Entities;
use super::tables;

/// A body, and what it is read against.
pub(super) struct Input<'a> {
    pub(super) resource: &'static Resource,
    pub(super) entities: &'a Entities,
    pub(super) body: Map<String, Value>,
    /// Whether values are rewritten as they come in.
    pub(super) normalize: bool,
}

impl Input<'_> {
    /// Checks that every name is one of the resource. What only answers have is taken and ignored; a name that is
    /// neither is a mistake worth an answer.
    pub(super) fn check_names(&self) -> Result<(), Refusal> {
        for name in self.body.keys() {
            let known =
                self.resource.fields.iter().any(|field| field.name == name || field.inputs.contains(&name.as_str()));
            if !known {
                return Err(Refusal::bad(format!("the {} has a field that doesn't exist", self.resource.name)));
            }
        }
        Ok(())
    }

    /// Whether the body changes custom fields only: an id, and nothing else but them.
    pub(super) fn is_custom_only(&self) -> bool {
        let is_custom = |name: &str| {
            self.resource
                .fields
                .iter()
                .any(|field| matches!(field.kind, Kind::Custom(_)) && field.inputs.contains(&name))
        };
        self.body.contains_key("id")
            && self.body.keys().any(|name| is_custom(name))
            && self.body.keys().all(|name| name == "id" || is_custom(name))
    }

    /// Replaces every input field: one that isn't sent becomes empty.
    pub(super) fn replace(&self, row: &mut Row) -> Result<(), Refusal> {
        self.each(|position, field, sent| {
            let value = sent.map_or_else(|| Ok(row::empty(field.kind)), |sent| self.value(field, sent))?;
            row.set(position, value);
            Ok(())
        })
    }

    /// Sets the fields that are sent; the others keep their defaults.
    pub(super) fn fill(&self, row: &mut Row) -> Result<(), Refusal> {
        self.each(|position, field, sent| {
            if let Some(sent) = sent.filter(|sent| !sent.is_null()) {
                row.set(position, self.value(field, sent)?);
            }
            Ok(())
        })
    }

    /// Sets the custom fields that are sent; the others stay.
    pub(super) fn merge_custom(&self, row: &mut Row) -> Result<(), Refusal> {
        self.each(|position, field, sent| {
            let Kind::Custom(_) = field.kind else { return Ok(()) };
            let Some(sent) = sent else { return Ok(()) };
            let mut kept = row.value(position).as_object().cloned().unwrap_or_default();
            if let Value::Object(changed) = self.value(field, sent)? {
                kept.extend(changed);
            }
            row.set(position, Value::Object(kept));
            Ok(())
        })
    }

    fn each(
        &self,
        mut set: impl FnMut(usize, &'static Field, Option<&Value>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        for (position, field) in self.resource.fields.iter().enumerate().filter(|(_, field)| field.is_input()) {
            set(position, field, field.inputs.iter().find_map(|name| self.body.get(*name)))?;
        }
        Ok(())
    }

    fn value(&self, field: &Field, sent: &Value) -> Result<Value, Refusal> {
        let wrong = |what: &str| Refusal::bad(format!("{} takes {what}", field.name));
        if sent.is_null() {
            return Ok(row::empty(field.kind));
        }
        Ok(match field.kind {
            Kind::Number if sent.is_i64() => sent.to_string().into(),
            Kind::Flag => flag(sent).ok_or_else(|| wrong("1 or 0"))?,
            Kind::NestedNames => names(sent).ok_or_else(|| wrong("a list of names"))?,
            Kind::IdsOf(other) => self.ids(sent, other).ok_or_else(|| wrong("a list of ids that exist"))?,
            Kind::Custom(elements) => self.custom(sent, elements)?,
            kind => {
                let text = sent.as_str().ok_or_else(|| wrong("text"))?;
                let text = if self.normalize { normalized(kind, text) } else { text.to_owned() };
                self.check_text(kind, &text).map_err(wrong)?;
                if text.is_empty() { Value::Null } else { text.into() }
            }
        })
    }

    fn check_text(&self, kind: Kind, text: &str) -> Result<(), &'static str> {
        match kind {
            _ if text.is_empty() => Ok(()),
            Kind::Choice(words) if !words.contains(&text) => Err("one of its words"),
            Kind::Email if !text.contains('@') => Err("an email address"),
            Kind::NameOf(other) if !self.entities.is_name_of(text, other) => Err("the name of one that exists"),
            _ => Ok(()),
        }
    }

    fn ids(&self, sent: &Value, other: &str) -> Option<Value> {
        let rows = self.entities.rows(other);
        sent.as_array()?.iter().map(|id| id.as_i64().filter(|id| rows.contains_key(id)).map(Value::from)).collect()
    }

    /// Custom fields by element id; the deprecated list has objects of id and value.
    fn custom(&self, sent: &Value, elements: &str) -> Result<Value, Refusal> {
        let wrong = |what: &str| Refusal::bad(format!("custom fields take {what}"));
        let pairs: Option<Vec<(String, &Value)>> = match sent {
            Value::Object(map) => Some(map.iter().map(|(id, value)| (id.clone(), value)).collect()),
            Value::Array(items) => items
                .iter()
                .map(|item| Some((item.get("id").and_then(id_text)?, item.get("value").unwrap_or(&Value::Null))))
                .collect(),
            _ => None,
        };
        let kind = tables::resource(elements).and_then(|resource| resource.position("element_type"));
        let mut stored = Map::new();
        for (id, value) in pairs.ok_or_else(|| wrong("an object of element ids and values"))? {
            let element = id.parse::<i64>().ok().and_then(|id| self.entities.rows(elements).get(&id));
            let element = element.ok_or_else(|| wrong("the ids of elements that exist"))?;
            let is_checkbox = kind.is_some_and(|position| element.text(position) == Some("checkbox"));
            stored
                .insert(id, custom_value(value, is_checkbox).ok_or_else(|| wrong("text, and 1 or 0 for a checkbox"))?);
        }
        Ok(Value::Object(stored))
    }
}

fn custom_value(value: &Value, is_checkbox: bool) -> Option<Value> {
    match value {
        Value::Null => Some(Value::Null),
        Value::String(text) if is_checkbox && text.is_empty() => Some(Value::Null),
        _ if is_checkbox => flag(value).map(|flag| flag.to_string().into()),
        Value::String(_) => Some(value.clone()),
        Value::Number(number) => Some(number.to_string().into()),
        _ => None,
    }
}

fn id_text(id: &Value) -> Option<String> {
    id.as_i64().map(|id| id.to_string()).or_else(|| id.as_str().map(str::to_owned))
}

fn flag(sent: &Value) -> Option<Value> {
    let set = match sent {
        Value::Bool(set) => *set,
        Value::Number(number) if number.as_i64() == Some(1) => true,
        Value::Number(number) if number.as_i64() == Some(0) => false,
        Value::String(text) if text == "1" => true,
        Value::String(text) if text == "0" => false,
        _ => return None,
    };
    Some(i64::from(set).into())
}

/// A flat list of names, as the list of lists that answers have.
fn names(sent: &Value) -> Option<Value> {
    let names = sent.as_array()?;
    if !names.iter().all(|name| name.as_str().is_some_and(|name| !name.is_empty())) {
        return None;
    }
    Some(if names.is_empty() { Value::Array(Vec::new()) } else { Value::Array(vec![sent.clone()]) })
}

fn normalized(kind: Kind, text: &str) -> String {
    match kind {
        Kind::Phone => normal::phone(text),
        Kind::Email => text.trim().to_lowercase(),
        _ => text.trim().to_owned(),
    }
}
