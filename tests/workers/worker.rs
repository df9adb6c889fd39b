//! A worker: a process of the program that has the state, or stands by.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::support::World;
use crate::support::daemon::PATIENCE;

/// By how much all terms are divided: a lease lasts for five seconds.
pub(crate) const DIVISOR: u32 = 6;

/// A process.
pub(crate) struct Worker {
    child: Child,
    log: PathBuf,
}

/// Whether a process stopped or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    Stopped,
    Ended,
}

/// The program with shorter terms, as a node of that name.
pub(crate) fn command(world: &World, node: &str, arguments: &[&str]) -> Command {
    let mut command = world.command(arguments);
    command
        .env("ROSTERD_TERMS_DIVIDED_BY", DIVISOR.to_string())
        .env("ROSTERD__CONTROL__SOCKET", "")
        .env("ROSTERD__STATE__NODE", node)
        .env("ROSTERD__STATE__SPILL_DIR", world.dir().join(node))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// How often a sync may lose its own lease: on a machine that does not let it renew it in time.
const LOSSES_MAX: usize = 5;

/// Syncs as soon as the account can be had, until all is done.
pub(crate) fn sync_when_free(world: &World, node: &str) {
    sync_prepared(world, node, |_| {});
}

/// The same with a command that the test prepares.
pub(crate) fn sync_prepared(world: &World, node: &str, prepare: impl Fn(&mut Command)) {
    sync_approving(world, node, prepare, false);
}

/// The same, and releases what is held because the state is an older one, where that is so: the file is right.
pub(crate) fn sync_approving(world: &World, node: &str, prepare: impl Fn(&mut Command), is_older: bool) {
    let mut losses = 0;
    let ends = |arguments: &[&str]| {
        let mut command = command(world, node, arguments);
        prepare(&mut command);
        Worker::start(world, node, command).wait().code()
    };
    loop {
        let code = ends(&["sync"]);
        match code {
            Some(0) => return,
            Some(4) if is_older => assert_eq!(ends(&["approve", "staff"]), Some(0), "{}", log(world, node)),
            Some(11) => thread::sleep(Duration::from_millis(200)),
            _ => losses += 1,
        }
        assert!(losses < LOSSES_MAX, "{code:?}: {}", log(world, node));
    }
}

/// What a node logged.
pub(crate) fn log(world: &World, node: &str) -> String {
    std::fs::read_to_string(world.dir().join(format!("{node}.log"))).unwrap_or_default()
}

impl Worker {
    /// Starts a command as the test prepared it; its log is appended to that of the node.
    pub(crate) fn start(world: &World, node: &str, mut command: Command) -> Self {
        let log = world.dir().join(format!("{node}.log"));
        let file = File::options().append(true).create(true).open(&log).unwrap();
        Self { child: command.stderr(file).spawn().unwrap(), log }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until it stops or ends; it can be asked for its end afterwards.
    pub(crate) fn halt(&self) -> Halt {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let status = self.patiently(|| waitid(WaitId::Pid(Pid::from_child(&self.child)), options).unwrap());
        if status.stopped() { Halt::Stopped } else { Halt::Ended }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it has ended.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.patiently(|| {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            waitid(WaitId::Pid(Pid::from_child(&self.child)), options).unwrap()
        });
        self.child.wait().unwrap()
    }

    /// Waits for what is looked for; shows the log where it does not come.
    fn patiently<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            let log = || std::fs::read_to_string(&self.log).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "the worker neither stops nor ends:\n{}", log());
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
