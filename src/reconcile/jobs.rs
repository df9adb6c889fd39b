//! A run from end to end.

use super::collect::shared_read::read_once;
use super::dropped::last_file;
use super::inbox::earlier_files::with_left;
use super::inbox::pending::{repeated, unread_note};
use super::inbox::{peek, process, unknown_files};
use super::leavers::missing_limit::{Remembered, remembered};
use super::mirrors::Mirrors;
use super::model::context::{Context, KeyFilter};
use super::model::error::Error;
use super::model::job_plan::{For, JobPlan, Plan};
use super::model::job_state::JobState;
use super::report::job_report::Report;
use super::run_job::{Intent, PartRun, paused, plan_parts, prune, run_job};
use super::started_run::StartedRun;
use super::{account, freshness, restored_state, retention};
use crate::config::Job;
use crate::mirror::Mirror;
use crate::record::RemoteId;
use crate::snapshot::Index;
use crate::store::Store;

/// Runs jobs one after the other, in the order given. An error is one of the state: every other failure is in a report.
pub async fn sync(context: &Context<'_>, jobs: &[&Job], narrow: &KeyFilter) -> Result<Vec<Report>, Error> {
    account::claim(context)?;
    restored_state::sign(context.store)?;
    let mut reports = Vec::new();
    let mut mirrors = Mirrors::kept();
    for job in jobs {
        if context.watch.interrupted() {
            break;
        }
        if let Some(inbox) = &job.inbox {
            reports.push(process::sync(context, job, inbox, &mut mirrors, narrow).await?);
            continue;
        }
        let begun = StartedRun::begin(context)?;
        let result = run_job(context, job, &mut mirrors, narrow, &begun).await;
        let mut report = result.unwrap_or_else(|error| begun.failed(context, job, &error));
        report.reasons.extend(freshness::noted(context, job)?);
        report.is_narrow = narrow.is_narrow();
        begun.record(context, job, &report)?;
        reports.push(report);
    }
    prune(context)?;
    retention::apply(context)?;
    // A process that runs for years does not open its store for years.
    context.store.maybe_vacuum()?;
    Ok(reports)
}

/// Works out what `sync` would do, and changes nothing here or there. One job's failure is its own.
pub async fn plan(context: &Context<'_>, jobs: &[&Job], narrow: &KeyFilter, what_for: For) -> Result<Vec<Plan>, Error> {
    account::check(context)?;
    context.client.begin_run();
    let mut plans = Vec::new();
    let mut mirrors = Mirrors::default();
    for job in jobs {
        let result = plan_one(context, job, &mut mirrors, narrow, what_for).await;
        plans.push(Plan { job: job.name.clone(), result });
    }
    Ok(plans)
}

async fn plan_one(
    context: &Context<'_>,
    job: &Job,
    mirrors: &mut Mirrors,
    narrow: &KeyFilter,
    what_for: For,
) -> Result<(Vec<JobPlan>, u64), Error> {
    let mut next = peek::peek(job, Some(context.store), context.clock)?;
    let last = match (next.job(), what_for) {
        (None, For::Rehearsal) => last_file::last(job, context.store)?,
        (None, _) => repeated(context, job, narrow)?,
        (Some(_), For::Rehearsal) => None,
        // The last file says more than what is left of it and of earlier ones.
        (Some(_), _) if next.is_rowless() => repeated(context, job, narrow)?,
        (Some(_), _) => None,
    };
    if last.is_some() {
        next = next.without_rest();
    }
    let over = last.as_ref().map(|(job, _)| job).or(next.job());
    let Some(job) = over else {
        mirrors.pull(context, job).await?;
        let Remembered { missed, missing, names } = remembered(context, job, mirrors.of(job.mapping.target))?;
        let nothing = JobPlan::nothing(job, context.store);
        let unknown = unknown_files::note(job, &JobState::load(context.store, &job.name)?.inbox);
        let unread = unread_note(context, job)?.into_iter().chain(unknown);
        let (inbox, notes) = (next.waiting.clone(), [next.describe()].into_iter().chain(unread).collect());
        let blocked = paused(context, job).into_iter().collect();
        let prepared = JobPlan { inbox, notes, missed, missing, names, blocked, ..nothing };
        let foreign = strangers(context.store, mirrors.of(job.mapping.target), job, &[])?;
        return Ok((vec![prepared], foreign));
    };
    let kept = read_once(context, job)?;
    let job = kept.as_ref().unwrap_or(job);
    let parts = plan_parts(context, job, mirrors, narrow, Intent::Plan(what_for)).await?;
    let mut foreign = 0;
    let mut plans = Vec::new();
    for PartRun { part, plan, narrow, .. } in parts {
        let plan = with_left(plan, part, &narrow, (mirrors.of(part.mapping.target), context.store), what_for)?;
        plans.push(if part.name == job.name {
            foreign = strangers(context.store, mirrors.of(plan.target), part, &plan.updates.matched)?;
            let told = next.waiting.is_some().then(|| next.describe());
            JobPlan { notes: plan.notes.iter().cloned().chain(told).collect(), inbox: next.waiting.clone(), ..plan }
        } else {
            plan
        });
    }
    Ok((plans, foreign))
}

/// How many people at the service belong to no record of the job.
fn strangers(store: &Store, mirror: &Mirror, job: &Job, matched: &[RemoteId]) -> Result<u64, Error> {
    let index = Index::load(store, &job.name)?;
    let mut mine: Vec<i32> =
        (0..index.len()).map(|at| index.entry(at).id).chain(matched.iter().map(|id| id.get())).collect();
    mine.sort_unstable();
    let mut foreign = 0;
    mirror.each_id(store, |id| foreign += u64::from(mine.binary_search(&id.get()).is_err()))?;
    Ok(foreign)
}
