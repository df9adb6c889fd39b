//! All keys of a job with the digests of their rows, in memory while a run lasts.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_128;

use super::dirty::{DirtyKeys, KeyState};
use super::entry::IndexEntry;
use super::{dirty, pages};
use crate::record::{Day, JobName, Key, RemoteId};
use crate::store::{self, Batch, Keyspace, MetaKey, Store, Table};

/// So many keys are looked at from the one that is expected on: ten numbers of one more digit and some that are gone lie between a
/// number and the next.
const NEAR: usize = 16;

/// The pages of a job, by their first keys.
const PAGES: Table<Key, ()> = Table::new(Keyspace::Pages);

/// All keys of a job in order, at 24 bytes and the key each.
#[derive(Debug, Default)]
pub struct Index {
    keys: String,
    ends: Vec<u32>,
    digests: Vec<u128>,
    ids: Vec<i32>,
    /// The positions that complete reads miss, in order.
    gone: Vec<u32>,
    /// The positions that have a day on which they are to be looked at, in order.
    due: Vec<(u32, Day)>,
    /// The positions by their digests, made when the first digest is looked up by it.
    by_digest: OnceCell<HashTable<u32>>,
}

impl Index {
    /// Reads the index of a job: its pages, and over them the keys that moved since.
    pub fn load(store: &Store, job: &JobName) -> Result<Self, store::Error> {
        let mut dirty = DirtyKeys::load(store, job)?;
        let mut index = Self::default();
        PAGES.scan(store, job, |first, bytes| {
            let read = pages::decode(bytes, |entry| {
                while let Some((key, state)) = dirty.next_if(Ordering::Less, entry.key) {
                    index.push_dirty(key, state);
                }
                match dirty.next_if(Ordering::Equal, entry.key) {
                    // The page has the day of the last row that was read; what was confirmed may be older.
                    Some((key, state)) => index.push_dirty(key, state.map(|(id, gone, _)| (id, gone, entry.due))),
                    None => index.push(entry),
                }
            });
            read.ok_or_else(|| {
                let kind = store::ErrorKind::Damaged(format!("page {job}/{first} has another form"));
                store.home().error(kind)
            })
        })?;
        while let Some((key, state)) = dirty.take() {
            index.push_dirty(key, state);
        }
        Ok(index)
    }

    /// How many keys a job had when its pages were written, and how many of them complete reads missed.
    pub fn counts(store: &Store, job: &JobName) -> Result<(u64, u64), store::Error> {
        match store.meta(MetaKey::Counts(job))? {
            Some(counts) => Ok(counts),
            None => Ok(Self::load(store, job)?.counted()),
        }
    }

    fn counted(&self) -> (u64, u64) {
        (self.len() as u64, self.gone.len() as u64)
    }

    /// Whether nothing moved since the pages of a job were written.
    pub fn is_current(store: &Store, job: &JobName) -> Result<bool, store::Error> {
        dirty::is_none(store, job)
    }

    /// Writes the index of a job in place of the one before, with which no key counts as moved any more; only pages that
    /// differ are written.
    pub fn save<'a>(
        store: &Store,
        job: &JobName,
        entries: impl Iterator<Item = IndexEntry<'a>>,
    ) -> Result<(), store::Error> {
        let mut stale = BTreeMap::new();
        PAGES.scan(store, job, |first, bytes| {
            stale.extend(Key::new(first).map(|first| (first, xxh3_128(bytes))));
            Ok(())
        })?;
        let mut bulk = store.bulk_load();
        let mut counts = (0u64, 0u64);
        for (first, bytes) in pages::encode(entries.inspect(|entry| {
            counts.0 += 1;
            counts.1 += u64::from(entry.gone);
        })) {
            let first = Key::new(&first).expect("entries of the index are keys");
            if stale.remove(&first) != Some(xxh3_128(&bytes)) {
                let mut batch = Batch::default();
                PAGES.put_bytes(&mut batch, job, &first, &bytes);
                bulk.add(batch)?;
            }
        }
        let mut batch = Batch::default();
        stale.keys().for_each(|first| PAGES.remove(&mut batch, job, first));
        batch.put_meta(MetaKey::Counts(job), &counts);
        bulk.add(batch)?;
        // All at once: half of the pages would not fit together, and a page without its mark would hide what moved.
        dirty::clear(store, job, &mut bulk)?;
        bulk.commit()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The entry at a position.
    pub fn entry(&self, at: usize) -> IndexEntry<'_> {
        IndexEntry {
            key: self.key(at),
            digest: self.digests[at],
            id: self.ids[at],
            gone: self.gone.binary_search(&position(at)).is_ok(),
            due: self.due.binary_search_by_key(&position(at), |(at, _)| *at).ok().map(|found| self.due[found].1),
        }
    }

    /// The position of the key whose settled row has this digest, if it is `near` or a little further on: rows that come in order
    /// of key follow one another, and those in order of number nearly so (`E9`, `E10`).
    pub fn by_digest_near(&self, digest: u128, near: usize) -> Option<usize> {
        if digest == 0 {
            return None;
        }
        let mut next = self.digests.get(near..).unwrap_or_default().iter().take(NEAR);
        next.position(|other| *other == digest).map(|ahead| near + ahead)
    }

    /// The same wherever it is. The first call makes a table of all digests, of 6 to 11 bytes each.
    pub fn by_digest(&self, digest: u128) -> Option<usize> {
        if digest == 0 {
            return None;
        }
        let table = self.by_digest.get_or_init(|| self.table());
        table.find(short(digest), |at| self.digests[*at as usize] == digest).map(|at| *at as usize)
    }

    fn table(&self) -> HashTable<u32> {
        let mut table = HashTable::with_capacity(self.digests.iter().filter(|digest| **digest != 0).count());
        for (at, digest) in self.digests.iter().enumerate().filter(|(_, digest)| **digest != 0) {
            table.insert_unique(short(*digest), position(at), |at| short(self.digests[*at as usize]));
        }
        table
    }

    /// The position of a key.
    pub fn by_key(&self, key: &str) -> Option<usize> {
        let at = self.first_from(key);
        (at < self.len() && self.key(at) == key).then_some(at)
    }

    /// The keys in order, from the first one on that does not come before `key`.
    pub fn from_key(&self, key: &str) -> impl Iterator<Item = &str> {
        (self.first_from(key)..self.len()).map(|at| self.key(at))
    }

    fn first_from(&self, key: &str) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < key { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The positions of the keys whose entities are among `ids`.
    pub fn by_ids(&self, ids: &BTreeSet<RemoteId>) -> Vec<usize> {
        if ids.is_empty() {
            return Vec::new();
        }
        (0..self.len()).filter(|at| RemoteId::new(self.ids[*at].into()).is_some_and(|id| ids.contains(&id))).collect()
    }

    fn key(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.keys[start..self.ends[at] as usize]
    }

    fn push(&mut self, entry: IndexEntry<'_>) {
        let at = position(self.len());
        self.keys.push_str(entry.key);
        self.ends.push(u32::try_from(self.keys.len()).expect("the keys of a job are below 4 GiB"));
        self.digests.push(entry.digest);
        self.ids.push(entry.id);
        self.gone.extend(entry.gone.then_some(at));
        self.due.extend(entry.due.map(|day| (at, day)));
    }

    fn push_dirty(&mut self, key: &str, state: KeyState) {
        if let Some((id, gone, due)) = state {
            self.push(IndexEntry { key, digest: 0, id: id.get(), gone, due });
        }
    }
}

fn position(at: usize) -> u32 {
    u32::try_from(at).expect("there are fewer keys than int32 ids")
}

/// A digest is as good as its half for finding a place.
fn short(digest: u128) -> u64 {
    digest as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::snapshot::SyncedRecord;

    fn job() -> JobName {
        JobName::new("employees").unwrap()
    }

    fn known(id: i32) -> SyncedRecord {
        let id = RemoteId::new(id.into()).unwrap();
        SyncedRecord::of(id, String::new())
    }

    fn entries(index: &Index) -> Vec<(String, u128, i32)> {
        (0..index.len()).map(|at| index.entry(at)).map(|e| (e.key.to_owned(), e.digest, e.id)).collect()
    }

    #[derive(Clone, Debug)]
    enum Step {
        Put(u16, i32),
        Remove(u16),
        Save,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0u16..60, 1i32..1000).prop_map(|(key, id)| Step::Put(key, id)),
            2 => (0u16..60).prop_map(Step::Remove),
            1 => Just(Step::Save),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn law_5_pages_and_marks_together_are_always_the_truth(steps in proptest::collection::vec(step(), 1..60)) {
            let dir = tempfile::tempdir().unwrap();
            let store = Store::open(dir.path()).unwrap();
            let mut truth: BTreeMap<String, i32> = BTreeMap::new();
            let mut settled: BTreeMap<String, u128> = BTreeMap::new();
            for step in steps {
                let mut batch = Batch::default();
                match step {
                    Step::Put(key, id) => {
                        let key = format!("k{key}");
                        known(id).put(&mut batch, &job(), &Key::new(&key).unwrap());
                        settled.remove(&key);
                        truth.insert(key, id);
                    }
                    Step::Remove(key) => {
                        let key = format!("k{key}");
                        SyncedRecord::remove(&mut batch, &job(), &Key::new(&key).unwrap());
                        settled.remove(&key);
                        truth.remove(&key);
                    }
                    Step::Save => {
                        settled = truth.keys().map(|key| (key.clone(), u128::from(xxhash_rust::xxh3::xxh3_64(key.as_bytes())))).collect();
                        let all = truth.iter().map(|(key, id)| IndexEntry { key, digest: settled[key], id: *id, gone: false, due: None });
                        Index::save(&store, &job(), all).unwrap();
                    }
                }
                store.commit(batch).unwrap();
                let index = Index::load(&store, &job()).unwrap();
                let expected: Vec<_> = truth.iter().map(|(key, id)| (key.clone(), settled.get(key).copied().unwrap_or(0), *id)).collect();
                prop_assert_eq!(entries(&index), expected);
                for (at, (key, digest, _)) in entries(&index).into_iter().enumerate() {
                    prop_assert_eq!(index.by_key(&key), Some(at));
                    if digest != 0 {
                        prop_assert_eq!(index.by_digest_near(digest, at), Some(at));
                        prop_assert_eq!(index.by_digest_near(digest, usize::MAX), None);
                        prop_assert_eq!(index.by_digest_near(digest ^ 1, at), None);
                        prop_assert_eq!(index.by_digest(digest), Some(at));
                        prop_assert_eq!(index.by_digest(digest ^ 1), None);
                    }
                }
            }
        }
    }

    #[test]
    fn one_new_key_rewrites_one_page() {
        let keys: Vec<String> = (0..20_000).map(|number| format!("E{number:06}")).collect();
        let entry = |key| IndexEntry { key, digest: 7, id: 1, gone: false, due: None };
        let before: Vec<_> = pages::encode(keys.iter().map(|key| entry(key.as_str()))).collect();
        let mut more: Vec<&str> = keys.iter().map(String::as_str).collect();
        more.insert(9_000, "E008999x");
        let after: Vec<_> = pages::encode(more.into_iter().map(entry)).collect();
        let moved = after.iter().filter(|page| !before.contains(page)).count();
        assert!(before.len() > 5 && moved <= 2, "{} pages, {moved} moved", before.len());
    }
}
