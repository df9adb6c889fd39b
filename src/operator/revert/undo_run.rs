//! Undoing a run: what it changed is put back, and nothing else.
//!
//! - A field is put back only where it still holds what the run left; what others did since stays theirs. This is looked at
//!   when the plan is made, and once more on the copy that is read just before the PUT.
//! - The guard of the job judges it like a plan of the source. A person that the run created is removed only if that is
//!   approved.
//! - The source still wants what is undone. The wish with which it would do it again counts as rejected from the very
//!   commit that puts the undoing on disk as sent: it stays so until the record changes.
//! - What is held stays held, whatever syncs run in between, until a person approves or rejects it; the next sync sends it.
//!
//! Rejected: to let the source's next run find the undone fields by itself. It would take them for edits made at the
//! service, and write them again.

use std::collections::{BTreeMap, BTreeSet};

use super::inverse::{InverseChange, NotReverted, RevertContext};
use crate::config::Job;
use crate::history::{Audit, AuditLine, RunHistory, acting_user};
use crate::plan::{Base, Change, Guarded, Held, Judged as _, Writes, guard};
use crate::push::{Drained, Outcome, StopReason};
use crate::queue::{self, Undo};
use crate::reconcile::approval::held::{self, PendingApproval};
use crate::reconcile::collect::rows;
use crate::reconcile::commit::enqueue::{parked, queued};
use crate::reconcile::inbox::last_file;
use crate::reconcile::leavers::detect::left_lately;
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::context::{Context, KeyFilter, Stage};
use crate::reconcile::model::counts::{Counts, Status};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_fields::protection;
use crate::reconcile::model::job_plan::ON_SITE;
use crate::reconcile::model::job_state::{JobState, next_run};
use crate::reconcile::model::reason::{Reason, ReasonKind};
use crate::reconcile::plan::build::build_plan;
use crate::reconcile::plan::segments;
use crate::reconcile::push_session::PushSession;
use crate::reconcile::report::job_report::Report;
use crate::reconcile::report::log;
use crate::reconcile::run_job::ended;
use crate::reconcile::{account, pause};
use crate::record::{Action, Field, Key};
use crate::snapshot::Index;
use crate::store::Batch;
use crate::text::counted;

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
}

/// Why people that a run created are held.
const MADE: &str = "reverting removes this person because the run created it; approve to confirm";

/// Works out what undoes a run, and changes nothing here or there.
pub async fn plan_revert(context: &Context<'_>, job: &Job, story: &RunHistory) -> Result<Reverted, Error> {
    account::check(context)?;
    context.client.begin_run();
    let mut mirrors = Mirrors::default();
    mirrors.pull(context, job, false).await?;
    let mut whole = Reverted::nothing(job);
    for (part, story) in parts(job, story) {
        let (guarded, untouched) = judged(context, part, &story, &mirrors)?;
        whole.go.extend(guarded.go);
        whole.held.extend(guarded.held);
        whole.untouched.extend(untouched);
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
        Self {
            report: Report {
                status: Status::Done,
                reasons: Vec::new(),
                ..Report::failed(job.name.clone(), String::new(), 0)
            },
            run: None,
            go: Vec::new(),
            held: Vec::new(),
            untouched: Vec::new(),
        }
    }

    /// Adds what undoing another part came to.
    fn add(&mut self, part: Self) {
        let worse = |status: Status| {
            [Status::Done, Status::Partial, Status::Held, Status::Failed].iter().position(|one| *one == status)
        };
        if worse(part.report.status) > worse(self.report.status) {
            self.report.status = part.report.status;
        }
        self.report.counts.updated += part.report.counts.updated;
        self.report.counts.deleted += part.report.counts.deleted;
        self.report.counts.parked += part.report.counts.parked;
        self.report.counts.held += part.report.counts.held;
        self.report.reasons.extend(part.report.reasons);
        self.report.held.extend(part.report.held);
        self.report.parked.extend(part.report.parked);
        self.go.extend(part.go);
        self.held.extend(part.held);
        self.untouched.extend(part.untouched);
    }
}

/// Undoes a run.
pub async fn revert(context: &Context<'_>, job: &Job, story: &RunHistory) -> Result<Reverted, Error> {
    account::claim(context)?;
    let (before, started) = (context.client.requests(), context.clock.now());
    context.client.begin_run();
    let run = next_run(context.store)?;
    let reverted = match all(context, job, story, run).await {
        Ok(reverted) => reverted,
        Err(error) => Reverted {
            report: context.failed(job, &error, before),
            run: Some(run),
            go: Vec::new(),
            held: Vec::new(),
            untouched: Vec::new(),
        },
    };
    let mut report = reverted.report;
    report.counts.requests = context.client.requests() - before;
    log::log(run, &report);
    let mut line = ended(context, job, &report, run, started);
    line.reverts = Some(story.run);
    line.by = Some(acting_user());
    Audit::new(context.store.dir()).append(line.at, &AuditLine::Run(&line)).map_err(Error::History)?;
    Ok(Reverted { report, ..reverted })
}

async fn all(context: &Context<'_>, job: &Job, story: &RunHistory, run: u64) -> Result<Reverted, Error> {
    let mut mirrors = Mirrors::default();
    let mut whole = Reverted { run: Some(run), ..Reverted::nothing(job) };
    for (part, story) in parts(job, story) {
        whole.add(one(context, job, part, &mut mirrors, &story, run).await?);
    }
    Ok(whole)
}

async fn one(
    context: &Context<'_>,
    whole: &Job,
    job: &Job,
    mirrors: &mut Mirrors,
    story: &RunHistory,
    run: u64,
) -> Result<Reverted, Error> {
    let store = context.store;
    let paused = pause::reason(store.dir(), &job.name);
    let session = PushSession::open(context, job, run).await?;
    mirrors.pull(context, whole, true).await?;
    let (guarded, untouched) = judged(context, job, story, mirrors)?;
    let again = overruled(context, job, mirrors, &guarded)?;
    mirrors.of_mut(job.mapping.target).save(store)?;
    let changes = keep(context, job, story, &guarded, &again)?;
    let mut drained = Drained::default();
    if paused.is_none() && !changes.is_empty() {
        context.watch.stage(&job.name, Stage::Sending { changes: changes.len(), requests: 2 * changes.len() });
        let tickets = changes.iter().map(queue::Change::ticket).collect();
        drained = session.push().drain(mirrors.of_mut(job.mapping.target), &job.name, tickets).await?;
    }
    let on_site = drained.outcomes.iter().filter(|(_, _, outcome)| *outcome == Outcome::OnSite);
    held::wait(store, &job.name, on_site.map(|(key, _, _)| key), ON_SITE)?;
    let mut report = told(context, job, &guarded, &untouched, &drained, paused)?;
    report.reasons.extend(session.unlooked.map(Reason::from));
    Ok(Reverted { report, run: Some(run), go: guarded.go, held: guarded.held, untouched })
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
    let protection = protection(context);
    let ground = RevertContext { job, store, mirror, mapped: &mapped, protection: &protection };
    let (mut changes, mut untouched) = (Vec::new(), Vec::new());
    for (key, takeback) in InverseChange::of(&story.changes) {
        changes.extend(takeback.change(&key, &ground, &mut untouched)?);
    }
    let index = Index::load(store, &job.name)?;
    let (lately, staying) = left_lately(store, job.mapping.target, &job.name, &index, context.clock.now())?;
    let known = (index.len() as u64).saturating_sub(staying);
    let base = Base { known, matched: 0, removed: lately.len() as u64 };
    let verdicts = held::verdicts(store, &job.name)?;
    let mut guarded = guard(changes, &job.limits, base, job.writes, &verdicts);
    segments::guard(&mut guarded, job, store, &BTreeMap::new(), &lately)?;
    let made = guarded.go.extract_if(.., |change| !change.approved && change.wish.action == Action::Delete);
    let reason = MADE.into();
    guarded.held.extend(made.map(|change| Held::change(change, &reason)));
    for held in &mut guarded.held {
        held.reason = format!("undoing run {}: {}", story.run, held.reason).into();
    }
    Ok((guarded, untouched))
}

/// The wishes with which the source would do again what is undone, by key: what the next run would want over a service that
/// holds what is put back.
fn overruled(
    context: &Context<'_>,
    job: &Job,
    mirrors: &Mirrors,
    guarded: &Guarded,
) -> Result<BTreeMap<Key, u64>, Error> {
    let changes = || guarded.go.iter().chain(held_changes(guarded));
    let keys: BTreeSet<Key> = changes().map(|change| change.key.clone()).collect();
    if keys.is_empty() {
        return Ok(BTreeMap::new());
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
    let Some((job, _copy)) = last_file::last(job, context.store)? else { return Ok(BTreeMap::new()) };
    let job = &job;
    let next = build_plan(context, job, &rows::mapping(job), &all, &narrow, &[], &mut |_, _| Ok(()))?;
    let held = next.held.iter().filter_map(|held| held.change.as_ref());
    let wanted = next.go.iter().chain(held).chain(&next.dropped);
    Ok(wanted.map(|change| (change.key.clone(), change.wish())).collect())
}

fn held_changes(guarded: &Guarded) -> impl Iterator<Item = &Change> {
    guarded.held.iter().filter_map(|held| held.change.as_ref())
}

/// Puts on disk what is to be sent and what is held, and returns the former.
fn keep(
    context: &Context<'_>,
    job: &Job,
    story: &RunHistory,
    guarded: &Guarded,
    again: &BTreeMap<Key, u64>,
) -> Result<Vec<queue::Change>, Error> {
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
    let mut state = JobState::load(context.store, &job.name)?;
    for held in &guarded.held {
        let row = PendingApproval::new(held.change.clone(), &held.reason, held.change.as_ref().map(undo));
        held::add(&mut batch, &job.name, &held.key, &row, &mut state);
    }
    state.put(&mut batch, &job.name);
    context.store.commit(batch)?;
    Ok(changes)
}

/// What came of it.
fn told(
    context: &Context<'_>,
    job: &Job,
    guarded: &Guarded,
    untouched: &[NotReverted],
    drained: &Drained,
    paused: Option<Reason>,
) -> Result<Report, Error> {
    let count = |action: Action| {
        let done = |(_, done, outcome): &&(Key, Action, Outcome)| *done == action && *outcome == Outcome::Confirmed;
        drained.outcomes.iter().filter(done).count() as u64
    };
    let undelivered: Vec<&StopReason> = drained
        .outcomes
        .iter()
        .filter_map(|(_, _, outcome)| match outcome {
            Outcome::Undelivered(reason) => Some(reason),
            _ => None,
        })
        .collect();
    let mut parked = parked(context.store, job)?;
    parked.retain(|(key, _, _)| guarded.go.iter().any(|change| change.key == *key));
    let mut reasons = Vec::new();
    if let Some(reason) = drained.stopped.as_ref().or(undelivered.first().copied()) {
        let what = counted(undelivered.len(), "change could not be delivered", "changes could not be delivered");
        reasons.push(format!("{what} and will be tried again by the next sync: {reason}").into());
    }
    let waits = !guarded.held.is_empty() || paused.is_some();
    reasons.extend(paused);
    let different: BTreeSet<&str> = guarded.held.iter().map(|held| &*held.reason).collect();
    reasons.extend(different.into_iter().map(|text| ReasonKind::Held.because(text)));
    if !untouched.is_empty() {
        reasons.push(counted(untouched.len(), "thing was left as it is", "things were left as they are").into());
    }
    if !parked.is_empty() {
        reasons.push(counted(parked.len(), "change is parked", "changes are parked").into());
    }
    let status = match () {
        () if drained.stopped.is_some() || !undelivered.is_empty() => Status::Failed,
        () if waits => Status::Held,
        () if !untouched.is_empty() || !parked.is_empty() => Status::Partial,
        () => Status::Done,
    };
    reasons.extend(drained.notes.iter().cloned().map(Reason::from));
    if job.writes == Writes::Off {
        reasons.push("writes = \"off\": nothing is sent, approved or not".to_owned().into());
    }
    let on_site = drained.outcomes.iter().filter(|(_, _, outcome)| *outcome == Outcome::OnSite);
    let on_site = on_site.map(|(key, _, _)| (key.clone(), ON_SITE.to_owned()));
    let held: Vec<(Key, String)> =
        guarded.held.iter().map(|held| (held.key.clone(), held.reason.to_string())).chain(on_site).collect();
    let counts = Counts {
        updated: count(Action::Update),
        deleted: count(Action::Delete),
        parked: parked.len() as u64,
        held: held.len() as u64,
        ..Counts::default()
    };
    Ok(Report { status, counts, reasons, held, parked, ..Report::failed(job.name.clone(), String::new(), 0) })
}
