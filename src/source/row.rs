//! One row of a source.

use std::fmt;
use std::sync::Arc;

use csv::StringRecord;
use xxhash_rust::xxh3::xxh3_128;

use super::column::{Columns, Match};
use super::name::Name;
use crate::record::RowDefect;

/// One row of a source, unchanged.
#[derive(Clone)]
pub struct Row {
    /// The line on which it begins, counted from 1; of an entry of a directory: how many came before, and one.
    pub line: u64,
    /// The digest of its cells and of the columns' names: equal digests mean equal rows.
    pub digest: u128,
    columns: Arc<Columns>,
    cells: StringRecord,
    /// The name of its entry; `None` for a row of a file.
    dn: Option<String>,
    /// Of each column with several values: its position, and all of them, sorted. The cell holds the first.
    lists: Vec<(usize, Vec<String>)>,
    /// Columns whose values can't be used, and why; their cells are empty.
    flaws: Vec<(usize, RowDefect)>,
    /// The rows of lookups that were joined to it.
    joined: Vec<JoinedRow>,
    /// Why the row can't be used, and which key of the configuration says so.
    fault: Option<(String, RowDefect)>,
}

/// A row of a lookup beside a row of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedRow {
    /// The lookup.
    pub lookup: String,
    /// Where it stands there: a line, or the name of an entry; none where no row fits.
    pub place: Option<String>,
}

impl Row {
    /// Makes a row of cells, one for each column; what is beyond the columns is never shown.
    pub fn new<T: AsRef<str>>(line: u64, columns: Arc<Columns>, cells: impl IntoIterator<Item = T>) -> Self {
        let mut record = StringRecord::new();
        cells.into_iter().for_each(|cell| record.push_field(cell.as_ref()));
        let mut row = Self { line, cells: record, ..Self::reusable(columns) };
        row.digest = row.digest_with(&mut Vec::new());
        row
    }

    /// Makes a row without cells, whose buffers are filled again and again.
    pub(super) fn reusable(columns: Arc<Columns>) -> Self {
        let (lists, flaws, joined) = (Vec::new(), Vec::new(), Vec::new());
        let (cells, dn, fault) = (StringRecord::new(), None, None);
        Self { line: 0, digest: 0, columns, cells, dn, lists, flaws, joined, fault }
    }

    /// The cells, to be filled; line and digest follow by [`Row::finish`].
    pub(super) fn cells_mut(&mut self) -> &mut StringRecord {
        &mut self.cells
    }

    /// Takes the cells as they are now for the row at `line`.
    pub(super) fn finish(&mut self, line: u64, scratch: &mut Vec<u8>) {
        self.line = line;
        self.digest = self.digest_with(scratch);
    }

    /// The columns with several values.
    pub(super) fn lists(&self) -> &[(usize, Vec<String>)] {
        &self.lists
    }

    /// The columns whose values can't be used.
    pub(super) fn flaws(&self) -> &[(usize, RowDefect)] {
        &self.flaws
    }

    /// Says which cells can't be used, and why.
    pub(super) fn set_flaws(&mut self, flaws: Vec<(usize, RowDefect)>) {
        self.flaws = flaws;
    }

    /// Makes it the row of an entry of a directory: its name, what columns have several values, which can't be used.
    pub(super) fn describe(&mut self, dn: String, lists: Vec<(usize, Vec<String>)>, flaws: Vec<(usize, RowDefect)>) {
        (self.dn, self.lists, self.flaws) = (Some(dn), lists, flaws);
    }

    /// The same row as one of `columns`, which are its own and those of lookups. What lookups say follows by
    /// [`Row::join`], and line and digest by [`Row::joined`].
    pub(crate) fn widened(&self, columns: &Arc<Columns>) -> Self {
        let mut row = Self { line: self.line, dn: self.dn.clone(), ..Self::reusable(Arc::clone(columns)) };
        (0..columns.own()).for_each(|at| row.cells.push_field(self.cell(at)));
        row.lists.clone_from(&self.lists);
        row.flaws.clone_from(&self.flaws);
        row
    }

    /// Adds the cells of a lookup, with those among them that can't be used.
    pub(crate) fn join<'c>(
        &mut self,
        joined: JoinedRow,
        cells: impl Iterator<Item = &'c str>,
        flaws: impl Iterator<Item = (usize, RowDefect)>,
    ) {
        let first = self.cells.len();
        self.flaws.extend(flaws.map(|(at, reason)| (first + at, reason)));
        cells.for_each(|cell| self.cells.push_field(cell));
        self.joined.push(joined);
    }

    /// Says that the row can't be used, why, and which key of the configuration says so.
    pub(crate) fn spoil(&mut self, place: String, reason: RowDefect) {
        self.fault.get_or_insert((place, reason));
    }

    /// Takes the cells as they are now.
    pub(crate) fn joined(mut self, scratch: &mut Vec<u8>) -> Self {
        self.digest = self.digest_with(scratch);
        self
    }

    /// The rows of lookups that were joined to it.
    pub fn joins(&self) -> &[JoinedRow] {
        &self.joined
    }

    /// Why the row can't be used, after the key of the configuration that says so.
    pub fn fault(&self) -> Option<(&str, &RowDefect)> {
        self.fault.as_ref().map(|(place, reason)| (place.as_str(), reason))
    }

    /// The line, for people: an entry of a directory has none.
    pub fn shown_line(&self) -> Option<u64> {
        self.dn.is_none().then_some(self.line)
    }

    /// The name of the entry; a row of a file has none.
    pub fn dn(&self) -> Option<&str> {
        self.dn.as_deref()
    }

    /// All values of the column at a position, sorted; none where its cell is empty.
    pub fn all(&self, at: usize) -> impl Iterator<Item = &str> {
        let list = self.lists.iter().find(|(column, _)| *column == at).map(|(_, list)| list.as_slice());
        let cell = Some(self.cell(at)).filter(|cell| list.is_none() && !cell.is_empty());
        list.unwrap_or_default().iter().map(String::as_str).chain(cell)
    }

    /// The row as it would be with another of the values of a column.
    pub fn with_value(&self, at: usize, value: &str) -> Self {
        let cells = self.cells.iter().enumerate().map(|(other, cell)| if other == at { value } else { cell });
        Self { cells: cells.collect(), ..self.clone() }
    }

    /// Of these columns, those with several values.
    pub fn lists_in(&self, columns: &[usize]) -> impl Iterator<Item = (usize, &[String])> {
        let lists = self.lists.iter().filter(|(at, _)| columns.contains(at));
        lists.map(|(at, list)| (*at, list.as_slice()))
    }

    /// Why the value of one of these columns can't be used.
    pub fn flaw_in(&self, columns: &[usize]) -> Option<&RowDefect> {
        let flaw = self.flaws.iter().find(|(at, _)| columns.contains(at));
        flaw.map(|(_, reason)| reason)
    }

    /// The columns.
    pub fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    /// The cell at a position; empty where the row has none there.
    pub fn cell(&self, at: usize) -> &str {
        self.cells.get(at).unwrap_or("")
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Column names with their cells, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.columns.names().iter().map(String::as_str).zip(self.cells.iter())
    }

    /// Column names with all their values, in order, as people read them: several are put apart by `, `, and of a column
    /// that holds photos the length is shown.
    pub fn shown(&self, photos: &[Name]) -> impl Iterator<Item = (&str, String)> {
        let photos: Vec<Match> = photos.iter().map(|name| self.columns.find(name)).collect();
        let shown = move |at: usize| match photos.contains(&Match::One(at)) {
            true if !self.cell(at).is_empty() => format!("({} characters)", self.cell(at).len()),
            _ => self.all(at).collect::<Vec<_>>().join(", "),
        };
        self.columns.names().iter().enumerate().map(move |(at, name)| (name.as_str(), shown(at)))
    }

    /// Cells first, then the length of each, then the columns: so no two different rows give the same bytes.
    fn digest_with(&self, scratch: &mut Vec<u8>) -> u128 {
        scratch.clear();
        scratch.extend_from_slice(self.cells.as_slice().as_bytes());
        for cell in &self.cells {
            scratch.extend_from_slice(&(cell.len() as u64).to_le_bytes());
        }
        scratch.extend_from_slice(&(self.cells.len() as u64).to_le_bytes());
        scratch.extend_from_slice(&self.columns.digest().to_le_bytes());
        for (at, list) in &self.lists {
            scratch.extend_from_slice(&(*at as u64).to_le_bytes());
            scratch.extend_from_slice(&(list.len() as u64).to_le_bytes());
            for value in list {
                scratch.extend_from_slice(&(value.len() as u64).to_le_bytes());
                scratch.extend_from_slice(value.as_bytes());
            }
        }
        // What can't be used is not part of the row, so no row without a flaw may look like one with it.
        if !self.flaws.is_empty() {
            scratch.extend_from_slice(b"flawed");
        }
        if self.fault.is_some() {
            scratch.extend_from_slice(b"spoilt");
        }
        xxh3_128(scratch)
    }
}

/// Names the line only (law 11).
impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("line", &self.line).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(columns: &[&str], cells: &[&str]) -> Row {
        Row::new(1, Arc::new(Columns::new(columns)), cells)
    }

    #[test]
    fn law_11_debug_names_the_line_only() {
        assert_eq!(format!("{:?}", row(&["Name"], &["Ana Secret"])), "Row { line: 1, .. }");
    }

    #[test]
    fn a_digest_covers_cells_and_column_names() {
        let one = row(&["a", "b"], &["x", "yz"]).digest;
        assert_eq!(one, row(&["a", "b"], &["x", "yz"]).digest);
        assert_ne!(one, row(&["a", "b"], &["xy", "z"]).digest);
        assert_ne!(one, row(&["a", "c"], &["x", "yz"]).digest);
    }

    #[test]
    fn cells_stand_beside_their_columns() {
        let row = row(&["a", "b"], &["x", ""]);
        assert_eq!(row.pairs().collect::<Vec<_>>(), [("a", "x"), ("b", "")]);
        assert_eq!((row.cell(0), row.cell(9)), ("x", ""));
    }

    proptest! {
        #[test]
        fn different_cells_have_different_digests(
            one in prop::collection::vec("[ab]{0,3}", 3), other in prop::collection::vec("[ab]{0,3}", 3),
        ) {
            let columns = Arc::new(Columns::new(["a", "b", "c"]));
            let equal = one == other;
            let digests = (Row::new(1, columns.clone(), one).digest, Row::new(2, columns, other).digest);
            prop_assert_eq!(equal, digests.0 == digests.1);
        }
    }
}
