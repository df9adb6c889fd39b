//! What strikes at a moment that the test chooses: requests that the service holds, processes that are killed or asked to end
//! meanwhile. Nothing here goes by time: what is waited for comes, or something hangs.

use std::fs::{self, File};
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use super::World;
use super::daemon::eventually;

/// Lines of `[api]` with which a push has so many requests in flight.
pub(crate) const EIGHT_IN_FLIGHT: &str = "requests_per_minute = 160\n";
/// So many are in flight where the limit is high.
pub(crate) const IN_FLIGHT_MAX: usize = 32;

impl World {
    /// Waits until the service holds exactly so many requests.
    pub(crate) fn until_held(&self, count: usize) {
        eventually(&format!("{count} requests are held"), || self.service().held() == count);
    }

    /// Waits until the service holds a request.
    pub(crate) fn until_any_is_held(&self) {
        eventually("a request is held", || self.service().held() > 0);
    }

    /// Lets the requests go on that are held now.
    pub(crate) fn release(&self) {
        self.service().release();
    }

    /// Starts a sync and kills it while the service holds what fits `fault` (`staff.create hold after=20`): in the middle of
    /// its work, since what it waits for does not come. The faults `others` are in force beside it.
    pub(crate) fn kill_held(&self, fault: &str, others: &[&str]) {
        self.faults(&[&[fault], others].concat());
        let log = self.dir().join("held.log");
        let output = File::create(&log).unwrap();
        let mut child = self.command(&["sync"]).stdout(output.try_clone().unwrap()).stderr(output).spawn().unwrap();
        eventually("a request is held", || {
            let is_held = self.service().held() > 0;
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?} before {fault}: {}", fs::read_to_string(&log).unwrap());
            is_held
        });
        child.kill().unwrap();
        child.wait().unwrap();
        self.faults(others);
    }
}

/// Sends a signal, and waits until the process has taken it.
pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
    taken(child.id(), signal);
}

/// Waits until a process has taken a signal that was sent to it.
pub(crate) fn taken(process: u32, signal: Signal) {
    let bit = 1_u64 << (signal.as_raw() - 1);
    eventually("the signal is taken", || {
        let Ok(status) = fs::read_to_string(format!("/proc/{process}/status")) else { return true };
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:")).unwrap_or("0").trim();
        u64::from_str_radix(pending, 16).unwrap() & bit == 0
    });
}

/// Stops a process where it stands, until it gets SIGCONT.
pub(crate) fn freeze(child: u32) {
    let process = i32::try_from(child).ok().and_then(Pid::from_raw).unwrap();
    kill_process(process, Signal::STOP).unwrap();
    eventually("it stands still", || {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
        stat.rsplit(") ").next().unwrap().starts_with('T')
    });
}
