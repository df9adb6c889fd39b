//! People that no job may remove.

use std::collections::BTreeSet;
use std::fmt;

use crate::record::{Entity, Key, normalize};
use crate::snapshot::SyncedRecord;

/// People that no job may remove, named by key or email; case, outer spaces and leading zeros don't matter (law 6).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Protection(BTreeSet<String>);

impl Protection {
    /// The field of an entity by which it may be named besides its key.
    pub const FIELD: &'static str = "email";

    /// Why a protected person stays.
    pub const REASON: &'static str = "named in protect; no job removes them";

    /// Protects the people of these names.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a String>) -> Self {
        Self(names.into_iter().map(|name| normalize(name)).filter(|name| !name.is_empty()).collect())
    }

    /// Whether someone is protected: by key, by the email at the service, or by the one that was last sent.
    pub fn covers(&self, key: &Key, known: Option<&SyncedRecord>, entity: &Entity) -> bool {
        let emails = [Some(entity.value(Self::FIELD)), known.and_then(|known| known.sent.get(Self::FIELD))];
        let emails = emails.into_iter().flatten().filter_map(|value| value.as_text());
        emails.chain([key.as_str()]).any(|name| self.0.contains(&normalize(name)))
    }
}

/// Counts them (law 11).
impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Protection({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{RemoteId, Value, Values};

    #[test]
    fn law_6_people_are_protected_by_key_or_by_either_email() {
        let id = RemoteId::new(1).unwrap();
        let email = |text: &str| Values::from([("email".into(), Value::text(text))]);
        let entity = Entity { id, created: String::new(), fields: email("ana@example.com") };
        let known = SyncedRecord { sent: email("a.smith@example.com"), ..SyncedRecord::of(id, String::new()) };
        for (name, covered) in [
            ("0042", true),
            ("42", true),
            (" Ana@Example.com", true),
            ("a.smith@example.com", true),
            ("ana", false),
            ("bo@example.com", false),
            ("", false),
        ] {
            let protection = Protection::new(&[name.to_owned()]);
            assert_eq!(protection.covers(&Key::new("042").unwrap(), Some(&known), &entity), covered, "{name}");
        }
    }
}
