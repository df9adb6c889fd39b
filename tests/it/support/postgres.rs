//! A real PostgreSQL server of the tests' own, on a socket in a folder of its own. It ends with the process.
//!
//! It does not wait for its disk (`fsync=off`): what these tests end are programs, never the server or its machine. All else is
//! as usual: a commit is one, whole and seen by all.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a server may take to answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where a program of the server is: Debian keeps several versions apart.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        versions.map(|version| version.path().join("bin").join(name)).filter(|path| path.is_file()).collect();
    found.sort();
    found.pop()
}

/// Whether this machine has a server. On a machine that tests changes, it must.
pub(crate) fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| {
        let there = program("postgres").is_some() && program("initdb").is_some();
        let must = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(there || !must, "postgresql is missing, and nothing may be left out here");
        if !there {
            let _ = writeln!(std::io::stderr(), "left out: postgresql is missing; tests/run installs it");
        }
        there
    })
}

/// What the folders of servers are called, before the number of the process.
const NAME: &str = "rosterd-postgres-";

/// Removes what servers left whose processes have ended: the one of a process ends only with it.
fn sweep() {
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let process = name.strip_prefix(NAME).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A command as the user that the server runs as: it refuses to be root.
pub(crate) fn as_server(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL", "--"]).arg(program);
    command.current_dir("/");
    command
}

/// A server.
pub(crate) struct Server {
    dir: TempDir,
}

impl Server {
    /// The one that the tests of this process share.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// A server that others do not use.
    pub(crate) fn start() -> Self {
        let server = Self::laid_out();
        let made = as_server(&program("initdb").unwrap())
            .args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(server.path("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        server.run();
        server
    }

    /// The folders of a server.
    pub(crate) fn laid_out() -> Self {
        sweep();
        let server =
            Self { dir: tempfile::Builder::new().prefix(&format!("{NAME}{}-", std::process::id())).tempdir().unwrap() };
        fs::set_permissions(server.dir.path(), Permissions::from_mode(0o711)).unwrap();
        for name in ["data", "socket"] {
            fs::create_dir(server.path(name)).unwrap();
            if rustix::process::geteuid().is_root() {
                let id = |flag| {
                    let found = Command::new("id").args([flag, "postgres"]).output().unwrap().stdout;
                    String::from_utf8(found).unwrap().trim().parse::<u32>().unwrap()
                };
                chown(server.path(name), Some(id("-u")), Some(id("-g"))).unwrap();
            }
        }
        fs::set_permissions(server.path("data"), Permissions::from_mode(0o700)).unwrap();
        server
    }

    /// Runs it on a thread that does not end: the server is killed when the thread that began it ends.
    pub(crate) fn run(&self) {
        self.run_with(&[]);
    }

    /// The same with further settings.
    pub(crate) fn run_with(&self, settings: &[&str]) {
        let (data, socket) = (self.path("data"), self.path("socket"));
        let settings: Vec<String> =
            settings.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]).collect();
        let (begun, wait) = channel();
        std::thread::spawn(move || {
            let mut child = as_server(&program("postgres").unwrap())
                .args(["-c", "listen_addresses=", "-c", "max_connections=400", "-c", "shared_buffers=64MB"])
                .args(["-c", "fsync=off", "-c", "full_page_writes=off", "-c"])
                .arg(format!("unix_socket_directories={}", socket.display()))
                .args(settings)
                .arg("-D")
                .arg(data)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            begun.send(()).unwrap();
            child.wait().unwrap();
        });
        wait.recv().unwrap();
        let begun = Instant::now();
        while !self.sql("postgres", "select 1").1 {
            assert!(begun.elapsed() < PATIENCE, "the server does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Where its socket is.
    pub(crate) fn socket(&self) -> PathBuf {
        self.path("socket")
    }

    /// What a statement shows, bare, or else why it was not carried out; and whether it was.
    pub(crate) fn sql(&self, database: &str, statement: &str) -> (String, bool) {
        let ran = Command::new(program("psql").unwrap())
            .args(["-X", "-q", "-A", "-t", "-U", "postgres", "-d", database, "-h"])
            .arg(self.socket())
            .args(["-v", "ON_ERROR_STOP=1", "-c", statement])
            .output()
            .unwrap();
        let shown = if ran.status.success() { ran.stdout } else { ran.stderr };
        (String::from_utf8_lossy(&shown).trim().to_owned(), ran.status.success())
    }

    /// A database that no other test has.
    pub(crate) fn database(&'static self) -> Database {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let (shown, is_done) = self.sql("postgres", &format!("create database {name}"));
        assert!(is_done, "{name}: {shown}");
        Database { server: self, name }
    }
}

/// A database of one test.
pub(crate) struct Database {
    pub(crate) server: &'static Server,
    pub(crate) name: String,
}

impl Database {
    /// A folder for what may be lost, which no other test has.
    pub(crate) fn spill_dir(&self) -> PathBuf {
        self.server.path(&format!("spill-{}", self.name))
    }

    pub(crate) fn url(&self) -> String {
        let socket = self.server.socket().display().to_string().replace('/', "%2F");
        format!("postgresql://postgres@{socket}/{}", self.name)
    }

    /// What a statement shows, bare.
    pub(crate) fn sql(&self, statement: &str) -> String {
        let (shown, is_done) = self.server.sql(&self.name, statement);
        assert!(is_done, "{statement}: {shown}");
        shown
    }
}
