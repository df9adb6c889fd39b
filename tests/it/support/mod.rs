//! What the tests share: a folder with a configuration and a CSV file, a service in this process, and the real binary.

pub(crate) mod accounts;
pub(crate) mod answering;
pub(crate) mod authority;
pub(crate) mod caller;
pub(crate) mod config;
pub(crate) mod daemon;
pub(crate) mod documents;
pub(crate) mod faked;
pub(crate) mod graph;
pub(crate) mod held;
pub(crate) mod inside;
pub(crate) mod kept;
pub(crate) mod looked;
pub(crate) mod mailer;
pub(crate) mod ports;
pub(crate) mod postgres;
pub(crate) mod scripted;
pub(crate) mod site;
pub(crate) mod slapd;
pub(crate) mod soak;
pub(crate) mod web;

use std::ops::{Deref, DerefMut};
use std::process::{Child, Command, Output, Stdio};

use rosterd::clock::Clock;
use rosterd::sandbox::{self, Options};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub(crate) use config::Config;
pub(crate) use site::Site;

/// A folder with a service, and the binary.
pub(crate) struct World {
    runtime: Runtime,
    site: Site,
}

/// The header that fits [`Config::default`].
pub(crate) const HEADER: &str = "Employee No,Name,Email,Title\n";

/// The sandbox's clock that shows what `clock` does.
pub(crate) fn shown(clock: &Clock) -> sandbox::Clock {
    let clock = clock.clone();
    sandbox::Clock::of(move || clock.now())
}

/// A row that fits [`HEADER`], for the person of that number.
pub(crate) fn row(number: usize, title: &str) -> String {
    format!("P{number:05},Person {number},person{number}@example.com,{title}\n")
}

/// A file of so many people from `first` on.
pub(crate) fn people(numbers: std::ops::Range<usize>) -> String {
    numbers.fold(HEADER.to_owned(), |text, number| text + &row(number, "Clerk"))
}

/// How a run of the binary ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The document on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("no JSON document: {self:?}"))
    }

    /// The only job of the document on stdout.
    pub(crate) fn job(&self) -> Value {
        self.json()["jobs"][0].clone()
    }

    /// (created, updated, deleted) of the only job.
    pub(crate) fn writes(&self) -> (u64, u64, u64) {
        let job = self.job();
        let count = |name: &str| job[name].as_u64().unwrap_or_else(|| panic!("no {name}: {self:?}"));
        (count("created"), count("updated"), count("deleted"))
    }

    /// The only job's reason.
    pub(crate) fn reason(&self) -> String {
        self.job()["reason"].as_str().unwrap_or_default().to_owned()
    }

    /// Fails unless it ended with this exit code.
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// How the only job ended: status, whether the read was complete, and the reason (empty where there is none).
    pub(crate) fn ended(&self) -> (String, bool, String) {
        let job = self.job();
        let text = |name: &str| job[name].as_str().unwrap_or_default().to_owned();
        (text("status"), job["complete"] == true, text("reason"))
    }

    /// Fails where stdout or stderr shows one of these texts (law 11).
    pub(crate) fn hides(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(!self.out.contains(text) && !self.err.contains(text), "{text:?} is shown: {self:?}");
        }
        self
    }
}

impl Default for World {
    fn default() -> Self {
        Self::of(Config::default())
    }
}

impl Deref for World {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

impl DerefMut for World {
    fn deref_mut(&mut self) -> &mut Site {
        &mut self.site
    }
}

impl World {
    /// A service with these options.
    pub(crate) fn new(options: Options) -> Self {
        Self::with(options, Config::default())
    }

    /// A world with this configuration.
    pub(crate) fn of(config: Config) -> Self {
        Self::with(Options::default(), config)
    }

    /// A world whose service goes by this clock.
    pub(crate) fn at(clock: &Clock, config: Config) -> Self {
        let clock = clock.clone();
        let clock = rosterd::sandbox::Clock::of(move || clock.now());
        Self::with(Options { clock, ..Options::default() }, config)
    }

    /// A service with these options, and this configuration.
    pub(crate) fn with(options: Options, config: Config) -> Self {
        Self::within(TempDir::new().unwrap(), options, config)
    }

    /// The same in that folder.
    pub(crate) fn within(dir: TempDir, options: Options, config: Config) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let site = runtime.block_on(Site::start(dir, options, config));
        Self { runtime, site }
    }

    /// A world in which so many people (from 1 on) have been synced.
    pub(crate) fn synced(config: Config, count: usize) -> Self {
        let world = Self::of(config);
        assert_eq!(world.sync_of(people(1..count + 1)).expect(0).writes(), (count as u64, 0, 0));
        world
    }

    /// What `init` printed, with this service and a state folder of its own, as a user would fill it in.
    pub(crate) fn filled_in(&self, printed: &str) -> String {
        let auth = ["auth_url", "client_id", "client_secret_file"];
        printed
            .lines()
            .filter(|line| !auth.iter().any(|key| line.starts_with(key)))
            .map(|line| match line.split('=').next().unwrap().trim() {
                "base_url" => format!("base_url = \"{}\"\napi_key_file = \"api_key\"\n", self.service().url()),
                "[state]" => "[state]\ndir = \"state\"\n".to_owned(),
                _ => format!("{line}\n"),
            })
            .collect()
    }

    /// Ends the service: nothing listens on its address any more.
    pub(crate) fn stop_service(&mut self) {
        self.runtime.block_on(self.site.stop());
    }

    /// Starts a service again, for one that was ended.
    pub(crate) fn start_service(&mut self, options: Options) {
        self.runtime.block_on(self.site.start_again(options));
    }

    /// What the service runs on.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The binary with these arguments, its environment cleared.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.outlast_the_dead();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
        command
            .env_clear()
            .current_dir(self.dir())
            .args(["--color", "never", "--config"])
            .arg(self.config_path())
            .args(arguments)
            .stdin(Stdio::null());
        if crate::ENDS_AT_POINTS {
            command.env("ROSTERD_CRASH_ALL_ARRIVED", "").env("ROSTERD_ROWS_MIN", "8");
        }
        if !self.site.config.rest.contains("[status]") {
            // Tests run side by side, and one address serves one daemon.
            command.env("ROSTERD__STATUS__LISTEN", "");
        }
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        let (out, err) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
        documents::check(arguments, &out, &err);
        Ran { code: status.code(), out, err }
    }

    /// `rosterd sync --json`.
    pub(crate) fn sync(&self) -> Ran {
        self.run(&["sync", "--json"])
    }

    /// `rosterd sync --json` of a file.
    pub(crate) fn sync_of(&self, text: impl AsRef<[u8]>) -> Ran {
        self.csv(text);
        self.sync()
    }

    /// `rosterd plan --json`.
    pub(crate) fn plan(&self) -> Ran {
        self.run(&["plan", "--json"])
    }

    /// Starts the binary and leaves it running.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}
