//! The desired state of one entity.

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::value::Values;
use rosterd_client::RemoteId;

/// What a change does to its entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// Whether it removes someone who is gone, or changes them for being gone.
    pub fn leaves(&self) -> bool {
        self.leaver || self.action == Action::Delete
    }

    /// A digest of the wish: the same for the same action, entity and values.
    pub fn digest(&self) -> u64 {
        let mut bytes = Vec::with_capacity(512);
        serde_json::to_writer(&mut bytes, self).expect("plain values");
        xxh3_64(&bytes)
    }
}

/// Names action and id only (law 11).
impl fmt::Debug for DesiredState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DesiredState").field("action", &self.action).field("id", &self.id).finish_non_exhaustive()
    }
}
