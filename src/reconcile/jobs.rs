//! A run from end to end.

use super::approval::remote_digest;
use super::collect::key_filter::narrowed;
use super::collect::rows;
use super::collect::shared_read::read_once;
use super::inbox::{last_file, peek, process};
use super::leavers::job_limit;
use super::leavers::missing_limit::{Remembered, remembered};
use super::mirrors::Mirrors;
use super::model::context::{Context, KeyFilter};
use super::model::error::Error;
use super::model::job_plan::{For, JobPlan, Plan};
use super::model::job_state::next_run;
use super::plan::build::build_plan;
use super::report::job_report::Report;
use super::run_job::{prune, record, run_job};
use super::{account, freshness, pause, restored_state, retention};
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
    let mut mirrors = Mirrors::default();
    for job in jobs {
        if context.watch.interrupted() {
            break;
        }
        if let Some(inbox) = &job.inbox {
            reports.push(process::sync(context, job, inbox, &mut mirrors, narrow).await?);
            continue;
        }
        let before = context.client.requests();
        let started = context.clock.now();
        context.client.begin_run();
        let run = next_run(context.store)?;
        let mut report = match run_job(context, job, &mut mirrors, narrow, run, before).await {
            Ok(report) => report,
            Err(error) => Report { interrupted: error.is_interruption(), ..context.failed(job, &error, before) },
        };
        report.reasons.extend(freshness::noted(context, job)?);
        report.is_narrow = narrow.is_narrow();
        record(context, job, &report, run, started)?;
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
    let next = peek::peek(job, Some(context.store), context.clock)?;
    let last = match (next.job(), what_for) {
        (None, For::Rehearsal) => last_file::last(job, context.store)?,
        _ => None,
    };
    let over = next.job().or(last.as_ref().map(|(job, _)| job));
    mirrors.pull(context, over.unwrap_or(job), false).await?;
    let Some(job) = over else {
        let Remembered { missed, missing, names } = remembered(context, job, mirrors.of(job.mapping.target))?;
        let nothing = JobPlan::nothing(job, context.store, next.told());
        let prepared = JobPlan { inbox: next.waiting.clone(), missed, missing, names, ..nothing };
        let foreign = strangers(context.store, mirrors.of(job.mapping.target), job, &[])?;
        return Ok((vec![prepared], foreign));
    };
    let kept = read_once(context, job)?;
    let job = kept.as_ref().unwrap_or(job);
    let mut all = Vec::new();
    let mut foreign = 0;
    for (part, narrow) in narrowed(context, job, narrow)? {
        let mapping = rows::mapping(part);
        let mut prepared = build_plan(context, part, &mapping, mirrors, &narrow, &all, &mut |_, _| Ok(()))?;
        if part.name == job.name {
            foreign = strangers(context.store, mirrors.of(part.mapping.target), part, &prepared.updates.matched)?;
            prepared.notes.extend(next.waiting.is_some().then(|| next.told()));
            prepared.inbox.clone_from(&next.waiting);
        }
        all.push(prepared);
    }
    job_limit::share(context, job, &mut all)?;
    for prepared in &mut all {
        pause::reason(context.store.dir(), &job.name).into_iter().for_each(|reason| prepared.block(reason));
        if what_for == For::File {
            prepared.updates.remote = remote_digest::remotes(prepared, mirrors.of(prepared.target), context.store)?;
        }
    }
    Ok((all, foreign))
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
