//! Files of a state folder, by their names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::ignore_not_found;
use crate::disk;

pub(in crate::store) fn find(dir: &Path, name: &str) -> io::Result<Option<PathBuf>> {
    let path = dir.join(name);
    Ok(path.try_exists()?.then_some(path))
}

pub(in crate::store) fn take(dir: &Path, name: &str, path: &Path) -> io::Result<()> {
    let place = dir.join(name);
    place.parent().map_or(Ok(()), disk::lay_down)?;
    disk::rename(path, &place)
}

pub(in crate::store) fn share(dir: &Path, name: &str, second: &str) -> io::Result<()> {
    let place = dir.join(second);
    ignore_not_found(fs::remove_file(&place))?;
    fs::hard_link(dir.join(name), &place)?;
    place.parent().map_or(Ok(()), disk::sync_folder)
}
