//! Remembering people who need nothing.
//!
//! They are facts about the service and stay valid whatever becomes of the rest of the run. The first of them are
//! committed in small parts as they come. Where there are many, as at a first run over everybody, the rest follows at
//! once at the end: a run that ends before finds them again.

use crate::config::Job;
use crate::record::Key;
use crate::snapshot::{Owner, SyncedRecord};
use crate::store::{self, Batch, BulkLoader, Keyspace, Store};

/// Writes what is remembered of people who need nothing. Each person comes once, and the rows are not read before
/// [`Adoption::end`].
pub(crate) struct Adoption<'a> {
    job: &'a Job,
    store: &'a Store,
    batch: Batch,
    count: u64,
    /// So many are committed as they come.
    few: u64,
    many: BulkLoader<'a>,
}

impl<'a> Adoption<'a> {
    const PART: u64 = 200;

    pub(crate) fn new(job: &'a Job, store: &'a Store) -> Self {
        let few = store.many(Keyspace::Synced);
        Self { job, store, batch: Batch::default(), count: 0, few, many: store.bulk_loader() }
    }

    pub(crate) fn take(&mut self, key: Key, known: SyncedRecord) -> Result<(), store::Error> {
        let owner = Owner { job: self.job.name.clone(), key };
        let before = SyncedRecord::get(self.store, &self.job.name, &owner.key)?;
        if let Some(before) = before.filter(|before| before.id != known.id) {
            // The earlier entity is gone, and was created again at the service.
            Owner::release(&mut self.batch, self.store, &owner.job, self.job.mapping.target, before.id)?;
        }
        if known.borrowed {
            known.put(&mut self.batch, &self.job.name, &owner.key);
            return self.count();
        }
        if let Some(other) = Owner::of(self.store, self.job.mapping.target, known.id)?.filter(|other| *other != owner) {
            // The person has a new key, or belonged to a job that is no more.
            SyncedRecord::remove(&mut self.batch, &other.job, &other.key);
        }
        owner.put(&mut self.batch, self.job.mapping.target, known.id);
        known.put(&mut self.batch, &self.job.name, &owner.key);
        self.count()
    }

    /// Commits what is left; all of them are on disk when it returns.
    pub(crate) fn end(mut self) -> Result<(), store::Error> {
        self.flush()?;
        self.many.commit()
    }

    fn count(&mut self) -> Result<(), store::Error> {
        self.count += 1;
        if self.count.is_multiple_of(Self::PART) || self.count == self.few { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), store::Error> {
        let batch = std::mem::take(&mut self.batch);
        if self.count <= self.few { self.store.commit(batch) } else { self.many.add(batch) }
    }
}
