//! A record as mapped from a source, and an entity as read from the service.

use std::fmt;

use serde::{Deserialize, Serialize};

use rosterd_client::RemoteId;

use super::key::Key;
use super::value::{Value, Values};

/// One person or organization after mapping. Its fields are those that the job maps, and only those.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    /// What identifies it at its source.
    pub key: Key,
    /// Mapped values by field name; a field that the job maps to nothing is there as [`Value::Empty`].
    pub fields: Values,
}

/// Names the key only (law 11).
impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("key", &self.key).finish_non_exhaustive()
    }
}

/// One entity of the service, in the program's own field names.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// Its id at the service.
    pub id: RemoteId,
    /// When the service made it, as the service wrote it; compared with itself only.
    pub created: String,
    /// Values by field name; those that no job needs may be left out.
    pub fields: Values,
}

impl Entity {
    /// The value of a field; [`Value::Empty`] where it has none.
    pub fn value(&self, field: &str) -> &Value {
        self.fields.get(field).unwrap_or(&Value::Empty)
    }

    /// The id in a field that names another entity.
    pub fn linked(&self, field: &str) -> Option<RemoteId> {
        self.value(field).as_text().and_then(|id| RemoteId::new(id.parse().ok()?))
    }
}

/// Names the id only (law 11).
impl fmt::Debug for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entity").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_11_debug_names_the_key_only() {
        let fields = Values::from([("name".into(), Value::text("Ana Secret"))]);
        let record = Record { key: Key::new("7").unwrap(), fields: fields.clone() };
        let entity = Entity { id: RemoteId::new(3).unwrap(), created: String::new(), fields };
        assert_eq!(format!("{record:?} {entity:?}"), "Record { key: \"7\", .. } Entity { id: RemoteId(3), .. }");
    }
}
