//! Lays a state down from an exported one.

use std::fs::File;
use std::io::{self, BufReader, Seek as _, Write as _};

use super::entry::{Contents, Entry};
use super::error::TransferError;
use super::reader::read;
use crate::crash::point;
use crate::disk;
use crate::store::engine::Projection;
use crate::store::kept::{IMPORTING, KeptForm};
use crate::store::{Batch, BulkLoader, Error, Home, Keyspace, LineFate, Log, MetaKey, Store};

/// So many lines of the log are written at once, and so many bytes of them.
const LINES_MAX: usize = 1000;
const LINES_BYTES_MAX: usize = 1024 * 1024;
/// So many rows are removed at once.
const ROWS_MAX: usize = 200;

/// Lays down in `home`, which must be empty, what `file` has of the account at `base_url`. The rows come last; `settle` is
/// asked then to do what the next run relies on.
pub fn import(
    home: &Home,
    file: &mut File,
    base_url: &str,
    settle: impl FnOnce(&Store) -> Result<(), TransferError>,
) -> Result<Contents, TransferError> {
    let (header, contents) = read(&mut BufReader::new(&*file), |_| Ok(()))?;
    if let Some(theirs) = header.account.filter(|theirs| theirs != base_url) {
        return Err(TransferError::OtherAccount { theirs, ours: base_url.to_owned() });
    }
    file.rewind().map_err(TransferError::File)?;
    let store = Store::open_any(home)?;
    if home.read(IMPORTING).map_err(TransferError::Kept)?.is_some() {
        clear(&store)?;
    } else if !is_empty(&store)? {
        return Err(TransferError::NotEmpty { place: home.place() });
    }
    store.put_document(IMPORTING, b"").map_err(TransferError::Kept)?;
    point("import: begun");
    let mut import =
        Import { store: &store, bulk: store.bulk_load(), lines: Vec::new(), of: String::new(), file: None };
    read(&mut BufReader::new(&*file), |entry| import.take(entry))?;
    import.end_lines()?;
    import.end_file()?;
    let bulk = import.bulk;
    bulk.commit()?;
    point("import: its rows are there");
    settle(&store)?;
    store.drop_document(IMPORTING).map_err(TransferError::Kept)?;
    Ok(contents)
}

struct Import<'a> {
    store: &'a Store,
    bulk: BulkLoader<'a>,
    /// Lines of the log that are not written yet, of this segment.
    lines: Vec<String>,
    of: String,
    /// The file whose parts come.
    file: Option<(String, tempfile::NamedTempFile)>,
}

impl Import<'_> {
    fn take(&mut self, entry: Entry) -> Result<(), TransferError> {
        if !matches!(entry, Entry::Part(_)) {
            self.end_file()?;
        }
        match entry {
            Entry::Document { name, content } => {
                self.store.put_document(&name, &content.0).map_err(TransferError::Kept)?;
            }
            Entry::Line { of, text } => {
                let bytes: usize = self.lines.iter().map(String::len).sum();
                if of != self.of || self.lines.len() >= LINES_MAX || bytes >= LINES_BYTES_MAX {
                    self.end_lines()?;
                }
                self.of = of;
                self.lines.push(text);
            }
            Entry::File { name, .. } => {
                let made = tempfile::Builder::new().prefix("looking-").tempfile_in(self.store.home.spill_dir());
                self.file = Some((name, made.map_err(TransferError::Kept)?));
            }
            Entry::Part(bytes) => {
                let (_, file) = self.file.as_mut().expect("a part comes after its file");
                file.write_all(&bytes.0).map_err(TransferError::Kept)?;
            }
            Entry::Row { key, value } => {
                self.bulk.add(Batch { rows: vec![(key.0, Some(value.0))], ..Batch::default() })?;
            }
            Entry::End { .. } => {}
        }
        Ok(())
    }

    fn end_lines(&mut self) -> Result<(), TransferError> {
        let lines = std::mem::take(&mut self.lines);
        if lines.is_empty() {
            return Ok(());
        }
        Log::of(&self.store.home).append_all(&self.of, &lines).map_err(TransferError::Kept)
    }

    fn end_file(&mut self) -> Result<(), TransferError> {
        let Some((name, file)) = self.file.take() else { return Ok(()) };
        let kept = disk::sync(file.as_file()).and_then(|()| {
            let (_, path) = file.keep().map_err(|error| error.error)?;
            self.store.take_file(&name, &path)
        });
        kept.map_err(TransferError::Kept)
    }
}

/// Whether nothing is remembered.
fn is_empty(store: &Store) -> Result<bool, TransferError> {
    let mut is_empty = true;
    for space in Keyspace::ALL {
        store.engine.walk(&space.key(""), Projection::Keys, &mut |key, _| {
            is_empty &= MetaKey::is_of_engine(key);
            Ok(is_empty)
        })?;
    }
    let kept = || -> io::Result<bool> {
        Ok(store.home.names(KeptForm::Document)?.is_empty()
            && store.home.names(KeptForm::File)?.is_empty()
            && Log::of(&store.home).segments()?.is_empty())
    };
    Ok(is_empty && kept().map_err(TransferError::Kept)?)
}

/// Removes what an import left that did not come to its end.
fn clear(store: &Store) -> Result<(), TransferError> {
    for space in Keyspace::ALL {
        loop {
            let mut batch = Batch::default();
            store.engine.walk(&space.key(""), Projection::Keys, &mut |key, _| {
                if !MetaKey::is_of_engine(key) {
                    batch.rows.push((key.to_vec(), None));
                }
                Ok::<_, Error>(batch.rows.len() < ROWS_MAX)
            })?;
            if batch.is_empty() {
                break;
            }
            store.commit(batch)?;
        }
    }
    let beside = || -> io::Result<()> {
        store.home.names(KeptForm::Document)?.iter().try_for_each(|name| store.drop_document(name))?;
        store.home.names(KeptForm::File)?.iter().try_for_each(|name| store.drop_file(name))?;
        Log::of(&store.home).rewrite(|| Box::new(|_| LineFate::Goes)).map(drop)
    };
    beside().map_err(TransferError::Kept)
}
