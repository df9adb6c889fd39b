//! What is wrong with a row.
//!
//! Invariants:
//! - A fault holds no value of the row (law 11); what stands in the cell is in [`super::Rejected::value`].
//! - What people who correct files meet is a fault of its own, which each language of the report has a sentence for. Only
//!   what administrators meet (templates, directories) is text.
//!
//! Rejected: a text for each. The report is in six languages, and no text that is shown is compared to find another.

use serde::{Deserialize, Serialize};

/// What is wrong with a row, or with one value of it. Its text is for administrators.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each says by its text what it means")]
pub enum RowDefect {
    #[error("the key is empty")]
    EmptyKey,
    #[error("the key has more than {bytes} bytes")]
    KeyTooLong { bytes: usize },
    #[error("the key holds a control character, such as a line end")]
    ControlInKey,
    #[error("it is empty, and must not be")]
    Empty,
    #[error("the value is a spreadsheet's error; mend the cell, and save or export the list again")]
    SpreadsheetError,
    #[error(
        "the value is a number that a spreadsheet has shortened; format the column as text, and save or export the list again"
    )]
    ShortenedNumber,
    #[error("the value has more than {kib} KiB")]
    ValueTooLong { kib: usize },
    #[error("the value holds a NUL character, which is no text")]
    Nul,
    #[error("the list has more than {entries} entries")]
    ListTooLong { entries: usize },
    #[error("the name holds no letter; is this row a line of totals?")]
    NameWithoutLetter,
    #[error("it gives neither true nor false")]
    NeitherTrueNorFalse,
    #[error("the value is neither yes nor no (1, 0, true, false)")]
    NeitherYesNorNo,
    #[error("is a checkbox: map it to 1 or 0, true or false, yes or no")]
    Checkbox,
    #[error("the value is no phone number: it holds no digit")]
    PhoneWithoutDigit,
    #[error("the value is no phone number: it is a date or a fraction")]
    PhoneIsDate,
    #[error("the value is no phone number: it holds more than digits, spaces and ()-./+")]
    PhoneSigns,
    #[error(
        "the value begins with the code of its own country, as a number that lost its + does; write it with a + or as it is \
         dialled in the country"
    )]
    PhoneWithoutPlus,
    #[error("the value is no phone number: it has too few or too many digits")]
    PhoneDigits,
    #[error("the value is no date as YYYY-MM-DD; the filter `date` makes one of another form")]
    NoDay,
    #[error("the value is not a date of the form `{format}`")]
    NoDate { format: String, form: String },
    #[error(
        "the value is not a date of the form `{format}`; it is one of the form `%Y-%m-%d`, as the dates of workbooks are"
    )]
    IsoDate { format: String, form: String },
    #[error("there is no such day")]
    NoSuchDay,
    #[error("the value is a moment that is on another day in the time zone of the job; write the day alone")]
    OtherDayInZone,
    #[error(
        "the day lies too long ago: digits of its year are missing, or it stands for no day; leave the cell empty then"
    )]
    DayLongAgo,
    #[error("the last day lies before the first (active_from)")]
    LastDayBeforeFirst,
    #[error("the value is no number (a decimal point, no comma)")]
    NoNumber,
    #[error("the value holds something that is no id; ids are whole numbers above 0")]
    NoId,
    #[error("the photo is no base64")]
    PhotoNoBase64,
    #[error("the value is not in the table `{table}`")]
    NotInTable { table: String },
    #[error("something follows a closing quote, so rows may have run together; a quote inside a cell is written twice")]
    TextAfterQuote,
    #[error("a cell holds what looks like whole rows; is a quote missing, or one too many?")]
    RowsInCell,
    #[error("a quote is opened and never closed")]
    OpenQuote,
    #[error("the row does not end; a quote is opened and never closed")]
    EndlessRow,
    #[error("the row holds bytes that are no text in the file's encoding; check `encoding`")]
    NotInEncoding,
    #[error("the file ends in this row without a line end, so the row may be cut")]
    MaybeCut,
    #[error("the file was cut inside this row")]
    Cut,
    #[error("the row goes on for {lines} lines; is a quote missing?")]
    LongRow { lines: u64 },
    #[error("the row has {cells} cells, the header has {columns}; a cell that holds a {delimiter} must be in quotes")]
    CellCount { cells: usize, columns: usize, delimiter: String },
    #[error("the row has more than {kib} KiB")]
    RowTooLong { kib: usize },
    #[error("the cell has more than {kib} KiB")]
    CellTooLong { kib: usize },
    #[error("the cell in column {column} is right of the table; empty it")]
    CellOutsideTable { column: String },
    #[error(
        "the cell holds a formula that was never calculated; open the workbook in Excel or LibreOffice and save it again"
    )]
    Uncalculated,
    #[error("another row of this key can't be used, so this one is not used either")]
    OtherRowUnusable,
    #[error(
        "the list seems to be older than the last one, and this row names a day, or something newer waits of this person: \
         nothing of the row is used; if it counts, drop it again in a new list"
    )]
    OlderRow,
    #[error("the key stands on lines {lines} with different values; which of them is right?")]
    RowsDiffer { lines: String },
    #[error("the service has no location of that name; `rosterd check` lists its locations")]
    NoLocation,
    #[error("the service has no location of the id {id}; `rosterd api location.list` shows their ids")]
    NoLocationId { id: i32 },
    #[error("this is no email address")]
    NoEmail,
    #[error("the service has several locations of that name; rename one there")]
    SeveralLocations,
    /// What only administrators meet.
    #[error("{0}")]
    Other(String),
}

impl RowDefect {
    /// A value that is no date of a `strptime` format.
    pub fn no_date(format: &str, is_iso: bool) -> Self {
        const SIGNS: [(&str, &str); 6] =
            [("%d", "DD"), ("%m", "MM"), ("%Y", "YYYY"), ("%y", "YY"), ("%H", "hh"), ("%M", "mm")];
        let form = SIGNS.iter().fold(format.to_owned(), |form, (sign, letters)| form.replace(sign, letters));
        let format = format.to_owned();
        if is_iso { Self::IsoDate { format, form } } else { Self::NoDate { format, form } }
    }
}

impl From<String> for RowDefect {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

impl From<&str> for RowDefect {
    fn from(text: &str) -> Self {
        Self::Other(text.to_owned())
    }
}
