//! Applying a plan file: of what a person saw, what is still so.

use super::file::{PlanFile, PlannedJob};
use crate::config::Job;
use crate::history::{Audit, AuditLine, acting_user};
use crate::plan::Outline;
use crate::push::Drained;
use crate::queue::{self, Ticket};
use crate::reconcile::collect::key_filter::narrowed;
use crate::reconcile::collect::rows;
use crate::reconcile::collect::shared_read::read_once;
use crate::reconcile::commit::enqueue::{parked, queued};
use crate::reconcile::inbox::peek;
use crate::reconcile::leavers::{job_limit, organization_transfers};
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::context::{Context, Stage};
use crate::reconcile::model::counts::Status;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::JobPlan;
use crate::reconcile::model::job_state::{JobState, next_run};
use crate::reconcile::model::plan_file_error::PlanFileError;
use crate::reconcile::plan::build::build_plan;
use crate::reconcile::plan::precondition::CurrentPlan;
use crate::reconcile::push_session::PushSession;
use crate::reconcile::report::job_report::{Part, Report, report};
use crate::reconcile::run_job::{self, plan_after_recovery, prune, record, wait};
use crate::reconcile::{account, pause};
use crate::record::{Action, Key};
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
    let mut application = Application { context, file, mirrors: Mirrors::default(), marked: false };
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
            Err(error) => Applied { report: context.failed(job, &error, before), skipped: Vec::new() },
        };
        let mut applied = applied;
        applied.report.is_narrow = file.narrow().is_narrow();
        record(context, job, &applied.report, run, started)?;
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
}

impl Application<'_> {
    async fn one(&mut self, job: &Job, planned: &PlannedJob, run: u64, requests_before: u64) -> Result<Applied, Error> {
        let context = self.context;
        let store = context.store;
        let whole = context.config.part(&job.name.root()).unwrap_or(job);
        let next = peek::peek(whole, Some(store), context.clock)?;
        let Some(whole) = next.job() else {
            let skip = |key: &Key, action| Skipped { key: key.clone(), action, reason: next.told() };
            let skipped = planned.changes.iter().map(|one| skip(&one.key, one.action)).collect();
            let report = Report { reasons: vec![next.told().into()], ..Report::idle(job.name.clone()) };
            return Ok(Applied { report: Report { status: Status::Partial, ..report }, skipped });
        };
        // The part as it reads the file that is taken, where the source is an inbox.
        let job = whole.parts().find(|part| part.name == job.name).unwrap_or(job);
        let kept = read_once(context, whole)?;
        let whole = kept.as_ref().unwrap_or(whole);
        let job = whole.parts().find(|part| part.name == job.name).unwrap_or(job);
        let session = PushSession::open(context, job, run).await?;
        self.mirrors.pull(context, whole, true).await?;
        let mut prepared = self.prepared(whole, job, &session).await?;
        pause::reason(store.dir(), &job.name).into_iter().for_each(|reason| prepared.block(reason));
        let mut go: Vec<Outline> = Vec::new();
        let mut skipped = Vec::new();
        if prepared.hold.is_none() {
            let present = CurrentPlan::new(&prepared, self.mirrors.of(prepared.target), store);
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
        prepared.moving.clear();
        prepared.drift.clear();
        prepared.rejected.clear();
        prepared.incomplete.clear();
        prepared.doubt = None;
        prepared.notes.extend(session.unlooked.clone());
        let mut drained = Drained::default();
        if !go.is_empty() {
            self.use_up(job)?;
            let opened = |change: &Outline| Ok(queued(job, prepared.pile.change(change)?));
            let changes = go.iter().map(opened).collect::<Result<Vec<_>, Error>>()?;
            let mut batch = Batch::default();
            changes.iter().for_each(|change| queue::put(&mut batch, change));
            let mut state = JobState::load(store, &job.name)?;
            state.shown.clone_from(&prepared.updates.shown);
            state.put(&mut batch, &job.name);
            // What ends for something else stays a part of that, whenever it goes.
            let replaced = |known: &SyncedRecord| known.gone.as_ref().is_some_and(|gone| gone.successor.is_some());
            for (key, known) in prepared.updates.waiting.iter().filter(|(_, known)| replaced(known)) {
                known.put(&mut batch, &job.name, key);
            }
            store.commit(batch)?;
            let mut tickets: Vec<Ticket> = changes.iter().map(queue::Change::ticket).collect();
            let requests = tickets.iter().map(Ticket::requests).sum();
            context.watch.stage(&job.name, Stage::Sending { changes: changes.len(), requests });
            let mirror = self.mirrors.of_mut(prepared.target);
            let ends = organization_transfers::take_ends(&prepared, &mut tickets);
            drained = session.push().drain(mirror, &job.name, tickets).await?;
            let ready = organization_transfers::ready(&prepared, ends, &mut drained);
            if !ready.is_empty() {
                drained.add(session.push().drain(mirror, &job.name, ready).await?);
            }
            wait(store, job, &drained)?;
            run_job::excuse(&mut prepared, &mut drained);
        }
        let mut parked = parked(store, job)?;
        parked.retain(|(key, _, _)| go.iter().any(|change| change.key == *key));
        let requests = context.client.requests() - requests_before;
        let mut report = report(job, vec![Part { prepared, drained, parked }], requests);
        if !skipped.is_empty() {
            let count = counted(skipped.len(), "change of the plan was skipped", "changes of the plan were skipped");
            report.reasons.push(count.into());
            if report.status == Status::Done {
                report.status = Status::Partial;
            }
        }
        Ok(Applied { report, skipped })
    }

    /// What a run of this part would do now, next to the other parts of its job.
    async fn prepared(&mut self, whole: &Job, job: &Job, session: &PushSession<'_>) -> Result<JobPlan, Error> {
        let context = self.context;
        let mut all: Vec<JobPlan> = Vec::new();
        for (part, narrow) in narrowed(context, whole, &self.file.narrow())? {
            all.push(if part.name == job.name {
                plan_after_recovery(context, part, session, &mut self.mirrors, &narrow, &all).await?
            } else {
                let mapping = rows::mapping(part);
                build_plan(context, part, &mapping, &self.mirrors, &narrow, &all, &mut |_, _| Ok(()))?
            });
        }
        job_limit::share(context, whole, &mut all)?;
        let own = all.into_iter().find(|prepared| prepared.job == job.name);
        // Nothing in the source belongs to those who are asked for any more.
        own.ok_or_else(|| Error::PlanFile(PlanFileError::Job(job.name.clone())))
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
        let line = AuditLine::Decision { at, job, key: None, decision: "applied", by: acting_user(), why: Some(&why) };
        Audit::new(dir).append(at, &line).map_err(|error| Error::Push(crate::push::Error::Audit(error)))
    }
}
