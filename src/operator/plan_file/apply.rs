//! Applying a plan file: of what a person saw, what is still so.

use std::collections::BTreeSet;
use std::slice;

use super::file::{PlanFile, PlannedJob};
use crate::config::Job;
use crate::history::{Audit, Decided};
use crate::plan::Outline;
use crate::queue::{self, Ticket};
use crate::reconcile::account;
use crate::reconcile::collect::shared_read::read_once;
use crate::reconcile::commit::enqueue::queued;
use crate::reconcile::inbox::peek;
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::JobPlan;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::plan_file_error::PlanFileError;
use crate::reconcile::plan::precondition::CurrentPlan;
use crate::reconcile::report::job_report::{Report, report};
use crate::reconcile::run_job::{Intent, PartRun, plan_parts, prune, send};
use crate::reconcile::started_run::StartedRun;
use crate::record::{Action, JobName, Key, Target};
use crate::snapshot::SyncedRecord;
use crate::store::Batch;
use crate::text::counted;

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
    let mut application =
        Application { context, file, mirrors: Mirrors::kept(), marked: false, removed: BTreeSet::new() };
    for planned in &file.jobs {
        let Some(job) = planned.job(context.config) else { continue };
        if context.watch.interrupted() {
            break;
        }
        let begun = StartedRun::begin(context)?;
        let mut applied = match application.one(job, planned, &begun).await {
            Ok(applied) => applied,
            Err(error @ Error::PlanFile(_)) => return Err(error),
            Err(error) => Applied { report: begun.failed(context, job, &error), skipped: Vec::new() },
        };
        applied.report.is_narrow = file.narrow().is_narrow();
        begun.record(context, job, &applied.report)?;
        all.push(applied);
    }
    prune(context)?;
    Ok(all)
}

struct Application<'a> {
    context: &'a Context<'a>,
    file: &'a PlanFile,
    mirrors: Mirrors,
    marked: bool,
    /// Who was removed so far.
    removed: BTreeSet<Key>,
}

impl Application<'_> {
    async fn one(&mut self, job: &Job, planned: &PlannedJob, begun: &StartedRun) -> Result<Applied, Error> {
        let context = self.context;
        let whole = context.config.part(&job.name.root()).unwrap_or(job);
        let next = peek::peek(whole, Some(context.store), context.clock)?;
        let Some(whole) = next.job() else {
            let skip = |key: &Key, action| Skipped { key: key.clone(), action, reason: next.describe() };
            let skipped: Vec<Skipped> = planned.changes.iter().map(|one| skip(&one.key, one.action)).collect();
            let mut report = Report::idle(job.name.clone());
            if !skipped.is_empty() {
                report.leave(next.describe());
            }
            return Ok(Applied { report, skipped });
        };
        let kept = read_once(context, whole)?;
        let whole = kept.as_ref().unwrap_or(whole);
        let intent = Intent::SyncPart(begun, &job.name);
        let parts = plan_parts(context, whole, &mut self.mirrors, &self.file.narrow(), intent).await?;
        let own = parts.into_iter().find(|run| run.part.name == job.name);
        // Nothing in the source belongs to those who are asked for any more.
        let mut run = own.ok_or_else(|| Error::PlanFile(PlanFileError::Job(job.name.clone())))?;
        let (go, skipped) = self.choose(&run.plan, planned)?;
        if !go.is_empty() {
            let mut batch = Batch::default();
            self.use_up(job, &mut batch)?;
            run.tickets = enqueue(context, &run, &go, batch)?;
            self.marked = true;
            send(context, job, slice::from_mut(&mut run), &mut self.mirrors).await?;
            let removed = go.iter().filter(|change| change.action == Action::Delete).map(|change| change.key.clone());
            self.removed.extend(removed);
        }
        let mut part = run.of_chosen().done(context.store)?;
        part.parked.retain(|(key, _, _)| go.iter().any(|change| change.key == *key));
        let mut report = report(job, vec![part], begun.requests(context));
        if !skipped.is_empty() {
            report.leave(counted(skipped.len(), "change of the plan was skipped", "changes of the plan were skipped"));
        }
        Ok(Applied { report, skipped })
    }

    /// What of the plan file is still wanted just so, and what is not; nothing of it where nothing is sent.
    fn choose(&self, plan: &JobPlan, planned: &PlannedJob) -> Result<(Vec<Outline>, Vec<Skipped>), Error> {
        let (mut go, mut skipped) = (Vec::new(), Vec::new());
        if plan.blocked.is_empty() {
            let present = CurrentPlan::new(plan, self.mirrors.of(plan.target), self.context.store);
            for one in planned.changes.iter().filter(|one| one.held.is_none()) {
                match present.judge(&one.key, one.id, &one.based_on)? {
                    Ok(found) => go.push(found.clone()),
                    // It went with the person whose membership it was.
                    Err(_) if one.action == Action::Delete && self.went_along(&plan.job, &one.key) => {}
                    Err(reason) => skipped.push(Skipped { key: one.key.clone(), action: one.action, reason }),
                }
            }
        }
        Ok((go, skipped))
    }

    /// Whether a membership is that of someone who was removed just now.
    fn went_along(&self, part: &JobName, key: &Key) -> bool {
        part.part_of() == Some(Target::Membership) && key.member().is_some_and(|member| self.removed.contains(&member))
    }

    /// Writes down who applies the plan, and marks it as used in `batch`.
    fn use_up(&self, job: &Job, batch: &mut Batch) -> Result<(), Error> {
        let (store, now) = (self.context.store, self.context.clock.now());
        if !self.marked {
            self.file.check_unused(store)?;
            self.file.mark(batch, now);
        }
        let (job, why) = (Some(job.name.clone()), Some(format!("plan {}", self.file.id())));
        let decided = Decided { job, why, ..Decided::new(now, "applied") };
        Audit::new(store.home()).append(decided).map_err(|error| Error::Push(crate::push::Error::Audit(error)))
    }
}

/// Puts changes on disk that are to be sent, with what is in `batch`; what is held, parked or queued besides stays as it is.
fn enqueue(context: &Context<'_>, run: &PartRun<'_>, go: &[Outline], mut batch: Batch) -> Result<Vec<Ticket>, Error> {
    let (store, plan) = (context.store, &run.plan);
    let opened = |change: &Outline| Ok(queued(run.part, plan.spill.change(change)?).planned(store)?);
    let changes = go.iter().map(opened).collect::<Result<Vec<_>, Error>>()?;
    changes.iter().for_each(|change| queue::put(&mut batch, change));
    let mut state = JobState::load(store, &run.part.name)?;
    state.shown.clone_from(&plan.updates.shown);
    state.lookups.clone_from(&plan.updates.lookups);
    state.put(&mut batch, &run.part.name);
    // What ends for something else stays a part of that, whenever it goes.
    let replaced = |known: &SyncedRecord| known.gone.as_ref().is_some_and(|gone| gone.successor.is_some());
    for (key, known) in plan.updates.waiting.iter().filter(|(_, known)| replaced(known)) {
        known.put(&mut batch, &run.part.name, key);
    }
    store.commit(batch)?;
    Ok(changes.iter().map(queue::Change::ticket).collect())
}
