//! Removes old filed files, and lists, reads and replaces filed files.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use jiff::{SignedDuration, Timestamp};
use rustix::fs::{AtFlags, Dir, unlinkat};
use rustix::io::Errno;

use super::destination::Destination;
use super::filing::{REPORTS, UNFINISHED};
use super::folder::Folder;
use super::name::{filed_at, in_order, shown};

/// What a sweep came to.
#[derive(Debug, Default)]
pub struct Swept {
    /// How many files went.
    pub removed: u64,
    /// What should have gone and could not, as its place in the inbox, and why.
    pub left: Vec<(String, io::Error)>,
}

impl Folder {
    /// Removes filed files that are older than `kept`, and unfinished ones. A file whose name does not begin with a
    /// time was put there by other people and stays. A file that can't be removed, such as a folder under the name of a
    /// file, does not stop the rest.
    pub fn sweep(&self, kept: SignedDuration, now: Timestamp) -> Swept {
        let mut swept = Swept::default();
        for shelf in Destination::ALL {
            let names = match self.names_on(shelf) {
                Ok(names) => names,
                Err(error) => {
                    swept.left.push((shelf.name().to_owned(), error));
                    continue;
                }
            };
            for name in names {
                let unfinished = name.strip_prefix(UNFINISHED);
                let filed = filed_at(unfinished.unwrap_or(&name));
                if !filed.is_some_and(|at| unfinished.is_some() || now.duration_since(at) >= kept) {
                    continue;
                }
                match self.remove_filed(shelf, &name) {
                    Ok(()) => swept.removed += 1,
                    Err(error) => swept.left.push((format!("{}/{}", shelf.name(), shown(OsStr::new(&name))), error)),
                }
            }
        }
        swept
    }

    /// The names of what was filed, reports left out, and those of the reports.
    pub fn filed(&self, shelf: Destination) -> io::Result<(Vec<String>, Vec<String>)> {
        let mut names = self.names_on(shelf)?;
        names.retain(|name| filed_at(name).is_some());
        Ok(names.into_iter().partition(|name| !REPORTS.iter().any(|end| name.ends_with(end))))
    }

    /// Opens what was filed, without following a link and without waiting for a pipe; none where it is no regular file.
    pub fn open_filed(&self, shelf: Destination, name: &str) -> io::Result<Option<File>> {
        let file = match self.read_in(&self.shelf(shelf)?, OsStr::new(name)) {
            Ok(file) => file,
            Err(error) => {
                // A link, a socket, or gone meanwhile.
                let none = matches!(errno(&error), Some(Errno::LOOP | Errno::NXIO | Errno::NOENT));
                return if none { Ok(None) } else { Err(error) };
            }
        };
        Ok(file.metadata()?.is_file().then_some(file))
    }

    /// Removes what was filed.
    pub fn remove_filed(&self, shelf: Destination, name: &str) -> io::Result<()> {
        Ok(unlinkat(self.shelf(shelf)?, name, AtFlags::empty())?)
    }

    /// Puts another content in place of the file that was filed, for the same people to read.
    pub fn replace_filed(&self, shelf: Destination, name: &str, bytes: &mut dyn io::Read) -> io::Result<()> {
        let file = self.open_filed(shelf, name)?.ok_or(io::ErrorKind::NotFound)?;
        self.put_on(shelf, name, file.metadata()?.mode(), bytes)
    }

    /// What lies in a folder for what is done; nothing where something else has its name.
    fn names_on(&self, shelf: Destination) -> io::Result<Vec<String>> {
        let dir = match self.shelf(shelf) {
            Err(error) if matches!(errno(&error), Some(Errno::NOTDIR | Errno::LOOP)) => return Ok(Vec::new()),
            dir => dir?,
        };
        let mut names = Vec::new();
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            names.extend(OsStr::from_bytes(entry.file_name().to_bytes()).to_str().map(str::to_owned));
        }
        names.sort_by(|one, other| in_order(one.as_ref(), other.as_ref()));
        Ok(names)
    }
}

fn errno(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw_os_error)
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
