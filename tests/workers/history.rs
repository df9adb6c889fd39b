//! Random histories of two or three workers: kills, pauses, cuts, ends in good order, and files that change all the while. In each
//! eighth one the server is lost and a standby takes over, without what was committed last.
//!
//! What happens is drawn from a seed; when exactly it strikes is not. So a history is judged by what was recorded, whatever
//! became of it: see `verdict`.

use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use rosterd::sandbox::Options;
use rustix::process::Signal;

use crate::pauses::side_by_side;
use crate::proxy::Proxy;
use crate::support::config::Config;
use crate::support::daemon::eventually;
use crate::support::postgres::{Database, Server};
use crate::support::{HEADER, World, people, postgres, row};
use crate::verdict::{self, Case, Verdict};
use crate::worker::{self, Worker};

/// By how much the terms are divided here.
pub(crate) const DIVISOR: u32 = 15;
/// How many requests are allowed in a minute that is divided as well.
pub(crate) const REQUESTS: usize = 60;
/// After so many histories it is said how it stands.
const TOLD_EVERY: usize = 50;
/// In each of so many histories a standby takes over.
const FAILS_OVER: u64 = 8;
/// How many histories are played unless the environment names another number.
const USUAL: usize = 4;

/// How long a service manager waits before it starts a worker again.
const RESTART_AFTER: Duration = Duration::from_millis(300);

/// Numbers that follow from a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below this one.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// What happens to a worker, or to what it reads.
#[derive(Clone, Debug)]
enum Event {
    Kill(usize),
    Start(usize),
    Term(usize),
    Stop(usize),
    Continue(usize),
    Cut(usize),
    Refuse(usize, bool),
    /// The standby gets nothing more.
    Sever,
    Promote,
    File(String),
}

/// A file of some of thirty people, each as a clerk or a baker.
fn file(random: &mut Random) -> String {
    let rows = (1..=30).filter_map(|number| match random.below(10) {
        0 => None,
        1 | 2 => Some(row(number, "Baker")),
        _ => Some(row(number, "Clerk")),
    });
    HEADER.to_owned() + &rows.collect::<String>()
}

/// What happens, by when.
fn plan(random: &mut Random, workers: usize, fails_over: bool) -> Vec<(u64, Event)> {
    let mut events = Vec::new();
    let mut at = 0;
    if fails_over {
        let severed = random.below(4_000);
        events.extend([(severed, Event::Sever), (severed + random.below(2_000), Event::Promote)]);
    }
    for _ in 0..3 + random.below(3) {
        at += 300 + random.below(1_500);
        let who = random.below(workers as u64) as usize;
        let back = at + 100 + random.below(4_000);
        if random.below(3) > 0 {
            events.push((at.saturating_sub(random.below(400)), Event::File(file(random))));
        }
        match random.below(6) {
            0 => events.extend([(at, Event::Kill(who)), (back, Event::Start(who))]),
            1 | 2 => events.extend([(at, Event::Stop(who)), (back, Event::Continue(who))]),
            3 => events.push((at, Event::Cut(who))),
            4 => events.extend([(at, Event::Refuse(who, true)), (back, Event::Refuse(who, false))]),
            _ => events.extend([(at, Event::Term(who)), (back, Event::Start(who))]),
        }
    }
    events.sort_by_key(|(at, _)| *at);
    events
}

/// The workers of a history, each behind a proxy of its own.
struct Workers<'a> {
    world: &'a World,
    servers: &'a Servers,
    proxies: Vec<Proxy>,
    running: Vec<Option<Worker>>,
    /// From when on its service manager starts it again; never where it is not to run.
    wanted: Vec<Option<Instant>>,
}

/// Where the state of a history lies.
struct Servers {
    primary: &'static Server,
    /// Takes over, where it is to.
    standby: Option<&'static Server>,
    name: String,
}

impl Servers {
    /// Those of a history; a server that is to be lost is its own.
    fn of(world: &World, fails_over: bool) -> Self {
        if fails_over {
            let primary = Server::own();
            Self { primary, standby: None, name: primary.database().name }
        } else {
            Self { primary: Server::shared(), standby: None, name: world.database().name.clone() }
        }
    }

    fn first(&self) -> Database {
        Database { server: self.primary, name: self.name.clone() }
    }

    fn last(&self) -> Database {
        Database { server: self.standby.unwrap_or(self.primary), name: self.name.clone() }
    }

    /// A standby that has everything so far.
    fn begin_standby(&mut self) {
        let standby: &'static Server = Box::leak(Box::new(self.primary.standby()));
        let commits = "select commits from rosterd.account";
        let expected = self.primary.sql(&self.name, commits);
        eventually("the standby has the state", || standby.sql(&self.name, commits) == expected);
        self.standby = Some(standby);
    }

    fn sever(&self) {
        self.standby.iter().for_each(|standby| standby.sever());
    }

    fn promote(&self) {
        self.primary.stop_at_once();
        self.standby.iter().for_each(|standby| standby.promote());
    }

    /// Ends those that are the history's own.
    fn end(&self) {
        if let Some(standby) = self.standby {
            standby.stop_at_once();
            for server in [self.primary, standby] {
                fs::remove_dir_all(server.path("data")).unwrap();
            }
        }
    }
}

impl<'a> Workers<'a> {
    fn start(world: &'a World, servers: &'a Servers, count: usize) -> Self {
        let server = servers.primary.socket();
        let proxies: Vec<Proxy> =
            (0..count).map(|who| Proxy::start(world.dir().join(format!("proxy{who}")), &server, None)).collect();
        let mut workers = Self {
            world,
            servers,
            proxies,
            running: (0..count).map(|_| None).collect(),
            wanted: vec![Some(Instant::now()); count],
        };
        workers.tend();
        workers
    }

    fn begin(&self, who: usize) -> Worker {
        let node = format!("node-{who}");
        let mut command = worker::command(self.world, &node, &["run"]);
        command
            .env("ROSTERD_TERMS_DIVIDED_BY", DIVISOR.to_string())
            .env("ROSTERD__STATE__URL", self.proxies[who].url(&self.servers.name));
        Worker::start(self.world, &node, command)
    }

    /// Starts those again that ended, as a service manager does.
    fn tend(&mut self) {
        for who in 0..self.running.len() {
            if self.running[who].as_mut().is_some_and(Worker::has_ended) {
                self.running[who] = None;
                self.wanted[who] = self.wanted[who].map(|_| Instant::now() + RESTART_AFTER);
            }
            if self.running[who].is_none() && self.wanted[who].is_some_and(|from| from <= Instant::now()) {
                self.running[who] = Some(self.begin(who));
            }
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Kill(who) => {
                self.wanted[who] = None;
                self.running[who] = None;
            }
            Event::Start(who) => self.wanted[who] = Some(Instant::now()),
            Event::Term(who) => {
                self.wanted[who] = None;
                self.signal(who, Signal::TERM);
            }
            Event::Stop(who) => self.signal(who, Signal::STOP),
            Event::Continue(who) => self.signal(who, Signal::CONT),
            Event::Cut(who) => self.proxies[who].cut_all(),
            Event::Refuse(who, refuses) => {
                self.proxies[who].refuse(refuses);
                if refuses {
                    self.proxies[who].cut_all();
                }
            }
            Event::Sever => self.servers.sever(),
            Event::Promote => {
                self.servers.promote();
                let socket = self.servers.standby.expect("one was begun").socket();
                self.proxies.iter().for_each(|proxy| proxy.leads_to(&socket));
            }
            Event::File(text) => replace(self.world, &text),
        }
    }

    fn signal(&self, who: usize, signal: Signal) {
        self.running[who].iter().for_each(|worker| worker.signal(signal));
    }

    /// Plays the events at their times, then lets all of them end in good order.
    fn play(mut self, events: Vec<(u64, Event)>) {
        let begun = Instant::now();
        for (at, event) in events {
            while begun.elapsed() < Duration::from_millis(at) {
                thread::sleep(Duration::from_millis(20));
                self.tend();
            }
            self.happens(event);
        }
        for who in 0..self.running.len() {
            self.proxies[who].refuse(false);
            self.signal(who, Signal::CONT);
            self.signal(who, Signal::TERM);
        }
        self.running.into_iter().flatten().for_each(|worker| {
            worker.wait();
        });
    }
}

/// Puts a file in the place of the one before, in one step.
fn replace(world: &World, text: &str) {
    let fresh = world.put("staff.new", text.as_bytes());
    fs::rename(fresh, world.dir().join("staff.csv")).unwrap();
}

fn config() -> Config {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_updates = \"off\"\nmax_leavers = \"off\"\n";
    let config = Config { api: format!("requests_per_minute = {REQUESTS}\n"), ..Config::rest(rest) };
    config.job("schedule = \"* * * * * *\"\n").in_database()
}

/// Plays one history and judges it.
fn history(seed: u64) -> Verdict {
    let mut random = Random::new(seed);
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, config());
    world.csv(people(1..11));
    let fails_over = seed % FAILS_OVER == FAILS_OVER / 2 - 1;
    let mut servers = Servers::of(&world, fails_over);
    let sync = |node, database: &Database| {
        let there = |command: &mut Command| {
            command.env("ROSTERD__STATE__URL", database.url());
        };
        worker::sync_approving(&world, node, there, fails_over);
    };
    sync("setup", &servers.first());
    verdict::watch(&servers.first());
    if fails_over {
        servers.begin_standby();
    }
    let workers = 2 + random.below(2) as usize;
    let events = plan(&mut random, workers, fails_over);
    let shown = format!("seed {seed}: {events:?}");
    Workers::start(&world, &servers, workers).play(events);
    let source = fs::read_to_string(world.dir().join("staff.csv")).unwrap();
    sync("last", &servers.last());
    let writes = world.service().writes();
    sync("last", &servers.last());
    assert_eq!(world.service().writes(), writes, "{shown}: a run on unchanged input writes");
    let verdict = Case { world: &world, database: servers.last(), source: &source, fails_over }.judge();
    servers.end();
    verdict.unwrap_or_else(|fault| {
        let logs = ["node-0", "node-1", "node-2", "last"].map(|node| format!("{node}:\n{}", worker::log(&world, node)));
        panic!("{shown}: {fault}\n{}", logs.join("\n"))
    })
}

#[test]
fn law_3_no_history_of_kills_pauses_and_cuts_doubles_loses_or_overspends() {
    if !postgres::is_there() {
        return;
    }
    let number = |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().expect("a number"));
    let first = number("ROSTERD_SEED", 0) as u64;
    let seeds: Vec<u64> = (first..first + number("ROSTERD_WORKERS_HISTORIES", USUAL) as u64).collect();
    let total = std::sync::Mutex::new(Verdict::default());
    let started = Instant::now();
    let (failed, _) = side_by_side(&seeds, |seed| {
        let begun = Instant::now();
        let verdict = history(*seed);
        let verdict = Verdict { longest: (begun.elapsed().as_secs(), *seed), ..verdict };
        let mut total = total.lock().unwrap();
        total.add(verdict);
        if total.histories.is_multiple_of(TOLD_EVERY) {
            println!("{total:?}, {} s", started.elapsed().as_secs());
        }
        true
    });
    let total = total.into_inner().unwrap();
    println!("{} histories from seed {first}, {} s: {total:?}", seeds.len(), started.elapsed().as_secs());
    assert!(failed.is_empty(), "these seeds: {failed:?}");
    assert!(total.tenures > seeds.len(), "nothing was taken over: {total:?}");
}
