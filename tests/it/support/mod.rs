//! What the tests share: a folder with a configuration and a CSV file, a service in this process, and the real binary.

pub(crate) mod answering;
pub(crate) mod authority;
pub(crate) mod caller;
pub(crate) mod daemon;
pub(crate) mod faked;
pub(crate) mod held;
pub(crate) mod inside;
pub(crate) mod looked;
pub(crate) mod mailer;
pub(crate) mod scripted;
pub(crate) mod slapd;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rosterd::clock::Clock;
use rosterd::sandbox::{self, Options, Sandbox};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A folder, a service, and the binary.
pub(crate) struct World {
    dir: TempDir,
    runtime: Runtime,
    sandbox: Option<Sandbox>,
    config: Config,
}

/// What a test says in its configuration, each a text of TOML.
#[derive(Clone)]
pub(crate) struct Config {
    /// Lines of `[api]` that say who calls.
    pub(crate) credential: String,
    /// Lines of `[api]` besides base_url and credential.
    pub(crate) api: String,
    /// Lines of `[state]` besides dir.
    pub(crate) state: String,
    /// Lines of the job itself.
    pub(crate) job: String,
    /// Where the job's source is.
    pub(crate) path: String,
    /// Lines of `[job.source]` besides type and path; where they begin with the type, all of them.
    pub(crate) source: String,
    /// Lines of `[job.map]`.
    pub(crate) map: String,
    /// The tables after it: `[job.leavers]`, `[job.guard]`, further jobs.
    pub(crate) rest: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            credential: "api_key_file = \"api_key\"".into(),
            state: String::new(),
            api: "requests_per_minute = 3000\n".into(),
            job: "key = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\", \"email\"]\n".into(),
            path: "staff.csv".into(),
            source: "settle = \"0s\"\n".into(),
            map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\ntitle = \"{{ title }}\"\nemployee_id = \"{{ employee_no }}\"\n"
                .into(),
            rest: String::new(),
        }
    }
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
}

impl World {
    /// A service with these options (any rate, unless it is another than the default), no people, and an empty folder.
    pub(crate) fn new(options: Options) -> Self {
        Self::with(options, Config::default())
    }

    /// The same with another configuration.
    pub(crate) fn with(mut options: Options, config: Config) -> Self {
        if options.rate == Options::default().rate {
            options.rate = 0;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let sandbox = runtime.block_on(Sandbox::start(options)).unwrap();
        let world = Self { dir: TempDir::new().unwrap(), runtime, sandbox: Some(sandbox), config };
        world.put("api_key", world.service().options().api_key.clone().as_bytes());
        world.configure(world.config.clone());
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

    /// The service.
    pub(crate) fn service(&self) -> &Sandbox {
        self.sandbox.as_ref().unwrap()
    }

    /// Ends the service: nothing listens on its address any more.
    pub(crate) fn stop_service(&mut self) {
        let sandbox = self.sandbox.take().unwrap();
        self.runtime.block_on(sandbox.stop());
    }

    /// Starts a service again, for one that was ended.
    pub(crate) fn start_service(&mut self, options: Options) {
        self.sandbox = Some(self.runtime.block_on(Sandbox::start(options)).unwrap());
    }

    /// Whether there is a service.
    pub(crate) fn is_served(&self) -> bool {
        self.sandbox.is_some()
    }

    /// What the service runs on.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The folder.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The state folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.dir().join("state")
    }

    /// The newest audit file.
    pub(crate) fn audit_file(&self) -> PathBuf {
        let files = fs::read_dir(self.state().join("audit")).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "ndjson")).max().unwrap()
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

    /// Writes the configuration.
    pub(crate) fn configure(&self, config: Config) {
        let Config { credential, api, state, job, path, source, map, rest } = config;
        let url = self.service().url();
        let file = match source.starts_with("type = ") {
            true => String::new(),
            false => format!("type = \"csv\"\npath = \"{path}\"\n"),
        };
        let text = format!(
            "[api]\nbase_url = \"{url}\"\n{credential}\n{api}\n[state]\ndir = \"state\"\n{state}\n\n\
             [[job]]\nname = \"staff\"\ntarget = \"staff\"\n{job}\n[job.source]\n{file}\
             {source}\n[job.map]\n{map}\n{rest}\n"
        );
        self.put("config.toml", text.as_bytes());
    }

    /// Writes another configuration, made of the present one.
    pub(crate) fn reconfigure(&mut self, change: impl FnOnce(Config) -> Config) {
        self.config = change(self.config.clone());
        self.configure(self.config.clone());
    }

    /// The binary with these arguments, its environment cleared.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
        command
            .env_clear()
            .current_dir(self.dir())
            .args(["--color", "never", "--config"])
            .arg(self.dir().join("config.toml"))
            .args(arguments)
            .stdin(Stdio::null());
        if !self.config.rest.contains("[status]") {
            // Tests run side by side, and one address serves one daemon.
            command.env("ROSTERD__STATUS__LISTEN", "");
        }
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        Ran { code: status.code(), out: String::from_utf8(stdout).unwrap(), err: String::from_utf8(stderr).unwrap() }
    }

    /// `rosterd sync --json`.
    pub(crate) fn sync(&self) -> Ran {
        self.run(&["sync", "--json"])
    }

    /// `rosterd plan --json`.
    pub(crate) fn plan(&self) -> Ran {
        self.run(&["plan", "--json"])
    }

    /// Starts the binary and leaves it running.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Puts these faults in place of the present ones.
    pub(crate) fn faults(&self, specs: &[&str]) {
        self.service().set_faults(specs.iter().map(|spec| spec.parse().unwrap()).collect());
    }

    /// How many requests of an operation arrived so far.
    pub(crate) fn count(&self, operation: &str) -> usize {
        self.service().requests().iter().filter(|request| request.operation == operation).count()
    }

    /// One person at the service.
    pub(crate) fn one(&self, id: i64) -> Value {
        self.staff().into_iter().find(|person| person["id"] == id).unwrap_or(Value::Null)
    }

    /// Fails unless exactly the people `numbers` are at the service, each once by their employee id.
    pub(crate) fn expect_people(&self, numbers: std::ops::Range<usize>) {
        let expected: Vec<String> = numbers.map(|number| format!("P{number:05}")).collect();
        assert_eq!(self.texts("employee_id"), expected, "somebody is missing or twice");
    }

    /// The people at the service.
    pub(crate) fn staff(&self) -> Vec<Value> {
        self.service().all("staff")
    }

    /// One text field of all people at the service, in order.
    pub(crate) fn texts(&self, field: &str) -> Vec<String> {
        let mut texts: Vec<String> =
            self.staff().iter().map(|person| person[field].as_str().unwrap_or_default().to_owned()).collect();
        texts.sort();
        texts
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

impl Config {
    /// The default with these tables after it.
    pub(crate) fn rest(rest: &str) -> Self {
        Self { rest: rest.into(), ..Self::default() }
    }
}

impl Ran {
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

impl World {
    /// A world in which so many people (from 1 on) have been synced.
    pub(crate) fn synced(config: Config, count: usize) -> Self {
        let world = Self::with(Options::default(), config);
        world.csv(people(1..count + 1));
        assert_eq!(world.sync().expect(0).writes(), (count as u64, 0, 0));
        world
    }

    /// The person of that number, as the service holds them.
    pub(crate) fn held_as(&self, number: usize) -> Option<Value> {
        let wanted = format!("P{number:05}");
        self.staff().into_iter().find(|person| person["employee_id"] == wanted.as_str())
    }

    /// The keys of the people at the service, in order.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.texts("employee_id")
    }

    /// `rosterd sync --json` of a file.
    pub(crate) fn sync_of(&self, text: impl AsRef<[u8]>) -> Ran {
        self.csv(text);
        self.sync()
    }
}
