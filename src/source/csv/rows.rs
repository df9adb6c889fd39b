//! Iterates over the rows of a file.

use std::ops::ControlFlow;
use std::sync::Arc;

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};

use super::error::CsvErrorKind;
use super::header::Heading;
use super::limits::{
    BAD_ROWS_FLOOR, BAD_ROWS_SHARE, BUFFER_BYTES, CELL_BYTES_MAX, ENDLESS_PHOTO_ROW_BYTES, ENDLESS_ROW_BYTES,
    PHOTO_ROW_BYTES_MAX, ROW_BREAKS_MAX, ROW_BYTES_MAX, ROWS_MAX,
};
use super::row_tracker::{Flaw, Mark, Watch};
use super::transcode::Text;
use crate::record::{Rejected, RowDefect};
use crate::source::{Columns, Match, Name, Row};

/// How many lines a reason lists.
const LINES_LISTED: usize = 10;

/// The way through the rows of a file, and what it met.
pub(super) struct Walk {
    delimiter: u8,
    header_line: u64,
    columns: Arc<Columns>,
    /// The columns that hold photos.
    photos: Vec<usize>,
    /// Whether a last row without a line end may be cut.
    open_is_cut: bool,
    /// Whether it certainly is.
    cut: bool,
    /// Rows below the header, blank ones left out.
    seen: u64,
    visited: u64,
    rejected: Vec<Rejected>,
    doubts: Vec<String>,
    /// The lines on which the header stands again.
    headers: Vec<u64>,
    /// The lines with nothing but zeros.
    zeros: Vec<u64>,
    /// How the names of the columns begin.
    starts: Vec<[Option<char>; 2]>,
    stopped: bool,
    scratch: Vec<u8>,
}

/// From this number of columns on, a cell with a row's delimiters and a line end is taken for a row.
const WIDE: usize = 5;

/// A row that names so many columns, and more than half of them, is a header.
const OTHER_HEADER_MIN: usize = 3;

/// A text without case, blanks and signs.
fn bare(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// Whether a row holds zeros and nothing else: what spreadsheets show for a cell that refers to an empty one.
fn is_zeros(cells: &StringRecord) -> bool {
    let mut zeros = 0;
    cells.iter().all(|cell| {
        let cell = cell.trim();
        zeros += usize::from(cell == "0");
        cell.is_empty() || cell == "0"
    }) && zeros > 1
}

/// Whether a cell and the name of a column are alike.
fn is_alike(cell: &str, name: &str) -> bool {
    !cell.is_empty() && bare(cell).eq(bare(name))
}

fn first_two(text: &str) -> [Option<char>; 2] {
    let mut bare = bare(text);
    [bare.next(), bare.next()]
}

/// The parts of a line, each with its column, where the first one stands in this.
fn parts(line: &str, delimiter: u8, column: usize) -> impl Iterator<Item = (usize, &str)> {
    line.split(char::from(delimiter)).enumerate().map(move |(number, part)| (column + number, part))
}

/// What a cell holds, as far as that tells columns apart; nothing for an empty one.
fn kind(text: &str) -> Option<char> {
    let text = text.trim();
    match () {
        () if text.is_empty() => None,
        () if text.contains('@') => Some('@'),
        () if text.contains(char::is_numeric) => Some('0'),
        () => Some('a'),
    }
}

/// Why a read of another file than the one that was begun proves nothing.
pub(super) const CHANGED: &str = "the file changed while it was read";

/// What is wrong with a row: the column, where it is about one, and the reason.
pub(super) type CellFault = (Option<String>, RowDefect);

impl Walk {
    /// Begins a walk below `heading`; the columns of `photos` may hold photos. `final_newline` tells whether the last row must end in a line end, `cut` whether
    /// the file is known to end too early.
    pub(super) fn new(heading: Heading, photos: &[Name], final_newline: bool, cut: bool) -> Self {
        let mut doubts = Vec::new();
        if cut {
            doubts.push("the file ends inside a character: it was cut".to_owned());
        }
        Self {
            starts: heading.columns.names().iter().map(|name| first_two(name)).collect(),
            delimiter: heading.delimiter,
            header_line: heading.line,
            photos: photos.iter().filter_map(|name| column(&heading.columns, name)).collect(),
            columns: Arc::new(heading.columns),
            open_is_cut: final_newline,
            cut,
            seen: 0,
            visited: 0,
            rejected: Vec::new(),
            doubts,
            headers: Vec::new(),
            zeros: Vec::new(),
            stopped: false,
            scratch: Vec::new(),
        }
    }

    /// Visits every row that can be used; gives the text back, read to its end unless the walk was stopped.
    pub(super) fn run<'f>(
        &mut self,
        text: Text<'f>,
        visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
    ) -> Result<Text<'f>, CsvErrorKind> {
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.delimiter)
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(Watch::new(text, self.delimiter, self.endless()));
        let mut row = Row::reusable(Arc::clone(&self.columns));
        while let Some((mark, garbled)) = next(&mut reader, row.cells_mut())? {
            if mark.line <= self.header_line {
                self.header(mark);
                continue;
            }
            let fault = if garbled { Some((None, RowDefect::NotInEncoding)) } else { None };
            if fault.is_none() && mark.flaw.is_none() && blank(row.cells_mut()) {
                // It may be the beginning of a person's: empty cells come first in many a list.
                if mark.open && self.open_is_cut {
                    self.doubt(open_end(mark.line, "may be cut"));
                }
                continue;
            }
            let fault = fault.or_else(|| self.fault(mark, row.cells_mut()));
            if !self.take(&mut row, mark, fault, visit)? {
                break;
            }
            if mark.flaw == Some(Flaw::Endless) {
                self.stopped = true;
                break;
            }
        }
        Ok(reader.into_inner().into_text())
    }

    /// Hands out a row, or rejects it; `false` where the visit broke.
    pub(super) fn take(
        &mut self,
        row: &mut Row,
        mark: Mark,
        fault: Option<CellFault>,
        visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
    ) -> Result<bool, CsvErrorKind> {
        self.seen += 1;
        if self.seen > ROWS_MAX {
            return Err(CsvErrorKind::TooManyRows);
        }
        if let Some(fault) = fault {
            self.reject(mark, fault)?;
            return Ok(true);
        }
        if self.is_header(row.cells_mut(), mark.line)? {
            self.headers.push(mark.line);
            return Ok(true);
        }
        if is_zeros(row.cells_mut()) {
            self.zeros.push(mark.line);
            return Ok(true);
        }
        row.finish(mark.line, &mut self.scratch);
        self.visited += 1;
        if visit(row).is_break() {
            self.doubt("the read was stopped before the end");
            self.stopped = true;
        }
        Ok(!self.stopped)
    }

    /// The columns.
    pub(super) fn columns(&self) -> Arc<Columns> {
        Arc::clone(&self.columns)
    }

    /// Whether the walk ended before the text did.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Adds a reason why the read proves nothing.
    pub(super) fn doubt(&mut self, reason: impl Into<String>) {
        self.doubts.push(reason.into());
    }

    /// What is worth knowing of the rows besides.
    pub(super) fn notes(&self) -> Vec<String> {
        let note = |line: &u64| format!("the header stands again on line {line}; no person is made of it");
        let zeros = |line: &u64| {
            format!(
                "line {line} holds nothing but zeros, as cells do that refer to empty ones; no person is made of it"
            )
        };
        let headers = self.headers.iter().take(LINES_LISTED).map(note);
        headers.chain(self.zeros.iter().take(LINES_LISTED).map(zeros)).collect()
    }

    /// How many rows were visited, those that were not, and why the read proves nothing.
    pub(super) fn end(mut self) -> Result<(u64, Vec<Rejected>, Vec<String>), CsvErrorKind> {
        self.check_share(self.seen)?;
        if !self.rejected.is_empty() {
            let lines = self.rejected.iter().filter_map(|rejected| rejected.line).map(|line| line.to_string());
            let listed = lines.take(LINES_LISTED).collect::<Vec<_>>().join(", ");
            let more = if self.rejected.len() > LINES_LISTED { ", …" } else { "" };
            let reason = match self.rejected.len() {
                1 => format!("1 row could not be read, so whose it is is unknown (line {listed})"),
                many => format!("{many} rows could not be read, so whose they are is unknown (lines {listed}{more})"),
            };
            self.doubt(reason);
        }
        Ok((self.visited, self.rejected, self.doubts))
    }

    /// Whether a row is the header once more, as it is where files or pages were put together.
    ///
    /// # Errors
    ///
    /// Its columns are others, or in another order: then so are those of the rows below it.
    fn is_header(&self, cells: &StringRecord, line: u64) -> Result<bool, CsvErrorKind> {
        let names = self.columns.names();
        // That is all that costs anything for nearly every row.
        if cells.len() != names.len() || !self.starts.contains(&first_two(cells.get(0).unwrap_or_default())) {
            return Ok(false);
        }
        let is_nameless = |cell: &str, name: &str| bare(cell).chain(bare(name)).next().is_none();
        let mut pairs = cells.iter().zip(names);
        if pairs.all(|(cell, name)| is_alike(cell, name) || is_nameless(cell, name)) {
            return Ok(true);
        }
        let begins = |cell: &str| names.iter().any(|name| is_alike(cell, name));
        let named = cells.iter().filter(|cell| begins(cell)).count();
        let is_other = named >= OTHER_HEADER_MIN && named * 2 > names.len();
        if is_other { Err(CsvErrorKind::OtherHeader { line }) } else { Ok(false) }
    }

    fn header(&mut self, mark: Mark) {
        if mark.line == self.header_line && mark.open && self.open_is_cut {
            self.doubt("the file ends in its header, without a line end: it may be cut");
        }
    }

    fn fault(&self, mark: Mark, cells: &StringRecord) -> Option<CellFault> {
        let whole = |reason: RowDefect| Some((None, reason));
        match mark.flaw {
            Some(Flaw::Quote) => return whole(RowDefect::TextAfterQuote),
            Some(Flaw::Unclosed) => return whole(RowDefect::OpenQuote),
            Some(Flaw::Endless) => return whole(RowDefect::EndlessRow),
            Some(Flaw::Malformed) => return whole(RowDefect::NotInEncoding),
            None if mark.open && self.cut => return whole(RowDefect::Cut),
            None if mark.open && self.open_is_cut => return whole(RowDefect::MaybeCut),
            None => {}
        }
        if mark.breaks > ROW_BREAKS_MAX {
            return whole(RowDefect::LongRow { lines: mark.breaks + 1 });
        }
        if mark.breaks > 0 && (0..cells.len()).any(|at| self.swallowed(cells, at)) {
            return whole(RowDefect::RowsInCell);
        }
        if cells.len() != self.columns.len() {
            return whole(RowDefect::CellCount {
                cells: cells.len(),
                columns: self.columns.len(),
                delimiter: super::format::delimiter_name(self.delimiter).to_owned(),
            });
        }
        self.excess(cells)
    }

    /// What is too long in a row, or no text.
    pub(super) fn excess(&self, cells: &StringRecord) -> Option<CellFault> {
        let whole = |reason: RowDefect| Some((None, reason));
        let photos: usize = self.photos.iter().filter_map(|at| cells.get(*at)).map(str::len).sum();
        for (bytes, bytes_max) in
            [(cells.as_slice().len() - photos, ROW_BYTES_MAX), (cells.as_slice().len(), PHOTO_ROW_BYTES_MAX)]
        {
            if bytes > bytes_max {
                return whole(RowDefect::RowTooLong { kib: bytes_max / 1024 });
            }
        }
        let is_long = |(at, cell): (usize, &str)| cell.len() > CELL_BYTES_MAX && !self.photos.contains(&at);
        if cells.as_slice().len() > CELL_BYTES_MAX
            && let Some(at) = cells.iter().enumerate().position(is_long)
        {
            return Some((self.column(at), RowDefect::CellTooLong { kib: CELL_BYTES_MAX / 1024 }));
        }
        if memchr::memchr(0, cells.as_slice().as_bytes()).is_some() {
            let at = cells.iter().position(|cell| cell.contains('\0')).unwrap_or(0);
            return Some((self.column(at), RowDefect::Nul));
        }
        None
    }

    /// Whether a cell looks like rows in quotes: a lone quote here and another in the same column further down leave no
    /// other trace. One of its lines then has the delimiters of a row, or its first and last line together have, each as many as its
    /// column leaves to it. An address may look like that in a narrow file, so there each part must be of the kind of its column.
    fn swallowed(&self, cells: &StringRecord, at: usize) -> bool {
        let (Some(cell), Some(others @ 1..)) = (cells.get(at), self.columns.len().checked_sub(1)) else { return false };
        let mut lines = cell.split(['\n', '\r']);
        let (Some(first), Some(last)) = (lines.next(), lines.next_back()) else { return false };
        let parts = |line, column| parts(line, self.delimiter, column);
        let are_halves = parts(last, 0).count() == at + 1 && parts(first, at).count() + at == others + 1;
        are_halves && self.are_of_row(parts(last, 0).chain(parts(first, at)), cells, at)
            || lines.any(|line| parts(line, 0).count() == others + 1 && self.are_of_row(parts(line, 0), cells, at))
    }

    /// Whether parts of the cell at `at` may stand in their columns as the cells of the row do.
    fn are_of_row<'p>(&self, parts: impl Iterator<Item = (usize, &'p str)>, cells: &StringRecord, at: usize) -> bool {
        if self.columns.len() >= WIDE {
            return true;
        }
        let (mut fitting, mut others) = (0, 0);
        for (column, part) in parts.filter(|(column, _)| *column != at) {
            let Some(own) = cells.get(column) else { continue };
            // In a text, a blank follows a comma.
            if part.starts_with(' ') && !own.starts_with(' ') {
                return false;
            }
            match (kind(part), kind(own)) {
                (Some(part), Some(own)) if part == own => fitting += 1,
                (Some(_), Some(_)) => others += 1,
                _ => {}
            }
        }
        // One column may hold values of several kinds.
        fitting > 0 && fitting >= others
    }

    /// After how many bytes a row that has not ended is given up.
    fn endless(&self) -> u64 {
        if self.photos.is_empty() { ENDLESS_ROW_BYTES } else { ENDLESS_PHOTO_ROW_BYTES }
    }

    fn column(&self, at: usize) -> Option<String> {
        self.columns.names().get(at).cloned()
    }

    fn reject(&mut self, mark: Mark, (field, reason): CellFault) -> Result<(), CsvErrorKind> {
        match mark.flaw {
            Some(Flaw::Unclosed) => self.doubt(format!(
                "a quote in the row at line {} is never closed, so everything below belongs to that row",
                mark.line
            )),
            Some(Flaw::Endless) => self.doubt(format!(
                "the row at line {} does not end; a quote is never closed, and what is below is unread",
                mark.line
            )),
            None if mark.open => self.doubt(open_end(mark.line, "may be cut and is left out")),
            _ => {}
        }
        self.rejected.push(Rejected { key: None, line: Some(mark.line), field, value: None, reason });
        // The most that any file could still be allowed, so that the list of them stays short.
        self.check_share(ROWS_MAX)
    }

    /// Fails the file where more of `rows` rows are bad than chance explains.
    fn check_share(&self, rows: u64) -> Result<(), CsvErrorKind> {
        let count = self.rejected.len() as u64;
        match self.rejected.first() {
            Some(first) if count > BAD_ROWS_FLOOR && count * BAD_ROWS_SHARE > rows => {
                Err(CsvErrorKind::TooManyBadRows {
                    count,
                    rows: self.seen,
                    first_line: first.line.unwrap_or_default(),
                    reason: first.reason.to_string(),
                    rejected: self.rejected.clone(),
                })
            }
            _ => Ok(()),
        }
    }
}

fn column(columns: &Columns, name: &Name) -> Option<usize> {
    match columns.find(name) {
        Match::One(at) => Some(at),
        Match::Missing | Match::Several(_) => None,
    }
}

/// The next row's mark, and whether its bytes turned out to be no UTF-8 although they were a moment ago.
fn next(reader: &mut Reader<Watch<'_>>, cells: &mut StringRecord) -> Result<Option<(Mark, bool)>, CsvErrorKind> {
    let garbled = match reader.read_record(cells) {
        Ok(false) => return Ok(None),
        Ok(true) => false,
        Err(error) => match error.into_kind() {
            ErrorKind::Utf8 { .. } => true,
            ErrorKind::Io(error) => return Err(CsvErrorKind::Unreadable(error)),
            other => return Err(CsvErrorKind::Unreadable(std::io::Error::other(format!("{other:?}")))),
        },
    };
    let mark = reader.get_mut().next().expect("the watch sees the same rows as the reader");
    Ok(Some((mark, garbled)))
}

/// Why a file whose last row lacks its line end proves nothing.
fn open_end(line: u64, what: &str) -> String {
    format!(
        "the file does not end in a line end: its last row (line {line}) {what}; set `final_newline = false` if the export \
         never writes one"
    )
}

fn blank(cells: &StringRecord) -> bool {
    cells.as_slice().trim().is_empty()
}
