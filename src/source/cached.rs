//! The rows of one read, kept while a run lasts: the parts of a job read one and the same state, and a server is asked once.
//!
//! They lie in a spool, so that a million rows take no memory and nothing is left of them
//! however the process ends.
//!
//! Rejected: keeping what the mapping makes of the rows. Each part looks at them with a mapping of its own.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::column::Columns;
use super::complete::Read;
use super::row::Row;
use crate::record::RowDefect;
use crate::spool::{self, Spool};

/// The rows of one read.
pub struct CachedRows {
    spool: Spool,
    columns: Option<Arc<Columns>>,
    read: Read,
}

/// A row as it is kept.
#[derive(Serialize, Deserialize)]
struct CachedRow<'a> {
    line: u64,
    dn: Option<String>,
    cells: Vec<Cow<'a, str>>,
    lists: Cow<'a, [(usize, Vec<String>)]>,
    flaws: Cow<'a, [(usize, RowDefect)]>,
}

impl CachedRows {
    /// Keeps the rows that `read` visits in the folder `dir`; what can't be written ends the read.
    pub(super) fn keep<E: From<spool::Error>>(
        dir: &Path,
        read: impl FnOnce(&mut dyn FnMut(&Row) -> ControlFlow<()>) -> Result<Read, E>,
    ) -> Result<Self, E> {
        let spool = Spool::new(dir);
        let (mut columns, mut broken) = (None, None);
        let read = read(&mut |row| {
            columns.get_or_insert_with(|| Arc::clone(row.columns()));
            let kept = spool.put(&serde_json::to_vec(&row.cached()).expect("plain values"));
            broken = kept.err();
            if broken.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        match broken {
            Some(error) => Err(error.into()),
            None => Ok(Self { spool, columns, read }),
        }
    }

    /// Visits the rows as the read did, and returns its result.
    pub(super) fn replay(&self, visit: &mut dyn FnMut(&Row) -> ControlFlow<()>) -> Result<Read, spool::Error> {
        let mut read = self.read.clone();
        let Some(columns) = &self.columns else { return Ok(read) };
        let mut scratch = Vec::new();
        let visited = self.spool.each(|bytes| {
            let row = serde_json::from_slice(bytes).expect("a row that was kept");
            visit(&Row::of_cached(row, columns, &mut scratch))
        })?;
        if visited.is_break() {
            read.incomplete.push("the read was stopped before the end".to_owned());
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

impl Row {
    fn cached(&self) -> CachedRow<'_> {
        CachedRow {
            line: self.line,
            dn: self.dn().map(str::to_owned),
            cells: (0..self.len()).map(|at| self.cell(at).into()).collect(),
            lists: self.lists().into(),
            flaws: self.flaws().into(),
        }
    }

    fn of_cached(kept: CachedRow<'_>, columns: &Arc<Columns>, scratch: &mut Vec<u8>) -> Self {
        let mut row = Self::reusable(Arc::clone(columns));
        kept.cells.iter().for_each(|cell| row.cells_mut().push_field(cell));
        match kept.dn {
            Some(dn) => row.describe(dn, kept.lists.into_owned(), kept.flaws.into_owned()),
            None => row.set_flaws(kept.flaws.into_owned()),
        }
        row.finish(kept.line, scratch);
        row
    }
}
