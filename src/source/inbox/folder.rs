//! An open inbox and what lies in it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

use super::destination::Destination;
use super::error::Error;
use super::stamp::Stamp;

/// An open inbox.
pub struct Folder {
    dir: OwnedFd,
    path: PathBuf,
}

/// What earlier runs made of an inbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    #[default]
    Unused,
    /// They used it.
    Used,
    /// They read a file in its place.
    File,
}

/// Something in an inbox.
#[derive(Clone, Debug)]
pub struct InboxEntry {
    /// Its name.
    pub name: OsString,
    /// What it looked like.
    pub stamp: Stamp,
    /// What it is.
    pub what: What,
}

/// What something in an inbox is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A regular file with one name.
    File,
    /// A folder.
    Folder,
    /// Something that is never read, as the end of a sentence that begins with "it is".
    Refused(&'static str),
    /// A file that every user of this machine may change.
    OpenToAll,
}

impl Folder {
    /// Opens it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat(CWD, path, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOENT => Error::Missing(path.to_owned()),
            Errno::NOTDIR => Error::NotAFolder(path.to_owned()),
            error => Error::Unreadable { path: path.to_owned(), source: error.into() },
        })?;
        Ok(Self { dir, path: path.to_owned() })
    }

    /// Opens one of which earlier runs made this. It must look like it: an empty mount point is not an empty inbox.
    pub fn open_known(path: &Path, before: Before) -> Result<Self, Error> {
        let folder = Self::open(path)?;
        if before == Before::Unused || folder.is_marked() { Ok(folder) } else { Err(Error::Unmarked(path.to_owned())) }
    }

    /// Whether it was used as an inbox before: files that are done have their place in it.
    pub fn is_marked(&self) -> bool {
        self.stat(OsStr::new(Destination::Processed.name()))
            .is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }

    /// Everything in it but the two folders for what is done, in no order.
    pub fn list(&self) -> Result<Vec<InboxEntry>, Error> {
        let fail = |source: Errno| Error::Unreadable { path: self.path.clone(), source: source.into() };
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.dir).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." || Destination::ALL.iter().any(|shelf| name == shelf.name()) {
                continue;
            }
            // What went away meanwhile is not there.
            if let Some(stat) = self.stat(name) {
                entries.push(InboxEntry { name: name.to_owned(), stamp: Stamp::of_stat(&stat), what: What::of(&stat) });
            }
        }
        Ok(entries)
    }

    /// The stamp of what has that name now.
    pub fn stamp(&self, name: &OsStr) -> Option<Stamp> {
        self.stat(name).map(|stat| Stamp::of_stat(&stat))
    }

    /// Opens a file in it to be read, without following a link and without waiting for a pipe.
    pub(super) fn read(&self, name: &OsStr) -> io::Result<File> {
        self.read_in(self, name)
    }

    /// The same in a folder inside it.
    pub(super) fn read_in(&self, dir: &impl AsFd, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(openat(dir, name, flags, Mode::empty())?.into())
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn stat(&self, name: &OsStr) -> Option<Stat> {
        statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

impl What {
    /// What a file of this kind, with so many names and these permissions, is.
    pub(super) fn of(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if stat.st_nlink > 1 => {
                Self::Refused("a file that has a second name elsewhere (a hard link); drop a copy of it instead")
            }
            FileType::RegularFile if stat.st_mode & 0o002 != 0 => Self::OpenToAll,
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Refused("a link to something else; drop the file itself"),
            FileType::Fifo => Self::Refused("a pipe, not a file"),
            FileType::Socket => Self::Refused("a socket, not a file"),
            _ => Self::Refused("a device, not a file"),
        }
    }
}
