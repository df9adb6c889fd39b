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
use crate::record::{Entity, JobName, Target, Value, normalize};
use crate::store::Batch;

impl Push<'_> {
    /// Retries the memberships of someone who was made, or made again: they name another id now. No file of changes says them a second
    /// time.
    pub(super) fn retry_memberships(&self, change: &Change, batch: &mut Batch) -> Result<(), Error> {
        let all = queue::of_member(self.store, &change.job.part(Target::Membership), &change.key)?;
        all.into_iter().filter(|membership| membership.state.is_parked()).for_each(|again| wait_again(batch, again));
        Ok(())
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
            let refused = self.refused(&job)?.into_iter().filter(|parked| parked.target == self.target);
            let again = refused.filter(|parked| freed.iter().any(|freed| wants(parked, freed)));
            again.for_each(|again| wait_again(batch, again));
        }
        Ok(())
    }

    /// The changes of a job that the service refused.
    fn refused(&self, job: &JobName) -> Result<Vec<Change>, Error> {
        let mut refused = Vec::new();
        queue::briefs_but_waiting(self.store, job, |brief| {
            if brief.state.is_parked() {
                refused.push(brief.key);
            }
        })?;
        Ok(queue::of(self.store, job, &refused)?)
    }
}

fn wait_again(batch: &mut Batch, parked: Change) {
    queue::put(batch, &Change { state: State::Waiting, ..parked });
}
