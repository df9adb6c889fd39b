//! One entity as the sandbox keeps it.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::resource::{Field, FieldKind, Resource};
use crate::zone;

/// One entity. Values lie in the order of the resource's fields, which takes far less memory than a map each.
#[derive(Clone)]
pub(crate) struct EntityRow {
    pub(crate) id: i64,
    pub(crate) created: Timestamp,
    pub(crate) modified: Timestamp,
    values: Box<[Value]>,
    /// What the resource has no field for: laid down by a test to see what a client does with it.
    pub(crate) extra: Map<String, Value>,
}

impl EntityRow {
    /// An entity with nothing in it but its defaults.
    pub(crate) fn new(resource: &Resource, id: i64, now: Timestamp) -> Self {
        let values = resource.fields.iter().map(|field| {
            let default = resource.defaults.iter().find(|(name, _)| *name == field.name);
            default.map_or_else(|| empty(field.kind), |(_, text)| Value::from(*text))
        });
        Self { id, created: now, modified: now, values: values.collect(), extra: Map::new() }
    }

    /// The stored value of the field at a position; null for those that aren't stored as values.
    pub(crate) fn value(&self, position: usize) -> &Value {
        &self.values[position]
    }

    /// Sets the field at a position.
    pub(crate) fn set(&mut self, position: usize, value: Value) {
        self.values[position] = value;
    }

    /// The text of the field at a position.
    pub(crate) fn text(&self, position: usize) -> Option<&str> {
        self.values[position].as_str()
    }

    /// The id or the number in the field at a position.
    pub(crate) fn integer(&self, position: usize) -> Option<i64> {
        self.values[position].as_i64()
    }

    /// The entity as an object, times in UTC. Its own times are in it where its resource shows none, too.
    pub(crate) fn to_json(&self, resource: &Resource) -> Value {
        let mut object = self.extra.clone();
        object.insert("id".to_owned(), self.id.into());
        object.insert("created".to_owned(), zone::written(self.created, &TimeZone::UTC).into());
        object.insert("modified".to_owned(), zone::written(self.modified, &TimeZone::UTC).into());
        for (position, field) in resource.fields.iter().enumerate() {
            let value = &self.values[position];
            if is_stored(field) && !(value.is_null() && matches!(field.kind, FieldKind::Derived(_))) {
                object.insert(field.name.to_owned(), value.clone());
            }
        }
        Value::Object(object)
    }

    /// Takes over what an object has, by names of answers.
    pub(crate) fn merge(&mut self, resource: &Resource, object: Map<String, Value>) {
        for (name, value) in object {
            let at = || value.as_str().and_then(zone::read);
            match (name.as_str(), resource.position(&name)) {
                ("id", _) => self.id = value.as_i64().unwrap_or(self.id),
                ("created", _) => self.created = at().unwrap_or(self.created),
                ("modified", _) => self.modified = at().unwrap_or(self.modified),
                (_, Some(position)) if is_stored(&resource.fields[position]) => self.values[position] = value,
                (_, Some(_)) => {}
                (_, None) => drop(self.extra.insert(name, value)),
            }
        }
    }
}

/// Whether a field's value is kept as it is. The id and the entity's own times have places of their own, and what only
/// follows from elsewhere has none.
fn is_stored(field: &Field) -> bool {
    match field.kind {
        FieldKind::Id | FieldKind::Created | FieldKind::LocalCreated | FieldKind::Modified => false,
        FieldKind::Derived(_) => field.is_input(),
        _ => true,
    }
}

/// What a field of that kind holds when it holds nothing.
pub(crate) fn empty(kind: FieldKind) -> Value {
    match kind {
        FieldKind::Flag => 0.into(),
        FieldKind::Bool | FieldKind::Minutes => false.into(),
        FieldKind::NestedNames
        | FieldKind::IdsOf(_)
        | FieldKind::Places(_)
        | FieldKind::Tokens
        | FieldKind::List(_)
        | FieldKind::Parts(_) => Value::Array(Vec::new()),
        FieldKind::Custom(_) => Value::Object(Map::new()),
        _ => Value::Null,
    }
}

/// The form in which the values of a group of unique fields are compared; `None` where one is empty.
pub(crate) fn unique_form(resource: &Resource, group: &[&str], row: &EntityRow) -> Option<String> {
    let mut form = String::new();
    for name in group {
        let text = match row.value(resource.at(name)) {
            Value::String(text) => text.trim().to_lowercase(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        if text.is_empty() {
            return None;
        }
        form.push_str(name);
        form.push('\u{0}');
        form.push_str(&text);
        form.push('\u{0}');
    }
    Some(form)
}
