//! The desired state of one entity.

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::value::{Values, put_part};
use rosterd_client::RemoteId;

/// What a change does to its entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Makes it.
    Create,
    /// Changes owned fields of it.
    Update,
    /// Removes it.
    Delete,
}

impl Action {
    /// Its name in plans and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// What is wanted of one entity, whatever it is now.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesiredState {
    /// What is to be done.
    pub action: Action,
    /// The entity; none for a create.
    pub id: Option<RemoteId>,
    /// The fields that are to be set, as they should be; empty for a delete. A field that is not among them stays as it is.
    pub fields: Values,
    /// Whether it is what `[job.leavers.set]` makes of someone who is gone: what their record last was stays remembered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaver: bool,
}

impl DesiredState {
    /// What is wanted of someone who is removed.
    pub fn removal(id: RemoteId) -> Self {
        Self { action: Action::Delete, id: Some(id), fields: Values::new(), leaver: false }
    }

    /// Whether it removes someone who is gone, or changes them for being gone.
    pub fn leaves(&self) -> bool {
        self.leaver || self.action == Action::Delete
    }

    /// A digest of the wish: the same for the same action, entity and values.
    pub fn digest(&self) -> u64 {
        let mut bytes = Vec::with_capacity(512);
        bytes.extend([self.action as u8, self.leaver.into()]);
        bytes.extend_from_slice(&self.id.map_or(0, RemoteId::get).to_le_bytes());
        for (field, value) in &self.fields {
            put_part(&mut bytes, field);
            value.put_identity(&mut bytes);
        }
        xxh3_64(&bytes)
    }
}

/// Names action and id only (law 11).
impl fmt::Debug for DesiredState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DesiredState").field("action", &self.action).field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::value::Value;
    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Empty),
            any::<bool>().prop_map(Value::Flag),
            "[ab]{0,2}".prop_map(Value::text),
            proptest::collection::vec("[ab]{0,2}", 0..3).prop_map(Value::list),
            proptest::collection::vec(1..3i32, 0..3).prop_map(Value::ids),
        ]
    }

    fn wish() -> impl Strategy<Value = DesiredState> {
        let fields = proptest::collection::btree_map("[ab]{1,2}", value(), 0..3);
        let action = prop_oneof![Just(Action::Create), Just(Action::Update), Just(Action::Delete)];
        (action, proptest::option::of(1..3i64), fields, any::<bool>()).prop_map(|(action, id, fields, leaver)| {
            let fields = fields.into_iter().map(|(field, value)| (field.into(), value)).collect();
            DesiredState { action, id: id.and_then(RemoteId::new), fields, leaver }
        })
    }

    proptest! {
        #[test]
        fn the_same_is_wanted_where_the_digests_are_the_same(one in wish(), other in wish()) {
            prop_assert_eq!(one.digest() == other.digest(), one == other);
            let read: DesiredState = serde_json::from_slice(&serde_json::to_vec(&one).unwrap()).unwrap();
            prop_assert_eq!(read.digest(), one.digest());
        }
    }
}
