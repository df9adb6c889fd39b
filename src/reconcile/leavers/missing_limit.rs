//! Known people who are missing from a complete read: who they are, since when, and the notice before any grace ends.
//!
//! A filter that was left on in an export looks like an orderly file of fewer people. The guard on removals acts when
//! the grace ends; that is too late for the person who could correct the file today. So those who are missing are
//! counted from the first complete read on: over `max_missing` their removal is held at once, whenever it is due, and a
//! person says whether they are gone or the source was wrong.
//!
//! Invariants:
//! - Who is missing since a job was changed waits for a person however few they are: another filter or base shows others (law 7).
//! - Missing people are counted, shown and reported with every action; only what would remove or change them is held.
//! - Whose grace is over is judged by `max_leavers` first: that one says how many may go in a day.
//! - Who is protected is shown as missing and does not count for the limit: nothing removes them.
//! - Who was released is removed when the grace is over, not before. Whose removal was rejected stays until they come back.
//! - A person whose own row says that they are gone, or whose entity another record claims, is not missing.
//! - If nothing is read, because no file waits in an inbox, the missing people are those of the last complete read,
//!   without those that a person decided on or who left since: every view says the same of them as after that read.

use std::collections::{BTreeMap, BTreeSet};

use super::detect::{LeaverDetector, Leavers};
use crate::config::{Job, Mode};
use crate::mirror::Mirror;
use crate::plan::{Change, HoldReason, LeaverAction, ManyMissing, Verdict};
use crate::reconcile::approval::held::{self, HELD};
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_fields::{leaver_set, protection};
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::missing_people::{Missed, Missing, staying};
use crate::reconcile::restored_state;
use crate::record::{JobName, Key};
use crate::snapshot::Index;
use crate::store::{self, Store};

impl Missing {
    /// The report on people who are missing from a read; `None` if no one is.
    pub(crate) fn of(
        missed: &[Missed],
        known: u64,
        detector: &LeaverDetector<'_>,
        judged: &LimitResult,
    ) -> Option<Self> {
        let (target, action) = (detector.job.mapping.target, detector.job.leavers.action);
        let since = missed.iter().map(|one| one.since).min()?;
        let due = missed.iter().filter_map(|one| one.due).min();
        let people = missed.len() as u64;
        let too_many = judged.held.is_some() || judged.note.is_some();
        let (stay, waiting) = (staying(missed), judged.since_change.len() as u64);
        let removed = action == LeaverAction::Delete;
        Some(Self { people, of: known, target, since, due, stay, waiting, removed, too_many })
    }
}

/// What the limit says about people who are missing from a read.
#[derive(Default)]
pub(crate) struct LimitResult {
    /// Where they are too many: what would become of those whose grace runs, and why it waits for a person.
    pub(crate) held: Option<(Vec<Change>, HoldReason)>,
    /// The same for those who are due: their keys.
    pub(crate) due: BTreeSet<Key>,
    /// Of a job that was changed: what would become of those whose grace runs since then.
    pub(crate) since_change: Vec<Change>,
    /// Keys on which a person decided already, before it is due.
    pub(crate) decided: BTreeSet<Key>,
    /// What is worth telling where nothing is held.
    pub(crate) note: Option<String>,
}

/// Holds the removals of people who are missing from a read if they are too many of the `known` people, or if the job
/// `is_changed` and did not miss them before.
pub(crate) fn judge(
    detector: &LeaverDetector<'_>,
    departed: &Leavers,
    known: u64,
    is_changed: bool,
    verdicts: &BTreeMap<Key, Verdict>,
) -> Result<LimitResult, Error> {
    let mut judged = LimitResult { decided: decided(detector, departed, verdicts)?, ..LimitResult::default() };
    let is_kept = detector.job.leavers.action == LeaverAction::Keep;
    let is_open = |one: &&Missed| !judged.decided.contains(&one.key) && (is_kept || one.due.is_some());
    let open = departed.missed.iter().filter(is_open);
    let people = open.clone().count() as u64;
    let Some(allowed) = detector.job.limits.missing.allows(known).filter(|allowed| people > *allowed) else {
        let due: BTreeSet<&Key> = departed.changes.iter().map(|change| &change.key).collect();
        for Missed { key, .. } in open.filter(|one| is_changed && !is_kept && !due.contains(&one.key)) {
            if is_since_change(detector.store, &detector.job.name, detector.index, key)? {
                judged.since_change.extend(detector.fate(key)?);
            }
        }
        return Ok(judged);
    };
    let many = detector.job.mapping.target.plural().to_owned();
    let what = ManyMissing { missing: people, known, many, allowed };
    if is_kept {
        judged.note = Some(what.to_string());
        return Ok(judged);
    }
    judged.due = departed.changes.iter().map(|change| change.key.clone()).collect();
    let mut changes = Vec::new();
    for Missed { key, .. } in open.filter(|one| !judged.due.contains(&one.key)) {
        changes.extend(detector.fate(key)?);
    }
    let is_missed = |key: &Key| departed.missed.binary_search_by(|one| one.key.cmp(key)).is_ok();
    judged.due.retain(|key| !judged.decided.contains(key) && is_missed(key));
    judged.held = Some((changes, HoldReason::MaxMissing(what)));
    Ok(judged)
}

/// Whether someone who is missing from the read of a changed job was not missed before, or is held since.
pub(crate) fn is_since_change(store: &Store, job: &JobName, index: &Index, key: &Key) -> Result<bool, store::Error> {
    let was_missed = index.by_key(key.as_str()).is_some_and(|at| index.entry(at).gone);
    Ok(!was_missed || HELD.get(store, job, key)?.is_some())
}

/// The keys that a person decided on already.
fn decided(
    detector: &LeaverDetector<'_>,
    departed: &Leavers,
    verdicts: &BTreeMap<Key, Verdict>,
) -> Result<BTreeSet<Key>, Error> {
    let mut decided = BTreeSet::new();
    for Missed { key, .. } in &departed.missed {
        if let Some(Verdict::Approved(wish) | Verdict::Rejected(wish)) = verdicts.get(key)
            && detector.fate(key)?.is_some_and(|change| change.wish.digest() == *wish)
        {
            decided.insert(key.clone());
        }
    }
    Ok(decided)
}

/// Takes the end of the grace from those whose removal was rejected: they stay until they come back.
pub(crate) fn let_stay(missed: &mut [Missed], decided: &BTreeSet<Key>, verdicts: &BTreeMap<Key, Verdict>) {
    for one in missed.iter_mut().filter(|one| decided.contains(&one.key)) {
        one.due = one.due.filter(|_| !matches!(verdicts.get(&one.key), Some(Verdict::Rejected(_))));
    }
}

/// People who were missing from the last complete read, as far as they are known now.
#[derive(Default)]
pub(crate) struct Remembered {
    pub(crate) missed: Vec<Missed>,
    pub(crate) missing: Option<Missing>,
    /// What they are called; shown in plans alone (law 11).
    pub(crate) names: BTreeMap<Key, String>,
}

/// The missing people of the job while nothing is read.
pub(crate) fn remembered(context: &Context<'_>, job: &Job, mirror: &Mirror) -> Result<Remembered, Error> {
    let store = context.store;
    let told = JobState::load(store, &job.name)?.missing;
    let Some(told) = told.filter(|_| job.mode == Mode::Full) else { return Ok(Remembered::default()) };
    let (protection, set) = (protection(context)?, leaver_set(job));
    let now = context.now_for_leavers();
    let index = Index::load(store, &job.name)?;
    // Memberships are a part of a job, and are not counted as missing.
    let detector = LeaverDetector {
        job,
        store,
        mirror,
        index: &index,
        now,
        first: context.missed_since(now),
        copies: restored_state::copies(store)?,
        claimed: &BTreeSet::new(),
        named: &BTreeMap::new(),
        taken: &BTreeMap::new(),
        protection: &protection,
        set: &set,
        members: None,
    };
    let mut departed = Leavers::default();
    detector.missed_before(&(0..index.len()).collect::<Vec<_>>(), &mut departed)?;
    let verdicts = held::verdicts(store, &job.name)?;
    let judged = self::judge(&detector, &departed, told.of, false, &verdicts)?;
    let_stay(&mut departed.missed, &judged.decided, &verdicts);
    let mut missing = Missing::of(&departed.missed, told.of, &detector, &judged);
    for one in departed.missed.iter().filter(|one| one.due.is_some()) {
        let held = HELD.get(store, &job.name, &one.key)?;
        let waits = held.is_some_and(|held| matches!(held.reason, HoldReason::MappingChanged { .. }));
        missing.iter_mut().for_each(|missing| missing.waiting += u64::from(waits));
    }
    Ok(Remembered { missed: departed.missed, missing, names: departed.names })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RemoteId;

    #[test]
    fn a_grace_never_ends_for_those_whose_own_removal_was_rejected() {
        let key = |name: &str| Key::new(name).unwrap();
        let grace_ends = Some("2027-06-10T02:00:00Z".parse().unwrap());
        let (since, id) = ("2027-06-01T02:00:00Z".parse().unwrap(), RemoteId::new(5).unwrap());
        let missed = |name| Missed { key: key(name), id, since, due: grace_ends };
        let names = ["approved", "rejected", "rejected for something else", "undecided"];
        let mut all = names.map(missed);
        let decided = BTreeSet::from([key("approved"), key("rejected")]);
        let verdicts = BTreeMap::from([
            (key("approved"), Verdict::Approved(1)),
            (key("rejected"), Verdict::Rejected(1)),
            (key("rejected for something else"), Verdict::Rejected(1)),
        ]);
        let_stay(&mut all, &decided, &verdicts);
        assert_eq!(all.map(|one| one.due), [grace_ends, None, grace_ends, grace_ends]);
    }
}
