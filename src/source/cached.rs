//! The rows of one read, kept while a run lasts: the parts of a job read one and the same state, and a server is asked once.
//!
//! They lie in a file without a name, one row a line, so that a million rows take no memory and nothing is left of them
//! however the process ends.
//!
//! Rejected: keeping what the mapping makes of the rows. Each part looks at them with a mapping of its own.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::column::Columns;
use super::complete::Read;
use super::row::Row;

/// The rows of one read.
pub struct CachedRows {
    file: File,
    columns: Option<Arc<Columns>>,
    read: Read,
}

/// The rows of a read that still goes on.
pub(super) struct Writer {
    out: BufWriter<File>,
    columns: Option<Arc<Columns>>,
    broken: Option<io::Error>,
}

/// A row as it is kept: its line, the name of its entry, its cells, its lists, its flaws.
type CachedRow = (u64, Option<String>, Vec<String>, Vec<(usize, Vec<String>)>, Vec<(usize, String)>);

impl Writer {
    /// Keeps a row; what can't be written ends the read.
    pub(super) fn push(&mut self, row: &Row) -> ControlFlow<()> {
        self.columns.get_or_insert_with(|| Arc::clone(row.columns()));
        let line = serde_json::to_vec(&row.cached()).expect("plain values");
        match self.out.write_all(&line).and_then(|()| self.out.write_all(b"\n")) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.broken = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// The rows, with the result of reading them.
    pub(super) fn finish(self, read: Read) -> io::Result<CachedRows> {
        if let Some(error) = self.broken {
            return Err(error);
        }
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(CachedRows { file, columns: self.columns, read })
    }
}

impl CachedRows {
    /// Begins to keep rows in the folder `dir`.
    pub(super) fn create(dir: &Path) -> io::Result<Writer> {
        Ok(Writer { out: BufWriter::new(tempfile::tempfile_in(dir)?), columns: None, broken: None })
    }

    /// Visits the rows as the read did, and returns its result.
    pub(super) fn replay(&self, visit: &mut dyn FnMut(&Row) -> ControlFlow<()>) -> io::Result<Read> {
        let mut read = self.read.clone();
        let Some(columns) = &self.columns else { return Ok(read) };
        let mut scratch = Vec::new();
        for line in BufReader::new(FromStart { file: &self.file, offset: 0 }).lines() {
            let row: CachedRow =
                serde_json::from_str(&line?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            if visit(&Row::of_cached(row, columns, &mut scratch)).is_break() {
                read.incomplete.push("the read was stopped before the end".to_owned());
                break;
            }
        }
        Ok(read)
    }
}

/// Names where the rows are from (law 11).
impl fmt::Debug for CachedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedRows").field("rows", &self.read.rows).finish_non_exhaustive()
    }
}

/// A file read from its beginning, independent of its other readers.
struct FromStart<'f> {
    file: &'f File,
    offset: u64,
}

impl io::Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

impl Row {
    /// The row as a [`CachedRow`].
    fn cached(&self) -> impl Serialize + '_ {
        let cells: Vec<&str> = (0..self.len()).map(|at| self.cell(at)).collect();
        (self.line, self.dn(), cells, self.lists(), self.flaws())
    }

    fn of_cached((line, dn, cells, lists, flaws): CachedRow, columns: &Arc<Columns>, scratch: &mut Vec<u8>) -> Self {
        let mut row = Self::reusable(Arc::clone(columns));
        cells.iter().for_each(|cell| row.cells_mut().push_field(cell));
        if let Some(dn) = dn {
            row.describe(dn, lists, flaws);
        }
        row.settle(line, scratch);
        row
    }
}
