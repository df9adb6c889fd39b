//! One visit to an inbox: every file that has settled, one after the other.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::merge::merged;
use super::report_updates::LaterFile;
use super::staleness::{self, as_before};
use super::{cleanup, file_report, pending, report_updates, unknown_files};
use crate::config::{Job, Mode};
use crate::hr_report::{FileNote, HrReport, Verdict};
use crate::reconcile::approval::held::HELD;
use crate::reconcile::dropped::known_file::{older_export, same_as_last};
use crate::reconcile::dropped::last_file;
use crate::reconcile::dropped::next_file::{Arrivals, NextFile};
use crate::reconcile::dropped::staging::{FilingOrder, StagedFile, Staging};
use crate::reconcile::dropped::with_copy::{form, over, with_inbox};
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::context::{Context, KeyFilter};
use crate::reconcile::model::counts::Status;
use crate::reconcile::model::error::{Error, is_full};
use crate::reconcile::model::inbox_state::{Current, OpenFile, Past};
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::reason::Reason;
use crate::reconcile::report::job_report::Report;
use crate::reconcile::run_job::run_job;
use crate::reconcile::started_run::StartedRun;
use crate::reconcile::{freshness, pause, restored_state};
use crate::source::inbox::{
    Destination, Filing, Folder, InboxEntry, OlderExport, Options, Reads, Refusal, Taken, shown,
};
use crate::source::{self, Columns, SourceState, csv};

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
    let (result, mut reports, mut notes) = match InboxRun::open(context, job, options, narrow) {
        Ok(mut visit) => (visit.all(mirrors).await, visit.reports, visit.notes),
        Err(error) => (Err(error), Vec::new(), Vec::new()),
    };
    match result {
        Ok(()) => {}
        Err(error @ (Error::Inbox(_) | Error::History(_))) => {
            let begun = StartedRun::begin(context)?;
            let report = Report { is_narrow: narrow.is_narrow(), ..begun.failed(context, job, &error) };
            begun.record(context, job, &report)?;
            reports.push(report);
        }
        Err(error) => return Err(error),
    }
    notes.extend(freshness::noted(context, job)?);
    Ok(merged(&job.name, reports, notes))
}

/// One visit to an inbox.
struct InboxRun<'a> {
    context: &'a Context<'a>,
    job: &'a Job,
    options: &'a Options,
    narrow: &'a KeyFilter,
    folder: Arc<Folder>,
    staging: Staging,
    /// One a run.
    reports: Vec<Report>,
    /// What is worth knowing besides.
    notes: Vec<Reason>,
}

/// Whether the next file may follow.
enum Step {
    Next,
    Stop,
}

impl<'a> InboxRun<'a> {
    fn open(
        context: &'a Context<'a>,
        job: &'a Job,
        options: &'a Options,
        narrow: &'a KeyFilter,
    ) -> Result<Self, Error> {
        let before = JobState::load(context.store, &job.name)?.inbox_before(&options.dir);
        let folder = Folder::open_known(&options.dir, before)?;
        let staging = Staging::open(context.store, job).map_err(|error| copy_failed("it", error))?;
        Ok(Self {
            context,
            job,
            options,
            narrow,
            folder: Arc::new(folder),
            staging,
            reports: Vec::new(),
            notes: Vec::new(),
        })
    }

    async fn all(&mut self, mirrors: &mut Mirrors) -> Result<(), Error> {
        let mut state = JobState::load(self.context.store, &self.job.name)?;
        match self.folder.lay_down() {
            Ok(()) if !state.inbox.marked => {
                state.inbox.marked = true;
                state.save(self.context.store, &self.job.name)?;
            }
            Ok(()) => {}
            Err(error) => self.warn(format!("processed/ and failed/ can't be made in the inbox: {error}")),
        }
        for laid in self.laid()? {
            self.finish(laid)?;
        }
        for name in self.folder.folders()? {
            self.notes.push(format!("{name} is a folder; only files are read, so move what is in it").into());
        }
        unknown_files::look(self.context, self.job, &self.folder)?;
        if !self.narrow.is_narrow() {
            self.match_last(mirrors).await?;
        }
        if self.files(mirrors).await?.is_break() {
            return Ok(());
        }
        if self.reports.is_empty() || self.is_last_unjudged()? {
            let report = pending::run(self.context, self.job, &self.staging, mirrors, self.narrow).await?;
            self.reports.push(report);
            let state = JobState::load(self.context.store, &self.job.name)?;
            self.notes.extend(pending::unused_note(self.job, &state).map(Reason::from));
            if !self.narrow.is_narrow() {
                self.notes.extend(pending::unread_note(self.context, self.job)?.map(Reason::from));
            }
        } else {
            let state = JobState::load(self.context.store, &self.job.name)?;
            self.notes.extend(unknown_files::note(self.job, &state.inbox).map(Reason::from));
        }
        report_updates::update_reports(self.context, self.job, &self.folder, &self.staging, None)?;
        cleanup::tidy(self.context, self.job, &self.staging)
    }

    /// Whether the last file that was filed says who leaves, since nothing was used of what waited after it. A file that stays in the
    /// inbox was used as far as it could be sent.
    fn is_last_unjudged(&self) -> Result<bool, Error> {
        let is_unjudged = JobState::load(self.context.store, &self.job.name)?.inbox.is_unjudged();
        if !is_unjudged || self.narrow.is_narrow() {
            return Ok(false);
        }
        let laid = self.laid()?;
        let is_done = |entry: &InboxEntry| laid.iter().any(|laid| laid.is(entry));
        Ok(self.folder.waiting(self.options, &is_done)?.is_empty())
    }

    /// After a rebuild: one run over the last file before those that wait. It removes no one, since they may have the person again.
    async fn match_last(&mut self, mirrors: &mut Mirrors) -> Result<(), Error> {
        let mut state = JobState::load(self.context.store, &self.job.name)?;
        if !std::mem::take(&mut state.inbox.unmatched) {
            return Ok(());
        }
        if !self.folder.waiting(self.options, &|_| false)?.is_empty() {
            let job = with_inbox(self.job.clone(), &|inbox| Options { reads: Reads::Earlier, ..inbox });
            let report = pending::run(self.context, &job, &self.staging, mirrors, self.narrow).await?;
            self.reports.push(report);
            state = JobState::load(self.context.store, &self.job.name)?;
            state.inbox.unmatched = false;
        }
        Ok(state.save(self.context.store, &self.job.name)?)
    }

    /// One run for each file, as long as one may follow the other; breaks where someone asked it to end.
    async fn files(&mut self, mirrors: &mut Mirrors) -> Result<ControlFlow<()>, Error> {
        let folder = Arc::clone(&self.folder);
        let mut arrivals = Arrivals::of(&folder, self.options, self.context.clock);
        loop {
            if self.context.watch.interrupted() {
                return Ok(ControlFlow::Break(()));
            }
            let laid = self.laid()?;
            let skip = |entry: &InboxEntry| laid.iter().any(|laid| laid.is(entry));
            let step = match arrivals.look(&skip, &self.staging.copy())? {
                None => {
                    tokio::time::sleep(arrivals.pause()).await;
                    continue;
                }
                Some(NextFile::Nothing) => Step::Stop,
                Some(NextFile::Restless(entry, what)) => {
                    self.notes.push(format!("{} {what}", shown(&entry.name)).into());
                    Step::Stop
                }
                Some(NextFile::Refused(entry, _)) if self.narrow.is_narrow() => {
                    self.notes.push(format!("{} can't be read", shown(&entry.name)).into());
                    Step::Stop
                }
                Some(NextFile::Refused(entry, refusal)) => self.refuse(&entry, &refusal)?,
                Some(NextFile::Taken(entry, taken)) => self.read(&entry, taken, &laid, mirrors).await?,
            };
            if let Step::Stop = step {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    fn laid(&self) -> Result<Vec<StagedFile>, Error> {
        self.staging.laid().map_err(|error| copy_failed("what is done", error))
    }

    /// One run over the copy of a file.
    async fn read(
        &mut self,
        entry: &InboxEntry,
        taken: Taken,
        laid: &[StagedFile],
        mirrors: &mut Mirrors,
    ) -> Result<Step, Error> {
        let name = shown(&entry.name);
        let begun = StartedRun::begin(self.context)?;
        let mut state = JobState::load(self.context.store, &self.job.name)?;
        let mapping = as_before(self.job);
        // What a state that was laid back knows of it is of another time.
        let is_sure = restored_state::copies(self.context.store)? == state.copies_read;
        if !self.narrow.is_narrow()
            && is_sure
            && let Some(last) = same_as_last(&state.inbox, &taken, &mapping)
            && !self.is_held()?
            // It is dropped once more since it could not be looked at again.
            && pending::unread_note(self.context, self.job)?.is_none()
        {
            let same = format!("{name} is the same file as {}, read on {:.0}, so it was skipped", last.name, last.read);
            state.inbox.repeated(&name, taken.stamp.modified());
            state.save(self.context.store, &self.job.name)?;
            let mut report = Report { reasons: vec![same.into()], ..Report::idle(self.job.name.clone()) };
            report.details.names_file = true;
            let blank = self.blank(&state, &name, Verdict::Again);
            let order = self.order(entry, &taken, Destination::Processed, None);
            return self.close(begun, report, blank, order);
        }
        let doubt = match older_export(&state.inbox, self.options, &name, &taken) {
            None => unknown_files::older(self.context.store, self.job, &state.inbox, (&name, &taken))?,
            doubt => doubt,
        };
        let before = state.inbox.current.take().filter(|current| current.content == taken.content);
        let before = before.map(|current| current.runs).unwrap_or_default();
        if !self.narrow.is_narrow() {
            let runs = before.iter().copied().chain([begun.run]).collect();
            state.inbox.current = Some(Current { content: taken.content.clone(), runs });
            state.save(self.context.store, &self.job.name)?;
        }
        if let Some(at) = taken.stamp.arrived() {
            self.context.watch.changed(&self.job.name, at);
        }
        let is_done = |waiting: &InboxEntry| waiting.name == entry.name || laid.iter().any(|laid| laid.is(waiting));
        let others = self.folder.waiting(self.options, &is_done)?.len();
        let reads = staleness::reads(self.job, others);
        let job = over(self.job, taken.path.clone(), Some(name.clone().into()));
        let job = with_inbox(job, &|inbox| Options { doubt: doubt.clone(), reads, others_wait: others > 0, ..inbox });
        let (report, shelf) = self.run_over(&job, mirrors, &begun).await;
        let Some(shelf) = shelf.filter(|_| !self.narrow.is_narrow()) else {
            self.record(&begun, report, Some(&name))?;
            return Ok(Step::Stop);
        };
        // This run found out, and reported, what became of the requests of a run that was cut off.
        let runs: Vec<u64> = if before.is_empty() { before } else { before.into_iter().chain([begun.run]).collect() };
        let hr_report = self.hr_report(&report, &name, &runs)?;
        let past = Past {
            rewritten: false,
            run: begun.run,
            name,
            content: taken.content.clone(),
            mode: Some(self.job.mode),
            mapping,
            clean: report.is_clean() && doubt.is_none(),
            modified: taken.stamp.modified(),
            read: begun.started,
            doubted: doubt.is_some(),
            unjudged: reads == Reads::Earlier,
            unfinished: report.details.unfinished,
            listed: pending::listed_at(self.context.store, self.job)?,
        };
        let past = (shelf == Destination::Processed).then_some((past, doubt));
        let settled = file_report::settled(&report);
        let order = FilingOrder { settled, ..self.order(entry, &taken, shelf, past) };
        self.close(begun, report, hr_report, order)
    }

    /// What the run over a copy came to, and where the file goes; `None` where it stays.
    async fn run_over(&self, job: &Job, mirrors: &mut Mirrors, begun: &StartedRun) -> (Report, Option<Destination>) {
        let result = run_job(self.context, job, mirrors, self.narrow, begun).await;
        let is_paused = pause::reason(self.context.store.home(), &self.job.name).is_some();
        match result {
            Ok(mut report) if report.details.nothing_taken => {
                let has_rows = report.counts.records == 0 && !report.rejections.is_empty();
                report.details.note = Some(if has_rows { FileNote::NoRowUsed } else { FileNote::TooFew });
                (report, Some(Destination::Failed))
            }
            // It is done with only when all of it is sent, so it is read once more.
            Ok(report) if report.status == Status::Failed || report.details.preempted || is_paused => (report, None),
            // A file of changes may have one row: that it is of no use is no sign of a file that was cut short.
            Ok(mut report) if report.details.rows.is_empty() && !report.rejections.is_empty() => {
                report.details.note = Some(FileNote::NoRowUsed);
                (report, Some(Destination::Failed))
            }
            Ok(report) => (report, Some(Destination::Processed)),
            Err(error) => {
                let shelf = is_of_the_file(&error).then_some(Destination::Failed);
                let mut report = begun.failed(self.context, self.job, &error);
                report.details.names_file = matches!(error, Error::Source(_));
                report.rejections = file_report::bad_rows(&error);
                report.details.note = shelf.and_then(|_| file_report::note(&error));
                (report, shelf)
            }
        }
    }

    /// Whether something is held that a file says.
    fn is_held(&self) -> Result<bool, Error> {
        let mut is_held = false;
        for part in self.job.parts() {
            HELD.each(self.context.store, &part.name, |_, held| is_held |= held.undo.is_none())?;
        }
        Ok(is_held)
    }

    /// What those who dropped a file get back; `runs` are those that read it before they were cut off.
    fn hr_report(&self, report: &Report, name: &str, runs: &[u64]) -> Result<HrReport, Error> {
        let state = JobState::load(self.context.store, &self.job.name)?;
        let before = file_report::confirmed(self.context.store.home(), self.job, runs).map_err(Error::History)?;
        let columns = state.found.as_ref().and_then(SourceState::file).map(|found| found.columns.as_slice());
        let headings = file_report::headings(self.job, &Columns::new(columns.unwrap_or_default()));
        let known = file_report::Known { before, headings, language: self.job.hr_report.language };
        Ok(file_report::of_run(self.blank(&state, name, Verdict::Used), report, &known))
    }

    /// Files something that is never read, with the reason, where the person who dropped it finds both.
    fn refuse(&mut self, entry: &InboxEntry, refusal: &Refusal) -> Result<Step, Error> {
        let name = shown(&entry.name);
        let reason = refusal.to_string();
        let job = self.job.name.as_str();
        tracing::error!(job, file = name, "{job}: the file {name} in the inbox was refused: {reason}");
        let begun = StartedRun::begin(self.context)?;
        let state = JobState::load(self.context.store, &self.job.name)?;
        let mut report = Report::failed(self.job.name.clone(), format!("{name} was refused. {refusal}"), 0);
        report.details.names_file = true;
        let language = self.job.hr_report.language;
        let details = refusal.has_details().then(|| language.in_english(reason));
        let messages = [language.refusal(refusal)].into_iter().chain(details).collect();
        let hr_report = HrReport { messages, ..self.blank(&state, &name, Verdict::NotUsed) };
        let taken = Taken { path: self.staging.copy(), content: String::new(), stamp: entry.stamp, mode: REPORT_MODE };
        let order = self.order(entry, &taken, Destination::Failed, None);
        self.close(begun, report, hr_report, order)
    }

    /// Lays out what is done with a file, tells of the run, and files it.
    fn close(
        &mut self,
        begun: StartedRun,
        report: Report,
        hr_report: HrReport,
        order: FilingOrder,
    ) -> Result<Step, Error> {
        let name = hr_report.file.clone();
        crate::crash::point("before a file is laid out");
        let laid = self.staging.stage(self.context.store, begun.run, order, &hr_report);
        crate::crash::point("after a file was laid out");
        self.record(&begun, report, Some(&name))?;
        match laid {
            Ok(laid) => self.finish(laid)?,
            Err(error) => {
                if is_full(&error) {
                    self.context.store.ran_full();
                }
                // It is known again by its content, and nothing of it is left to do.
                self.warn(format!("{name} is done and could not be filed: {error}"));
                return Ok(Step::Stop);
            }
        }
        Ok(Step::Next)
    }

    /// Files what was laid out; what can't be filed now is tried again by the next run.
    fn finish(&mut self, mut laid: StagedFile) -> Result<(), Error> {
        let mut state = JobState::load(self.context.store, &self.job.name)?;
        state.inbox.current = None;
        let name = shown(laid.order.filing.in_inbox());
        if laid.order.filing.shelf == Destination::Processed {
            let used = laid.order.past.as_ref().filter(|past| !past.doubted);
            state.inbox.note_filed(&laid.order.filing.filed, used.map(|_| self.job.mode));
        }
        if laid.order.filing.shelf == Destination::Failed {
            state.inbox.unused = Some(name.clone());
            // A row that can't be used may have taken back what the file before it says, which that one says again then.
            if let Some(last) = state.inbox.past.last_mut().filter(|_| self.job.mode == Mode::Changes) {
                last.clean = false;
            }
        }
        if let Some(past) = &laid.order.past {
            if !state.inbox.past.iter().any(|known| known.run == past.run) {
                state.fresh = Some(past.read);
            }
            state.inbox.remember(past.clone());
            if self.job.mode == Mode::Changes && state.inbox.kept_copy.take().is_some() {
                last_file::drop_kept_copy(self.context.store, self.job, &self.staging);
            }
            if self.job.mode == Mode::Full && laid.order.kept_copy.is_some() && state.inbox.past.last() == Some(past) {
                match laid.keep(self.context.store, &self.staging) {
                    Ok(()) => state.inbox.kept_copy.clone_from(&laid.order.kept_copy),
                    Err(error) => self.warn(format!("what is open of {name} waits for the next file: {error}")),
                }
            }
        }
        state.save(self.context.store, &self.job.name)?;
        crate::crash::point("before a file is filed");
        // A worker that may have been taken over moves nothing any more: its successor does.
        self.context.store.before_sending()?;
        if let Some(past) = &laid.order.past {
            let newer = LaterFile { name: &name, filed: &laid.order.filing.filed, run: past.run };
            report_updates::update_reports(self.context, self.job, &self.folder, &self.staging, Some(&newer))?;
        }
        let store = self.context.store;
        match laid.file(store, &self.staging, &self.folder, self.options).and_then(|()| {
            crate::crash::point("after a file was filed");
            if laid.order.past.is_some() {
                laid.keep_waiting(store, &self.staging)?;
            }
            laid.done(store)
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
        entry: &InboxEntry,
        taken: &Taken,
        shelf: Destination,
        past: Option<(Past, Option<OlderExport>)>,
    ) -> FilingOrder {
        let at = self.context.clock.now();
        let name = shown(&entry.name);
        // Where no name can be found out now, one is when it is filed.
        let filed = self.folder.free_name(shelf, at, &name).unwrap_or_else(|_| name.clone());
        let kept_copy = past.as_ref().map(|(_, doubt)| OpenFile { name, doubt: doubt.clone() });
        let filing = Filing {
            shelf,
            name: std::os::unix::ffi::OsStrExt::as_bytes(entry.name.as_os_str()).to_vec(),
            stamp: taken.stamp,
            filed,
            mode: taken.mode,
        };
        FilingOrder { filing, at, past: past.map(|(past, _)| past), kept_copy, settled: Verdict::Used }
    }

    /// An empty report.
    fn blank(&self, state: &JobState, name: &str, verdict: Verdict) -> HrReport {
        let found = state.found.as_ref().and_then(SourceState::file).and_then(|found| found.text.as_ref());
        let options = &self.job.hr_report;
        HrReport {
            file: name.to_owned(),
            job: self.job.name.to_string(),
            at: self.context.clock.now().to_zoned(self.job.time_zone.clone()),
            verdict,
            messages: Vec::new(),
            while_missing: Vec::new(),
            while_waiting: Vec::new(),
            updated: None,
            newer: None,
            lines: Vec::new(),
            delimiter: form(self.job).delimiter.or(found.map(|text| text.delimiter)).unwrap_or(b','),
            language: options.language,
            contact: options.contact.clone(),
            decide_at: options.decide_at.clone(),
        }
    }

    fn record(&mut self, begun: &StartedRun, mut report: Report, name: Option<&str>) -> Result<(), Error> {
        if let Some(name) = name.filter(|_| !report.details.names_file) {
            for reason in &mut report.reasons {
                reason.text = format!("{name}: {}", reason.text);
            }
        }
        report.is_narrow = self.narrow.is_narrow();
        begun.record(self.context, self.job, &report)?;
        self.reports.push(report);
        Ok(())
    }

    fn warn(&mut self, warning: String) {
        let job = self.job.name.as_str();
        tracing::warn!(job, "{job}: {}", crate::record::reveal(&warning));
        self.notes.push(warning.into());
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
