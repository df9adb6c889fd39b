//! Moves finished files to their folders.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, fchmod, fchown, fstat, mkdirat, openat, renameat, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::destination::Destination;
use super::folder::Folder;
use super::name::TIME;
use super::stamp::Stamp;
use crate::disk;

/// Where one file goes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Filing {
    /// The folder.
    pub shelf: Destination,
    /// The file's name in the inbox, as bytes.
    pub name: Vec<u8>,
    /// What it looked like there.
    pub stamp: Stamp,
    /// Its name in the folder.
    pub filed: String,
    /// Its permissions.
    pub mode: u32,
}

/// The bit of a folder whose group is that of what is made in it.
pub(super) const SETGID: u32 = 0o2000;
/// What a folder for what is done takes over from the inbox: its group, who may look into it.
const TAKEN_OVER: u32 = SETGID | 0o050;
/// How many names are tried for one file.
const NAMES_MAX: u32 = 10_000;
/// What the name of a report adds to that of its file.
pub(super) const REPORTS: [&str; 2] = [".report.csv", ".report.html"];
/// What the name of a file begins with that is still being written.
pub(super) const UNFINISHED: &str = ".rosterd-";

impl Filing {
    /// The file's name in the inbox.
    pub fn in_inbox(&self) -> &OsStr {
        OsStr::from_bytes(&self.name)
    }
}

impl Folder {
    /// Opens a folder for what is done, and makes it where there is none, open to those who may use the inbox for
    /// reading.
    pub(super) fn shelf(&self, shelf: Destination) -> io::Result<OwnedFd> {
        let made = match mkdirat(self, shelf.name(), Mode::RWXU) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error.into()),
        };
        let dir = self.existing(shelf)?;
        if made {
            let stat = fstat(self)?;
            self.hand_over(&dir, 0o700 | stat.st_mode & TAKEN_OVER)?;
            disk::sync(self)?;
        }
        Ok(dir)
    }

    /// Opens a folder for what is done.
    pub(super) fn existing(&self, shelf: Destination) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(self, shelf.name(), flags, Mode::empty())?)
    }

    /// A name for a file that is done, which neither it nor its reports would share with anything.
    pub fn free_name(&self, shelf: Destination, at: Timestamp, name: &str) -> io::Result<String> {
        let dir = self.shelf(shelf)?;
        let time = at.to_zoned(TimeZone::UTC).strftime(TIME).to_string();
        (1..NAMES_MAX)
            .map(|number| if number == 1 { format!("{time}_{name}") } else { format!("{time}_{number}_{name}") })
            .find(|filed| [""].iter().chain(&REPORTS).all(|end| stamp_in(&dir, &format!("{filed}{end}")).is_none()))
            .ok_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// Moves a file to its place, or puts the copy there where the file is another by now. May be said again.
    pub fn file_away(&self, filing: &Filing, copy: impl FnOnce() -> io::Result<Option<PathBuf>>) -> io::Result<()> {
        let dir = self.shelf(filing.shelf)?;
        let is_ours = |stamp: Option<Stamp>| stamp.is_some_and(|stamp| stamp.same_file(&filing.stamp));
        match stamp_in(&dir, &filing.filed) {
            Some(_) if !is_ours(self.stamp(filing.in_inbox())) => return Ok(()),
            Some(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            None => {}
        }
        if is_ours(self.stamp(filing.in_inbox())) {
            rename_new(self, filing.in_inbox(), &dir, OsStr::new(&filing.filed))?;
            if is_ours(stamp_in(&dir, &filing.filed)) {
                disk::sync(&dir)?;
                return disk::sync(self);
            }
            // Another file took the name in the last moment: it goes back, and is read in its turn.
            rename_new(&dir, OsStr::new(&filing.filed), self, filing.in_inbox())?;
        }
        match copy()? {
            Some(copy) => self.put(filing, "", &mut File::open(copy)?),
            None => Ok(()),
        }
    }

    /// Removes a file that is done and not kept.
    pub fn remove(&self, filing: &Filing) -> io::Result<()> {
        if self.stamp(filing.in_inbox()).is_some_and(|stamp| stamp.same_file(&filing.stamp)) {
            unlinkat(self, filing.in_inbox(), AtFlags::empty())?;
            disk::sync(self)?;
        }
        Ok(())
    }

    /// Writes a file beside the one that is done, its name with `end` behind it, for those to read who may read that one.
    pub fn put(&self, filing: &Filing, end: &str, bytes: &mut dyn io::Read) -> io::Result<()> {
        self.put_on(filing.shelf, &format!("{}{end}", filing.filed), filing.mode, bytes)
    }

    pub(super) fn put_on(&self, shelf: Destination, name: &str, mode: u32, bytes: &mut dyn io::Read) -> io::Result<()> {
        let dir = self.shelf(shelf)?;
        let (unfinished, file) = begin(&dir, name)?;
        let written = self.write(file, mode, bytes).and_then(|()| {
            renameat(&dir, &unfinished, &dir, name)?;
            disk::sync(&dir)
        });
        if written.is_err() {
            // An unfinished copy only takes up space; where even this removal fails, the cleanup finds it.
            let _ = unlinkat(&dir, &unfinished, AtFlags::empty());
        }
        written
    }

    fn write(&self, mut file: File, mode: u32, bytes: &mut dyn io::Read) -> io::Result<()> {
        io::copy(bytes, &mut file)?;
        file.flush()?;
        self.hand_over(&file, 0o600 | mode & 0o064)?;
        disk::sync(&file)
    }

    /// Gives something new the inbox's group, where this process may, and these permissions.
    fn hand_over(&self, new: &impl AsFd, mode: u32) -> io::Result<()> {
        let group = Gid::from_raw(fstat(self)?.st_gid);
        // A process that may not do this leaves its own group; in that case the group is right only if the folder has
        // its setgid bit.
        let _ = fchown(new, None, Some(group));
        let set = fchmod(new, Mode::from_raw_mode(mode));
        // A service may be kept from setting this bit. The group is given by hand above, so it can do without.
        let set = if set == Err(Errno::PERM) { fchmod(new, Mode::from_raw_mode(mode & !SETGID)) } else { set };
        match set {
            // Shares of other systems have permissions of their own.
            Ok(()) | Err(Errno::PERM | Errno::NOTSUP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Makes a file to be written and renamed to `name`; what has its name already goes, or, where it is a folder, is passed by.
fn begin(dir: &OwnedFd, name: &str) -> io::Result<(String, File)> {
    for number in 1..NAMES_MAX {
        let unfinished =
            if number == 1 { format!("{UNFINISHED}{name}") } else { format!("{UNFINISHED}{name}.{number}") };
        match unlinkat(dir, &unfinished, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR | Errno::PERM) => continue,
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        return Ok((unfinished.clone(), openat(dir, &unfinished, flags, Mode::RUSR | Mode::WUSR)?.into()));
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn stamp_in(dir: &OwnedFd, name: &str) -> Option<Stamp> {
    statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| Stamp::of_stat(&stat))
}

/// Renames to a name that nothing has. Shares that can't promise that are asked first.
fn rename_new(from: &impl AsFd, old: &OsStr, to: &impl AsFd, new: &OsStr) -> io::Result<()> {
    match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            if statat(to, new, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Ok(renameat(from, old, to, new)?)
        }
        renamed => Ok(renamed?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_newer_file_is_not_removed_with_the_one_that_is_done() {
        for is_newer in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("staff.csv");
            fs::write(&path, "old").unwrap();
            let folder = Folder::open(dir.path()).unwrap();
            let stamp = folder.list().unwrap().remove(0).stamp;
            let name = b"staff.csv".to_vec();
            let filing = Filing { shelf: Destination::Processed, name, stamp, filed: "done.csv".into(), mode: 0o640 };
            if is_newer {
                fs::write(dir.path().join("new"), "new").unwrap();
                fs::rename(dir.path().join("new"), &path).unwrap();
            }
            folder.remove(&filing).unwrap();
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), is_newer.then_some("new"));
        }
    }
}
