//! Undoing a run: what it changed is put back, and nothing else.
//!
//! - A field is put back only where it still holds what the run left; what others did since stays theirs. This is looked at
//!   when the plan is made, and once more on the copy that is read just before the PUT.
//! - The guard of the job judges it like a plan of the source. A person that the run created is removed only if that is
//!   approved.
//! - The source still wants what is undone. The wish with which it would do it again counts as rejected from the very
//!   commit that puts the undoing on disk as sent: it stays so until the record changes. Where the record has changed already, and
//!   wants something else or more, or is another person's, nothing of it is rejected: the next run sends it or asks about it.
//! - What is held stays held, whatever syncs run in between, until a person approves or rejects it, or its person is there no more;
//!   the next sync sends it.
//! - Who was removed can't be put back. Undoing the run that removed them takes back the rejection that keeps them out, if there is one.
//! - No one gets a value of `match_on`, an email or a number back that someone else has by now: that is held (law 6).
//! - A membership that was made in the place of another is not ended alone: its person would belong to no organization.
//!
//! Rejected: to let the source's next run find the undone fields by itself. It would take them for edits made at the
//! service, and write them again.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use smol_str::SmolStr;

use super::inverse::{InverseChange, NotReverted, RevertContext};
use crate::config::{Job, Mode};
use crate::history::{Audit, RunHistory, acting_user};
use crate::mirror::Mirror;
use crate::plan::{
    Change, Guarded, Held, HoldReason, Judged as _, Verdict, Writes, guard, is_another_person, match_hash,
};
use crate::queue::{self, Ticket, Undo};
use crate::reconcile::approval::held::{self, PendingApproval};
use crate::reconcile::collect::rows;
use crate::reconcile::commit::enqueue::queued;
use crate::reconcile::correlate::identity_change::value_of;
use crate::reconcile::dropped::last_file;
use crate::reconcile::leavers::detect::left_lately;
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::context::{Context, KeyFilter};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_fields::protection;
use crate::reconcile::model::job_plan::{Block, JobPlan};
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::row_segments::RowSegments;
use crate::reconcile::plan::build::preview_plan;
use crate::reconcile::plan::inputs::JobContext;
use crate::reconcile::plan::segments;
use crate::reconcile::push_session::PushSession;
use crate::reconcile::report::job_report::{Report, report};
use crate::reconcile::report::log;
use crate::reconcile::run_job::{PartRun, send};
use crate::reconcile::started_run::StartedRun;
use crate::reconcile::{account, pause};
use crate::record::{Action, Field, Key, Target};
use crate::snapshot::{Index, Owner, SyncedRecord};
use crate::store::{Batch, Store};
use crate::text::{counted, some_of};

/// How many people a note names; the rest is counted.
const NAMED_MAX: usize = 3;

/// What undoes a run, or what came of it.
pub struct Reverted {
    /// As of a run; its counts are those of a plan where nothing was sent.
    pub report: Report,
    /// The number of the run that undid it; none for a plan.
    pub run: Option<u64>,
    /// What is sent.
    pub go: Vec<Change>,
    /// What waits for a person.
    pub held: Vec<Held>,
    /// What can't be undone, or need not be.
    pub untouched: Vec<NotReverted>,
    /// The names of those who are removed, or would be.
    pub names: BTreeMap<Key, String>,
}

/// Works out what undoes a run, and changes nothing here or there.
pub async fn plan_revert(context: &Context<'_>, job: &Job, story: &RunHistory) -> Result<Reverted, Error> {
    account::check(context)?;
    context.client.begin_run();
    let mut mirrors = Mirrors::default();
    mirrors.pull(context, job).await?;
    let mut whole = Reverted::nothing(job);
    for (part, story) in parts(job, story) {
        let (guarded, untouched) = judged(context, part, &story, &mirrors)?;
        whole.names.extend(names_of_removed(context.store, mirrors.of(part.mapping.target), &guarded)?);
        whole.add(guarded, untouched);
    }
    Ok(whole)
}

/// The parts of a job that a run changed, what joins two before the two, each with its own share of the story.
fn parts<'j>(job: &'j Job, story: &RunHistory) -> Vec<(&'j Job, RunHistory)> {
    let mut parts: Vec<(&Job, RunHistory)> = job
        .parts()
        .map(|part| {
            let changes = story.changes.iter().filter(|changed| changed.job == part.name).cloned().collect();
            (part, RunHistory { changes, ..story.clone() })
        })
        .filter(|(_, story)| !story.changes.is_empty())
        .collect();
    parts.reverse();
    parts
}

impl Reverted {
    fn nothing(job: &Job) -> Self {
        let report = Report::idle(job.name.clone());
        let (go, held, untouched, names) = Default::default();
        Self { report, run: None, go, held, untouched, names }
    }

    /// Adds what undoes one part.
    fn add(&mut self, guarded: Guarded, untouched: Vec<NotReverted>) {
        self.go.extend(guarded.go);
        self.held.extend(guarded.held);
        self.untouched.extend(untouched);
    }
}

/// Undoes a run.
pub async fn revert(context: &Context<'_>, job: &Job, story: &RunHistory) -> Result<Reverted, Error> {
    account::claim(context)?;
    let begun = StartedRun::begin(context)?;
    let reverted = match undo(context, job, story, &begun).await {
        Ok(reverted) => reverted,
        Err(error) => Reverted { report: begun.failed(context, job, &error), ..Reverted::nothing(job) },
    };
    log::log(begun.run, &reverted.report);
    let mut line = begun.ended(context, job, &reverted.report);
    line.reverts = Some(story.run);
    line.by = Some(acting_user());
    Audit::new(context.store.home()).append(line).map_err(Error::History)?;
    Ok(Reverted { run: Some(begun.run), ..reverted })
}

async fn undo(context: &Context<'_>, job: &Job, story: &RunHistory, begun: &StartedRun) -> Result<Reverted, Error> {
    let store = context.store;
    let mut mirrors = Mirrors::kept();
    let mut whole = Reverted::nothing(job);
    let (mut done, mut wants_otherwise) = (Vec::new(), Vec::new());
    for (part, story) in parts(job, story) {
        let session = PushSession::open(context, part, begun.run).await?;
        mirrors.pull(context, job).await?;
        let (guarded, untouched) = judged(context, part, &story, &mirrors)?;
        whole.names.extend(names_of_removed(store, mirrors.of(part.mapping.target), &guarded)?);
        let Wanted { again, otherwise } = wanted(context, part, &mirrors, &guarded)?;
        wants_otherwise.extend(otherwise);
        mirrors.of_mut(part.mapping.target).save(store)?;
        let tickets = enqueue(context, part, &story, &guarded, &again)?;
        let mut run = PartRun::of_tickets(session, part, plan_of(store, part, &guarded), tickets);
        if !run.plan.is_paused() && !run.tickets.is_empty() {
            send(context, part, slice::from_mut(&mut run), &mut mirrors).await?;
        }
        let mut run = run.done(store)?;
        run.parked.retain(|(key, _, _)| guarded.go.iter().any(|change| change.key == *key));
        done.push(run);
        whole.add(guarded, untouched);
    }
    whole.report = Report { complete: false, ..report(job, done, begun.requests(context)) };
    if !wants_otherwise.is_empty() {
        let keys = some_of(wants_otherwise.iter().map(|key| format!("key {key}")), NAMED_MAX);
        whole.report.note(format!(
            "the source says something else by now than what the run brought; the next sync sends that, or asks about it: {keys}"
        ));
    }
    if !whole.untouched.is_empty() {
        let count = counted(whole.untouched.len(), "thing was left as it is", "things were left as they are");
        whole.report.leave(count);
    }
    Ok(whole)
}

/// The names, at the service, of the people who are removed.
fn names_of_removed(store: &Store, mirror: &Mirror, guarded: &Guarded) -> Result<BTreeMap<Key, String>, Error> {
    let held = guarded.held.iter().filter_map(|held| held.change.as_ref());
    let mut names = BTreeMap::new();
    for change in guarded.go.iter().chain(held).filter(|change| change.wish.action == Action::Delete) {
        let entity = change.wish.id.map(|id| mirror.get(store, id)).transpose()?.flatten();
        let name = entity.and_then(|entity| entity.value(Target::NAME).as_text().map(str::to_owned));
        names.extend(name.map(|name| (change.key.clone(), name)));
    }
    Ok(names)
}

/// What undoes a part of a run, as reports are made of it.
fn plan_of(store: &Store, part: &Job, guarded: &Guarded) -> JobPlan {
    let waits = |held: &Held| Held { key: held.key.clone(), reason: held.reason.clone(), change: None, other: None };
    let off = (part.writes == Writes::Off).then(|| "writes = \"off\": nothing is sent, approved or not".to_owned());
    let blocked =
        pause::reason(store.home(), &part.name).map(|reason| Block::Paused(reason.text)).into_iter().collect();
    let held = guarded.held.iter().map(waits).collect();
    JobPlan { held, blocked, notes: off.into_iter().collect(), ..JobPlan::nothing(part, store) }
}

/// What undoes a run, divided by the guard, and what is left alone.
fn judged(
    context: &Context<'_>,
    job: &Job,
    story: &RunHistory,
    mirrors: &Mirrors,
) -> Result<(Guarded, Vec<NotReverted>), Error> {
    let store = context.store;
    let mirror = mirrors.of(job.mapping.target);
    let mapping = rows::mapping(job);
    let mapped: Vec<Field> = mapping.fields().cloned().collect();
    let protection = protection(context)?;
    let ground = RevertContext { job, store, mirror, mapped: &mapped, protection: &protection };
    let (mut changes, mut untouched) = (Vec::new(), Vec::new());
    let takebacks = InverseChange::of(&story.changes);
    let member = |key: &Key| key.member().filter(|_| job.mapping.target == Target::Membership);
    let moved: BTreeSet<Key> =
        takebacks.iter().filter(|(_, takeback)| takeback.removed).filter_map(|(key, _)| member(key)).collect();
    for (key, takeback) in &takebacks {
        if takeback.made && !takeback.removed && member(key).is_some_and(|member| moved.contains(&member)) {
            let reason =
                "took the place of a membership that the run ended; correct the source, and a sync moves them back"
                    .to_owned();
            untouched.push(NotReverted { key: key.clone(), field: None, reason });
            continue;
        }
        changes.extend(takeback.change(key, &ground, &mut untouched)?);
    }
    let index = Index::load(store, &job.name)?;
    let (base, lately) = left_lately(context, job.mapping.target, &job.name, &index)?;
    let verdicts = held::verdicts(store, &job.name)?;
    let mut guarded = guard(changes, &job.limits, base, job.writes, &verdicts);
    segments::guard(&mut guarded, job, store, &RowSegments::default(), &lately)?;
    let made = guarded.go.extract_if(.., |change| !change.approved && change.wish.action == Action::Delete);
    let reason = HoldReason::MadeByRun;
    guarded.held.extend(made.map(|change| Held::change(change, &reason)));
    let taken = taken(job, store, mirror, &guarded.go)?;
    guarded.hold(|change| taken.get(&change.key).cloned().filter(|_| !change.approved));
    for held in &mut guarded.held {
        let reason = Box::new(held.reason.clone());
        held.reason = HoldReason::Undoing { run: story.run, reason };
    }
    Ok((guarded, untouched))
}

/// Who would get a value back that someone else at the service has by now, of those that people are matched by or that no two have;
/// and which.
fn taken(job: &Job, store: &Store, mirror: &Mirror, changes: &[Change]) -> Result<BTreeMap<Key, HoldReason>, Error> {
    let fields: BTreeSet<&str> = job.match_on.iter().map(SmolStr::as_str).chain(Target::UNIQUE).collect();
    let mut given: BTreeMap<(&str, u64), Vec<&Change>> = BTreeMap::new();
    for change in changes {
        for field in fields.iter().filter(|field| change.fields.contains_key(**field)) {
            let value = match_hash(&change.wish.fields, field).map(|hash| (*field, hash));
            value.into_iter().for_each(|value| given.entry(value).or_default().push(change));
        }
    }
    let mut found = Vec::new();
    if given.is_empty() {
        return Ok(BTreeMap::new());
    }
    mirror.each(store, |entity| {
        for field in &fields {
            let hash = match_hash(&entity.fields, field);
            for change in hash.and_then(|hash| given.get(&(*field, hash))).into_iter().flatten() {
                if change.wish.id != Some(entity.id) {
                    found.push((change.key.clone(), field.to_string(), entity.id));
                }
            }
        }
    })?;
    let mut taken = BTreeMap::new();
    for (key, field, id) in found {
        taken.insert(key, value_of(Owner::of(store, job.mapping.target, id)?, job, field, id));
    }
    Ok(taken)
}

/// What the source wants of those of which something is undone.
#[derive(Default)]
struct Wanted {
    /// The wishes with which it would do it again, by key.
    again: BTreeMap<Key, u64>,
    /// Those of which it wants something else by now.
    otherwise: Vec<Key>,
}

/// What the next run would want over a service that holds what is put back.
fn wanted(context: &Context<'_>, job: &Job, mirrors: &Mirrors, guarded: &Guarded) -> Result<Wanted, Error> {
    let changes = || guarded.go.iter().chain(held_changes(guarded));
    let keys: BTreeSet<Key> = changes().map(|change| change.key.clone()).collect();
    if keys.is_empty() {
        return Ok(Wanted::default());
    }
    let mut all = mirrors.clone();
    let supposed = all.of_mut(job.mapping.target);
    for change in changes() {
        let Some(id) = change.wish.id else { continue };
        supposed.overlay_hypothetical(
            context.store,
            id,
            (change.wish.action != Action::Delete).then_some(&change.wish.fields),
        )?;
    }
    let narrow = KeyFilter { keys };
    // A dropped file that is not kept any more wants nothing; the next one may.
    let Some((job, _copy)) = last_file::last(job, context.store)? else { return Ok(Wanted::default()) };
    let job = &job;
    let next =
        preview_plan(JobContext { context, job, mirrors: &all, filter: &narrow, earlier: &[], looks_ahead: false })?;
    let held = next.held.iter().filter_map(|held| held.change.as_ref());
    let mut wanted = Wanted::default();
    let undone: BTreeMap<&Key, &Change> = changes().map(|change| (&change.key, change)).collect();
    for outline in next.go.iter().chain(held).chain(&next.dropped) {
        let Some(undone) = undone.get(&outline.key) else { continue };
        let known = SyncedRecord::get(context.store, &job.name, &outline.key)?;
        if does_again(&next.spill.change(outline)?, undone, known.as_ref(), &next.fields) {
            wanted.again.insert(outline.key.clone(), outline.wish());
        } else {
            wanted.otherwise.push(outline.key.clone());
        }
    }
    Ok(wanted)
}

/// Whether a change of the source does again what is `undone`, and nothing else; of someone who is removed, whether it makes the same
/// person again.
fn does_again(change: &Change, undone: &Change, known: Option<&SyncedRecord>, fields: &[Field]) -> bool {
    if undone.wish.action == Action::Delete {
        return !known.is_some_and(|known| is_another_person(&known.sent, &change.wish.fields));
    }
    change.fields.iter().all(|(name, delta)| {
        let Some(left) = undone.fields.get(name).map(|undone| &undone.from) else { return false };
        let kind = fields.iter().find(|field| field.name == *name).map(|field| field.kind);
        // The service may have made something else of what was sent.
        let sent = known.and_then(|known| known.sent.get(name));
        kind.is_some_and(|kind| kind.same(left, &delta.to)) || sent == Some(&delta.to)
    })
}

fn held_changes(guarded: &Guarded) -> impl Iterator<Item = &Change> {
    guarded.held.iter().filter_map(|held| held.change.as_ref())
}

/// Puts on disk what is to be sent and what is held, and returns the former.
fn enqueue(
    context: &Context<'_>,
    job: &Job,
    story: &RunHistory,
    guarded: &Guarded,
    again: &BTreeMap<Key, u64>,
) -> Result<Vec<Ticket>, Error> {
    let undo = |change: &Change| Undo {
        run: story.run,
        left: change.fields.iter().map(|(field, delta)| (field.clone(), delta.from.clone())).collect(),
        again: again.get(&change.key).copied(),
    };
    let changes: Vec<queue::Change> = guarded
        .go
        .iter()
        .map(|change| queue::Change { undo: Some(undo(change)), ..queued(job, change.clone()) })
        .collect();
    let mut batch = Batch::default();
    changes.iter().for_each(|change| queue::put(&mut batch, change));
    context.store.commit(batch)?;
    let mut batch = Batch::default();
    let _alone = context.store.deciding();
    let mut state = JobState::load(context.store, &job.name)?;
    for held in &guarded.held {
        let row = PendingApproval::new(held.change.clone(), &held.reason, held.change.as_ref().map(undo));
        held::add(&mut batch, &job.name, &held.key, &row, &mut state);
    }
    let mut is_lifted = false;
    for removed in story.changes.iter().filter(|changed| changed.action == Action::Delete) {
        let decided = queue::DECISIONS.get(context.store, &job.name, &removed.key)?;
        if decided.is_some_and(|decided| matches!(decided.verdict, Verdict::Rejected(_))) {
            queue::DECISIONS.remove(&mut batch, &job.name, &removed.key);
            is_lifted = true;
        }
    }
    // No file that lies filed is read again by itself, nor one that is known.
    let read_again = |state: &mut JobState| {
        if let Some(last) = state.inbox.past.last_mut() {
            (last.clean, last.unjudged) = (false, job.mode == Mode::Full);
        }
    };
    match job.name.root() {
        _ if !is_lifted => {}
        root if root == job.name => read_again(&mut state),
        root => {
            let mut of_root = JobState::load(context.store, &root)?;
            read_again(&mut of_root);
            of_root.put(&mut batch, &root);
        }
    }
    state.put(&mut batch, &job.name);
    context.store.commit(batch)?;
    Ok(changes.iter().map(queue::Change::ticket).collect())
}
