//! The limits on leavers and on updates of a job with parts: they are about people, whichever part of them goes or changes.
//!
//! People who lose a membership and people who leave altogether are one set; it is held as a whole or goes as a whole.
//! So are those who change and those who go from one organization to another.

use std::collections::{BTreeMap, BTreeSet};

use super::detect::left_lately;
use super::organization_transfers;
use crate::config::Job;
use crate::plan::{Base, Held, HoldReason, Judged, Outline, Verdict, leavers_held, updates_held};
use crate::reconcile::approval::held;
use crate::reconcile::model::context::{Context, KeyFilter};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::missing_people::Missed;
use crate::reconcile::model::part_draft::PartDraft;
use crate::record::{Key, Target};
use crate::snapshot::{Index, SyncedRecord};
use crate::store::{self, Store};

/// Holds the leavers of all parts where they are too many people together, and likewise the updates; and what is left open of
/// those that were too many before. A run that is `narrow` releases none of them.
pub(crate) fn share(context: &Context<'_>, job: &Job, all: &mut [PartDraft], narrow: &KeyFilter) -> Result<(), Error> {
    if all.len() >= 2 {
        share_leavers(context, job, all)?;
        share_updates(job, all);
    }
    hold_left_open(context.store, job, all, narrow)?;
    if all.len() >= 2 {
        all.iter_mut().for_each(|part| organization_transfers::keep_together(part, job.mode));
    }
    Ok(())
}

fn hold_left_open(store: &Store, job: &Job, all: &mut [PartDraft], narrow: &KeyFilter) -> Result<(), Error> {
    let released = released(job, all);
    for part in all {
        let name = part.job().clone();
        // Read after the decisions, since it is written before them.
        if !narrow.is_narrow() && !JobState::load(store, &name)?.partly_decided {
            continue;
        }
        let leaving = leaving(store, part)?;
        let is_released = |change: &Outline| {
            change.is_approved() || leaving.get(&change.key).is_some_and(|person| released.contains(person))
        };
        held::hold_left_open(&mut part.changes, store, &name, is_released)?;
    }
    Ok(())
}

/// The people that a person released to leave: they leave with all memberships.
fn released(job: &Job, all: &[PartDraft]) -> BTreeSet<Key> {
    let go = own(job, all).into_iter().flat_map(|own| &own.changes.go);
    go.filter(|change| change.leaves() && change.is_approved()).map(|change| change.key.clone()).collect()
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

/// The part of a job that holds its people.
fn own<'a>(job: &Job, all: &'a [PartDraft]) -> Option<&'a PartDraft> {
    all.iter().find(|part| *part.job() == job.name)
}

fn share_updates(job: &Job, all: &mut [PartDraft]) {
    let base = own(job, all).map(|own| own.base).unwrap_or_default();
    let people: BTreeSet<&Key> = all.iter().flat_map(|part| &part.updated).collect();
    let Some(reason) = updates_held(people.len() as u64, &job.limits, base) else { return };
    for part in all {
        let target = part.target();
        let is_open = |change: &Outline| is_update(target, change) && !change.is_approved();
        part.changes.hold(|change| is_open(change).then(|| reason.clone()));
    }
}

fn share_leavers(context: &Context<'_>, job: &Job, all: &mut [PartDraft]) -> Result<(), Error> {
    let store = context.store;
    let now_for_leavers = context.now_for_leavers();
    let mut people = BTreeSet::new();
    let released = released(job, all);
    let mut base = Base::default();
    for part in all.iter() {
        let index = Index::load(store, part.job())?;
        let (own, _) = left_lately(context, part.target(), part.job(), &index)?;
        // Who left altogether lost their memberships too.
        base.removed = base.removed.max(own.removed);
        if *part.job() == job.name {
            base.known = own.known;
        }
        people.extend(leaving(store, part)?.into_values().filter(|person| !released.contains(person)));
        // Whose grace runs does not leave yet.
        let waits = |one: &&Missed| one.due.is_none_or(|due| due > now_for_leavers);
        let early: BTreeSet<&Key> = part.rest.missed.iter().filter(waits).map(|one| &one.key).collect();
        let leaves = |held: &&Held<Outline>| held.change.as_ref().is_some_and(Judged::leaves);
        for held in part.changes.held.iter().filter(leaves).filter(|held| !early.contains(&held.key)) {
            people.insert(person(store, part, &held.key)?);
        }
    }
    hold_pairs(store, job, all)?;
    let Some(reason) = leavers_held(people.len() as u64, &job.limits, base) else { return Ok(()) };
    for part in all {
        let leaving = leaving(store, part)?;
        let is_held = |change: &Outline| leaving.get(&change.key).is_some_and(|person| !released.contains(person));
        part.changes.hold(|change| is_held(change).then(|| reason.clone()));
    }
    Ok(())
}

/// Holds the memberships of those whose own leaving is held, for the same reason.
fn hold_pairs(store: &Store, job: &Job, all: &mut [PartDraft]) -> Result<(), Error> {
    let held: BTreeMap<Key, HoldReason> = own(job, all)
        .into_iter()
        .flat_map(|own| &own.changes.held)
        .filter(|held| held.change.as_ref().is_some_and(Judged::leaves))
        .map(|held| (held.key.clone(), held.reason.clone()))
        .collect();
    for part in all.iter_mut().filter(|part| part.target() == Target::Membership) {
        let leaving = leaving(store, part)?;
        part.changes.hold(|change| held.get(leaving.get(&change.key)?).cloned());
    }
    Ok(())
}

/// The leavers of a part that no person released, each with the person that they belong to.
fn leaving(store: &Store, part: &PartDraft) -> Result<BTreeMap<Key, Key>, store::Error> {
    let open = part.changes.go.iter().filter(|change| change.leaves() && !change.is_approved());
    open.map(|change| Ok((change.key.clone(), person(store, part, &change.key)?))).collect()
}

/// The key of the person that a leaver of a part belongs to.
fn person(store: &Store, part: &PartDraft, key: &Key) -> Result<Key, store::Error> {
    if part.target() != Target::Membership {
        return Ok(key.clone());
    }
    let known = SyncedRecord::get(store, part.job(), key)?;
    let member = known.and_then(|known| organization_transfers::member(&known.sent));
    Ok(member.unwrap_or_else(|| key.clone()))
}
