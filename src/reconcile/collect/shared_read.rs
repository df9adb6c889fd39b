//! One read of a server for all that a run wants of it.

use super::{lookups, rows};
use crate::config::Job;
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::record::Target;
use crate::source::RequiredColumns;

/// The job with the rows of its server as they are now, where a run would ask for them more than once: for each part of the
/// job, or to find out first which certifications they name. Between two reads a person could come or go, and the parts
/// would contradict each other. A file is small and read in place.
///
/// Its lookups are read once in any case.
pub(crate) fn read_once(context: &Context<'_>, job: &Job) -> Result<Option<Job>, Error> {
    let joined = lookups::loaded(context, job)?;
    let shared = shared(context, joined.as_ref().unwrap_or(job))?;
    Ok(shared.or(joined))
}

fn shared(context: &Context<'_>, job: &Job) -> Result<Option<Job>, Error> {
    let is_once = job.parts().count() < 2 && job.mapping.target != Target::Holder;
    if is_once || !job.source.is_remote() {
        return Ok(None);
    }
    let mut wanted = RequiredColumns::default();
    job.parts().for_each(|part| wanted.add(rows::mapping(part).wanted()));
    let state = JobState::load(context.store, &job.name)?;
    let source = rows::accessed(context, state.found.as_ref(), |access| {
        job.source.cached(&wanted, access, context.store.home().spill_dir())
    })?;
    let part = |part: &Option<Box<Job>>| {
        part.as_ref().map(|part| Box::new(Job { source: source.clone(), ..Job::clone(part) }))
    };
    let (organizations, memberships) = (part(&job.organizations), part(&job.memberships));
    Ok(Some(Job { source, organizations, memberships, ..job.clone() }))
}
