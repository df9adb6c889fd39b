//! People who go from one organization to another: a membership of theirs ends in the read in which another begins.
//!
//! The two are one update of one person. The limit on updates judges it, not the one on leavers, and what is sent is
//! both or neither: no one gets another person's organization because a column was sorted separately, and no one is
//! left without one.
//!
//! Invariants:
//! - What ends for another membership needs no grace: the person is there, and their row says where they are now. It does
//!   take a complete read (law 1).
//! - What begins is sent first. What ends goes once all that begins for its person is confirmed.
//! - Which membership took the place of one that ends is remembered, so that the end stays a part of the same update where
//!   it is sent by a later run.
//! - A decision on one part is a decision on all of them.
//!
//! A person who gains a further membership, or loses one without another, is no such case.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Job, Mode};
use crate::plan::{Guarded, HoldReason, Judged as _, Outline, Present};
use crate::push::{Drained, Outcome};
use crate::queue::Ticket;
use crate::reconcile::correlate::classify::Classified;
use crate::reconcile::model::candidate::Candidate;
use crate::reconcile::model::change_spill::ChangeSpill;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::JobPlan;
use crate::reconcile::model::part_draft::PartDraft;
use crate::record::{Action, JobName, Key, Target, Value, Values};
use crate::snapshot::{Index, SyncedRecord};
use crate::store::{self, Store};

/// Memberships that begin with a read.
#[derive(Default)]
pub(crate) struct NewMemberships {
    /// Their keys, by their members.
    begun: BTreeMap<Key, Vec<Key>>,
    /// The members with a row of which it can't be said which membership it is.
    unsure: BTreeSet<Key>,
}

impl NewMemberships {
    /// Those whose keys the job did not know, or missed before, by their members.
    pub(crate) fn of(
        job: &Job,
        index: &Index,
        candidates: &[Candidate],
        stood: &Classified,
        spill: &ChangeSpill,
    ) -> Result<Self, Error> {
        let mut begun = BTreeMap::<Key, Vec<Key>>::new();
        if job.mapping.target != Target::Membership || index.is_empty() {
            return Ok(Self::default());
        }
        let unusable = stood.held.iter().filter(|held| held.change.is_none()).map(|held| &held.key);
        let unusable: BTreeSet<&Key> =
            unusable.chain(stood.rejected.iter().filter_map(|row| row.key.as_ref())).collect();
        let held = stood.held.iter().filter_map(|held| held.change.as_ref());
        let created = stood.changes.iter().chain(held).filter(|change| change.action == Action::Create);
        let created: BTreeSet<&Key> = created.map(|change| &change.key).collect();
        for candidate in candidates {
            // One that is at the service already, and not known since the state was lost, begins with no read.
            let begins = match index.by_key(candidate.key.as_str()) {
                Some(at) => index.entry(at).gone,
                None => created.contains(&candidate.key),
            };
            if !begins || unusable.contains(&candidate.key) {
                continue;
            }
            if let Some(member) = member(&candidate.open(spill)?.0.fields) {
                begun.entry(member).or_default().push(candidate.key.clone());
            }
        }
        let unknown = unusable.into_iter().filter(|key| index.by_key(key.as_str()).is_none());
        let unsure = unknown.filter_map(Key::member).collect();
        Ok(Self { begun, unsure })
    }

    /// Notes members with a row that names an organization of which it is doubtful which one it is.
    pub(crate) fn doubt(&mut self, members: impl IntoIterator<Item = Key>) {
        self.unsure.extend(members);
    }

    /// Whether a row of this member may be about a membership that seems to be gone from the source.
    pub(crate) fn is_unsure(&self, member: &Key) -> bool {
        self.unsure.contains(member)
    }

    /// The membership that took the place of one that is gone from the source.
    pub(crate) fn successor(&self, known: &SyncedRecord, index: &Index, seen: &Present) -> Option<Key> {
        let before = known.gone.as_ref().and_then(|gone| gone.successor.as_ref());
        let is_seen = |key: &&Key| index.by_key(key.as_str()).is_some_and(|at| seen.has(at));
        before.filter(is_seen).or_else(|| self.begun.get(&member(&known.sent)?)?.first()).cloned()
    }

    /// Notes which changes are parts of one update: a membership that begins for a member with another one that is not
    /// in the read, proven gone or not, and the one that `ended` for it.
    pub(crate) fn note(&self, changes: &mut [Outline], ended: &BTreeMap<Key, Key>, absent: &BTreeSet<Key>) {
        let begun: BTreeMap<&Key, &Key> = self
            .begun
            .iter()
            .filter(|(member, _)| absent.contains(*member))
            .flat_map(|(member, pairs)| pairs.iter().map(move |pair| (pair, member)))
            .collect();
        for change in changes {
            let person = match change.action {
                Action::Delete => ended.get(&change.key),
                Action::Create => begun.get(&change.key).copied(),
                Action::Update => None,
            };
            if let Some(person) = person {
                change.make_part_of(person.clone());
            }
        }
    }

    /// The members with a membership that begins and another one among those that are `absent` from the read.
    pub(crate) fn with_absent(
        &self,
        store: &Store,
        job: &JobName,
        absent: impl Iterator<Item = Key>,
    ) -> Result<BTreeSet<Key>, store::Error> {
        let mut members = BTreeSet::new();
        if self.begun.is_empty() {
            return Ok(members);
        }
        for key in absent {
            let known = SyncedRecord::get(store, job, &key)?;
            members
                .extend(known.and_then(|known| member(&known.sent)).filter(|member| self.begun.contains_key(member)));
        }
        Ok(members)
    }
}

/// The key of the member of a membership.
pub(crate) fn member(fields: &Values) -> Option<Key> {
    fields.get(Target::MEMBER).and_then(Value::as_text).and_then(Key::new)
}

/// Holds, of what is one update, the rest where a part is held or was rejected, or is not known.
pub(crate) fn keep_together(part: &mut PartDraft, mode: Mode) {
    let rejected = persons(&part.changes.rejected, Action::Create);
    // A file of changes says of each by itself what ends.
    if mode == Mode::Full {
        hold_lone_begins(&mut part.changes, part.rest.updates.judged_all);
        if !rejected.is_empty() {
            reject_ends(&mut part.changes, &rejected);
        }
    }
    hold_lone_ends(&mut part.changes, &rejected);
    let changes = &part.changes;
    let held = changes.held.iter().filter_map(|held| Some((held.change.as_ref()?.part_of()?, held.reason.clone())));
    let dropped = changes.rejected.iter().filter_map(|change| Some((change.part_of()?, HoldReason::OtherHalf)));
    let stays: BTreeMap<Key, HoldReason> =
        dropped.chain(held).map(|(person, reason)| (person.clone(), reason)).collect();
    if !stays.is_empty() {
        part.changes.hold(|change| stays.get(change.part_of()?).filter(|_| !change.is_approved()).cloned());
    }
}

/// Rejects what ends for the people of what begins and was `rejected`, where nothing else begins for them: it may have been rejected
/// before a complete read proved what ends.
fn reject_ends(changes: &mut Guarded<Outline>, rejected: &BTreeSet<Key>) {
    let held = changes.held.iter().filter_map(|held| held.change.as_ref());
    let open = persons(changes.go.iter().chain(held), Action::Create);
    let is_rejected = |change: &mut Outline| {
        let is_such = |person| rejected.contains(person) && !open.contains(person);
        change.action == Action::Delete && !change.is_approved() && change.part_of().is_some_and(is_such)
    };
    changes.rejected.extend(changes.go.extract_if(.., is_rejected));
}

/// Holds what ends for something that is held or was rejected, also where it was approved: that was another question.
fn hold_lone_ends(changes: &mut Guarded<Outline>, rejected: &BTreeSet<Key>) {
    changes.hold(|change| {
        let is_lone = |person| change.action == Action::Delete && change.is_approved() && rejected.contains(person);
        change.part_of().is_some_and(is_lone).then_some(HoldReason::EndsLater)
    });
    let held = changes.held.iter().filter_map(|held| Some((held.change.as_ref()?, held.reason.clone())));
    let begins = held.filter(|(change, _)| change.action == Action::Create);
    let begins: BTreeMap<Key, HoldReason> =
        begins.filter_map(|(change, reason)| Some((change.part_of()?.clone(), reason))).collect();
    if !begins.is_empty() {
        changes.hold(|change| begins.get(change.part_of()?).filter(|_| change.action == Action::Delete).cloned());
    }
}

/// Holds what begins for a member whose other membership is not in the read and does not end, be it that the rows of the members
/// prove no absence. An approval does not change that: it counts once both can go. Of a read that judged all, an end that waits
/// for something else holds nothing here.
fn hold_lone_begins(changes: &mut Guarded<Outline>, judged_all: bool) {
    let mut ends = persons(&changes.go, Action::Delete);
    if judged_all {
        let held = changes.held.iter().filter_map(|held| held.change.as_ref());
        ends.extend(persons(held.chain(&changes.rejected), Action::Delete));
    }
    let is_alone = |change: &Outline| {
        change.action == Action::Create && change.part_of().is_some_and(|person| !ends.contains(person))
    };
    changes.hold(|change| is_alone(change).then_some(HoldReason::HalfAlone));
}

/// Takes out of `tickets` what ends for something that begins.
pub(crate) fn take_ends(prepared: &JobPlan, tickets: &mut Vec<Ticket>) -> Vec<Ticket> {
    let ends: BTreeSet<&Key> = parts(&prepared.go, Action::Delete).map(|(_, key)| key).collect();
    tickets.extract_if(.., |ticket| ticket.action == Action::Delete && ends.contains(&ticket.key)).collect()
}

/// Those of them for whose people all that begins is at the service; that the others wait is noted.
pub(crate) fn ready(prepared: &JobPlan, ends: Vec<Ticket>, drained: &mut Drained) -> Vec<Ticket> {
    if ends.is_empty() {
        return ends;
    }
    let persons: BTreeMap<&Key, &Key> =
        parts(&prepared.go, Action::Delete).map(|(person, key)| (key, person)).collect();
    let made: BTreeSet<&Key> = drained.confirmed().map(|(key, _)| key).collect();
    let open: BTreeSet<&Key> =
        parts(&prepared.go, Action::Create).filter(|(_, key)| !made.contains(key)).map(|(person, _)| person).collect();
    let is_open = |ticket: &Ticket| persons.get(&ticket.key).is_some_and(|person| open.contains(person));
    let (wait, ready): (Vec<Ticket>, Vec<Ticket>) = ends.into_iter().partition(is_open);
    let outcome = match &drained.stopped {
        Some(reason) => Outcome::Undelivered(reason.clone()),
        None => Outcome::Waits(HoldReason::EndsLater),
    };
    drained.outcomes.extend(wait.into_iter().map(|ticket| (ticket.key, ticket.action, outcome.clone())));
    ready
}

/// The parts of updates of one kind, with the person of each.
fn parts<'a>(
    changes: impl IntoIterator<Item = &'a Outline>,
    action: Action,
) -> impl Iterator<Item = (&'a Key, &'a Key)> {
    let of_kind = changes.into_iter().filter(move |change| change.action == action);
    of_kind.filter_map(|one| Some((one.part_of()?, &one.key)))
}

/// Those of whose update a part is of this kind.
fn persons<'a>(changes: impl IntoIterator<Item = &'a Outline>, action: Action) -> BTreeSet<Key> {
    parts(changes, action).map(|(person, _)| person.clone()).collect()
}
