//! A run that has begun: what it counts from, and how its end is remembered.

use jiff::Timestamp;

use super::model::context::Context;
use super::model::counts::Status;
use super::model::error::{Error, is_full};
use super::model::job_state::{JobState, LastRun, RejectedRows, next_run};
use super::model::recent_runs::{RecentRun, RecentRuns};
use super::report::job_report::Report;
use super::report::log;
use crate::config::Job;
use crate::fault::chain;
use crate::history::{Audit, Ended};
use crate::store::Batch;

/// A run that has begun.
pub(crate) struct StartedRun {
    pub(crate) run: u64,
    pub(crate) started: Timestamp,
    /// How many requests were sent before it.
    requests: u64,
}

impl StartedRun {
    /// Begins a run.
    pub(crate) fn begin(context: &Context<'_>) -> Result<Self, Error> {
        context.client.begin_run();
        let (started, requests) = (context.clock.now(), context.client.requests());
        Ok(Self { run: next_run(context.store)?, started, requests })
    }

    /// How many requests it has sent so far.
    pub(crate) fn requests(&self, context: &Context<'_>) -> u64 {
        context.client.requests() - self.requests
    }

    /// The report of a run that failed before it had anything to count.
    pub(crate) fn failed(&self, context: &Context<'_>, job: &Job, error: &Error) -> Report {
        if is_full(error) {
            context.store.ran_full();
        }
        let failed = Report::failed(job.name.clone(), chain(error), self.requests(context));
        Report { interrupted: error.is_interruption(), ..failed }
    }

    /// Remembers how it ended. If the audit file can't be written, the run is still valid (fault 10). A run that was
    /// asked to end says nothing about the state of the job: another run continues it, and there must be no notice of a
    /// failure. Nor does a run for some records only: the state of the job stays what its last whole run found.
    pub(crate) fn record(&self, context: &Context<'_>, job: &Job, report: &Report) -> Result<(), Error> {
        let run = self.run;
        log::log(run, report);
        let line = self.ended(context, job, report);
        if let Err(error) = Audit::new(context.store.home()).append(line.clone()) {
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
        let mut batch = Batch::default();
        if !report.is_narrow {
            ran(&mut state, report, &line);
            let mut recent = RecentRuns::load(context.store, &job.name)?;
            recent.push(RecentRun { run, ended: line.at, status: report.status, counts: report.counts });
            recent.put(&mut batch, &job.name);
        }
        state.put(&mut batch, &job.name);
        Ok(context.store.commit(batch)?)
    }

    /// Its end, which is now.
    pub(crate) fn ended(&self, context: &Context<'_>, job: &Job, report: &Report) -> Ended {
        Ended {
            at: context.clock.now(),
            run: self.run,
            job: job.name.clone(),
            started: self.started,
            status: report.status.name().to_owned(),
            complete: report.complete,
            counts: report.counts.by_name(),
            reason: report.reason(),
            reverts: None,
            by: None,
        }
    }
}

/// Remembers what a whole run found.
fn ran(state: &mut JobState, report: &Report, line: &Ended) {
    let Ended { run, started, at: ended, .. } = *line;
    state.fresh.get_or_insert(started);
    state.reasons.clone_from(&report.reasons);
    if report.has_read_rows() {
        state.rejected = RejectedRows::of(&report.rejections);
        state.bad_values = RejectedRows::of(&report.bad_values);
    }
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
