//! Writes many rows at once: collects them in temporary files, then adds all of them to the store by one commit.
//!
//! ```text
//! add ─▶ a buffer ─▶ runs in order, in files without a name ─▶ one new file a space ─▶ one commit names them all
//! commit_with: rows that come in order ─────────────────────────────┘
//! ```
//!
//! Invariants:
//! - Nothing of it is in the store before its commit, and all of it after. A process that ends before leaves nothing.
//! - The last word on a key counts.
//! - In memory there is one buffer a space, however many rows there are.
//!
//! Rejected: committing them in parts. Every part of a million rows is taken by sled, which keeps memory for what it ever
//! held, and each time it has too many of them the file of the space is written once more, so that the time grows with the
//! square of their number.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::reader::SsTable;
use super::row_buffer::RowBuffer;
use super::sorted_rows::{LiveRows, SortedRows};
use super::writer::TableWriter;
use crate::store::embedded::Embedded;
use crate::store::engine::{BulkLoad, Engine as _, Interrupted, OrderedRows};
use crate::store::{Batch, Error, ErrorKind, Keyspace};

/// What is held in memory of one space, in bytes; next to nothing in a debug build, so that every test goes over runs.
const BUFFER_BYTES: usize = if cfg!(debug_assertions) { 1024 } else { 4 * 1024 * 1024 };

/// Rows that become part of the store together.
pub(in crate::store::embedded) struct BulkLoader<'a> {
    store: &'a Embedded,
    /// Rows about the state as a whole, which are never many.
    unfiled: Batch,
    runs: BTreeMap<Keyspace, SortedRuns>,
}

/// The rows of one space.
#[derive(Default)]
struct SortedRuns {
    buffer: RowBuffer,
    /// The latest run, as long as what comes is greater than what it ends with.
    open: Option<TableWriter>,
    ended: Vec<Arc<SsTable>>,
}

impl Embedded {
    pub(in crate::store::embedded) fn bulk(&self) -> BulkLoader<'_> {
        BulkLoader { store: self, unfiled: Batch::default(), runs: BTreeMap::new() }
    }
}

impl BulkLoad for BulkLoader<'_> {
    fn add(&mut self, batch: Batch) -> Result<(), Error> {
        for row in batch.rows {
            let Some(space) = Keyspace::filed(&row.0) else {
                self.unfiled.rows.push(row);
                continue;
            };
            let runs = self.runs.entry(space).or_default();
            runs.buffer.push(&row);
            if runs.buffer.size() >= BUFFER_BYTES {
                runs.spill(self.store).map_err(|kind| self.store.error(kind))?;
            }
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), Error> {
        let buffers = || self.runs.values().map(|runs| &runs.buffer);
        let (rows, bytes): (usize, usize) =
            (buffers().map(RowBuffer::len).sum(), buffers().map(RowBuffer::row_bytes).sum());
        let rows = rows + self.unfiled.rows.len();
        if !self.is_spilled() && rows <= Embedded::LOGGED_ROWS_MAX && bytes <= Embedded::LOGGED_BYTES_MAX {
            let Self { store, mut unfiled, runs } = *self;
            runs.values().for_each(|runs| unfiled.rows.extend(runs.buffer.rows()));
            return if unfiled.is_empty() { Ok(()) } else { store.commit(unfiled) };
        }
        self.compact(None)
    }

    /// Many of them go straight to the file of the space.
    fn commit_with(mut self: Box<Self>, rows: &mut OrderedRows<'_>) -> Result<(), Error> {
        let interrupted = |Interrupted| ErrorKind::Io(io::ErrorKind::Interrupted.into());
        let first = loop {
            match rows.next() {
                None => return self.commit(),
                Some(batch) if self.is_spilled() => break batch.map_err(|cut| self.store.error(interrupted(cut)))?,
                Some(batch) => {
                    let batch = batch.map_err(|cut| self.store.error(interrupted(cut)))?;
                    self.add(batch)?;
                }
            }
        };
        let space = first.rows.first().and_then(|(key, _)| Keyspace::filed(key)).expect("rows of a space with a file");
        let mut rows = std::iter::once(Ok(first)).chain(rows).flat_map(|batch| match batch {
            Ok(batch) => batch.rows.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(cut) => vec![Err(interrupted(cut))],
        });
        self.compact(Some((space, &mut rows)))
    }
}

impl BulkLoader<'_> {
    fn is_spilled(&self) -> bool {
        self.runs.values().any(|runs| runs.open.is_some() || !runs.ended.is_empty())
    }

    fn compact(mut self, live: Option<(Keyspace, LiveRows<'_>)>) -> Result<(), Error> {
        let store = self.store;
        let mut sorted = BTreeMap::new();
        for (space, runs) in std::mem::take(&mut self.runs) {
            sorted.insert(space, runs.sorted(store).map_err(|kind| store.error(kind))?);
        }
        if let Some((space, rows)) = live {
            sorted.entry(space).or_default().follow(rows).map_err(|kind| store.error(kind))?;
        }
        store.compact_together(&mut store.writing(), sorted.into_iter().collect(), self.unfiled)
    }
}

impl SortedRuns {
    /// Writes what is in memory to the latest run, or to another where it does not follow.
    fn spill(&mut self, store: &Embedded) -> Result<(), ErrorKind> {
        let Some(first) = self.buffer.sort() else { return Ok(()) };
        let is_behind = self.open.as_ref().is_some_and(|open| open.last().is_some_and(|last| last >= first));
        if is_behind {
            self.end()?;
        }
        let writer = match &mut self.open {
            Some(open) => open,
            open => {
                let file = tempfile::tempfile_in(store.dir.join("store")).map_err(ErrorKind::from_io)?;
                open.insert(TableWriter::begin(file, 1).map_err(ErrorKind::from_io)?)
            }
        };
        for (key, value) in self.buffer.sorted() {
            writer.push(key, value).map_err(ErrorKind::from_io)?;
        }
        self.buffer.clear();
        Ok(())
    }

    fn end(&mut self) -> Result<(), ErrorKind> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let (meta, file) = open.end_unsynced().map_err(ErrorKind::from_io)?;
        self.ended.push(Arc::new(SsTable::of(file, &meta, "of a run")?));
        Ok(())
    }

    fn sorted<'r>(mut self, store: &Embedded) -> Result<SortedRows<'r>, ErrorKind> {
        self.spill(store)?;
        self.end()?;
        SortedRows::of(&self.ended)
    }
}
