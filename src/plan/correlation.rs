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
        reason: String,
        /// What the service holds.
        entity: Entity,
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
    /// The service has none, but a person of the same name whose id matches no record.
    Namesake {
        /// The entity.
        id: RemoteId,
    },
}

impl Unclear {
    /// Whether a person may say that the record is of a new person; else something is to be mended.
    pub(super) fn may_be_new(&self) -> bool {
        !matches!(self, Self::Ambiguous { .. } | Self::Taken { .. } | Self::Contested { .. })
    }

    /// Why such a record waits.
    pub(super) fn reason(&self, target: Target) -> HoldReason {
        let one = target.noun();
        let reason = match self {
            Self::Ambiguous { by, ids } => {
                let ids: Vec<String> = ids.iter().map(RemoteId::to_string).collect();
                let many = target.plural();
                format!("{by} fits several {many} at the service (ids {}); make it unique there", ids.join(", "))
            }
            Self::Taken { by, id, job, key } => {
                format!("{by} fits the {one} with id {id}, who belongs to key {key} of job {job}")
            }
            Self::Contested { id, key } => {
                format!("this record and that of key {key} both fit the {one} with id {id}")
            }
            Self::Shared { by, key, seen } => {
                let where_is = match seen {
                    true => "who is in the source too",
                    false => "which no row of this read has, and it may be the same person under a mistyped key",
                };
                format!("this new record has the {by} of key {key}, {where_is}; approve it if they are two people")
            }
            Self::Unfindable => {
                "this new record is empty in every field of match_on, so it is unknown whether this person \
                                 exists already; approve it if they don't"
                    .to_owned()
            }
            Self::Twin { by, key } => format!(
                "this new record and that of key {key} have the same {by}: one person under two keys would be made twice; \
                 approve those who are different people"
            ),
            Self::Namesake { id } => {
                let reason = format!(
                    "this new record has the name of a person at the service that no record matches (id {id}), and on a job's \
                     first run they may be the same person; approve it to create a new person, or make match_on fit them"
                );
                return HoldReason::SameName(reason.into());
            }
        };
        reason.into()
    }
}
