//! Typed tables: what the rows of a keyspace are, and how they are named.
//!
//! A keyspace has one table, which is next to the type of its rows; nothing else names the keyspace.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::keyspace::Personal;
use super::{Batch, Error, Keyspace, MetaKey, OldStore, Store};
use crate::record::{JobName, Key, RemoteId, Target};

/// What tells a row of a table from the others of its group.
pub trait RowId: Sized {
    /// What rows are grouped by.
    type Group: fmt::Display;

    /// A group by its name.
    fn parse_group(name: &str) -> Option<Self::Group>;

    /// The id that the name of a row ends with.
    fn parse(name: &str) -> Option<Self>;

    /// What the name of a row ends with.
    fn name(&self) -> impl fmt::Display;
}

/// A record of a job.
impl RowId for Key {
    type Group = JobName;

    fn parse_group(name: &str) -> Option<JobName> {
        JobName::new(name)
    }

    fn parse(name: &str) -> Option<Self> {
        Self::new(name)
    }

    fn name(&self) -> impl fmt::Display {
        self.as_str()
    }
}

/// An entity of a collection; rows sort by id.
impl RowId for RemoteId {
    type Group = Target;

    fn parse_group(name: &str) -> Option<Target> {
        Target::ALL.iter().copied().find(|target| target.name() == name)
    }

    fn parse(name: &str) -> Option<Self> {
        Self::new(name.parse().ok()?)
    }

    fn name(&self) -> impl fmt::Display {
        format!("{:010}", self.get())
    }
}

/// Rows that are read next, one by one.
#[derive(Default)]
pub struct NextReads(Vec<Vec<u8>>);

/// The rows of a keyspace, by group and id.
pub struct Table<I, T> {
    space: Keyspace,
    rows: PhantomData<fn() -> (I, T)>,
}

impl<I: RowId, T> Table<I, T> {
    /// The table that a keyspace is.
    pub const fn new(space: Keyspace) -> Self {
        Self { space, rows: PhantomData }
    }

    /// The same rows, read as another type: as much of them as is asked for.
    pub const fn of<U>(&self) -> Table<I, U> {
        Table::new(self.space)
    }

    fn prefix(group: &I::Group) -> String {
        format!("{group}{}", Keyspace::SEPARATOR)
    }

    fn name(group: &I::Group, id: &I) -> String {
        format!("{group}{}{}", Keyspace::SEPARATOR, id.name())
    }

    /// Puts a row of bytes.
    pub fn put_bytes(&self, batch: &mut Batch, group: &I::Group, id: &I, payload: &[u8]) {
        batch.put_bytes(self.space, &Self::name(group, id), payload);
    }

    /// Removes a row, where it is.
    pub fn remove(&self, batch: &mut Batch, group: &I::Group, id: &I) {
        batch.remove(self.space, &Self::name(group, id));
    }

    /// Reads the bytes of a row.
    pub fn get_bytes(&self, store: &Store, group: &I::Group, id: &I) -> Result<Option<Vec<u8>>, Error> {
        store.get_bytes(self.space, &Self::name(group, id))
    }

    /// Says that a row is among those that are read next.
    pub fn will_get(&self, next: &mut NextReads, group: &I::Group, id: &I) {
        next.0.push(self.space.key(&Self::name(group, id)));
    }

    /// Whether a group has no row.
    pub fn is_empty(&self, store: &Store, group: &I::Group) -> Result<bool, Error> {
        store.is_empty(self.space, &Self::prefix(group))
    }

    /// Walks the rows of a group in order of name: what their names end with, and their bytes. Stops where `visit` fails,
    /// or at the first unreadable one. `visit` must not write to the store.
    pub fn scan(
        &self,
        store: &Store,
        group: &I::Group,
        mut visit: impl FnMut(&str, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let prefix = Self::prefix(group);
        store.scan(self.space, &prefix, |name, payload| visit(&name[prefix.len()..], payload))
    }

    /// Walks the ids of a group, likewise and in less time.
    pub fn each_id(
        &self,
        store: &Store,
        group: &I::Group,
        mut visit: impl FnMut(I) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let prefix = Self::prefix(group);
        store.scan_names(self.space, &prefix, |name| I::parse(&name[prefix.len()..]).map_or(Ok(()), &mut visit))
    }

    /// After so many rows at once, to walk over all of them costs less than to look them up.
    pub fn many(&self, store: &Store) -> u64 {
        store.many(self.space)
    }
}

impl<I: RowId, T: Serialize> Table<I, T> {
    /// Puts a row.
    pub fn put(&self, batch: &mut Batch, group: &I::Group, id: &I, row: &T) {
        batch.put(self.space, &Self::name(group, id), row);
    }
}

impl<I: RowId, T: DeserializeOwned> Table<I, T> {
    /// Reads a row.
    pub fn get(&self, store: &Store, group: &I::Group, id: &I) -> Result<Option<T>, Error> {
        store.get(self.space, &Self::name(group, id))
    }

    /// Walks the rows of a group in order of name; stops at the first unreadable one. `take` must not write to the store.
    pub fn each(&self, store: &Store, group: &I::Group, take: impl FnMut(I, T)) -> Result<(), Error> {
        self.each_where(store, group, |_| true, take)
    }

    /// The same for the rows whose ids begin with `head`; no other is passed.
    pub fn each_of(&self, store: &Store, group: &I::Group, head: &str, take: impl FnMut(I, T)) -> Result<(), Error> {
        self.each_below(store, (&Self::prefix(group), head), |_| true, take)
    }

    /// The same for the rows of whose bytes `wanted` holds; the others are not read.
    pub fn each_where(
        &self,
        store: &Store,
        group: &I::Group,
        wanted: impl Fn(&[u8]) -> bool,
        take: impl FnMut(I, T),
    ) -> Result<(), Error> {
        self.each_below(store, (&Self::prefix(group), ""), wanted, take)
    }

    fn each_below(
        &self,
        store: &Store,
        (prefix, head): (&str, &str),
        wanted: impl Fn(&[u8]) -> bool,
        mut take: impl FnMut(I, T),
    ) -> Result<(), Error> {
        store.scan(self.space, &format!("{prefix}{head}"), |name, payload| {
            if wanted(payload)
                && let Some(id) = I::parse(&name[prefix.len()..])
            {
                take(id, store.parse(self.space, name, payload)?);
            }
            Ok(())
        })
    }

    /// The rows of a group, in order of name.
    pub fn list<L: FromIterator<(I, T)>>(&self, store: &Store, group: &I::Group) -> Result<L, Error> {
        let mut rows = Vec::new();
        self.each(store, group, |id, row| rows.push((id, row)))?;
        Ok(rows.into_iter().collect())
    }
}

impl Store {
    /// Says which rows are read next, one by one. It changes nothing but how long that takes: a state in a database then
    /// answers for all of them at once.
    pub fn read_ahead(&self, gather: impl Fn(&mut NextReads)) -> Result<(), Error> {
        self.engine.read_ahead(&mut || {
            let mut next = NextReads::default();
            gather(&mut next);
            next.0
        })
    }

    /// Reads a row about the state as a whole, a job or a collection.
    pub fn meta<T: DeserializeOwned>(&self, key: MetaKey<'_>) -> Result<Option<T>, Error> {
        self.get(Keyspace::Meta, &key.to_string())
    }

    /// Writes such a row by itself; it is on disk when this returns.
    pub fn set_meta<T: Serialize>(&self, key: MetaKey<'_>, value: &T) -> Result<(), Error> {
        let mut batch = Batch::default();
        batch.put_meta(key, value);
        self.commit(batch)
    }

    /// The jobs, or parts of jobs, of which anything is stored.
    pub fn jobs(&self) -> Result<BTreeSet<JobName>, Error> {
        let mut jobs = BTreeSet::new();
        self.scan_names(Keyspace::Meta, "", |name| {
            let of_job = name.split_once(Keyspace::SEPARATOR).and_then(|(_, job)| JobName::new(job));
            let is_key =
                |job: &JobName| [MetaKey::Job(job), MetaKey::Counts(job)].iter().any(|key| key.to_string() == name);
            jobs.extend(of_job.filter(is_key));
            Ok(())
        })?;
        Ok(jobs)
    }

    /// Removes every row by key that is about a person; returns the job and the key of each.
    pub fn erase_keys(
        &self,
        batch: &mut Batch,
        is_about: impl Fn(&JobName, &Key) -> bool,
    ) -> Result<Vec<(JobName, Key)>, Error> {
        let mut erased = Vec::new();
        for space in Keyspace::ALL.iter().filter(|space| space.personal() == Personal::ByKey) {
            self.scan_names(*space, "", |name| {
                if let Some(row) = parse::<Key>(name).filter(|(job, key)| is_about(job, key)) {
                    batch.remove(*space, name);
                    erased.push(row);
                }
                Ok(())
            })?;
        }
        Ok(erased)
    }
}

impl Batch {
    /// Removes every row by entity that holds what a person is.
    pub fn erase_entity(&mut self, target: Target, id: RemoteId) {
        for space in Keyspace::ALL.iter().filter(|space| space.personal() == Personal::ByEntity) {
            Table::<RemoteId, ()>::new(*space).remove(self, &target, &id);
        }
    }
}

impl OldStore<'_> {
    /// Takes over the rows of a table that `keep` picks, as far as they can be read; returns how many rows there were, and
    /// how many of them were picked.
    pub fn carry<I: RowId, T: DeserializeOwned>(
        &self,
        table: &Table<I, T>,
        batch: &mut Batch,
        mut keep: impl FnMut(&I::Group, &I, T) -> bool,
    ) -> Result<(u64, u64), Error> {
        self.carry_as(table, batch, |group, id, row| keep(group, &id, row).then_some(id))
    }

    /// The same, each row under the id that `name` gives it.
    pub fn carry_as<I: RowId, T: DeserializeOwned>(
        &self,
        table: &Table<I, T>,
        batch: &mut Batch,
        mut name: impl FnMut(&I::Group, I, T) -> Option<I>,
    ) -> Result<(u64, u64), Error> {
        let (mut all, mut kept) = (0, 0);
        self.scan(table.space, |before, payload| {
            all += 1;
            if let Some(((group, id), row)) = parse::<I>(before).zip(serde_json::from_slice(payload).ok())
                && let Some(id) = name(&group, id, row)
            {
                kept += 1;
                table.put_bytes(batch, &group, &id, payload);
            }
        })?;
        Ok((all, kept))
    }
}

/// The group and the id that the name of a row says.
fn parse<I: RowId>(name: &str) -> Option<(I::Group, I)> {
    let (group, id) = name.split_once(Keyspace::SEPARATOR)?;
    I::parse_group(group).zip(I::parse(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_ids_are_read_as_they_are_written() {
        for target in Target::ALL.iter().copied() {
            assert_eq!(RemoteId::parse_group(target.name()), Some(target));
        }
        assert_eq!(RemoteId::parse_group("nobody"), None);
        let id = RemoteId::new(77).unwrap();
        assert_eq!(RemoteId::parse(&id.name().to_string()), Some(id));
        let key = Keyspace::Mirror.key("staff\u{1f}0000000077");
        assert!(Keyspace::shown(&key).ends_with(":staff/0000000077"), "{}", Keyspace::shown(&key));
    }

    #[test]
    fn fault_114_what_a_table_holds_of_a_person_goes_and_the_rows_of_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let job = JobName::new("employees").unwrap();
        let keys = ["E7", "E77"].map(|key| Key::new(key).unwrap());
        let ids = [7, 77].map(|id| RemoteId::new(id).unwrap());
        let mut batch = Batch::default();
        for space in Keyspace::all_filed() {
            keys.iter().for_each(|key| Table::new(space).put(&mut batch, &job, key, &1));
            ids.iter().for_each(|id| Table::new(space).put(&mut batch, &Target::Staff, id, &1));
        }
        store.commit(batch).unwrap();
        let mut batch = Batch::default();
        let erased: BTreeSet<Key> =
            store.erase_keys(&mut batch, |_, key| *key == keys[0]).unwrap().into_iter().map(|(_, key)| key).collect();
        assert_eq!(erased, BTreeSet::from([keys[0].clone()]));
        batch.erase_entity(Target::Staff, ids[0]);
        store.commit(batch).unwrap();
        for space in Keyspace::all_filed() {
            let has_key = |key| Table::<Key, u32>::new(space).get(&store, &job, key).unwrap().is_some();
            let has_id = |id| Table::<RemoteId, u32>::new(space).get(&store, &Target::Staff, id).unwrap().is_some();
            let personal = space.personal();
            assert_eq!(keys.each_ref().map(has_key), [personal != Personal::ByKey, true], "{space:?}");
            assert_eq!(ids.each_ref().map(has_id), [personal != Personal::ByEntity, true], "{space:?}");
        }
    }
}
