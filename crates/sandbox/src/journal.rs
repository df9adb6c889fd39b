//! The file that keeps the entities across restarts: one JSON document a line, replayed and rewritten at start.
//!
//! Each line is handed to the system before the write that made it is answered. A last line without its end was never
//! answered and is dropped; any other line that can't be read stops the start.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::Error;

const JOURNAL: &str = "journal.ndjson";
const LOCK: &str = "lock";

/// One line of a journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum JournalEntry {
    /// An entity of a resource, as it is from here on.
    Put(String, Value),
    /// An entity is gone.
    Gone(String, i64),
    /// The next id of a resource: ids of those who are gone are not given out again.
    Next(String, i64),
}

/// An open journal; its folder belongs to it alone.
pub(crate) struct Journal {
    file: File,
    _lock: File,
}

impl Journal {
    /// Opens the journal of a folder, makes folder and journal where there are none, and hands over every line.
    pub(crate) fn open(folder: &Path, mut replay: impl FnMut(JournalEntry)) -> Result<Self, Error> {
        let path = folder.join(JOURNAL);
        let failed = |source| Error::Data { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let lock = File::create(folder.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::InUse { path: folder.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let whole = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed(error)),
        };
        let lines = whole.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        for (index, line) in lines.enumerate() {
            replay(JournalEntry::read(line).ok_or_else(|| Error::Journal { path: path.clone(), line: index + 1 })?);
        }
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
        Ok(Self { file, _lock: lock })
    }

    /// Replaces the journal by one that has just these lines.
    #[expect(clippy::disallowed_methods, reason = "the stand-in shares nothing with the program")]
    pub(crate) fn rewrite(&mut self, folder: &Path, entries: impl Iterator<Item = JournalEntry>) -> Result<(), Error> {
        let path = folder.join(JOURNAL);
        let fresh: PathBuf = folder.join("journal.new");
        let write = || -> io::Result<File> {
            let mut writer = BufWriter::new(File::create(&fresh)?);
            for entry in entries {
                writer.write_all(entry.line().as_bytes())?;
            }
            writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(&fresh, &path)?;
            OpenOptions::new().append(true).open(&path)
        };
        self.file = write().map_err(|source| Error::Data { path: path.clone(), source })?;
        Ok(())
    }

    /// Appends lines; when this returns, the system has them.
    pub(crate) fn append(&mut self, entries: &[JournalEntry]) -> io::Result<()> {
        let lines: String = entries.iter().map(JournalEntry::line).collect();
        self.file.write_all(lines.as_bytes())
    }
}

impl JournalEntry {
    fn line(&self) -> String {
        let document = match self {
            Self::Put(resource, entity) => json!({ "in": resource, "put": entity }),
            Self::Gone(resource, id) => json!({ "in": resource, "gone": id }),
            Self::Next(resource, id) => json!({ "in": resource, "next": id }),
        };
        format!("{document}\n")
    }

    fn read(line: &[u8]) -> Option<Self> {
        let mut document: Value = serde_json::from_slice(line).ok()?;
        let resource = document.get("in")?.as_str()?.to_owned();
        if let Some(entity) = document.get_mut("put") {
            return Some(Self::Put(resource, entity.take()));
        }
        if let Some(id) = document.get("gone") {
            return Some(Self::Gone(resource, id.as_i64()?));
        }
        Some(Self::Next(resource, document.get("next")?.as_i64()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replayed(folder: &Path) -> Result<Vec<JournalEntry>, Error> {
        let mut entries = Vec::new();
        Journal::open(folder, |entry| entries.push(entry)).map(|_| entries)
    }

    #[test]
    fn what_was_appended_is_replayed() {
        let folder = tempfile::tempdir().unwrap();
        let entries = [
            JournalEntry::Put("staff".into(), json!({ "id": 7, "name": "Ana\nB" })),
            JournalEntry::Gone("staff".into(), 7),
            JournalEntry::Next("staff".into(), 8),
        ];
        Journal::open(folder.path(), |_| {}).unwrap().append(&entries).unwrap();
        assert_eq!(replayed(folder.path()).unwrap(), entries);
        let mut journal = Journal::open(folder.path(), |_| {}).unwrap();
        journal.rewrite(folder.path(), entries[2..].iter().cloned()).unwrap();
        journal.append(&entries[..1]).unwrap();
        drop(journal);
        assert_eq!(replayed(folder.path()).unwrap(), [entries[2].clone(), entries[0].clone()]);
    }

    #[test]
    fn a_torn_last_line_is_dropped_and_a_damaged_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(JOURNAL);
        fs::write(&path, "{\"in\":\"staff\",\"gone\":1}\n{\"in\":\"sta").unwrap();
        assert_eq!(replayed(folder.path()).unwrap(), [JournalEntry::Gone("staff".into(), 1)]);
        fs::write(&path, "{\"in\":\"staff\",\"gone\":1}\nnonsense\n{}\n").unwrap();
        assert!(matches!(replayed(folder.path()), Err(Error::Journal { line: 2, .. })));
    }

    #[test]
    fn a_journal_cut_anywhere_is_replayed_as_far_as_it_goes() {
        let folder = tempfile::tempdir().unwrap();
        let entries: Vec<JournalEntry> =
            (0..4).map(|id| JournalEntry::Put("staff".into(), json!({ "id": id, "name": "Zoë" }))).collect();
        let whole: Vec<u8> = entries.iter().map(JournalEntry::line).collect::<String>().into_bytes();
        for length in 0..=whole.len() {
            fs::write(folder.path().join(JOURNAL), &whole[..length]).unwrap();
            let lines = whole[..length].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(replayed(folder.path()).unwrap(), entries[..lines], "{length} bytes");
        }
    }

    #[test]
    fn a_folder_serves_one_sandbox() {
        let folder = tempfile::tempdir().unwrap();
        let first = Journal::open(folder.path(), |_| {}).unwrap();
        assert!(matches!(Journal::open(folder.path(), |_| {}), Err(Error::InUse { .. })));
        drop(first);
        assert!(Journal::open(folder.path(), |_| {}).is_ok());
    }
}
