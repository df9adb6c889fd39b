//! A file as it looks without a mapping.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use super::encoding::decide;
use super::error::{CsvErrorKind, Error};
use super::format::{DetectedFormat, Probe, TextFormat, delimiter_name};
use super::header::{DELIMITERS, Head, HeadRow};
use super::limits::{COLUMNS_MAX, HEADER_ROWS_MAX};
use super::options::{Encoding, Options};
use super::read::{Opened, container, open};
use super::scan::{Utf8, survey};
use super::workbook::{self, Container, WorkbookFault};
use crate::clock::Clock;
use crate::source::snake;

/// How many rows tell the delimiter.
const ROWS_LOOKED_AT: usize = 200;
/// How many rows are shown.
const SAMPLES: usize = 5;

/// Looks at a file without a mapping, for a first configuration: its encoding, the delimiter that divides its rows most
/// evenly, the line that looks like a header, a few rows. Whatever was guessed is named as a doubt. Of a workbook, `sheet` is
/// the one that is meant.
pub fn probe(path: &Path, sheet: Option<&str>) -> Result<Probe, Error> {
    let options = Options { settle: Duration::ZERO, ..Options::at(path) };
    let found = open(&options, &Clock::system()).and_then(|(file, stamp)| look(file, stamp.size, sheet));
    found.map_err(|kind| Error { path: path.to_owned(), kind })
}

/// The same of a file that is open already; `called` is what errors call it.
pub fn probe_opened(opened: Opened, called: &Path, sheet: Option<&str>) -> Result<Probe, Error> {
    let Opened { file, size } = opened;
    let found = if size == 0 { Err(CsvErrorKind::Empty) } else { look(file, size, sheet) };
    found.map_err(|kind| Error { path: called.to_owned(), kind })
}

fn look(mut file: File, size: u64, sheet: Option<&str>) -> Result<Probe, CsvErrorKind> {
    match container(&mut file).map_err(CsvErrorKind::Unreadable)? {
        Container::Other => look_at_text(file, size),
        Container::Ole => Err(WorkbookFault::Old.into()),
        Container::Zip => look_at_workbook(&file, sheet),
    }
}

fn look_at_workbook(file: &File, sheet: Option<&str>) -> Result<Probe, CsvErrorKind> {
    let options = Options { sheet: sheet.map(str::to_owned), ..Options::at("") };
    let mut book = workbook::open(file, &options)?;
    book.survey(None)?;
    let mut rows = book.rows_below(0, ROWS_LOOKED_AT)?;
    // A table ends where its longest rows do.
    let width = rows.iter().map(|row| row.cells.len()).max().ok_or(CsvErrorKind::Empty)?;
    let full = |row: &&mut HeadRow| row.cells.len() > 1 && row.cells.len() < width;
    if !rows.iter().take(HEADER_ROWS_MAX).any(|row| row.cells.len() == width) {
        rows.iter_mut().filter(full).for_each(|row| row.cells.resize(width, String::new()));
    }
    let even = rows.iter().filter(|row| row.cells.len() == width).count();
    let grid = Grid { delimiter: b',', rows, width, even };
    let mut doubts = Vec::new();
    let at = header(&grid, &mut doubts);
    let line = grid.rows[at].line;
    let columns: Vec<String> = grid.rows[at].cells.iter().map(|cell| cell.trim().to_owned()).collect();
    if columns.len() > COLUMNS_MAX {
        return Err(CsvErrorKind::TooManyColumns { line, count: columns.len() });
    }
    check_names(&columns, &mut doubts);
    Ok(Probe {
        found: DetectedFormat {
            text: None,
            header_line: u32::try_from(line).unwrap_or(u32::MAX),
            columns,
            sheet: Some(book.sheet.clone()),
        },
        final_newline: true,
        samples: grid.rows.into_iter().skip(at + 1).take(SAMPLES).map(|row| row.cells).collect(),
        doubts,
    })
}

fn look_at_text(mut file: File, size: u64) -> Result<Probe, CsvErrorKind> {
    let survey = survey(&mut file, size).map_err(CsvErrorKind::Unreadable)?;
    let decision = decide(Encoding::Auto, &survey, None)?;
    let head = Head::read(&mut file, &decision, survey.size).map_err(CsvErrorKind::Unreadable)?;

    let mut doubts = Vec::new();
    match (survey.mark, survey.pattern, survey.utf8) {
        (None, Some(pattern), _) => {
            doubts.push(format!("{} has no byte order mark; it was recognized by its NUL bytes", pattern.name()))
        }
        (None, None, Utf8::Broken(line)) => {
            doubts.push(format!("line {line} is not UTF-8, so the file is taken as Windows-1252; check the accents"));
        }
        (None, None, Utf8::Cut(_)) => doubts.push("the file ends inside a character: it was cut".to_owned()),
        _ if survey.ascii => {
            doubts.push("the file is plain ASCII, so its encoding is uncertain; UTF-8 is assumed".into())
        }
        _ => {}
    }
    let grid = grid(&head, &mut doubts)?;
    let at = header(&grid, &mut doubts);
    let columns: Vec<String> = grid.rows[at].cells.iter().map(|cell| cell.trim().to_owned()).collect();
    if columns.len() > COLUMNS_MAX {
        return Err(CsvErrorKind::TooManyColumns { line: grid.rows[at].line, count: columns.len() });
    }
    check_names(&columns, &mut doubts);
    let final_newline = survey.ends_in_line_end(decision.encoding);
    if !final_newline {
        doubts
            .push("the last row does not end in a line end; `final_newline = false` takes it all the same".to_owned());
    }
    Ok(Probe {
        found: DetectedFormat {
            text: Some(TextFormat { encoding: decision.encoding.name().to_owned(), delimiter: grid.delimiter }),
            header_line: u32::try_from(grid.rows[at].line).unwrap_or(u32::MAX),
            columns,
            sheet: None,
        },
        final_newline,
        samples: grid.rows.into_iter().skip(at + 1).take(SAMPLES).map(|row| row.cells).collect(),
        doubts,
    })
}

struct Grid {
    delimiter: u8,
    rows: Vec<HeadRow>,
    /// The number of cells that most rows have.
    width: usize,
    /// How many have it.
    even: usize,
}

/// The rows as the delimiter divides them that gives most of them the same number of cells, above one.
fn grid(head: &Head, doubts: &mut Vec<String>) -> Result<Grid, CsvErrorKind> {
    let mut grids: Vec<Grid> = DELIMITERS.into_iter().filter_map(|delimiter| divide(head, delimiter)).collect();
    grids.sort_by_key(|grid| std::cmp::Reverse((grid.width > 1, grid.even * 100 / grid.rows.len(), grid.width)));
    let mut grids = grids.into_iter();
    let best = grids.next().ok_or(CsvErrorKind::Empty)?;
    if best.width < 2 {
        doubts.push("there is one column, or an unusual delimiter".to_owned());
    } else if let Some(next) = grids.next()
        && next.width > 1
        && next.even * 100 / next.rows.len() >= 90
    {
        let names = (delimiter_name(best.delimiter), delimiter_name(next.delimiter));
        doubts.push(format!("the {} divides the rows evenly, but so does the {}", names.0, names.1));
    }
    let odd = best.rows.len() - best.even;
    if best.width > 1 && odd > 0 {
        doubts.push(format!("{odd} of the first {} rows have not {} cells", best.rows.len(), best.width));
    }
    Ok(best)
}

fn divide(head: &Head, delimiter: u8) -> Option<Grid> {
    let mut rows = head.rows(delimiter);
    rows.retain(|row| row.cells.iter().any(|cell| !cell.trim().is_empty()));
    rows.truncate(ROWS_LOOKED_AT);
    let count = |width: usize| rows.iter().filter(|row| row.cells.len() == width).count();
    let width = rows.iter().map(|row| row.cells.len()).max_by_key(|width| (count(*width), *width))?;
    let even = count(width);
    Some(Grid { delimiter, rows, width, even })
}

/// The position of the row that looks most like a header: full width, every cell filled, none twice, none like data.
fn header(grid: &Grid, doubts: &mut Vec<String>) -> usize {
    let early = || grid.rows.iter().enumerate().take(HEADER_ROWS_MAX);
    let full = |row: &HeadRow| row.cells.len() == grid.width;
    if let Some((at, _)) = early().find(|(_, row)| full(row) && named(row)) {
        return at;
    }
    doubts.push("no line looks like a header; say which it is with `header = N`".to_owned());
    early().find(|(_, row)| full(row)).map_or(0, |(at, _)| at)
}

fn named(row: &HeadRow) -> bool {
    let data = |cell: &str| cell.contains('@') || cell.chars().all(|c| c.is_ascii_digit() || "+-./: ".contains(c));
    let distinct: HashSet<&str> = row.cells.iter().map(|cell| cell.trim()).collect();
    row.cells.iter().all(|cell| !data(cell.trim())) && distinct.len() == row.cells.len()
}

fn check_names(columns: &[String], doubts: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for column in columns {
        if column.is_empty() {
            doubts.push("a column has no name, so it cannot be mapped".to_owned());
        } else if !seen.insert(snake(column)) {
            doubts.push(format!("`{column}` is too like another column; write it as source[{column:?}], or rename it"));
        }
    }
}
