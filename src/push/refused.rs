//! Changes that the service refused, and what sends them once more without a person.
//!
//! Invariants:
//! - A refused change waits again in the very commit that takes away what it was refused for, so no kill lies in between.
//! - It does so only for a write of this program. Edits at the service are seen by a later listing, and `queue retry` is for those.
//!
//! Rejected: to send what was refused once more in each run. A service that refuses something for good would be asked for ever.

use super::Push;
use super::error::Error;
use crate::queue::{self, Change, State};
use crate::record::{Entity, JobName, Key, Target, Value, normalize};
use crate::store::Batch;

impl Push<'_> {
    /// Retries the memberships of someone who was made, or made again: they name another id now. No file of changes says them a second
    /// time.
    pub(super) fn retry_memberships(&self, change: &Change, batch: &mut Batch) -> Result<(), Error> {
        let memberships = change.job.part(Target::Membership);
        self.retry(&memberships, batch, |parked| parked.key.is_about(&memberships, &change.key))
    }

    /// Retries what was refused to records, of any job, that want what an entity had `before` and has no more.
    pub(super) fn retry_freed(&self, before: &Entity, after: Option<&Entity>, batch: &mut Batch) -> Result<(), Error> {
        let had = |field: &&str| before.value(field).as_text().map(normalize);
        let is_freed = |field: &&str| had(field) != after.and_then(|after| after.value(field).as_text().map(normalize));
        let freed: Vec<(&str, String)> =
            Target::UNIQUE.into_iter().filter(is_freed).filter_map(|field| Some((field, had(&field)?))).collect();
        if freed.is_empty() {
            return Ok(());
        }
        let wants = |parked: &Change, (field, text): &(&str, String)| {
            let wanted = parked.wish.fields.get(*field).and_then(Value::as_text);
            wanted.is_some_and(|wanted| normalize(wanted) == *text)
        };
        for job in self.store.jobs()? {
            self.retry(&job, batch, |parked| {
                parked.target == self.target && freed.iter().any(|freed| wants(parked, freed))
            })?;
        }
        Ok(())
    }

    /// Has those changes of a job wait again that the service refused and that are meant.
    fn retry(&self, job: &JobName, batch: &mut Batch, is_meant: impl Fn(&Change) -> bool) -> Result<(), Error> {
        let mut refused: Vec<Key> = Vec::new();
        queue::briefs_but_waiting(self.store, job, |brief| {
            refused.extend(brief.state.is_parked().then_some(brief.key));
        })?;
        for again in queue::of(self.store, job, &refused)?.into_iter().filter(is_meant) {
            queue::put(batch, &Change { state: State::Waiting, ..again });
        }
        Ok(())
    }
}
