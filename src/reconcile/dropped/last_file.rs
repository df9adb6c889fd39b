//! The last file of an inbox, for those who ask what the source says though no file is read now.

use std::io;

use tempfile::TempDir;

use super::known_file::older_export;
use super::next_file::{Arrivals, NextFile};
use super::staging::Staging;
use super::with_copy::{over, over_last};
use crate::clock::Clock;
use crate::config::Job;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::source::inbox::{self, Destination, Folder, InboxEntry, shown, take_filed};
use crate::store::Store;

/// How many filed files of that name are looked through.
const LOOKED_AT_MAX: usize = 10;

/// How often an inbox is looked at for a file that has settled.
const LOOKS: usize = 3;

/// What the source of a job says by now.
pub(crate) struct LatestFile {
    /// The job over the file, with the folder that holds the copy; none where there is none.
    pub(crate) read: Option<(Job, Option<TempDir>)>,
    /// Whether the job has read it.
    pub(crate) is_done: bool,
    /// How many files wait that it does not show: those after it, and one that is still being written.
    pub(crate) waiting: usize,
    /// Why it may not be what the source says by now.
    pub(crate) doubt: Option<String>,
}

/// A job over the file that waits in its inbox, or else over [the last one](last).
pub(crate) fn latest(job: &Job, store: &Store, clock: &Clock) -> Result<LatestFile, Error> {
    let Some(options) = &job.inbox else {
        return Ok(LatestFile { read: last(job, store)?, is_done: false, waiting: 0, doubt: None });
    };
    let failed = |source| inbox::Error::Copy { name: "the next file".to_owned(), source };
    let state = JobState::load(store, &job.name)?;
    let folder = Folder::open_known(&options.dir, state.inbox_before(&options.dir))?;
    let laid = Staging::of(store.home(), &job.name).laid().map_err(failed)?;
    let is_done = |entry: &InboxEntry| laid.iter().any(|laid| laid.is(entry));
    let waiting = folder.waiting(options, &is_done)?.len();
    let scratch = tempfile::Builder::new().prefix("looking-").tempdir_in(store.home().spill_dir()).map_err(failed)?;
    let mut arrivals = Arrivals::of(&folder, options, clock);
    for _ in 0..LOOKS {
        match arrivals.look(&is_done, &scratch.path().join("copy"))? {
            Some(NextFile::Taken(entry, taken)) => {
                let name = shown(&entry.name);
                let doubt = older_export(&state.inbox, options, &name, &taken).map(|older| format!("{name}: {older}"));
                let read = Some((over(job, taken.path, Some(name.into())), Some(scratch)));
                return Ok(LatestFile { read, is_done: false, waiting: waiting.saturating_sub(1), doubt });
            }
            Some(NextFile::Nothing | NextFile::Restless(..) | NextFile::Refused(..)) => break,
            None => std::thread::sleep(arrivals.pause()),
        }
    }
    let doubted = state.inbox.past.last().filter(|last| last.doubted);
    let older = || doubted.map(|last| format!("{} seems to be an older export than the one before", last.name));
    let unused = state.inbox.unused.as_ref().map(|name| format!("nothing of {name} was used, which is in failed/"));
    Ok(LatestFile { read: last(job, store)?, is_done: true, waiting, doubt: unused.or_else(older) })
}

/// A job over the last file that was read, as it was, with the folder that holds the copy; none where it is not kept any
/// more. A job without an inbox is itself.
pub(crate) fn last(job: &Job, store: &Store) -> Result<Option<(Job, Option<TempDir>)>, Error> {
    let Some(options) = &job.inbox else { return Ok(Some((job.clone(), None))) };
    let state = JobState::load(store, &job.name)?;
    let Some(past) = state.inbox.past.last().filter(|past| !past.content.is_empty()) else { return Ok(None) };
    let failed = |source| inbox::Error::Copy { name: past.name.clone(), source };
    let scratch = tempfile::Builder::new().prefix("looking-").tempdir_in(store.home().spill_dir()).map_err(failed)?;
    let copy = scratch.path().join("copy");
    let over_it = |path| over_last(job, path, &past.name, past.rewritten);
    if state.inbox.kept_copy.is_some()
        && let Some(kept) = Staging::of(store.home(), &job.name).kept_copy(&copy).map_err(failed)?
    {
        return Ok(Some((over_it(kept), Some(scratch))));
    }
    let folder = Folder::open(&options.dir)?;
    if !folder.is_marked() {
        return Ok(None);
    }
    for name in &filed_as(&folder, &past.name).map_err(failed)? {
        let content = take_filed(&folder, Destination::Processed, name, options.size_max, &copy);
        if content.is_ok_and(|content| content.as_ref() == Some(&past.content)) {
            return Ok(Some((over_it(copy), Some(scratch))));
        }
    }
    Ok(None)
}

/// The digest of the file that was filed last under this name, as it is now; none where there is none. Forgetting a person rewrites
/// filed files, and the last one is still to be found by it.
pub(crate) fn filed_content(job: &Job, store: &Store, name: &str) -> Result<Option<String>, Error> {
    let Some(options) = &job.inbox else { return Ok(None) };
    let failed = |source| inbox::Error::Copy { name: name.to_owned(), source };
    let filed = filed_as(&Folder::open(&options.dir)?, name).map_err(failed)?;
    let Some(latest) = filed.first() else { return Ok(None) };
    content_as_filed(job, store, latest)
}

/// The digest of what lies in `processed/` under this name; none where it can't be read.
pub(crate) fn content_as_filed(job: &Job, store: &Store, filed: &str) -> Result<Option<String>, Error> {
    let Some(options) = &job.inbox else { return Ok(None) };
    let failed = |source| inbox::Error::Copy { name: filed.to_owned(), source };
    let folder = Folder::open(&options.dir)?;
    let scratch = tempfile::Builder::new().prefix("looking-").tempdir_in(store.home().spill_dir()).map_err(failed)?;
    let copy = scratch.path().join("copy");
    Ok(take_filed(&folder, Destination::Processed, filed, options.size_max, &copy).ok().flatten())
}

/// What was filed of files of this name, the latest first.
fn filed_as(folder: &Folder, name: &str) -> io::Result<Vec<String>> {
    let end = format!("_{name}");
    let (filed, _) = folder.filed(Destination::Processed)?;
    Ok(filed.into_iter().rev().filter(|name| name.ends_with(&end)).take(LOOKED_AT_MAX).collect())
}

/// Ends what the inbox left that the job had before: its last file is older than what the job read now.
pub(crate) fn leave_inbox(store: &Store, job: &Job) -> Result<(), Error> {
    let mut state = JobState::load(store, &job.name)?;
    if state.inbox.supersede() {
        drop_kept_copy(store, job, &Staging::of(store.home(), &job.name));
        state.save(store, &job.name)?;
    }
    Ok(())
}

/// Drops the private copy of the last file.
pub(crate) fn drop_kept_copy(store: &Store, job: &Job, staging: &Staging) {
    if let Err(error) = staging.drop_kept_copy(store) {
        let job = job.name.as_str();
        tracing::warn!(job, %error, "{job}: the private copy of the last file could not be removed: {error}");
    }
}
