//! The limits on leavers and on updates of a job with parts: they are about people, whichever part of them goes or changes.
//!
//! People who lose a membership and people who leave altogether are one set; it is held as a whole or goes as a whole.
//! So are those who change and those who go from one organization to another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::detect::left_lately;
use super::organization_transfers;
use crate::config::Job;
use crate::plan::{Base, Held, Judged, Outline, Verdict, leavers_held, updates_held};
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::JobPlan;
use crate::reconcile::model::missing_people::Missed;
use crate::record::{Key, Target};
use crate::snapshot::{Index, SyncedRecord};
use crate::store::{self, Store};

/// Holds the leavers of all parts where they are too many people together, and likewise the updates.
pub(crate) fn share(context: &Context<'_>, job: &Job, all: &mut [JobPlan]) -> Result<(), Error> {
    if all.len() < 2 {
        return Ok(());
    }
    share_leavers(context, job, all)?;
    share_updates(job, all);
    all.iter_mut().for_each(organization_transfers::keep_together);
    Ok(())
}

/// The people that `changes` of one part of a job change, without those that a person decided on. A job without parts
/// has nothing to share them with.
pub(crate) fn updated(job: &Job, changes: &[Outline], verdicts: &BTreeMap<Key, Verdict>) -> BTreeSet<Key> {
    let has_parts = job.memberships.is_some() || job.name.is_part();
    let open = |change: &&Outline| match verdicts.get(change.key()) {
        Some(Verdict::Approved(wish) | Verdict::Rejected(wish)) => *wish != change.wish(),
        None => true,
    };
    let person = |change: &Outline| {
        is_update(job.mapping.target, change).then(|| change.part_of().unwrap_or(&change.key).clone())
    };
    changes.iter().filter(|_| has_parts).filter(open).filter_map(person).collect()
}

/// Whether a change of a part is an update of a person.
fn is_update(target: Target, change: &Outline) -> bool {
    change.part_of().is_some() || target == Target::Contractor && change.is_known() && !change.leaves()
}

fn share_updates(job: &Job, all: &mut [JobPlan]) {
    let base = all.iter().find(|prepared| prepared.job == job.name).map(|own| own.updates.base).unwrap_or_default();
    let people: BTreeSet<&Key> = all.iter().flat_map(|prepared| &prepared.updates.updated).collect();
    let Some(reason) = updates_held(people.len() as u64, &job.limits, base) else { return };
    for prepared in all {
        let target = prepared.target;
        let open = prepared.go.extract_if(.., |change| is_update(target, change) && !change.is_approved());
        prepared.held.extend(open.map(|change| Held::change(change, &reason)));
    }
}

fn share_leavers(context: &Context<'_>, job: &Job, all: &mut [JobPlan]) -> Result<(), Error> {
    let store = context.store;
    let now = context.clock.now();
    let mut people = BTreeSet::new();
    // Who was released leaves with all memberships.
    let own = all.iter().find(|prepared| prepared.job == job.name);
    let released = own.iter().flat_map(|own| &own.go).filter(|change| change.leaves() && change.is_approved());
    let released: BTreeSet<Key> = released.map(|change| change.key.clone()).collect();
    let (mut lately, mut staying) = (0, 0);
    for prepared in all.iter() {
        let index = Index::load(store, &prepared.job)?;
        let (left, stay) = left_lately(store, prepared.target, &prepared.job, &index, now)?;
        // Who left altogether lost their memberships too.
        lately = lately.max(left.len() as u64);
        if prepared.job == job.name {
            staying = stay;
        }
        for change in prepared.go.iter().filter(|change| change.leaves() && !change.is_approved()) {
            people.extend(person(store, prepared, &change.key)?.filter(|person| !released.contains(person)));
        }
        // Whose grace runs does not leave yet.
        let waits = |one: &&Missed| one.due.is_none_or(|due| due > now);
        let early: BTreeSet<&Key> = prepared.missed.iter().filter(waits).map(|one| &one.key).collect();
        let leaves = |held: &&Held<Outline>| held.change.as_ref().is_some_and(Judged::leaves);
        for held in prepared.held.iter().filter(leaves).filter(|held| !early.contains(&held.key)) {
            people.extend(person(store, prepared, &held.key)?);
        }
    }
    hold_pairs(store, job, all)?;
    let known = (Index::load(store, &job.name)?.len() as u64).saturating_sub(staying);
    let base = Base { known, matched: 0, removed: lately };
    let Some(reason) = leavers_held(people.len() as u64, &job.limits, base) else { return Ok(()) };
    for prepared in all {
        let mut go = Vec::new();
        for change in std::mem::take(&mut prepared.go) {
            let stays = !change.leaves() || change.is_approved();
            match stays || person(store, prepared, &change.key)?.is_some_and(|person| released.contains(&person)) {
                true => go.push(change),
                false => prepared.held.push(Held::change(change, &reason)),
            }
        }
        prepared.go = go;
    }
    Ok(())
}

/// Holds the memberships of those whose own leaving is held, for the same reason.
fn hold_pairs(store: &Store, job: &Job, all: &mut [JobPlan]) -> Result<(), Error> {
    let own = all.iter().find(|prepared| prepared.job == job.name);
    let held: BTreeMap<Key, Arc<str>> = own
        .into_iter()
        .flat_map(|prepared| &prepared.held)
        .filter(|held| held.change.as_ref().is_some_and(Judged::leaves))
        .map(|held| (held.key.clone(), held.reason.clone()))
        .collect();
    for prepared in all.iter_mut().filter(|prepared| prepared.target == Target::Membership) {
        let mut go = Vec::new();
        for change in std::mem::take(&mut prepared.go) {
            let person = if change.leaves() { person(store, prepared, &change.key)? } else { None };
            match person.and_then(|person| held.get(&person)).filter(|_| !change.is_approved()) {
                Some(reason) => prepared.held.push(Held::change(change, reason)),
                None => go.push(change),
            }
        }
        prepared.go = go;
    }
    Ok(())
}

/// The key of the person that a leaver of a part belongs to.
fn person(store: &Store, prepared: &JobPlan, key: &Key) -> Result<Option<Key>, store::Error> {
    if prepared.target != Target::Membership {
        return Ok(Some(key.clone()));
    }
    let known = SyncedRecord::get(store, &prepared.job, key)?;
    let member = known.and_then(|known| organization_transfers::member(&known.sent));
    Ok(Some(member.unwrap_or_else(|| key.clone())))
}
