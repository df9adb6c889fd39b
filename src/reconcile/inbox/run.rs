//! A run that has begun.

use jiff::Timestamp;

use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::next_run;

/// A run that has begun.
pub(crate) struct StartedRun {
    pub(crate) run: u64,
    pub(crate) started: Timestamp,
    pub(crate) requests: u64,
}

/// Begins a run.
pub(crate) fn begin(context: &Context<'_>) -> Result<StartedRun, Error> {
    context.client.begin_run();
    Ok(StartedRun { run: next_run(context.store)?, started: context.clock.now(), requests: context.client.requests() })
}
