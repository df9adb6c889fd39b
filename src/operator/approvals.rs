//! What a person decides on held changes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::held_set::{HeldSet, held_set};
use crate::clock::Clock;
use crate::config::Job;
use crate::history::{self, Audit};
use crate::plan::{Decided, HoldReason, Verdict};
use crate::queue::{self, Change, State};
use crate::reconcile::approval::held::{self, HELD, PendingApproval, held};
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::restored_state;
use crate::record::{Action, DesiredState, JobName, Key, RemoteId, Target};
use crate::snapshot::Owner;
use crate::store::{self, Batch, Store};

/// What is decided on: held changes of a job, as a person saw them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen<'a> {
    /// Which of them; all that are held where there is none.
    pub keys: Option<&'a BTreeSet<ChosenKey>>,
    /// The number of the set that the person saw, where it is known.
    pub set: Option<u64>,
    /// The digest of what was shown of it ([`HeldSet::digest`]), likewise.
    pub digest: Option<&'a str>,
}

/// A key that was chosen: in one part of a job, or wherever it is. A person and an organization may have the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChosenKey {
    /// The part; `None` for all of them.
    pub part: Option<JobName>,
    /// The key.
    pub key: Key,
}

impl Chosen<'_> {
    /// Whether a key of a part was named; false where all are meant.
    fn names(&self, part: &JobName, key: &Key) -> bool {
        self.keys.is_some_and(|keys| ChosenKey::are(keys, part, key))
    }

    /// Whether a person saw the set of which it is.
    fn is_of_set(&self) -> bool {
        self.set.is_some() || self.digest.is_some()
    }

    /// The keys that are named; none where all are meant.
    pub fn named(&self) -> BTreeSet<Key> {
        self.keys.into_iter().flatten().map(|chosen| chosen.key.clone()).collect()
    }
}

impl ChosenKey {
    /// A key, wherever it is.
    pub fn anywhere(key: Key) -> Self {
        Self { part: None, key }
    }

    /// Whether a key of this part may be meant.
    fn may_be_in(&self, part: &JobName) -> bool {
        self.part.as_ref().is_none_or(|own| own == part)
    }

    /// A key of one part, or a key wherever it is, as [`text`](Self::text) writes it.
    pub fn parse(job: &Job, text: &str) -> Option<Self> {
        let of_part = |part: &Job| {
            let key = text.strip_prefix(part.name.as_str())?.strip_prefix(' ')?;
            Some(Self { part: Some(part.name.clone()), key: Key::new(key)? })
        };
        let named = if job.parts().count() > 1 { job.parts().find_map(of_part) } else { None };
        named.or_else(|| Key::new(text).map(Self::anywhere))
    }

    /// How a key of a part is written: by itself where the job has one part only.
    pub fn text(job: &Job, part: &JobName, key: &Key) -> String {
        let key = key.as_str();
        if job.parts().count() > 1 { format!("{part} {key}") } else { key.to_owned() }
    }

    /// Whether this key of this part is among those that were chosen.
    pub fn are(chosen: &BTreeSet<Self>, part: &JobName, key: &Key) -> bool {
        [None, Some(part)].into_iter().any(|part| chosen.contains(&Self { part: part.cloned(), key: key.clone() }))
    }
}

/// Releases held changes. Returns the keys; none where none of them can be approved. A key that is named and was rejected, of which
/// nothing is held, is approved, too: it is what was rejected that is wanted then, and nothing else. So is one of which it was rejected
/// that its row is about the one whose key it has. What is held in place of something that was rejected is approved only once a run has
/// asked about it, or by the number or the digest of the set: until then its key approves what was rejected.
pub fn approve(store: &Store, clock: &Clock, job: &Job, chosen: &Chosen<'_>) -> Result<Vec<Key>, DecisionError> {
    decide(store, clock, job, chosen, Verdict::Approved)
}

/// Drops held changes, likewise; each stays dropped until its record changes or comes back. A key that is named and was
/// approved, of which nothing was sent so far, is rejected, too: who is missing is approved a whole grace before they leave. So is what a
/// file of changes said of a key that is named, where no one can say who that is.
pub fn reject(store: &Store, clock: &Clock, job: &Job, chosen: &Chosen<'_>) -> Result<Vec<Key>, DecisionError> {
    decide(store, clock, job, chosen, Verdict::Rejected)
}

/// Why a decision could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
    /// The state could not be read or written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The audit file could not be written; nothing was decided.
    #[error("the decision could not be written to the audit file; nothing was decided")]
    Audit(#[source] std::io::Error),
    /// Something else is held by now than what was seen.
    #[error("the held set is number {set} by now")]
    Changed {
        /// The number of what is held now.
        set: u64,
    },
    /// Nothing of that key is held.
    #[error("nothing of key {key} is held")]
    NotHeld {
        /// The key.
        key: Key,
        /// Memberships of that person that are held.
        memberships: Vec<Key>,
    },
    /// Different things of that key are held.
    #[error("key {key} is held more than once: of {}", .parts.join(" and of "))]
    Ambiguous {
        /// The key.
        key: Key,
        /// The parts of the job that hold it.
        parts: Vec<String>,
    },
    /// Nothing of that key is queued.
    #[error("nothing of key {key} is queued")]
    NotQueued {
        /// The key.
        key: Key,
    },
    /// Another record has the entity by now that this one would become, or was approved to become it (law 6).
    #[error("keys {key} and {other} would both be the entry with id {id}")]
    Claimed {
        /// The key.
        key: Key,
        /// The other one.
        other: Key,
        /// The entity.
        id: RemoteId,
    },
    /// There is nothing to decide but something to mend.
    #[error("key {key} can't be decided on: {reason}")]
    Mend {
        /// The key.
        key: Key,
        /// What is to be mended.
        reason: String,
    },
}

/// Whether what is held is what a person saw.
fn expect_unchanged(store: &Store, job: &Job, chosen: &Chosen<'_>) -> Result<(), DecisionError> {
    if chosen.set.is_none() && chosen.digest.is_none() {
        return Ok(());
    }
    let set = held_set(store, job)?;
    let differs = |digest: &str| Ok::<_, store::Error>(HeldSet::load(store, job)?.digest() != digest);
    if chosen.set.is_some_and(|seen| seen != set) || chosen.digest.map_or(Ok(false), differs)? {
        return Err(DecisionError::Changed { set });
    }
    Ok(())
}

/// Decides in every part of a job.
fn decide(
    store: &Store,
    clock: &Clock,
    job: &Job,
    choice: &Chosen<'_>,
    verdict: fn(u64) -> Verdict,
) -> Result<Vec<Key>, DecisionError> {
    let _alone = store.deciding();
    let is_rejection = matches!(verdict(0), Verdict::Rejected(_));
    expect_unchanged(store, job, choice)?;
    let mut chosen = Vec::new();
    let mut left_open = Batch::default();
    for part in job.parts() {
        let waiting = held(store, &part.name)?;
        let chosen_parts = waiting.iter().filter(|(key, _)| choice.names(&part.name, key));
        let people: BTreeSet<Key> = chosen_parts.filter_map(|(_, change)| change.part_of.clone()).collect();
        let is_part = |change: &PendingApproval| change.part_of.as_ref().is_some_and(|person| people.contains(person));
        let is_seen = is_rejection || choice.is_of_set();
        let (mut waiting, open): (BTreeMap<_, _>, BTreeMap<_, _>) = waiting.into_iter().partition(|(key, change)| {
            let is_meant = choice.keys.is_none() && (is_seen || change.rejected.is_none());
            is_meant || choice.names(&part.name, key) || is_part(change)
        });
        let mut leaves_open = false;
        for (key, change) in open {
            let is_alone = waiting.keys().any(|decided| change.reason.is_asked_with(decided));
            leaves_open |= is_alone || change.reason.is_limit();
            if is_alone {
                HELD.put(&mut left_open, &part.name, &key, &PendingApproval { alone: true, ..change });
            }
        }
        if !is_seen {
            for change in waiting.values_mut() {
                if let Some(rejected) = change.rejected.take() {
                    *change = *rejected;
                }
            }
        }
        chosen.push((part, waiting));
        if leaves_open {
            let state = JobState { partly_decided: true, ..JobState::load(store, &part.name)? };
            state.put(&mut left_open, &part.name);
        }
    }
    let mut turned = BTreeMap::new();
    for one in choice.keys.into_iter().flatten() {
        let parts = chosen.iter().filter(|(part, _)| one.may_be_in(&part.name));
        let held = parts.filter_map(|(part, waiting)| Some((part.name.to_string(), waiting.get(&one.key)?)));
        let held: Vec<(String, &PendingApproval)> = held.collect();
        turned.extend(to_turn_over(store, job, one, &held, is_rejection)?);
    }
    for (part, waiting) in chosen.iter().filter(|_| !is_rejection) {
        expect_one_each(store, part, waiting)?;
    }
    // Before any decision: no run may see one and not that others are left open, in whichever part, whatever ends this process.
    store.commit(left_open)?;
    // What one command decided has one time, by which it is shown as one.
    let at = clock.now();
    let mut decided = turn_over(store, at, job, turned)?;
    for (part, waiting) in chosen {
        decided.extend(decide_part(store, at, (part, choice), waiting, verdict)?);
    }
    Ok(decided)
}

/// The earlier decisions on a key that is named which this one turns over: those on a key of which nothing is `held`, and the rejection
/// that a row is about the one whose key it has. Fails where nothing can be decided on it.
fn to_turn_over(
    store: &Store,
    job: &Job,
    one: &ChosenKey,
    held: &[(String, &PendingApproval)],
    is_rejection: bool,
) -> Result<BTreeMap<(JobName, Key), Decided>, DecisionError> {
    let key = &one.key;
    let is_own_key_asked = held.iter().any(|(_, change)| change.reason == HoldReason::NeedsOwnKey);
    if held.is_empty() || (!is_rejection && is_own_key_asked) {
        let mut found = BTreeMap::new();
        for part in job.parts().filter(|part| one.may_be_in(&part.name)) {
            found.extend(match is_rejection {
                true => approvals(store, &part.name, key)?,
                false => of_update(store, (&part.name, key), |verdict| matches!(verdict, Verdict::Rejected(_)))?,
            });
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let mode = job.mode;
    let open = held.iter().filter(|(_, one)| one.action.is_some() || (is_rejection && one.can_be_dropped(mode)));
    let parts: Vec<String> = open.map(|(part, _)| part.clone()).collect();
    let key = key.clone();
    match (held, parts.len()) {
        ([], _) => {
            let memberships = held::held(store, &job.name.part(Target::Membership))?.into_keys();
            let memberships = memberships.filter(|pair| pair.member().as_ref() == Some(&key)).collect();
            Err(DecisionError::NotHeld { key, memberships })
        }
        ([(_, first), ..], 0) => Err(DecisionError::Mend { key, reason: first.reason.to_string() }),
        (_, 1) => Ok(BTreeMap::new()),
        _ => Err(DecisionError::Ambiguous { key, parts }),
    }
}

/// Fails where a change would take an entity that another record has taken since it was held, or was approved to take (law 6).
fn expect_one_each(store: &Store, part: &Job, chosen: &BTreeMap<Key, PendingApproval>) -> Result<(), DecisionError> {
    let mut taken = BTreeMap::new();
    queue::DECISIONS.each(store, &part.name, |key, decided| {
        let is_answer = decided.is_answer && matches!(decided.verdict, Verdict::Approved(_));
        taken.extend(decided.id.filter(|_| is_answer).map(|id| (id, key)));
    })?;
    for (key, change) in chosen.iter().filter(|(_, change)| change.action == Some(Action::Update)) {
        let Some(id) = change.change.as_ref().and_then(|wish| wish.id).filter(|_| change.undo.is_none()) else {
            continue;
        };
        let owner = Owner::besides(store, part.mapping.target, id, (&part.name, key))?;
        let owner = owner.filter(|owner| change.from.as_ref() != Some(owner)).map(|owner| owner.key);
        let approved = if change.reason.is_question() { taken.insert(id, key.clone()) } else { None };
        if let Some(other) = owner.or(approved).filter(|other| other != key) {
            return Err(DecisionError::Claimed { key: key.clone(), other, id });
        }
    }
    Ok(())
}

/// Writes a decision down, which counts only after that.
pub(super) fn write_down(
    audit: &Audit,
    at: Timestamp,
    decision: &str,
    (job, key): (&JobName, &Key),
) -> Result<(), DecisionError> {
    let (job, key) = (Some(job.clone()), Some(key.clone()));
    let decided = history::Decided { job, key, ..history::Decided::new(at, decision) };
    audit.append(decided).map_err(DecisionError::Audit)
}

/// What was approved of a key and is not sent so far, by part and key, with the rest of what is one update.
fn approvals(store: &Store, part: &JobName, key: &Key) -> Result<BTreeMap<(JobName, Key), Decided>, DecisionError> {
    let all = of_update(store, (part, key), |verdict| matches!(verdict, Verdict::Approved(_)))?;
    let mut is_sent = all.len() == 1 && all.values().any(|named| named.part_of.is_some());
    for (_, one) in all.keys() {
        is_sent |= queue::get(store, part, one)?.is_some_and(|change| matches!(change.state, State::Sent { .. }));
    }
    match is_sent {
        true => Err(DecisionError::Mend { key: key.clone(), reason: "it, or its other half, is sent".to_owned() }),
        false => Ok(all),
    }
}

/// What was decided of a key with such a verdict, with the rest of what is one update.
fn of_update(
    store: &Store,
    (part, key): (&JobName, &Key),
    is_such: impl Fn(&Verdict) -> bool,
) -> Result<BTreeMap<(JobName, Key), Decided>, store::Error> {
    let mut all = BTreeMap::new();
    let named = queue::DECISIONS.get(store, part, key)?;
    let Some(named) = named.filter(|decided| is_such(&decided.verdict)) else { return Ok(all) };
    queue::DECISIONS.each(store, part, |one, decided| {
        let is_of_update = named.part_of.is_some() && decided.part_of == named.part_of;
        if one == *key || (is_of_update && is_such(&decided.verdict)) {
            all.insert((part.clone(), one), decided);
        }
    })?;
    Ok(all)
}

/// Rejects what was approved, and approves what was rejected. For the latter the last file of an inbox is looked at once more: no other
/// one need come.
fn turn_over(
    store: &Store,
    at: Timestamp,
    job: &Job,
    decisions: BTreeMap<(JobName, Key), Decided>,
) -> Result<Vec<Key>, DecisionError> {
    let (audit, mut batch, mut keys) = (Audit::new(store.home()), Batch::default(), Vec::new());
    let copies = restored_state::copies(store)?;
    let mut is_wanted = false;
    for ((part, key), decided) in decisions {
        let (decision, decided) = match decided.verdict {
            Verdict::Approved(wish) => {
                queue::remove(&mut batch, &part, &key);
                ("rejected", Decided { verdict: Verdict::Rejected(wish), seen: None, ..decided })
            }
            Verdict::Rejected(wish) => {
                is_wanted = true;
                let (verdict, question, of_older_file) = (Verdict::Approved(wish), None, false);
                ("approved", Decided { verdict, question, copies, of_older_file, ..decided })
            }
        };
        write_down(&audit, at, decision, (&part, &key))?;
        queue::DECISIONS.put(&mut batch, &part, &key, &decided);
        keys.push(key);
    }
    if is_wanted {
        let mut state = JobState::load(store, &job.name)?;
        state.inbox.past.last_mut().into_iter().for_each(|last| last.unfinished = true);
        state.put(&mut batch, &job.name);
    }
    store.commit(batch)?;
    Ok(keys)
}

fn decide_part(
    store: &Store,
    at: Timestamp,
    (part, choice): (&Job, &Chosen<'_>),
    mut waiting: BTreeMap<Key, PendingApproval>,
    verdict: fn(u64) -> Verdict,
) -> Result<Vec<Key>, DecisionError> {
    let job = &part.name;
    let drops = choice.keys.is_some() && matches!(verdict(0), Verdict::Rejected(_));
    waiting.retain(|_, change| change.action.is_some() || (drops && change.can_be_dropped(part.mode)));
    let audit = Audit::new(store.home());
    for (key, change) in &waiting {
        let decision = match verdict(change.wish) {
            Verdict::Approved(_) => "approved",
            Verdict::Rejected(_) => "rejected",
        };
        write_down(&audit, at, decision, (job, key))?;
    }
    let copies = restored_state::copies(store)?;
    let mut sent = BTreeSet::new();
    queue::briefs_but_waiting(store, job, |change| {
        if matches!(change.state, State::Sent { .. }) {
            sent.insert(change.key);
        }
    })?;
    let mut batch = Batch::default();
    let (mut state, mut asks_more) = (JobState::load(store, job)?, false);
    for (key, change) in &waiting {
        if change.action.is_none() {
            HELD.remove(&mut batch, job, key);
            continue;
        }
        let verdict = verdict(change.wish);
        let is_rejected = matches!(verdict, Verdict::Rejected(_));
        // That a run is not taken back says nothing of what the source wants later: only the undoing is dropped. That it is says
        // nothing of it either, where a person rejected that.
        let is_overruled = |decided: &Decided| matches!(decided.verdict, Verdict::Rejected(_));
        let stays_decided = match change.undo {
            Some(_) => is_rejected || queue::DECISIONS.get(store, job, key)?.as_ref().is_some_and(is_overruled),
            None => false,
        };
        if !stays_decided {
            queue::DECISIONS.put(&mut batch, job, key, &decided(change, verdict, copies));
        }
        match change.other.as_deref().filter(|_| is_rejected) {
            // The next question: no file need say it again.
            Some(other) => {
                let rejected = Some(Box::new(PendingApproval { other: None, ..change.clone() }));
                let next = PendingApproval { rejected, ..other.clone() };
                held::add(&mut batch, job, key, &next, &mut state);
                asks_more = true;
            }
            None => HELD.remove(&mut batch, job, key),
        }
        // The next plan replaces or drops it; where the source holds changes only, nothing else remembers it.
        if let Some(wish) = change.change.as_ref().filter(|_| !is_rejected)
            && !sent.contains(key)
        {
            queue::put(&mut batch, &released(part, key, (change, wish)));
        }
    }
    if asks_more {
        state.put(&mut batch, job);
    }
    store.commit(batch)?;
    Ok(waiting.into_keys().collect())
}

/// What is sent of a change that waits, once it is approved.
fn released(part: &Job, key: &Key, (change, wish): (&PendingApproval, &DesiredState)) -> Change {
    Change {
        job: part.name.clone(),
        key: key.clone(),
        target: part.mapping.target,
        wish: wish.clone(),
        approved: true,
        marks: change.marks.clone(),
        undo: change.undo.clone(),
        from: change.from.clone(),
        failures: 0,
        before: None,
        state: State::Waiting,
    }
}

/// A verdict as it is remembered of a change that waits, by a state of so many copies.
fn decided(change: &PendingApproval, verdict: Verdict, copies: u64) -> Decided {
    let is_rejected = matches!(verdict, Verdict::Rejected(_));
    let is_answer = change.reason.is_question();
    Decided {
        verdict,
        seen: change.seen.clone().filter(|_| !is_rejected),
        doubt: change.doubt,
        id: change.change.as_ref().and_then(|wish| wish.id),
        is_answer,
        copies,
        of_older_file: is_rejected && change.reason.is_of_older_file(),
        due: change.marks.due,
        question: Some(change.reason.clone()).filter(|_| is_rejected && is_answer),
        part_of: change.part_of.clone(),
    }
}

/// Takes a job's directory for right as it was read last; `None` where nothing of it is in doubt, else its server.
pub fn believe(store: &Store, clock: &Clock, job: &Job) -> Result<Option<String>, DecisionError> {
    let mut server = None;
    let mut batch = Batch::default();
    for part in job.parts() {
        let mut state = JobState::load(store, &part.name)?;
        let believed: Vec<String> = state.lookups.values_mut().filter_map(|lookup| lookup.shown.believe()).collect();
        if let Some(address) = state.shown.believe().into_iter().chain(believed).next() {
            server = Some(address);
            state.put(&mut batch, &part.name);
        }
    }
    if let Some(server) = &server {
        let (job, why) = (Some(job.name.clone()), Some(server.clone()));
        let decided = history::Decided { job, why, ..history::Decided::new(clock.now(), "believed the server") };
        Audit::new(store.home()).append(decided).map_err(DecisionError::Audit)?;
        store.commit(batch)?;
    }
    Ok(server)
}
