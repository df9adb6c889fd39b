//! Puts one closed store in the place of another, so that a process that ends in between leaves one of the two.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::crash::point;
use crate::disk;
use crate::store::embedded::sled_db::ignore_not_found;

/// Puts another store, closed and on disk, in the place of a closed one.
pub(in crate::store::embedded) fn swap(dir: &Path, other: &Path) -> io::Result<()> {
    let (_, fresh, aside) = paths(dir);
    ignore_not_found(fs::remove_dir_all(&fresh))?;
    ignore_not_found(fs::remove_dir_all(&aside))?;
    disk::rename(other, &fresh)?;
    exchange(dir).or_else(|error| recover(dir).and(Err(error)))?;
    discard(dir)
}

/// Moves the store aside and the copy into its place.
pub(super) fn exchange(dir: &Path) -> io::Result<()> {
    let (path, fresh, aside) = paths(dir);
    ignore_not_found(fs::rename(&path, &aside))?;
    point("store: the old one is aside");
    fs::rename(&fresh, &path)
}

/// Removes the store that was moved aside.
pub(super) fn discard(dir: &Path) -> io::Result<()> {
    let (_, _, aside) = paths(dir);
    disk::sync_folder(dir)?;
    point("store: the copy is in its place");
    ignore_not_found(fs::remove_dir_all(&aside))
}

/// Completes a rewrite that another process did not finish: the copy counts only if the old store was already moved
/// away.
pub(in crate::store::embedded) fn recover(dir: &Path) -> io::Result<()> {
    let (path, fresh, aside) = paths(dir);
    if aside.exists() && fresh.exists() && !path.exists() {
        disk::rename(&fresh, &path)?;
    }
    ignore_not_found(fs::remove_dir_all(&fresh))?;
    ignore_not_found(fs::remove_dir_all(dir.join(RESET)))?;
    if path.exists() { ignore_not_found(fs::remove_dir_all(&aside)) } else { Ok(()) }
}

/// Where a store lies that is made from nothing, until it takes the old one's place.
pub(in crate::store::embedded) const RESET: &str = "store.new";

/// The store, the copy that is written, and the old store on its way out.
pub(super) fn paths(dir: &Path) -> (PathBuf, PathBuf, PathBuf) {
    (dir.join("store"), dir.join("store.copy"), dir.join("store.old"))
}
