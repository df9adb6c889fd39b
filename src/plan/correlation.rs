//! What a record is at the service, as far as that is known.

use smol_str::SmolStr;

use super::HoldReason;
use crate::record::{Entity, Key, RemoteId, Target};
use crate::snapshot::SyncedRecord;

/// What is known of a record's entity.
#[derive(Clone, Debug)]
pub enum Correlation {
    /// It was confirmed before and is there.
    Mine {
        /// What was confirmed.
        known: SyncedRecord,
        /// What the service holds.
        entity: Entity,
    },
    /// It was confirmed before, and the service has it no more: a request for just this entity said so.
    Vanished {
        /// What was confirmed.
        known: SyncedRecord,
    },
    /// It was found by a field, the first time.
    Matched {
        /// The field.
        by: SmolStr,
        /// What the service holds.
        entity: Entity,
        /// What was confirmed under the key that it had in this job before, where it had one.
        earlier: Option<Box<SyncedRecord>>,
    },
    /// The service has none.
    New,
    /// The organization that fits belongs to another job: people are joined to it as it is.
    Borrowed {
        /// What the service holds.
        entity: Entity,
    },
    /// An entity was found, and something speaks against it.
    Doubtful {
        /// What speaks against it.
        reason: HoldReason,
        /// What the service holds.
        entity: Entity,
        /// What was confirmed under the key that it had in this job before, where it had one.
        earlier: Option<Box<SyncedRecord>>,
    },
    /// It can't be said.
    Unclear(Unclear),
}

/// Why it can't be said what a record's entity is (law 6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// Several entities fit.
    Ambiguous {
        /// The field.
        by: SmolStr,
        /// The entities.
        ids: Vec<RemoteId>,
    },
    /// The entity that fits belongs to another record.
    Taken {
        /// The field.
        by: SmolStr,
        /// The entity.
        id: RemoteId,
        /// The job that owns it.
        job: String,
        /// The key that it belongs to.
        key: Key,
    },
    /// Another record of the same read fits the same entity.
    Contested {
        /// The entity.
        id: RemoteId,
        /// The other key.
        key: Key,
    },
    /// The entity that fits belongs to a record that is there too, and only a field that people may share says so.
    Shared {
        /// The field.
        by: SmolStr,
        /// The other key.
        key: Key,
        /// Whether a row of this read has it; else the read proves nothing about it.
        seen: bool,
    },
    /// The service has none by which it could be found again, for the record has nothing in the fields that people are
    /// matched by.
    Unfindable,
    /// The service has none, and another new record of the same read has the same value in a field that people are
    /// matched by: one person under two keys, or two who share it.
    Twin {
        /// The field.
        by: SmolStr,
        /// The other key.
        key: Key,
    },
    /// The service has none, but a person of the same name or email whose id matches no record.
    Stranger {
        /// What is the same.
        field: &'static str,
        /// The entity.
        id: RemoteId,
    },
}

impl Unclear {
    /// Whether a person may say that the record is of a new person; else something is to be mended.
    pub(super) fn may_be_new(&self) -> bool {
        !matches!(self, Self::Ambiguous { .. } | Self::Taken { .. } | Self::Contested { .. })
    }

    /// The record of this job that may be the same person.
    pub fn owner(&self, job: &str) -> Option<&Key> {
        match self {
            Self::Taken { job: owner, key, .. } if owner == job => Some(key),
            Self::Shared { key, .. } => Some(key),
            _ => None,
        }
    }

    /// Why such a record waits.
    pub(super) fn reason(&self, target: Target) -> HoldReason {
        let one = || target.noun().to_owned();
        match self {
            Self::Ambiguous { by, ids } => HoldReason::Ambiguous {
                field: by.to_string(),
                many: target.plural().to_owned(),
                ids: ids.iter().map(RemoteId::to_string).collect::<Vec<_>>().join(", "),
            },
            Self::Taken { by, id, job, key } => {
                HoldReason::Taken { field: by.to_string(), one: one(), id: *id, key: key.to_string(), job: job.clone() }
            }
            Self::Contested { id, key } => HoldReason::Contested { one: one(), id: *id, key: key.to_string() },
            Self::Shared { by, key, seen: true } => HoldReason::Shared { field: by.to_string(), key: key.to_string() },
            Self::Shared { by, key, seen: false } => {
                HoldReason::SharedWithMissing { field: by.to_string(), key: key.to_string() }
            }
            Self::Unfindable => HoldReason::Unfindable,
            Self::Twin { by, key } => HoldReason::Twin { field: by.to_string(), key: key.to_string() },
            Self::Stranger { field: Target::EMAIL, id } => HoldReason::SameEmail { id: *id },
            Self::Stranger { id, .. } => HoldReason::SameName { id: *id },
        }
    }
}
