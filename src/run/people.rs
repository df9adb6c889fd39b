//! The limit on leavers of a job with parts: it is about people, whichever part of them goes.
//!
//! Whoever loses a membership and whoever leaves altogether are one set; it is held as a whole or goes as a whole.

use std::collections::{BTreeMap, BTreeSet};

use super::Context;
use super::error::Error;
use super::leave::left_lately;
use super::prepare::Prepared;
use crate::config::Job;
use crate::plan::{Base, Held, leavers_held};
use crate::record::{Key, Target, Value};
use crate::snapshot::{Index, Known};
use crate::store::{self, Store};

/// Holds the leavers of all parts where they are too many people together.
pub(super) fn share(context: &Context<'_>, job: &Job, all: &mut [Prepared]) -> Result<(), Error> {
    if all.len() < 2 {
        return Ok(());
    }
    let store = context.store;
    let mut people = BTreeSet::new();
    let (mut lately, mut staying) = (0, 0);
    for prepared in all.iter() {
        let index = Index::load(store, &prepared.job)?;
        let (left, stay) = left_lately(store, prepared.target, &prepared.job, &index, context.clock.now())?;
        // Who left altogether lost their memberships too.
        lately = lately.max(left.len() as u64);
        if prepared.job == job.name {
            staying = stay;
        }
        for (change, approved) in &prepared.go {
            if change.wish.leaves() && !approved {
                people.extend(person(store, prepared, &change.key)?);
            }
        }
        for held in prepared.held.iter().filter(|held| held.change.as_ref().is_some_and(|it| it.wish.leaves())) {
            people.extend(person(store, prepared, &held.key)?);
        }
    }
    hold_pairs(store, job, all)?;
    let known = (Index::load(store, &job.name)?.len() as u64).saturating_sub(staying);
    let base = Base { known, matched: 0, removed: lately };
    let Some(reason) = leavers_held(people.len() as u64, &job.limits, base) else { return Ok(()) };
    for prepared in all {
        let (leaves, go): (Vec<_>, Vec<_>) = std::mem::take(&mut prepared.go)
            .into_iter()
            .partition(|(change, approved)| change.wish.leaves() && !approved);
        prepared.go = go;
        prepared.held.extend(leaves.into_iter().map(|(change, _)| Held {
            key: change.key.clone(),
            reason: reason.clone(),
            change: Some(change),
            other: None,
        }));
    }
    Ok(())
}

/// Holds the memberships of those whose own leaving is held, for the same reason.
fn hold_pairs(store: &Store, job: &Job, all: &mut [Prepared]) -> Result<(), Error> {
    let own = all.iter().find(|prepared| prepared.job == job.name);
    let held: BTreeMap<Key, String> = own
        .into_iter()
        .flat_map(|prepared| &prepared.held)
        .filter(|held| held.change.as_ref().is_some_and(|change| change.wish.leaves()))
        .map(|held| (held.key.clone(), held.reason.clone()))
        .collect();
    for prepared in all.iter_mut().filter(|prepared| prepared.target == Target::Membership) {
        let mut go = Vec::new();
        for (change, approved) in std::mem::take(&mut prepared.go) {
            let person = if change.wish.leaves() { person(store, prepared, &change.key)? } else { None };
            match person.and_then(|person| held.get(&person)).filter(|_| !approved) {
                Some(reason) => {
                    let (key, reason) = (change.key.clone(), reason.clone());
                    prepared.held.push(Held { key, reason, change: Some(change), other: None });
                }
                None => go.push((change, approved)),
            }
        }
        prepared.go = go;
    }
    Ok(())
}

/// The key of the person whom a leaver of a part is about.
fn person(store: &Store, prepared: &Prepared, key: &Key) -> Result<Option<Key>, store::Error> {
    if prepared.target != Target::Membership {
        return Ok(Some(key.clone()));
    }
    let known = Known::get(store, &prepared.job, key)?;
    let member = known.and_then(|known| known.sent.get(Target::MEMBER).and_then(Value::as_text).and_then(Key::new));
    Ok(Some(member.unwrap_or_else(|| key.clone())))
}
