//! The health check, for a monitor.

use super::snapshot::{JobView, Snapshot};
use crate::reconcile::Status;

/// What is wrong; nothing where all is well. What merely waits for a person is not wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// One line for each problem; names no person.
    pub problems: Vec<String>,
}

impl Health {
    /// Judges a snapshot.
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut problems: Vec<String> = snapshot.jobs.iter().flat_map(of_job).collect();
        if snapshot.is_full {
            problems.push("the disk of the state is full: nothing is sent".to_owned());
        }
        Self { problems }
    }

    /// The state can't be read, so nothing is known.
    pub fn unknown(reason: &str) -> Self {
        Self { problems: vec![format!("the state can't be read: {reason}")] }
    }

    /// The account does not run.
    pub fn stopped(reason: &str) -> Self {
        Self { problems: vec![format!("it does not run: {reason}")] }
    }

    /// Whether all is well.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }
}

fn of_job(job: &JobView) -> Vec<String> {
    let name = &job.name;
    let failed = job.status() == Some(Status::Failed);
    let unused = !failed && job.unused_file.is_some();
    let inbox = job.inbox.as_ref().is_some_and(Result::is_err);
    [
        failed.then(|| format!("job {name} fails")),
        unused.then(|| format!("nothing of the last file of job {name} was used")),
        job.overdue.is_some().then(|| format!("job {name} is overdue")),
        inbox.then(|| format!("the inbox of job {name} can't be looked at")),
    ]
    .into_iter()
    .flatten()
    .collect()
}
