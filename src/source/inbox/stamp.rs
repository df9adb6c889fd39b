//! The identity of a file: shows that it has changed, or is another one.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use jiff::Timestamp;
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};

use crate::clock::Clock;

/// What shows that a file has changed, or is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    device: u64,
    inode: u64,
    /// The size in bytes.
    pub size: u64,
    /// Seconds and nanoseconds of the last writing.
    modified: (i64, i64),
    /// The same of the last change of any kind: a program that sets an older time of writing can't set this one.
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of an open file.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    #[expect(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
    pub(super) fn of_stat(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (i64::from(stat.st_mtime), stat.st_mtime_nsec as i64),
            changed: (i64::from(stat.st_ctime), stat.st_ctime_nsec as i64),
        }
    }

    /// Whether this is the same file with the same content, whatever its name is by now. A share has another number on each
    /// machine that mounts it, so the device says nothing.
    pub fn same_file(&self, other: &Self) -> bool {
        (self.inode, self.size, self.modified) == (other.inode, other.size, other.modified)
    }

    /// When it came to lie here: its time of writing may be that of the machine that it came from.
    pub fn arrived(&self) -> Option<Timestamp> {
        let (seconds, nanos) = self.modified.max(self.changed);
        Timestamp::new(seconds, i32::try_from(nanos).ok()?).ok()
    }

    /// When it was last written.
    pub fn modified(&self) -> Option<Timestamp> {
        Timestamp::new(self.modified.0, i32::try_from(self.modified.1).ok()?).ok()
    }

    /// How long it has stood still; `None` where one of its times lies ahead.
    pub(super) fn age(&self, clock: &Clock) -> Option<Duration> {
        let last = self.modified.max(self.changed);
        let last = Timestamp::new(last.0, i32::try_from(last.1).unwrap_or(0)).ok()?;
        Duration::try_from(clock.now().duration_since(last)).ok()
    }
}
