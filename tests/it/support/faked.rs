//! The wall clock of a real process, which a test sets while it runs (libfaketime). Time passes as fast as it does, and only
//! the wall clock is another: what a process sleeps and what a file's times are stays true.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::World;

/// A clock for processes that are started with it.
pub(crate) struct Faked {
    library: PathBuf,
    stamp: PathBuf,
}

impl Faked {
    /// A clock that says `time` (`2027-06-10 05:59:58`, UTC) when a process begins; none where this machine has not what it
    /// takes, which only a machine without duties may.
    pub(crate) fn at(world: &World, time: &str) -> Option<Self> {
        let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
        let library = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|file| file.is_file());
        assert!(library.is_some() || std::env::var_os("CI").is_none(), "faketime must be there in CI");
        let clock = Self { library: library?, stamp: world.dir().join("clock") };
        clock.set(time);
        Some(clock)
    }

    /// Sets it, for all processes that run.
    pub(crate) fn set(&self, time: &str) {
        // In one go: a process may look at any moment.
        let next = self.stamp.with_extension("next");
        fs::write(&next, format!("@{time}\n")).unwrap();
        fs::rename(next, &self.stamp).unwrap();
    }

    /// Has a process go by it.
    pub(crate) fn tell(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", &self.library)
            .env("FAKETIME_TIMESTAMP_FILE", &self.stamp)
            .env("TZ", "UTC")
            .envs(["FAKETIME_NO_CACHE", "FAKETIME_DONT_FAKE_MONOTONIC", "NO_FAKE_STAT"].map(|name| (name, "1")));
    }
}
