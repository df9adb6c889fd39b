//! What is known of the members of memberships when it is judged which memberships end.
//!
//! A pair that vanishes from the source ends its membership where the person is still there. What becomes of the pairs of
//! somebody who leaves altogether goes with what becomes of them: only one who is removed loses them.

use std::collections::BTreeSet;

use super::prepare::Prepared;
use crate::config::{Config, Job};
use crate::plan::LeaverAction;
use crate::record::{Key, Target, Value};
use crate::snapshot::Known;

/// What is known of the members of memberships.
pub(super) struct Members<'a> {
    /// Whether those who leave are removed.
    are_removed: bool,
    /// Who is gone; none where that is not known of everybody.
    gone: Option<&'a BTreeSet<Key>>,
    /// Whom nobody removes, though they are gone.
    staying: BTreeSet<&'a Key>,
}

impl<'a> Members<'a> {
    /// Of the members of `part`, where that is the memberships of a job.
    pub(super) fn of(config: &Config, part: &Job, earlier: &'a [Prepared]) -> Option<Self> {
        if part.mapping.target != Target::Membership {
            return None;
        }
        let whole = part.name.whole();
        let own = earlier.iter().find(|prepared| prepared.job == whole);
        let action = config.part(&whole).map(|job| job.leavers.action);
        Some(Self {
            are_removed: action == Some(LeaverAction::Delete),
            gone: own.and_then(|own| own.new.gone.as_ref()),
            staying: own
                .map(|own| {
                    own.protected
                        .iter()
                        .chain(own.moving.iter().map(|(key, _)| key))
                        .chain(&own.new.claimed)
                        .chain(own.new.doubts.keys())
                        .collect()
                })
                .unwrap_or_default(),
        })
    }

    /// Whether a membership that is gone from the source ends.
    pub(super) fn may_end(&self, known: &Known) -> bool {
        let member = known.sent.get(Target::MEMBER).and_then(Value::as_text).and_then(Key::new);
        let (Some(member), Some(gone)) = (member, self.gone) else { return false };
        (self.are_removed || !gone.contains(&member)) && !self.staying.contains(&member)
    }
}
