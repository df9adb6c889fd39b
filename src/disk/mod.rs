//! Durable writes of files and folders: everything that must survive a power cut goes through here, and no other code
//! calls sync.
//!
//! Invariants:
//! - The content of a file is durable after `sync` or `sync_data` of it, its name after `sync_folder` of its folder; `replace`
//!   and `rename` see to that themselves.
//! - No other module syncs anything (`clippy.toml`), so that a test sees every sync: it makes a power cut by forgetting what
//!   was not synced, see `forgetful`.
//!
//! Rejected: testing by real power cuts alone. A kernel writes most things soon whether it is asked or not, so a missing
//! sync passes such tests again and again.

#[cfg(test)]
pub(crate) mod forgetful;
#[cfg(test)]
mod forgotten;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{fdatasync, fsync};
use rustix::io::retry_on_intr;

/// Puts an open file, or the names in an open folder, on the disk.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(crate) fn sync(file: impl AsFd) -> io::Result<()> {
    retry_on_intr(|| fsync(&file))?;
    note(file);
    Ok(())
}

/// The same without times and permissions.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(crate) fn sync_data(file: impl AsFd) -> io::Result<()> {
    retry_on_intr(|| fdatasync(&file))?;
    note(file);
    Ok(())
}

/// Puts the names in a folder on the disk.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    sync(File::open(path)?)
}

/// Writes a file, whole or not at all, for its owner only: in the place of the one that has its name, where there is one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path)?;
    let mut file = tempfile::NamedTempFile::new_in(&folder)?;
    file.write_all(bytes)?;
    sync(file.as_file())?;
    file.persist(path)?;
    sync_folder(&folder)
}

/// Gives what is on the disk another name there.
pub(crate) fn rename(old: &Path, new: &Path) -> io::Result<()> {
    fs::rename(old, new)?;
    sync_folder(&folder_of(new)?)
}

fn folder_of(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    Ok(path.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned))
}

/// Makes a folder for its owner only, and those above it, where there are none, and puts their names on the disk.
pub(crate) fn lay_down(folder: &Path) -> io::Result<()> {
    let above = folder.parent().unwrap_or(folder);
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => sync_folder(above),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && above != folder => {
            lay_down(above)?;
            lay_down(folder)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
fn note(file: impl AsFd) {
    forgetful::note(file);
}

#[cfg(not(test))]
#[inline(always)]
fn note(_: impl AsFd) {}
