//! The notices that were sent and those that wait, on disk.
//!
//! With the state in a database, that this can't be used is news of each worker, and can't be written there. It is kept locally:
//! into the folder for what is not shared, with the notices that wait at that time, and taken over into the database when this
//! can be written again.

use std::collections::BTreeMap;
use std::io;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::channel::Channel;
use super::decide::{NotifiedState, decide, decide_down, decide_up};
use super::notice::Notice;
use super::outage::Outage;
use crate::record::JobName;
use crate::status::{Snapshot, UnreachableChannel};
use crate::store::Home;

const DOCUMENT: &str = "notices.json";
/// How many notices wait at most; the oldest go first.
const WAITING_MAX: usize = 200;
/// After so long a notice is of no use any more.
const KEPT_MAX: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How long after the first failure a notice is tried again, in seconds; doubled each time up to the second number.
const AGAIN: (i64, i64) = (15, 3600);

/// What was notified, and what waits to be sent.
#[derive(Debug)]
pub struct NoticeStore {
    home: Home,
    /// Where they are kept locally; `None` where the state is of this machine alone.
    local: Option<Home>,
    is_local: bool,
    written: Written,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    version: u32,
    told: NotifiedState,
    waiting: Vec<Waiting>,
    /// Until when each job was summed up.
    digests: BTreeMap<JobName, Timestamp>,
    /// The places that can't be reached.
    unheard: BTreeMap<String, Failing>,
}

/// A place that can't be reached: since when, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Failing {
    since: Timestamp,
    reason: String,
}

/// A notice on its way over one channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub(super) notice: Notice,
    pub(super) channel: Channel,
    attempts: u32,
    due: Timestamp,
}

impl NoticeStore {
    /// Opens the notices of a state. Where they can't be read it starts with those that were kept locally, or with none: notices
    /// may then be repeated.
    pub fn open(home: &Home) -> Self {
        let local = home.folder().is_none().then(|| Home::from(home.spill_dir()));
        let mut book = Self { home: home.clone(), local, is_local: false, written: Written::default() };
        let kept_locally = book.local.as_ref().and_then(|local| read(local).unwrap_or_default());
        let written = read(home).inspect_err(|error| {
            tracing::warn!(%error, "notification state is unreadable; notices may be repeated: {error}");
        });
        let is_readable = written.is_ok();
        book.written = written.ok().flatten().unwrap_or_default();
        if let Some(kept_locally) = kept_locally {
            book.written.take(kept_locally);
            book.is_local = true;
            // What can't be read is not written over, and need not be waited for once more.
            if is_readable {
                book.return_home();
            }
        }
        book
    }

    /// Opens what was notified of a process of this machine that does not have the state: its news is not that of the worker which
    /// has it. It is always kept locally.
    pub fn of_machine(home: &Home) -> Self {
        if home.folder().is_some() {
            return Self::open(home);
        }
        let local = Home::from(home.spill_dir());
        let written = read(&local).unwrap_or_default().unwrap_or_default();
        Self { home: home.clone(), local: Some(local), is_local: true, written }
    }

    /// Writes into the state what was kept locally, where that can be done again.
    fn return_home(&mut self) {
        if self.is_local && write(&self.home, &self.written).is_ok() {
            self.is_local = false;
            if let Some(Err(error)) = self.local.as_ref().map(|local| local.remove(DOCUMENT)) {
                tracing::warn!(%error, "notices that were kept locally could not be removed, and may be repeated: {error}");
            }
        }
    }

    /// Compares the present state with what was notified, and records the new notices for each of `channels`. They are
    /// on disk when it returns. Returns the notices.
    ///
    /// # Errors
    ///
    /// It can't be written: then nothing is sent, and the next look finds the same news.
    pub(super) fn look(&mut self, snapshot: &Snapshot, channels: &[Channel]) -> io::Result<Vec<Notice>> {
        self.return_home();
        let (told, notices) = decide(&self.written.told, snapshot);
        self.put_down(told, &notices, channels)?;
        Ok(notices)
    }

    /// The same where nothing works, so that nothing is known of how things are. It is kept locally where the state can't be written.
    ///
    /// # Errors
    ///
    /// It can't be written there either: then nothing is sent.
    pub(super) fn down(&mut self, trouble: &Outage, at: Timestamp, channels: &[Channel]) -> io::Result<Option<Notice>> {
        let (told, notice) = decide_down(&self.written.told, trouble, at);
        match self.put_down(told.clone(), notice.as_slice(), channels) {
            Err(_) if self.local.is_some() && !self.is_local => {
                self.is_local = true;
                self.put_down(told, notice.as_slice(), channels)?;
            }
            done => done?,
        }
        Ok(notice)
    }

    /// The same where it works again, and another worker has the state.
    pub(super) fn up(&mut self, at: Timestamp, channels: &[Channel]) -> io::Result<Option<Notice>> {
        let (told, notice) = decide_up(&self.written.told, at);
        self.put_down(told, notice.as_slice(), channels)?;
        Ok(notice)
    }

    /// Until when a job was summed up; from `now` on where it never was.
    pub(super) fn summed_up(&mut self, job: &JobName, now: Timestamp) -> io::Result<Timestamp> {
        // A clock that was set back must not put off the next summary.
        if let Some(until) = self.written.digests.get(job).filter(|until| **until <= now) {
            return Ok(*until);
        }
        let mut next = self.written.clone();
        next.digests.insert(job.clone(), now);
        self.keep(next).map(|()| now)
    }

    /// Records a summary for the recipients of its job.
    pub(super) fn digest(&mut self, job: &JobName, until: Timestamp, notice: Notice) -> io::Result<()> {
        let mut next = self.written.clone();
        next.digests.insert(job.clone(), until);
        next.wait(&[notice], &[Channel::JobMail(job.clone())]);
        self.keep(next)
    }

    fn put_down(&mut self, told: NotifiedState, notices: &[Notice], channels: &[Channel]) -> io::Result<()> {
        if told == self.written.told {
            return Ok(());
        }
        let mut next = Written { version: 1, told, ..self.written.clone() };
        next.wait(notices, channels);
        self.keep(next)
    }

    /// The places that can't be reached.
    pub fn unheard(&self) -> Vec<UnreachableChannel> {
        let waits =
            |channel: &str| self.written.waiting.iter().filter(|one| one.channel.to_string() == channel).count();
        let unheard = self.written.unheard.iter();
        unheard
            .map(|(channel, Failing { since, reason })| UnreachableChannel {
                channel: channel.clone(),
                since: *since,
                reason: reason.clone(),
                waiting: waits(channel),
            })
            .collect()
    }

    /// Notes whether a place could be reached; writes only where that is new.
    pub(super) fn reached(&mut self, channel: &str, now: Timestamp, trouble: Option<&str>) -> io::Result<()> {
        let mut next = self.written.clone();
        next.note(channel, now, trouble);
        if next.unheard == self.written.unheard { Ok(()) } else { self.keep(next) }
    }

    /// The notices over `channel` whose time has come, in order.
    pub(super) fn due(&self, channel: &Channel, now: Timestamp) -> Vec<Notice> {
        let is_due = |waiting: &&Waiting| {
            // A clock that was set back must not keep a notice for ever.
            let far = waiting.due.duration_since(now) > SignedDuration::from_secs(AGAIN.1);
            waiting.channel == *channel && (waiting.due <= now || far)
        };
        self.written.waiting.iter().filter(is_due).map(|waiting| waiting.notice.clone()).collect()
    }

    /// When the next notice is due; `None` where none waits.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.written.waiting.iter().map(|waiting| waiting.due).min()
    }

    /// A notice arrived.
    pub(super) fn delivered(&mut self, id: &str, channel: &Channel, now: Timestamp) -> io::Result<()> {
        let mut next = self.written.clone();
        next.note(&channel.to_string(), now, None);
        next.waiting.retain(|waiting| !(waiting.notice.id == id && waiting.channel == *channel));
        self.keep(next)
    }

    /// A notice did not arrive; it is tried again later, or given up where that has gone on for too long.
    pub(super) fn failed(&mut self, id: &str, channel: &Channel, now: Timestamp, why: &str) -> io::Result<()> {
        let mut next = self.written.clone();
        next.note(&channel.to_string(), now, Some(why));
        for waiting in &mut next.waiting {
            if waiting.notice.id == id && waiting.channel == *channel {
                let seconds = AGAIN.0.saturating_mul(1 << waiting.attempts.min(16)).min(AGAIN.1);
                waiting.attempts += 1;
                waiting.due = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
            }
        }
        let before = next.waiting.len();
        next.waiting.retain(|waiting| now.duration_since(waiting.notice.at) < KEPT_MAX);
        if next.waiting.len() < before {
            tracing::error!(%channel, "a notice could not be delivered by {channel} for a week and is given up");
        }
        self.keep(next)
    }

    /// Drops what waits for channels that are not among these, and what is known of places that are not called any more.
    pub(super) fn keep_channels(&mut self, channels: &[Channel], places: &[String]) -> io::Result<()> {
        let mut next = self.written.clone();
        next.waiting.retain(|waiting| channels.contains(&waiting.channel));
        next.unheard.retain(|place, _| places.contains(place));
        let is_same =
            next.waiting.len() == self.written.waiting.len() && next.unheard.len() == self.written.unheard.len();
        if is_same { Ok(()) } else { self.keep(next) }
    }

    fn keep(&mut self, next: Written) -> io::Result<()> {
        let written = match self.local.as_ref().filter(|_| self.is_local) {
            Some(local) => local.create().map_err(io::Error::other).and_then(|()| write(local, &next.kept_locally())),
            None => write(&self.home, &next),
        };
        match &written {
            // People must be notified of a full disk although nothing can be written; the notice may be repeated after
            // a restart.
            Err(error) if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                tracing::warn!(%error, "notification state could not be written, and is kept in memory: {error}");
            }
            _ => written?,
        }
        self.written = next;
        Ok(())
    }
}

impl Written {
    /// What of it is kept locally: it is all about the state itself, or waits to be sent.
    fn kept_locally(&self) -> Self {
        let (told, waiting) = (self.told.outage(), self.waiting.clone());
        Self { version: self.version, told, waiting, ..Self::default() }
    }

    /// Takes over what was kept locally.
    fn take(&mut self, local: Self) {
        self.told.take_outage(local.told);
        let is_new = |new: &Waiting, one: &Waiting| (&one.notice.id, &one.channel) != (&new.notice.id, &new.channel);
        let new = local.waiting.into_iter().filter(|new| self.waiting.iter().all(|one| is_new(new, one)));
        let new: Vec<Waiting> = new.collect();
        self.waiting.extend(new);
    }

    /// Puts notices on their ways.
    fn wait(&mut self, notices: &[Notice], channels: &[Channel]) {
        for notice in notices {
            for channel in channels.iter().filter(|channel| channel.takes(notice)) {
                let (notice, channel) = (notice.clone(), channel.clone());
                self.waiting.push(Waiting { due: notice.at, notice, channel, attempts: 0 });
            }
        }
        let more = self.waiting.len().saturating_sub(WAITING_MAX);
        if more > 0 {
            tracing::warn!(notices = more, "too many notices wait; the {more} oldest are given up");
            self.waiting.drain(..more);
        }
    }

    /// Notes whether a place could be reached.
    fn note(&mut self, place: &str, now: Timestamp, trouble: Option<&str>) {
        match trouble {
            None => {
                self.unheard.remove(place);
            }
            Some(reason) => {
                let failing = self.unheard.entry(place.to_owned());
                failing.or_insert_with(|| Failing { since: now, reason: String::new() }).reason = reason.to_owned();
            }
        }
    }
}

/// Forgets the digests of rows and people; what still holds of them is notified once more.
///
/// # Errors
///
/// They can't be written.
pub fn forget(home: &Home) -> io::Result<()> {
    if home.read(DOCUMENT)?.is_none() {
        return Ok(());
    }
    let mut book = NoticeStore::open(home);
    let mut next = book.written.clone();
    next.told.forget();
    book.keep(next)
}

/// The notices that lie in a home; `None` where none do.
fn read(home: &Home) -> io::Result<Option<Written>> {
    let Some(bytes) = home.read(DOCUMENT)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(io::Error::from)
}

fn write(home: &Home, written: &Written) -> io::Result<()> {
    home.replace(DOCUMENT, &serde_json::to_vec(written)?)
}
