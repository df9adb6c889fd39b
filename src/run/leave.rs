//! Who has left.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::error::Error;
use crate::config::{Job, Mode};
use crate::mirror::Mirror;
use crate::plan::{Change, LeaverAction, Present, absent, missing};
use crate::record::{Action, Key, RemoteId, Wish};
use crate::snapshot::{Index, Known};
use crate::source::Complete;
use crate::store::Store;

/// What a read says about those who are not in it.
#[derive(Default)]
pub(super) struct Departed {
    /// Removals that are due.
    pub(super) changes: Vec<Change>,
    /// What is to be remembered of those whose grace runs.
    pub(super) waiting: Vec<(Key, Known)>,
    /// Those whose entity is gone already: nothing is left to remove.
    pub(super) forgotten: Vec<(Key, RemoteId)>,
}

/// What leavers are judged by.
pub(super) struct Judge<'a> {
    pub(super) job: &'a Job,
    pub(super) store: &'a Store,
    pub(super) mirror: &'a Mirror,
    pub(super) now: Timestamp,
    /// Entities that a record of this read lays claim to: nobody of them is removed.
    pub(super) claimed: &'a BTreeSet<RemoteId>,
}

impl Judge<'_> {
    /// Judges everybody whom a complete read misses, but for those whose own row says that they are gone. Only a finished
    /// read brings a [`Complete`] value (law 1).
    pub(super) fn by_absence(
        &self,
        index: &Index,
        present: &Complete<Present>,
        content: &str,
        left: &BTreeMap<Key, u64>,
        departed: &mut Departed,
    ) -> Result<(), Error> {
        if self.job.mode == Mode::Changes || self.job.leavers.action == LeaverAction::Keep {
            return Ok(());
        }
        for at in missing(present) {
            let Some(key) = Key::new(index.entry(at).key).filter(|key| !left.contains_key(key)) else { continue };
            let Some(known) = Known::get(self.store, &self.job.name, &key)? else { continue };
            if self.claimed.contains(&known.id) {
                continue;
            }
            if self.mirror.get(self.store, known.id)?.is_none() {
                departed.forgotten.push((key, known.id));
                continue;
            }
            let Some(absence) = absent(known.gone.as_ref(), &self.job.leavers, self.now, content) else { continue };
            if absence.due {
                departed.changes.push(removal(key.clone(), known.id, None));
            }
            if known.gone.as_ref() != Some(&absence.gone) {
                departed.waiting.push((key, Known { gone: Some(absence.gone), ..known }));
            }
        }
        Ok(())
    }

    /// Those whose own row says that they are gone: in any read, and without grace (law 1).
    pub(super) fn by_statement(&self, left: &BTreeMap<Key, u64>, departed: &mut Departed) -> Result<(), Error> {
        if self.job.leavers.action == LeaverAction::Keep {
            return Ok(());
        }
        for (key, line) in left {
            let Some(known) = Known::get(self.store, &self.job.name, key)? else { continue };
            if self.claimed.contains(&known.id) {
                continue;
            }
            if self.mirror.get(self.store, known.id)?.is_none() {
                departed.forgotten.push((key.clone(), known.id));
            } else {
                departed.changes.push(removal(key.clone(), known.id, Some(*line)));
            }
        }
        Ok(())
    }
}

fn removal(key: Key, id: RemoteId, line: Option<u64>) -> Change {
    let wish = Wish { action: Action::Delete, id: Some(id), fields: BTreeMap::new() };
    Change { key, wish, fields: BTreeMap::new(), line, known: true }
}
