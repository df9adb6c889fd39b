//! What an entity held before a write, so that it is noticed what a write took away (law 2).
//!
//! Of each field that holds something its name is kept, of each entry of an object its name too, of each text in a list a digest,
//! and of other lists how long they are. That is little, holds no value, and is stored with a request before it leaves: what
//! became of it may be seen only after its answer was lost.
//!
//! Rejected: to compare values. Others change fields at the same time, and the service writes some in its own way; what counts is
//! that nothing is gone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use xxhash_rust::xxh3::xxh3_64;

/// Fields that come and go by themselves, by the service's names.
const FLEETING: &[&str] = &[
    "modified",
    "last_login",
    "onsite_status",
    "cur_location",
    "cur_location_id",
    "cur_sp_org_id",
    "logs",
    "members",
    "sp_orgs",
    "setup_by",
    "policies",
];

/// What an entity held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Holdings(BTreeSet<Holding>);

/// A part of what is held, by the service's names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holding {
    /// A field that is not empty.
    Field(String),
    /// An entry that is not empty of a field that is an object.
    Entry(String, String),
    /// An item of a field that is a list: the digest of a text, or the place of anything else.
    Item(String, String),
}

impl Holding {
    /// The field that it is in.
    pub fn field(&self) -> &str {
        match self {
            Self::Field(field) | Self::Entry(field, _) | Self::Item(field, _) => field,
        }
    }
}

impl Holdings {
    /// What an entity holds, by an answer of the service.
    pub fn of(shown: &Json) -> Self {
        let mut held = BTreeSet::new();
        let fields = shown.as_object().into_iter().flatten();
        for (name, value) in fields.filter(|(name, value)| !FLEETING.contains(&name.as_str()) && !is_empty(value)) {
            held.insert(Holding::Field(name.clone()));
            match value {
                Json::Object(entries) => {
                    let entries = entries.iter().filter(|(_, value)| !is_empty(value));
                    held.extend(entries.map(|(entry, _)| Holding::Entry(name.clone(), entry.clone())));
                }
                Json::Array(items) => {
                    held.extend(
                        items.iter().enumerate().map(|(at, item)| Holding::Item(name.clone(), digest(at, item))),
                    );
                }
                _ => {}
            }
        }
        Self(held)
    }

    /// Whether nothing is held, or nothing is known of it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first part that is not held `now`, save those that `is_meant` says were to change.
    pub fn lost<'a>(&'a self, now: &Self, is_meant: impl Fn(&Holding) -> bool) -> Option<&'a Holding> {
        self.0.iter().filter(|part| !now.0.contains(*part)).find(|part| !is_meant(part))
    }
}

fn digest(at: usize, item: &Json) -> String {
    match item {
        Json::String(text) => format!("{:x}", xxh3_64(text.as_bytes())),
        _ => at.to_string(),
    }
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(entries) => entries.values().all(is_empty),
        Json::Bool(_) | Json::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entity_that_shows_nothing_holds_nothing() {
        assert!(Holdings::default().is_empty());
        assert!(Holdings::of(&json!({"title": "", "mobile": null, "role_types": [], "modified": "x"})).is_empty());
        assert!(!Holdings::of(&json!({"title": "Chief"})).is_empty());
    }

    #[test]
    fn law_2_what_a_write_took_away_is_seen_by_what_was_held_before() {
        let before = json!({
            "name": "Ana", "title": "Chief", "mobile": "64 21", "tokens": [{"type": "card"}, {"type": "fob"}],
            "role_types": ["Warden", "Nurse"], "customfields": {"4": "B7", "5": ""}, "department": "D", "remote": false,
            "modified": "x", "logs": [1, 2], "odd": {"a": 1},
        });
        let is_meant = |part: &Holding| part.field() == "title";
        let check = |changes: serde_json::Value, expected: Option<Holding>| {
            let mut after = before.clone();
            for (name, value) in changes.as_object().unwrap() {
                after[name] = value.clone();
            }
            let (before, after) = (Holdings::of(&before), Holdings::of(&after));
            assert_eq!(before.lost(&after, is_meant), expected.as_ref(), "{changes}");
            let stored: Holdings = serde_json::from_str(&serde_json::to_string(&before).unwrap()).unwrap();
            assert_eq!(stored, before);
        };
        let field = |name: &str| Some(Holding::Field(name.to_owned()));
        check(json!({}), None);
        check(
            json!({"title": null, "modified": "y", "logs": [], "mobile": "+64 21", "role_types": ["Nurse", "Warden"]}),
            None,
        );
        check(json!({"mobile": null}), field("mobile"));
        check(json!({"department": ""}), field("department"));
        check(json!({"odd": {}}), field("odd"));
        check(json!({"tokens": []}), field("tokens"));
        check(json!({"tokens": [{"type": "fob"}]}), Some(Holding::Item("tokens".into(), "1".into())));
        let warden = format!("{:x}", xxh3_64(b"Warden"));
        check(json!({"role_types": ["Nurse"]}), Some(Holding::Item("role_types".into(), warden)));
        check(json!({"customfields": {"5": "x"}}), Some(Holding::Entry("customfields".into(), "4".into())));
    }
}
