//! Accounts of one process: a folder of configurations, and for each of them a folder with its files, its state and a service.

use crate::support::ports::free_address;
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rosterd::sandbox::{Options, Sandbox};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::config::Kept;
use super::daemon::Daemon;
use super::postgres::{Database, Server};
use super::{Config, Ran, documents};

/// The accounts, and the binary.
pub(crate) struct Accounts {
    dir: TempDir,
    services: BTreeMap<String, Sandbox>,
    runtime: Runtime,
    /// The database of those whose states lie in one.
    database: OnceLock<Database>,
    /// Where their pages answer.
    pub(crate) address: SocketAddr,
}

impl Accounts {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("accounts")).unwrap();
        let address = free_address();
        Self { dir, services: BTreeMap::new(), runtime, database: OnceLock::new(), address }
    }

    /// Accounts of these names.
    pub(crate) fn of(names: &[&str]) -> Self {
        let mut accounts = Self::new();
        names.iter().for_each(|name| accounts.add(name, Config::default()));
        accounts
    }

    /// Adds an account with a service of its own.
    pub(crate) fn add(&mut self, name: &str, config: Config) {
        let service = self.runtime.block_on(Sandbox::start(Options { rate: 0, ..Options::default() })).unwrap();
        fs::create_dir(self.dir.path().join(name)).unwrap();
        self.put(&format!("{name}/api_key"), &service.options().api_key);
        self.services.insert(name.to_owned(), service);
        self.configure(name, config);
    }

    /// Writes the configuration of an account.
    pub(crate) fn configure(&self, name: &str, config: Config) {
        let text = self.text(name, config);
        self.put(&format!("accounts/{name}.toml"), &text);
    }

    /// The configuration of an account as it is written.
    pub(crate) fn text(&self, name: &str, mut config: Config) -> String {
        config.path = format!("../{name}/{}", config.path);
        config.credential = config.credential.replace("\"api_key\"", &format!("\"../{name}/api_key\""));
        config.rest += &format!("\n[control]\nsocket = \"../{name}/control.sock\"\n");
        if !config.rest.contains("[status]") {
            config.rest += &format!("[status]\nlisten = \"{}\"\n", self.address);
        }
        let state = match config.kept {
            Kept::Anywhere | Kept::InFolder(_) => format!("dir = \"../{name}/state\""),
            Kept::InDatabase => format!("url = \"{}\"\nspill_dir = \"../{name}/spill\"", self.database().url()),
        };
        config.text(&self.service(name).url()).replace("dir = \"state\"", &state)
    }

    /// The database in which states lie.
    pub(crate) fn database(&self) -> &Database {
        self.database.get_or_init(|| Server::shared().database())
    }

    /// Puts `to` in place of `from` in the configuration of an account.
    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.config(name)).unwrap();
        assert!(text.contains(from), "no {from:?} in the configuration");
        self.put(&format!("accounts/{name}.toml"), &text.replace(from, to));
    }

    /// Writes a file that only its owner may read.
    pub(crate) fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    pub(crate) fn service(&self, name: &str) -> &Sandbox {
        &self.services[name]
    }

    /// Puts these faults in place of the present ones of a service.
    pub(crate) fn faults(&self, name: &str, specs: &[&str]) {
        self.service(name).set_faults(specs.iter().map(|spec| spec.parse().unwrap()).collect());
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().join("accounts")
    }

    pub(crate) fn config(&self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}.toml"))
    }

    /// How many people a service has.
    pub(crate) fn people(&self, name: &str) -> usize {
        self.service(name).all("staff").len()
    }

    /// The binary with these arguments, its environment cleared.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
        command.env_clear().current_dir(self.dir()).args(["--color", "never"]).args(arguments).stdin(Stdio::null());
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments), arguments)
    }

    /// Runs a command of one account.
    pub(crate) fn run_of(&self, name: &str, arguments: &[&str]) -> Ran {
        let mut command = self.command(&["--config"]);
        command.arg(self.config(name)).args(arguments);
        ran(command, arguments)
    }

    /// A status of the only job of an account, from the daemon.
    pub(crate) fn status(&self, name: &str) -> Value {
        let ran = self.run_of(name, &["status", "--json"]);
        assert_eq!(ran.json()["daemon"], true, "{ran:?}");
        ran.job()
    }

    /// Starts the process of all accounts, and waits until it is ready.
    pub(crate) fn daemon(&self) -> Daemon {
        self.daemon_with(|_| {})
    }

    /// Starts one of several processes that share accounts, with the folder of its configurations; it has no sockets.
    pub(crate) fn worker(&self, name: &str, folder: &str) -> Daemon {
        self.worker_with(name, folder, |_| {})
    }

    /// The same with a command that the test prepares.
    pub(crate) fn worker_with(&self, name: &str, folder: &str, prepare: impl FnOnce(&mut Command)) -> Daemon {
        let log = self.dir().join(format!("{name}.log"));
        let ups = |log: &str| log.matches("accounts are up").count();
        let before = ups(&self.log(name));
        let mut command = self.command(&["run", "--accounts", folder]);
        command.env("ROSTERD__CONTROL__SOCKET", "").env("ROSTERD__STATUS__LISTEN", "");
        command.env("ROSTERD__STATE__SPILL_DIR", self.dir().join(format!("{name}-spill")));
        Daemon::start(command, log, prepare, |daemon| ups(&daemon.log()) > before)
    }

    /// What a worker of that name has logged.
    pub(crate) fn log(&self, name: &str) -> String {
        fs::read_to_string(self.dir().join(format!("{name}.log"))).unwrap_or_default()
    }

    /// The same as [`Self::daemon`] with a command that the test prepares.
    pub(crate) fn daemon_with(&self, prepare: impl FnOnce(&mut Command)) -> Daemon {
        let log = self.dir().join("daemon.log");
        let ups = |log: &str| log.matches("accounts are up").count();
        let before = ups(&fs::read_to_string(&log).unwrap_or_default());
        let command = self.command(&["run", "--accounts", "accounts"]);
        Daemon::start(command, log, prepare, |daemon| ups(&daemon.log()) > before)
    }
}

fn ran(mut command: Command, arguments: &[&str]) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    documents::check(arguments, &out, &err);
    Ran { code: output.status.code(), out, err }
}
