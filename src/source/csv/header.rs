//! Finds the header and the delimiter of a file.

use std::fs::File;
use std::io;

use super::encoding::DetectedEncoding;
use super::error::CsvErrorKind;
use super::limits::{COLUMNS_MAX, ENDLESS_ROW_BYTES, HEAD_BYTES, HEADER_ROWS_MAX, ROW_BYTES_MAX};
use super::options::Options;
use super::row_tracker::{Flaw, Rows};
use super::transcode::Text;
use crate::source::{Columns, Match, RequiredColumns};

/// The delimiters that are looked for, the likelier ones first.
pub(crate) const DELIMITERS: [u8; 4] = *b",;\t|";

/// The beginning of a file's text.
pub(super) struct Head {
    text: Vec<u8>,
    whole: bool,
}

/// One row of it.
pub(super) struct HeadRow {
    /// The line on which it begins, counted from 1.
    pub(super) line: u64,
    /// Its cells.
    pub(super) cells: Vec<String>,
    flaw: Option<Flaw>,
}

/// The header, found.
#[derive(Debug)]
pub(super) struct Heading {
    /// What divides cells.
    pub(super) delimiter: u8,
    /// The line on which it begins, counted from 1.
    pub(super) line: u64,
    /// Its columns.
    pub(super) columns: Columns,
}

impl Head {
    /// Reads the beginning of a file.
    pub(super) fn read(file: &mut File, decision: &DetectedEncoding, size: u64) -> io::Result<Self> {
        let mut input = Text::new(file, decision, size)?;
        let mut text = vec![0; HEAD_BYTES];
        let (mut filled, mut malformed) = (0, Vec::new());
        // Below this room the decoder has nothing to say.
        while text.len() - filled > 16 {
            match input.read(&mut text[filled..], &mut malformed)? {
                0 => {
                    text.truncate(filled);
                    return Ok(Self { text, whole: true });
                }
                n => filled += n,
            }
        }
        text.truncate(filled);
        Ok(Self { text, whole: false })
    }

    /// Its rows, as `delimiter` divides them; the last one only if it is whole, or the file's last.
    pub(super) fn rows(&self, delimiter: u8) -> Vec<HeadRow> {
        let mut watch = Rows::new(delimiter, ENDLESS_ROW_BYTES);
        watch.take(&self.text);
        watch.take(&[]);
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(self.text.as_slice());
        let records = reader.byte_records().map_while(Result::ok);
        watch
            .into_marks()
            .into_iter()
            .zip(records)
            .filter(|(mark, _)| self.whole || !mark.open)
            .map(|(mark, record)| HeadRow {
                line: mark.line,
                cells: record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect(),
                flaw: mark.flaw,
            })
            .collect()
    }

    /// Finds the header: the line that is configured, else the first of 20 rows, blank ones left out, that holds every column that `wanted` needs.
    /// The delimiter is the configured one, else the one with which that line does.
    pub(super) fn heading(
        &self,
        options: &Options,
        wanted: &RequiredColumns,
        known: Option<u8>,
    ) -> Result<Heading, CsvErrorKind> {
        let most = if options.header.is_some() { usize::MAX } else { HEADER_ROWS_MAX };
        let is_blank = |row: &HeadRow| row.cells.iter().all(|cell| cell.trim().is_empty());
        let divided = |delimiter| {
            let rows = self.rows(delimiter).into_iter().filter(move |row| !is_blank(row));
            rows.take(most).map(move |row| (delimiter, row))
        };
        choose(delimiters(options.delimiter, known).into_iter().flat_map(divided), options, wanted)
    }
}

impl HeadRow {
    /// Of a row that is whole.
    pub(super) fn of_cells(line: u64, cells: Vec<String>) -> Self {
        Self { line, cells, flaw: None }
    }
}

/// Chooses the header among rows, each with the delimiter that divides it so.
pub(super) fn choose(
    rows: impl Iterator<Item = (u8, HeadRow)>,
    options: &Options,
    wanted: &RequiredColumns,
) -> Result<Heading, CsvErrorKind> {
    let mut best: Option<Candidate> = None;
    for (delimiter, row) in rows {
        if options.header.is_some_and(|line| row.line != u64::from(line)) {
            continue;
        }
        let candidate = Candidate::new(delimiter, row, options, wanted);
        if best.as_ref().is_none_or(|best| candidate.beats(best)) {
            best = Some(candidate);
        }
    }
    let none = || options.header.map_or(CsvErrorKind::Empty, CsvErrorKind::NoHeader);
    best.ok_or_else(none)?.accept(options, wanted)
}

/// The delimiters to try, the known one first.
fn delimiters(configured: Option<u8>, known: Option<u8>) -> Vec<u8> {
    match configured {
        Some(delimiter) => vec![delimiter],
        None => {
            let rest = DELIMITERS.into_iter().filter(|delimiter| known != Some(*delimiter));
            known.into_iter().chain(rest).collect()
        }
    }
}

/// A row that may be the header.
struct Candidate {
    delimiter: u8,
    row: HeadRow,
    columns: Columns,
    missing: usize,
}

impl Candidate {
    fn new(delimiter: u8, row: HeadRow, options: &Options, wanted: &RequiredColumns) -> Self {
        let columns = Columns::new(&row.cells);
        let missing = wanted.required(&options.optional).filter(|name| columns.find(name) == Match::Missing).count();
        Self { delimiter, row, columns, missing }
    }

    /// Whether this is more of a header: fewer columns missing, then the earlier line, then more cells. Among lines that
    /// all lack something, cells come before the line: a title has few.
    fn beats(&self, other: &Self) -> bool {
        let line = |candidate: &Self| std::cmp::Reverse(candidate.row.line);
        let cells = |candidate: &Self| candidate.row.cells.len();
        let missing = other.missing.cmp(&self.missing);
        let rest = match self.missing {
            0 => line(self).cmp(&line(other)).then(cells(self).cmp(&cells(other))),
            _ => cells(self).cmp(&cells(other)).then(line(self).cmp(&line(other))),
        };
        missing.then(rest).is_gt()
    }

    fn accept(self, options: &Options, wanted: &RequiredColumns) -> Result<Heading, CsvErrorKind> {
        let line = self.row.line;
        if self.columns.len() > COLUMNS_MAX {
            return Err(CsvErrorKind::TooManyColumns { line, count: self.columns.len() });
        }
        let mut faults = Vec::new();
        if self.row.flaw.is_some() {
            faults.push("the header's quotes do not pair, or its bytes do not decode".to_owned());
        }
        if self.row.cells.iter().map(String::len).sum::<usize>() > ROW_BYTES_MAX {
            faults.push(format!("the header has more than {} KiB", ROW_BYTES_MAX / 1024));
        }
        for name in wanted.required(&options.optional) {
            if self.columns.find(name) == Match::Missing {
                faults.push(self.columns.lacks(name));
            }
        }
        for need in &wanted.needs {
            if let Match::Several(hits) = self.columns.find(&need.name) {
                faults.push(self.columns.doubled(&need.name, &hits));
            }
        }
        if !faults.is_empty() {
            return Err(CsvErrorKind::Header { line, faults });
        }
        Ok(Heading { delimiter: self.delimiter, line, columns: self.columns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{ColumnRequirement, Name};

    fn heading(text: &str, adjust: impl FnOnce(&mut Options)) -> Result<(u8, u64, usize), String> {
        let need = |name: &str, optional| ColumnRequirement { name: Name::Plain(name.to_owned()), optional };
        let wanted = RequiredColumns {
            needs: vec![need("email", false), need("staff_no", false), need("locker", true)],
            ..RequiredColumns::default()
        };
        let mut options = Options::at("x");
        adjust(&mut options);
        let head = Head { text: text.into(), whole: true };
        let found = head.heading(&options, &wanted, None).map_err(|kind| kind.to_string())?;
        Ok((found.delimiter, found.line, found.columns.len()))
    }

    #[test]
    fn fault_85_and_86_the_header_is_the_first_line_with_every_mapped_column() {
        for (text, found) in [
            ("Staff No,Email\n1,a\n", Ok((b',', 1, 2))),
            ("Email;Staff No;Name\n", Ok((b';', 1, 3))),
            ("Email\tStaff No\n", Ok((b'\t', 1, 2))),
            ("Email|Staff No\n", Ok((b'|', 1, 2))),
            ("Staff, as of today; all\n\nStaff No;Email;\"A, b\"\n1;a;\n", Ok((b';', 3, 3))),
            ("Staff No,E-Mail\n", Err("line 1: column `email` is missing; there is `E-Mail`")),
            (
                "Report\nNo;Mail;Site\n1;a;b\n",
                Err("line 2: column `email` is missing; there is `Mail`; column `staff_no` is missing"),
            ),
            (
                "Staff No,Email,email\n",
                Err("line 1: the columns `Email` and `email` both answer to `email`; say which, as source[\"Email\"]"),
            ),
            (
                "Staff No,Email,Locker,Locker\n",
                Err("line 1: 2 columns are called `Locker`; give each a name of its own"),
            ),
            ("\n\n", Err("it is empty; an export that has not run yet is no empty list")),
        ] {
            assert_eq!(heading(text, |_| {}), found.map_err(str::to_owned), "{text:?}");
        }
    }

    #[test]
    fn what_is_configured_is_not_looked_for() {
        let text = "Email,Staff No\nEmail;Staff No\n";
        assert_eq!(heading(text, |options| options.delimiter = Some(b';')), Ok((b';', 2, 2)));
        assert_eq!(heading(text, |options| options.header = Some(2)), Ok((b';', 2, 2)));
        let nowhere = heading(text, |options| options.header = Some(9));
        assert_eq!(nowhere, Err("line 9 is to be the header, but no row begins there".to_owned()));
        let optional = heading("Staff No\n", |options| options.optional = vec!["Email".into()]);
        assert_eq!(optional.map(|found| found.1), Ok(1));
    }

    #[test]
    fn fault_91_a_header_has_a_limit() {
        let text = format!("Email,Staff No{}\n", ",x".repeat(COLUMNS_MAX));
        assert_eq!(heading(&text, |_| {}), Err("line 1: the header has 202 columns, more than 200".to_owned()));
        let late = format!("{}Email,Staff No\n", "x\n".repeat(20));
        assert!(heading(&late, |_| {}).is_err(), "only 20 lines are looked at");
    }
}
