//! People that no job may remove.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::record::{Entity, Key, RemoteId, Target, normalize};
use crate::snapshot::SyncedRecord;

/// People that no job may remove, named by key or email; case, outer spaces and leading zeros don't matter (law 6).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Protection {
    /// Keys and emails.
    names: BTreeSet<String>,
    /// Those who had one of them last.
    people: Vec<ProtectedPerson>,
}

/// Someone who has a protected name, or had it last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectedPerson {
    /// What they are.
    pub target: Target,
    /// Their id at the service.
    pub id: RemoteId,
    /// When the service made them, as it wrote it.
    pub created: String,
}

impl ProtectedPerson {
    /// Whether an entity is this person.
    pub fn is(&self, target: Target, entity: &Entity) -> bool {
        let is_of_then = self.created.is_empty() || entity.created.is_empty() || self.created == entity.created;
        self.target == target && self.id == entity.id && is_of_then
    }
}

impl Protection {
    /// The field of an entity by which it may be named besides its key.
    pub const FIELD: &'static str = "email";

    /// Why a protected person stays.
    pub const REASON: &'static str = "named in protect; no job removes them";

    /// Protects those who have these names, and `people`, who had one of them last.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a String>, people: Vec<ProtectedPerson>) -> Self {
        let names = names.into_iter().map(|name| normalize(name)).filter(|name| !name.is_empty());
        Self { names: names.collect(), people }
    }

    /// Whether someone is protected: by key, by the email at the service, by the one that was last sent, or as the one who had such a
    /// name last.
    pub fn covers(&self, target: Target, key: &Key, known: Option<&SyncedRecord>, entity: &Entity) -> bool {
        let emails = [Some(entity.value(Self::FIELD)), known.and_then(|known| known.sent.get(Self::FIELD))];
        let emails = emails.into_iter().flatten().filter_map(|value| value.as_text());
        emails.chain([key.as_str()]).any(|name| self.names.contains(&normalize(name)))
            || self.people.iter().any(|person| person.is(target, entity))
    }
}

/// Counts them (law 11).
impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Protection({})", self.names.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Value, Values};

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
            let protection = Protection::new(&[name.to_owned()], Vec::new());
            let key = Key::new("042").unwrap();
            assert_eq!(protection.covers(Target::Staff, &key, Some(&known), &entity), covered, "{name}");
        }
    }

    #[test]
    fn law_6_who_had_a_protected_name_last_is_protected_and_no_one_else_of_that_id() {
        let id = RemoteId::new(1).unwrap();
        let made = |created: &str| Entity { id, created: created.to_owned(), fields: Values::new() };
        let person = ProtectedPerson { target: Target::Staff, id, created: "2026-01-01".to_owned() };
        let protection = Protection::new(&[], vec![person]);
        for (target, created, covered) in [
            (Target::Staff, "2026-01-01", true),
            (Target::Staff, "", true),
            (Target::Staff, "2027-01-01", false),
            (Target::Contractor, "2026-01-01", false),
        ] {
            let covers = protection.covers(target, &Key::new("7").unwrap(), None, &made(created));
            assert_eq!(covers, covered, "{target:?} {created}");
        }
    }
}
