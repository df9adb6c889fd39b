//! One read of a file.

use std::fs::File;
use std::io::{self, Read as _, Seek};
use std::ops::ControlFlow;

use super::encoding::decide;
use super::error::{CsvErrorKind, Error};
use super::file::{Stamp, open_settled};
use super::format::{DetectedFormat, TextFormat, delimiter_name};
use super::header::{Head, Heading};
use super::options::Options;
use super::rows::{CHANGED, Walk};
use super::scan::{Survey, survey};
use super::transcode::Text;
use super::workbook::{self, Container, WorkbookFault};
use crate::clock::Clock;
use crate::source::{self, Read, RequiredColumns, Row};

/// Reads a file: finds out how it is written, then visits each whole row below the header.
///
/// `known` is what the read before found; where no setting says otherwise, encoding and delimiter must still be those.
/// Waits for a file that is younger than `settle`, at most ten times as long and 3 s. A visit that breaks ends the read,
/// which then proves nothing.
pub fn read(
    options: &Options,
    wanted: &RequiredColumns,
    known: Option<&DetectedFormat>,
    clock: &Clock,
    visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
) -> Result<Read, Error> {
    read_file(options, wanted, known, clock, visit).map_err(|kind| Error { path: options.shown().to_owned(), kind })
}

/// Opens the file and checks its size.
pub(super) fn open(options: &Options, clock: &Clock) -> Result<(File, Stamp), CsvErrorKind> {
    let (file, stamp) = open_settled(&options.path, options.settle, clock)?;
    match stamp.size {
        0 => Err(CsvErrorKind::Empty),
        size if size > options.size_max => Err(CsvErrorKind::TooLarge { size, max: options.size_max }),
        _ => Ok((file, stamp)),
    }
}

/// A file that no one else can change.
#[derive(Debug)]
pub struct Opened {
    /// The file.
    pub file: File,
    /// Its size in bytes.
    pub size: u64,
}

/// The same of a file that is open already.
pub fn read_opened(
    opened: Opened,
    options: &Options,
    wanted: &RequiredColumns,
    known: Option<&DetectedFormat>,
    visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
) -> Result<Read, Error> {
    let Opened { file, size } = opened;
    let read = match size {
        0 => Err(CsvErrorKind::Empty),
        _ => read_rows((file, size, None), options, wanted, known, visit),
    };
    read.map_err(|kind| Error { path: options.shown().to_owned(), kind })
}

fn read_file(
    options: &Options,
    wanted: &RequiredColumns,
    known: Option<&DetectedFormat>,
    clock: &Clock,
    visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
) -> Result<Read, CsvErrorKind> {
    let (file, stamp) = open(options, clock)?;
    let mut read = read_rows((file, stamp.size, Some(stamp)), options, wanted, known, visit)?;
    read.modified = stamp.written();
    read.notes.extend(stamp.is_open_to_all.then(|| OPEN_TO_ALL.to_owned()));
    Ok(read)
}

/// What is said of a file that everybody may write.
const OPEN_TO_ALL: &str = "everybody on this machine may write the file, and who does decides who is there; take that right from others (chmod o-w)";

fn read_rows(
    (mut file, size, stamp): (File, u64, Option<Stamp>),
    options: &Options,
    wanted: &RequiredColumns,
    known: Option<&DetectedFormat>,
    visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
) -> Result<Read, CsvErrorKind> {
    match container(&mut file).map_err(CsvErrorKind::Unreadable)? {
        Container::Other => {}
        Container::Ole => return Err(WorkbookFault::Old.into()),
        Container::Zip => {
            let mut read = workbook::read(&file, options, wanted, known, visit)?;
            if stamp.is_some_and(|stamp| Stamp::at(&options.path) != Some(stamp)) {
                read.incomplete.push(CHANGED.to_owned());
            }
            return Ok(read);
        }
    }
    let before = known.and_then(|known| known.text.as_ref());
    let survey = survey(&mut file, size).map_err(CsvErrorKind::Unreadable)?;
    let decision = decide(options.encoding, &survey, before.map(|before| before.encoding.as_str()))?;
    let head = Head::read(&mut file, &decision, survey.size).map_err(CsvErrorKind::Unreadable)?;
    let heading = head.heading(options, wanted, before.map(|before| before.delimiter))?;
    same_delimiter(options, known, &heading)?;
    let read = TextFormat { encoding: decision.encoding.name().to_owned(), delimiter: heading.delimiter };
    let found = DetectedFormat {
        text: if options.is_own { before.cloned() } else { Some(read) },
        header_line: u32::try_from(heading.line).unwrap_or(u32::MAX),
        columns: heading.columns.names().to_vec(),
        sheet: None,
    };

    let cut = decision.cut(&survey);
    let text = Text::new(&mut file, &decision, survey.size).map_err(CsvErrorKind::Unreadable)?;
    let mut walk = Walk::new(heading, &wanted.photos, options.final_newline && !cut, cut);
    let text = walk.run(text, visit)?;
    if !walk.stopped() && changed(text, &survey, stamp, options)? {
        walk.doubt(CHANGED);
    }
    let notes = walk.notes();
    let (rows, rejected, incomplete) = walk.end()?;
    Ok(Read {
        rows,
        rejected,
        content: survey.content,
        modified: None,
        found: source::SourceState::Csv(found),
        span: None,
        lost: Vec::new(),
        superseded: Vec::new(),
        notes,
        incomplete,
    })
}

/// How a file is packed.
pub(super) fn container(file: &mut File) -> io::Result<Container> {
    let mut head = Vec::new();
    file.rewind()?;
    file.by_ref().take(4).read_to_end(&mut head)?;
    Ok(Container::of(&head))
}

/// Whether the file is another by now than the one that was looked through first.
fn changed(text: Text<'_>, survey: &Survey, stamp: Option<Stamp>, options: &Options) -> Result<bool, CsvErrorKind> {
    let content = text.content().map_err(CsvErrorKind::Unreadable)?;
    Ok(content != survey.content || stamp.is_some_and(|stamp| Stamp::at(&options.path) != Some(stamp)))
}

/// A file of one column has no delimiter that could change.
fn same_delimiter(options: &Options, known: Option<&DetectedFormat>, heading: &Heading) -> Result<(), CsvErrorKind> {
    let Some(before) = known.filter(|known| known.columns.len() > 1).and_then(|known| known.text.as_ref()) else {
        return Ok(());
    };
    if options.delimiter.is_some() || before.delimiter == heading.delimiter || heading.columns.len() <= 1 {
        return Ok(());
    }
    let (was, is) = (delimiter_name(before.delimiter), delimiter_name(heading.delimiter));
    Err(CsvErrorKind::DelimiterChanged { was, is })
}
