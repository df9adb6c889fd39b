//! The daemon as a process, with its socket in the test's folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Ran, World};

/// A running daemon; it is killed when the test ends.
pub(crate) struct Daemon {
    child: Child,
    log: PathBuf,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long anything is waited for that has to come: it only ends what hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Waits until something is so. To look takes a fifth of the time at most: others work meanwhile.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    loop {
        let looked = Instant::now();
        if is_so() {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "not in {PATIENCE:?}: {what}");
        sleep((4 * looked.elapsed()).max(Duration::from_millis(5)));
    }
}

impl World {
    /// Starts the daemon and waits until it answers.
    pub(crate) fn daemon(&self) -> Daemon {
        self.daemon_with(&["run"], |_| {})
    }

    /// The same with these arguments, and a command that the test prepares.
    pub(crate) fn daemon_with(&self, arguments: &[&str], prepare: impl FnOnce(&mut Command)) -> Daemon {
        Daemon::start(self.command(arguments), self.dir().join("daemon.log"), prepare, |_| self.answers())
    }

    /// Fails where more runs began within a second than one that makes up for all that were missed, and one or two that were
    /// due.
    pub(crate) fn expect_no_storm(&self) {
        let history = self.run(&["history", "--json"]).expect(0).json();
        let mut begun: BTreeMap<String, usize> = BTreeMap::new();
        for run in history["events"].as_array().unwrap() {
            let started: jiff::Timestamp = run["started"].as_str().unwrap().parse().unwrap();
            *begun.entry(format!("{started:.0}")).or_default() += 1;
        }
        assert!(begun.values().all(|runs| *runs <= 3), "{begun:?}");
    }

    /// Whether a daemon answers on the socket.
    pub(crate) fn answers(&self) -> bool {
        let socket = self.dir().join("control.sock");
        std::os::unix::net::UnixStream::connect(socket).is_ok()
    }

    /// A status of the only job, from the daemon.
    pub(crate) fn status(&self) -> serde_json::Value {
        let ran = self.run(&["status", "--json"]);
        assert_eq!(ran.json()["daemon"], true, "{ran:?}");
        ran.job()
    }
}

impl Daemon {
    /// Starts it as the test prepares it, and waits until it is up.
    pub(crate) fn start(
        mut command: Command,
        log: PathBuf,
        prepare: impl FnOnce(&mut Command),
        mut is_up: impl FnMut(&Self) -> bool,
    ) -> Self {
        command.stdout(Stdio::null()).stderr(File::options().append(true).create(true).open(&log).unwrap());
        prepare(&mut command);
        let mut daemon = Self { child: command.spawn().unwrap(), log };
        eventually("the daemon answers", || {
            let ended = daemon.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended with {ended:?}: {}", daemon.log());
            is_up(&daemon)
        });
        daemon
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Asks it to end, and says how it did.
    pub(crate) fn stop(self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Asks it to end, and waits until it has begun to.
    pub(crate) fn begin_to_end(&self, signal: Signal) {
        self.signal(signal);
        eventually("it begins to end", || self.log().contains("the daemon ends"));
    }

    /// Waits until it has ended, and says how it did.
    pub(crate) fn wait(mut self) -> ExitStatus {
        eventually("the daemon ends", || self.child.try_wait().unwrap().is_some());
        self.child.wait().unwrap()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How many runs have ended.
    pub(crate) fn runs(&self) -> usize {
        self.ended().len()
    }

    /// The lines of the log, as people read it, that say what a run came to.
    pub(crate) fn ended(&self) -> Vec<String> {
        self.log().lines().filter(|line| line.contains(" requests=")).map(str::to_owned).collect()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// A service manager's socket.
pub(crate) struct Manager {
    socket: UnixDatagram,
    pub(crate) path: PathBuf,
    pub(crate) heard: Vec<String>,
}

impl Manager {
    pub(crate) fn listen(world: &World) -> Self {
        Self::at(world.dir().join("notify.sock"))
    }

    /// The same at a place.
    pub(crate) fn at(path: PathBuf) -> Self {
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        Self { socket, path, heard: Vec::new() }
    }

    /// Waits for a message that holds `text`, after those that were waited for.
    pub(crate) fn expect(&mut self, text: &str) -> String {
        let begin = Instant::now();
        loop {
            let mut bytes = [0; 4096];
            if let Ok(length) = self.socket.recv(&mut bytes) {
                let message = String::from_utf8_lossy(&bytes[..length]).into_owned();
                self.heard.push(message.clone());
                if message.contains(text) {
                    return message;
                }
            }
            assert!(begin.elapsed() < PATIENCE, "no {text:?} among {:?}", self.heard);
        }
    }
}

impl Ran {
    /// Without what differs from one moment to the next.
    pub(crate) fn same_as(&self, other: &Self) {
        assert_eq!((self.code, &self.out, &self.err), (other.code, &other.out, &other.err));
    }
}
