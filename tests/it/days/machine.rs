//! A machine whose time the test moves, with the daemon's parts on it, the service, a directory, and the receivers of
//! notices.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use rosterd::api::Client;
use rosterd::clock::Clock;
use rosterd::config::Config;
use rosterd::daemon::{ClockReading, Ended, SLEEP_MAX, Scheduler, Timed, remember, served};
use rosterd::notify::Notifier;
use rosterd::push::Outcome;
use rosterd::queue::Change;
use rosterd::reconcile::{self, Context, KeyFilter, Poll, Report, RunObserver, Stage, Status};
use rosterd::record::JobName;
use rosterd::sandbox::Options;
use rosterd::status::{Counters, LiveJobState, Running, Snapshot};
use rosterd::store::Store;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::oracle::Blow;
use crate::monitoring::notices::Listener;
use crate::support::config::UNLIMITED;
use crate::support::daemon::eventually;
use crate::support::inside::open_store;
use crate::support::site::memory;
use crate::support::{self, World, shown};

/// How long a run takes, and how often an inbox and the notices are looked at.
const RUN: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_secs(60);
const TELL_EVERY: Duration = Duration::from_secs(30 * 60);
/// How long an inbox is left alone whose file could not be taken.
const REST: Duration = Duration::from_secs(15 * 60);

/// A machine, and all that it has to do with.
pub(super) struct Machine {
    pub(super) world: World,
    web: Listener,
    /// Where connections are refused at once, there is no wait in real time for the next attempt.
    waitless: Runtime,
    options: Options,
    /// What the service holds.
    _data: TempDir,
    /// The machine's clock, which may be set; and the service's, which is right.
    clock: Clock,
    right: Clock,
    began: Timestamp,
    passed: Duration,
    on: Option<Process>,
    /// After so many outcomes of the next run of often the power fails.
    cut: Option<usize>,
    /// Each start of a run, each notice that arrived, and what befell the machine, by true time.
    pub(super) starts: Vec<(String, Timestamp)>,
    pub(super) told: Vec<(Timestamp, String, String)>,
    pub(super) blows: Vec<(Timestamp, Blow)>,
    pub(super) reports: Vec<(Timestamp, Report)>,
    created: usize,
}

/// What ends with the daemon.
struct Process {
    config: Config,
    store: Store,
    client: Client,
    scheduler: Scheduler,
    teller: Notifier,
    inboxes: BTreeMap<JobName, (Poll, Duration)>,
    running: Option<(JobName, Timestamp, Duration)>,
    looked: Duration,
    told: Duration,
}

/// Cuts a run off, after so many outcomes of changes; never without a number.
struct Scissors(Option<AtomicUsize>);

impl RunObserver for Scissors {
    fn stage(&self, _: &JobName, _: Stage) {}

    fn outcome(&self, _: &Change, _: &Outcome) {
        if self.0.as_ref().is_some_and(|left| left.fetch_sub(1, Ordering::SeqCst) == 1) {
            // Nothing of the run goes on from here.
            std::panic::resume_unwind(Box::new("the power failed"));
        }
    }

    fn interrupted(&self) -> bool {
        false
    }
}

/// An address of this machine that no other process of the tests uses: a port of it stays free while nothing listens there.
fn own_address() -> Ipv4Addr {
    let [_, b, c, d] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 64 | b, c, d)
}

impl Machine {
    /// A machine that is off, at this time, with these jobs.
    pub(super) fn new(began: Timestamp, jobs: support::Config) -> Self {
        let (clock, right) = (Clock::fixed(began), Clock::fixed(began));
        let data = memory();
        let options = Options {
            clock: shown(&right),
            data: Some(data.path().to_owned()),
            // A person who is created twice is there twice.
            accept_duplicates: true,
            listen: (own_address(), 0).into(),
            ..Options::default()
        };
        let web = Listener::start(Listener::http);
        let config = support::Config {
            api: UNLIMITED.into(),
            rest: format!("{}[notify]\nwebhook = \"http://{}/hook\"\n", jobs.rest, web.address),
            ..jobs
        };
        let world = World::within(memory(), options.clone(), config);
        let listen = world.service().auth_url()["http://".len()..].parse().unwrap();
        let options = Options { listen, rate: 0, ..options };
        let waitless = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        Self {
            world,
            web,
            waitless,
            options,
            _data: data,
            clock,
            right,
            began,
            passed: Duration::ZERO,
            on: None,
            cut: None,
            starts: Vec::new(),
            told: Vec::new(),
            blows: Vec::new(),
            reports: Vec::new(),
            created: 0,
        }
    }

    /// The true time.
    pub(super) fn now(&self) -> Timestamp {
        self.began + self.passed
    }

    /// Lives on until it is really so late.
    pub(super) fn until(&mut self, end: &str) {
        let end: Timestamp = end.parse().unwrap();
        self.turn();
        while self.now() < end {
            let left = Duration::try_from(end.duration_since(self.now())).unwrap();
            let at = self.at();
            let step = match &self.on {
                None => left,
                Some(process) => {
                    let sleep = process.scheduler.sleep(at);
                    let sleep = if sleep == SLEEP_MAX { LOOK_EVERY } else { sleep };
                    let runs = process.running.as_ref().map(|(_, _, over)| over.saturating_sub(self.passed));
                    sleep.min(runs.unwrap_or(LOOK_EVERY)).min(left)
                }
            };
            self.pass(step.max(Duration::from_millis(1)));
            self.turn();
        }
    }

    /// Begins the daemon.
    pub(super) fn on(&mut self) {
        let mut config = self.world.checked();
        // Its minutes are real ones: across restarts it would count the requests of days as those of one minute.
        config.api.budget = rosterd::api::BudgetPlace::Own;
        let store = open_store(&config.state.home);
        let jobs = config.jobs.iter().map(|job| Timed::new(job, served(&store, &job.name).unwrap()));
        let scheduler = Scheduler::new(jobs.collect::<Vec<_>>());
        let teller = Notifier::open(&config.state.home, &config.notify, &Counters::default().into())
            .unwrap()
            .for_jobs(&config.jobs);
        let client = Client::new(&config.api, &self.clock).unwrap();
        let inboxes = config.jobs.iter().filter(|job| job.inbox.is_some());
        let inboxes = inboxes.map(|job| (job.name.clone(), (Poll::default(), self.passed))).collect();
        let (looked, told) = (self.passed, self.passed);
        self.blows.push((self.now(), Blow::On));
        self.on = Some(Process { config, store, client, scheduler, teller, inboxes, running: None, looked, told });
        self.turn();
        self.tell();
    }

    /// Ends the daemon, which waits for its run first.
    pub(super) fn off(&mut self) {
        while let Some((_, _, over)) = self.on.as_ref().expect("it is on").running {
            self.pass(over.saturating_sub(self.passed));
            self.turn();
        }
        self.on = None;
        self.blows.push((self.now(), Blow::Off(None)));
    }

    /// The power fails in the middle of the next run of often, after so many of its changes.
    pub(super) fn cut_next_run(&mut self, outcomes: usize) {
        self.cut = Some(outcomes);
    }

    /// Sets the machine's clock.
    pub(super) fn set_clock(&mut self, hours: i64) {
        self.clock.advance(SignedDuration::from_hours(hours));
        self.blows.push((self.now(), Blow::Set(hours)));
    }

    /// The service goes away, and nothing listens there meanwhile.
    pub(super) fn stop_service(&mut self) -> tokio::net::TcpSocket {
        self.created += self.world.count("staff.create");
        self.world.stop_service();
        let place = tokio::net::TcpSocket::new_v4().unwrap();
        place.set_reuseaddr(true).unwrap();
        // Another test's child may have the listener until it becomes another program.
        eventually("the address is free", || place.bind(self.options.listen).is_ok());
        place
    }

    /// The service is back with what it had.
    pub(super) fn start_service(&mut self, place: tokio::net::TcpSocket) {
        drop(place);
        self.world.start_service(self.options.clone());
    }

    /// Whether the webhook answers.
    pub(super) fn set_webhook(&self, answers: bool) {
        self.web.refuse(!answers);
    }

    /// How many people were made at the service, each time counted.
    pub(super) fn created(&self) -> usize {
        self.created + self.world.count("staff.create")
    }

    fn at(&self) -> ClockReading {
        ClockReading { wall: self.clock.now(), elapsed: self.passed }
    }

    fn pass(&mut self, time: Duration) {
        self.passed += time;
        let time = SignedDuration::try_from(time).unwrap();
        self.clock.advance(time);
        self.right.advance(time);
    }

    /// What the daemon's loop does when it wakes: takes note of a run that is over, looks at inboxes, starts what is due.
    fn turn(&mut self) {
        let (at, now) = (self.at(), self.now());
        let Some(process) = &mut self.on else { return };
        if let Some((job, _, _)) = process.running.take_if(|(_, _, over)| *over <= self.passed) {
            if let Some(at) = process.scheduler.ended(&job, Ended::Served, at) {
                remember(&process.store, &job, at).unwrap();
            }
            self.tell();
        }
        let Some(process) = &mut self.on else { return };
        if self.passed >= process.looked + LOOK_EVERY {
            process.looked = self.passed;
            for (name, (poll, rest)) in &mut process.inboxes {
                let job = process.config.jobs.iter().find(|job| job.name == *name).unwrap();
                let is_ready = poll.front(job, &process.config.state.home, &self.clock).unwrap().is_some();
                let runs = process.running.as_ref().is_some_and(|(running, _, _)| running == name);
                if is_ready && !runs && self.passed >= *rest {
                    process.scheduler.ask(name);
                }
            }
        }
        let due = process.scheduler.due(at);
        assert!(due.len() + usize::from(process.running.is_some()) <= 1, "{due:?} beside {:?}", process.running);
        for job in due {
            self.starts.push((job.to_string(), now));
            self.run(&job);
        }
        if self.on.as_ref().is_some_and(|process| self.passed >= process.told + TELL_EVERY) {
            self.tell();
        }
    }

    /// One run of a job, from end to end unless the power fails.
    fn run(&mut self, name: &JobName) {
        let is_there = self.world.is_served();
        let process = self.on.as_mut().expect("it is on");
        let job = process.config.jobs.iter().find(|job| job.name == *name).unwrap();
        let client = match is_there {
            true => process.client.for_run(),
            // Its connections belong to the other runtime.
            false => Client::new(&process.config.api, &self.clock).unwrap(),
        };
        // That of another job may come first.
        let is_cut = name.as_str() == "often";
        let watch = Scissors(self.cut.take_if(|_| is_cut).map(AtomicUsize::new));
        let context = Context {
            config: &process.config,
            client: &client,
            store: &process.store,
            clock: &self.clock,
            watch: &watch,
        };
        let (jobs, narrow) = ([job], KeyFilter::default());
        let runtime = if is_there { self.world.runtime() } else { &self.waitless };
        let work = AssertUnwindSafe(reconcile::sync(&context, &jobs, &narrow)).catch_unwind();
        let Ok(reports) = runtime.block_on(work) else {
            assert!(watch.0.is_some(), "{name}: the run broke off");
            self.on = None;
            self.blows.push((self.began + self.passed, Blow::Off(Some(name.to_string()))));
            return;
        };
        let reports = reports.unwrap();
        assert!(watch.0.is_none(), "{name}: the run that was to be cut off ended: {reports:?}");
        if let Some((_, rest)) = process.inboxes.get_mut(name) {
            let stuck = reports.iter().any(|report| matches!(report.status, Status::Held | Status::Failed));
            *rest = self.passed + if stuck { REST } else { Duration::ZERO };
        }
        let at = self.began + self.passed;
        self.reports.extend(reports.into_iter().map(|report| (at, report)));
        process.running = Some((name.clone(), self.clock.now(), self.passed + RUN));
    }

    /// What the daemon does beside its loop: looks how things are, and tells what is new.
    fn tell(&mut self) {
        let now = self.now();
        let Some(process) = &mut self.on else { return };
        process.told = self.passed;
        let see = |job: &rosterd::config::Job| {
            let running = process.running.as_ref().filter(|(running, _, _)| *running == job.name);
            Ok(LiveJobState {
                next: process.scheduler.next(&job.name),
                late_from: process.scheduler.waits_since(&job.name),
                is_clock_wrong: false,
                running: running.map(|(_, since, _)| Running { since: *since, stage: String::new(), sent: None }),
            })
        };
        let wall = self.clock.now();
        let snapshot = Snapshot::gather(&process.store, &process.config, process.client.budget(), wall, &see).unwrap();
        self.world.runtime().block_on(async {
            process.teller.look(&snapshot).await;
            process.teller.deliver(wall).await;
        });
        for heard in self.web.heard() {
            let document: Value = serde_json::from_str(heard.split_once('\n').unwrap().1).unwrap();
            let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
            self.told.push((now, text("job"), text("event")));
        }
    }
}

/// Who should be at the service, and where each job's source has them.
pub(super) type People = BTreeMap<usize, String>;

/// A file of these people.
pub(super) fn file(people: &People) -> String {
    let rows = people.iter().map(|(number, title)| support::row(*number, title));
    support::HEADER.to_owned() + &rows.collect::<String>()
}

/// What turns one directory into another.
pub(super) fn difference(before: &People, after: &People) -> String {
    use crate::support::slapd::{PEOPLE, person};
    let mut ldif = String::new();
    for (number, title) in after {
        let dn = format!("dn: uid=u{number:06},{PEOPLE}\n");
        match before.get(number) {
            None => {
                let entry = person(*number, "").replace("title: Clerk", &format!("title: {title}"));
                ldif += &entry.replacen("objectClass", "changetype: add\nobjectClass", 1);
            }
            Some(was) if was != title => {
                ldif += &format!("{dn}changetype: modify\nreplace: title\ntitle: {title}\n\n");
            }
            Some(_) => {}
        }
    }
    for number in before.keys().filter(|number| !after.contains_key(number)) {
        ldif += &format!("dn: uid=u{number:06},{PEOPLE}\nchangetype: delete\n\n");
    }
    ldif
}
