//! The mark of a state folder: a file that a copy of the folder has another one of.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::store::mark::Mark;

const FILE: &str = "origin";

pub(in crate::store) fn leave(dir: &Path, number: u64) -> io::Result<Mark> {
    let mut file = File::options().write(true).create(true).truncate(false).mode(0o600).open(dir.join(FILE))?;
    // As long as the one before: a file that was cut short by a kill is no mark.
    file.write_all(format!("{number:020}").as_bytes())?;
    Ok(of(&file.metadata()?))
}

pub(in crate::store) fn find(dir: &Path) -> io::Result<Option<(Option<u64>, Mark)>> {
    let path = dir.join(FILE);
    let mut text = String::new();
    match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?.read_to_string(&mut text)?,
    };
    Ok(Some((text.trim().parse().ok(), of(&fs::metadata(&path)?))))
}

fn of(found: &fs::Metadata) -> Mark {
    Mark { place: found.ino(), changed: (found.ctime(), found.ctime_nsec()) }
}
