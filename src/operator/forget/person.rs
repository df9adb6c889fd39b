//! Forgetting a person: what this machine holds of them, not what the service does.

use std::collections::BTreeSet;

use super::error::ForgetError;
use super::forgotten::Forgotten;
use super::{beside, inbox};
use crate::clock::Clock;
use crate::config::Job;
use crate::history::{self, Audit, AuditEvent, Changed, Decided};
use crate::mirror;
use crate::reconcile::approval::held::HELD;
use crate::reconcile::dropped::last_file;
use crate::reconcile::dropped::staging::Staging;
use crate::reconcile::model::job_state::JobState;
use crate::record::{JobName, Key, RemoteId, Target, Value, erase_key};
use crate::snapshot::{Index, Owner, SYNCED, SyncedRecord};
use crate::store::{self, Batch, MetaKey, Store};

/// Forgets every record of that key: its rows, what the mirror holds of its entity, its lines in the audit files, and the
/// places where other rows name it. `None` where there is nothing of it. A process that ends half way is made good by
/// saying it again.
pub fn forget(store: Store, clock: &Clock, jobs: &[Job], key: &Key) -> Result<Option<Forgotten>, ForgetError> {
    let mut forgotten = Forgotten::default();
    let mut batch = Batch::default();
    rows(&store, key, &mut batch, &mut forgotten)?;
    let entities = entities(&store, key, &forgotten)?;
    let ids = entities.iter().map(|(_, id)| *id).collect();
    forgotten.certificates = certificates(&store, jobs, &ids)?;
    forgotten.others = other_keys(&store, key, &entities)?;
    for (target, id) in owned(&store, key, &forgotten)? {
        batch.erase_entity(target, id);
        // A listing of the whole fills the mirror again with those who are still there: one that lacks them would have
        // them made a second time.
        mirror::force_full_listing(&mut batch, &store, target)?;
    }
    forgotten.lines = history::forget(store.home(), key).map_err(ForgetError::Audit)?;
    forgotten.files += beside::forget(&store, jobs).map_err(ForgetError::Kept)?;
    let failed = inbox::forget(&store, jobs, key, &mut forgotten);
    let unfinished = store.meta::<bool>(MetaKey::Forgetting)?.is_some();
    if forgotten.rows == 0 && forgotten.lines == 0 && forgotten.files == 0 && !unfinished {
        return failed.map_or(Ok(None), Err);
    }
    let known = store.jobs()?;
    mentions(&store, key, &known, jobs, &mut batch)?;
    batch.put_meta(MetaKey::Forgetting, &true);
    store.commit(batch)?;
    for job in &known {
        // Its pages name every key.
        let index = Index::load(&store, job)?;
        Index::save(&store, job, (0..index.len()).map(|at| index.entry(at)))?;
    }
    Audit::new(store.home()).append(Decided::new(clock.now(), "forgot a person")).map_err(ForgetError::Audit)?;
    store.vacuum()?;
    let mut batch = Batch::default();
    batch.remove_meta(MetaKey::Forgetting);
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
    let erased = store.erase_keys(batch, |job, own| own.is_about(job, key))?;
    forgotten.rows = erased.len() as u64;
    for (job, own) in erased.into_iter().collect::<BTreeSet<_>>() {
        if let Some(known) = SyncedRecord::get(store, &job, &own)? {
            forgotten.ids.insert(known.id);
            // Until the pages are rewritten, the mark says that the key is not there.
            SyncedRecord::mark_dirty(batch, &job, &own);
        }
        forgotten.jobs.insert(job.root());
    }
    Ok(())
}

/// The entities that the key was, by job, also by the audit files: of someone who has left, the state knows none any more.
fn entities(store: &Store, key: &Key, forgotten: &Forgotten) -> Result<BTreeSet<(JobName, RemoteId)>, ForgetError> {
    let known = forgotten.jobs.iter().flat_map(|job| forgotten.ids.iter().map(|id| (job.clone(), *id)));
    let mut entities: BTreeSet<(JobName, RemoteId)> = known.collect();
    let told = history::read(store.home(), |event| {
        if let AuditEvent::Change(changed) = event
            && changed.key.is_about(&changed.job, key)
        {
            entities.extend(changed.id.map(|id| (changed.job, id)));
        }
    });
    told.map(|_| entities).map_err(ForgetError::Audit)
}

/// The other keys that these entities had by the audit files.
fn other_keys(
    store: &Store,
    key: &Key,
    entities: &BTreeSet<(JobName, RemoteId)>,
) -> Result<BTreeSet<Key>, ForgetError> {
    let mut others = BTreeSet::new();
    let told = history::read(store.home(), |event| {
        if let AuditEvent::Change(Changed { job, key: other, id: Some(id), .. }) = event
            && !job.is_part()
            && other != *key
            && entities.contains(&(job, id))
        {
            others.insert(other);
        }
    });
    told.map(|_| others).map_err(ForgetError::Audit)
}

/// The keys of the certificates that these people hold, which are records of their own.
fn certificates(store: &Store, jobs: &[Job], ids: &BTreeSet<RemoteId>) -> Result<BTreeSet<Key>, store::Error> {
    let mut certificates = BTreeSet::new();
    for job in jobs.iter().filter(|job| job.mapping.target == Target::Holder) {
        SYNCED.each(store, &job.name, |key, known| {
            let holder = known.sent.get("holder").map(Value::shown).unwrap_or_default();
            certificates.extend(ids.iter().any(|id| id.to_string() == holder).then_some(key));
        })?;
    }
    Ok(certificates)
}

/// Takes the key out of what other rows say.
fn mentions(
    store: &Store,
    key: &Key,
    known: &BTreeSet<JobName>,
    jobs: &[Job],
    batch: &mut Batch,
) -> Result<(), store::Error> {
    for job in known {
        for (other, held) in HELD.list::<Vec<_>>(store, job)? {
            if other != *key
                && let Some(held) = held.without(key)
            {
                HELD.put(batch, job, &other, &held);
            }
        }
        let mut state = JobState::load(store, job)?;
        let before = state.inbox.past.last().map(|last| last.content.clone());
        state.inbox.forget();
        if !Staging::of(store.home(), job).has_kept_copy().unwrap_or(false) {
            state.inbox.kept_copy = None;
        }
        // What cannot be looked at is not read again, as before.
        if let (Some(last), Some(job)) = (state.inbox.past.last_mut(), jobs.iter().find(|one| one.name == *job)) {
            let before = before.unwrap_or_default();
            last.content = last_file::filed_content(job, store, &last.name).ok().flatten().unwrap_or_default();
            last.rewritten |= !last.content.is_empty() && last.content != before;
        }
        state.rejected.first.clear();
        state.bad_values.first.clear();
        state.shown.forget(key);
        state.unplaced.remove(key);
        state.on_both_sides.retain(|own, (_, other)| own != key && other != key);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::plan::HoldReason;
    use crate::reconcile::model::job_state::{RejectedRow, RejectedRows};
    use crate::record::Sensitive;

    #[test]
    fn fault_114_what_a_job_remembers_names_the_person_no_more_and_stays_of_its_kind() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let job = JobName::new("staff").unwrap();
        let (key, other) = (Key::new("P1").unwrap(), Key::new("P2").unwrap());
        let row = RejectedRow { line: Some(2), field: None, reason: "too long".to_owned(), mark: 7 };
        let rows = RejectedRows { count: 1, first: vec![row] };
        let unplaced = BTreeSet::from([key.clone(), other.clone()]);
        let pair = |own: &Key, theirs: &Key| (own.clone(), (job.clone(), theirs.clone()));
        let on_both_sides =
            BTreeMap::from([pair(&key, &other), pair(&Key::new("P3").unwrap(), &key), pair(&other, &other)]);
        let state =
            JobState { rejected: rows.clone(), bad_values: rows, unplaced, on_both_sides, ..JobState::default() };
        let reason = HoldReason::MovedValue {
            field: "name".to_owned(),
            from: Sensitive("P1").to_string(),
            to: Sensitive("P2").to_string(),
        };
        let held = serde_json::from_value(json!({"action": "create", "wish": 1, "reason": reason})).unwrap();
        let mut batch = Batch::default();
        state.put(&mut batch, &job);
        HELD.put(&mut batch, &job, &other, &held);
        store.commit(batch).unwrap();

        let mut batch = Batch::default();
        mentions(&store, &key, &BTreeSet::from([job.clone()]), &[], &mut batch).unwrap();
        store.commit(batch).unwrap();

        let state = JobState::load(&store, &job).unwrap();
        for rows in [&state.rejected, &state.bad_values] {
            assert_eq!((rows.count, rows.first.len()), (1, 0));
        }
        assert!(state.unplaced.iter().eq([&other]) && state.on_both_sides.keys().eq([&other]));
        let [(_, held)] = HELD.list::<Vec<_>>(&store, &job).unwrap().try_into().unwrap();
        assert!(matches!(&held.reason, HoldReason::MovedValue { from, .. } if !from.contains("P1")), "{held:?}");
    }
}
