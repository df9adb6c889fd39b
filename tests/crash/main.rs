//! Every point at which the process can end: all that is durable, and all that is sent.
//!
//! A scenario is a service, a file and a few commands. Each command is ended at its first point, at its second, and so on
//! until it comes to its end; after each, the same command and those after it are run again, and everything must stand as
//! it does where nothing ended. Every third time the resumed command is ended too (faults 1 to 5, and 7).
//!
//! With `ROSTERD_TEST_STORE=postgres` the state lies in a database. The next process is then a worker that takes over from one
//! that did not end in good order; only its waits are left out, for the test knows that all has arrived.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

/// The program ends, or stops, at points that a test names.
const ENDS_AT_POINTS: bool = true;

#[path = "../it/support/mod.rs"]
#[expect(dead_code, reason = "the other tests use more of it")]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rosterd::sandbox::Options;
use serde_json::Value;

use support::config::UNLIMITED;
use support::{Config, HEADER, World, people, row};

/// What the program goes through.
struct Scenario {
    name: &'static str,
    /// Lines of the job.
    job: &'static str,
    /// Lays down who is there, and runs what comes before.
    before: fn(&World),
    commands: &'static [&'static [&'static str]],
}

const SYNC: &[&str] = &["sync", "--json"];
const LEAVERS: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_updates = \"off\"\n";

static SCENARIOS: &[Scenario] = &[
    Scenario { name: "first run: creates, matches, updates", job: "", before: first_run, commands: &[SYNC] },
    Scenario { name: "first run over many who are there already", job: "", before: many, commands: &[SYNC] },
    Scenario { name: "joiners, movers and leavers", job: "", before: all_kinds, commands: &[SYNC] },
    Scenario {
        name: "approvals and rejections",
        job: "writes = \"approve\"\n",
        before: held,
        commands: &[&["approve", "staff", "P00001", "P00007"], &["reject", "staff", "P00002"], SYNC],
    },
    Scenario {
        name: "parked changes",
        job: "",
        before: parked,
        commands: &[&["queue", "retry", "staff", "P00002"], &["queue", "drop", "staff", "P00004"], SYNC],
    },
    Scenario { name: "rebuild", job: "", before: all_kinds, commands: &[&["rebuild"], SYNC] },
    Scenario { name: "a plan file is applied", job: "", before: planned, commands: &[&["apply", "plan.json"], SYNC] },
    Scenario { name: "files dropped into an inbox", job: "", before: dropped, commands: &[SYNC] },
    Scenario { name: "contractors, organizations, memberships", job: "", before: contractors, commands: &[SYNC, SYNC] },
    Scenario { name: "pause and resume", job: "", before: all_kinds, commands: &[&["pause"], SYNC, &["resume"], SYNC] },
];

fn first_run(world: &World) {
    world.person(1, "Clerk");
    world.person(2, "Baker");
    world.csv(people(1..7));
}

/// More than are stored one by one: of the service, and of what is remembered.
fn many(world: &World) {
    for number in 1..40 {
        world.person(number, "Clerk");
    }
    world.csv(people(1..41).replacen("Clerk", "Baker", 1));
}

fn all_kinds(world: &World) {
    world.csv(people(1..8));
    world.sync().expect(0);
    world.csv(
        HEADER.to_owned() + &row(1, "Clerk") + &(2..6).map(|n| row(n, "Baker")).collect::<String>() + &row(9, "New"),
    );
}

fn planned(world: &World) {
    all_kinds(world);
    world.run(&["plan", "--out", "plan.json"]).expect(0);
}

fn dropped(world: &World) {
    let inbox = world.dir().join("inbox");
    fs::create_dir(&inbox).unwrap();
    world.configure(Config { path: "inbox".into(), ..Config::rest(LEAVERS) });
    fs::write(inbox.join("a.csv"), people(1..5)).unwrap();
    fs::write(inbox.join("b.csv"), people(2..6).replacen("Clerk", "Baker", 1)).unwrap();
    fs::write(inbox.join("c.xls"), "PK").unwrap();
}

/// One person at the service is matched, one changes the organization, one leaves one of two, one leaves altogether.
fn contractors(world: &World) {
    world.configure(Config {
        api: UNLIMITED.into(),
        target: "contractor".into(),
        job: "key = \"{{ no }}\"\n".into(),
        map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\n\"org.name\" = \"{{ company }}\"\n\
              \"membership.roles\" = \"{{ role }}\"\n"
            .into(),
        ..Config::rest(&format!("{LEAVERS}max_leavers = \"off\"\n"))
    });
    let row = |person: usize, company: &str, name: &str| {
        format!("C{person},{name} {person},worker{person}@example.com,{company},61\n")
    };
    let header = "No,Name,Email,Company,Role\n".to_owned();
    world.service().put("sp.member", serde_json::json!({"name": "Worker 1", "email": "worker1@example.com"}));
    world.csv(
        header.clone()
            + &row(2, "Acme", "Worker")
            + &row(3, "Acme", "Worker")
            + &row(3, "Bolt", "Worker")
            + &row(4, "Bolt", "Worker"),
    );
    world.sync().expect(0);
    world.csv(
        header
            + &row(1, "Crane", "Rigger")
            + &row(2, "Bolt", "Worker")
            + &row(3, "Acme", "Painter")
            + &row(5, "Crane", "Worker"),
    );
}

/// Who works where, by name, each as often as the service has it.
fn joined(world: &World) -> Vec<String> {
    let all = |what: &str| world.service().all(what);
    let (members, orgs) = (all("sp.member"), all("sp.org"));
    let name = |among: &[Value], id: &Value| {
        let found = among.iter().find(|one| one["id"] == *id);
        found.map_or("nobody".to_owned(), |one| one["name"].as_str().unwrap_or_default().to_owned())
    };
    let pair = |one: &Value| format!("{} at {}", name(&members, &one["member_id"]), name(&orgs, &one["org_id"]));
    let mut joined: Vec<String> = all("sp.membership").iter().map(pair).collect();
    joined.extend(members.iter().map(|member| format!("member {}", name(&members, &member["id"]))));
    joined.extend(orgs.iter().map(|org| format!("organization {}", name(&orgs, &org["id"]))));
    joined.sort();
    joined
}

/// What lies in the inbox, if there is one, the times in front of the names left out.
fn filed(world: &World) -> Vec<String> {
    let mut filed = Vec::new();
    for folder in ["", "processed", "failed"] {
        let Ok(entries) = fs::read_dir(world.dir().join("inbox").join(folder)) else { continue };
        for entry in entries.map(|entry| entry.unwrap()) {
            let name = entry.file_name().to_string_lossy().into_owned();
            filed.push(format!("{folder}/{}", name.split_once("Z_").map_or(name.as_str(), |(_, name)| name)));
        }
    }
    filed.sort();
    filed
}

fn held(world: &World) {
    world.csv(people(1..5));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    world.sync().expect(0);
    world.csv(people(1..4).replace("Clerk", "Baker") + &row(7, "New"));
    world.sync().expect(4);
}

fn parked(world: &World) {
    world.csv(HEADER.to_owned() + &row(2, "Clerk") + &row(4, "Clerk"));
    world.faults(&["staff.create status=422"]);
    world.sync().expect(3);
    world.faults(&[]);
    world.csv(people(1..6));
}

/// How everything stands in the end.
#[derive(Debug, PartialEq, Eq)]
struct End {
    /// Everybody at the service, in order.
    people: Vec<[String; 4]>,
    /// The exit code of the last run.
    code: Option<i32>,
    /// What is queued, by key and state.
    queue: Vec<(String, String)>,
    /// What the log tells: key and what was done, each once.
    told: BTreeSet<(String, String)>,
    /// What lies in an inbox.
    filed: Vec<String>,
    /// Contractors and where they work.
    joined: Vec<String>,
}

impl Scenario {
    fn world(&self) -> World {
        let config = Config::rest(LEAVERS).job(self.job);
        let world = World::with(Options { accept_duplicates: true, ..Options::default() }, config);
        world.settle_at_once();
        (self.before)(&world);
        world
    }

    /// Goes on with the commands from that one on, and syncs until nothing changes any more.
    fn finish(&self, world: &World, from: usize) -> End {
        for command in &self.commands[from..] {
            world.run(command);
        }
        let mut code = world.sync().code;
        for _ in 0..3 {
            let next = world.sync().code;
            if next == code {
                break;
            }
            code = next;
        }
        let writes = world.service().writes();
        world.sync();
        assert_eq!(world.service().writes(), writes, "{}: a run on unchanged input writes", self.name);
        end(world, code)
    }

    /// How many points a command passes where nothing ends.
    fn points(&self, at: usize) -> Vec<String> {
        let world = self.world();
        self.commands[..at].iter().for_each(|command| drop(world.run(command)));
        let log = world.dir().join("points");
        let Output { .. } = world.command(self.commands[at]).env("ROSTERD_CRASH_LOG", &log).output().unwrap();
        fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect()
    }

    /// Ends a command at a point, goes on, and compares. Tells whether the point was reached.
    fn check(&self, at: usize, point: usize, expected: &End) -> bool {
        let world = self.world();
        self.commands[..at].iter().for_each(|command| drop(world.run(command)));
        let log = world.dir().join("points");
        let mut command = world.command(self.commands[at]);
        let output =
            command.env("ROSTERD_CRASH_LOG", &log).env("ROSTERD_CRASH_AT", point.to_string()).output().unwrap();
        let ended = output.status.code().is_none();
        // Several requests are in flight, so that a few points more or less are passed from run to run.
        let passed = fs::read_to_string(log).unwrap_or_default().lines().count();
        assert!(ended || passed < point, "{}: it went on at point {point} of {passed}", self.name);
        if point.is_multiple_of(3) {
            crash(&world, self.commands[at], point * 7 % 40 + 1);
        }
        let found = self.finish(&world, at);
        assert_eq!(found, *expected, "{}: {:?} ended at point {point}", self.name, self.commands[at]);
        ended
    }
}

/// Runs a command that ends at that point; tells whether it did.
fn crash(world: &World, command: &[&str], point: usize) -> bool {
    let output = world.command(command).env("ROSTERD_CRASH_AT", point.to_string()).output().unwrap();
    output.status.code().is_none()
}

fn end(world: &World, code: Option<i32>) -> End {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let fields = ["employee_id", "name", "email", "title"];
    let mut people: Vec<[String; 4]> = world.staff().iter().map(|one| fields.map(|field| text(&one[field]))).collect();
    people.sort();
    let queued = world.run(&["queue", "list", "--json"]).expect(0).json();
    let changes = queued["changes"].as_array().unwrap().iter();
    let queue = changes.map(|change| (text(&change["key"]), text(&change["state"]))).collect();
    let mut told = BTreeSet::new();
    for line in world.audit().lines() {
        let line: Value = serde_json::from_str(line).expect("a line of the audit files is whole");
        let what = if line["what"] == "change" { "action" } else { "decision" };
        told.insert((text(&line["key"]), text(&line[what])));
    }
    End { people, code, queue, told, filed: filed(world), joined: joined(world) }
}

/// Each of so many points is taken; all of them unless the environment names another share.
fn share() -> usize {
    std::env::var("ROSTERD_CRASH_SHARE").map_or(1, |share| share.parse().expect("a number"))
}

/// Worlds side by side: most of the time they wait to look a second time.
const WORKERS: usize = 6;

#[test]
fn faults_1_2_3_5_and_7_nothing_is_lost_or_doubled_wherever_the_process_ends() {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut total = 0;
    let only = std::env::var("ROSTERD_CRASH_ONLY").unwrap_or_default();
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.name.contains(&only)) {
        let expected = scenario.finish(&scenario.world(), 0);
        let mut todo: Vec<(usize, usize)> = Vec::new();
        for at in 0..scenario.commands.len() {
            let points = scenario.points(at);
            todo.extend((1..=points.len()).map(|point| (at, point)));
            points.into_iter().for_each(|name| *names.entry(name).or_default() += 1);
        }
        todo.retain(|(at, point)| (at + point).is_multiple_of(share()));
        let (next, ended, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    while let Some((at, point)) = todo.get(next.fetch_add(1, Ordering::SeqCst)) {
                        match std::panic::catch_unwind(|| scenario.check(*at, *point, &expected)) {
                            Ok(reached) => drop(ended.fetch_add(usize::from(reached), Ordering::SeqCst)),
                            Err(_) => failed.lock().unwrap().push((*at, *point)),
                        }
                    }
                });
            }
        });
        let (ended, failed) = (ended.into_inner(), failed.into_inner().unwrap());
        assert!(failed.is_empty(), "{}: {failed:?} of {} points", scenario.name, todo.len());
        println!("{}: ended at {ended} points of {}", scenario.name, todo.len());
        total += ended;
    }
    println!("{total} points in all; by name, before any share was taken:");
    names.iter().for_each(|(name, count)| println!("{count:6}  {name}"));
}
