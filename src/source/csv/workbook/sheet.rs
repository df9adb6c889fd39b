//! The rows of a sheet, one after the other.

use std::ops::Range;

use quick_xml::events::{BytesStart, Event};

use super::error::WorkbookFault;
use super::limits::{MERGES_MAX, TEXT_BYTES_MAX};
use super::number::Epoch;
use super::strings::{SharedStrings, unescaped};
use super::styles::Styles;
use super::xml::{Xml, add_text, attribute, value};
use crate::source::csv::limits::PHOTO_ROW_BYTES_MAX;

/// The most columns and rows of a sheet.
const COLUMNS_MAX: usize = 16_384;
const ROWS_MAX: u64 = 1_048_576;

/// What the cells of a workbook refer to.
pub(super) struct Texts {
    pub(super) strings: SharedStrings,
    pub(super) styles: Styles,
    pub(super) epoch: Epoch,
}

/// A row of a sheet.
#[derive(Default)]
pub(super) struct SheetRow {
    /// Its number, as the sheet shows it.
    pub(super) number: u64,
    pub(super) is_hidden: bool,
    /// Whether it is so long that texts of it are left out.
    pub(super) is_too_long: bool,
    cells: Vec<Cell>,
    text: String,
}

/// A cell of it.
struct Cell {
    column: usize,
    text: Range<usize>,
    kind: CellKind,
}

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellKind {
    Other,
    /// A number that no format fills up with zeros.
    Number,
    /// A formula that was never calculated.
    Uncalculated,
}

impl SheetRow {
    /// The cells that hold something: their column, text and kind, from left to right.
    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, &str, CellKind)> {
        self.cells.iter().map(|cell| (cell.column, &self.text[cell.text.clone()], cell.kind))
    }

    fn begin(&mut self, number: u64, is_hidden: bool) {
        self.cells.clear();
        self.text.clear();
        (self.number, self.is_hidden, self.is_too_long) = (number, is_hidden, false);
    }
}

/// What stands behind the rows.
#[derive(Default)]
pub(super) struct Tail {
    /// Merged cells: their rows and columns, from and to.
    pub(super) merges: Vec<Merge>,
    /// Whether a filter is left on.
    pub(super) is_filtered: bool,
}

/// Merged cells.
pub(super) struct Merge {
    pub(super) rows: (u64, u64),
    pub(super) first_column: usize,
    pub(super) range: String,
}

/// A sheet that is being read.
pub(super) struct Sheet<'a> {
    xml: Xml<'a>,
    progress: Progress,
}

/// How far it is read.
#[derive(Default)]
struct Progress {
    row: u64,
    has_data: bool,
    in_filter: bool,
    tail: Tail,
}

/// A cell that is being read.
#[derive(Default)]
struct Raw {
    kind: String,
    style: usize,
    has_formula: bool,
    has_value: bool,
    value: String,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(xml: Xml<'a>) -> Self {
        Self { xml, progress: Progress::default() }
    }

    /// Reads the next row that is there; `false` at the end of the sheet, which is whole then.
    pub(super) fn next_row(&mut self, texts: &mut Texts, row: &mut SheetRow) -> Result<bool, WorkbookFault> {
        let Self { xml, progress } = self;
        loop {
            match xml.next()? {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "row" if progress.has_data => {
                        let (number, is_hidden) = row_of(&tag, progress.row)?;
                        progress.row = number;
                        row.begin(number, is_hidden);
                        cells(xml, texts, row)?;
                        return Ok(true);
                    }
                    _ => progress.aside(&tag)?,
                },
                Event::Empty(tag) => match tag.local_name().as_ref() {
                    "row" if progress.has_data => (progress.row, _) = row_of(&tag, progress.row)?,
                    _ => progress.aside(&tag)?,
                },
                Event::End(tag) if tag.local_name().as_ref() == "autoFilter" => progress.in_filter = false,
                Event::Eof if !progress.has_data => return Err(strange("the sheet has no rows")),
                Event::Eof => return Ok(false),
                _ => {}
            }
        }
    }

    /// What stands behind the rows, at the end.
    pub(super) fn into_tail(self) -> Tail {
        self.progress.tail
    }
}

impl Progress {
    fn aside(&mut self, tag: &BytesStart<'_>) -> Result<(), WorkbookFault> {
        match tag.local_name().as_ref() {
            "sheetData" if self.has_data => return Err(strange("the sheet has its rows twice")),
            "sheetData" => self.has_data = true,
            "autoFilter" => self.in_filter = true,
            "filterColumn" if self.in_filter => self.tail.is_filtered = true,
            "mergeCell" => {
                let range = attribute(tag, "ref")?.unwrap_or_default();
                let merge = merge(range).ok_or_else(|| strange("merged cells have no place"))?;
                self.tail.merges.push(merge);
                if self.tail.merges.len() > MERGES_MAX {
                    return Err(WorkbookFault::TooManyMerged);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Number and hiddenness of a row.
fn row_of(tag: &BytesStart<'_>, before: u64) -> Result<(u64, bool), WorkbookFault> {
    let number = match attribute(tag, "r")? {
        Some(number) => number.parse().ok(),
        None => Some(before + 1),
    };
    let number = number.filter(|number| (before + 1..=ROWS_MAX).contains(number));
    let number = number.ok_or_else(|| strange(&format!("the row behind row {before} is out of order")))?;
    Ok((number, attribute(tag, "hidden")?.is_some_and(|hidden| is_true(&hidden))))
}

/// Reads the cells of a row up to its end.
fn cells(xml: &mut Xml<'_>, texts: &mut Texts, row: &mut SheetRow) -> Result<(), WorkbookFault> {
    let mut next = 0;
    let mut raw = Raw::default();
    loop {
        let column = match xml.next()? {
            Event::Start(tag) if tag.local_name().as_ref() == "c" => cell_of(&tag, row.number, next, &mut raw)?,
            Event::Empty(tag) if tag.local_name().as_ref() == "c" => {
                next = cell_of(&tag, row.number, next, &mut raw)? + 1;
                continue;
            }
            Event::End(tag) if tag.local_name().as_ref() == "row" => return Ok(()),
            Event::Eof => return Err(strange("a row does not end")),
            _ => continue,
        };
        next = column + 1;
        content(xml, &mut raw)?;
        if row.text.len() > PHOTO_ROW_BYTES_MAX {
            row.is_too_long = true;
            continue;
        }
        let start = row.text.len();
        let kind = show(&raw, texts, &mut row.text)?;
        if row.text.len() > start || kind == CellKind::Uncalculated {
            row.cells.push(Cell { column, text: start..row.text.len(), kind });
        }
    }
}

/// Column, kind and style of a cell.
fn cell_of(tag: &BytesStart<'_>, row: u64, next: usize, raw: &mut Raw) -> Result<usize, WorkbookFault> {
    raw.kind.clear();
    raw.value.clear();
    (raw.style, raw.has_formula, raw.has_value) = (0, false, false);
    let misplaced = || strange(&format!("a cell of row {row} is out of order"));
    let mut column = next;
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(|_| strange("a cell is malformed"))?;
        match attribute.key.as_ref() {
            "r" => {
                let (at, of) = place(&attribute.value).ok_or_else(misplaced)?;
                column = Some(at).filter(|at| *at >= next && of == row).ok_or_else(misplaced)?;
            }
            "t" => raw.kind.push_str(&value(&attribute)?),
            "s" => raw.style = attribute.value.parse().map_err(|_| strange("a cell has no style"))?,
            _ => {}
        }
    }
    Some(column).filter(|column| *column < COLUMNS_MAX).ok_or_else(misplaced)
}

/// Reads what a cell holds up to its end.
fn content(xml: &mut Xml<'_>, raw: &mut Raw) -> Result<(), WorkbookFault> {
    let (mut in_value, mut in_text, mut spoken) = (false, false, false);
    loop {
        let event = xml.next()?;
        match &event {
            Event::Start(tag) => match tag.local_name().as_ref() {
                "v" => (in_value, raw.has_value) = (true, true),
                "t" => in_text = true,
                "rPh" => spoken = true,
                "f" => raw.has_formula = true,
                _ => {}
            },
            Event::End(tag) => match tag.local_name().as_ref() {
                "c" => return Ok(()),
                "v" => in_value = false,
                "t" => in_text = false,
                "rPh" => spoken = false,
                _ => {}
            },
            Event::Empty(tag) if tag.local_name().as_ref() == "f" => raw.has_formula = true,
            Event::Empty(tag) if tag.local_name().as_ref() == "v" => raw.has_value = true,
            Event::Eof => return Err(strange("a cell does not end")),
            _ if (in_value || (in_text && !spoken)) && raw.value.len() <= TEXT_BYTES_MAX => {
                add_text(&event, &mut raw.value)?;
            }
            _ => {}
        }
    }
}

/// Adds what a cell shows to `text`.
fn show(raw: &Raw, texts: &mut Texts, text: &mut String) -> Result<CellKind, WorkbookFault> {
    let Raw { kind, style, has_formula, has_value, value } = raw;
    match kind.as_str() {
        // One that came to an empty text has that as its value.
        "str" if *has_formula && !has_value => return Ok(CellKind::Uncalculated),
        "s" => {
            let number = value.trim().parse().map_err(|_| strange("a cell names no text"))?;
            texts.strings.add(number, text)?;
        }
        "str" | "inlineStr" => text.push_str(&unescaped(value)),
        "d" => text.push_str(value),
        "b" => text.push_str(if is_true(value.trim()) { "TRUE" } else { "FALSE" }),
        "e" => {
            // So that the mapping knows it for what it is.
            let known = value.starts_with('#') && (value.ends_with(['!', '?']) || value == "#N/A");
            text.push_str(if known { value } else { "#ERROR!" });
        }
        "n" | "" if value.trim().is_empty() => {
            return Ok(if *has_formula { CellKind::Uncalculated } else { CellKind::Other });
        }
        "n" | "" => {
            let format = texts.styles.format(*style);
            text.push_str(&format.show(value, texts.epoch).ok_or_else(|| strange("a number is none"))?);
            if format.is_plain() {
                return Ok(CellKind::Number);
            }
        }
        _ => return Err(strange("a cell is of an unknown kind")),
    }
    Ok(CellKind::Other)
}

/// The column of a cell, counted from 0, and its row: `B5`.
fn place(name: &str) -> Option<(usize, u64)> {
    let letters = name.bytes().take_while(u8::is_ascii_uppercase).count();
    let column = name.bytes().take(letters.min(4)).fold(0, |sum, letter| sum * 26 + usize::from(letter - b'A') + 1);
    let row = name[letters..].parse().ok().filter(|row| *row > 0)?;
    (1..=3).contains(&letters).then(|| (column - 1, row))
}

/// The letters of a column.
pub(super) fn letters(column: usize) -> String {
    let (mut name, mut left) = (Vec::new(), column + 1);
    while left > 0 {
        name.push(char::from(b'A' + u8::try_from((left - 1) % 26).expect("below 26")));
        left = (left - 1) / 26;
    }
    name.into_iter().rev().collect()
}

fn merge(range: String) -> Option<Merge> {
    let (from, to) = range.split_once(':').unwrap_or((&range, &range));
    let ((first_column, first), (_, last)) = (place(from)?, place(to)?);
    Some(Merge { rows: (first, last), first_column, range })
}

fn is_true(text: &str) -> bool {
    matches!(text, "1" | "true")
}

fn strange(what: &str) -> WorkbookFault {
    WorkbookFault::Strange(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_letters() {
        for (column, name) in [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA"), (16_383, "XFD")] {
            assert_eq!((letters(column).as_str(), place(&format!("{name}7"))), (name, Some((column, 7))));
        }
        for none in ["", "A", "7", "A0", "AAAA1", "a1", "A1B"] {
            assert_eq!(place(none), None, "{none}");
        }
    }
}
