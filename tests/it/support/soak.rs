//! Workers that share accounts for a long time, while they are killed and the files change.
//!
//! Each account has a service of its own, in this process, and a file that is read again and again. All the time people join,
//! change and leave in the files. One worker after the other is killed or asked to end, and started again; the last one is left
//! alone, so that what grows is seen. In the end every service has what its file says, and no one twice.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rosterd::sandbox::{Options, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::postgres::{Database, Server};

/// How often files change, and how often it is looked what came of that.
const STEP: Duration = Duration::from_millis(500);
/// How long all may take to be in step in the end.
const PATIENCE: Duration = Duration::from_secs(600);

/// How large it is, and how long it goes on.
pub(crate) struct Soak {
    pub(crate) accounts: usize,
    pub(crate) people: usize,
    pub(crate) workers: usize,
    pub(crate) length: Duration,
    /// How often a worker is killed or asked to end.
    pub(crate) kill_every: Duration,
    /// How many minutes lie between two runs of an account; each second where it is none.
    pub(crate) run_every: usize,
    /// How many files change in each step.
    pub(crate) changes: usize,
    /// The report of how things are.
    pub(crate) report_every: Duration,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) kills: usize,
    pub(crate) ends: usize,
    /// How long until others had all accounts of a worker that was killed, or was asked to end.
    pub(crate) after_kills: Vec<Duration>,
    pub(crate) after_ends: Vec<Duration>,
    /// How long changes took from the file to the service.
    pub(crate) lags: Vec<Duration>,
    /// Memory in KiB, and open files, of the worker that is left alone, one for each report.
    pub(crate) alone: Vec<(u64, u64)>,
}

const CONFIG: &str = r#"[api]
base_url = "BASE_URL"
api_key_file = "../NAME/api_key"
requests_per_minute = 100000
[state]
url = "DATABASE"
[[job]]
name = "employees"
target = "staff"
schedule = "SCHEDULE"
key = "{{ employee_no }}"
match_on = ["employee_id"]
[job.source]
type = "csv"
path = "../NAME/employees.csv"
settle = "0s"
[job.map]
name = "{{ name }}"
email = "{{ email }}"
title = "{{ title }}"
employee_id = "{{ employee_no }}"
[job.leavers]
action = "delete"
grace = "0s"
[job.guard]
max_leavers = "off"
max_updates = "off"
"#;

/// Who is in a file, each with the number of changes so far; and the changes that the service does not have yet.
struct Account {
    name: String,
    service: Sandbox,
    people: BTreeMap<usize, usize>,
    next: usize,
    /// Who changed last, to what, and when.
    waits: Option<(usize, usize, Instant)>,
}

impl Account {
    fn change(&mut self, random: &mut Random) {
        match random.below(8) {
            0 => {
                self.people.insert(self.next, 0);
                self.next += 1;
            }
            1 if self.people.len() > 5 => _ = self.people.pop_first(),
            _ => {
                let at = random.below(self.people.len());
                let (number, changes) = self.people.iter_mut().nth(at).unwrap();
                *changes += 1;
                self.waits.get_or_insert((*number, *changes, Instant::now()));
            }
        }
    }

    fn file(&self) -> String {
        let mut text = "Employee No,Name,Email,Title\n".to_owned();
        for (number, changes) in &self.people {
            let name = &self.name;
            writeln!(text, "{name}-{number:05},Person {number},person{number}@{name}.example.com,Clerk {changes}")
                .unwrap();
        }
        text
    }

    /// What the service has, by number.
    fn served(&self) -> Vec<(String, String)> {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let all = self.service.all("staff");
        let mut people: Vec<(String, String)> =
            all.iter().map(|person| (text(&person["employee_id"]), text(&person["title"]))).collect();
        people.sort();
        people
    }

    fn expected(&self) -> Vec<(String, String)> {
        let of =
            |(number, changes): (&usize, &usize)| (format!("{}-{number:05}", self.name), format!("Clerk {changes}"));
        self.people.iter().map(of).collect()
    }

    /// How long the change took for which it waited; nothing while the service does not have it.
    fn took(&mut self) -> Option<Duration> {
        let (number, changes, since) = self.waits?;
        let key = format!("{}-{number:05}", self.name);
        let served = self.served().into_iter().find(|(person, _)| *person == key);
        let title = served.as_ref().and_then(|(_, title)| title.strip_prefix("Clerk ")?.parse::<usize>().ok());
        // Who left meanwhile has nothing any more.
        let is_gone = !self.people.contains_key(&number);
        if title.is_some_and(|title| title >= changes) || is_gone {
            self.waits = None;
        }
        title.filter(|title| *title >= changes).map(|_| since.elapsed())
    }
}

/// Numbers that are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % count.max(1) as u64).unwrap()
    }
}

/// What runs.
struct Site {
    dir: TempDir,
    database: Database,
    accounts: Vec<Account>,
    workers: Vec<Child>,
    /// Last, because services are in it.
    _runtime: Runtime,
}

impl Drop for Site {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

impl Soak {
    /// Does it, and says what was seen; `tell` hears how things are meanwhile.
    pub(crate) fn run(&self, mut tell: impl FnMut(String)) -> Seen {
        let mut site = self.lay_down();
        for number in 0..self.workers {
            let worker = site.start(number);
            site.workers.push(worker);
        }
        let begun = Instant::now();
        let all_are_held = |site: &Site| site.held_by_others(0) == self.accounts;
        site.wait("all accounts have a worker", all_are_held);
        site.wait("all are in step", Site::is_in_step);
        tell(format!("{} accounts in step after {:.1} s", self.accounts, begun.elapsed().as_secs_f64()));
        let (begun, mut seen, mut random) = (Instant::now(), Seen::default(), Random(0x9e37_79b9_7f4a_7c15));
        let (mut next_kill, mut next_report) = (self.kill_every, Duration::ZERO);
        let mut takeover: Option<(u32, Instant, Signal)> = None;
        let mut commits = (site.commits(), Instant::now());
        while begun.elapsed() < self.length {
            for _ in 0..self.changes {
                let at = random.below(site.accounts.len());
                site.accounts[at].change(&mut random);
                let Account { name, .. } = &site.accounts[at];
                put(&site.dir.path().join(name).join("employees.csv"), &site.accounts[at].file());
            }
            seen.lags.extend(site.accounts.iter_mut().filter_map(Account::took));
            if let Some((dead, since, signal)) = takeover
                && site.held_by_others(dead) == self.accounts
            {
                match signal {
                    Signal::KILL => seen.after_kills.push(since.elapsed()),
                    _ => seen.after_ends.push(since.elapsed()),
                }
                takeover = None;
            }
            if begun.elapsed() >= next_kill {
                next_kill += self.kill_every;
                let round = seen.kills + seen.ends;
                let (number, signal) = self.victim(round);
                let dead = site.strike(number, signal);
                takeover = Some((dead, Instant::now(), signal));
                *if signal == Signal::KILL { &mut seen.kills } else { &mut seen.ends } += 1;
                site.workers[number] = site.start(number);
            }
            if begun.elapsed() >= next_report {
                next_report += self.report_every;
                let alone = site.workers.last().map_or((0, 0), |worker| numbers(worker.id()));
                seen.alone.push(alone);
                let now = (site.commits(), Instant::now());
                let rate = (now.0 - commits.0) as f64 / now.1.duration_since(commits.1).as_secs_f64();
                commits = now;
                tell(format!("{:5.0} s: {rate:.1} commits/s; {}", begun.elapsed().as_secs_f64(), site.report()));
            }
            sleep(STEP);
        }
        tell("the files change no more".to_owned());
        site.wait("all are in step", Site::is_in_step);
        site.expect_no_one_wrong();
        tell(site.report());
        for number in 0..self.workers {
            kill_process(Pid::from_child(&site.workers[number]), Signal::TERM).unwrap();
        }
        for worker in &mut site.workers {
            assert!(worker.wait().unwrap().success(), "a worker ends in good order");
        }
        assert_eq!(site.database.sql("select count(*) from rosterd.account where holder is not null"), "0");
        seen
    }

    /// Who goes next, and how: all but the last one in turn, killed and asked to end in turn.
    fn victim(&self, round: usize) -> (usize, Signal) {
        let count = (self.workers - 1).max(1);
        let is_kill = (round + round / count).is_multiple_of(2);
        (round % count, if is_kill { Signal::KILL } else { Signal::TERM })
    }

    fn lay_down(&self) -> Site {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let database = Server::shared().database();
        fs::create_dir(dir.path().join("accounts")).unwrap();
        let account = |number: usize| {
            let service = runtime.block_on(Sandbox::start(Options { rate: 0, ..Options::default() })).unwrap();
            let name = format!("a{number:03}");
            let people = (0..self.people).map(|person| (person, 0)).collect();
            let account = Account { name, service, people, next: self.people, waits: None };
            self.configure(dir.path(), &account, (number, &database.url()));
            account
        };
        let accounts = (0..self.accounts).map(account).collect();
        Site { dir, database, accounts, workers: Vec::new(), _runtime: runtime }
    }

    fn configure(&self, dir: &Path, account: &Account, (number, database): (usize, &str)) {
        let Account { name, service, .. } = account;
        fs::create_dir(dir.join(name)).unwrap();
        put(&dir.join(name).join("api_key"), &service.options().api_key);
        put(&dir.join(name).join("employees.csv"), &account.file());
        let schedule = match self.run_every {
            0 => "* * * * * *".to_owned(),
            minutes => format!("{} {}/{minutes} * * * *", number % 60, (number / 60) % minutes),
        };
        let text =
            [("BASE_URL", service.url().as_str()), ("DATABASE", database), ("SCHEDULE", &schedule), ("NAME", name)]
                .iter()
                .fold(CONFIG.to_owned(), |text, (key, value)| text.replace(key, value));
        put(&dir.join(format!("accounts/{name}.toml")), &text);
    }
}

impl Site {
    fn start(&self, number: usize) -> Child {
        let log = File::options().append(true).create(true).open(self.log(number)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
        command.env_clear().envs(of_the_unit()).current_dir(self.dir.path()).stdin(Stdio::null()).stderr(log);
        command.env("ROSTERD__CONTROL__SOCKET", "").env("ROSTERD__STATUS__LISTEN", "");
        command.env("ROSTERD__STATE__SPILL_DIR", self.database.spill_dir().join(number.to_string()));
        command.args(["run", "--accounts", "accounts"]).spawn().unwrap()
    }

    fn log(&self, number: usize) -> PathBuf {
        self.dir.path().join(format!("worker-{number}.log"))
    }

    /// Kills a worker, or asks it to end; returns its process.
    fn strike(&mut self, number: usize, signal: Signal) -> u32 {
        let worker = &mut self.workers[number];
        kill_process(Pid::from_child(worker), signal).unwrap();
        let ended = worker.wait().unwrap();
        assert!(signal == Signal::KILL || ended.success(), "{ended}");
        worker.id()
    }

    /// How many accounts are held by workers other than that one.
    fn held_by_others(&self, process: u32) -> usize {
        let statement = format!(
            "select count(*) from rosterd.account where expires_at > clock_timestamp() and node not like 'process {process} on %'"
        );
        let is_there = self.database.sql("select to_regclass('rosterd.account') is not null") == "t";
        if is_there { self.database.sql(&statement).parse().unwrap() } else { 0 }
    }

    fn commits(&self) -> i64 {
        self.database.sql("select sum(commits) from rosterd.account").parse().unwrap()
    }

    fn wait(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            for number in 0..self.workers.len() {
                if let Some(ended) = self.workers[number].try_wait().unwrap() {
                    let log = std::fs::read_to_string(self.log(number)).unwrap_or_default();
                    panic!("{what}: worker {number} ended by itself ({ended}): {log}");
                }
            }
            assert!(begun.elapsed() < PATIENCE, "not in {PATIENCE:?}: {what}; {}", self.wrong());
            sleep(STEP);
        }
    }

    fn is_in_step(&self) -> bool {
        self.accounts.iter().all(|account| account.served() == account.expected())
    }

    /// The first account that is not in step.
    fn wrong(&self) -> String {
        let wrong = self.accounts.iter().find(|account| account.served() != account.expected());
        wrong.map_or(String::new(), |one| format!("{}: {:?} is not {:?}", one.name, one.served(), one.expected()))
    }

    fn expect_no_one_wrong(&self) {
        let wrong = self.wrong();
        assert!(wrong.is_empty(), "{wrong}");
    }

    /// Who has how many accounts, what each worker takes, and what lies in the tables.
    fn report(&self) -> String {
        let mut text = String::new();
        for (number, worker) in self.workers.iter().enumerate() {
            let statement =
                format!("select count(*) from rosterd.account where node like 'process {} on %'", worker.id());
            let (memory, files) = numbers(worker.id());
            let has = self.database.sql(&statement);
            write!(text, "worker {number} has {has}, {:.1} MiB, {files} files; ", memory as f64 / 1024.0).unwrap();
        }
        let tables = "select string_agg(relname || ' ' || n_live_tup || '+' || n_dead_tup || ' '
            || pg_size_pretty(pg_total_relation_size(relid)), ', ' order by relname) from pg_stat_user_tables";
        text + "rows+dead: " + &self.database.sql(tables)
    }
}

/// The resident memory of a process in KiB, and how many files it has open; nothing where it is gone.
fn numbers(process: u32) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let memory = text.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
    let files = fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count);
    (memory.unwrap_or(0), files as u64)
}

/// What the unit gives the daemon.
fn of_the_unit() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../../../systemd/rosterd-accounts.service").lines();
    let told = lines.filter_map(|line| line.strip_prefix("Environment=")).flat_map(str::split_whitespace);
    told.map(|pair| pair.split_once('=').unwrap())
}

fn put(path: &Path, text: &str) {
    // A file is there as a whole: a run may read it at any moment.
    let beside = path.with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(&beside, path).unwrap();
}
