//! One read of a directory for all parts of a job.

use super::rows;
use crate::config::Job;
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::source::{RequiredColumns, Source};

/// The job with the rows of its directory as they are now, where it has parts that would each ask for them: between two
/// reads a person could come or go, and the parts would contradict each other. A file is small and read in place.
pub(crate) fn read_once(context: &Context<'_>, job: &Job) -> Result<Option<Job>, Error> {
    if job.parts().count() < 2 || !matches!(job.source, Source::Ldap(_)) {
        return Ok(None);
    }
    let mut wanted = RequiredColumns::default();
    job.parts().for_each(|part| wanted.add(rows::mapping(part).wanted()));
    let state = JobState::load(context.store, &job.name)?;
    let source = rows::accessed(context, state.found.as_ref(), |access| {
        job.source.cached(&wanted, access, context.store.dir())
    })?;
    let part = |part: &Option<Box<Job>>| {
        part.as_ref().map(|part| Box::new(Job { source: source.clone(), ..Job::clone(part) }))
    };
    let (organizations, memberships) = (part(&job.organizations), part(&job.memberships));
    Ok(Some(Job { source, organizations, memberships, ..job.clone() }))
}
