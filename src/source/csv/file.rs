//! Opens a file that does not change any more.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::fs::OFlags;

use super::error::CsvErrorKind;
use crate::clock::Clock;

/// How long a file is waited for beyond ten times its settling time.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a file that has not settled is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What shows that a file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    /// The size in bytes.
    pub(super) size: u64,
    modified: (i64, i64),
    /// Whether everybody on this machine may write it.
    pub(super) is_open_to_all: bool,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            is_open_to_all: metadata.mode() & 0o002 != 0,
        }
    }

    /// The stamp of what is at `path` now; `None` where nothing can be seen there.
    pub(super) fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }

    /// When the file was written; `None` for a time that is none.
    pub(super) fn written(&self) -> Option<Timestamp> {
        let nanos = i32::try_from(self.modified.1).unwrap_or(0);
        Timestamp::new(self.modified.0, nanos).ok()
    }

    /// How long ago the file was written; `None` where its time lies ahead.
    fn age(&self, clock: &Clock) -> Option<Duration> {
        Duration::try_from(clock.now().duration_since(self.written()?)).ok()
    }
}

/// Opens a file once it has stood still for `settle`, or at once where it already has.
///
/// A file whose time lies ahead (a share with another clock) is settled when it has been seen unchanged for so long.
pub(super) fn open_settled(path: &Path, settle: Duration, clock: &Clock) -> Result<(File, Stamp), CsvErrorKind> {
    let begun = Instant::now();
    let patience = settle.saturating_mul(10).saturating_add(PATIENCE);
    let (mut file, mut stamp) = open(path)?;
    let mut unchanged_since = begun;
    while stamp.age(clock).is_none_or(|age| age < settle) && unchanged_since.elapsed() < settle {
        if begun.elapsed() > patience {
            return Err(CsvErrorKind::Unsettled { waited_seconds: begun.elapsed().as_secs() });
        }
        std::thread::sleep(LOOK_EVERY.min(settle));
        let now = open(path)?;
        if now.1 != stamp {
            unchanged_since = Instant::now();
        }
        (file, stamp) = now;
    }
    Ok((file, stamp))
}

/// Opens a regular file; refuses a pipe or a device without waiting for it.
fn open(path: &Path) -> Result<(File, Stamp), CsvErrorKind> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).expect("two low bits fit");
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CsvErrorKind::Missing,
        _ => fs::metadata(path).ok().and_then(|metadata| refused(&metadata)).unwrap_or(CsvErrorKind::Unreadable(error)),
    })?;
    let metadata = file.metadata().map_err(CsvErrorKind::Unreadable)?;
    match refused(&metadata) {
        Some(kind) => Err(kind),
        None => Ok((file, Stamp::of(&metadata))),
    }
}

fn refused(metadata: &Metadata) -> Option<CsvErrorKind> {
    let file_type = metadata.file_type();
    let what = match () {
        () if file_type.is_file() => return None,
        () if file_type.is_dir() => return Some(CsvErrorKind::Folder),
        () if file_type.is_fifo() => "a pipe",
        () if file_type.is_socket() => "a socket",
        () => "a device",
    };
    Some(CsvErrorKind::NotAFile(what))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use jiff::SignedDuration;

    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn fault_92_only_a_regular_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("plain"), "a").unwrap();
        symlink(path("plain"), path("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RUSR).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        for (name, refused) in [
            ("plain", None),
            ("link", None),
            ("", Some("it is a folder, not a file; `rosterd reload` takes the folder of a job as an inbox")),
            ("pipe", Some("it is a pipe, not a file")),
            ("socket", Some("it is a socket, not a file")),
            ("none", Some("it does not exist; check `path`, and that the share is mounted")),
        ] {
            let opened = open_settled(&path(name), NOW, &Clock::system());
            assert_eq!(opened.err().map(|kind| kind.to_string()).as_deref(), refused, "{name}");
        }
        let device = open_settled(Path::new("/dev/null"), NOW, &Clock::system());
        assert_eq!(device.err().unwrap().to_string(), "it is a device, not a file");
    }

    #[test]
    fn a_file_of_yesterday_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        fs::write(&path, "a").unwrap();
        let clock = Clock::fixed(Clock::system().now());
        clock.advance(SignedDuration::from_hours(24));
        open_settled(&path, Duration::from_secs(3600), &clock).unwrap();
    }

    #[test]
    fn fault_82_a_young_file_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        fs::write(&path, "a").unwrap();
        let settle = Duration::from_millis(150);
        let clock = Clock::fixed("2020-01-01T00:00:00Z".parse().unwrap());
        let begun = Instant::now();
        open_settled(&path, settle, &clock).unwrap();
        assert!(begun.elapsed() >= settle, "its time lies ahead of the clock, so it has to be seen standing still");
    }
}
