//! What earlier files of changes said and is queued to be sent: no row of this read says it again, and someone in this read may get the
//! same name or email.
//!
//! It is compared with what is read, and no more than that: what it needs was worked out already.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::inputs::Inputs;
use crate::config::Mode;
use crate::queue;
use crate::reconcile::model::candidate::Candidate;
use crate::reconcile::model::error::Error;
use crate::record::{Action, Key};

impl Inputs<'_> {
    /// The records of this read with those that are queued, in order of key; and the keys of the latter.
    pub(super) fn with_queued(&self) -> Result<(Cow<'_, [Candidate]>, BTreeSet<Key>), Error> {
        let (job, read) = (self.job(), &self.rows.candidates);
        let mut queued = Vec::new();
        if job.mode == Mode::Changes && job.mapping.target.has_presence() {
            queue::each(self.store(), &job.name, |change| {
                let arrives =
                    change.wish.action != Action::Delete && !change.wish.leaves() && !change.state.is_parked();
                let is_read = read.binary_search_by(|one| one.key.cmp(&change.key)).is_ok();
                queued.extend((arrives && !is_read).then_some(change));
            })?;
        }
        let keys = queued.iter().map(|change| change.key.clone()).collect();
        if queued.is_empty() {
            return Ok((Cow::Borrowed(read), keys));
        }
        let mut all = read.clone();
        for change in queued {
            let place = self.spill.put_record(&change.wish.fields, &change.marks, 0, 0)?;
            all.push(Candidate { key: change.key, place });
        }
        all.sort_by(|one, other| one.key.cmp(&other.key));
        Ok((Cow::Owned(all), keys))
    }
}
