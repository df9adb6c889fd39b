//! Keys that changed since the pages of the index were written, and their present state.

use std::cmp::Ordering;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::synced_record::{DIRTY, SYNCED};
use crate::record::{Day, JobName, Key, RemoteId};
use crate::store::{self, Batch, BulkLoader, Store, Table};

/// As much of what was confirmed as the index has.
const SUMMARIES: Table<Key, SyncedSummary> = SYNCED.of();

/// Keys in order with what is known of each, at 12 bytes and the key each: after a first run they are everybody.
#[derive(Default)]
pub(super) struct DirtyKeys {
    keys: String,
    ends: Vec<u32>,
    states: Vec<KeyState>,
    at: usize,
}

/// The entity of a key, whether complete reads miss the key, and the day that its record names; `None` where nothing is known of it
/// any more.
pub(super) type KeyState = Option<(RemoteId, bool, Option<Day>)>;

/// As much of what was confirmed of a key as the index has.
#[derive(Deserialize)]
struct SyncedSummary {
    id: RemoteId,
    #[serde(default)]
    gone: Option<IgnoredAny>,
    #[serde(default)]
    marks: DueSummary,
}

#[derive(Default, Deserialize)]
struct DueSummary {
    #[serde(default)]
    due: Option<Day>,
}

impl SyncedSummary {
    fn state(self) -> KeyState {
        Some((self.id, self.gone.is_some(), self.marks.due))
    }
}

impl DirtyKeys {
    /// Reads the marks of a job and what they speak of.
    pub(super) fn load(store: &Store, job: &JobName) -> Result<Self, store::Error> {
        let mut dirty = Self::default();
        DIRTY.scan(store, job, |key, _| {
            dirty.push(key);
            Ok(())
        })?;
        dirty.states.resize(dirty.ends.len(), None);
        if dirty.ends.len() as u64 > SYNCED.many(store) {
            dirty.find_all(store, job)?;
            return Ok(dirty);
        }
        for at in 0..dirty.ends.len() {
            let Some(key) = Key::new(dirty.key(at)) else { continue };
            dirty.states[at] = SUMMARIES.get(store, job, &key)?.and_then(SyncedSummary::state);
        }
        Ok(dirty)
    }

    /// Walks over all that is known: there are too many rows to look up one by one.
    fn find_all(&mut self, store: &Store, job: &JobName) -> Result<(), store::Error> {
        let mut at = 0;
        SUMMARIES.each(store, job, |key, brief| {
            while at < self.ends.len() && self.key(at) < key.as_str() {
                at += 1;
            }
            if at < self.ends.len() && self.key(at) == key.as_str() {
                self.states[at] = brief.state();
            }
        })
    }

    /// Takes the next key where it compares to `key` like that.
    pub(super) fn next_if(&mut self, is: Ordering, key: &str) -> Option<(&str, KeyState)> {
        let at = self.at;
        if at == self.ends.len() || self.key(at).cmp(key) != is {
            return None;
        }
        self.take()
    }

    /// Takes the next key.
    pub(super) fn take(&mut self) -> Option<(&str, KeyState)> {
        let at = self.at;
        let state = *self.states.get(at)?;
        self.at += 1;
        Some((self.key(at), state))
    }

    fn key(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.keys[start..self.ends[at] as usize]
    }

    fn push(&mut self, key: &str) {
        self.keys.push_str(key);
        self.ends.push(u32::try_from(self.keys.len()).expect("the keys of a job are below 4 GiB"));
    }
}

/// Whether nothing moved since the pages of a job were written.
pub(super) fn is_none(store: &Store, job: &JobName) -> Result<bool, store::Error> {
    DIRTY.is_empty(store, job)
}

/// Removes the marks of a job, together with what else comes.
pub(super) fn clear(store: &Store, job: &JobName, bulk: &mut BulkLoader<'_>) -> Result<(), store::Error> {
    DIRTY.each_id(store, job, |key| {
        let mut batch = Batch::default();
        DIRTY.remove(&mut batch, job, &key);
        bulk.add(batch)
    })
}
