//! A run that has begun.

use jiff::Timestamp;

use crate::run::context::Context;
use crate::run::error::Error;
use crate::run::state::next_run;

/// A run that has begun.
pub(super) struct Begun {
    pub(super) run: u64,
    pub(super) started: Timestamp,
    pub(super) requests: u64,
}

/// Begins a run.
pub(super) fn begin(context: &Context<'_>) -> Result<Begun, Error> {
    context.client.begin_run();
    Ok(Begun { run: next_run(context.store)?, started: context.clock.now(), requests: context.client.requests() })
}
