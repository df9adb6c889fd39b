//! The reports of a file of which something waited, brought up to date as it is settled.
//!
//! Who dropped a file looks at its report again once it is decided on. So the private folder keeps the data of the
//! report while something in it waits. What is still held, queued or approved waits; the store knows what was refused
//! or rejected; for the rest the audit files say what was done.
//!
//! Where the next file is read first, what still waits is computed from that one. The report of the file before then says
//! what was done of it until then, and refers to the next for the rest: it says nothing of what the next file did. A file of
//! changes replaces only what it names: who is still held waits on.

use std::collections::BTreeMap;
use std::io;

use jiff::Timestamp;

use super::file_report::outcome_of;
use crate::config::{Job, Mode};
use crate::history::{self, AuditEvent};
use crate::hr_report::{ReportLine, RowOutcome, Verdict, page, table};
use crate::plan;
use crate::queue::{self, State};
use crate::reconcile::approval::held::HELD;
use crate::reconcile::dropped::staging::{OpenReport, Staging};
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::report::names::named_as;
use crate::record::{Action, JobName, Key, reveal};
use crate::source::inbox::Folder;
use crate::store::{self, Home, Store};

/// A file that was read after one of which something waits.
pub(crate) struct LaterFile<'a> {
    pub(crate) name: &'a str,
    /// What it is called where it is filed.
    pub(crate) filed: &'a str,
    /// The run that read it.
    pub(crate) run: u64,
}

/// What has become of a line that waited.
enum Became {
    Waits,
    Outcome(RowOutcome, String),
    /// It was approved; the audit files know whether it was done.
    Approved,
    /// The audit files know what was done, if anything.
    Settled,
}

/// Brings the reports of the last file of which something waited up to date. `newer` is a file that was read since.
pub(crate) fn update_reports(
    context: &Context<'_>,
    job: &Job,
    folder: &Folder,
    staging: &Staging,
    newer: Option<&LaterFile<'_>>,
) -> Result<(), Error> {
    let failed = |error: io::Error| {
        let job = job.name.as_str();
        tracing::warn!(job, %error, "{job}: the report of a file of which something waits was not brought up to date: {error}");
    };
    let mut waiting = match staging.open_report() {
        Ok(Some(waiting)) => waiting,
        Ok(None) => return Ok(()),
        Err(error) => {
            failed(error);
            return Ok(());
        }
    };
    // A process that ended while it filed a file does so again.
    if newer.is_some_and(|newer| newer.filed == waiting.filing.filed) {
        return Ok(());
    }
    if !waiting.update(context.store, job, context.clock.now(), newer)? {
        return Ok(());
    }
    let done = waiting.put(folder).and_then(|()| match waiting.hr_report.count(RowOutcome::Waiting) {
        0 => staging.drop_waiting(context.store),
        _ => staging.keep_waiting(context.store, &waiting),
    });
    done.unwrap_or_else(failed);
    Ok(())
}

impl OpenReport {
    /// Finds out what became of each line that waited; whether anything did.
    fn update(
        &mut self,
        store: &Store,
        job: &Job,
        now: Timestamp,
        newer: Option<&LaterFile<'_>>,
    ) -> Result<bool, Error> {
        // Nothing waits any more where who did was forgotten.
        let forgotten = self.hr_report.count(RowOutcome::Waiting) == 0;
        let moved = match newer {
            Some(newer) => self.supersede(store, job, newer)?,
            None => self.settle(store, job)?,
        };
        let moved = moved || forgotten || newer.is_some();
        if moved {
            let is_replaced = self.hr_report.count(RowOutcome::Waiting) == 0;
            self.tell(now, newer.filter(|_| is_replaced).map(|newer| newer.name));
        }
        Ok(moved)
    }

    /// Says what was done before the next file was read, and refers to that for everything else.
    fn supersede(&mut self, store: &Store, job: &Job, newer: &LaterFile<'_>) -> Result<bool, Error> {
        let done = done(store.home(), self.hr_report.at.timestamp(), newer.run).map_err(Error::History)?;
        let waited = |line: &&mut ReportLine| line.outcome == RowOutcome::Waiting;
        for line in self.hr_report.lines.iter_mut().filter(waited) {
            let records = line.key.as_deref().map(|name| named_as(job, name)).unwrap_or_default();
            let action = records.iter().find_map(|record| done.get(record));
            let waits = || Ok::<_, Error>(matches!(became(store, &records)?, Became::Waits));
            if job.mode == Mode::Changes && action.is_none() && waits()? {
                continue;
            }
            line.outcome = action.map_or(RowOutcome::Superseded, |action| outcome_of(*action));
            (line.reason, line.in_english) = (String::new(), false);
        }
        Ok(true)
    }

    fn settle(&mut self, store: &Store, job: &Job) -> Result<bool, Error> {
        let (mut settled, mut moved) = (Vec::new(), false);
        for (at, line) in self.hr_report.lines.iter_mut().enumerate() {
            let (RowOutcome::Waiting, Some(name)) = (line.outcome, &line.key) else { continue };
            let records = named_as(job, name);
            match became(store, &records)? {
                Became::Waits => {}
                Became::Outcome(outcome, reason) => {
                    (line.outcome, line.reason, moved) = (outcome, reason, true);
                }
                became => settled.push((at, records, matches!(became, Became::Approved))),
            }
        }
        if !settled.is_empty() {
            let done = done(store.home(), self.hr_report.at.timestamp(), u64::MAX).map_err(Error::History)?;
            for (at, records, is_approved) in settled {
                let line = &mut self.hr_report.lines[at];
                line.outcome = match records.iter().find_map(|record| done.get(record)) {
                    Some(action) => outcome_of(*action),
                    // Who is in no row goes once the grace is over.
                    None if is_approved && line.row.is_none() => RowOutcome::Missing,
                    None if is_approved => continue,
                    None => RowOutcome::Unchanged,
                };
                line.reason.clear();
                moved = true;
            }
        }
        Ok(moved)
    }

    fn tell(&mut self, now: Timestamp, newer: Option<&str>) {
        let Self { hr_report, settled, .. } = self;
        hr_report.updated = Some(now.to_zoned(hr_report.at.time_zone().clone()));
        hr_report.newer = newer.map(str::to_owned);
        if hr_report.count(RowOutcome::Waiting) == 0 {
            let lacks = |line: &ReportLine| matches!(line.outcome, RowOutcome::NotUsed | RowOutcome::Refused);
            let partly = hr_report.lines.iter().any(lacks);
            // Who is removed, or set as gone, is not missing any more.
            let is_gone = |line: &ReportLine| matches!(line.outcome, RowOutcome::Removed | RowOutcome::Changed);
            let all_gone = hr_report.lines.iter().all(|line| line.row.is_some() || is_gone(line));
            let superseded = hr_report.count(RowOutcome::Superseded) > 0;
            hr_report.verdict = match *settled {
                _ if superseded => Verdict::Superseded,
                _ if partly => Verdict::Partly,
                Verdict::Missing if all_gone => Verdict::Used,
                settled => settled,
            };
        }
    }

    /// Puts the reports in place of those that were filed, where they still lie there.
    fn put(&self, folder: &Folder) -> io::Result<()> {
        let Self { filing, hr_report, .. } = self;
        for (end, bytes) in [(".report.csv", table(hr_report)), (".report.html", page(hr_report).into_bytes())] {
            if folder.open_filed(filing.shelf, &format!("{}{end}", filing.filed))?.is_some() {
                folder.put(filing, end, &mut bytes.as_slice())?;
            }
        }
        Ok(())
    }
}

/// What became of a record of a job or one of its parts.
fn became(store: &Store, records: &[(JobName, Key)]) -> Result<Became, store::Error> {
    for (job, key) in records {
        if HELD.get(store, job, key)?.is_some() {
            return Ok(Became::Waits);
        }
        match queue::get(store, job, key)?.map(|change| change.state) {
            Some(State::Parked { words, .. }) => {
                return Ok(Became::Outcome(RowOutcome::Refused, reveal(&words).into_owned()));
            }
            Some(State::Waiting | State::Sent { .. }) => return Ok(Became::Waits),
            None => {}
        }
        match queue::DECISIONS.get(store, job, key)?.map(|decided| decided.verdict) {
            Some(plan::Verdict::Approved(_)) => return Ok(Became::Approved),
            Some(plan::Verdict::Rejected(_)) => return Ok(Became::Outcome(RowOutcome::Dropped, String::new())),
            None => {}
        }
    }
    Ok(Became::Settled)
}

/// The actions since then of runs before `run`, by job and key.
fn done(home: &Home, since: Timestamp, run: u64) -> io::Result<BTreeMap<(JobName, Key), Action>> {
    let mut done = BTreeMap::new();
    history::read_since(home, since, |entry| {
        if let AuditEvent::Change(change) = entry
            && change.at >= since
            && change.run < run
        {
            done.insert((change.job, change.key), change.action);
        }
    })?;
    Ok(done)
}
