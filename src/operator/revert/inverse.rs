//! What one run did to one record, and the change that takes it back.

use std::collections::BTreeMap;

use crate::config::Job;
use crate::history::Changed;
use crate::mirror::Mirror;
use crate::plan::{Change, Delta, Deltas, Protection};
use crate::record::{Action, DesiredState, Entity, Field, FieldKind, Key, RemoteId, Target, Value};
use crate::snapshot::{Owner, SyncedRecord};
use crate::store::{self, Store};

/// Something that a run did and that is not undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReverted {
    /// The record.
    pub key: Key,
    /// The field; none where it is about the whole record.
    pub field: Option<String>,
    /// Why.
    pub reason: String,
}

/// What is true now.
pub(crate) struct RevertContext<'a> {
    pub(crate) job: &'a Job,
    pub(crate) store: &'a Store,
    pub(crate) mirror: &'a Mirror,
    /// The fields that the job maps.
    pub(crate) mapped: &'a [Field],
    pub(crate) protection: &'a Protection,
}

/// What one run did to one record.
pub(crate) struct InverseChange {
    id: Option<RemoteId>,
    pub(super) made: bool,
    pub(super) removed: bool,
    /// Before its first change of a field, and after its last; none where the values were dropped.
    fields: BTreeMap<String, Option<(Value, Value)>>,
}

impl InverseChange {
    /// What a run did, by record. A crash may have written a line twice.
    pub(crate) fn of(changes: &[Changed]) -> BTreeMap<Key, Self> {
        let mut all: BTreeMap<Key, Self> = BTreeMap::new();
        for changed in changes {
            let one = all.entry(changed.key.clone()).or_insert_with(|| Self {
                id: changed.id,
                made: false,
                removed: false,
                fields: BTreeMap::new(),
            });
            one.id = changed.id;
            one.made |= changed.action == Action::Create;
            one.removed = changed.action == Action::Delete;
            for (field, moved) in &changed.fields {
                let moved = moved.clone().map(|[before, after]| (before, after));
                match (one.fields.get_mut(field), moved) {
                    (Some(Some((_, last))), Some((_, after))) => *last = after,
                    (_, moved) => {
                        one.fields.insert(field.clone(), moved);
                    }
                }
            }
        }
        all
    }

    /// The change that takes it back, as far as what it left is still there; the rest is said in `untouched`.
    pub(crate) fn change(
        &self,
        key: &Key,
        ground: &RevertContext<'_>,
        untouched: &mut Vec<NotReverted>,
    ) -> Result<Option<Change>, store::Error> {
        let RevertContext { job, store, mirror, mapped, protection } = ground;
        let mut leave = |field: Option<&String>, reason: &str| {
            untouched.push(NotReverted { key: key.clone(), field: field.cloned(), reason: reason.to_owned() });
        };
        if self.removed {
            leave(
                None,
                "was removed, which can't be undone; who is in the source joins again by a sync, and by a file of changes that \
                 names them",
            );
            return Ok(None);
        }
        let known = SyncedRecord::get(store, &job.name, key)?;
        let Some((known, id)) = known.zip(self.id).filter(|(known, id)| known.id == *id) else {
            leave(None, "the record is no longer the person that the run changed");
            return Ok(None);
        };
        let owner = Owner::of(store, job.mapping.target, id)?;
        let Some(entity) = mirror.get(store, id)?.filter(|_| owner.is_some_and(|owner| owner.job == job.name)) else {
            leave(None, "the service does not have the person any more, or another job owns them");
            return Ok(None);
        };
        if self.made {
            if job.mapping.target == Target::Organization {
                leave(None, "the API has no operation that removes an organization");
                return Ok(None);
            }
            if protection.covers(job.mapping.target, key, Some(&known), &entity) {
                leave(None, Protection::REASON);
                return Ok(None);
            }
            return Ok(Some(wished(key, known, id, Action::Delete, Deltas::new())));
        }
        let mut deltas = Deltas::new();
        for (field, moved) in &self.fields {
            match restored(field, moved.as_ref(), &entity, mapped) {
                Ok(Some(delta)) => {
                    deltas.insert(field.into(), delta);
                }
                Ok(None) => {}
                Err(reason) => leave(Some(field), reason),
            }
        }
        if deltas.is_empty() {
            return Ok(None);
        }
        let mut change = wished(key, known, id, Action::Update, deltas);
        // What no answer shows must be sent as it was last sent, or the person could not be written at all.
        let hidden =
            mapped.iter().filter(|field| field.kind == FieldKind::Ids && !change.wish.fields.contains_key(&field.name));
        let known = SyncedRecord::get(store, &job.name, key)?;
        let sent = |field: &Field| known.as_ref()?.sent.get(&field.name).filter(|value| !value.is_empty()).cloned();
        let hidden: Vec<_> = hidden.filter_map(|field| Some((field.name.clone(), sent(field)?))).collect();
        change.wish.fields.extend(hidden);
        Ok(Some(change))
    }
}

fn wished(key: &Key, known: SyncedRecord, id: RemoteId, action: Action, deltas: Deltas) -> Change {
    let fields = deltas.iter().map(|(field, delta)| (field.clone(), delta.to.clone())).collect();
    let wish = DesiredState { action, id: Some(id), fields, leaver: false };
    Change { key: key.clone(), wish, fields: deltas, line: None, known: true, approved: false, marks: known.marks }
}

/// What puts a field back; nothing where it is as it was, and a reason where it is not touched.
fn restored(
    field: &str,
    moved: Option<&(Value, Value)>,
    entity: &Entity,
    mapped: &[Field],
) -> Result<Option<Delta>, &'static str> {
    let Some((before, after)) = moved else {
        return Err("its values were dropped from the history (retention.before_images)");
    };
    let Some(known) = mapped.iter().find(|known| known.name == field) else {
        return Err("the job does not map it any more, so it is the service's own");
    };
    if known.kind == FieldKind::Photo {
        return Err("photos are not kept, so the one before can't be put back; sync sends what the source has");
    }
    let value = entity.value(field);
    if known.kind.same(before, value) {
        return Ok(None);
    }
    if !known.kind.same(after, value) {
        return Err("it was changed after that run");
    }
    if known.required && before.is_empty() {
        return Err("it was empty before, and must not be");
    }
    Ok(Some(Delta { from: value.clone(), to: before.clone() }))
}
