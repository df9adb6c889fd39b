//! What the tests share: a folder with a configuration and a CSV file, a service in this process, and the real binary.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rosterd::sandbox::{Options, Sandbox};
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
    /// Lines of `[api]` besides base_url and credential.
    pub(crate) api: String,
    /// Lines of the job itself.
    pub(crate) job: String,
    /// Lines of `[job.source]` besides type and path.
    pub(crate) source: String,
    /// Lines of `[job.map]`.
    pub(crate) map: String,
    /// The tables after it: `[job.leavers]`, `[job.guard]`, further jobs.
    pub(crate) rest: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            api: "requests_per_minute = 100000\n".into(),
            job: "key = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\", \"email\"]\n".into(),
            source: "settle = \"0s\"\n".into(),
            map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\ntitle = \"{{ title }}\"\nemployee_id = \"{{ employee_no }}\"\n"
                .into(),
            rest: String::new(),
        }
    }
}

/// The header that fits [`Config::default`].
pub(crate) const HEADER: &str = "Employee No,Name,Email,Title\n";

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

    /// The service.
    pub(crate) fn service(&self) -> &Sandbox {
        self.sandbox.as_ref().unwrap()
    }

    /// Ends the service: nothing listens on its address any more.
    pub(crate) fn stop_service(&mut self) {
        let sandbox = self.sandbox.take().unwrap();
        self.runtime.block_on(sandbox.stop());
    }

    /// The folder.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The state folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.dir().join("state")
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
        let Config { api, job, source, map, rest } = config;
        let url = self.service().url();
        let text = format!(
            "[api]\nbase_url = \"{url}\"\napi_key_file = \"api_key\"\n{api}\n[state]\ndir = \"state\"\n\n\
             [[job]]\nname = \"staff\"\ntarget = \"staff\"\n{job}\n[job.source]\ntype = \"csv\"\npath = \"staff.csv\"\n\
             {source}\n[job.map]\n{map}\n{rest}\n"
        );
        self.put("config.toml", text.as_bytes());
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

    /// Lays down somebody at the service, and returns their id.
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
