//! Documents of a state folder: files in it, by their names.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::crash::point;
use crate::disk;

pub(in crate::store) fn read(dir: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    match fs::read(dir.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

pub(in crate::store) fn replace(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let path = dir.join(name);
    lay_down_above(&path)?;
    disk::replace(&path, bytes)
}

/// The name comes first: where a kill or a full disk keeps the content from it, a document without content is there.
pub(in crate::store) fn create(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<bool> {
    let path = dir.join(name);
    let folder = lay_down_above(&path)?;
    let mut file = match File::options().write(true).create_new(true).mode(0o600).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        file => file?,
    };
    point("document: made");
    file.write_all(bytes)?;
    disk::sync(&file)?;
    disk::sync_folder(folder)?;
    point("document: on disk");
    Ok(true)
}

pub(in crate::store) fn remove(dir: &Path, name: &str) -> io::Result<()> {
    let path = dir.join(name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.and_then(|()| path.parent().map_or(Ok(()), disk::sync_folder)),
    }
}

pub(in crate::store) fn list(dir: &Path, folder: &str) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(dir.join(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string().ok());
    }
    Ok(names)
}

fn lay_down_above(path: &Path) -> io::Result<&Path> {
    let folder = path.parent().expect("a name in a folder");
    disk::lay_down(folder).map(|()| folder)
}
