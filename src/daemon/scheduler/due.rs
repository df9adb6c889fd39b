//! Decides which job runs when: a state machine over time, without a clock of its own.
//!
//! Invariants:
//! - A job's times count as served up to some time, [`ScheduledJob::served`]. It is due when a time of its schedule lies after
//!   that and not after now; however many do, it runs once. So a time that was missed, because the machine was off or slept
//!   or its clock was put forward, is made up once.
//! - A job that is under way is never started again, and of the jobs that share a target one runs at a time. Times that
//!   come while a job reads and plans are counted as skipped; a run that is sending by then is preempted, and the job
//!   starts over (`worker`). A job that waits for another keeps its turn.
//! - A clock that is set back by up to three hours repeats no time of a schedule with fixed hours; one with `*` or a step in
//!   the hours goes on by elapsed time. A clock set back further is taken for right, as cron(8) does it.
//! - Before the year that [`FLOOR`] says nothing runs: a machine that has no battery starts in 1970, and its clock is put
//!   right within moments. Where it is not, all jobs are late.
//!
//! Rejected: to sleep until the next time and run then. A clock that is set, or a machine that slept, makes that sleep
//! too long or too short; so no sleep is longer than [`SLEEP_MAX`], and each wake-up computes again what is due.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use xxhash_rust::xxh3::xxh3_64;

use super::clock_reading::ClockReading;
use crate::config::{Job, Schedule};
use crate::reconcile;
use crate::record::{JobName, Target};

/// The longest time between two looks at the clock.
pub const SLEEP_MAX: Duration = Duration::from_secs(20);
/// A clock that says less is wrong: 2026-01-01T00:00:00Z.
const FLOOR: Timestamp = Timestamp::constant(1_767_225_600, 0);
/// How soon a wrong clock is looked at again.
const WRONG_CLOCK_SLEEP: Duration = Duration::from_secs(1);
/// How long after a run that could not use the state the next one tries.
const LOST_RETRY: Duration = Duration::from_secs(if cfg!(debug_assertions) { 2 } else { 60 });
/// By how much a clock may be set back without a fixed time being repeated.
const SET_BACK_MAX: SignedDuration = SignedDuration::from_hours(3);
/// Smaller steps of the clock are none.
const STEP_MIN: SignedDuration = SignedDuration::from_secs(1);
/// The most skipped times that are counted in one run.
const SKIPPED_MAX: u64 = 1_000;

/// When a job runs.
#[derive(Clone, Debug)]
pub struct Timed {
    name: JobName,
    /// What its runs read and write at the service.
    targets: BTreeSet<Target>,
    schedule: Option<(Schedule, TimeZone)>,
    served: Option<Timestamp>,
    goes_on: bool,
}

impl Timed {
    /// A job of the configuration whose times were served up to `served`; `None` where it never ran by its schedule.
    pub fn new(job: &Job, served: Option<Timestamp>) -> Self {
        let schedule = job.schedule.clone().or_else(|| hourly(job));
        let schedule = schedule.map(|schedule| (schedule, job.time_zone.clone()));
        Self { name: job.name.clone(), targets: reconcile::needed(job), schedule, served, goes_on: false }
    }

    /// The same for one that is due as soon as the daemon begins, whatever the time: an earlier process left changes on their way.
    pub fn going_on(self, goes_on: bool) -> Self {
        Self { goes_on, ..self }
    }
}

/// When an inbox without a schedule is looked at though no file comes, for what comes due by itself: a first or last day, the end
/// of a grace, a whole listing. Each has a minute of its own, so that many accounts do not come at once.
fn hourly(job: &Job) -> Option<Schedule> {
    let inbox = job.inbox.as_ref()?;
    let place = format!("{}\n{}", inbox.dir.display(), job.name);
    format!("{} * * * *", xxh3_64(place.as_bytes()) % 60).parse().ok()
}

/// How a run ended, for the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It came to its end, well or not.
    Served,
    /// It was preempted before all was sent: the job is due again at once.
    Preempted,
    /// The state could not be used: the job is due again soon, whatever its schedule, since what it was to send may wait.
    Lost,
}

/// Which job runs when.
#[derive(Debug, Default)]
pub struct Scheduler {
    entries: Vec<ScheduledJob>,
    /// What each job that runs now reads and writes; it may have left the configuration meanwhile.
    busy: BTreeMap<JobName, BTreeSet<Target>>,
    mark: Option<ClockReading>,
}

#[derive(Debug)]
struct ScheduledJob {
    name: JobName,
    targets: BTreeSet<Target>,
    schedule: Option<(Schedule, TimeZone)>,
    /// Up to when its times are served; none before the clock was first seen right.
    served: Option<Timestamp>,
    /// The first time that is not served; worked out once, as it takes a walk over days.
    next: Option<Timestamp>,
    /// It is to run whatever the time: a user wants it, or an earlier run did not come to its end.
    asked: bool,
    /// When it is to be tried again, by the time that has passed, after a run that could not use the state.
    again: Option<Duration>,
    /// Since when it is due and waits for another's run to end, or for the clock to be set; as the clock said then.
    waits: Option<Timestamp>,
    skipped: u64,
}

impl ScheduledJob {
    fn new(timed: Timed) -> Self {
        let Timed { name, targets, schedule, served, goes_on: asked } = timed;
        let (next, again, waits) = Default::default();
        let mut entry = Self { name, targets, schedule, served: None, next, asked, again, waits, skipped: 0 };
        entry.serve(served);
        entry
    }

    /// Counts the times up to `served` as served.
    fn serve(&mut self, served: Option<Timestamp>) {
        if self.served != served {
            self.served = served;
            self.next = match (&self.schedule, served) {
                (Some((schedule, zone)), Some(served)) => schedule.next_after(served, zone),
                _ => None,
            };
        }
    }

    fn is_due(&self, at: ClockReading) -> bool {
        let is_tried_again = self.again.is_some_and(|again| again <= at.elapsed);
        self.asked || is_tried_again || self.next.is_some_and(|next| next <= at.wall)
    }

    /// What the schedule counts as served when the clock is first seen right.
    fn begin(&mut self, wall: Timestamp) {
        let kept = self.served.filter(|served| *served <= wall || self.may_stand_ahead(*served, wall));
        self.serve(Some(kept.unwrap_or(wall)));
    }

    /// The clock was set back by `jump`, which is negative, and says `wall` now.
    fn set_back(&mut self, jump: SignedDuration, wall: Timestamp) {
        let Some(served) = self.served else { return };
        let served = match &self.schedule {
            _ if jump < -SET_BACK_MAX => served.min(wall),
            Some((schedule, zone)) if schedule.goes_by_elapsed_time() => {
                let moved = served.saturating_add(jump).unwrap_or(wall).min(wall);
                same_again(schedule, zone, moved).unwrap_or(moved)
            }
            _ if self.may_stand_ahead(served, wall) => served,
            _ => served.min(wall),
        };
        self.serve(Some(served));
    }

    /// Whether times up to `served` may count as served though the clock says less.
    fn may_stand_ahead(&self, served: Timestamp, wall: Timestamp) -> bool {
        let fixed = self.schedule.as_ref().is_some_and(|(schedule, _)| !schedule.goes_by_elapsed_time());
        fixed && served.duration_since(wall) <= SET_BACK_MAX
    }

    /// How many times of the schedule lie after `from` and not after `to`.
    fn times_between(&self, from: Timestamp, to: Timestamp) -> u64 {
        let Some((schedule, zone)) = &self.schedule else { return 0 };
        let mut times = 0;
        let mut at = from;
        while let Some(next) = schedule.next_after(at, zone).filter(|next| *next <= to && times < SKIPPED_MAX) {
            (at, times) = (next, times + 1);
        }
        times
    }
}

/// The next time after `served`, where it comes so soon that it is the one that was just served: the clock shows it twice.
fn same_again(schedule: &Schedule, zone: &TimeZone, served: Timestamp) -> Option<Timestamp> {
    let next = schedule.next_after(served, zone)?;
    let interval = schedule.next_after(next, zone)?.duration_since(next);
    (next.duration_since(served).saturating_mul(2) < interval).then_some(next)
}

impl Scheduler {
    /// A scheduler of these jobs, in the order of the file.
    pub fn new(jobs: impl IntoIterator<Item = Timed>) -> Self {
        Self { entries: jobs.into_iter().map(ScheduledJob::new).collect(), ..Self::default() }
    }

    /// Takes other jobs in place of the present ones. What is served, asked for and under way stays, by name; a schedule
    /// that is another one counts from now on.
    pub fn replace(&mut self, jobs: impl IntoIterator<Item = Timed>, at: ClockReading) {
        let mut before: BTreeMap<JobName, ScheduledJob> =
            std::mem::take(&mut self.entries).into_iter().map(|entry| (entry.name.clone(), entry)).collect();
        let now = self.mark.map(|_| at.wall);
        let renew = |timed: Timed| match before.remove(&timed.name) {
            Some(old) if old.schedule == timed.schedule => ScheduledJob { targets: timed.targets, ..old },
            Some(old) => ScheduledJob { asked: old.asked, ..ScheduledJob::new(Timed { served: now, ..timed }) },
            None => ScheduledJob::new(Timed { served: timed.served.or(now), ..timed }),
        };
        self.entries = jobs.into_iter().map(renew).collect();
    }

    /// The jobs that start now; they count as under way until [`Scheduler::ended`].
    pub fn due(&mut self, at: ClockReading) -> Vec<JobName> {
        if !self.see(at) {
            for entry in self.entries.iter_mut().filter(|entry| entry.asked || entry.schedule.is_some()) {
                entry.waits.get_or_insert(at.wall);
            }
            return Vec::new();
        }
        let mut due = Vec::new();
        // Who has waited longest comes first: a run that was preempted starts over behind those that waited for it.
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|at| (self.entries[*at].waits.is_none(), self.entries[*at].waits));
        for entry in order {
            let entry = &mut self.entries[entry];
            if !entry.is_due(at) || self.busy.contains_key(&entry.name) {
                entry.waits = None;
                continue;
            }
            if !is_free(&self.busy, entry) {
                entry.waits = entry.waits.filter(|since| *since >= FLOOR).or(Some(at.wall));
                continue;
            }
            entry.asked = false;
            entry.again = None;
            entry.waits = None;
            entry.serve(entry.served.max(Some(at.wall)));
            self.busy.insert(entry.name.clone(), entry.targets.clone());
            due.push(entry.name.clone());
        }
        due
    }

    /// Lets a job run as soon as may be; one that runs already runs once more. False where there is no such job.
    pub fn ask(&mut self, job: &JobName) -> bool {
        let entry = self.entries.iter_mut().find(|entry| entry.name == *job);
        entry.map(|entry| entry.asked = true).is_some()
    }

    /// Takes note of a run's end. Returns up to when the job's times are served, to be remembered across restarts;
    /// `None` if the run was preempted.
    pub fn ended(&mut self, job: &JobName, how: Ended, at: ClockReading) -> Option<Timestamp> {
        self.see(at);
        self.busy.remove(job);
        let entry = self.entries.iter_mut().find(|entry| entry.name == *job)?;
        if how == Ended::Preempted {
            entry.asked = true;
            return None;
        }
        if how == Ended::Lost {
            entry.again = Some(at.elapsed + LOST_RETRY);
        }
        let began = entry.served.unwrap_or(at.wall);
        entry.skipped += entry.times_between(began, at.wall);
        entry.serve(Some(began.max(at.wall)));
        entry.served
    }

    /// A run that was not started by the schedule has ended: it serves the times until now. Returns up to when they
    /// are, to be remembered across restarts.
    pub(crate) fn ran(&mut self, job: &JobName, at: ClockReading) -> Option<Timestamp> {
        if !self.see(at) {
            return None;
        }
        let entry = self.entries.iter_mut().find(|entry| entry.name == *job)?;
        entry.serve(entry.served.max(Some(at.wall)));
        entry.served
    }

    /// How long until something may be due, where nothing else happens; never longer than [`SLEEP_MAX`].
    pub fn sleep(&self, at: ClockReading) -> Duration {
        if at.wall < FLOOR {
            return WRONG_CLOCK_SLEEP;
        }
        let open = self.entries.iter().filter(|entry| is_free(&self.busy, entry));
        let until = |entry: &ScheduledJob| {
            let left = if entry.asked { Some(at.wall) } else { entry.next }.map(|next| next.duration_since(at.wall));
            let left = left.map(|left| Duration::try_from(left).unwrap_or(Duration::ZERO));
            let again = entry.again.map(|again| again.saturating_sub(at.elapsed));
            left.into_iter().chain(again).min()
        };
        open.filter_map(until).min().unwrap_or(SLEEP_MAX).min(SLEEP_MAX)
    }

    /// Whether the clock can't be right.
    pub(crate) fn is_clock_wrong(at: ClockReading) -> bool {
        at.wall < FLOOR
    }

    /// When a job is due next, or was, where it waits for another or is late.
    pub fn next(&self, job: &JobName) -> Option<Timestamp> {
        self.entries.iter().find(|entry| entry.name == *job)?.next
    }

    /// Since when a job is due and can't start, because another's run has not ended or the clock can't be right. A time that was
    /// missed while the machine was off or slept counts from when it could have been made up: there must be no notice of a job that
    /// runs within moments.
    pub fn waits_since(&self, job: &JobName) -> Option<Timestamp> {
        self.entries.iter().find(|entry| entry.name == *job)?.waits
    }

    /// How many times of a job came while it ran, since the daemon began.
    pub fn skipped(&self, job: &JobName) -> u64 {
        self.entries.iter().find(|entry| entry.name == *job).map_or(0, |entry| entry.skipped)
    }

    /// Sees what the clock says; false where it can't be right.
    fn see(&mut self, at: ClockReading) -> bool {
        if Self::is_clock_wrong(at) {
            return false;
        }
        match self.mark {
            None => self.entries.iter_mut().for_each(|entry| entry.begin(at.wall)),
            Some(mark) => {
                let jump = at.jump_since(mark);
                if jump <= -STEP_MIN {
                    self.entries.iter_mut().for_each(|entry| entry.set_back(jump, at.wall));
                }
            }
        }
        self.mark = Some(at);
        true
    }
}

/// Whether no run is under way that shares a target with the job.
fn is_free(busy: &BTreeMap<JobName, BTreeSet<Target>>, entry: &ScheduledJob) -> bool {
    !busy.contains_key(&entry.name) && busy.values().all(|targets| targets.is_disjoint(&entry.targets))
}

#[cfg(test)]
mod tests;
