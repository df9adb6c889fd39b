//! The reserve: disk space that is released when the disk is full.
//!
//! sled can't even be opened on a full disk. So a file keeps some room; where the disk is full it is given up, which is
//! enough to read what is there and to say so. Nothing is sent before it is back: what could not be recorded would be
//! sent again.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// How much room is kept.
const BYTES: u64 = 8 * 1024 * 1024;
const NAME: &str = "reserve";

/// Keeps the room; false where the disk has not so much.
pub(super) fn keep(dir: &Path) -> io::Result<bool> {
    let path = dir.join(NAME);
    if fs::metadata(&path).is_ok_and(|found| found.len() >= BYTES) {
        return Ok(true);
    }
    let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
    match fallocate(&file, FallocateFlags::empty(), 0, BYTES) {
        Ok(()) => Ok(true),
        Err(Errno::NOSPC | Errno::DQUOT) => {
            drop(file);
            give_up(dir)?;
            Ok(false)
        }
        // A file system that can't keep room for a file.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Gives the room up in the state folder `dir`; false where none was kept.
pub(in crate::store) fn give_up(dir: &Path) -> io::Result<bool> {
    match fs::remove_file(dir.join(NAME)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
