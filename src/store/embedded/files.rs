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

/// The names of these files, and of those in these folders and below them.
pub(in crate::store) fn walk(dir: &Path, folders: &[&str], names: &[&str]) -> io::Result<Vec<String>> {
    let mut found: Vec<String> =
        names.iter().filter(|name| dir.join(name).is_file()).map(|name| (*name).to_owned()).collect();
    let mut folders: Vec<String> = folders.iter().map(|name| (*name).to_owned()).collect();
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(dir.join(&folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let name = format!("{folder}/{name}");
            if entry.file_type()?.is_dir() { folders.push(name) } else { found.push(name) }
        }
    }
    Ok(found)
}
