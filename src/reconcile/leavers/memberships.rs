//! What is known of the members of memberships when it is judged which memberships end.
//!
//! A pair that vanishes from the source ends its membership if the person is still there. If the person leaves too,
//! their memberships follow the person: only a person who is removed loses them.

use std::collections::BTreeSet;

use super::organization_transfers::{self, NewMemberships};
use crate::config::{Config, Job};
use crate::plan::{LeaverAction, Present};
use crate::reconcile::model::part_draft::PartDraft;
use crate::record::{Key, Target};
use crate::snapshot::{Index, SyncedRecord};

/// What is known of the members of memberships.
pub(crate) struct Memberships<'a> {
    /// Whether those who leave are removed.
    are_removed: bool,
    /// Who is gone; none where that is not known of everybody.
    gone: Option<&'a BTreeSet<Key>>,
    /// People who are gone but not removed.
    staying: BTreeSet<&'a Key>,
    begun: &'a NewMemberships,
    index: &'a Index,
    seen: &'a Present,
}

impl<'a> Memberships<'a> {
    /// Of the members of `part`, where that is the memberships of a job: `index` is what it knows of them, and `seen` which
    /// of that is in the read.
    pub(crate) fn of(
        config: &Config,
        part: &Job,
        earlier: &'a [PartDraft],
        begun: &'a NewMemberships,
        (index, seen): (&'a Index, &'a Present),
    ) -> Option<Self> {
        if part.mapping.target != Target::Membership {
            return None;
        }
        let whole = part.name.root();
        let own = earlier.iter().find(|part| *part.job() == whole);
        let action = config.part(&whole).map(|job| job.leavers.action);
        Some(Self {
            are_removed: action == Some(LeaverAction::Delete),
            gone: own.and_then(|own| own.results.gone.as_ref()),
            staying: own
                .map(|own| {
                    let waits = own.rest.protected.iter().chain(own.rest.moving.iter().map(|(key, _)| key));
                    waits.chain(&own.results.claimed).chain(own.results.doubts.keys()).collect()
                })
                .unwrap_or_default(),
            begun,
            index,
            seen,
        })
    }

    /// Whether a membership that is gone from the source ends.
    pub(crate) fn may_end(&self, known: &SyncedRecord) -> bool {
        let (Some(member), Some(gone)) = (organization_transfers::member(&known.sent), self.gone) else { return false };
        (self.are_removed || !gone.contains(&member)) && !self.staying.contains(&member)
    }

    /// The membership that took the place of one that is gone from the source.
    pub(crate) fn successor(&self, known: &SyncedRecord) -> Option<Key> {
        self.begun.successor(known, self.index, self.seen)
    }
}
