//! What was filed and is old, or is about a person.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, unlinkat};

use super::folder::Folder;
use super::shelf::{REPORTS, Shelf, TIME, UNFINISHED};

/// How many characters the time in front of a name has.
const TIME_CHARACTERS: usize = 16;

impl Folder {
    /// Removes what was filed so long ago, and what was never finished; returns how many files went. What has no time in
    /// front of its name was put there by somebody else and stays.
    pub fn sweep(&self, kept: SignedDuration, now: Timestamp) -> io::Result<u64> {
        let mut removed = 0;
        for shelf in Shelf::ALL {
            for name in self.names_on(shelf)? {
                let unfinished = name.strip_prefix(UNFINISHED);
                let filed = filed_at(unfinished.unwrap_or(&name));
                if filed.is_some_and(|at| unfinished.is_some() || now.duration_since(at) >= kept) {
                    self.remove_filed(shelf, &name)?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }

    /// The files that were filed, reports left out, and the other way round.
    pub fn filed(&self, shelf: Shelf) -> io::Result<(Vec<String>, Vec<String>)> {
        let mut names = self.names_on(shelf)?;
        names.retain(|name| filed_at(name).is_some());
        Ok(names.into_iter().partition(|name| !REPORTS.iter().any(|end| name.ends_with(end))))
    }

    /// Opens what was filed, without following a link.
    pub fn open_filed(&self, shelf: Shelf, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(openat(self.shelf(shelf)?, name, flags, Mode::empty())?.into())
    }

    /// Removes what was filed.
    pub fn remove_filed(&self, shelf: Shelf, name: &str) -> io::Result<()> {
        Ok(unlinkat(self.shelf(shelf)?, name, AtFlags::empty())?)
    }

    /// Puts another content in place of what was filed, for the same people to read.
    pub fn replace_filed(&self, shelf: Shelf, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mode = self.open_filed(shelf, name)?.metadata()?.mode();
        self.put_on(shelf, name, mode, &mut &*bytes)
    }

    fn names_on(&self, shelf: Shelf) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(self.shelf(shelf)?)? {
            let entry = entry?;
            names.extend(OsStr::from_bytes(entry.file_name().to_bytes()).to_str().map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }
}

/// When a file of that name was filed.
fn filed_at(name: &str) -> Option<Timestamp> {
    let time = name.get(..TIME_CHARACTERS).filter(|_| name[TIME_CHARACTERS..].starts_with('_'))?;
    let time = DateTime::strptime(TIME, time).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_filed_has_an_age() {
        for (name, filed) in [
            ("20261121T093015Z_staff.csv", Some("2026-11-21T09:30:15Z")),
            ("20261121T093015Z_2_staff.csv.report.html", Some("2026-11-21T09:30:15Z")),
            ("20261121T093015Z-staff.csv", None),
            ("20261321T093015Z_staff.csv", None),
            ("staff.csv", None),
            ("20261121T09301", None),
        ] {
            assert_eq!(filed_at(name), filed.map(|at| at.parse().unwrap()), "{name}");
        }
    }
}
