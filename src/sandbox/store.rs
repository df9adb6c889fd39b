//! The embedded store: every entity in memory by id, and a journal where there is a data folder.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jiff::Timestamp;
use serde_json::Value;

use super::error::Error;
use super::journal::{Entry, Journal};
use super::resource::Resource;
use super::row::{Row, unique_form};
use super::tables::{RESOURCES, resource};

/// All entities. Whoever holds the lock sees one state; nothing is awaited meanwhile.
pub(super) struct Store {
    entities: RwLock<Entities>,
}

/// The entities of all resources.
pub(super) struct Entities {
    collections: BTreeMap<&'static str, Collection>,
    journal: Option<Journal>,
    closed: bool,
}

struct Collection {
    rows: BTreeMap<i64, Row>,
    /// (value of a unique field, id)
    unique: BTreeSet<(String, i64)>,
    next_id: i64,
}

impl Store {
    /// Opens the store: that of a folder, or an empty one in memory.
    pub(super) fn open(folder: Option<&Path>) -> Result<Self, Error> {
        let collections =
            RESOURCES.iter().map(|resource| (resource.name, Collection::new(resource.first_id))).collect();
        let mut entities = Entities { collections, journal: None, closed: false };
        if let Some(folder) = folder {
            let mut journal = Journal::open(folder, |entry| entities.replay(entry))?;
            journal.rewrite(folder, entities.entries())?;
            entities.journal = Some(journal);
        }
        Ok(Self { entities: RwLock::new(entities) })
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, Entities> {
        self.entities.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Entities> {
        self.entities.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of the folder; nothing can be written afterwards.
    pub(super) fn close(&self) {
        let mut entities = self.write();
        entities.closed = true;
        entities.journal = None;
    }
}

impl Entities {
    /// The entities of a resource by id.
    pub(super) fn rows(&self, resource: &str) -> &BTreeMap<i64, Row> {
        &self.collection(resource).rows
    }

    /// Whether another entity than `id` has this value in a unique field.
    pub(super) fn is_taken(&self, resource: &Resource, position: usize, value: &Value, id: Option<i64>) -> bool {
        let Some(form) = unique_form(&resource.fields[position], value) else { return false };
        let holders = self.collection(resource.name).unique.range((form.clone(), i64::MIN)..=(form, i64::MAX));
        holders.into_iter().any(|(_, holder)| Some(*holder) != id)
    }

    /// Whether an entity of that resource has this name.
    pub(super) fn is_name_of(&self, name: &str, other: &str) -> bool {
        let position = resource(other).and_then(|resource| resource.position("name"));
        position.is_some_and(|position| self.rows(other).values().any(|row| row.text(position) == Some(name)))
    }

    /// The id that the next new entity gets.
    pub(super) fn next_id(&self, resource: &Resource) -> i64 {
        self.collection(resource.name).next_id
    }

    /// Lays entities down, in place of those of the same ids.
    pub(super) fn put(&mut self, resource: &Resource, rows: Vec<Row>) -> io::Result<()> {
        let entry = |row: &Row| Entry::Put(resource.name.to_owned(), row.to_json(resource));
        if self.journal.is_some() {
            let entries: Vec<Entry> = rows.iter().map(entry).collect();
            self.append(&entries)?;
        }
        self.check_open()?;
        let collection = self.collection_mut(resource.name);
        for row in rows {
            collection.put(resource, row);
        }
        Ok(())
    }

    /// Removes an entity; false where there was none.
    pub(super) fn remove(&mut self, resource: &Resource, id: i64) -> io::Result<bool> {
        self.check_open()?;
        if !self.rows(resource.name).contains_key(&id) {
            return Ok(false);
        }
        self.append(&[Entry::Gone(resource.name.to_owned(), id)])?;
        self.collection_mut(resource.name).remove(resource, id);
        Ok(true)
    }

    fn append(&mut self, entries: &[Entry]) -> io::Result<()> {
        self.journal.as_mut().map_or(Ok(()), |journal| journal.append(entries))
    }

    fn check_open(&self) -> io::Result<()> {
        if self.closed { Err(io::Error::other("the sandbox has stopped")) } else { Ok(()) }
    }

    fn replay(&mut self, entry: Entry) {
        // A resource that this version doesn't know is left behind.
        match entry {
            Entry::Put(name, Value::Object(entity)) => {
                let Some(resource) = resource(&name) else { return };
                let mut row = Row::new(resource, 0, Timestamp::UNIX_EPOCH);
                row.merge(resource, entity);
                self.collection_mut(resource.name).put(resource, row);
            }
            Entry::Gone(name, id) => {
                let Some(resource) = resource(&name) else { return };
                self.collection_mut(resource.name).remove(resource, id);
            }
            Entry::Next(name, id) => {
                let Some(resource) = resource(&name) else { return };
                self.collection_mut(resource.name).next_id = id;
            }
            Entry::Put(..) => {}
        }
    }

    fn entries(&self) -> impl Iterator<Item = Entry> {
        RESOURCES.iter().flat_map(|resource| {
            let collection = self.collection(resource.name);
            let rows = collection.rows.values();
            let puts = rows.map(|row| Entry::Put(resource.name.to_owned(), row.to_json(resource)));
            puts.chain([Entry::Next(resource.name.to_owned(), collection.next_id)])
        })
    }

    fn collection(&self, resource: &str) -> &Collection {
        self.collections.get(resource).expect("a collection is made for every resource")
    }

    fn collection_mut(&mut self, resource: &str) -> &mut Collection {
        self.collections.get_mut(resource).expect("a collection is made for every resource")
    }
}

impl Collection {
    fn new(first_id: i64) -> Self {
        Self { rows: BTreeMap::new(), unique: BTreeSet::new(), next_id: first_id }
    }

    fn put(&mut self, resource: &Resource, row: Row) {
        self.remove(resource, row.id);
        self.next_id = self.next_id.max(row.id + 1);
        for position in resource.unique_positions() {
            if let Some(form) = unique_form(&resource.fields[position], row.value(position)) {
                self.unique.insert((form, row.id));
            }
        }
        self.rows.insert(row.id, row);
    }

    fn remove(&mut self, resource: &Resource, id: i64) {
        let Some(row) = self.rows.remove(&id) else { return };
        for position in resource.unique_positions() {
            if let Some(form) = unique_form(&resource.fields[position], row.value(position)) {
                self.unique.remove(&(form, id));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::tables::STAFF;

    fn person(id: i64, email: &str) -> Row {
        let mut row = Row::new(&STAFF, id, "2026-01-02T03:04:05Z".parse().unwrap());
        row.set(STAFF.position("email").unwrap(), email.into());
        row
    }

    fn is_taken(store: &Store, email: &str, id: Option<i64>) -> bool {
        store.read().is_taken(&STAFF, STAFF.position("email").unwrap(), &email.into(), id)
    }

    #[test]
    fn a_value_is_free_again_when_its_holder_changes_or_goes() {
        let store = Store::open(None).unwrap();
        store.write().put(&STAFF, vec![person(5, "Ana@example.com"), person(6, "bo@example.com")]).unwrap();
        assert!(is_taken(&store, " ana@EXAMPLE.com", None));
        assert!(!is_taken(&store, "ana@example.com", Some(5)));
        store.write().put(&STAFF, vec![person(5, "new@example.com")]).unwrap();
        assert!(!is_taken(&store, "ana@example.com", None));
        store.write().remove(&STAFF, 6).unwrap();
        assert!(!is_taken(&store, "bo@example.com", None));
        assert!(!is_taken(&store, "", None));
    }

    #[test]
    fn a_restart_keeps_entities_and_gives_no_id_twice() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Some(folder.path())).unwrap();
        let mut first = person(1001, "ana@example.com");
        first.extra.insert("badge".into(), "B7".into());
        store.write().put(&STAFF, vec![first.clone(), person(1002, "bo@example.com")]).unwrap();
        assert!(store.write().remove(&STAFF, 1002).unwrap());
        store.close();
        assert!(store.write().put(&STAFF, vec![person(1003, "x@example.com")]).is_err());
        // The second start reads what the first one rewrote.
        for _ in 0..2 {
            let store = Store::open(Some(folder.path())).unwrap();
            let entities = store.read();
            let kept: Vec<Value> = entities.rows("staff").values().map(|row| row.to_json(&STAFF)).collect();
            assert_eq!(kept, [first.to_json(&STAFF)]);
            assert_eq!(entities.next_id(&STAFF), 1003);
        }
    }
}
