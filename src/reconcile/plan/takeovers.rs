//! People of a job of changes who get another key.
//!
//! What waits of the new key keeps the person from leaving under the old one, and a newer row of the old key voids the approval.

use std::collections::BTreeMap;

use super::inputs::Inputs;
use crate::config::Mode;
use crate::queue;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::state_updates::Outdated;
use crate::record::{Key, RemoteId};
use crate::snapshot::Owner;

impl Inputs<'_> {
    /// The entities that records of a job of changes are to have, by what waits in the queue, or was given up of it.
    pub(super) fn taken(&self) -> Result<BTreeMap<RemoteId, Key>, Error> {
        let (job, mut taken) = (self.job(), BTreeMap::new());
        if job.mode == Mode::Changes {
            queue::each(self.store(), &job.name, |change| {
                let is_theirs = !change.wish.leaves() && change.undo.is_none();
                taken.extend(change.wish.id.filter(|_| is_theirs).map(|id| (id, change.key)));
            })?;
            queue::DECISIONS.each(self.store(), &job.name, |key, decided| {
                let is_given_up = decided.is_rejected(None) && !decided.is_answer;
                taken.extend(decided.id.filter(|_| is_given_up).map(|id| (id, key)));
            })?;
        }
        Ok(taken)
    }

    /// Approvals to take over someone under a new key, where a row of this read has them under the one before.
    pub(super) fn void_takeovers(&self) -> Result<Vec<(Key, Outdated)>, Error> {
        let (job, mut void) = (self.job(), Vec::new());
        for (id, key) in self.taken()? {
            let owner = Owner::besides(self.store(), job.mapping.target, id, (&job.name, &key))?;
            let Some(before) = owner.filter(|owner| owner.job == job.name).map(|owner| owner.key) else { continue };
            let is_of_file = |key: &Key| *key == before && !self.rows.earlier.contains(key);
            let is_read = self.is_present(&before) || self.rows.candidates.iter().any(|one| is_of_file(&one.key));
            if let Some(open) = queue::get(self.store(), &job.name, &key)?.filter(|open| is_read && open.approved) {
                void.push((key, Outdated { wish: open.wish.digest(), seen: None }));
            }
        }
        Ok(void)
    }
}
