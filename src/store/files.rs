//! Files of a state, and documents that belong to who has its store: contents that are too large for a row.
//!
//! ```text
//! a file of this machine ─▶ take_file ─┬▶ embedded   the same file, under its name in the state folder
//!                                      └▶ postgres   parts of 1 MiB, then a row that names them
//! ```
//!
//! Invariants:
//! - A file is there as a whole or not at all, and is durable when a write returns.
//! - Only who has the store writes: what a worker whose lease is over writes late is refused.
//! - No file is ever in memory as a whole.
//!
//! Rejected: files as rows. A file may be half a gigabyte, and a row is read at once.

use std::io;
use std::path::{Path, PathBuf};

use super::embedded::{documents, files};
use super::kept::{HoldsOfPeople, KeptForm, declared, moves, people};
use super::{Home, Store};

impl Home {
    /// Where a file can be read: `scratch`, where it does not lie in a folder of this machine. `None` where there is none of
    /// that name.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_variables, reason = "a file of a folder is read where it lies")
    )]
    pub fn file(&self, name: &str, scratch: &Path) -> io::Result<Option<PathBuf>> {
        match self {
            Self::Folder(dir) => files::find(dir, name),
            #[cfg(feature = "postgres")]
            Self::Database(account) => Ok(account.fetch_file(name, scratch)?.then(|| scratch.to_owned())),
        }
    }

    /// Reads a file that fits memory; `None` where there is none of that name.
    pub fn read_file(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Folder(dir) => documents::read(dir, name),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.read_file(name),
        }
    }

    /// The last parts of the names of the files that begin with `folder` and a slash, in no order.
    pub fn files(&self, folder: &str) -> io::Result<Vec<String>> {
        match self {
            Self::Folder(dir) => documents::list(dir, folder),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.files(folder),
        }
    }

    /// The names of all that is kept in a form, in their order.
    pub(super) fn names(&self, form: KeptForm) -> io::Result<Vec<String>> {
        let mut names = match self {
            Self::Folder(dir) => files::walk(dir, &["paused", "inbox"], &["notices.json"])?,
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.names(form)?,
        };
        names.retain(|name| moves(name, form));
        names.sort();
        Ok(names)
    }
}

impl Store {
    /// Takes a file of this machine that is on its disk, and lies in the spill folder, into the state: it goes from where it
    /// is, and takes the place of the one that has the name.
    pub fn take_file(&self, name: &str, path: &Path) -> io::Result<()> {
        declared(name, KeptForm::File)?;
        match self.home() {
            Home::Folder(dir) => files::take(dir, name, path),
            #[cfg(feature = "postgres")]
            Home::Database(account) => account.take_file(name, path),
        }
    }

    /// Gives a file a second name, in the place of the one that has it.
    pub fn share_file(&self, name: &str, second: &str) -> io::Result<()> {
        declared(second, KeptForm::File)?;
        match self.home() {
            Home::Folder(dir) => files::share(dir, name, second),
            #[cfg(feature = "postgres")]
            Home::Database(account) => account.share_file(name, second),
        }
    }

    /// Removes a file, where it is.
    pub fn drop_file(&self, name: &str) -> io::Result<()> {
        match self.home() {
            Home::Folder(dir) => documents::remove(dir, name),
            #[cfg(feature = "postgres")]
            Home::Database(account) => account.drop_file(name),
        }
    }

    /// Removes what was written of files of a folder, and is no file.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "files of a folder are renamed"))]
    pub fn sweep_files(&self, folder: &str) -> io::Result<()> {
        match self.home() {
            // Files are renamed there.
            Home::Folder(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Home::Database(account) => account.sweep_files(folder),
        }
    }

    /// Writes a document, in the place of the one that has its name.
    pub fn put_document(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        declared(name, KeptForm::Document)?;
        match self.home() {
            Home::Folder(dir) => documents::replace(dir, name, bytes),
            #[cfg(feature = "postgres")]
            Home::Database(account) => account.put_document(name, bytes),
        }
    }

    /// Removes a document, where it is.
    pub fn drop_document(&self, name: &str) -> io::Result<()> {
        match self.home() {
            Home::Folder(dir) => documents::remove(dir, name),
            #[cfg(feature = "postgres")]
            Home::Database(account) => account.drop_document(name),
        }
    }

    /// Everything that is kept beside the rows and holds something of people, with what that is.
    pub fn kept_of_people(&self) -> io::Result<Vec<(String, HoldsOfPeople)>> {
        let mut found = Vec::new();
        for form in [KeptForm::Document, KeptForm::File] {
            for name in self.home().names(form)? {
                let people = people(&name, form);
                found.push((name, people));
            }
        }
        Ok(found)
    }
}
