//! What is kept of the members and organizations of memberships that begin later.
//!
//! A row of a file of changes names a person, an organization and what joins the two, and where it counts from a later day on,
//! something is kept of each. A row about another pair says nothing of that: a member and an organization are kept for as long as
//! a pair of theirs is, and count from the first day of those on.
//!
//! Rejected: to keep whole rows, and to map them again on their day. A file of changes is not kept, and the mapping may be another one by
//! then.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Job, Mode};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::kept_record::{KeptRecord, LATER};
use crate::reconcile::model::part_draft::PartDraft;
use crate::record::{Day, Key};
use crate::store::Store;

/// From when to when pairs count that begin later.
struct Span {
    from: Option<Day>,
    due: Option<Day>,
}

/// Keeps the halves of all pairs that begin later, and no others.
pub(crate) fn keep(store: &Store, job: &Job, drafts: &mut [PartDraft]) -> Result<(), Error> {
    let Some(memberships) = job.memberships.as_ref().filter(|_| job.mode == Mode::Changes) else { return Ok(()) };
    let Some(pairs) = drafts.iter().find(|draft| *draft.job() == memberships.name) else { return Ok(()) };
    let updates = &pairs.rest.updates;
    let mut kept: BTreeMap<Key, Span> = BTreeMap::new();
    let span = |record: &KeptRecord| Span { from: record.from, due: record.marks.due };
    LATER.each(store, &memberships.name, |pair, record| {
        if !updates.later_ended.contains(&pair) {
            kept.insert(pair, span(&record));
        }
    })?;
    kept.extend(updates.later.iter().map(|(pair, record)| (pair.clone(), span(record))));
    let (members, organizations) = halves(&kept);
    let ended = updates.later_ended.iter().filter_map(Key::split_membership);
    let (ended_members, ended_organizations): (BTreeSet<Key>, BTreeSet<Key>) = ended.unzip();
    for draft in drafts {
        if *draft.job() == job.name {
            keep_half(store, draft, &members, &ended_members)?;
        } else if job.organizations.as_ref().is_some_and(|part| *draft.job() == part.name) {
            keep_half(store, draft, &organizations, &ended_organizations)?;
        }
    }
    Ok(())
}

/// The members and the organizations of pairs, with the days of those of their pairs that begin first.
fn halves(pairs: &BTreeMap<Key, Span>) -> (BTreeMap<Key, Span>, BTreeMap<Key, Span>) {
    let (mut members, mut organizations) = (BTreeMap::new(), BTreeMap::new());
    for (pair, Span { from, due }) in pairs {
        let Some((member, organization)) = pair.split_membership() else { continue };
        for (halves, half) in [(&mut members, member), (&mut organizations, organization)] {
            let whole: &mut Span = halves.entry(half).or_insert(Span { from: *from, due: *due });
            match from.cmp(&whole.from) {
                Ordering::Less => *whole = Span { from: *from, due: *due },
                Ordering::Equal => whole.due = whole.due.zip(*due).map(|(one, other)| one.max(other)),
                // It is kept again once the first has begun.
                Ordering::Greater => {}
            }
        }
    }
    (members, organizations)
}

/// Keeps what is known last of each half of `spans`, and ends those of `ended` pairs that have no other.
fn keep_half(
    store: &Store,
    draft: &mut PartDraft,
    spans: &BTreeMap<Key, Span>,
    ended: &BTreeSet<Key>,
) -> Result<(), Error> {
    let mut begun = std::mem::take(&mut draft.rest.updates.later);
    for (key, span) in spans {
        let record = match begun.remove(key) {
            Some(record) => Some(record),
            None => KeptRecord::of(key, &draft.rest)?,
        };
        let record = match record {
            Some(record) => Some(record),
            None => LATER.get(store, draft.job(), key)?,
        };
        let Some(mut record) = record else { continue };
        (record.from, record.marks.due, record.then) = (span.from, span.due, None);
        draft.rest.updates.later_ended.remove(key);
        draft.rest.updates.later.insert(key.clone(), record);
    }
    draft.rest.updates.later.extend(begun);
    for key in ended.iter().filter(|key| !spans.contains_key(key)) {
        if LATER.get(store, draft.job(), key)?.is_some() {
            draft.rest.updates.later_ended.insert(key.clone());
        }
    }
    Ok(())
}
