//! Opens sled and reads from it.
//!
//! sled 0.34.7 writes its snapshot to `snap.LSN.generating` and renames it when it is on disk; the one before is removed
//! after that. It takes the last of all names that begin with `snap.` for the snapshot, finished or not, so one that a full
//! disk or a kill cut short makes it refuse a store that is whole. An unfinished one holds nothing that the log and the
//! snapshot before it don't, so it is removed before sled looks; likewise the settings of a store that was never written.

use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::store::ErrorKind;

pub(super) struct Sled {
    pub(super) tree: sled::Db,
    pub(super) file: File,
}

impl Sled {
    /// sled's page cache, in bytes; its own default is 1 GiB.
    const CACHE_BYTES: u64 = 4 * 1024 * 1024;
    /// sled's own threads hold a file for a moment after it was closed, and until then they may cut its end off.
    const CLOSING_MAX: Duration = Duration::from_secs(5);
    const CLOSING_PAUSE: Duration = Duration::from_millis(2);

    pub(super) fn open(path: &Path) -> Result<Self, ErrorKind> {
        let config = sled::Config::new().path(path).cache_capacity(Self::CACHE_BYTES);
        let begun = Instant::now();
        let tree = loop {
            remove_unfinished(path).map_err(ErrorKind::from_io)?;
            match catch_panic(|| config.open()) {
                Err(ErrorKind::InUse { .. }) if begun.elapsed() < Self::CLOSING_MAX => {
                    thread::sleep(Self::CLOSING_PAUSE)
                }
                opened => break opened?,
            }
        };
        let file = File::open(path.join("db")).map_err(ErrorKind::from_io)?;
        Ok(Self { tree, file })
    }
}

/// Removes what sled did not finish and would stumble over.
fn remove_unfinished(path: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("snap.") && name.ends_with(".generating")) {
            ignore_not_found(fs::remove_file(path.join(name)))?;
        }
    }
    let was_never_written = fs::metadata(path.join("db")).map_or(true, |found| found.len() == 0);
    if was_never_written { ignore_not_found(fs::remove_file(path.join("conf"))) } else { Ok(()) }
}

/// Runs a sled call; a panic inside it (a damaged file makes it panic) becomes an error.
pub(super) fn catch_panic<T>(call: impl FnOnce() -> sled::Result<T>) -> Result<T, ErrorKind> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(ErrorKind::from_sled(error)),
        Err(_) => Err(ErrorKind::Damaged("the storage library gave up on it".into())),
    }
}

/// What is not there needs no removal.
pub(in crate::store) fn ignore_not_found(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}
