//! Tracks what the CSV reader does not report, by watching the text on its way to it: on which line a row begins,
//! whether its quotes pair, whether it ended.
//!
//! The reader is lenient, and rightly so: `5" disk` is a fine cell. But a quote that opens a cell and is closed in the
//! wrong place swallows rows, and a swallowed row looks like someone who left. So this follows the same rules as the
//! reader (a test holds both to the same rows) and remembers where they had to be bent.
//!
//! Rejected: taking lines from the reader. It counts `\n` only, and before the blank lines that it skips.

use std::collections::VecDeque;
use std::io::{self, Read};

use memchr::memchr3;

use super::transcode::Text;

const MARK: &[u8] = "\u{feff}".as_bytes();

/// What the reader does not tell of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The line on which it begins, counted from 1.
    pub(super) line: u64,
    /// What is wrong with it.
    pub(super) flaw: Option<Flaw>,
    /// Whether the text ends before its line end.
    pub(super) open: bool,
    /// How many line ends its cells hold.
    pub(super) breaks: u64,
    start: u64,
}

impl Mark {
    /// Of a row that is whole.
    pub(super) fn of_line(line: u64) -> Self {
        Self { line, flaw: None, open: false, breaks: 0, start: 0 }
    }
}

/// What is wrong with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Something follows a closing quote.
    Quote,
    /// A quote is never closed.
    Unclosed,
    /// It goes on and on: reading stops there.
    Endless,
    /// It holds bytes that do not decode.
    Malformed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TrackerState {
    Between,
    Plain,
    Quoted,
    /// Behind a quote inside a quoted cell: its end, or the first of two.
    Closing,
}

/// A reader that marks rows.
pub(super) struct Watch<'f> {
    text: Text<'f>,
    rows: Rows,
    malformed: Vec<usize>,
}

impl<'f> Watch<'f> {
    /// Watches `text` for rows whose cells are divided by `delimiter`; one that has not ended after so many bytes is given
    /// up.
    pub(super) fn new(text: Text<'f>, delimiter: u8, endless_bytes: u64) -> Self {
        Self { text, rows: Rows::new(delimiter, endless_bytes), malformed: Vec::new() }
    }

    /// The mark of the next row, in the order in which the reader gives them.
    pub(super) fn next(&mut self) -> Option<Mark> {
        self.rows.marks.pop_front()
    }

    /// The text, when it was read.
    pub(super) fn into_text(self) -> Text<'f> {
        self.text
    }
}

impl Read for Watch<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.rows.endless() {
            return Ok(0);
        }
        self.malformed.clear();
        let read = self.text.read(out, &mut self.malformed)?;
        let start = self.rows.offset;
        self.rows.take(&out[..read]);
        for at in &self.malformed {
            self.rows.flaw_at(start + *at as u64);
        }
        Ok(read)
    }
}

/// Follows the rows of a text that comes in pieces.
pub(super) struct Rows {
    delimiter: u8,
    endless_bytes: u64,
    state: TrackerState,
    before: u8,
    line: u64,
    offset: u64,
    marks: VecDeque<Mark>,
}

impl Rows {
    pub(super) fn new(delimiter: u8, endless_bytes: u64) -> Self {
        Self {
            delimiter,
            endless_bytes,
            state: TrackerState::Between,
            before: 0,
            line: 1,
            offset: 0,
            marks: VecDeque::new(),
        }
    }

    /// The marks so far.
    pub(super) fn into_marks(self) -> VecDeque<Mark> {
        self.marks
    }

    /// Takes the next piece; an empty one is the end.
    pub(super) fn take(&mut self, piece: &[u8]) {
        if piece.is_empty() {
            self.end();
        }
        // As the reader does: a mark is no part of the first cell.
        let mut at = if self.offset == 0 && piece.starts_with(MARK) { MARK.len() } else { 0 };
        while at < piece.len() {
            at = self.step(piece, at);
        }
        self.before = piece.last().copied().unwrap_or(self.before);
        self.offset += piece.len() as u64;
    }

    /// Takes one byte, or as many as mean nothing; the position behind them.
    fn step(&mut self, piece: &[u8], at: usize) -> usize {
        let byte = piece[at];
        let before = if at > 0 { piece[at - 1] } else { self.before };
        match self.state {
            TrackerState::Between if matches!(byte, b'\n' | b'\r') => self.line_end(byte, before),
            TrackerState::Between => {
                let start = self.offset + at as u64;
                self.marks.push_back(Mark { line: self.line, flaw: None, open: false, breaks: 0, start });
                self.state = if byte == b'"' { TrackerState::Quoted } else { TrackerState::Plain };
            }
            TrackerState::Closing => match byte {
                b'"' => self.state = TrackerState::Quoted,
                b'\n' | b'\r' => self.row_end(byte, before),
                _ => {
                    if byte != self.delimiter {
                        self.flaw(Flaw::Quote);
                    }
                    self.state = TrackerState::Plain;
                }
            },
            TrackerState::Plain | TrackerState::Quoted => {
                let Some(ahead) = memchr3(b'"', b'\n', b'\r', &piece[at..]) else {
                    return piece.len();
                };
                let at = at + ahead;
                let (byte, before) = (piece[at], if at > 0 { piece[at - 1] } else { self.before });
                match (self.state, byte) {
                    (TrackerState::Quoted, b'"') => self.state = TrackerState::Closing,
                    (TrackerState::Quoted, _) => {
                        self.line_end(byte, before);
                        if let Some(mark) = self.marks.back_mut() {
                            mark.breaks = self.line - mark.line;
                        }
                    }
                    (_, b'"') if before == self.delimiter => self.state = TrackerState::Quoted,
                    (_, b'"') => {}
                    (..) => self.row_end(byte, before),
                }
                return at + 1;
            }
        }
        at + 1
    }

    fn row_end(&mut self, byte: u8, before: u8) {
        self.state = TrackerState::Between;
        self.line_end(byte, before);
    }

    /// CR LF is one line end.
    fn line_end(&mut self, byte: u8, before: u8) {
        if byte == b'\r' || before != b'\r' {
            self.line += 1;
        }
    }

    /// Whether the row that is open has grown beyond all measure.
    fn endless(&mut self) -> bool {
        let open = self.state != TrackerState::Between;
        let long = self.marks.back().is_some_and(|mark| self.offset - mark.start > self.endless_bytes);
        if open && long {
            self.flaw(Flaw::Endless);
        }
        open && long
    }

    fn end(&mut self) {
        if self.state == TrackerState::Between {
            return;
        }
        if self.state == TrackerState::Quoted {
            self.flaw(Flaw::Unclosed);
        }
        if let Some(mark) = self.marks.back_mut() {
            mark.open = true;
        }
    }

    /// The row that is open now has a flaw; the first one found stays, but that nothing ended is worse.
    fn flaw(&mut self, flaw: Flaw) {
        if let Some(mark) = self.marks.back_mut()
            && (mark.flaw.is_none() || matches!(flaw, Flaw::Unclosed | Flaw::Endless))
        {
            mark.flaw = Some(flaw);
        }
    }

    /// The row that covers an offset holds bytes that do not decode.
    fn flaw_at(&mut self, offset: u64) {
        let after = self.marks.partition_point(|mark| mark.start <= offset);
        if let Some(mark) = after.checked_sub(1).and_then(|at| self.marks.get_mut(at)) {
            mark.flaw.get_or_insert(Flaw::Malformed);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::csv::limits::ENDLESS_ROW_BYTES;

    fn marks(pieces: &[&[u8]]) -> Vec<(u64, Option<Flaw>, bool)> {
        let mut rows = Rows::new(b';', ENDLESS_ROW_BYTES);
        pieces.iter().filter(|piece| !piece.is_empty()).for_each(|piece| rows.take(piece));
        rows.take(&[]);
        rows.into_marks().iter().map(|mark| (mark.line, mark.flaw, mark.open)).collect()
    }

    #[test]
    fn fault_83_and_85_every_row_has_its_line_and_its_flaw() {
        let fine = |line| (line, None, false);
        for (text, expected) in [
            ("a;b\nc;d\n", vec![fine(1), fine(2)]),
            ("a\r\n\r\n\r\nb\r\n", vec![fine(1), fine(4)]),
            ("a\rb\r\rc\r", vec![fine(1), fine(2), fine(4)]),
            ("\n\n\"x\ny\"\nz\n", vec![fine(3), fine(5)]),
            ("a;5\" disk;b\nc\n", vec![fine(1), fine(2)]),
            ("\"a \"\"b\"\" c\";\"\"\nx\n", vec![fine(1), fine(2)]),
            ("a;b", vec![(1, None, true)]),
            ("a;\"b\"", vec![(1, None, true)]),
            ("a\nb;\"c\nd\ne\n", vec![fine(1), (2, Some(Flaw::Unclosed), true)]),
            ("1;\"Jo;x\n2;\"Mary\";y\n3;z\n", vec![(1, Some(Flaw::Quote), false), fine(3)]),
            ("\r\n", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(marks(&[text.as_bytes()]), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn the_reader_sees_the_same_rows(text in "[a;\"\n\r ]{0,40}", at in 0usize..40) {
            let bytes = text.as_bytes();
            let at = at.min(bytes.len());
            let mut reader = csv::ReaderBuilder::new()
                .has_headers(false).flexible(true).delimiter(b';').from_reader(bytes);
            let rows = reader.byte_records().map(Result::unwrap).count();
            let marks = marks(&[&bytes[..at], &bytes[at..]]);
            prop_assert_eq!(marks.len(), rows);
            prop_assert_eq!(marks, self::marks(&[bytes]));
        }

        #[test]
        fn a_mark_at_the_beginning_is_no_cell(text in "\u{feff}[a;\"\n\r ]{0,8}") {
            let mut reader = csv::ReaderBuilder::new()
                .has_headers(false).flexible(true).delimiter(b';').from_reader(text.as_bytes());
            prop_assert_eq!(marks(&[text.as_bytes()]).len(), reader.byte_records().count());
        }

        #[test]
        fn what_a_writer_wrote_has_no_flaw(cells in prop::collection::vec("[a;\"\n\r ]{0,8}", 1..9)) {
            let mut writer = csv::WriterBuilder::new().delimiter(b';').flexible(true).from_writer(Vec::new());
            for row in cells.chunks(3) {
                writer.write_record(row).unwrap();
            }
            let written = writer.into_inner().unwrap();
            prop_assert!(marks(&[&written]).iter().all(|(_, flaw, open)| flaw.is_none() && !open));
        }
    }
}
