//! A job over one copy of a file instead of its inbox.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::Job;
use crate::source::inbox::Options;
use crate::source::{Source, csv};

/// What a job says about the files of its inbox.
pub(crate) fn form(job: &Job) -> csv::Options {
    job.source.file().cloned().expect("a job with an inbox reads files")
}

/// A job over what was read before.
pub(crate) fn again(job: Job) -> Job {
    let inbox = |inbox: Option<Options>| inbox.map(|inbox| Options { repeats: true, ..inbox });
    let part = |part: Option<Box<Job>>| part.map(|part| Box::new(Job { inbox: inbox(part.inbox.clone()), ..*part }));
    let (organizations, memberships) = (part(job.organizations), part(job.memberships));
    Job { organizations, memberships, inbox: inbox(job.inbox), ..job }
}

/// A job over the copy at `path` of what messages call `called`. A copy stands still.
pub(crate) fn over(job: &Job, path: PathBuf, called: Option<PathBuf>) -> Job {
    let source = csv::Options { path, called, settle: Duration::ZERO, ..form(job) };
    let source = Source::Csv(source);
    // The parts of a job read what the job reads.
    let part = |part: &Option<Box<Job>>| {
        part.as_ref().map(|part| Box::new(Job { source: source.clone(), ..Job::clone(part) }))
    };
    let (organizations, memberships) = (part(&job.organizations), part(&job.memberships));
    Job { source, organizations, memberships, ..job.clone() }
}
