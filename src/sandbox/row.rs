//! One entity as the sandbox keeps it.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::resource::{Field, Kind, Resource};
use super::zone;

/// One entity. Values lie in the order of the resource's fields, which takes far less memory than a map each.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) created: Timestamp,
    pub(super) modified: Timestamp,
    values: Box<[Value]>,
    /// What the resource has no field for: laid down by a test to see what a client does with it.
    pub(super) extra: Map<String, Value>,
}

impl Row {
    /// An entity with nothing in it but its defaults.
    pub(super) fn new(resource: &Resource, id: i64, now: Timestamp) -> Self {
        let values = resource.fields.iter().map(|field| {
            let default = resource.defaults.iter().find(|(name, _)| *name == field.name);
            default.map_or_else(|| empty(field.kind), |(_, text)| Value::from(*text))
        });
        Self { id, created: now, modified: now, values: values.collect(), extra: Map::new() }
    }

    /// The stored value of the field at a position; null for those that aren't stored as values.
    pub(super) fn value(&self, position: usize) -> &Value {
        &self.values[position]
    }

    /// Sets the field at a position.
    pub(super) fn set(&mut self, position: usize, value: Value) {
        self.values[position] = value;
    }

    /// The text of the field at a position.
    pub(super) fn text(&self, position: usize) -> Option<&str> {
        self.values[position].as_str()
    }

    /// The entity as an object, times in UTC.
    pub(super) fn to_json(&self, resource: &Resource) -> Value {
        let mut object = self.extra.clone();
        for (position, field) in resource.fields.iter().enumerate() {
            let value = match field.kind {
                Kind::Id => self.id.into(),
                Kind::Created => zone::written(self.created, &TimeZone::UTC).into(),
                Kind::Modified => zone::written(self.modified, &TimeZone::UTC).into(),
                Kind::CountOf(..) => continue,
                _ => self.values[position].clone(),
            };
            object.insert(field.name.to_owned(), value);
        }
        Value::Object(object)
    }

    /// Takes over what an object has, by names of answers.
    pub(super) fn merge(&mut self, resource: &Resource, object: Map<String, Value>) {
        for (name, value) in object {
            let Some(position) = resource.position(&name) else {
                self.extra.insert(name, value);
                continue;
            };
            let at = || value.as_str().and_then(zone::read);
            match resource.fields[position].kind {
                Kind::Id => self.id = value.as_i64().unwrap_or(self.id),
                Kind::Created => self.created = at().unwrap_or(self.created),
                Kind::Modified => self.modified = at().unwrap_or(self.modified),
                Kind::CountOf(..) => {}
                _ => self.values[position] = value,
            }
        }
    }
}

/// What a field of that kind holds when it holds nothing.
pub(super) fn empty(kind: Kind) -> Value {
    match kind {
        Kind::Flag => 0.into(),
        Kind::Bool => false.into(),
        Kind::NestedNames | Kind::IdsOf(_) | Kind::Tokens | Kind::List => Value::Array(Vec::new()),
        Kind::Custom(_) => Value::Object(Map::new()),
        _ => Value::Null,
    }
}

/// The form in which values of a unique field are compared; `None` where there is none to compare.
pub(super) fn unique_form(field: &Field, value: &Value) -> Option<String> {
    let text = value.as_str()?.trim().to_lowercase();
    (!text.is_empty()).then(|| format!("{}\u{0}{text}", field.name))
}
