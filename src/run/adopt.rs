//! Remembering people who need nothing.

use crate::config::Job;
use crate::record::Key;
use crate::snapshot::{Known, Owner};
use crate::store::{self, Batch, Store};

/// Writes what is remembered of people who need nothing, in parts, so that a first run over everybody stays small. They
/// are facts about the service and stand whatever becomes of the rest of the run.
pub(super) struct Adoption<'a> {
    job: &'a Job,
    store: &'a Store,
    batch: Batch,
    count: usize,
}

impl<'a> Adoption<'a> {
    const PART: usize = 200;

    pub(super) fn new(job: &'a Job, store: &'a Store) -> Self {
        Self { job, store, batch: Batch::default(), count: 0 }
    }

    pub(super) fn take(&mut self, key: Key, known: Known) -> Result<(), store::Error> {
        let owner = Owner { job: self.job.name.clone(), key };
        let before = Known::get(self.store, &self.job.name, &owner.key)?;
        if let Some(before) = before.filter(|before| before.id != known.id) {
            // The entity that it was is gone, and somebody made it anew at the service.
            Owner::release(&mut self.batch, self.store, &owner.job, self.job.mapping.target, before.id)?;
        }
        if known.borrowed {
            known.put(&mut self.batch, &self.job.name, &owner.key);
            return self.count();
        }
        if let Some(other) = Owner::of(self.store, self.job.mapping.target, known.id)?.filter(|other| *other != owner) {
            // The person has a new key, or belonged to a job that is no more.
            Known::remove(&mut self.batch, &other.job, &other.key);
        }
        owner.put(&mut self.batch, self.job.mapping.target, known.id);
        known.put(&mut self.batch, &self.job.name, &owner.key);
        self.count()
    }

    fn count(&mut self) -> Result<(), store::Error> {
        self.count += 1;
        if self.count.is_multiple_of(Self::PART) { self.flush() } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> Result<(), store::Error> {
        self.store.commit(std::mem::take(&mut self.batch))
    }
}
