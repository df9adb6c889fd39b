//! One run of a job from end to end.

use jiff::Timestamp;

use super::approval::{held, remote_digest, wrong_presence};
use super::collect::key_filter::narrowed;
use super::collect::rows;
use super::collect::shared_read::read_once;
use super::commit::adopt::Adoption;
use super::commit::enqueue::{commit, left_unknown, parked};
use super::commit::index::save_index;
use super::freshness;
use super::leavers::{job_limit, organization_transfers};
use super::mirrors::Mirrors;
use super::model::context::{Context, KeyFilter, Stage};
use super::model::counts::Status;
use super::model::error::{Error, is_full};
use super::model::job_plan::{JobPlan, ON_SITE};
use super::model::job_state::{JobState, LastRun, ROWS_MAX, RejectedRow};
use super::model::reason::ReasonKind;
use super::pause;
use super::plan::build::build_plan;
use super::push_session::PushSession;
use super::report::job_report::{Part, Report, report};
use super::report::{log, warnings};
use crate::config::Job;
use crate::history::{Audit, AuditLine, Ended};
use crate::mirror::Removal;
use crate::plan::Protection;
use crate::push::{Drained, Outcome, StopReason};
use crate::queue::Ticket;
use crate::record::{Action, Target};
use crate::store::{Batch, Store};
use crate::text::counted;

/// Turns a push that a pause ended into one that waits: nothing failed.
pub(crate) fn excuse(prepared: &mut JobPlan, drained: &mut Drained) {
    if let Some((pause, _)) = drained.excuse(|reason| matches!(reason, StopReason::Paused(_))) {
        prepared.block(ReasonKind::Paused.because(pause.to_string()));
    }
}

pub(crate) async fn run_job(
    context: &Context<'_>,
    job: &Job,
    mirrors: &mut Mirrors,
    narrow: &KeyFilter,
    run: u64,
    requests_before: u64,
) -> Result<Report, Error> {
    let store = context.store;
    let kept = match read_once(context, job) {
        Ok(kept) => kept,
        Err(error) => {
            // The presence of people that an earlier process updated is verified all the same (law 10).
            for part in job.parts() {
                PushSession::open(context, part, run).await?;
            }
            return Err(error);
        }
    };
    let job = kept.as_ref().unwrap_or(job);
    let mut sessions = Vec::new();
    let narrows = narrowed(context, job, narrow)?;
    for (part, _) in &narrows {
        sessions.push(PushSession::open(context, part, run).await?);
    }
    mirrors.pull(context, job, true).await?;
    let mut all = Vec::new();
    for ((part, narrow), session) in narrows.iter().zip(&sessions) {
        all.push(plan_after_recovery(context, part, session, mirrors, narrow, &all).await?);
    }
    job_limit::share(context, job, &mut all)?;
    let nothing_taken = all.iter().any(|prepared| prepared.hold.is_some());
    let paused = pause::reason(store.dir(), &job.name);
    for prepared in &mut all {
        paused.iter().for_each(|reason| prepared.block(reason.clone()));
    }
    let requests = |client: &crate::api::Client| client.requests() - requests_before;
    if nothing_taken {
        let mut parts = Vec::new();
        for ((prepared, session), (part, _)) in all.into_iter().zip(sessions).zip(&narrows) {
            let mut prepared = prepared;
            prepared.notes.extend(session.unlooked);
            wrong_presence::hold(store, part, &mut prepared)?;
            parts.push(Part { prepared, drained: Drained::default(), parked: parked(store, part)? });
        }
        let mut report = report(job, parts, requests(context.client));
        report.details.nothing_taken = true;
        return Ok(report);
    }
    let mut changes = Vec::new();
    for ((part, narrow), prepared) in narrows.iter().zip(&mut all) {
        prepared.updates.remote = remote_digest::of_held(prepared, mirrors.of(prepared.target), store)?;
        changes.push(commit(store, part, prepared, narrow)?);
        if part.name == job.name && job.inbox.is_none() && !narrow.is_narrow() {
            freshness::note(context, job, &prepared.updates.content)?;
        }
    }
    let before: Vec<_> = all.iter().map(|prepared| mirrors.of(prepared.target).changed().clone()).collect();
    let mut drained: Vec<Drained> = all.iter().map(|_| Drained::default()).collect();
    let count: usize = changes.iter().map(Vec::len).sum();
    if paused.is_none() {
        let requests = changes.iter().flatten().map(Ticket::requests).sum();
        context.watch.stage(&job.name, Stage::Sending { changes: count, requests });
        drained = send(&sessions, mirrors, &all, changes).await?;
        all.iter_mut().zip(&mut drained).for_each(|(prepared, drained)| excuse(prepared, drained));
        for ((part, _), drained) in narrows.iter().zip(&mut drained) {
            drained.notes.extend(warnings::notes(context.client, store, part, drained)?);
        }
    } else if count > 0
        && let Some(prepared) = all.iter_mut().find(|prepared| prepared.job == job.name)
    {
        prepared.block(counted(count, "change waits", "changes wait").into());
    }
    // A dropped file is done with only when all of it is sent, so it is read once more.
    let will_resume = context.watch.will_resume() && job.inbox.is_none();
    let mut preempted = |drained: &mut Drained| Some(drained.excuse(|reason| *reason == StopReason::Interrupted)?.1);
    let left: Vec<usize> = drained.iter_mut().filter(|_| will_resume).filter_map(&mut preempted).collect();
    let mut parts = Vec::new();
    for ((((part, _), mut prepared), drained), before) in narrows.iter().zip(all).zip(drained).zip(before) {
        save_index(store, part, mirrors.of(prepared.target), &before, &prepared, &drained)?;
        wait(store, part, &drained)?;
        held::wait(store, &part.name, prepared.protected.iter(), Protection::REASON)?;
        for (key, reason) in &prepared.moving {
            held::wait(store, &part.name, std::iter::once(key), reason)?;
        }
        wrong_presence::hold(store, part, &mut prepared)?;
        parts.push(Part { prepared, drained, parked: parked(store, part)? });
    }
    let mut report = report(job, parts, requests(context.client));
    if narrow.is_narrow() {
        // It says nothing about those who were not asked for.
        report.missing = JobState::load(store, &job.name)?.missing;
        report.counts.missing = report.missing.as_ref().map_or(0, |missing| missing.people);
    }
    report.details.judged = true;
    report.details.preempted = !left.is_empty();
    if report.details.preempted {
        let waits = counted(left.into_iter().sum(), "change waits", "changes wait");
        report.reasons.push(format!("{waits} for the next run: this one was preempted").into());
    }
    Ok(report)
}

/// Sends what the parts of a job want: who leaves first, what joins two before the two; then each part in its order, so
/// that what another refers to is there before it. A membership that ends for another ends after that one is there.
async fn send(
    sessions: &[PushSession<'_>],
    mirrors: &mut Mirrors,
    all: &[JobPlan],
    changes: Vec<Vec<Ticket>>,
) -> Result<Vec<Drained>, Error> {
    if let ([session], [prepared]) = (sessions, all) {
        let mirror = mirrors.of_mut(prepared.target);
        return Ok(vec![session.push().drain(mirror, &prepared.job, changes.into_iter().flatten().collect()).await?]);
    }
    let mut drained: Vec<Drained> = all.iter().map(|_| Drained::default()).collect();
    let (mut leaving, mut others) = (Vec::new(), Vec::new());
    let mut ends = Vec::new();
    for (prepared, mut changes) in all.iter().zip(changes) {
        ends.push(organization_transfers::take_ends(prepared, &mut changes));
        let (leaves, rest): (Vec<Ticket>, Vec<Ticket>) =
            changes.into_iter().partition(|ticket| ticket.action == Action::Delete);
        leaving.push(leaves);
        others.push(rest);
    }
    let order = leaving.into_iter().enumerate().rev().chain(others.into_iter().enumerate());
    for (at, changes) in order {
        if changes.is_empty() {
            continue;
        }
        let mirror = mirrors.of_mut(all[at].target);
        drained[at].add(sessions[at].push().drain(mirror, &all[at].job, changes).await?);
    }
    for (at, ends) in ends.into_iter().enumerate() {
        let ready = organization_transfers::ready(&all[at], ends, &mut drained[at]);
        if !ready.is_empty() {
            let mirror = mirrors.of_mut(all[at].target);
            drained[at].add(sessions[at].push().drain(mirror, &all[at].job, ready).await?);
        }
    }
    Ok(drained)
}

/// Keeps those as held who wait for something else than a person.
pub(crate) fn wait(store: &Store, part: &Job, drained: &Drained) -> Result<(), Error> {
    let on_site = drained.outcomes.iter().filter(|(_, _, outcome)| *outcome == Outcome::OnSite);
    held::wait(store, &part.name, on_site.map(|(key, _, _)| key), ON_SITE)?;
    for (key, _, outcome) in &drained.outcomes {
        if let Outcome::Waits(reason) = outcome {
            held::wait(store, &part.name, std::iter::once(key), reason)?;
        }
    }
    Ok(())
}

/// Works out what a run would do, once it is known what became of what an earlier process left behind; stores what was
/// learned of the service on the way. `earlier` are the parts of the job that were worked out before.
pub(crate) async fn plan_after_recovery(
    context: &Context<'_>,
    part: &Job,
    session: &PushSession<'_>,
    mirrors: &mut Mirrors,
    narrow: &KeyFilter,
    earlier: &[JobPlan],
) -> Result<JobPlan, Error> {
    let store = context.store;
    let unknown = left_unknown(store, part)?;
    let mirror = mirrors.of_mut(part.mapping.target);
    let unclear = if unknown.is_empty() { Vec::new() } else { session.push().settle(mirror, unknown).await? };
    let mut adoption = Adoption::new(part, store);
    let mapping = rows::mapping(part);
    let mut take = |key, known| adoption.take(key, known);
    let mut prepared = build_plan(context, part, &mapping, mirrors, narrow, earlier, &mut take)?;
    prepared.hold_unclear(unclear);
    adoption.end()?;
    mirrors.of_mut(part.mapping.target).save(store)?;
    Ok(prepared)
}

/// Remembers how a run ended. If the audit file can't be written, the run is still valid (fault 10). A run that was
/// asked to end says nothing about the state of the job: another run continues it, and there must be no notice of a
/// failure. Nor does a run for some records only: the state of the job stays what its last whole run found.
pub(crate) fn record(
    context: &Context<'_>,
    job: &Job,
    report: &Report,
    run: u64,
    started: Timestamp,
) -> Result<(), Error> {
    log::log(run, report);
    let line = ended(context, job, report, run, started);
    if let Err(error) = Audit::new(context.store.dir()).append(line.at, &AuditLine::Run(&line)) {
        if is_full(&error) {
            context.store.ran_full();
        }
        tracing::warn!(run, %error, "the end of run {run} could not be written to the audit file: {error}");
    }
    if report.interrupted {
        return Ok(());
    }
    let mut state = JobState::load(context.store, &job.name)?;
    state.ran_full = context.store.has_run_full();
    if !report.is_narrow {
        ran(&mut state, report, &line);
    }
    let mut batch = Batch::default();
    state.put(&mut batch, &job.name);
    Ok(context.store.commit(batch)?)
}

/// Remembers what a whole run found.
fn ran(state: &mut JobState, report: &Report, line: &Ended) {
    let Ended { run, started, at: ended, .. } = *line;
    state.fresh.get_or_insert(started);
    state.reasons.clone_from(&report.reasons);
    state.rejected = report.rejections.iter().map(RejectedRow::of).take(ROWS_MAX).collect();
    state.bad_values = report.bad_values.iter().map(RejectedRow::of).take(ROWS_MAX).collect();
    // A run that could not read its source says nothing about who is in it.
    if report.status != Status::Failed || report.missing.is_some() {
        state.missing.clone_from(&report.missing);
    }
    state.last = Some(LastRun {
        run,
        started,
        ended,
        status: report.status,
        complete: report.complete,
        counts: report.counts,
        reason: report.reason(),
    });
}

/// The end of a run, which is now.
pub(crate) fn ended(context: &Context<'_>, job: &Job, report: &Report, run: u64, started: Timestamp) -> Ended {
    Ended {
        at: context.clock.now(),
        run,
        job: job.name.clone(),
        started,
        status: report.status.name().to_owned(),
        complete: report.complete,
        counts: report.counts.by_name(),
        reason: report.reason(),
        reverts: None,
        by: None,
    }
}

/// Forgets removals that are too old to matter.
pub(crate) fn prune(context: &Context<'_>) -> Result<(), Error> {
    for target in Target::ALL {
        Removal::prune(context.store, *target, context.clock.now())?;
    }
    Ok(())
}
