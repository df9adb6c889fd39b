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
    with_inbox(job, &|inbox| Options { repeats: true, ..inbox })
}

/// The same job with other options of its inbox, which are those of its parts, too.
pub(crate) fn with_inbox(job: Job, change: &dyn Fn(Options) -> Options) -> Job {
    in_all_parts(job, &|job| Job { inbox: job.inbox.map(change), ..job })
}

/// The same job with a change that is made in each of its parts, too.
pub(crate) fn in_all_parts(job: Job, change: &dyn Fn(Job) -> Job) -> Job {
    let part = |part: Option<Box<Job>>| part.map(|part| Box::new(change(*part)));
    let (organizations, memberships) = (part(job.organizations), part(job.memberships));
    Job { organizations, memberships, ..change(Job { organizations: None, memberships: None, ..job }) }
}

/// The delimiter of a file out of which a person was taken.
pub(crate) fn rewritten_delimiter(job: &Job) -> u8 {
    form(job).delimiter.unwrap_or(b',')
}

/// A job over the last file, as it is kept under this name. The form of one that was rewritten, since a person was taken out of it, says
/// nothing of how the job's files are written.
pub(crate) fn over_last(job: &Job, path: PathBuf, name: &str, is_rewritten: bool) -> Job {
    let job = over(job, path, Some(name.into()));
    if !is_rewritten {
        return job;
    }
    let options = csv::Options {
        encoding: csv::Encoding::Named(encoding_rs::UTF_8),
        delimiter: Some(rewritten_delimiter(&job)),
        header: Some(1),
        is_own: true,
        ..form(&job)
    };
    in_all_parts(job, &|job| Job { source: Source::Csv(options.clone()), ..job })
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
