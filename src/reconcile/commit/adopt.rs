//! Remembering people who need nothing.
//!
//! They are facts about the service and stay valid whatever becomes of the rest of the run. All of them are stored at once
//! at the end, since at a first run they are everybody: a run that ends before finds them again.

use std::collections::BTreeSet;

use crate::config::Job;
use crate::mirror::Mirror;
use crate::reconcile::model::job_plan::JobPlan;
use crate::record::{Action, Key, RemoteId};
use crate::snapshot::{Owner, SyncedRecord};
use crate::store::{self, Batch, BulkLoader, Store};

/// Writes what is remembered of people who need nothing. Each person comes once, and the rows are not read before
/// [`Adoption::end`].
pub(crate) struct Adoption<'a> {
    job: &'a Job,
    store: &'a Store,
    rows: BulkLoader<'a>,
}

impl<'a> Adoption<'a> {
    pub(crate) fn new(job: &'a Job, store: &'a Store) -> Self {
        Self { job, store, rows: store.bulk_load() }
    }

    pub(crate) fn take(&mut self, key: Key, known: SyncedRecord) -> Result<(), store::Error> {
        let mut batch = Batch::default();
        let owner = Owner { job: self.job.name.clone(), key };
        let before = SyncedRecord::get(self.store, &self.job.name, &owner.key)?;
        if let Some(before) = before.filter(|before| before.id != known.id) {
            // The earlier entity is gone, and was created again at the service.
            Owner::release(&mut batch, self.store, &owner.job, self.job.mapping.target, before.id)?;
        }
        if known.borrowed {
            known.put(&mut batch, &self.job.name, &owner.key);
            return self.rows.add(batch);
        }
        if let Some(other) = Owner::of(self.store, self.job.mapping.target, known.id)?.filter(|other| *other != owner) {
            // The person has a new key, or belonged to a job that is no more.
            SyncedRecord::remove(&mut batch, &other.job, &other.key);
        }
        owner.put(&mut batch, self.job.mapping.target, known.id);
        known.put(&mut batch, &self.job.name, &owner.key);
        self.rows.add(batch)
    }

    /// Stores all of them; they are on disk when it returns.
    pub(crate) fn end(self) -> Result<(), store::Error> {
        self.rows.commit()
    }
}

/// Remembers people who were found now and have a change that was rejected: that says nothing of who they are, and they are to be
/// missed where they are gone.
pub(crate) fn adopt_rejected(job: &Job, plan: &JobPlan, mirror: &Mirror, store: &Store) -> Result<(), store::Error> {
    if plan.dropped.is_empty() || plan.updates.matched.is_empty() {
        return Ok(());
    }
    let matched: BTreeSet<RemoteId> = plan.updates.matched.iter().copied().collect();
    let held: BTreeSet<&Key> = plan.held.iter().map(|held| &held.key).collect();
    let mut adoption = Adoption::new(job, store);
    for change in plan.dropped.iter().filter(|change| change.action == Action::Update && !held.contains(&change.key)) {
        let Some(id) = change.id.filter(|id| matched.contains(id)) else { continue };
        let is_free = Owner::of(store, plan.target, id)?.is_none();
        if let Some(entity) = mirror.get(store, id)?.filter(|_| is_free) {
            adoption.take(change.key.clone(), SyncedRecord::of(id, entity.created))?;
        }
    }
    adoption.end()
}
