//! Taking a person out of what was filed and what is kept of an inbox.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, ErrorKind, Read as _, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use csv::{ReaderBuilder, Terminator, WriterBuilder};
use jiff::SignedDuration;
use tempfile::TempDir;

use super::error::ForgetError;
use super::forgotten::Forgotten;
use super::redact::without;
use crate::clock::Clock;
use crate::config::Job;
use crate::disk;
use crate::hr_report::{HrReport, MARK, delimiter_of, harmless, is_page, keyed, text_of};
use crate::mapping::{Bound, Mapped};
use crate::reconcile::collect::rows;
use crate::reconcile::dropped::staging::{StagedFile, Staging};
use crate::reconcile::dropped::with_copy::{over, rewritten_delimiter};
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::report::names::named_as;
use crate::record::Key;
use crate::source::inbox::{self, Destination, Folder, take_filed};
use crate::source::{Access, RefusedLogins, Row};
use crate::store::Store;
use crate::text::markup_of;

/// The longest record of a report, in bytes: none that this program writes comes near it.
const RECORD_BYTES_MAX: usize = 1024 * 1024;
/// Which column of a table has the keys.
const KEY_COLUMN: usize = 1;
/// How reports end.
const TABLE: &str = "report.csv";
const PAGE: &str = "report.html";

/// What is to become of a file.
enum Redaction {
    Stays,
    Goes,
    /// What was written in place of it.
    Becomes,
}

/// A copy that is searched, and where what is to stay of it is written.
struct Searched<'a> {
    job: &'a Job,
    key: &'a Key,
    copy: PathBuf,
    rest: PathBuf,
}

/// Takes a person out of everything that was filed in the inboxes of `jobs`, and drops what is kept of their files in
/// the state folder; notes what that concerned, and returns the first reason why not all of them could be searched.
/// A filed file that can't be parsed is removed as a whole; anything that is not a regular file contains no people.
pub(crate) fn forget(store: &Store, jobs: &[Job], key: &Key, forgotten: &mut Forgotten) -> Option<ForgetError> {
    let mut failed = None;
    for job in jobs.iter().filter(|job| job.inbox.is_some()) {
        let all = kept(store, job, key, forgotten);
        let all = [all, filed(store, job, key, &mut forgotten.files)];
        for source in all.into_iter().filter_map(Result::err) {
            failed.get_or_insert(ForgetError::Filed { job: job.name.clone(), source });
        }
    }
    failed
}

/// What lies in the state folder.
fn kept(store: &Store, job: &Job, key: &Key, forgotten: &mut Forgotten) -> io::Result<()> {
    let files = &mut forgotten.files;
    let staging = Staging::of(store.home(), &job.name);
    match staging.open_report() {
        Ok(None) => {}
        Ok(Some(mut report)) => {
            if report_forgets(&mut report.hr_report, job, key) {
                staging.keep_waiting(store, &report)?;
                *files += 1;
            }
        }
        // What can't be read may name them.
        Err(_) => {
            staging.drop_waiting(store)?;
            *files += 1;
            forgotten.dropped_reports.insert(job.name.clone());
        }
    }
    // What is open of it still counts: graces, first and last days of others.
    let scratch_of_copy = scratch(store)?;
    if let Some(copy) = staging.kept_copy(&scratch_of_copy.path().join("copy"))? {
        let searched = Searched { job, key, copy, rest: scratch_of_copy.path().join("rest") };
        let fate = searched.file()?;
        match fate {
            Redaction::Stays => {}
            Redaction::Goes => _ = staging.drop_kept_copy(store)?,
            Redaction::Becomes => {
                disk::sync(File::open(&searched.rest)?)?;
                staging.replace_kept_copy(store, &searched.rest)?;
                let mut state = JobState::load(store, &job.name).map_err(io::Error::other)?;
                state.inbox.past.last_mut().into_iter().for_each(|last| last.rewritten = true);
                state.save(store, &job.name).map_err(io::Error::other)?;
            }
        }
        *files += u64::from(!matches!(fate, Redaction::Stays));
    }
    if staging.copy().exists() {
        staging.drop_copy()?;
        disk::sync_folder(staging.copy().parent().expect("it lies in a folder"))?;
        *files += 1;
    }
    for laid in staging.laid()? {
        *files += kept_file(store, job, key, &laid)?;
        let mut hr_report = laid.report(store)?;
        if report_forgets(&mut hr_report, job, key) {
            laid.put_report(store, &staging, &hr_report)?;
            *files += 1;
        }
    }
    Ok(())
}

/// A file that is on its way out of the inbox; returns how many files changed.
fn kept_file(store: &Store, job: &Job, key: &Key, laid: &StagedFile) -> io::Result<u64> {
    let scratch = scratch(store)?;
    let Some(copy) = laid.content(store, &scratch.path().join("copy"))? else { return Ok(0) };
    let rest = scratch.path().join("rest");
    let searched = Searched { job, key, copy, rest };
    match searched.fate("file")? {
        Redaction::Stays => return Ok(0),
        Redaction::Goes => drop(searched.create()?),
        Redaction::Becomes => {}
    }
    disk::sync(File::open(&searched.rest)?)?;
    store.take_file(&laid.file_name(), &searched.rest)?;
    Ok(1)
}

/// Takes the person out of what a report is made of; whether it named them. What else waits in it is brought up to date as
/// before.
fn report_forgets(hr_report: &mut HrReport, job: &Job, key: &Key) -> bool {
    let before = hr_report.lines.len();
    hr_report.lines.retain(|line| !line.key.as_deref().is_some_and(|name| is_about(job, key, name)));
    let mut changed = hr_report.lines.len() < before;
    let reasons = hr_report.lines.iter_mut().map(|line| &mut line.reason);
    let messages =
        hr_report.messages.iter_mut().chain(&mut hr_report.while_missing).chain(&mut hr_report.while_waiting);
    for text in reasons.chain(messages.map(|message| &mut message.text)) {
        if let Some(rest) = without(text, key) {
            (*text, changed) = (rest, true);
        }
    }
    changed
}

/// Whether a report of a job that calls a record so is about the person.
fn is_about(job: &Job, key: &Key, name: &str) -> bool {
    named_as(job, name).iter().any(|(job, own)| own.is_about(job, key))
}

/// What lies in the inbox's two folders.
fn filed(store: &Store, job: &Job, key: &Key, files: &mut u64) -> io::Result<()> {
    let Some(options) = &job.inbox else { return Ok(()) };
    let folder = match Folder::open(&options.dir) {
        Ok(folder) if folder.is_marked() => folder,
        // It was never used.
        Ok(_) => return Ok(()),
        Err(inbox::Error::Missing(_)) if !was_used(store, job)? => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    let scratch = scratch(store)?;
    let searched = Searched { job, key, copy: scratch.path().join("copy"), rest: scratch.path().join("rest") };
    // Nothing is being written now: what is unfinished was left there by a process that was killed.
    folder.sweep(SignedDuration::MAX, Clock::system().now());
    let mut failed = None;
    for shelf in Destination::ALL {
        let (dropped, reports) = folder.filed(shelf)?;
        for name in dropped.into_iter().chain(reports) {
            match searched.redact(&folder, shelf, &name, options.size_max) {
                Ok(Redaction::Stays) => {}
                Ok(Redaction::Goes | Redaction::Becomes) => *files += 1,
                // A failure with one file must not stop the removal from the others.
                Err(error) => {
                    let name = inbox::shown(OsStr::new(&name));
                    failed.get_or_insert(io::Error::new(error.kind(), format!("{}/{name}: {error}", shelf.name())));
                }
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

fn was_used(store: &Store, job: &Job) -> io::Result<bool> {
    JobState::load(store, &job.name).map(|state| state.inbox.marked).map_err(io::Error::other)
}

fn scratch(store: &Store) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("looking-").tempdir_in(store.home().spill_dir())
}

impl Searched<'_> {
    /// Finds out what becomes of a filed file, and makes it so.
    fn redact(&self, folder: &Folder, shelf: Destination, name: &str, size_max: u64) -> io::Result<Redaction> {
        let fate = match take_filed(folder, shelf, name, size_max, &self.copy) {
            Ok(Some(_)) => self.fate(name)?,
            Ok(None) => Redaction::Stays,
            // It is unknown who is in it.
            Err(error) if matches!(error.kind(), ErrorKind::FileTooLarge | ErrorKind::PermissionDenied) => {
                Redaction::Goes
            }
            Err(error) => return Err(error),
        };
        match fate {
            Redaction::Stays => {}
            Redaction::Goes => folder.remove_filed(shelf, name)?,
            Redaction::Becomes => folder.replace_filed(shelf, name, &mut File::open(&self.rest)?)?,
        }
        Ok(fate)
    }

    /// What happens to the copy of a file of that name. A dropped file may have a name like a report's, so the
    /// beginning of its content decides.
    fn fate(&self, name: &str) -> io::Result<Redaction> {
        let mut head = Vec::new();
        if name.ends_with(TABLE) || name.ends_with(PAGE) {
            File::open(&self.copy)?.take(64).read_to_end(&mut head)?;
        }
        if let Some(delimiter) = delimiter_of(&head) {
            self.table(delimiter)
        } else if name.ends_with(PAGE) && is_page(&head) {
            self.page()
        } else {
            self.file()
        }
    }

    /// A dropped file: the rows of other people stay. A row whose person is unknown is removed too.
    fn file(&self) -> io::Result<Redaction> {
        let Self { job, key, .. } = *self;
        if !self.copy.exists() || fs::metadata(&self.copy)?.len() == 0 {
            return Ok(Redaction::Stays);
        }
        let looked_at = over(job, self.copy.clone(), None);
        let delimiter = rewritten_delimiter(job);
        let mut writer = None;
        let mut dropped = false;
        let mut failed = None;
        let mut visit = |row: &Row, bound: &Bound<'_>| {
            let others = match bound.read(row, None).mapped {
                Mapped::Record(record) => record.key != *key,
                Mapped::Left(own) => own != *key,
                Mapped::Rejected(rejected) => rejected.key.is_some_and(|own| own != *key),
                Mapped::Dropped => false,
            };
            dropped |= !others;
            let written = match &mut writer {
                Some(writer) => Ok(writer),
                none => self.writer(delimiter).and_then(|mut begun| {
                    begun.write_record(row.columns().names())?;
                    Ok(none.insert(begun))
                }),
            };
            let written = written.and_then(|writer| match others {
                true => Ok(writer.write_record((0..row.len()).map(|at| row.cell(at)))?),
                false => Ok(()),
            });
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let (clock, logins, dir) = (Clock::system(), RefusedLogins::unremembered(), std::env::temp_dir());
        let access = Access::of_a_person(&clock, &logins, &dir);
        let read = rows::rows(&looked_at, &rows::mapping(job), access, &mut visit);
        if let Some(error) = failed {
            return Err(error);
        }
        match (read, writer) {
            // Of a workbook the one sheet stays that was read: another may name the person too.
            (Ok(read), _)
                if read.rejected.is_empty()
                    && !dropped
                    && read.found.file().is_none_or(|found| found.sheet.is_none()) =>
            {
                Ok(Redaction::Stays)
            }
            (Ok(_), Some(mut writer)) => writer.flush().map(|()| Redaction::Becomes),
            (Ok(_), None) | (Err(_), _) => Ok(Redaction::Goes),
        }
    }

    /// A report as a table.
    fn table(&self, delimiter: u8) -> io::Result<Redaction> {
        let mut file = BufReader::new(File::open(&self.copy)?);
        file.fill_buf()?;
        file.consume(MARK.len());
        let left = Cell::new(RECORD_BYTES_MAX);
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(Paced { inner: file, left: &left });
        let mut writer = self.writer(delimiter)?;
        let own = harmless(self.key.as_str());
        let mut changed = false;
        for record in reader.byte_records() {
            let Ok(record) = record else { return Ok(Redaction::Goes) };
            left.set(RECORD_BYTES_MAX);
            if record
                .get(KEY_COLUMN)
                .is_some_and(|cell| cell == own.as_bytes() || self.is_about(&String::from_utf8_lossy(cell)))
            {
                changed = true;
                continue;
            }
            let cells: Vec<String> = record
                .iter()
                .enumerate()
                .map(|(at, cell)| {
                    let cell = String::from_utf8_lossy(cell);
                    // The cell of the key names only this person.
                    let told = if at == KEY_COLUMN { None } else { without(&cell, self.key) };
                    changed |= told.is_some();
                    told.unwrap_or_else(|| cell.into_owned())
                })
                .collect();
            writer.write_record(&cells)?;
        }
        writer.flush()?;
        Ok(if changed { Redaction::Becomes } else { Redaction::Stays })
    }

    /// A report as a page: it has a line for each row.
    fn page(&self) -> io::Result<Redaction> {
        let mut file = BufReader::new(File::open(&self.copy)?);
        let mut page = BufWriter::new(self.create()?);
        let markup = markup_of(self.key.as_str());
        let named = Key::new(&markup);
        let (mut changed, mut line) = (false, Vec::new());
        while file.by_ref().take(RECORD_BYTES_MAX as u64).read_until(b'\n', &mut line)? > 0 {
            if line.len() == RECORD_BYTES_MAX {
                return Ok(Redaction::Goes);
            }
            let text = String::from_utf8_lossy(&line);
            let cell = keyed(&text);
            if cell.is_some_and(|(cell, _)| cell == markup || self.is_about(&text_of(cell))) {
                changed = true;
            } else {
                let rest = cell.map_or(&*text, |(_, rest)| rest);
                let told = named.as_ref().and_then(|key| without(rest, key));
                changed |= told.is_some();
                page.write_all(&text.as_bytes()[..text.len() - rest.len()])?;
                page.write_all(told.as_deref().unwrap_or(rest).as_bytes())?;
            }
            line.clear();
        }
        page.flush()?;
        Ok(if changed { Redaction::Becomes } else { Redaction::Stays })
    }

    fn is_about(&self, name: &str) -> bool {
        is_about(self.job, self.key, name)
    }

    fn create(&self) -> io::Result<File> {
        File::options().write(true).create(true).truncate(true).mode(0o600).open(&self.rest)
    }

    fn writer(&self, delimiter: u8) -> io::Result<csv::Writer<File>> {
        let mut file = self.create()?;
        file.write_all(MARK)?;
        let mut form = WriterBuilder::new();
        Ok(form.flexible(true).delimiter(delimiter).terminator(Terminator::CRLF).from_writer(file))
    }
}

/// What is read at a pace: no more than is left until it is said how much more may come.
struct Paced<'a, R> {
    inner: R,
    left: &'a Cell<usize>,
}

impl<R: io::Read> io::Read for Paced<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.left.get().min(buffer.len());
        if most == 0 && !buffer.is_empty() {
            return Err(ErrorKind::InvalidData.into());
        }
        let read = self.inner.read(&mut buffer[..most])?;
        self.left.set(self.left.get() - read);
        Ok(read)
    }
}
