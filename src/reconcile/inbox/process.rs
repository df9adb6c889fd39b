//! One visit to an inbox: every file that has settled, one after the other.

use std::time::{Duration, Instant};

use super::merge::merged;
use super::run::{StartedRun, begin};
use super::staging::{FilingOrder, StagedFile, Staging};
use super::staleness::{self, as_before};
use super::with_copy::{form, over};
use super::{cleanup, file_report, pending, report_updates};
use crate::config::{Job, Mode};
use crate::receipt::{Receipt, Verdict};
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::context::{Context, KeyFilter};
use crate::reconcile::model::counts::Status;
use crate::reconcile::model::error::{Error, is_full};
use crate::reconcile::model::inbox_state::{Current, OpenFile, Past};
use crate::reconcile::model::job_state::{JobState, next_run};
use crate::reconcile::model::reason::Reason;
use crate::reconcile::report::job_report::Report;
use crate::reconcile::run_job::{record, run_job};
use crate::reconcile::{freshness, pause};
use crate::source::inbox::{
    Destination, Filing, Folder, InboxEntry, Look, Options, TakeRefusal, Taken, Watcher, shown, take,
};
use crate::source::{self, Columns, SourceState, csv};
use crate::store::Batch;

/// How long an unsettled file is waited for beyond ten times its settling time.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The permissions of a report on something whose own ones mean nothing.
const REPORT_MODE: u32 = 0o640;

/// Reads every file that waits in a job's inbox, and returns what all of it came to.
pub(crate) async fn sync(
    context: &Context<'_>,
    job: &Job,
    options: &Options,
    mirrors: &mut Mirrors,
    narrow: &KeyFilter,
) -> Result<Report, Error> {
    let is_narrow = narrow.is_narrow();
    let mut visit = InboxRun { context, job, options, is_narrow, reports: Vec::new(), notes: Vec::new() };
    let (started, before) = (context.clock.now(), context.client.requests());
    match visit.all(mirrors, narrow).await {
        Ok(()) => {}
        Err(error @ (Error::Inbox(_) | Error::History(_))) => {
            let run = next_run(context.store)?;
            let report = Report { is_narrow, ..context.failed(job, &error, before) };
            record(context, job, &report, run, started)?;
            visit.reports.push(report);
        }
        Err(error) => return Err(error),
    }
    visit.notes.extend(freshness::noted(context, job)?);
    Ok(merged(&job.name, visit.reports, visit.notes))
}

/// One visit to an inbox.
pub(crate) struct InboxRun<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) job: &'a Job,
    pub(crate) options: &'a Options,
    /// Whether it is for some records only.
    is_narrow: bool,
    /// One a run.
    reports: Vec<Report>,
    /// What is worth knowing besides.
    notes: Vec<Reason>,
}

/// Whether the next file may follow.
enum Step {
    Peeked,
    Stop,
}

/// What copying a file came to.
enum Copied {
    Whole(Taken),
    /// It changed meanwhile.
    Changed,
    /// This process may not read it.
    Barred,
}

impl InboxRun<'_> {
    async fn all(&mut self, mirrors: &mut Mirrors, narrow: &KeyFilter) -> Result<(), Error> {
        let folder = Folder::open(&self.options.dir)?;
        let mut state = JobState::load(self.context.store, &self.job.name)?;
        if state.inbox.marked && !folder.is_marked() {
            return Err(folder.unmarked().into());
        }
        match folder.lay_down() {
            Ok(()) if !state.inbox.marked => {
                state.inbox.marked = true;
                self.save(&state)?;
            }
            Ok(()) => {}
            Err(error) => self.warn(format!("processed/ and failed/ can't be made in the inbox: {error}")),
        }
        let outbox = Staging::open(self.context.store.dir(), self.job).map_err(|error| copy_failed("it", error))?;
        for laid in outbox.laid().map_err(|error| copy_failed("what is done", error))? {
            self.finish(&folder, &outbox, laid)?;
        }
        for name in folder.folders()? {
            self.notes.push(format!("{name} is a folder; only files are read, so move what is in it").into());
        }
        let mut watcher = Watcher::default();
        let mut patience = self.patience();
        loop {
            if self.context.watch.interrupted() {
                return Ok(());
            }
            let laid = outbox.laid().map_err(|error| copy_failed("what is done", error))?;
            let skip = |entry: &InboxEntry| laid.iter().any(|laid| laid.is(entry));
            let step = match watcher.look(&folder, self.options, self.context.clock, &skip)? {
                Look::Nothing => break,
                Look::Unsettled(entry) if Instant::now() > patience => {
                    let name = shown(&entry.name);
                    self.notes.push(format!("{name} is still being written; it waits for the next run").into());
                    break;
                }
                Look::Unsettled(_) => {
                    tokio::time::sleep(LOOK_EVERY.min(self.options.settle)).await;
                    continue;
                }
                Look::Unfit(entry, reason) if !narrow.is_narrow() => self.refuse(&folder, &outbox, &entry, reason)?,
                Look::Unfit(entry, _) => {
                    self.notes.push(format!("{} can't be read", shown(&entry.name)).into());
                    Step::Stop
                }
                Look::File(entry) => match self.take(&folder, &outbox, &entry)? {
                    Copied::Whole(taken) => self.read(&folder, &outbox, &entry, taken, mirrors, narrow).await?,
                    Copied::Barred if !narrow.is_narrow() => {
                        self.refuse(&folder, &outbox, &entry, TakeRefusal::BARRED.to_owned())?
                    }
                    Copied::Barred => {
                        self.notes.push(format!("{} can't be read", shown(&entry.name)).into());
                        Step::Stop
                    }
                    Copied::Changed if Instant::now() > patience => {
                        let name = shown(&entry.name);
                        self.notes.push(format!("{name} changed while it was read; it waits for the next run").into());
                        Step::Stop
                    }
                    Copied::Changed => {
                        tokio::time::sleep(LOOK_EVERY).await;
                        continue;
                    }
                },
            };
            if matches!(step, Step::Stop) {
                break;
            }
            patience = self.patience();
        }
        if self.reports.is_empty() {
            let report = pending::run(self.context, self.job, &outbox, mirrors, narrow).await?;
            self.reports.push(report);
        }
        report_updates::settle(self.context, self.job, &folder, &outbox, None)?;
        cleanup::tidy(self.context, self.job, &outbox)?;
        Ok(())
    }

    fn patience(&self) -> Instant {
        Instant::now() + self.options.settle.saturating_mul(10).saturating_add(PATIENCE)
    }

    /// Takes a copy of a file.
    fn take(&mut self, folder: &Folder, outbox: &Staging, entry: &InboxEntry) -> Result<Copied, Error> {
        let name = || shown(&entry.name);
        match take(folder, entry, self.options.size_max, &outbox.copy()) {
            Ok(taken) => Ok(Copied::Whole(taken)),
            // The next look finds what it is by now.
            Err(TakeRefusal::Changed | TakeRefusal::Unfit(_)) => Ok(Copied::Changed),
            Err(TakeRefusal::Barred) => Ok(Copied::Barred),
            Err(TakeRefusal::Unreadable(source)) => {
                Err(crate::source::inbox::Error::Unreadable { path: self.options.dir.join(&entry.name), source }.into())
            }
            Err(TakeRefusal::Unwritable(error)) => Err(copy_failed(&name(), error)),
        }
    }

    /// One run over the copy of a file.
    async fn read(
        &mut self,
        folder: &Folder,
        outbox: &Staging,
        entry: &InboxEntry,
        taken: Taken,
        mirrors: &mut Mirrors,
        narrow: &KeyFilter,
    ) -> Result<Step, Error> {
        let name = shown(&entry.name);
        let begun = self.begin()?;
        let mut state = JobState::load(self.context.store, &self.job.name)?;
        let mapping = as_before(self.job);
        if !narrow.is_narrow()
            && let Some(last) = staleness::same_as_last(&state.inbox, &taken, &mapping)
        {
            let same = format!("{name} is the same file as {}, read on {:.0}, so it was skipped", last.name, last.read);
            let report = Report { reasons: vec![same.into()], ..Report::idle(self.job.name.clone()) };
            let blank = self.blank(&state, &name, Verdict::Again);
            let order = self.order(folder, entry, &taken, Destination::Processed, None);
            return self.close(folder, outbox, begun, report, blank, order);
        }
        let doubt = staleness::staleness_reason(&state.inbox, self.options, &name, &taken);
        let before = state.inbox.current.take().filter(|current| current.content == taken.content);
        let before = before.map(|current| current.runs).unwrap_or_default();
        if !narrow.is_narrow() {
            let runs = before.iter().copied().chain([begun.run]).collect();
            state.inbox.current = Some(Current { content: taken.content.clone(), runs });
            self.save(&state)?;
        }
        if let Some(at) = taken.stamp.arrived() {
            self.context.watch.changed(&self.job.name, at);
        }
        let inbox = Some(Options { doubt: doubt.clone(), ..self.options.clone() });
        let job = over(self.job, taken.path.clone(), Some(name.clone().into()));
        let job = Job { inbox, ..job };
        let result = run_job(self.context, &job, mirrors, narrow, begun.run, begun.requests).await;
        let is_paused = pause::reason(self.context.store.dir(), &self.job.name).is_some();
        let (report, shelf) = match result {
            Ok(report) if report.details.nothing_taken => (report, Some(Destination::Failed)),
            Ok(report) if report.status == Status::Failed || is_paused => (report, None),
            Ok(report) => (report, Some(Destination::Processed)),
            Err(error) => {
                let shelf = is_of_the_file(&error).then_some(Destination::Failed);
                let mut report = self.context.failed(self.job, &error, begun.requests);
                report.rejections = file_report::bad_rows(&error);
                report
                    .reasons
                    .extend(shelf.and_then(|_| file_report::advice(&error)).map(|advice| advice.to_owned().into()));
                (report, shelf)
            }
        };
        let Some(shelf) = shelf.filter(|_| !narrow.is_narrow()) else {
            self.record(&begun, report, Some(&name))?;
            return Ok(Step::Stop);
        };
        let state = JobState::load(self.context.store, &self.job.name)?;
        // This run found out, and reported, what became of the requests of a run that was cut off.
        let runs: Vec<u64> = if before.is_empty() { before } else { before.into_iter().chain([begun.run]).collect() };
        let confirmed = file_report::confirmed(self.context.store.dir(), self.job, &runs).map_err(Error::History)?;
        let columns = state.found.as_ref().and_then(SourceState::file).map(|found| found.columns.as_slice());
        let headings = file_report::headings(self.job, &Columns::new(columns.unwrap_or_default()));
        let known = file_report::Known { before: confirmed, headings };
        let receipt = file_report::of_run(self.blank(&state, &name, Verdict::Used), &report, &known);
        let past = Past {
            run: begun.run,
            name,
            content: taken.content.clone(),
            mapping,
            clean: report.rejections.is_empty()
                && report.bad_values.is_empty()
                && report.missed.is_empty()
                && report.parked.is_empty()
                && report.held.is_empty()
                && report.complete,
            modified: taken.stamp.modified(),
            read: begun.started,
        };
        let past = (shelf == Destination::Processed).then_some((past, doubt));
        let settled = file_report::settled(&report);
        let order = FilingOrder { settled, ..self.order(folder, entry, &taken, shelf, past) };
        self.close(folder, outbox, begun, report, receipt, order)
    }

    /// Files something that is never read, with the reason, where the person who dropped it finds both.
    fn refuse(&mut self, folder: &Folder, outbox: &Staging, entry: &InboxEntry, reason: String) -> Result<Step, Error> {
        let name = shown(&entry.name);
        let why = crate::record::reveal(&reason);
        let job = self.job.name.as_str();
        tracing::error!(job, file = name, "{job}: the file {name} in the inbox was refused: {why}");
        let begun = self.begin()?;
        let state = JobState::load(self.context.store, &self.job.name)?;
        let report = Report::failed(self.job.name.clone(), format!("{name} was refused. {reason}"), 0);
        let receipt = Receipt { messages: vec![reason], ..self.blank(&state, &name, Verdict::NotUsed) };
        let taken = Taken { path: outbox.copy(), content: String::new(), stamp: entry.stamp, mode: REPORT_MODE };
        let order = self.order(folder, entry, &taken, Destination::Failed, None);
        self.close(folder, outbox, begun, report, receipt, order)
    }

    /// Lays out what is done with a file, tells of the run, and files it.
    fn close(
        &mut self,
        folder: &Folder,
        outbox: &Staging,
        begun: StartedRun,
        report: Report,
        receipt: Receipt,
        order: FilingOrder,
    ) -> Result<Step, Error> {
        let name = receipt.file.clone();
        crate::crash::point("before a file is laid out");
        let laid = outbox.stage(begun.run, order, &receipt);
        crate::crash::point("after a file was laid out");
        self.record(&begun, report, Some(&name))?;
        match laid {
            Ok(laid) => self.finish(folder, outbox, laid)?,
            Err(error) => {
                if is_full(&error) {
                    self.context.store.ran_full();
                }
                // It is known again by its content, and nothing of it is left to do.
                self.warn(format!("{name} is done and could not be filed: {error}"));
                return Ok(Step::Stop);
            }
        }
        Ok(Step::Peeked)
    }

    /// Files what was laid out; what can't be filed now is tried again by the next run.
    fn finish(&mut self, folder: &Folder, outbox: &Staging, mut laid: StagedFile) -> Result<(), Error> {
        let mut state = JobState::load(self.context.store, &self.job.name)?;
        state.inbox.current = None;
        if let Some(past) = &laid.order.past {
            let name = past.name.clone();
            if !state.inbox.past.iter().any(|known| known.run == past.run) {
                state.fresh = Some(past.read);
            }
            state.inbox.remember(past.clone());
            if self.job.mode == Mode::Full && laid.order.standing.is_some() && state.inbox.past.last() == Some(past) {
                match laid.keep(outbox) {
                    Ok(()) => state.inbox.standing.clone_from(&laid.order.standing),
                    Err(error) => self.warn(format!("what is open of {name} waits for the next file: {error}")),
                }
            }
        }
        self.save(&state)?;
        crate::crash::point("before a file is filed");
        let name = shown(laid.order.filing.in_inbox());
        if laid.order.past.is_some() {
            report_updates::settle(self.context, self.job, folder, outbox, Some(&name))?;
        }
        match laid.file(folder, self.options).and_then(|()| {
            crate::crash::point("after a file was filed");
            if laid.order.past.is_some() {
                laid.keep_waiting(outbox)?;
            }
            laid.done()
        }) {
            Ok(()) => {}
            Err(error) => {
                let shelf = self.options.dir.display();
                self.warn(format!(
                    "{name} is done, but it could not be filed under {shelf}: {error}; it is tried again"
                ));
            }
        }
        Ok(())
    }

    fn order(
        &self,
        folder: &Folder,
        entry: &InboxEntry,
        taken: &Taken,
        shelf: Destination,
        past: Option<(Past, Option<String>)>,
    ) -> FilingOrder {
        let at = self.context.clock.now();
        let name = shown(&entry.name);
        // Where no name can be found out now, one is when it is filed.
        let filed = folder.free_name(shelf, at, &name).unwrap_or_else(|_| name.clone());
        let standing = past.as_ref().map(|(_, doubt)| OpenFile { name, doubt: doubt.clone() });
        let filing = Filing {
            shelf,
            name: std::os::unix::ffi::OsStrExt::as_bytes(entry.name.as_os_str()).to_vec(),
            stamp: taken.stamp,
            filed,
            mode: taken.mode,
        };
        FilingOrder { filing, at, past: past.map(|(past, _)| past), standing, settled: Verdict::Used }
    }

    /// An empty report.
    fn blank(&self, state: &JobState, name: &str, verdict: Verdict) -> Receipt {
        let found = state.found.as_ref().and_then(SourceState::file).map(|found| found.delimiter);
        Receipt {
            file: name.to_owned(),
            job: self.job.name.to_string(),
            at: self.context.clock.now().to_zoned(self.job.time_zone.clone()),
            verdict,
            messages: Vec::new(),
            holds: Vec::new(),
            updated: None,
            newer: None,
            lines: Vec::new(),
            delimiter: form(self.job).delimiter.or(found).unwrap_or(b','),
        }
    }

    fn begin(&self) -> Result<StartedRun, Error> {
        begin(self.context)
    }

    fn record(&mut self, begun: &StartedRun, mut report: Report, name: Option<&str>) -> Result<(), Error> {
        if let Some(name) = name {
            for reason in report.reasons.iter_mut().filter(|reason| !reason.contains(name)) {
                reason.text = format!("{name}: {}", reason.text);
            }
        }
        report.is_narrow = self.is_narrow;
        record(self.context, self.job, &report, begun.run, begun.started)?;
        self.reports.push(report);
        Ok(())
    }

    fn warn(&mut self, warning: String) {
        let job = self.job.name.as_str();
        tracing::warn!(job, "{job}: {}", crate::record::reveal(&warning));
        self.notes.push(warning.into());
    }

    fn save(&self, state: &JobState) -> Result<(), Error> {
        let mut batch = Batch::default();
        state.put(&mut batch, &self.job.name);
        Ok(self.context.store.commit(batch)?)
    }
}

/// Whether the file is at fault, and not what became of its copy.
fn is_of_the_file(error: &Error) -> bool {
    match error {
        Error::Source(source::Error::Csv(error)) => {
            !matches!(error.kind, csv::CsvErrorKind::Unreadable(_) | csv::CsvErrorKind::Missing)
        }
        Error::Mapping(_) => true,
        _ => false,
    }
}

fn copy_failed(name: &str, source: std::io::Error) -> Error {
    crate::source::inbox::Error::Copy { name: name.to_owned(), source }.into()
}
