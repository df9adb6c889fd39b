//! One read of a workbook.

use std::fs::File;
use std::io::{self, Read as _, Seek};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use xxhash_rust::xxh3::Xxh3Default;

use super::error::WorkbookFault;
use super::number::Epoch;
use super::package::{Package, Relationship};
use super::sheet::{CellKind, Sheet, SheetRow, Tail, Texts, letters};
use super::strings::SharedStrings;
use super::styles::Styles;
use super::xml::attribute;
use crate::record::RowDefect;
use crate::source::csv::error::CsvErrorKind;
use crate::source::csv::format::DetectedFormat;
use crate::source::csv::header::{HeadRow, Heading, choose};
use crate::source::csv::limits::{BUFFER_BYTES, HEADER_ROWS_MAX};
use crate::source::csv::options::Options;
use crate::source::csv::row_tracker::Mark;
use crate::source::csv::rows::{CHANGED, CellFault, Walk};
use crate::source::{self, Match, Read, RequiredColumns, Row};
use crate::spool;

/// How many names of sheets a message lists.
const SHEETS_LISTED: usize = 8;
/// How much of a part is looked at for what kind of package it is.
const LOOK_BYTES: u64 = 256;
/// The most sheets.
const SHEETS_MAX: usize = 10_000;
/// In how many of the other sheets a list is looked for.
const SHEETS_LOOKED_AT: usize = 100;

/// A workbook whose sheet is chosen and whose texts are ready.
pub(in crate::source::csv) struct Book {
    package: Package,
    texts: Texts,
    /// The name of the sheet, as people see it.
    pub(in crate::source::csv) sheet: String,
    part: String,
    is_visible: bool,
    /// The sheets that are not read.
    others: Vec<ListedSheet>,
}

/// What the first pass over a sheet found.
pub(in crate::source::csv) struct SheetSurvey {
    /// The rows among which the header is.
    pub(in crate::source::csv) head: Vec<HeadRow>,
    /// How many rows there are.
    rows: u64,
    tail: Tail,
}

/// Opens a workbook. What it needs room for lies in the folder that `options` name or, where that is another's, in that for
/// temporary files.
pub(in crate::source::csv) fn open(file: &File, options: &Options) -> Result<Book, CsvErrorKind> {
    Ok(guarded(|| Book::open(file, options.sheet.as_deref(), &spool::folder(&options.spill)))?)
}

/// Reads the rows of a workbook. The digest of the file is that of all its bytes. How files of text are written stays as `known` has
/// it: a workbook says nothing about that.
pub(in crate::source::csv) fn read(
    mut file: &File,
    options: &Options,
    wanted: &RequiredColumns,
    known: Option<&DetectedFormat>,
    visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
) -> Result<Read, CsvErrorKind> {
    let content = digest(file).map_err(CsvErrorKind::Unreadable)?;
    let mut book = open(file, options)?;
    let survey = book.survey(options.header)?;
    let heading = choose(survey.head.into_iter().map(|row| (b',', row)), options, wanted);
    let heading = heading.map_err(|error| in_sheet(error, &book, &survey.tail))?;
    refuse_merged(&survey.tail, &heading)?;
    let found = DetectedFormat {
        text: known.and_then(|known| known.text.clone()),
        header_line: u32::try_from(heading.line).unwrap_or(u32::MAX),
        columns: heading.columns.names().to_vec(),
        sheet: Some(book.sheet.clone()),
    };
    let mut pass = RowPass::new(heading, wanted);
    pass.notes = book.sheet_notes(options, wanted);
    let rows = pass.run(&mut book, visit)?;
    let RowPass { mut walk, mut notes, .. } = pass.with_notes(&survey.tail);
    notes.extend(walk.notes());
    file.rewind().map_err(CsvErrorKind::Unreadable)?;
    let is_same = digest(file).map_err(CsvErrorKind::Unreadable)? == content;
    if !walk.stopped() && (rows != survey.rows || !is_same) {
        walk.doubt(CHANGED);
    }
    let (rows, rejected, incomplete) = walk.end()?;
    Ok(Read {
        rows,
        rejected,
        content,
        modified: None,
        found: source::SourceState::Csv(found),
        span: None,
        lost: Vec::new(),
        superseded: Vec::new(),
        notes,
        incomplete,
    })
}

impl Book {
    fn open(file: &File, wanted: Option<&str>, dir: &Path) -> Result<Self, WorkbookFault> {
        let mut package = Package::open(file)?;
        if package.has("mimetype") && package.beginning("mimetype", LOOK_BYTES)?.contains("opendocument") {
            return Err(WorkbookFault::OpenDocument);
        }
        let parts = package.relationships("")?;
        let main = target(&parts, "officeDocument").ok_or(WorkbookFault::NoWorkbook)?.to_owned();
        match main.rsplit_once('.').map(|(_, end)| end) {
            Some("bin") => return Err(WorkbookFault::Binary),
            _ if !package.has(&main) => return Err(WorkbookFault::NoWorkbook),
            _ => {}
        }
        let parts = package.relationships(&main)?;
        let (sheets, epoch) = sheets(&mut package, &main, &parts)?;
        let (ListedSheet { name: sheet, part, is_visible }, others) = chosen(sheets, wanted)?;
        let texts = Texts {
            strings: SharedStrings::read(&mut package, target(&parts, "sharedStrings"), dir)?,
            styles: Styles::read(&mut package, target(&parts, "styles"))?,
            epoch,
        };
        Ok(Self { package, texts, sheet, part, is_visible, others })
    }

    /// Reads the sheet to its end. The rows among which the header is are those of the first lines, or of the line `header`.
    pub(in crate::source::csv) fn survey(&mut self, header: Option<u32>) -> Result<SheetSurvey, CsvErrorKind> {
        let survey = guarded(|| {
            let mut sheet = Sheet::new(self.package.xml(&self.part)?);
            let (mut head, mut rows, mut row) = (Vec::new(), 0, SheetRow::default());
            while sheet.next_row(&mut self.texts, &mut row)? {
                rows += 1;
                if head.len() < HEADER_ROWS_MAX || header.map(u64::from) == Some(row.number) {
                    head.extend(head_row(&row));
                }
            }
            Ok(SheetSurvey { head, rows, tail: sheet.into_tail() })
        });
        Ok(survey?)
    }

    /// What may surprise who sees the workbook: that the sheet is hidden, and that others hold such a list too.
    fn sheet_notes(&mut self, options: &Options, wanted: &RequiredColumns) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.is_visible {
            notes.push(format!("the sheet {:?} is hidden; its rows count all the same", self.sheet));
        }
        if wanted.required(&options.optional).next().is_some() {
            let mut others = std::mem::take(&mut self.others);
            others.truncate(SHEETS_LOOKED_AT);
            others.retain(|other| self.holds_list(&other.part, options, wanted));
            if !others.is_empty() {
                notes.push(format!("not read, though the columns are there too: {}", listed(&others)));
            }
        }
        notes
    }

    /// Whether a sheet has the wanted columns, and a row below them. One that can't be read is no concern of this read.
    fn holds_list(&mut self, part: &str, options: &Options, wanted: &RequiredColumns) -> bool {
        let rows_max =
            options.header.map_or(HEADER_ROWS_MAX, |line| usize::try_from(line).unwrap_or(usize::MAX - 1)) + 1;
        let head = guarded(|| {
            let mut sheet = Sheet::new(self.package.xml(part)?);
            let (mut head, mut row) = (Vec::new(), SheetRow::default());
            for _ in 0..rows_max {
                if !sheet.next_row(&mut self.texts, &mut row)? {
                    break;
                }
                head.extend(head_row(&row));
            }
            Ok(head)
        });
        let Ok(head) = head else { return false };
        let last = head.last().map_or(0, |row| row.line);
        choose(head.into_iter().map(|row| (b',', row)), options, wanted).is_ok_and(|heading| heading.line < last)
    }

    /// The first rows below a line, as texts.
    pub(in crate::source::csv) fn rows_below(&mut self, line: u64, most: usize) -> Result<Vec<HeadRow>, CsvErrorKind> {
        let found = guarded(|| {
            let mut sheet = Sheet::new(self.package.xml(&self.part)?);
            let (mut found, mut row) = (Vec::new(), SheetRow::default());
            while found.len() < most && sheet.next_row(&mut self.texts, &mut row)? {
                found.extend(head_row(&row).filter(|row| row.line > line));
            }
            Ok(found)
        });
        Ok(found?)
    }
}

/// The second pass.
struct RowPass {
    walk: Walk,
    width: usize,
    header_line: u64,
    /// The columns of which the key is made, and whether one of their cells is a number.
    keys: Vec<(usize, bool)>,
    names: Vec<String>,
    hidden: u64,
    notes: Vec<String>,
}

impl RowPass {
    fn new(heading: Heading, wanted: &RequiredColumns) -> Self {
        let column = |name| match heading.columns.find(name) {
            Match::One(at) => Some((at, false)),
            Match::Missing | Match::Several(_) => None,
        };
        Self {
            keys: wanted.keys.iter().filter_map(column).collect(),
            width: heading.columns.len(),
            header_line: heading.line,
            names: heading.columns.names().to_vec(),
            walk: Walk::new(heading, &wanted.photos, false, false),
            hidden: 0,
            notes: Vec::new(),
        }
    }

    /// Hands out the rows; how many the sheet has.
    fn run(&mut self, book: &mut Book, visit: &mut dyn FnMut(&Row) -> ControlFlow<()>) -> Result<u64, CsvErrorKind> {
        let Book { package, texts, part, .. } = book;
        let mut sheet = Sheet::new(package.xml(part)?);
        let mut row = Row::reusable(self.walk.columns());
        let (mut rows, mut read) = (0, SheetRow::default());
        while guarded(|| sheet.next_row(texts, &mut read))? {
            rows += 1;
            if read.number <= self.header_line || is_blank(&read) {
                continue;
            }
            self.hidden += u64::from(read.is_hidden);
            let (fault, flaws) = self.fill(&read, &mut row);
            let fault = fault.or_else(|| self.walk.excess(row.cells_mut()));
            row.set_flaws(flaws);
            if !self.walk.take(&mut row, Mark::of_line(read.number), fault, visit)? {
                break;
            }
        }
        Ok(rows)
    }

    /// Fills a row with the cells of one of the sheet: what is wrong with it, and with single cells of it.
    fn fill(&mut self, read: &SheetRow, row: &mut Row) -> (Option<CellFault>, Vec<(usize, RowDefect)>) {
        let cells = row.cells_mut();
        cells.clear();
        let (mut fault, mut flaws) = (None, Vec::new());
        for (column, text, kind) in read.cells() {
            if column >= self.width {
                let outside = || RowDefect::CellOutsideTable { column: letters(column) };
                fault = fault.or_else(|| Some((None, outside())).filter(|_| !text.trim().is_empty()));
                continue;
            }
            (cells.len()..column).for_each(|_| cells.push_field(""));
            cells.push_field(text);
            match kind {
                CellKind::Uncalculated => flaws.push((column, RowDefect::Uncalculated)),
                CellKind::Number => self.keys.iter_mut().filter(|key| key.0 == column).for_each(|key| key.1 = true),
                CellKind::Other => {}
            }
        }
        (cells.len()..self.width).for_each(|_| cells.push_field(""));
        if read.is_too_long {
            fault = Some((None, "the row is too long".into()));
        }
        (fault, flaws)
    }

    fn with_notes(mut self, tail: &Tail) -> Self {
        if tail.is_filtered {
            self.notes.push("a filter is left on in the sheet; the rows that it hides count all the same".to_owned());
        }
        match self.hidden {
            0 => {}
            1 => self.notes.push("1 row of the sheet is hidden; it counts all the same".to_owned()),
            many => self.notes.push(format!("{many} rows of the sheet are hidden; they count all the same")),
        }
        for (column, _) in self.keys.iter().filter(|(_, has_number)| *has_number) {
            self.notes.push(format!(
                "column `{}` identifies people and holds numbers: leading zeros may be lost; format the column as text",
                self.names[*column]
            ));
        }
        self
    }
}

/// Runs what parses a file that anybody may have made; its panic is a fault of that file.
fn guarded<T>(parse: impl FnOnce() -> Result<T, WorkbookFault>) -> Result<T, WorkbookFault> {
    catch_unwind(AssertUnwindSafe(parse)).unwrap_or(Err(WorkbookFault::Panicked))
}

/// A sheet as the workbook lists it.
struct ListedSheet {
    name: String,
    part: String,
    is_visible: bool,
}

/// The sheets, and from which day they count.
fn sheets(
    package: &mut Package,
    main: &str,
    parts: &[Relationship],
) -> Result<(Vec<ListedSheet>, Epoch), WorkbookFault> {
    let (mut sheets, mut epoch) = (Vec::new(), Epoch::Of1900);
    let mut xml = package.xml(main)?;
    while let Some(tag) = xml.next_tag()? {
        match tag.local_name().as_ref() {
            "workbookPr" if matches!(attribute(&tag, "date1904")?.as_deref(), Some("1" | "true")) => {
                epoch = Epoch::Of1904;
            }
            "sheet" => {
                let id = tag.attributes().filter_map(Result::ok).find(|it| it.key.as_ref().ends_with(":id"));
                let part = parts.iter().find(|part| id.as_ref().is_some_and(|id| *part.id == *id.value));
                let is_visible = matches!(attribute(&tag, "state")?.as_deref(), None | Some("visible"));
                // Charts are sheets too, but hold no cells.
                if let Some(part) = part.filter(|part| part.kind == "worksheet") {
                    let name = attribute(&tag, "name")?.unwrap_or_default();
                    sheets.push(ListedSheet { name, part: part.target.clone(), is_visible });
                }
            }
            _ => {}
        }
        if sheets.len() > SHEETS_MAX {
            return Err(WorkbookFault::TooManyParts);
        }
    }
    Ok((sheets, epoch))
}

/// The sheet that is wanted, else the only one that is visible; and the others.
fn chosen(
    mut sheets: Vec<ListedSheet>,
    wanted: Option<&str>,
) -> Result<(ListedSheet, Vec<ListedSheet>), WorkbookFault> {
    let at = match wanted {
        Some(wanted) => {
            let found = sheets.iter().position(|sheet| sheet.name.to_lowercase() == wanted.to_lowercase());
            found.ok_or_else(|| WorkbookFault::NoSheet { wanted: wanted.to_owned(), there: listed(&sheets) })?
        }
        None => {
            let (visible, hidden): (Vec<_>, Vec<_>) = sheets.into_iter().partition(|sheet| sheet.is_visible);
            match visible.len() {
                0 => return Err(WorkbookFault::NoVisibleSheet { there: listed(&hidden) }),
                1 => {}
                count => return Err(WorkbookFault::SeveralSheets { count, there: listed(&visible) }),
            }
            sheets = visible.into_iter().chain(hidden).collect();
            0
        }
    };
    Ok((sheets.remove(at), sheets))
}

/// The names of sheets, for a message.
fn listed(sheets: &[ListedSheet]) -> String {
    let name = |sheet: &ListedSheet| format!("{:?}{}", sheet.name, if sheet.is_visible { "" } else { " (hidden)" });
    let names: Vec<String> = sheets.iter().take(SHEETS_LISTED).map(name).collect();
    let more = if sheets.len() > SHEETS_LISTED { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}

fn target<'p>(parts: &'p [Relationship], kind: &str) -> Option<&'p str> {
    parts.iter().find(|part| part.kind == kind).map(|part| part.target.as_str())
}

/// A fault of the header with what explains it in a workbook: merged cells, or another sheet.
fn in_sheet(error: CsvErrorKind, book: &Book, tail: &Tail) -> CsvErrorKind {
    let CsvErrorKind::Header { line, mut faults } = error else { return error };
    let merge = tail.merges.iter().find(|merge| (merge.rows.0..=merge.rows.1).contains(&line));
    faults.extend(merge.map(|merge| format!("the cells {} are merged; unmerge them", merge.range)));
    if !book.others.is_empty() {
        faults.push(format!("this is the sheet {:?}, and there is {} too", book.sheet, listed(&book.others)));
    }
    CsvErrorKind::Header { line, faults }
}

/// Merged cells in the header or below, in the columns of the table.
fn refuse_merged(tail: &Tail, heading: &Heading) -> Result<(), WorkbookFault> {
    let in_table =
        |merge: &&super::sheet::Merge| merge.rows.1 >= heading.line && merge.first_column < heading.columns.len();
    match tail.merges.iter().find(in_table) {
        Some(merge) => Err(WorkbookFault::Merged { line: merge.rows.0, range: merge.range.clone() }),
        None => Ok(()),
    }
}

/// The cells of a row as texts, without those behind the last one; none of a row without any.
fn head_row(row: &SheetRow) -> Option<HeadRow> {
    let mut cells: Vec<String> = Vec::new();
    for (column, text, _) in row.cells().filter(|(_, text, _)| !text.trim().is_empty()) {
        cells.resize(column, String::new());
        cells.push(text.to_owned());
    }
    (!cells.is_empty()).then(|| HeadRow::of_cells(row.number, cells))
}

fn is_blank(row: &SheetRow) -> bool {
    row.cells().all(|(_, text, kind)| text.trim().is_empty() && kind != CellKind::Uncalculated)
}

/// The digest of all bytes of a file.
fn digest(mut file: &File) -> io::Result<u128> {
    file.rewind()?;
    let (mut hasher, mut buffer) = (Xxh3Default::new(), vec![0; BUFFER_BYTES]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.digest128()),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
