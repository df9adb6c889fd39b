//! Runs in this process: a service, a clock that the test moves, and what others do at a moment of a run.

mod durable;
mod joined;
mod owned;
mod presence;
mod removing;
mod sending;
mod shown;
mod unknown;

use std::fs;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::*;
use crate::api::Client;
use crate::clock::Clock;
use crate::config::{self, Config, Job, Needs};
use crate::history::{AuditEvent, Changed, read};
use crate::push::Outcome;
use crate::queue::Change;
use crate::reconcile::*;
use crate::record::{Action, JobName, Key, Value};
use crate::sandbox::{self, Options, Sandbox};
use crate::store::Store;

/// Removes at once who is gone.
const REMOVING: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
/// No limits.
const FREE: &str = "[job.guard]\nmax_leavers = \"off\"\nmax_updates = \"off\"\n";
const HEADER: &str = "No,Name,Email,Title\n";

/// A service, a folder with a configuration and files, and a clock.
struct Rig {
    dir: TempDir,
    service: Sandbox,
    clock: Clock,
}

/// What a run works with.
struct Bench {
    config: Config,
    store: Store,
    client: Client,
}

impl Rig {
    /// A service without people, and these jobs.
    async fn new(jobs: &str) -> Self {
        Self::with(Options::default(), jobs).await
    }

    async fn with(options: Options, jobs: &str) -> Self {
        // Files must not lie in the future.
        let clock = Clock::fixed("2040-03-05T08:00:00Z".parse().unwrap());
        let shown = clock.clone();
        let options = Options { rate: 0, clock: sandbox::Clock::of(move || shown.now()), ..options };
        let rig = Self { dir: TempDir::new().unwrap(), service: Sandbox::start(options).await.unwrap(), clock };
        rig.configure(jobs);
        rig
    }

    fn configure(&self, jobs: &str) {
        self.configure_as("api_key_file = \"key\"\n", jobs);
    }

    /// The same with another credential.
    fn configure_as(&self, credential: &str, jobs: &str) {
        self.put("key", &self.service.options().api_key);
        self.put("secret", &self.service.options().client_secret);
        let url = self.service.url();
        let text = format!(
            "[api]\nbase_url = \"{url}\"\n{credential}requests_per_minute = 100000\n[state]\ndir = \"state\"\n{jobs}"
        );
        self.put("config.toml", &text);
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Writes the file of the job of staff.
    fn csv(&self, rows: &str) {
        self.put("staff.csv", &format!("{HEADER}{rows}"));
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn bench(&self) -> Bench {
        let config = config::load(&self.dir.path().join("config.toml"), std::iter::empty(), Needs::Jobs).unwrap();
        let store = Store::open(&config.state.home).unwrap();
        let client = Client::new(&config.api, &self.clock).unwrap();
        Bench { config, store, client }
    }

    /// One run of every job; the report of the first.
    async fn sync(&self) -> Report {
        self.sync_while(&NoObserver).await
    }

    async fn sync_while(&self, watch: &dyn RunObserver) -> Report {
        self.sync_all(watch).await.remove(0)
    }

    async fn sync_all(&self, watch: &dyn RunObserver) -> Vec<Report> {
        let bench = self.bench();
        let jobs: Vec<&Job> = bench.config.jobs.iter().collect();
        sync(&bench.context(&self.clock, watch), &jobs, &KeyFilter::default()).await.unwrap()
    }

    /// One run over these rows; how many it made, changed and removed.
    async fn sync_of(&self, rows: &str) -> (u64, u64, u64) {
        self.csv(rows);
        writes(&self.sync().await)
    }

    async fn approve(&self) {
        let bench = self.bench();
        approve(&bench.store, &self.clock, &bench.config.jobs[0], &Chosen::default()).unwrap();
    }

    fn hours(&self, hours: i64) {
        self.clock.advance(jiff::SignedDuration::from_hours(hours));
    }

    /// What goes wrong at the service from now on.
    fn faults(&self, faults: &[&str]) {
        self.service.set_faults(faults.iter().map(|fault| fault.parse().unwrap()).collect());
    }

    /// How many requests of an operation came.
    fn count(&self, operation: &str) -> usize {
        self.service.requests().iter().filter(|request| request.operation == operation).count()
    }

    fn staff(&self) -> Vec<Json> {
        self.service.all("staff")
    }

    /// The person of that number at the service.
    fn held_as(&self, number: usize) -> Option<Json> {
        self.staff().into_iter().find(|person| person["employee_id"] == number_of(number))
    }

    fn id(&self, number: usize) -> i64 {
        self.held_as(number).unwrap()["id"].as_i64().unwrap()
    }

    fn title(&self, number: usize) -> String {
        self.held_as(number).unwrap()["title"].as_str().unwrap_or_default().to_owned()
    }

    /// Lays people down at the service, and returns their ids.
    fn persons(&self, numbers: Range<usize>) -> Vec<i64> {
        let lay_down = |number| {
            let (name, email) = (format!("Person {number}"), format!("person{number}@example.com"));
            let person = json!({"name": name, "email": email, "employee_id": number_of(number), "title": "Clerk"});
            self.service.put("staff", person)
        };
        numbers.map(lay_down).collect()
    }

    /// The changes that the audit file tells of.
    fn changes(&self) -> Vec<Changed> {
        let mut told = Vec::new();
        read(&self.state().into(), |entry| {
            told.extend(match entry {
                AuditEvent::Change(changed) => Some(changed),
                _ => None,
            })
        })
        .unwrap();
        told
    }
}

impl Bench {
    fn context<'a>(&'a self, clock: &'a Clock, watch: &'a dyn RunObserver) -> Context<'a> {
        Context { config: &self.config, client: &self.client, store: &self.store, clock, watch }
    }
}

/// A job of staff with these lines, and these tables after it.
fn staff(lines: &str, tables: &str) -> String {
    format!(
        "[[job]]\nname = \"staff\"\ntarget = \"staff\"\nkey = \"{{{{ no }}}}\"\nmatch_on = [\"employee_id\", \"email\"]\n\
         {lines}[job.source]\ntype = \"csv\"\npath = \"staff.csv\"\nsettle = \"0s\"\n[job.map]\nname = \"{{{{ name }}}}\"\n\
         email = \"{{{{ email }}}}\"\ntitle = \"{{{{ title }}}}\"\nemployee_id = \"{{{{ no }}}}\"\n{tables}"
    )
}

fn number_of(number: usize) -> String {
    format!("P{number:05}")
}

fn row(number: usize, title: &str) -> String {
    format!("{},Person {number},person{number}@example.com,{title}\n", number_of(number))
}

fn people(numbers: Range<usize>) -> String {
    numbers.map(|number| row(number, "Clerk")).collect()
}

fn key(number: usize) -> Key {
    Key::new(&number_of(number)).unwrap()
}

fn writes(report: &Report) -> (u64, u64, u64) {
    (report.counts.created, report.counts.updated, report.counts.deleted)
}

/// Does something at moments of a run.
#[derive(Default)]
struct When<'a> {
    sending: Option<Box<dyn Fn() + Sync + 'a>>,
    outcome: Option<Box<dyn Fn() + Sync + 'a>>,
    attempt: Option<Box<dyn Fn() + Sync + 'a>>,
}

impl<'a> When<'a> {
    /// All is planned, and nothing sent.
    fn sending(act: impl Fn() + Sync + 'a) -> Self {
        Self { sending: Some(Box::new(act)), ..Self::default() }
    }

    /// A change has come to its outcome.
    fn outcome(act: impl Fn() + Sync + 'a) -> Self {
        Self { outcome: Some(Box::new(act)), ..Self::default() }
    }

    /// A change is about to be tried, for the first time or once more.
    fn attempt(act: impl Fn() + Sync + 'a) -> Self {
        Self { attempt: Some(Box::new(act)), ..Self::default() }
    }
}

impl RunObserver for When<'_> {
    fn stage(&self, _: &JobName, stage: Stage) {
        if let (Stage::Sending { .. }, Some(act)) = (stage, &self.sending) {
            act();
        }
    }

    fn outcome(&self, _: &Change, _: &Outcome) {
        self.outcome.iter().for_each(|act| act());
    }

    fn interrupted(&self) -> bool {
        self.attempt.iter().for_each(|act| act());
        false
    }
}
