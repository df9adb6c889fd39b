//! The stored entities, and over them the changes that a pull found.

use std::collections::{BTreeMap, BTreeSet};

use super::certifications::Certifications;
use super::collection::{Locations, PullState, ShownFields};
use super::elements::Elements;
use super::remote::EntityRef;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::record::{Entity, JobName, RemoteId, Target, Values};
use crate::snapshot::{Owner, SyncedRecord};
use crate::store::{self, Batch, BulkLoader, Keyspace, MetaKey, NextReads, Store, Table};

/// The entities as last seen.
pub(crate) const ENTITIES: Table<RemoteId, Entity> = Table::new(Keyspace::Mirror);
/// The entities that were removed a short while ago.
pub(crate) const REMOVALS: Table<RemoteId, Removal> = Table::new(Keyspace::Removed);

/// By id: what a pull found, as it is stored; `None` for what is gone. Only what differs from the store.
pub(super) type PulledEntities = BTreeMap<RemoteId, Option<Box<[u8]>>>;

/// What the service holds, as far as the jobs need it.
#[derive(Clone)]
pub struct Mirror {
    pub(super) target: Target,
    pub(super) found: PulledEntities,
    /// Whether changes are stored at the end of a pull, or only kept in memory over the store.
    pub(super) persist: bool,
    /// Whether the watermark was stored.
    pub(super) saved: bool,
    pub(super) last: PullState,
    pub(super) shown: ShownFields,
    pub(super) fields: BTreeSet<String>,
    pub(super) locations: Locations,
    pub(super) elements: Elements,
    pub(super) certifications: Certifications,
    pub(super) changed: BTreeSet<RemoteId>,
    /// Entities that a whole listing lacks, and that are there all the same.
    pub(super) unlisted: BTreeSet<RemoteId>,
}

impl Mirror {
    /// The entity of an id, where the service has it.
    pub fn get(&self, store: &Store, id: RemoteId) -> Result<Option<Entity>, store::Error> {
        match self.found.get(&id) {
            Some(Some(bytes)) => Ok(serde_json::from_slice(bytes).ok()),
            Some(None) => Ok(None),
            None => ENTITIES.get(store, &self.target, &id),
        }
    }

    /// The entity of someone who is known; none where the service does not have it, or has another person under its id.
    pub fn person(&self, store: &Store, known: &SyncedRecord) -> Result<Option<Entity>, store::Error> {
        Ok(self.get(store, known.id)?.filter(|entity| !known.is_of_another(&entity.created)))
    }

    /// Says that an entity is among those that are read next.
    pub fn will_get(&self, next: &mut NextReads, id: RemoteId) {
        if !self.found.contains_key(&id) {
            ENTITIES.will_get(next, &self.target, &id);
        }
    }

    /// Whether it has a field of each entity.
    pub fn keeps(&self, field: &str) -> bool {
        self.fields.contains(field)
    }

    /// Whether lists show a field, by the service's name.
    pub fn shows_in_lists(&self, name: &str) -> bool {
        self.last.listed.contains(name)
    }

    /// Whether the service showed a field, by its name, of every entity, so that one that lacks it is not shown as a whole: it may
    /// hold a value there.
    pub fn hides(&self, name: &str) -> bool {
        self.shown.always.contains(name) || self.shown.hidden.contains(name)
    }

    /// What the entities are.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Where an entity lies at the service; `None` for an unknown holder.
    pub fn at(&self, store: &Store, id: RemoteId) -> Result<Option<EntityRef>, store::Error> {
        let target = self.target;
        if target != Target::Holder {
            return Ok(Some(EntityRef { target, id, below: None }));
        }
        // What a whole listing lacks is still stored.
        let entity = match self.get(store, id)? {
            Some(entity) => Some(entity),
            None => ENTITIES.get(store, &target, &id)?,
        };
        let below = entity.and_then(|entity| RemoteId::new(entity.value("certification").as_text()?.parse().ok()?));
        Ok(below.map(|below| EntityRef { target, id, below: Some(below) }))
    }

    /// Shows every entity, in no order that matters.
    pub fn each(&self, store: &Store, mut visit: impl FnMut(&Entity)) -> Result<(), store::Error> {
        ENTITIES.each(store, &self.target, |id, entity| {
            if !self.found.contains_key(&id) {
                visit(&entity);
            }
        })?;
        for bytes in self.found.values().flatten() {
            if let Ok(entity) = serde_json::from_slice(bytes) {
                visit(&entity);
            }
        }
        Ok(())
    }

    /// Shows the id of every entity.
    pub fn each_id(&self, store: &Store, mut visit: impl FnMut(RemoteId)) -> Result<(), store::Error> {
        ENTITIES.each_id(store, &self.target, |id| {
            if !self.found.contains_key(&id) {
                visit(id);
            }
            Ok(())
        })?;
        self.found.iter().filter(|(_, found)| found.is_some()).for_each(|(id, _)| visit(*id));
        Ok(())
    }

    /// Supposes, in a copy that is never saved, that an entity has these values, or is gone.
    pub fn overlay_hypothetical(
        &mut self,
        store: &Store,
        id: RemoteId,
        fields: Option<&Values>,
    ) -> Result<(), store::Error> {
        let entity = self.get(store, id)?.zip(fields).map(|(mut entity, fields)| {
            entity.fields.extend(fields.iter().map(|(field, value)| (field.clone(), value.clone())));
            self.bytes(entity)
        });
        self.found.insert(id, entity);
        Ok(())
    }

    /// The ids whose entities differ from what was stored before the pull, those that are gone included.
    pub fn changed(&self) -> &BTreeSet<RemoteId> {
        &self.changed
    }

    /// The ids of entities that are at the service, and that its whole list does not show.
    pub fn unlisted(&self) -> &BTreeSet<RemoteId> {
        &self.unlisted
    }

    /// A time of the service's before this pull.
    pub fn watermark(&self) -> Option<Timestamp> {
        self.last.watermark
    }

    /// The service's locations.
    pub fn locations(&self) -> &Locations {
        &self.locations
    }

    /// The service's custom fields.
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// An entity as it is stored.
    pub(super) fn bytes(&self, entity: Entity) -> Box<[u8]> {
        serde_json::to_vec(&self.kept(entity)).expect("plain values").into_boxed_slice()
    }

    /// An entity without the fields that no job needs.
    pub fn kept(&self, entity: Entity) -> Entity {
        kept(entity, &self.fields)
    }

    /// Stores what was found and not stored yet, and then the watermark.
    pub fn save(&mut self, store: &Store) -> Result<(), store::Error> {
        let mut bulk = store.bulk_load();
        gather(&mut self.found, store, self.target, &mut bulk)?;
        // Once is enough, and a push may have asked for a whole listing since.
        if !std::mem::replace(&mut self.saved, true) {
            let mut batch = Batch::default();
            batch.put_meta(MetaKey::Pull(self.target), &self.last);
            batch.put_meta(MetaKey::Shown(self.target), &self.shown);
            if self.last.full_at.is_some() {
                batch.remove_meta(MetaKey::Listed(self.target));
            }
            self.put_names(&mut batch);
            bulk.add(batch)?;
        }
        bulk.commit()
    }
}

/// Adds what was found to what is stored together, with the marks of the records whose entities moved, so that none of
/// them is taken for unchanged before it was looked at.
pub(super) fn gather(
    found: &mut PulledEntities,
    store: &Store,
    target: Target,
    bulk: &mut BulkLoader<'_>,
) -> Result<(), store::Error> {
    while let Some((id, bytes)) = found.pop_first() {
        let mut batch = Batch::default();
        if let Some(owner) = Owner::of(store, target, id)? {
            SyncedRecord::mark_dirty(&mut batch, &owner.job, &owner.key);
        }
        match bytes {
            Some(bytes) => ENTITIES.put_bytes(&mut batch, &target, &id, &bytes),
            None => ENTITIES.remove(&mut batch, &target, &id),
        }
        bulk.add(batch)?;
    }
    Ok(())
}

/// Puts an entity as a confirmed answer showed it, without the fields that no job needs.
pub fn put(batch: &mut Batch, target: Target, entity: &Entity) {
    ENTITIES.put(batch, &target, &entity.id, entity);
}

/// Asks for a whole listing at the next pull: one answer said that an entity is gone, and one answer may be wrong.
pub fn force_full_listing(batch: &mut Batch, store: &Store, target: Target) -> Result<(), store::Error> {
    if let Some(last) = store.meta::<PullState>(MetaKey::Pull(target))? {
        batch.put_meta(MetaKey::Pull(target), &PullState { full_at: None, ..last });
    }
    Ok(())
}

/// Drops an entity that a request for just this one said is gone.
pub fn drop_gone(batch: &mut Batch, target: Target, id: RemoteId) {
    ENTITIES.remove(batch, &target, &id);
}

/// A removal by a job: a list may show the entity for a while (removal may be asynchronous), and the guard counts it for
/// a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// When, by this machine's clock, or by the service's where this one is far ahead.
    pub at: Timestamp,
    /// The job that removed it.
    pub job: JobName,
    /// Whether it counts among those who leave: no person had released it, and nothing took its place.
    pub counts: bool,
    /// The part of the job's people that they belonged to; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub segment: String,
}

impl Removal {
    /// How long removals are remembered at least: for the day in which they count, and as much again for a clock that is ahead.
    pub const KEPT: SignedDuration = SignedDuration::from_hours(48);
    /// How long the service may still show, and have, what was removed.
    const LASTS: SignedDuration = SignedDuration::from_hours(1);
    const PRUNED_EVERY: SignedDuration = SignedDuration::from_hours(1);

    /// Removes an entity, and remembers the time and the job.
    pub fn put(&self, batch: &mut Batch, target: Target, id: RemoteId) {
        drop_gone(batch, target, id);
        REMOVALS.put(batch, &target, &id, self);
    }

    /// Whether the service may still show the entity.
    pub fn lasts(&self, now: Timestamp) -> bool {
        now.duration_since(self.at).abs() < Self::LASTS
    }

    /// The removal of an entity, where it is remembered.
    pub fn of(store: &Store, target: Target, id: RemoteId) -> Result<Option<Self>, store::Error> {
        REMOVALS.get(store, &target, &id)
    }

    /// The removals that are remembered, by id.
    pub fn list(store: &Store, target: Target) -> Result<Vec<(RemoteId, Self)>, store::Error> {
        REMOVALS.list(store, &target)
    }

    /// Forgets those that are older than that and were carried out, once in an hour: each time all of them are looked at.
    pub fn prune(store: &Store, target: Target, now: Timestamp) -> Result<(), store::Error> {
        let last: Option<Timestamp> = store.meta(MetaKey::Pruned(target))?;
        if last.is_some_and(|last| now.duration_since(last).abs() < Self::PRUNED_EVERY) {
            return Ok(());
        }
        let removals = Self::list(store, target)?;
        if removals.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::default();
        batch.put_meta(MetaKey::Pruned(target), &now);
        for (id, _) in removals.iter().filter(|(_, removal)| now.duration_since(removal.at) > Self::KEPT) {
            // Each run says that the service still has them, for as long as it does.
            let is_there = ENTITIES.get(store, &target, id)?.is_some() && Owner::of(store, target, *id)?.is_none();
            if !is_there {
                REMOVALS.remove(&mut batch, &target, id);
            }
        }
        store.commit(batch)
    }
}

pub(super) fn kept(mut entity: Entity, fields: &BTreeSet<String>) -> Entity {
    entity.fields.retain(|name, value| !value.is_empty() && fields.contains(name.as_str()));
    entity
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Key;
    use crate::snapshot::{DIRTY, Index};

    /// Else a process that ends right after it would leave a record that counts as unchanged.
    #[test]
    fn law_5_what_was_seen_to_move_is_stored_with_the_marks_of_its_records() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let job = JobName::new("employees").unwrap();
        // One that is stored by itself, and enough of them to be stored all at once.
        for count in [1, 500] {
            let ids: Vec<RemoteId> = (1..=count).map(|id| RemoteId::new(id).unwrap()).collect();
            let mut batch = Batch::default();
            for id in &ids {
                Owner { job: job.clone(), key: Key::new(&id.to_string()).unwrap() }.put(&mut batch, Target::Staff, *id);
            }
            store.commit(batch).unwrap();
            Index::save(&store, &job, std::iter::empty()).unwrap();
            assert!(Index::is_current(&store, &job).unwrap());
            let mut found: PulledEntities =
                ids.iter().map(|id| (*id, Some(b"{}".to_vec().into_boxed_slice()))).collect();
            let mut bulk = store.bulk_load();
            gather(&mut found, &store, Target::Staff, &mut bulk).unwrap();
            bulk.commit().unwrap();
            let mut marked = 0;
            DIRTY.each(&store, &job, |_, ()| marked += 1).unwrap();
            assert_eq!(marked, count);
        }
    }
}
