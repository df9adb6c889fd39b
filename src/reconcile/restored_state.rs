//! Whether the state is the one that the last run left, or a copy that was laid back.
//!
//! A copy is whole, and yet it may be older than what this program did since: it takes what it wrote itself for edits
//! made at the service, and an old file beside it would have them undone. The store can't know, for it was copied too.
//! So each run leaves a mark in a file of the folder, and remembers in the store which file that was and when it was
//! changed last; both are the file system's word, and a copy has others.
//!
//! A copy alone is no harm: who moves to another machine makes one. Nothing but what would undo what the service holds by
//! now waits for a person, in each job until nothing of that is left.
//!
//! Not noticed: a file system, or a machine, that was set back as a whole. Nothing in it can tell.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::config::Job;
use crate::history::Audit;
use crate::mirror::Mirror;
use crate::plan::{Guarded, HoldReason, Judged as _, Outline};
use crate::record::{Field, FieldKind, Key};
use crate::snapshot::{Index, SyncedRecord};
use crate::store::{self, Batch, Home, Mark, MetaKey, Store};

/// What the last run left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Origin {
    mark: u64,
    /// The file, and when it was changed last, by the file system.
    file: Mark,
    /// How many times the state was found to be a copy.
    copies: u64,
}

/// How many times the state was found to be a copy that was laid back, this time included.
pub(crate) fn copies(store: &Store) -> Result<u64, store::Error> {
    let (origin, is_copy) = look(store)?;
    Ok(origin.copies + u64::from(is_copy))
}

/// Whether it is such a copy, and no run has seen that so far.
pub(crate) fn is_new_copy(store: &Store) -> Result<bool, store::Error> {
    Ok(look(store)?.1)
}

/// What the last run left, and whether this is another state than that one.
fn look(store: &Store) -> Result<(Origin, bool), store::Error> {
    let Some(origin) = store.meta::<Origin>(MetaKey::Origin)? else { return Ok((Origin::default(), false)) };
    let is_here = origin.is_here(store.home()).map_err(|error| fail(store, error))?;
    Ok((origin, !is_here))
}

/// Looks whether it is one, and leaves a new mark.
pub(crate) fn sign(store: &Store) -> Result<(), store::Error> {
    // Runs on two targets may begin at the same time.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (before, is_copy) = look(store)?;
    // An older store among the newer files of the audit: they tell of runs that it does not know.
    let told = Audit::last_run(store.home()).unwrap_or(0);
    let is_behind = before.mark > 0 && told > store.meta(MetaKey::Runs)?.unwrap_or(0);
    let is_copy = is_copy || is_behind;
    if is_behind {
        store.set_meta(MetaKey::Runs, &told)?;
    }
    if is_copy {
        tracing::warn!(
            "the state was copied or laid back since the last run: what would undo what the service holds by now is held"
        );
    }
    let mark = before.mark + 1;
    let file = store.home().leave_mark(mark).map_err(|error| fail(store, error))?;
    store.set_meta(MetaKey::Origin, &Origin { mark, file, copies: before.copies + u64::from(is_copy) })
}

/// Says of a state that was just laid down that it is another than its last run left, whatever its mark says.
pub(crate) fn is_another(batch: &mut Batch, store: &Store) -> Result<(), store::Error> {
    if let Some(origin) = store.meta::<Origin>(MetaKey::Origin)? {
        batch.put_meta(MetaKey::Origin, &Origin { file: Mark::default(), ..origin });
    }
    Ok(())
}

/// What a run says while it holds changes for it.
pub(crate) const LAID_BACK: &str = "the state was copied or laid back since its last run";

/// What a job knows, held against what the service holds.
pub(crate) struct Comparison<'a> {
    pub(crate) job: &'a Job,
    pub(crate) store: &'a Store,
    pub(crate) mirror: &'a Mirror,
    /// The fields that the job maps.
    pub(crate) mapped: &'a [Field],
}

impl Comparison<'_> {
    /// The people of the job for which the service holds something newer, marked as such: a run for the state that was laid back
    /// sees all of them, and later ones perhaps one by one.
    pub(crate) fn overtaken(&self, index: &Index) -> Result<BTreeMap<Key, SyncedRecord>, store::Error> {
        let mut overtaken = BTreeMap::new();
        for key in (0..index.len()).filter_map(|at| Key::new(index.entry(at).key)) {
            if let Some(known) = SyncedRecord::get(self.store, &self.job.name, &key)?
                && self.is_overtaken(&known)?
            {
                overtaken.insert(key, SyncedRecord { overtaken: true, ..known });
            }
        }
        Ok(overtaken)
    }

    /// Holds what would undo what the service held when the state was laid back, unless a person released it; returns how much
    /// of that waits. `found` are those who were found by this run.
    pub(crate) fn hold(
        &self,
        guarded: &mut Guarded<Outline>,
        found: &BTreeMap<Key, SyncedRecord>,
    ) -> Result<usize, store::Error> {
        let mut undoing = BTreeSet::new();
        let held = guarded.held.iter().filter_map(|held| held.change.as_ref());
        for change in guarded.go.iter().chain(held).filter(|change| !change.is_approved()) {
            let known = SyncedRecord::get(self.store, &self.job.name, &change.key)?;
            if let Some(known) = known.filter(|known| known.overtaken || found.contains_key(&change.key))
                && self.is_overtaken(&known)?
            {
                undoing.insert(change.key.clone());
            }
        }
        for held in guarded.held.iter_mut().filter(|held| undoing.contains(&held.key)) {
            held.reason.precede(HoldReason::RestoredState);
        }
        guarded.hold(|change| {
            (!change.is_approved() && undoing.contains(&change.key)).then_some(HoldReason::RestoredState)
        });
        Ok(undoing.len())
    }

    /// Whether the service holds something else than was last confirmed, in a field that the job owns and that answers show.
    fn is_overtaken(&self, known: &SyncedRecord) -> Result<bool, store::Error> {
        let Some(entity) = self.mirror.person(self.store, known)? else { return Ok(true) };
        let is_shown = |field: &&Field| {
            !matches!(field.kind, FieldKind::Photo | FieldKind::Ids) && !self.job.seed_only.contains(&field.name)
        };
        Ok(self.mapped.iter().filter(is_shown).any(|field| {
            let sent = known.sent.get(&field.name);
            sent.is_some_and(|sent| !known.is_in_sync(&field.name, field.kind, sent, entity.value(&field.name)))
        }))
    }
}

impl Origin {
    /// Whether the mark is the one that was left. A process may have ended between the mark and the store.
    fn is_here(&self, home: &Home) -> io::Result<bool> {
        let found = home.mark()?;
        Ok(found.is_some_and(|(number, mark)| number == Some(self.mark + 1) || mark == self.file))
    }
}

fn fail(store: &Store, error: io::Error) -> store::Error {
    store.home().error(store::ErrorKind::from_io(error))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let to = to.join(path.file_name().unwrap());
            if path.is_dir() { copy(&path, &to) } else { fs::copy(&path, &to).map(drop).unwrap() }
        }
    }

    fn signed(dir: &Path) -> u64 {
        let store = Store::open(dir).unwrap();
        sign(&store).unwrap();
        copies(&store).unwrap()
    }

    #[test]
    fn fault_16_a_copy_is_distinguished_from_the_state_that_the_last_run_left() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        assert_eq!([signed(&state), signed(&state), signed(&state)], [0, 0, 0], "it was not touched");
        let aside = dir.path().join("aside");
        copy(&state, &aside);
        assert_eq!(signed(&state), 0);
        copy(&aside, &state);
        assert_eq!([signed(&state), signed(&state)], [1, 1], "files written over");
        fs::remove_dir_all(&state).unwrap();
        copy(&aside, &state);
        assert_eq!(signed(&state), 1, "the folder replaced");
        fs::rename(&state, dir.path().join("moved")).unwrap();
        assert_eq!(signed(&dir.path().join("moved")), 1, "a folder that was moved is the same");
        fs::remove_file(dir.path().join("moved/origin")).unwrap();
        assert_eq!(signed(&dir.path().join("moved")), 2);
    }

    #[test]
    fn a_process_that_ends_between_the_mark_and_its_commit_leaves_no_copy() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(signed(dir.path()), 0);
        Home::from(dir.path()).leave_mark(2).unwrap();
        assert_eq!(signed(dir.path()), 0);
    }

    #[test]
    fn a_state_that_was_laid_down_is_another_until_a_run_has_seen_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let lay_down = || {
            let mut batch = Batch::default();
            is_another(&mut batch, &store).unwrap();
            store.commit(batch).unwrap();
        };
        lay_down();
        assert!(!is_new_copy(&store).unwrap(), "no run left anything yet");
        sign(&store).unwrap();
        assert!(!is_new_copy(&store).unwrap());
        lay_down();
        assert!(is_new_copy(&store).unwrap());
        assert_eq!(copies(&store).unwrap(), 1);
        sign(&store).unwrap();
        assert!(!is_new_copy(&store).unwrap());
        assert_eq!(copies(&store).unwrap(), 1, "it stays counted");
    }
}
