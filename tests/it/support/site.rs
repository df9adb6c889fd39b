//! A folder with a configuration and HR's file, and the service that the configuration names.

use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rosterd::config::{self, Needs};
use rosterd::sandbox::{Error, Options, Sandbox};
use serde_json::Value;
use tempfile::TempDir;

use super::Config;
use super::config::Kept;
use super::kept;
use super::postgres::Database;

/// The folder and the service. It lives in the runtime in which it was started.
pub(crate) struct Site {
    dir: TempDir,
    sandbox: Option<Sandbox>,
    /// Where the state lies, if not in the folder.
    database: Option<Database>,
    /// Whether a successor in the database has nothing to wait for.
    pub(super) settles_at_once: AtomicBool,
    /// Whether the database is of no use to another test.
    pub(super) is_spoiled: AtomicBool,
    pub(super) config: Config,
}

impl Drop for Site {
    fn drop(&mut self) {
        let is_spoiled = *self.is_spoiled.get_mut() || matches!(self.config.kept, Kept::InDatabase);
        if let Some(database) = self.database.take().filter(|_| !is_spoiled && !std::thread::panicking()) {
            kept::leave(database);
        }
    }
}

/// A folder in memory, where the machine has that: for thousands of runs, which would wait for a disk that shows nothing.
pub(crate) fn memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

impl Site {
    /// A service with these options (any rate, unless it is another than the default) and no people, and its configuration in
    /// an empty folder.
    pub(crate) async fn start(dir: TempDir, mut options: Options, config: Config) -> Self {
        if options.rate == Options::default().rate {
            options.rate = 0;
        }
        let sandbox = Sandbox::start(options).await.unwrap();
        let database = kept::is_in_database(config.kept).then(|| kept::database(config.kept));
        let (settles_at_once, is_spoiled) = Default::default();
        let site = Self { dir, sandbox: Some(sandbox), database, settles_at_once, is_spoiled, config };
        site.put("api_key", site.service().options().api_key.as_bytes());
        site.configure(site.config.clone());
        site
    }

    /// Ends the service: nothing listens on its address any more.
    pub(crate) async fn stop(&mut self) {
        self.sandbox.take().unwrap().stop().await;
    }

    /// Starts a service again, for one that was ended.
    pub(crate) async fn start_again(&mut self, options: Options) {
        // Another test's child may have the listener that was there until it becomes another program.
        self.sandbox = Some(loop {
            match Sandbox::start(options.clone()).await {
                Ok(sandbox) => break sandbox,
                Err(Error::Listen { source, .. }) if source.kind() == ErrorKind::AddrInUse => {}
                Err(error) => panic!("{error}"),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        });
    }

    /// The service.
    pub(crate) fn service(&self) -> &Sandbox {
        self.sandbox.as_ref().unwrap()
    }

    /// Whether there is a service.
    pub(crate) fn is_served(&self) -> bool {
        self.sandbox.is_some()
    }

    /// The folder.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The state folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.dir().join("state")
    }

    /// The database in which the state lies.
    pub(crate) fn database(&self) -> &Database {
        self.in_database().expect("the state lies in one")
    }

    /// The database, where the state lies in one.
    pub(crate) fn in_database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// A user of this machine as decisions name them: with the machine, where others may have the state too.
    pub(crate) fn recorded(&self, user: &str) -> String {
        match self.in_database() {
            Some(_) => rosterd::history::user_at(user, &rustix::system::uname().nodename().to_string_lossy()),
            None => user.to_owned(),
        }
    }

    /// Writes a file that only its owner may read.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir().join(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// Writes HR's file.
    pub(crate) fn csv(&self, text: impl AsRef<[u8]>) {
        self.put("staff.csv", text.as_ref());
    }

    /// The file of the configuration.
    pub(crate) fn config_path(&self) -> PathBuf {
        self.dir().join("config.toml")
    }

    /// The configuration as it is written there.
    pub(crate) fn config_text(&self) -> String {
        fs::read_to_string(self.config_path()).unwrap()
    }

    /// Writes this as the configuration.
    pub(crate) fn put_config(&self, text: &str) -> PathBuf {
        let text = match &self.database {
            Some(database) => {
                text.replace("\ndir = \"state\"\n", &format!("\nurl = \"{}\"\nspill_dir = \"state\"\n", database.url()))
            }
            None => text.to_owned(),
        };
        self.put("config.toml", text.as_bytes())
    }

    /// Puts `to` in place of `from` in the configuration as it is written there.
    pub(crate) fn edit_config(&self, from: &str, to: &str) {
        let text = self.config_text();
        assert!(text.contains(from), "no {from:?} in the configuration");
        self.put_config(&text.replace(from, to));
    }

    /// Writes the configuration.
    pub(crate) fn configure(&self, config: Config) {
        self.put_config(&config.text(&self.service().url()));
    }

    /// Writes another configuration, made of the present one.
    pub(crate) fn reconfigure(&mut self, change: impl FnOnce(Config) -> Config) {
        self.config = change(self.config.clone());
        self.configure(self.config.clone());
    }

    /// Its configuration, checked.
    pub(crate) fn checked(&self) -> config::Config {
        config::load(&self.config_path(), std::iter::empty(), Needs::Jobs).unwrap()
    }

    /// Puts these faults in place of the present ones.
    pub(crate) fn faults(&self, specs: &[&str]) {
        self.service().set_faults(specs.iter().map(|spec| spec.parse().unwrap()).collect());
    }

    /// How many requests of an operation arrived so far.
    pub(crate) fn count(&self, operation: &str) -> usize {
        self.service().requests().iter().filter(|request| request.operation == operation).count()
    }

    /// The people at the service.
    pub(crate) fn staff(&self) -> Vec<Value> {
        self.service().all("staff")
    }

    /// One person at the service.
    pub(crate) fn one(&self, id: i64) -> Value {
        self.staff().into_iter().find(|person| person["id"] == id).unwrap_or(Value::Null)
    }

    /// The person of that number, as the service holds them.
    pub(crate) fn held_as(&self, number: usize) -> Option<Value> {
        let wanted = format!("P{number:05}");
        self.staff().into_iter().find(|person| person["employee_id"] == wanted.as_str())
    }

    /// One text field of all people at the service, in order.
    pub(crate) fn texts(&self, field: &str) -> Vec<String> {
        let mut texts: Vec<String> =
            self.staff().iter().map(|person| person[field].as_str().unwrap_or_default().to_owned()).collect();
        texts.sort();
        texts
    }

    /// The keys of the people at the service, in order.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.texts("employee_id")
    }

    /// Fails unless exactly the people `numbers` are at the service, each once by their employee id.
    pub(crate) fn expect_people(&self, numbers: Range<usize>) {
        let expected: Vec<String> = numbers.map(|number| format!("P{number:05}")).collect();
        assert_eq!(self.keys(), expected, "somebody is missing or twice");
    }

    /// Creates a person at the service, and returns their id.
    pub(crate) fn person(&self, number: usize, title: &str) -> i64 {
        self.service().put(
            "staff",
            serde_json::json!({
                "name": format!("Person {number}"),
                "email": format!("person{number}@example.com"),
                "employee_id": format!("P{number:05}"),
                "title": title,
            }),
        )
    }
}
