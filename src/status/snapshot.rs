//! Gathers the state at one moment.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::counters::Refused;
use super::hosts::host_name;
use super::remembered::{OnSite, Remembered, RememberedJob};
use crate::api::BudgetState;
use crate::config::{Config, Instance, Job};
use crate::fault::chain;
use crate::reconcile::{
    self, JobState, LastRun, Missing, Pause, Reason, ReasonKind, RecentRuns, RejectedRows, Status, UnconfiguredJob,
};
use crate::record::{JobName, Target};
use crate::source::Source;
use crate::source::inbox::Folder;
use crate::store::{self, Store};
use crate::text::{clock_time, counted};

/// How late a run may be before it counts as overdue: the daemon may be on its way up, or at another run.
const LATE: SignedDuration = SignedDuration::from_mins(5);

/// How things are at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment, by this machine's clock.
    pub at: Timestamp,
    /// The jobs, in the order of the configuration.
    pub jobs: Vec<JobView>,
    /// Jobs that have people and are not in the configuration.
    pub unconfigured: Vec<UnconfiguredJob>,
    /// The rate limit.
    pub budget: Budget,
    /// Whether the disk is so full that nothing is sent.
    pub is_full: bool,
    /// Channels of notification that can't be reached.
    pub unheard: Vec<UnreachableChannel>,
    /// The configuration that the daemon refused last, where the one before is still in force.
    pub refused: Option<Refused>,
    /// Why this page itself is not served, where it should be.
    pub unserved: Option<Unserved>,
    /// Why the pages for decisions are not served, where they should be.
    pub no_decisions: Option<Unserved>,
    /// Who shows it.
    pub process: Process,
}

/// The process that shows how things are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// This machine.
    pub host: String,
    /// Which of several accounts it is for.
    pub instance: Option<String>,
    /// Since when the daemon runs; none where none does.
    pub started: Option<Timestamp>,
}

/// What a job reads, as the book tells kinds of sources apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceFamily {
    /// A CSV file.
    #[default]
    File,
    /// A workbook.
    Workbook,
    /// A file of a web server.
    Web,
    /// A directory server.
    Directory,
    /// A tenant of Microsoft Entra ID.
    Tenant,
    /// A folder into which files are dropped.
    Inbox,
}

impl SourceFamily {
    /// That of a job.
    fn of(job: &Job) -> Self {
        if job.inbox.is_some() {
            return Self::Inbox;
        }
        Self::of_source(&job.source)
    }

    fn of_source(source: &Source) -> Self {
        match source {
            Source::Csv(options) if options.path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("xlsx")) => {
                Self::Workbook
            }
            Source::Csv(_) => Self::File,
            Source::Web(_) => Self::Web,
            Source::Ldap(_) => Self::Directory,
            Source::Entra(_) => Self::Tenant,
            Source::Cached { origin, .. } => Self::of_source(origin),
        }
    }
}

/// A page, or pages, that can't be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unserved {
    /// Since when.
    pub since: Timestamp,
    /// Why, with the address.
    pub reason: String,
}

/// A channel of notification that can't be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreachableChannel {
    /// `webhook`, `mail` or `heartbeat`.
    pub channel: String,
    /// Since when.
    pub since: Timestamp,
    /// Why.
    pub reason: String,
    /// How many notices wait for it.
    pub waiting: usize,
}

/// How much of the rate limit is used, and how long what is queued will take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Requests that count in the last 60 seconds.
    pub used: u32,
    /// Requests allowed in any 60 seconds.
    pub limit: u32,
    /// When the service wants to be asked again.
    pub blocked_until: Option<Timestamp>,
    /// When all that is queued would be sent at the earliest; `None` where nothing is.
    pub finish: Option<Timestamp>,
}

/// How one job is.
#[derive(Clone, Debug)]
pub struct JobView {
    /// Its name.
    pub name: JobName,
    /// What it manages.
    pub target: Target,
    /// The time zone in which its times are shown.
    pub time_zone: TimeZone,
    /// What it reads.
    pub source: SourceFamily,
    /// Its last run.
    pub last: Option<LastRun>,
    /// Its newest runs, in numbers.
    pub recent: RecentRuns,
    /// Why that did not end as done, or the job stands worse than that, one by one; as stored, so with keys.
    pub reasons: Vec<Reason>,
    /// The last file that was dropped, where nothing of it was used.
    pub unused_file: Option<String>,
    /// The rows that it could not use.
    pub rejected: RejectedRows,
    /// The values that it could not use, of records that count all the same.
    pub bad_values: RejectedRows,
    /// The known people who are missing from its source.
    pub missing: Option<Missing>,
    /// How many records it knows.
    pub known: u64,
    /// How many changes wait for a person, or for someone to leave the site.
    pub held: usize,
    /// How many of those wait for a person, and not for a condition that each run looks at.
    pub undecided: usize,
    /// The number of that set.
    pub held_set: u64,
    /// Why they wait, without keys, and how many each.
    pub held_by: Vec<(String, usize)>,
    /// Leavers who wait until they are off site.
    pub on_site: Vec<OnSite>,
    /// Changes on their way.
    pub queued: usize,
    /// Changes that the service refused for good, each identified by a digest of key and answer.
    pub parked: Vec<u64>,
    /// The leaver who waits longest for the end of the grace: missing since then.
    pub oldest_leaver: Option<Timestamp>,
    /// When it runs next; `None` without a schedule.
    pub next: Option<Timestamp>,
    /// Why it is overdue.
    pub overdue: Option<Reason>,
    /// The files that wait in the inbox, or why it can't be looked at; `None` where the source is no inbox.
    pub inbox: Option<Result<Vec<String>, String>>,
    /// The pause that stops it.
    pub paused: Option<Pause>,
    /// Its run, where one is under way.
    pub running: Option<Running>,
    /// Whether its last run could not write something for want of room.
    ran_full: bool,
    /// How many requests its queue takes.
    requests: u64,
}

/// A run that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// When it began.
    pub since: Timestamp,
    /// What it does, in a few words; empty before it began to read.
    pub stage: String,
    /// How many changes have an outcome, of how many; none before it sends.
    pub sent: Option<(usize, usize)>,
}

/// What is known of a job by who runs it, and not by the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveJobState {
    /// When it is due, or was, where it is late; `None` without a schedule.
    pub next: Option<Timestamp>,
    /// Since when it could run and does not: from a little later on it is overdue. `None` where it is not due.
    pub late_from: Option<Timestamp>,
    /// Whether nothing runs, since this machine's clock can't be right.
    pub is_clock_wrong: bool,
    /// Its run, where one is under way.
    pub running: Option<Running>,
}

/// What is so at the moment of a snapshot, whatever is remembered.
#[derive(Clone, Debug)]
pub struct Around {
    /// The rate limit.
    pub budget: BudgetState,
    /// The moment.
    pub at: Timestamp,
    /// Whether the disk of the state is full.
    pub is_full: bool,
    /// What is known of each job by who runs it, in the order of the configuration.
    pub seen: Vec<LiveJobState>,
}

impl Snapshot {
    /// Gathers it from the store, and from what `see` knows of a job besides. Only reads.
    ///
    /// # Errors
    ///
    /// Why the state can't be read.
    pub fn gather(
        store: &Store,
        config: &Config,
        budget: BudgetState,
        at: Timestamp,
        see: &dyn Fn(&Job) -> Result<LiveJobState, store::Error>,
    ) -> Result<Self, store::Error> {
        let remembered = Remembered::read(store, config)?;
        let seen = config.jobs.iter().map(see).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of(remembered, config, Around { budget, at, is_full: store.is_full(), seen }))
    }

    /// Makes it of what is remembered of the jobs of this configuration, and of what is so at the moment.
    pub fn of(remembered: Remembered, config: &Config, around: Around) -> Self {
        let Around { budget, at, is_full, seen } = around;
        let pauses = reconcile::pauses(&config.state.home).unwrap_or_default();
        let jobs = config.jobs.iter().zip(remembered.jobs).zip(seen);
        let jobs: Vec<JobView> = jobs
            .map(|((job, remembered), seen)| {
                let paused = pauses.iter().find(|pause| pause.scope.stops(&job.name)).cloned();
                JobView { paused, ..JobView::of(remembered, job, seen, at) }
            })
            .collect();
        let requests = jobs.iter().map(|job| job.requests).sum();
        let is_full = is_full || jobs.iter().any(|job| job.ran_full);
        let budget = Budget::of(budget, requests, 1 + config.api.further.len(), at);
        let process = Process {
            host: host_name(),
            instance: Instance::of(&config.source_path).map(|instance| instance.to_string()),
            started: None,
        };
        Self {
            at,
            jobs,
            unconfigured: remembered.unconfigured,
            budget,
            is_full,
            unheard: Vec::new(),
            refused: None,
            unserved: None,
            no_decisions: None,
            process,
        }
    }
}

impl Budget {
    /// What `requests` more would take by so many credentials.
    fn of(state: BudgetState, requests: u64, credentials: usize, now: Timestamp) -> Self {
        let BudgetState { used, limit, blocked_until } = state;
        let free = u64::from(limit.saturating_sub(used));
        let rest = i64::try_from(requests.saturating_sub(free)).unwrap_or(i64::MAX);
        let seconds = rest.saturating_mul(60) / (i64::from(limit.max(1)) * credentials as i64);
        let begin = blocked_until.unwrap_or(now).max(now);
        let finish = begin.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
        Self { used, limit, blocked_until, finish: (requests > 0).then_some(finish) }
    }
}

impl JobView {
    /// Why the last run did not end as done, without what is shown of the job anyway because it is true now.
    pub fn reasons_besides(&self) -> impl Iterator<Item = &Reason> {
        self.reasons.iter().filter(|reason| match reason.kind {
            ReasonKind::Paused => self.paused.is_none(),
            ReasonKind::Stale | ReasonKind::Late => self.overdue.as_ref().is_none_or(|now| now.kind != reason.kind),
            ReasonKind::Held
            | ReasonKind::Rejected
            | ReasonKind::BadValues
            | ReasonKind::Parked
            | ReasonKind::Incomplete
            | ReasonKind::Other => true,
        })
    }

    fn of(remembered: RememberedJob, job: &Job, seen: LiveJobState, now: Timestamp) -> Self {
        let LiveJobState { next, late_from, is_clock_wrong, running } = seen;
        let RememberedJob { state, recent, known, held, undecided, held_set, held_by, .. } = remembered;
        let RememberedJob { on_site, queued, requests, parked, oldest_leaver, .. } = remembered;
        let late = late_from.filter(|from| running.is_none() && now.duration_since(*from) > LATE);
        let late = late.map(|from| {
            ReasonKind::Late.because(match is_clock_wrong {
                true => format!("overdue: this machine's clock says {now:.0}, and nothing runs before it is set"),
                false => format!("overdue: it was to run at {:.0} and has not", next.unwrap_or(from)),
            })
        });
        let inbox = job.inbox.as_ref().map(|inbox| {
            let waiting = Folder::open_known(&inbox.dir, state.inbox_before(&inbox.dir))
                .and_then(|folder| folder.waiting(inbox, &|_| false));
            waiting.map_err(|error| chain(&error))
        });
        let unused_file = state.inbox.unused.clone().filter(|_| job.inbox.is_some());
        let reasons = state.reasons.iter().cloned().chain(lingering(&state, unused_file.as_deref())).collect();
        Self {
            known,
            held,
            undecided,
            held_set,
            held_by,
            on_site,
            queued,
            parked,
            oldest_leaver,
            overdue: late.or_else(|| reconcile::overdue(job, &state, now)),
            next,
            running,
            inbox,
            requests,
            source: SourceFamily::of(job),
            last: state.last,
            recent,
            reasons,
            unused_file,
            ran_full: state.ran_full,
            rejected: state.rejected,
            bad_values: state.bad_values,
            missing: state.missing,
            ..Self::idle(job.name.clone(), job.mapping.target, job.time_zone.clone())
        }
    }

    /// A job that never ran and has nothing to do.
    pub fn idle(name: JobName, target: Target, time_zone: TimeZone) -> Self {
        Self {
            name,
            target,
            time_zone,
            source: SourceFamily::default(),
            last: None,
            recent: RecentRuns::default(),
            reasons: Vec::new(),
            unused_file: None,
            rejected: RejectedRows::default(),
            bad_values: RejectedRows::default(),
            missing: None,
            known: 0,
            held: 0,
            undecided: 0,
            held_set: 0,
            held_by: Vec::new(),
            on_site: Vec::new(),
            queued: 0,
            parked: Vec::new(),
            oldest_leaver: None,
            next: None,
            overdue: None,
            inbox: None,
            paused: None,
            running: None,
            ran_full: false,
            requests: 0,
        }
    }

    /// How its last run ended; `None` where it never ran.
    pub fn status(&self) -> Option<Status> {
        self.last.as_ref().map(|last| last.status)
    }

    /// How the job stands: as its last run ended. Where that one read nothing, a file of which nothing was used is a failure still, and
    /// rows that were not used leave a part open.
    pub fn standing(&self) -> Option<Status> {
        let lacks = self.rejected.count > 0;
        self.status().map(|status| match status {
            Status::Done | Status::Partial if self.unused_file.is_some() => Status::Failed,
            Status::Done if lacks => Status::Partial,
            status => status,
        })
    }

    /// A time as the job's people read it.
    pub fn local_time(&self, at: Timestamp) -> String {
        clock_time(at, &self.time_zone)
    }
}

/// Why a job stands worse than its last run ended: what no run that reads nothing mends.
fn lingering(state: &JobState, unused_file: Option<&str>) -> Option<Reason> {
    let status = state.last.as_ref()?.status;
    let lacks = usize::try_from(state.rejected.count).unwrap_or(usize::MAX);
    match unused_file {
        // The run that refused it says why.
        Some(_) if status == Status::Failed => None,
        Some(name) => Some(Reason::from(format!(
            "nothing of {name} was used: drop it once more, mended; its report in failed/ says what is wrong with it, and \
             where that is not kept, `rosterd history` does"
        ))),
        None if status == Status::Done && lacks > 0 => {
            Some(ReasonKind::Rejected.because(format!(
                "{} not used",
                counted(lacks, "row of the last file is", "rows of the last file are")
            )))
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_queued_is_sent_within_the_rate_limit() {
        let now: Timestamp = "2027-06-10T02:30:00Z".parse().unwrap();
        let later: Timestamp = "2027-06-10T02:31:00Z".parse().unwrap();
        for (used, requests, blocked_until, seconds) in [
            (0, 0, None, None),
            (0, 50, None, Some(0)),
            (100, 50, None, Some(30)),
            (0, 100_100, None, Some(60_000)),
            (100, 50, Some(later), Some(90)),
        ] {
            let budget = Budget::of(BudgetState { used, limit: 100, blocked_until }, requests, 1, now);
            let finish = budget.finish.map(|finish| finish.duration_since(now).as_secs());
            assert_eq!(finish, seconds, "{used} used, {requests} queued");
        }
    }
}
