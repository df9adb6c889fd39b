//! What a job would read next, without moving anything: for those who look before something happens.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use tempfile::TempDir;

use super::pending::{self, PendingWork};
use super::staleness::{self, as_before};
use crate::clock::Clock;
use crate::config::Job;
use crate::reconcile::dropped::known_file::{older_export, same_as_last};
use crate::reconcile::dropped::next_file::{Arrivals, NextFile};
use crate::reconcile::dropped::staging::Staging;
use crate::reconcile::dropped::with_copy::{over, with_inbox};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::waiting_files::WaitingFiles;
use crate::source::inbox::{self, Folder, InboxEntry, Options, Taken, shown};
use crate::store::Store;

/// How many names are listed.
const LISTED_MAX: usize = 10;

/// What a job would read next.
pub struct Peeked {
    job: Option<Job>,
    /// What waits in the inbox; none where the source is a file read in place.
    pub waiting: Option<WaitingFiles>,
    /// Where that begins to say that this is what is left of earlier files, if it is.
    rest: Option<usize>,
    /// Holds the copy of the file as long as it is read.
    _copy: Option<TempDir>,
}

impl Peeked {
    /// The job over what it would read; none where there is nothing to read.
    pub fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// Whether it would read no row, for what is left of earlier files alone.
    pub(crate) fn is_rowless(&self) -> bool {
        self.rest.is_some()
    }

    /// The same where it would read something else than what is left of earlier files.
    pub(crate) fn without_rest(mut self) -> Self {
        if let (Some(rest), Some(waiting)) = (self.rest.take(), &mut self.waiting) {
            waiting.about.truncate(rest);
        }
        self
    }

    /// What waits, as a sentence; empty where the source is no inbox.
    pub fn describe(&self) -> String {
        let Some(waiting) = &self.waiting else { return String::new() };
        let count = waiting.files.len();
        let mut names: Vec<&str> = waiting.files.iter().take(LISTED_MAX).map(String::as_str).collect();
        if count > LISTED_MAX {
            names.push("…");
        }
        let files = match count {
            0 => "no file waits".to_owned(),
            1 => format!("1 file waits ({})", names[0]),
            _ => format!("{count} files wait ({})", names.join(", ")),
        };
        format!("{files} in the inbox {}{}", waiting.dir.display(), waiting.about)
    }
}

/// Finds out what a job would read next. With the store, files that are done and what is open of earlier ones count; without,
/// only what lies in the inbox does.
pub fn peek(job: &Job, store: Option<&Store>, clock: &Clock) -> Result<Peeked, Error> {
    let Some(options) = &job.inbox else {
        return Ok(Peeked { job: Some(job.clone()), waiting: None, rest: None, _copy: None });
    };
    let state = store.map(|store| JobState::load(store, &job.name)).transpose()?.unwrap_or_default();
    let folder = Folder::open_known(&options.dir, state.inbox_before(&options.dir))?;
    let failed = |source| inbox::Error::Copy { name: "the next file".to_owned(), source };
    let laid = store.map(|store| Staging::of(store.home(), &job.name).laid()).transpose().map_err(failed)?;
    let is_done = |entry: &InboxEntry| laid.iter().flatten().any(|laid| laid.is(entry));
    let copy = match store {
        Some(store) => tempfile::Builder::new().prefix("looking-").tempdir_in(store.home().spill_dir()),
        None => tempfile::Builder::new().prefix("rosterd-").tempdir(),
    };
    let copy = copy.map_err(failed)?;
    let mut waiting = WaitingFiles {
        dir: options.dir.clone(),
        file: None,
        files: folder.waiting(options, &is_done)?,
        about: String::new(),
    };
    let mut arrivals = Arrivals::of(&folder, options, clock);
    let found = settled(&mut arrivals, &is_done, &copy.path().join("copy"), &mut waiting.about)?;
    let Some((entry, taken)) = found else {
        waiting.about.extend(pending::unused_note(job, &state).map(|note| format!("; {note}")));
        let rest =
            store.map(|store| PendingWork::of(job, (store, clock.now()), &copy.path().join("copy"))).transpose()?;
        let is_rowless = matches!(rest, Some(PendingWork::Rowless(_)));
        let (job, about) = match rest {
            Some(PendingWork::Last(job, name)) => (Some(*job), format!("; this is what is open of {name}")),
            Some(PendingWork::Rowless(job)) => (Some(*job), "; this is what is left of earlier files".to_owned()),
            Some(PendingWork::Nothing) | None => (None, String::new()),
        };
        let rest = is_rowless.then_some(waiting.about.len());
        waiting.about.push_str(&about);
        return Ok(Peeked { job, waiting: Some(waiting), rest, _copy: Some(copy) });
    };
    let name = shown(&entry.name);
    waiting.file = Some(name.clone());
    if let Some(last) = same_as_last(&state.inbox, &taken, &as_before(job)) {
        waiting.about = format!("; {name} is the same file as {}, so it will be skipped", last.name);
        return Ok(Peeked { job: None, waiting: Some(waiting), rest: None, _copy: Some(copy) });
    }
    if waiting.files.len() > 1 {
        waiting.about.push_str(&format!("; this is about {name}"));
    }
    let doubt = older_export(&state.inbox, options, &name, &taken);
    let called = Some(name.clone().into());
    let others = waiting.files.len().saturating_sub(1);
    let (reads, others_wait) = (staleness::reads(job, others), others > 0);
    let job = over(job, taken.path, called);
    let job = with_inbox(job, &|inbox| Options { doubt: doubt.clone(), reads, others_wait, ..inbox });
    Ok(Peeked { job: Some(job), waiting: Some(waiting), rest: None, _copy: Some(copy) })
}

/// A copy of the next file that can be read; `None` if there is none. `about` says what will be refused.
fn settled(
    arrivals: &mut Arrivals<'_>,
    is_done: &dyn Fn(&InboxEntry) -> bool,
    into: &Path,
    about: &mut String,
) -> Result<Option<(InboxEntry, Taken)>, Error> {
    let mut refused: BTreeSet<OsString> = BTreeSet::new();
    loop {
        match arrivals.look(&|entry| is_done(entry) || refused.contains(&entry.name), into)? {
            Some(NextFile::Nothing) => return Ok(None),
            Some(NextFile::Taken(entry, taken)) => return Ok(Some((entry, taken))),
            Some(NextFile::Refused(entry, reason)) => {
                let name = shown(&entry.name);
                about.push_str(&format!("; {name} will be refused: {}", reason.to_string().trim_end_matches('.')));
                refused.insert(entry.name);
            }
            Some(NextFile::Restless(..)) => {
                about.push_str("; the first of them is still being written");
                return Ok(None);
            }
            None => std::thread::sleep(arrivals.pause()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_counted_and_named() {
        let described = |files: &[&str]| {
            let files = files.iter().map(|file| (*file).to_owned()).collect();
            let waiting = WaitingFiles { dir: "in".into(), file: None, files, about: "; and so on".to_owned() };
            Peeked { job: None, waiting: Some(waiting), rest: None, _copy: None }.describe()
        };
        assert_eq!(described(&[]), "no file waits in the inbox in; and so on");
        assert_eq!(described(&["a"]), "1 file waits (a) in the inbox in; and so on");
        assert_eq!(described(&["a", "b"]), "2 files wait (a, b) in the inbox in; and so on");
        assert!(described(&["a"; 10]).contains("(a, a, a, a, a, a, a, a, a, a)"));
        assert!(described(&["a"; 11]).starts_with("11 files wait (a, a, a, a, a, a, a, a, a, a, …) in"));
    }
}
