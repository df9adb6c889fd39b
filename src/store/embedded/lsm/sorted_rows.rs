//! Merges the sorted runs of a bulk load.

use std::cmp::Reverse;
use std::collections::binary_heap::{BinaryHeap, PeekMut};
use std::sync::Arc;

use super::reader::{SsTable, TableIter};
use crate::store::batch::RowChange;
use crate::store::engine::Projection;
use crate::store::error::ErrorKind;

/// How a value in a run ends.
const THERE: u8 = 0;
const REMOVED: u8 = 1;

/// Writes a value, or a removal, as a run holds it.
pub(super) fn into_run(run: &mut Vec<u8>, value: Option<&[u8]>) {
    run.extend_from_slice(value.unwrap_or_default());
    run.push(if value.is_some() { THERE } else { REMOVED });
}

/// What a run holds.
pub(super) fn from_run(mut value: Vec<u8>) -> Option<Vec<u8>> {
    let state = value.pop();
    (state == Some(THERE)).then_some(value)
}

/// Rows that come in order of key.
pub(super) type LiveRows<'a> = &'a mut dyn Iterator<Item = Result<RowChange, ErrorKind>>;

enum Run<'a> {
    Written(TableIter),
    Live(LiveRows<'a>),
}

/// The rows of several runs in one order.
#[derive(Default)]
pub(super) struct SortedRows<'a> {
    runs: Vec<Run<'a>>,
    /// The next row of each: the least key first, and of one key that of the latest run.
    heads: BinaryHeap<Reverse<Head>>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    key: Vec<u8>,
    run: Reverse<usize>,
    value: Vec<u8>,
}

impl<'a> SortedRows<'a> {
    /// The rows of these runs; of one key what the latest run says.
    pub(super) fn of(runs: &[Arc<SsTable>]) -> Result<Self, ErrorKind> {
        let mut sorted = Self::default();
        runs.iter().try_for_each(|run| sorted.push(Run::Written(run.rows_from(&[], Projection::Rows))))?;
        Ok(sorted)
    }

    /// Adds rows that count more than those of the runs before.
    pub(super) fn follow(&mut self, rows: LiveRows<'a>) -> Result<(), ErrorKind> {
        self.push(Run::Live(rows))
    }

    fn push(&mut self, run: Run<'a>) -> Result<(), ErrorKind> {
        self.runs.push(run);
        let head = self.read(self.runs.len() - 1)?;
        self.heads.extend(head.map(Reverse));
        Ok(())
    }

    fn read(&mut self, run: usize) -> Result<Option<Head>, ErrorKind> {
        let row = match &mut self.runs[run] {
            Run::Written(rows) => rows.next()?.map(|(key, value)| (key.to_vec(), value.to_vec())),
            Run::Live(rows) => rows.next().transpose()?.map(|(key, value)| {
                let mut run = Vec::new();
                into_run(&mut run, value.as_deref());
                (key, run)
            }),
        };
        Ok(row.map(|(key, value)| Head { key, run: Reverse(run), value }))
    }

    /// Takes the least row and puts the next one of its run in its place.
    fn pop(&mut self) -> Result<Option<Head>, ErrorKind> {
        let Some(Reverse(Head { run: Reverse(run), .. })) = self.heads.peek() else { return Ok(None) };
        let next = self.read(*run)?;
        let Some(mut least) = self.heads.peek_mut() else { return Ok(None) };
        Ok(Some(match next {
            Some(next) => std::mem::replace(&mut *least, Reverse(next)).0,
            None => PeekMut::pop(least).0,
        }))
    }

    fn following(&mut self) -> Result<Option<RowChange>, ErrorKind> {
        let Some(Head { key, value, .. }) = self.pop()? else { return Ok(None) };
        while self.heads.peek().is_some_and(|Reverse(head)| head.key == key) {
            self.pop()?;
        }
        Ok(Some((key, from_run(value))))
    }
}

impl Iterator for SortedRows<'_> {
    type Item = Result<RowChange, ErrorKind>;

    fn next(&mut self) -> Option<Self::Item> {
        self.following().transpose()
    }
}
