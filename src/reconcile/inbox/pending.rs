//! A run while no file waits: what is open of earlier files.
//!
//! It reads no records again, except when it repeats the last file: then everything that it finds out about people
//! counts. Otherwise the people who are missing are those of the last read.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use ::csv::WriterBuilder;
use jiff::Timestamp;
use tempfile::TempDir;

use super::cleanup::{has_come_due, is_open, is_sendable};
use super::{staleness, unknown_files};
use crate::config::{Job, Mode};
use crate::mirror::Mirror;
use crate::reconcile::approval::held;
use crate::reconcile::collect::{fingerprint, rows};
use crate::reconcile::dropped::last_file;
use crate::reconcile::dropped::staging::Staging;
use crate::reconcile::dropped::with_copy::{again, form, in_all_parts, over, over_last, with_inbox};
use crate::reconcile::leavers::missing_limit::{Remembered, remembered};
use crate::reconcile::mirrors::{Mirrors, needed};
use crate::reconcile::model::context::{Context, KeyFilter};
use crate::reconcile::model::counts::{Counts, Status};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::inbox_state::Past;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::reason::Reason;
use crate::reconcile::pause;
use crate::reconcile::plan::notes::left_out_note;
use crate::reconcile::report::job_report::Report;
use crate::reconcile::run_job::run_job;
use crate::reconcile::started_run::StartedRun;
use crate::record::JobName;
use crate::snapshot::Index;
use crate::source::{Source, SourceState, csv, inbox};
use crate::store::Store;
use crate::text::counted;

/// What a job works on while no file waits.
pub(crate) enum PendingWork {
    /// Nothing is open.
    Nothing,
    /// The last file.
    Last(Box<Job>, String),
    /// No row at all: what is queued and released is sent, and nothing is said about anybody.
    Rowless(Box<Job>),
}

impl PendingWork {
    /// Finds out what is open. `scratch` is where a file may be laid down.
    pub(crate) fn of(job: &Job, (store, now): (&Store, Timestamp), scratch: &Path) -> Result<Self, Error> {
        if !is_open(store, job)? {
            return Ok(Self::Nothing);
        }
        let state = JobState::load(store, &job.name)?;
        let is_overtaken = state.inbox.is_overtaken();
        if let (Mode::Full, Some(kept_copy)) = (job.mode, state.inbox.kept_copy.filter(|_| !is_overtaken))
            && let Some(path) = Staging::of(store.home(), &job.name)
                .kept_copy(scratch)
                .map_err(|source| inbox::Error::Copy { name: kept_copy.name.clone(), source })?
        {
            let is_rewritten = state.inbox.past.last().is_some_and(|last| last.rewritten);
            let last = over_last(job, path, &kept_copy.name, is_rewritten);
            let last = with_inbox(last, &|inbox| inbox::Options { doubt: kept_copy.doubt.clone(), ..inbox });
            return Ok(Self::Last(Box::new(again(last)), kept_copy.name));
        }
        let found = state.found.as_ref().and_then(SourceState::file);
        let is_due = is_sendable(store, job)? || has_come_due(store, job, now)?;
        let (Some(found), true) = (found, is_due) else { return Ok(Self::Nothing) };
        Ok(Self::Rowless(Box::new(rowless(job, found, scratch)?)))
    }
}

/// A job over a file of this form without a row, which is laid down at `path`.
fn rowless(job: &Job, found: &csv::DetectedFormat, path: &Path) -> Result<Job, Error> {
    let is_of_all = job.mode == Mode::Full;
    header(found, path).map_err(|source| inbox::Error::Copy { name: "a file without rows".to_owned(), source })?;
    let job = over(job, path.to_owned(), Some("what is left of earlier files".into()));
    let options = csv::Options {
        encoding: csv::Encoding::Named(encoding_rs::UTF_8),
        delimiter: Some(OWN_DELIMITER),
        header: Some(1),
        is_own: true,
        ..form(&job)
    };
    let rowless = in_all_parts(job, &|mut job| {
        job.mode = Mode::Changes;
        job.source = Source::Csv(options.clone());
        job.limits.min_records = 0;
        if let Some(inbox) = job.inbox.as_mut().filter(|_| is_of_all) {
            inbox.reads = inbox::Reads::Nothing;
        }
        job
    });
    Ok(again(rowless))
}

/// One run over what is open.
pub(crate) async fn run(
    context: &Context<'_>,
    job: &Job,
    staging: &Staging,
    mirrors: &mut Mirrors,
    narrow: &KeyFilter,
) -> Result<Report, Error> {
    let begun = StartedRun::begin(context)?;
    if !narrow.is_narrow() {
        leave_older(context.store, job, staging)?;
    }
    let mut looks_again = false;
    let work = PendingWork::of(job, (context.store, context.now_for_leavers()), &staging.copy())?;
    // Where something waits that needs no row, the last file may be due all the same.
    let repeats = if matches!(work, PendingWork::Last(..)) { None } else { repeated(context, job, narrow)? };
    let (work, repeats, _copy) = match repeats {
        // No file of changes says more than what is left of all of them.
        Some((rowless, copy)) if job.mode == Mode::Changes => (PendingWork::Rowless(Box::new(rowless)), None, copy),
        Some((last, copy)) => (work, Some(last), copy),
        None => (work, None, None),
    };
    let mut report = match (work, repeats) {
        (_, Some(last)) => {
            looks_again = true;
            attempt(context, &again(last), mirrors, narrow, &begun).await
        }
        (PendingWork::Nothing, None) => as_before(context, job, mirrors, idle(context, job, narrow)?)?,
        (PendingWork::Last(last, _), None) => {
            looks_again = true;
            attempt(context, &last, mirrors, narrow, &begun).await
        }
        (PendingWork::Rowless(rowless), None) => {
            let state_of = |part: &Job| Ok::<_, Error>((part.name.clone(), JobState::load(context.store, &part.name)?));
            let before: Vec<(JobName, JobState)> = job.parts().map(state_of).collect::<Result<_, _>>()?;
            let mut report = attempt(context, &rowless, mirrors, narrow, &begun).await;
            (report.complete, report.details.judged) = (false, false);
            // A file without rows says nothing about how files are written, nor about what the mapping or another place alters.
            for (part, JobState { found, mapping, place, .. }) in before {
                let state = JobState::load(context.store, &part)?;
                JobState { found, mapping, place, ..state }.save(context.store, &part)?;
            }
            if job.mode == Mode::Changes && !narrow.is_narrow() && report.status != Status::Failed {
                note_listing(context.store, job)?;
            }
            as_before(context, job, mirrors, report)?
        }
    };
    if looks_again && !narrow.is_narrow() && report.status != Status::Failed {
        looked_at(context, job, &report)?;
    }
    staging
        .drop_copy()
        .unwrap_or_else(|error| tracing::warn!(%error, "the copy of a file could not be removed: {error}"));
    report.is_narrow = narrow.is_narrow();
    let inbox = JobState::load(context.store, &job.name)?.inbox;
    report.reasons.extend(unknown_files::note(job, &inbox).map(Reason::from));
    if inbox.is_overtaken() && report.status == Status::Done {
        report.status = Status::Held;
    }
    begun.record(context, job, &report)?;
    Ok(report)
}

/// Lets the list before one that seemed to be older count again, once nothing of that one waits any more: what it left open still is.
fn leave_older(store: &Store, job: &Job, staging: &Staging) -> Result<(), Error> {
    let mut state = JobState::load(store, &job.name)?;
    let is_older = job.mode == Mode::Full && state.inbox.past.last().is_some_and(|last| last.doubted);
    if !is_older || is_sendable(store, job)? {
        return Ok(());
    }
    state.inbox.past.pop();
    state.inbox.kept_copy = None;
    last_file::drop_kept_copy(store, job, staging);
    Ok(state.save(store, &job.name)?)
}

/// Notes when the service was last listed for what files of changes said.
fn note_listing(store: &Store, job: &Job) -> Result<(), Error> {
    let mut state = JobState::load(store, &job.name)?;
    let listed = listed_at(store, job)?;
    let Some(last) = state.inbox.past.last_mut().filter(|last| last.listed != listed) else { return Ok(()) };
    last.listed = listed;
    Ok(state.save(store, &job.name)?)
}

/// Notes what became of the last file when it was looked at again.
fn looked_at(context: &Context<'_>, job: &Job, report: &Report) -> Result<(), Error> {
    let mut state = JobState::load(context.store, &job.name)?;
    let listed = listed_at(context.store, job)?;
    if let Some(last) = state.inbox.past.last_mut() {
        let before = last.clone();
        last.unjudged &= !report.details.judged;
        last.unfinished = report.details.unfinished;
        last.listed = listed;
        let mapping = staleness::as_before(job);
        if last.mapping != mapping {
            (last.mapping, last.clean) = (mapping, report.is_clean() && !last.doubted);
        }
        if *last != before {
            state.save(context.store, &job.name)?;
        }
    }
    Ok(())
}

/// When the service was last listed as a whole, of all that a job looks at.
pub(crate) fn listed_at(store: &Store, job: &Job) -> Result<Option<Timestamp>, Error> {
    let mut listed = None;
    for target in needed(job) {
        listed = listed.max(Mirror::stored(store, target)?.and_then(|mirror| mirror.listed_at()));
    }
    Ok(listed)
}

/// A job over the last file, where that counts once more though nothing of it is open: where a whole listing of the service is
/// due, which alone shows who was removed or edited there, or was made for another job. A job of changes reads no row then: it makes
/// those again who are gone.
pub(crate) fn repeated(
    context: &Context<'_>,
    job: &Job,
    narrow: &KeyFilter,
) -> Result<Option<(Job, Option<TempDir>)>, Error> {
    let state = JobState::load(context.store, &job.name)?;
    let is_of_all = job.mode == Mode::Full;
    let Some(last) = last_that_counts(&state, job).filter(|_| !narrow.is_narrow()) else { return Ok(None) };
    let due = is_due(context, job, (&state, last))?;
    match state.found.as_ref().and_then(SourceState::file) {
        _ if !due => Ok(None),
        _ if is_of_all => last_file::last(job, context.store),
        None => Ok(None),
        Some(found) => {
            let failed = |source| inbox::Error::Copy { name: "a file without rows".to_owned(), source };
            let scratch = tempfile::Builder::new().prefix("looking-").tempdir_in(context.store.home().spill_dir());
            let scratch = scratch.map_err(failed)?;
            Ok(Some((rowless(job, found, &scratch.path().join("copy"))?, Some(scratch))))
        }
    }
}

/// Whether the last file is to be looked at once more.
fn is_due(context: &Context<'_>, job: &Job, (state, last): (&JobState, &Past)) -> Result<bool, Error> {
    let (now, full_pull) = (context.clock.now(), context.config.state.full_pull);
    // No copy of it is kept where a person was forgotten since that could not be taken out of it: graces and days count all the same.
    let is_lost = job.mode == Mode::Full && state.inbox.kept_copy.is_none();
    let is_open = state.inbox.is_unjudged() || (is_lost && is_open(context.store, job)?);
    let mut due = job.mode == Mode::Full && (is_open || is_altered(context.store, job, last)?);
    for target in needed(job) {
        // None where it was never listed, or a rebuild dropped what is known of it.
        let listed = Mirror::stored(context.store, target)?.and_then(|mirror| mirror.listed_at());
        due |= listed > last.listed || listed.is_none_or(|at| now.duration_since(at) >= full_pull);
    }
    Ok(due)
}

/// That the last list is to be looked at once more, and can't be.
pub(crate) fn unread_note(context: &Context<'_>, job: &Job) -> Result<Option<String>, Error> {
    let state = JobState::load(context.store, &job.name)?;
    let last = state.inbox.past.last().filter(|last| job.mode == Mode::Full && last.is_last(Mode::Full));
    let Some(last) = last.filter(|_| state.inbox.kept_copy.is_none()) else { return Ok(None) };
    let why = match last.doubted {
        _ if !is_due(context, job, (&state, last))? => return Ok(None),
        true => "may be an older export",
        false if last_file::last(job, context.store)?.is_none() => "is not in processed/ any more, as it was read",
        false => return Ok(None),
    };
    let name = &last.name;
    Ok(Some(format!(
        "the last list ({name}) {why}, so it is not looked at again: drop the newest one once more. Until then no one is made again \
         who is gone from the service, and what the job makes of rows by now is not done"
    )))
}

/// The last file, where it may count once more.
fn last_that_counts<'a>(state: &'a JobState, job: &Job) -> Option<&'a Past> {
    let last = state.inbox.past.last().filter(|_| !state.inbox.is_overtaken());
    last.filter(|past| past.is_last(job.mode) && (job.mode != Mode::Full || !past.doubted))
}

/// Whether the last list of everyone is looked at once more since the job makes something else of rows by now. What another mapping
/// alters is held, and counts as settled once nothing of it is left.
fn is_altered(store: &Store, job: &Job, last: &Past) -> Result<bool, Error> {
    let mut is_settled = true;
    for part in job.parts() {
        is_settled &= JobState::load(store, &part.name)?.mapping == fingerprint::of_mapping(part, &rows::mapping(part));
    }
    Ok(last.mapping != staleness::as_before(job) || !(is_settled || is_sendable(store, job)?))
}

/// That rows of the last file of changes were not used by another mapping: no file that is read again says what they said.
pub(super) fn unused_note(job: &Job, state: &JobState) -> Option<String> {
    let last = last_that_counts(state, job).filter(|_| job.mode == Mode::Changes)?;
    let rows = usize::try_from(state.rejected.count + state.bad_values.count).unwrap_or(usize::MAX);
    let note = || {
        let what = counted(rows, "row or value of the last file was", "rows or values of the last file were");
        format!("{what} not used, and the job's mapping is another now: drop those rows once more in a new file")
    };
    (rows > 0 && last.mapping != staleness::as_before(job)).then(note)
}

/// The report of a run that has nothing to do.
fn idle(context: &Context<'_>, job: &Job, narrow: &KeyFilter) -> Result<Report, Error> {
    let mut report = Report::idle(job.name.clone());
    if let Some(paused) = pause::reason(context.store.home(), &job.name) {
        report.status = Status::Held;
        report.reasons.push(paused);
    }
    if narrow.is_narrow() {
        let index = Index::load(context.store, &job.name)?;
        let unknown = narrow.keys.iter().filter(|key| index.by_key(key.as_str()).is_none());
        report.unknown = Some(unknown.cloned().collect());
    } else {
        for part in job.parts() {
            let left_out = held::left_out(context.store, part, context.now_for_leavers())?;
            let note = left_out_note(&left_out, part.mapping.target, &part.name);
            note.into_iter().for_each(|note| report.note(note));
        }
    }
    Ok(report)
}

/// The result of a run that read no records, with the same people missing as before.
fn as_before(context: &Context<'_>, job: &Job, mirrors: &Mirrors, report: Report) -> Result<Report, Error> {
    let target = job.mapping.target;
    let stored = Mirror::stored(context.store, target)?;
    let mirror = mirrors.get(target).or(stored.as_ref());
    let Some(mirror) = mirror.filter(|_| report.status != Status::Failed) else { return Ok(report) };
    let Remembered { missed, missing, .. } = remembered(context, job, mirror)?;
    let counts = Counts { missing: missed.len() as u64, ..report.counts };
    Ok(Report { missed, missing, counts, ..report })
}

async fn attempt(
    context: &Context<'_>,
    job: &Job,
    mirrors: &mut Mirrors,
    narrow: &KeyFilter,
    begun: &StartedRun,
) -> Report {
    let result = run_job(context, job, mirrors, narrow, begun).await;
    result.unwrap_or_else(|error| begun.failed(context, job, &error))
}

/// What is between two cells of a file that rosterd itself lays down.
const OWN_DELIMITER: u8 = b',';

/// Lays down a file with the columns of the last one and no row.
fn header(found: &csv::DetectedFormat, path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    let mut writer = WriterBuilder::new().delimiter(OWN_DELIMITER).from_writer(file);
    writer.write_record(&found.columns).map_err(io::Error::other)?;
    writer.flush()
}
