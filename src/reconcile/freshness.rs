//! Whether a source brings new content as often as it should.
//!
//! A job whose export has died looks healthy for ever: the same file is read again, and nothing differs. Only the time
//! since its content last changed tells.

use jiff::Timestamp;

use super::model::context::Context;
use super::model::error::Error;
use super::model::job_state::JobState;
use super::model::reason::{Reason, ReasonKind};
use crate::config::Job;
use crate::source::Source;
use crate::store;

/// Remembers which file is read in place, and when the content of such a source became another one.
pub(crate) fn note(context: &Context<'_>, job: &Job, content: &str) -> Result<(), store::Error> {
    let mut state = JobState::load(context.store, &job.name)?;
    let file = match &job.source {
        Source::Csv(options) => Some(options.path.clone()),
        Source::Web(_) | Source::Ldap(_) | Source::Entra(_) | Source::Cached { .. } => None,
    };
    if state.content == content && state.file == file {
        return Ok(());
    }
    if state.content != content {
        content.clone_into(&mut state.content);
        state.fresh = Some(context.clock.now());
    }
    state.file = file;
    state.save(context.store, &job.name)
}

/// Why a job is overdue: nothing new has come for longer than its `expect_every` says.
pub fn overdue(job: &Job, state: &JobState, now: Timestamp) -> Option<Reason> {
    let (every, fresh) = (job.expect_every?, state.fresh?);
    let late = now.duration_since(fresh) > every;
    late.then(|| {
        ReasonKind::Stale
            .because(format!("overdue: no new content since {fresh:.0}, and some is expected every {every:#}"))
    })
}

/// The same as something that a run notes.
pub(crate) fn noted(context: &Context<'_>, job: &Job) -> Result<Option<Reason>, Error> {
    let state = JobState::load(context.store, &job.name)?;
    Ok(overdue(job, &state, context.clock.now()))
}
