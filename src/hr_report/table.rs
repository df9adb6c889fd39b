//! The report as a table for a spreadsheet.

use csv::{Terminator, WriterBuilder};

use super::{HrReport, Language};
use crate::source::csv::DELIMITERS;

/// The mark by which spreadsheets know UTF-8.
pub const MARK: &[u8] = "\u{feff}".as_bytes();

/// The delimiter of what begins with these bytes, if it is such a table.
pub fn delimiter_of(head: &[u8]) -> Option<u8> {
    let rest = head.strip_prefix(MARK)?;
    Language::all().find_map(|language| {
        let columns = language.sentences().columns();
        let delimiter = *rest.get(columns[0].len())?;
        (DELIMITERS.contains(&delimiter)
            && rest.starts_with(columns.join(&char::from(delimiter).to_string()).as_bytes()))
        .then_some(delimiter)
    })
}

/// Writes the table: a mark, a header, then a line for each row with its line in the file, its key, outcome and reason,
/// and the value that can't be used.
/// Remarks on the whole file come first, without a row.
pub fn table(hr_report: &HrReport) -> Vec<u8> {
    let mut writer =
        WriterBuilder::new().delimiter(hr_report.delimiter).terminator(Terminator::CRLF).from_writer(MARK.to_vec());
    let mut put = |cells: [&str; 5]| {
        let cells = cells.map(harmless);
        writer.write_record(cells.iter().map(|cell| cell.as_bytes())).expect("memory takes everything");
    };
    let sentences = hr_report.language.sentences();
    put(sentences.columns());
    let marked = |text: &str, in_english: bool| match in_english {
        true => format!("{}: {text}", sentences.for_it),
        false => text.to_owned(),
    };
    for message in hr_report.messages() {
        put(["", "", &sentences.file, &marked(&message.text, message.in_english), ""]);
    }
    for line in &hr_report.lines {
        let value = line.value.as_deref().unwrap_or_default();
        let row = line.row.map(|row| row.to_string()).unwrap_or_default();
        put([
            &row,
            line.key.as_deref().unwrap_or_default(),
            hr_report.language.name_of(line.outcome),
            &marked(&line.reason, line.in_english),
            value,
        ]);
    }
    writer.into_inner().expect("memory takes everything")
}

/// A cell that no spreadsheet takes for a formula: what begins like one gets an apostrophe.
pub fn harmless(cell: &str) -> String {
    let formula = |c: char| matches!(c, '=' | '+' | '-' | '@' | '\t' | '\r' | '\n' | '＝' | '＋' | '－' | '＠');
    // A space or a mark that can't be seen is dropped by some programs before they look.
    let seen =
        cell.trim_start_matches(|c: char| c == ' ' || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{a0}'));
    if seen.starts_with(formula) { format!("'{cell}") } else { cell.to_owned() }
}
