//! Forgetting a person: what this machine holds of them, not what the service does.

use std::collections::BTreeSet;

use super::error::ForgetError;
use super::inbox;
use crate::clock::Clock;
use crate::config::Job;
use crate::history::{self, Audit, AuditLine, acting_user};
use crate::mirror;
use crate::reconcile::approval::held::PendingApproval;
use crate::reconcile::model::job_state::JobState;
use crate::record::{JobName, Key, RemoteId, Target, erase_key};
use crate::snapshot::{Index, Owner, SyncedRecord};
use crate::store::{self, Batch, Keyspace, Store};

/// What was forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// The jobs that knew the key, by name; those that are no longer configured too.
    pub jobs: BTreeSet<JobName>,
    /// The entities that the key was: they are still at the service.
    pub ids: BTreeSet<RemoteId>,
    /// How many rows of the state went.
    pub rows: u64,
    /// How many lines of the audit files went.
    pub lines: u64,
    /// How many files of inboxes, filed or kept, were rewritten or removed.
    pub files: u64,
}

/// Rows by job and key.
const BY_KEY: [Keyspace; 5] = [Keyspace::Synced, Keyspace::Dirty, Keyspace::Queue, Keyspace::Held, Keyspace::Decision];

/// Exists while a person's rows are being removed and may still be in the store's file.
const UNFINISHED: &str = "forgetting";

/// Forgets every record of that key: its rows, what the mirror holds of its entity, its lines in the audit files, and the
/// places where other rows name it. `None` where there is nothing of it. A process that ends half way is made good by
/// saying it again.
pub fn forget(store: Store, clock: &Clock, jobs: &[Job], key: &Key) -> Result<Option<Forgotten>, ForgetError> {
    let mut forgotten = Forgotten::default();
    let mut batch = Batch::default();
    rows(&store, key, &mut batch, &mut forgotten)?;
    for (target, id) in owned(&store, key, &forgotten)? {
        Owner::remove(&mut batch, target, id);
        // A listing of the whole fills the mirror again with those who are still there: one that lacks them would have
        // them made a second time.
        mirror::drop_gone(&mut batch, target, id);
        mirror::force_full_listing(&mut batch, &store, target)?;
    }
    forgotten.lines = history::forget(store.dir(), key).map_err(ForgetError::Audit)?;
    let (files, failed) = inbox::forget(&store, jobs, key);
    forgotten.files = files;
    let unfinished = store.get::<bool>(Keyspace::Meta, UNFINISHED)?.is_some();
    if forgotten.rows == 0 && forgotten.lines == 0 && forgotten.files == 0 && !unfinished {
        return failed.map_or(Ok(None), Err);
    }
    let known = known_jobs(&store)?;
    mentions(&store, key, &known, &mut batch)?;
    batch.put(Keyspace::Meta, UNFINISHED, &true);
    store.commit(batch)?;
    for job in &known {
        // Its pages name every key.
        let index = Index::load(&store, job)?;
        Index::save(&store, job, (0..index.len()).map(|at| index.entry(at)))?;
    }
    let at = clock.now();
    let line =
        AuditLine::Decision { at, job: None, key: None, decision: "forgot a person", by: acting_user(), why: None };
    Audit::new(store.dir()).append(at, &line).map_err(ForgetError::Audit)?;
    store.vacuum()?;
    let mut batch = Batch::default();
    batch.remove(Keyspace::Meta, UNFINISHED);
    store.commit(batch)?;
    failed.map_or(Ok(Some(forgotten)), Err)
}

/// The entities that the key owns, whatever they are.
fn owned(store: &Store, key: &Key, forgotten: &Forgotten) -> Result<Vec<(Target, RemoteId)>, store::Error> {
    let mut owned = Vec::new();
    for target in Target::ALL {
        for id in &forgotten.ids {
            if Owner::of(store, *target, *id)?.is_some_and(|owner| owner.key.is_about(&owner.job, key)) {
                owned.push((*target, *id));
            }
        }
    }
    Ok(owned)
}

fn rows(store: &Store, key: &Key, batch: &mut Batch, forgotten: &mut Forgotten) -> Result<(), store::Error> {
    for space in BY_KEY {
        let mut found = Vec::new();
        store.scan(space, "", |name, row| {
            if let Some((job, own)) = name.split_once(Keyspace::SEPARATOR)
                && let Some((job, own)) = JobName::new(job).zip(Key::new(own))
                && own.is_about(&job, key)
            {
                found.push((name.to_owned(), job, own, row.to_vec()));
            }
        })?;
        for (name, job, own, row) in found {
            batch.remove(space, &name);
            forgotten.rows += 1;
            forgotten.jobs.insert(job.root());
            if space == Keyspace::Synced
                && let Ok(known) = serde_json::from_slice::<SyncedRecord>(&row)
            {
                forgotten.ids.insert(known.id);
                // Until the pages are rewritten, the mark says that the key is not there.
                SyncedRecord::mark_dirty(batch, &job, &own);
            }
        }
    }
    Ok(())
}

/// The jobs of which anything is stored.
fn known_jobs(store: &Store) -> Result<BTreeSet<JobName>, store::Error> {
    let mut jobs = BTreeSet::new();
    for space in [Keyspace::Job, Keyspace::Pages] {
        store.scan(space, "", |name, _| {
            jobs.extend(name.split(Keyspace::SEPARATOR).next().and_then(JobName::new));
        })?;
    }
    Ok(jobs)
}

/// Takes the key out of what other rows say.
fn mentions(store: &Store, key: &Key, jobs: &BTreeSet<JobName>, batch: &mut Batch) -> Result<(), store::Error> {
    for job in jobs {
        let prefix = Keyspace::by_job(job, "");
        for (other, held) in store.list::<PendingApproval>(Keyspace::Held, &prefix)? {
            if other != key.as_str()
                && let Some(reason) = erase_key(held.reason.text(), key)
            {
                batch.put(
                    Keyspace::Held,
                    &Keyspace::by_job(job, &other),
                    &PendingApproval { reason: reason.into(), ..held },
                );
            }
        }
        let mut state = JobState::load(store, job)?;
        state.inbox.forget();
        state.rejected.first.clear();
        for told in &mut state.reasons {
            if let Some(reason) = erase_key(told, key) {
                told.text = reason;
            }
        }
        if let Some(last) = &mut state.last
            && let Some(reason) = last.reason.as_ref().and_then(|reason| erase_key(reason, key))
        {
            last.reason = Some(reason);
        }
        state.put(batch, job);
    }
    Ok(())
}
