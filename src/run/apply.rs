//! Applying a plan file: of what a person saw, what is still so.

use super::basis::Present;
use super::error::Error;
use super::plan_file::{PlanFile, PlannedJob};
use super::prepare::{protection, written};
use super::report::{Report, Status};
use super::state::next_run;
use super::sync::{Recorder, counted, parked, pulled, queued, record, report, settled};
use super::{Context, Stage, account, inbox, pause, rows};
use crate::config::Job;
use crate::fault::chain;
use crate::history::{Audit, Line, acting_user};
use crate::mirror::{Mirror, Removal};
use crate::plan::Change;
use crate::push::{Drained, Presence, Push};
use crate::queue;
use crate::record::{Action, Key, Target};
use crate::store::Batch;

/// What applying a plan came to for one job.
#[derive(Clone, Debug)]
pub struct Applied {
    /// As of a run.
    pub report: Report,
    /// What of the plan was not sent, and why.
    pub skipped: Vec<Skipped>,
}

/// A change of a plan that was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The record.
    pub key: Key,
    /// What was planned.
    pub action: Action,
    /// Why it was not sent.
    pub reason: String,
}

/// Sends the changes of a plan that source, service, guard and verdicts still want just as they stand in it. What is held,
/// parked or queued besides stays as it is.
pub async fn apply(context: &Context<'_>, file: &PlanFile) -> Result<Vec<Applied>, Error> {
    account::check(context)?;
    file.check(context)?;
    account::claim(context)?;
    let mut all = Vec::new();
    let mut application = Application { context, file, mirror: None, marked: false };
    for planned in &file.jobs {
        let Some(job) = planned.job(context.config) else { continue };
        if context.watch.interrupted() {
            break;
        }
        let (before, started) = (context.client.requests(), context.clock.now());
        context.client.begin_run();
        let run = next_run(context.store)?;
        let applied = match application.one(job, planned, run, before).await {
            Ok(applied) => applied,
            Err(error @ Error::PlanFile(_)) => return Err(error),
            Err(error) => {
                let requests = context.client.requests() - before;
                Applied { report: Report::failed(job.name.clone(), chain(&error), requests), skipped: Vec::new() }
            }
        };
        record(context, job, &applied.report, run, started)?;
        all.push(applied);
    }
    Removal::prune(context.store, Target::Staff, context.clock.now())?;
    Ok(all)
}

struct Application<'a> {
    context: &'a Context<'a>,
    file: &'a PlanFile,
    mirror: Option<Mirror>,
    marked: bool,
}

impl Application<'_> {
    async fn one(&mut self, job: &Job, planned: &PlannedJob, run: u64, requests_before: u64) -> Result<Applied, Error> {
        let context = self.context;
        let store = context.store;
        let next = inbox::next(job, Some(store), context.clock)?;
        let Some(job) = next.job() else {
            let skip = |key: &Key, action| Skipped { key: key.clone(), action, reason: next.told() };
            let skipped = planned.changes.iter().map(|one| skip(&one.key, one.action)).collect();
            let report = Report { reasons: vec![next.told()], ..Report::idle(job.name.clone()) };
            return Ok(Applied { report: Report { status: Status::Partial, ..report }, skipped });
        };
        let fields = written(job, &rows::mapping(job));
        let protection = protection(context);
        let presence = Presence::open(context.client, store, context.clock, job.mapping.target)?;
        let is_paused = pause::reason(store.dir(), &job.name).is_some();
        let unlooked = if is_paused { None } else { presence.look().await? };
        pulled(context, job, &mut self.mirror, true).await?;
        let witness = Recorder { context, audit: Audit::new(store.dir()), run, job: &job.name, fields: &fields };
        let push = Push {
            client: context.client,
            store,
            clock: context.clock,
            fields: &fields,
            seed_only: &job.seed_only,
            protection: &protection,
            match_on: &job.match_on,
            presence: &presence,
            witness: &witness,
        };
        let mirror = self.mirror.as_mut().expect("it was just pulled");
        let mut prepared = settled(context, job, &push, mirror, &self.file.narrow()).await?;
        pause::reason(store.dir(), &job.name).into_iter().for_each(|reason| prepared.hold_by(reason));
        let mut go: Vec<(Change, bool)> = Vec::new();
        let mut skipped = Vec::new();
        if prepared.hold.is_none() {
            let present = Present::new(&prepared, mirror, store);
            for one in planned.changes.iter().filter(|one| one.held.is_none()) {
                match present.judge(&one.key, one.id, &one.based_on)? {
                    Ok(found) => go.push(found.clone()),
                    Err(reason) => skipped.push(Skipped { key: one.key.clone(), action: one.action, reason }),
                }
            }
        }
        // What else the run found is for the next sync to tell.
        prepared.held.clear();
        prepared.protected.clear();
        prepared.drift.clear();
        prepared.rejected.clear();
        prepared.incomplete.clear();
        prepared.notes.extend(unlooked);
        let mut drained = Drained::default();
        if !go.is_empty() {
            self.use_up(job)?;
            let changes: Vec<_> = go.iter().map(|(change, approved)| queued(job, change, *approved)).collect();
            let mut batch = Batch::default();
            changes.iter().for_each(|change| queue::put(&mut batch, change));
            store.load(batch)?;
            let requests = changes.iter().map(|change| if change.wish.action == Action::Create { 1 } else { 2 }).sum();
            context.watch.stage(&job.name, Stage::Sending { changes: changes.len(), requests });
            let mirror = self.mirror.as_mut().expect("it was just pulled");
            drained = push.drain(mirror, changes).await?;
            pause::excuse(store.dir(), &mut prepared, &mut drained);
        }
        let mut parked = parked(store, job)?;
        parked.retain(|(key, _, _)| go.iter().any(|(change, _)| change.key == *key));
        let requests = context.client.requests() - requests_before;
        let mut report = report(job, prepared, &drained, parked, requests);
        if !skipped.is_empty() {
            let count = counted(skipped.len(), "change of the plan was skipped", "changes of the plan were skipped");
            report.reasons.push(count);
            if report.status == Status::Done {
                report.status = Status::Partial;
            }
        }
        Ok(Applied { report, skipped })
    }

    /// Marks the plan as used, and tells who applied it, before the first of its changes is sent.
    fn use_up(&mut self, job: &Job) -> Result<(), Error> {
        let dir = self.context.store.dir();
        if !self.marked {
            self.file.mark(dir)?;
            self.marked = true;
        }
        let at = self.context.clock.now();
        let why = format!("plan {}", self.file.id());
        let job = Some(&job.name);
        let line = Line::Decision { at, job, key: None, decision: "applied", by: acting_user(), why: Some(&why) };
        Audit::new(dir).append(at, &line).map_err(|error| Error::Push(crate::push::Error::Audit(error)))
    }
}
