//! Lists of objects with fields of their own, such as the visitors of a visit.

use serde_json::{Map, Value};

use crate::resource::{Field, FieldKind};
use crate::row;
use crate::sent;

/// How many ids there are for the parts of one entity.
const IDS: i64 = 100;

/// The parts of one entity, and what is known of them.
pub(crate) struct Parts<'a> {
    pub(crate) fields: &'static [Field],
    /// The entity's id.
    pub(crate) of: i64,
    /// The parts that it has now.
    pub(crate) known: &'a Value,
    pub(crate) normalize: bool,
}

impl Parts<'_> {
    /// Reads parts; one with an id that the entity knows keeps it, any other is a new one. What only answers have is
    /// taken and ignored.
    pub(crate) fn read(&self, sent: &Value) -> Option<Value> {
        let known: Vec<i64> =
            self.known.as_array().into_iter().flatten().filter_map(|part| part["id"].as_i64()).collect();
        let mut next = known.iter().copied().max().unwrap_or(self.of * IDS) + 1;
        let mut parts = Vec::new();
        for sent in sent.as_array()? {
            let sent = sent.as_object()?;
            let id = sent.get("id").and_then(sent::id).filter(|id| known.contains(id));
            parts.push(self.part(sent, id.unwrap_or(next))?);
            next += i64::from(id.is_none());
        }
        Some(Value::Array(parts))
    }

    fn part(&self, sent: &Map<String, Value>, id: i64) -> Option<Value> {
        if !sent.keys().all(|name| self.fields.iter().any(|field| field.name == name)) {
            return None;
        }
        let mut part = Map::new();
        for field in self.fields {
            let value = match (field.kind, sent.get(field.name)) {
                (FieldKind::Id, _) => id.into(),
                (kind, None | Some(Value::Null)) => row::empty(kind),
                (kind, Some(sent)) => sent::plain(kind, sent, self.normalize).ok()?,
            };
            part.insert(field.name.to_owned(), value);
        }
        Some(Value::Object(part))
    }
}
