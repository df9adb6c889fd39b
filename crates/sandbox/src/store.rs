//! The embedded store: every entity in memory by id, and a journal where there is a data folder.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jiff::Timestamp;
use serde_json::Value;

use crate::error::Error;
use crate::journal::{Journal, JournalEntry};
use crate::resource::{Derived, FieldKind, Resource};
use crate::row::{EntityRow, unique_form};
use crate::tables::{DEPENDENTS, LOCATION, RESOURCES, resource};

/// All entities. The holder of the lock sees one state; nothing is awaited meanwhile.
pub(crate) struct Store {
    entities: RwLock<Entities>,
}

/// The entities of all resources.
pub(crate) struct Entities {
    collections: BTreeMap<&'static str, Collection>,
    journal: Option<Journal>,
    closed: bool,
}

/// What a write does to one entity.
pub(crate) enum Change {
    /// It is so from here on.
    Put(&'static Resource, EntityRow),
    /// It is gone.
    Gone(&'static Resource, i64),
}

struct Collection {
    rows: BTreeMap<i64, EntityRow>,
    /// (values of a group of unique fields, id)
    unique: BTreeSet<(String, i64)>,
    /// (when it changed last, id)
    modified: BTreeSet<(Timestamp, i64)>,
    counted: Vec<Counted>,
    next_id: i64,
}

/// How many entities refer to each target by one field: a location shows it among a million people too.
struct Counted {
    by: &'static str,
    position: usize,
    referring: HashMap<Value, usize>,
}

impl Store {
    /// Opens the store: that of a folder, or an empty one in memory.
    pub(crate) fn open(folder: Option<&Path>) -> Result<Self, Error> {
        let collections = RESOURCES.iter().map(|resource| (resource.name, Collection::new(resource))).collect();
        let mut entities = Entities { collections, journal: None, closed: false };
        if let Some(folder) = folder {
            let mut journal = Journal::open(folder, |entry| entities.replay(entry))?;
            journal.rewrite(folder, entities.entries())?;
            entities.journal = Some(journal);
        }
        Ok(Self { entities: RwLock::new(entities) })
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Entities> {
        self.entities.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Entities> {
        self.entities.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of the folder; nothing can be written afterwards.
    pub(crate) fn close(&self) {
        let mut entities = self.write();
        entities.closed = true;
        entities.journal = None;
    }
}

impl Entities {
    /// The entities of a resource by id.
    pub(crate) fn rows(&self, resource: &str) -> &BTreeMap<i64, EntityRow> {
        &self.collection(resource).rows
    }

    /// The entities of a resource that changed since then, in order of id; `None` where they are more than `most`.
    pub(crate) fn changed_since(&self, resource: &str, since: Timestamp, most: usize) -> Option<Vec<&EntityRow>> {
        let Collection { rows, modified, .. } = self.collection(resource);
        let mut ids: Vec<i64> = modified.range((since, i64::MIN)..).map(|(_, id)| *id).take(most + 1).collect();
        ids.sort_unstable();
        (ids.len() <= most).then(|| ids.iter().filter_map(|id| rows.get(id)).collect())
    }

    /// How many entities of a resource refer to `target`, an id or a name, by one of the fields that [`Derived::Count`] names.
    pub(crate) fn count(&self, resource: &str, by: &str, target: &Value) -> usize {
        let counted = self.collection(resource).counted.iter().find(|counted| counted.by == by);
        counted.and_then(|counted| counted.referring.get(target)).copied().unwrap_or(0)
    }

    /// Whether another entity has the same values in a group of unique fields.
    pub(crate) fn is_taken(&self, resource: &Resource, group: &[&str], row: &EntityRow) -> bool {
        let Some(form) = unique_form(resource, group, row) else { return false };
        let holders = self.collection(resource.name).unique.range((form.clone(), i64::MIN)..=(form, i64::MAX));
        holders.into_iter().any(|(_, holder)| *holder != row.id)
    }

    /// The entity that has these values in a group of unique fields; the oldest of several.
    pub(crate) fn holder_of(&self, resource: &Resource, group: &[&str], row: &EntityRow) -> Option<i64> {
        let form = unique_form(resource, group, row)?;
        let mut holders = self.collection(resource.name).unique.range((form.clone(), i64::MIN)..=(form, i64::MAX));
        holders.next().map(|(_, holder)| *holder)
    }

    /// Whether an entity of that resource has this name.
    pub(crate) fn is_name_of(&self, name: &str, other: &str) -> bool {
        let position = resource(other).and_then(|resource| resource.position("name"));
        position.is_some_and(|position| self.rows(other).values().any(|row| row.text(position) == Some(name)))
    }

    /// The id that the next new entity gets.
    pub(crate) fn next_id(&self, resource: &Resource) -> i64 {
        self.collection(resource.name).next_id
    }

    /// The name of an access point.
    pub(crate) fn access_point(&self, id: i64) -> Option<&Value> {
        let position = LOCATION.at("lacps");
        let points = self.rows(LOCATION.name).values().flat_map(|row| row.value(position).as_array()).flatten();
        points.into_iter().find(|point| point["id"] == id).map(|point| &point["name"])
    }

    /// Carries changes out, all or none of them. With an entity go those that depend on it.
    pub(crate) fn apply(&mut self, mut changes: Vec<Change>) -> io::Result<()> {
        self.check_open()?;
        let mut seen = 0;
        while let Some(change) = changes.get(seen) {
            if let Change::Gone(resource, id) = *change {
                changes.extend(self.dependents(resource, id));
            }
            seen += 1;
        }
        if let Some(journal) = &mut self.journal {
            journal.append(&changes.iter().map(Change::entry).collect::<Vec<_>>())?;
        }
        for change in changes {
            match change {
                Change::Put(resource, row) => self.collection_mut(resource.name).put(resource, row),
                Change::Gone(resource, id) => self.collection_mut(resource.name).remove(resource, id),
            }
        }
        Ok(())
    }

    /// Lays entities down, in place of those of the same ids.
    pub(crate) fn put(&mut self, resource: &'static Resource, rows: Vec<EntityRow>) -> io::Result<()> {
        self.apply(rows.into_iter().map(|row| Change::Put(resource, row)).collect())
    }

    /// Removes an entity; false where there was none.
    pub(crate) fn remove(&mut self, resource: &'static Resource, id: i64) -> io::Result<bool> {
        self.check_open()?;
        let is_there = self.rows(resource.name).contains_key(&id);
        if is_there {
            self.apply(vec![Change::Gone(resource, id)])?;
        }
        Ok(is_there)
    }

    fn dependents(&self, resource: &'static Resource, id: i64) -> Vec<Change> {
        let mut found = Vec::new();
        for (_, dependent, by) in DEPENDENTS.iter().filter(|(own, ..)| own.name == resource.name) {
            let rows = self.rows(dependent.name);
            if *by == "id" {
                found.extend(rows.contains_key(&id).then_some(Change::Gone(dependent, id)));
            } else {
                let position = dependent.at(by);
                let bound = rows.values().filter(|row| row.integer(position) == Some(id));
                found.extend(bound.map(|row| Change::Gone(dependent, row.id)));
            }
        }
        found
    }

    fn check_open(&self) -> io::Result<()> {
        if self.closed { Err(io::Error::other("the sandbox has stopped")) } else { Ok(()) }
    }

    fn replay(&mut self, entry: JournalEntry) {
        // A resource that this version doesn't know is left behind.
        match entry {
            JournalEntry::Put(name, Value::Object(entity)) => {
                let Some(resource) = resource(&name) else { return };
                let mut row = EntityRow::new(resource, 0, Timestamp::UNIX_EPOCH);
                row.merge(resource, entity);
                self.collection_mut(resource.name).put(resource, row);
            }
            JournalEntry::Gone(name, id) => {
                let Some(resource) = resource(&name) else { return };
                self.collection_mut(resource.name).remove(resource, id);
            }
            JournalEntry::Next(name, id) => {
                let Some(resource) = resource(&name) else { return };
                self.collection_mut(resource.name).next_id = id;
            }
            JournalEntry::Put(..) => {}
        }
    }

    fn entries(&self) -> impl Iterator<Item = JournalEntry> {
        RESOURCES.iter().flat_map(|resource| {
            let collection = self.collection(resource.name);
            let rows = collection.rows.values();
            let puts = rows.map(|row| JournalEntry::Put(resource.name.to_owned(), row.to_json(resource)));
            puts.chain([JournalEntry::Next(resource.name.to_owned(), collection.next_id)])
        })
    }

    fn collection(&self, resource: &str) -> &Collection {
        self.collections.get(resource).expect("a collection is made for every resource")
    }

    fn collection_mut(&mut self, resource: &str) -> &mut Collection {
        self.collections.get_mut(resource).expect("a collection is made for every resource")
    }
}

impl Change {
    fn entry(&self) -> JournalEntry {
        match self {
            Self::Put(resource, row) => JournalEntry::Put(resource.name.to_owned(), row.to_json(resource)),
            Self::Gone(resource, id) => JournalEntry::Gone(resource.name.to_owned(), *id),
        }
    }
}

impl Collection {
    fn new(resource: &Resource) -> Self {
        let (rows, unique, modified) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { rows, unique, modified, counted: Counted::all(resource), next_id: resource.first_id }
    }

    fn put(&mut self, resource: &Resource, row: EntityRow) {
        self.remove(resource, row.id);
        self.next_id = self.next_id.max(row.id + 1);
        for form in resource.unique.iter().filter_map(|group| unique_form(resource, group, &row)) {
            self.unique.insert((form, row.id));
        }
        self.modified.insert((row.modified, row.id));
        self.counted.iter_mut().for_each(|counted| counted.add(&row));
        self.rows.insert(row.id, row);
    }

    fn remove(&mut self, resource: &Resource, id: i64) {
        let Some(row) = self.rows.remove(&id) else { return };
        for form in resource.unique.iter().filter_map(|group| unique_form(resource, group, &row)) {
            self.unique.remove(&(form, id));
        }
        self.modified.remove(&(row.modified, id));
        self.counted.iter_mut().for_each(|counted| counted.remove(&row));
    }
}

impl Counted {
    /// Those of the entities of a resource that any other one shows.
    fn all(resource: &Resource) -> Vec<Self> {
        let fields = RESOURCES.iter().flat_map(|other| other.fields);
        let by: BTreeSet<&'static str> = fields
            .filter_map(|field| match field.kind {
                FieldKind::Derived(Derived::Count(name, by)) if name == resource.name => Some(by),
                _ => None,
            })
            .collect();
        by.into_iter().map(|by| Self { by, position: resource.at(by), referring: HashMap::new() }).collect()
    }

    fn add(&mut self, row: &EntityRow) {
        let target = row.value(self.position);
        match self.referring.get_mut(target) {
            Some(count) => *count += 1,
            None if target.is_null() => {}
            None => drop(self.referring.insert(target.clone(), 1)),
        }
    }

    fn remove(&mut self, row: &EntityRow) {
        let target = row.value(self.position);
        let Some(count) = self.referring.get_mut(target) else { return };
        *count -= 1;
        if *count == 0 {
            self.referring.remove(target);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::STAFF;

    fn person(id: i64, email: &str) -> EntityRow {
        let mut row = EntityRow::new(&STAFF, id, "2026-01-02T03:04:05Z".parse().unwrap());
        row.set(STAFF.position("email").unwrap(), email.into());
        row
    }

    fn is_taken(store: &Store, email: &str, id: Option<i64>) -> bool {
        store.read().is_taken(&STAFF, &["email"], &person(id.unwrap_or(0), email))
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
    fn what_changed_since_is_found_where_it_is_little() {
        let store = Store::open(None).unwrap();
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let changed = |id: i64, second: i64| {
            let mut row = person(id, "");
            row.modified = at(second);
            row
        };
        for (id, second) in [(5, 10), (7, 20), (6, 30), (5, 40)] {
            store.write().put(&STAFF, vec![changed(id, second)]).unwrap();
        }
        store.write().put(&STAFF, vec![changed(9, 50)]).unwrap();
        store.write().remove(&STAFF, 9).unwrap();
        let entities = store.read();
        let since = |second, most| {
            let rows = entities.changed_since("staff", at(second), most)?;
            Some(rows.iter().map(|row| row.id).collect::<Vec<_>>())
        };
        assert_eq!(since(0, 3), Some(vec![5, 6, 7]));
        assert_eq!(since(0, 2), None);
        assert_eq!(since(30, 2), Some(vec![5, 6]));
        assert_eq!(since(41, 2), Some(vec![]));
    }

    #[test]
    fn who_refers_to_a_target_is_counted_as_they_come_move_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Some(folder.path())).unwrap();
        let at = |id: i64, place: Value| {
            let mut row = person(id, "");
            row.set(STAFF.position("location").unwrap(), place);
            row
        };
        let counts =
            |store: &Store| ["Quay", "Yard"].map(|place| store.read().count("staff", "location", &place.into()));
        store.write().put(&STAFF, vec![at(5, "Quay".into()), at(6, "Quay".into()), at(7, Value::Null)]).unwrap();
        assert_eq!(counts(&store), [2, 0]);
        store.write().put(&STAFF, vec![at(6, "Yard".into()), at(7, "Yard".into()), at(5, "Quay".into())]).unwrap();
        assert_eq!(counts(&store), [1, 2]);
        store.write().remove(&STAFF, 5).unwrap();
        assert_eq!(counts(&store), [0, 2]);
        store.close();
        assert_eq!(counts(&Store::open(Some(folder.path())).unwrap()), [0, 2]);
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
