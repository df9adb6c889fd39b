//! The languages of the report: a table of sentences for each.
//!
//! Invariants:
//! - Every language has every sentence: a table that lacks one, or has one more, can't be read, and a test reads all.
//! - A further language is one file beside the others, and its line in [`Language::ALL`].
//!
//! Rejected: sentences in code. Who translates them does not build this program.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jiff::Zoned;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::{FileMessage, FileNote, RowOutcome, Verdict};
use crate::plan::HoldReason;
use crate::record::RowDefect;
use crate::source::inbox::Refusal;

/// A language of the report, by its code of ISO 639-1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// German.
    De,
    /// English.
    #[default]
    En,
    /// Spanish.
    Es,
    /// French.
    Fr,
    /// Māori.
    Mi,
    /// Dutch.
    Nl,
}

impl Language {
    /// Each with its code and its table.
    const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::De, "de", include_str!("languages/de.toml")),
        (Self::En, "en", include_str!("languages/en.toml")),
        (Self::Es, "es", include_str!("languages/es.toml")),
        (Self::Fr, "fr", include_str!("languages/fr.toml")),
        (Self::Mi, "mi", include_str!("languages/mi.toml")),
        (Self::Nl, "nl", include_str!("languages/nl.toml")),
    ];

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().map(|(language, ..)| language)
    }

    /// Its code.
    pub fn code(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// What it calls an outcome, in the table.
    pub fn name_of(self, outcome: RowOutcome) -> &'static str {
        &self.sentences().outcomes[&outcome].name
    }

    /// What it says of a defect; `None` where administrators alone meet it.
    pub fn defect(self, defect: &RowDefect) -> Option<String> {
        self.sentence(defect, &self.sentences().defects, &BTreeMap::new())
    }

    /// What it says of why something waits, with fields by their headings; `None` where administrators alone act on it.
    pub fn hold_reason(self, reason: &HoldReason, headings: &BTreeMap<String, String>) -> Option<String> {
        let table = &self.sentences().waits;
        let part = |reason| self.hold_reason(reason, headings);
        match reason {
            HoldReason::Both { first, then } => Some(format!("{}; {}", part(first)?, part(then)?)),
            HoldReason::Segment { segment, reason } => {
                Some(filled(&filled(table.get("segment")?, "segment", segment), "reason", &part(reason)?))
            }
            HoldReason::Undoing { run, reason } => {
                Some(filled(&filled(table.get("undoing")?, "run", &run.to_string()), "reason", &part(reason)?))
            }
            HoldReason::OlderExport(older) => self.sentence(older, table, headings),
            reason => self.sentence(reason, table, headings),
        }
    }

    /// What it says of a file as a whole.
    pub fn file_note(self, note: &FileNote) -> FileMessage {
        let text = self.sentence(note, &self.sentences().file_notes, &BTreeMap::new());
        FileMessage { text: text.expect("every language has a sentence for every note"), in_english: false }
    }

    /// What it says of a file that is never read.
    pub fn refusal(self, refusal: &Refusal) -> FileMessage {
        let text = self.sentence(refusal, &self.sentences().file_notes, &BTreeMap::new());
        FileMessage { text: text.expect("every language has a sentence for every refusal"), in_english: false }
    }

    /// The sentence of a variant in a table of them by name, with its values in their places, and fields by their headings;
    /// `None` where the table has none.
    fn sentence(
        self,
        variant: &impl Serialize,
        table: &BTreeMap<String, String>,
        headings: &BTreeMap<String, String>,
    ) -> Option<String> {
        let words = &self.sentences().words;
        let variant = serde_json::to_value(variant).expect("plain values");
        let (name, values) = match &variant {
            serde_json::Value::String(name) => (name, None),
            named => named.as_object()?.iter().next().map(|(name, values)| (name, values.as_object()))?,
        };
        let fill = |sentence: String, (place, value): (&String, &serde_json::Value)| {
            let text = match (place.as_str(), value) {
                ("field" | "other", serde_json::Value::String(field)) => headings.get(field).unwrap_or(field).clone(),
                ("delimiter", serde_json::Value::String(name)) => words.delimiter(name).to_owned(),
                ("form", serde_json::Value::String(form)) => words.form(form),
                (_, serde_json::Value::String(text)) => text.clone(),
                (_, serde_json::Value::Array(texts)) => {
                    let texts: Vec<&str> = texts.iter().filter_map(serde_json::Value::as_str).collect();
                    texts.join(&format!(" {} ", words.or))
                }
                (_, value) => value.to_string(),
            };
            filled(&sentence, place, &text)
        };
        Some(values.into_iter().flatten().fold(table.get(name)?.clone(), fill))
    }

    /// What it says of a row that counts from a day on only.
    pub fn not_yet(self, from: Date) -> String {
        filled(&self.sentences().not_yet, "date", &from.to_string())
    }

    /// That what is missing ends then.
    pub fn ends(self, at: &Zoned) -> String {
        filled(&self.sentences().ends, "at", &self.time(at))
    }

    /// What is said in English alone.
    pub fn in_english(self, text: String) -> FileMessage {
        FileMessage { text, in_english: self != Self::En }
    }

    /// The word that stands before each key in its sentences.
    pub fn key_word(self) -> &'static str {
        &self.sentences().key
    }

    /// A time as it writes it.
    pub fn time(self, at: &Zoned) -> String {
        at.strftime(&self.sentences().date).to_string()
    }

    /// Its sentences.
    pub(super) fn sentences(self) -> &'static Sentences {
        static TABLES: [OnceLock<Sentences>; 6] = [const { OnceLock::new() }; 6];
        let read = || toml::from_str(Self::ALL[self as usize].2).expect("a test reads every table");
        TABLES[self as usize].get_or_init(read)
    }
}

/// What a report is made of besides its data. `{name}` is a place for a value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sentences {
    /// A time, as strftime writes it.
    pub(super) date: String,
    pub(super) whole_file: String,
    pub(super) updated: String,
    /// What stands before words that are for administrators.
    pub(super) for_it: String,
    pub(super) not_yet: String,
    pub(super) ends: String,
    pub(super) newer: String,
    pub(super) decide: String,
    pub(super) contact: String,
    pub(super) more: String,
    pub(super) row: String,
    pub(super) key: String,
    pub(super) outcome: String,
    pub(super) reason: String,
    pub(super) file: String,
    pub(super) why: String,
    pub(super) value: String,
    pub(super) unknown_key: String,
    pub(super) footer: String,
    /// Words that stand in the place of a value.
    pub(super) words: ValueWords,
    pub(super) verdicts: BTreeMap<Verdict, VerdictWords>,
    pub(super) outcomes: BTreeMap<RowOutcome, OutcomeWords>,
    /// What is wrong with a row, by the name of its defect.
    pub(super) defects: BTreeMap<String, String>,
    /// Why something waits, by the name of the reason.
    pub(super) waits: BTreeMap<String, String>,
    /// What there is to say about a file as a whole, by the name of the note.
    pub(super) file_notes: BTreeMap<String, String>,
}

/// Words for values: delimiters, what is put between the last two of a list, and the letters of a date's form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ValueWords {
    comma: String,
    semicolon: String,
    tab: String,
    bar: String,
    other: String,
    or: String,
    day: String,
    month: String,
    year: String,
}

impl ValueWords {
    /// The delimiter that this program calls so.
    fn delimiter(&self, name: &str) -> &str {
        match name {
            "comma" => &self.comma,
            "semicolon" => &self.semicolon,
            "tab" => &self.tab,
            "bar" => &self.bar,
            _ => &self.other,
        }
    }

    /// The form of a date, such as `DD/MM/YYYY`, in the letters of the language.
    fn form(&self, form: &str) -> String {
        [("D", &self.day), ("M", &self.month), ("Y", &self.year)]
            .iter()
            .fold(form.to_owned(), |form, (letter, own)| form.replace(letter, own))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VerdictWords {
    pub(super) title: String,
    pub(super) sentence: String,
}

/// How a report speaks of an outcome.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutcomeWords {
    /// In the table.
    pub(super) name: String,
    /// Below the number of them.
    pub(super) count: String,
    /// Above the list of them.
    pub(super) heading: String,
    /// What to do about them; empty where there is nothing to do.
    pub(super) help: String,
}

impl Sentences {
    /// The heads of the table's columns.
    pub(super) fn columns(&self) -> [&str; 5] {
        [&self.row, &self.key, &self.outcome, &self.reason, &self.value]
    }
}

/// A sentence with a value in its place.
pub(super) fn filled(sentence: &str, name: &str, value: &str) -> String {
    sentence.replace(&format!("{{{name}}}"), value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan::{Leaving, ManyMissing};
    use crate::record::RemoteId;
    use crate::source::inbox::OlderExport as Older;

    /// Each text of a table with its name.
    fn texts(table: &toml::Table, above: &str) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for (name, value) in table {
            let name = format!("{above}{name}");
            match value {
                toml::Value::Table(table) => all.extend(texts(table, &format!("{name}."))),
                value => drop(all.insert(name, value.as_str().unwrap().to_owned())),
            }
        }
        all
    }

    /// The places for values in a sentence.
    fn places(sentence: &str) -> BTreeSet<&str> {
        sentence.split('{').skip(1).map(|rest| rest.split_once('}').unwrap().0).collect()
    }

    /// Each defect that people who correct a file meet.
    fn defects() -> Vec<RowDefect> {
        use RowDefect::*;
        let text = || "x".to_owned();
        vec![
            EmptyKey,
            KeyTooLong { bytes: 1 },
            ControlInKey,
            Empty,
            SpreadsheetError,
            ShortenedNumber,
            ValueTooLong { kib: 1 },
            Nul,
            ListTooLong { entries: 1 },
            NameWithoutLetter,
            NeitherTrueNorFalse,
            NeitherYesNorNo,
            Checkbox,
            PhoneWithoutDigit,
            PhoneIsDate,
            PhoneSigns,
            PhoneWithoutPlus,
            PhoneDigits,
            NoDay,
            RowDefect::no_date("%d/%m/%Y", false),
            RowDefect::no_date("%d/%m/%Y", true),
            NoSuchDay,
            OtherDayInZone,
            DayLongAgo,
            LastDayBeforeFirst,
            NoNumber,
            NoId,
            PhotoNoBase64,
            NotInTable { table: text() },
            TextAfterQuote,
            RowsInCell,
            OpenQuote,
            EndlessRow,
            NotInEncoding,
            MaybeCut,
            Cut,
            LongRow { lines: 1 },
            CellCount { cells: 1, columns: 2, delimiter: text() },
            RowTooLong { kib: 1 },
            CellTooLong { kib: 1 },
            CellOutsideTable { column: text() },
            Uncalculated,
            OtherRowUnusable,
            OlderRow,
            RowsDiffer { lines: text() },
            NoLocation,
            NoLocationId { id: 7 },
            NoEmail,
            SeveralLocations,
        ]
    }

    #[test]
    fn every_language_has_a_sentence_for_every_defect() {
        for language in Language::all() {
            let sentences: Vec<String> = defects().iter().map(|defect| language.defect(defect).unwrap()).collect();
            assert!(sentences.iter().all(|sentence| !sentence.contains('{')), "{language:?}: {sentences:?}");
            assert_eq!(language.sentences().defects.len(), sentences.len(), "{language:?}: no sentence is left over");
            assert_eq!(language.defect(&"only administrators meet it".into()), None);
        }
        let date = Language::De.defect(&RowDefect::no_date("%d/%m/%Y", false));
        assert_eq!(date.as_deref(), Some("kein Datum der Form TT/MM/JJJJ"));
    }

    /// Each reason that people who drop a file meet.
    fn reasons() -> Vec<HoldReason> {
        use HoldReason::*;
        let id = RemoteId::new(7).unwrap();
        let [field, other, key, job, ids, last, at, one, many] =
            ["email", "mobile", "P1", "staff", "7, 8", "a.csv", "noon", "person", "people"].map(str::to_owned);
        let (from, to) = (key.clone(), "P2".to_owned());
        let older = [
            Older::OlderName { last: last.clone() },
            Older::OlderTime { last: last.clone() },
            Older::ReadBefore { at, last },
        ];
        let missing = ManyMissing { missing: 9, known: 20, many: many.clone(), allowed: 3 };
        let mut all = vec![
            OnSite,
            WritesApprove,
            WritesOff,
            MaxLeavers { people: 9, earlier: 1, allowed: 3, how: Leaving::Removed },
            MaxUpdates { changed: 9, people: 20, allowed: 3, in_parts: false },
            MaxCreates { people: 9, allowed: 3 },
            SlippedRows { people: 9 },
            MaxBlanked { field: field.clone(), people: 9, allowed: 3 },
            MaxMissing(missing),
            EveryoneLeaves { people: 2 },
            Segment { segment: "Sales".to_owned(), reason: Box::new(Emptied { people: 2 }) },
            Emptied { people: 2 },
            EmptiedOfOne,
            Ambiguous { field: field.clone(), many: many.clone(), ids: ids.clone() },
            Taken { field: field.clone(), one: one.clone(), id, key: key.clone(), job: job.clone() },
            Contested { one: one.clone(), id, key: key.clone() },
            Shared { field: field.clone(), key: key.clone() },
            SharedWithMissing { field: field.clone(), key: key.clone() },
            Unfindable,
            Twin { field: field.clone(), key: key.clone() },
            SameName { id },
            SameEmail { id },
            SameNameAndEmail { one: one.clone(), id },
            NewKey { field: field.clone(), one: one.clone(), id, key: key.clone() },
            OnlyShared { field: field.clone(), id, key: key.clone() },
            Contradicted { field: field.clone(), one: one.clone(), id, other: other.clone() },
            PerhapsMade { field: field.clone(), one: one.clone(), id, other },
            NotThis { one: one.clone(), id },
            EarlierMatch { one: one.clone(), id },
            AnotherPerson,
            ValueOfKey { field: field.clone(), key: key.clone() },
            ValueOfJob { field: field.clone(), key: key.clone(), job: job.clone() },
            ValueOfEntity { field: field.clone(), one, id },
            MovedValue { field, from, to },
            RestoredState,
            OldStatement,
            MappingChanged { people: 9 },
            DoubtfulRow,
            Moves { job: job.clone(), key: key.clone() },
            MovesUnusable { job: job.clone() },
            MovesUnread { job: job.clone() },
            SentByJob { job },
            Protected,
            Administrator,
            Outdated,
            OtherHalf,
            HalfAlone,
            EndsLater,
            AwaitsMember { key: key.clone() },
            AwaitsOrganization { key: key.clone() },
            AskedAbout { key: key.clone() },
            AwaitsDecision { key },
            SeveralFit { many, ids },
            NeedsOwnKey,
            OtherKeys,
            Undoing { run: 7, reason: Box::new(MadeByRun) },
            MadeByRun,
        ];
        all.extend(older.map(OlderExport));
        all
    }

    #[test]
    fn every_language_has_a_sentence_for_every_reason_to_wait() {
        let headings = BTreeMap::from([("email".to_owned(), "Mail".to_owned())]);
        for language in Language::all() {
            let said = |reason: &HoldReason| language.hold_reason(reason, &headings);
            let sentences: Vec<String> = reasons().iter().map(|reason| said(reason).unwrap()).collect();
            assert!(sentences.iter().all(|sentence| !sentence.contains(['{', '_'])), "{language:?}: {sentences:?}");
            assert_eq!(language.sentences().waits.len(), sentences.len(), "{language:?}: no sentence is left over");
            assert_eq!(said(&"only administrators act on it".into()), None);
            for sentence in language.sentences().waits.values() {
                let word = format!("{} ", language.key_word());
                let places = ["{key}", "{from}", "{to}"].iter().flat_map(|place| sentence.match_indices(place));
                let mut before = places.map(|(at, _)| &sentence[..at]);
                assert!(before.all(|before| before.ends_with(&word)), "{sentence}: a key has to be found by `forget`");
            }
            let mut both = HoldReason::Unfindable;
            both.precede("only administrators act on it".into());
            assert_eq!(said(&both), None, "no sentence is half in another language");
        }
        let value = HoldReason::ValueOfKey { field: "email".to_owned(), key: "P1".to_owned() };
        let sentence = Language::De.hold_reason(&value, &headings).unwrap();
        assert!(sentence.starts_with("die Zeile bekäme in „Mail“, was der Schlüssel P1 hat"), "{sentence}");
    }

    #[test]
    fn every_language_has_a_sentence_for_every_note_on_a_file() {
        use FileNote::*;
        let (people, of, since, at) = (2, 20, "noon".to_owned(), "midnight".to_owned());
        let notes = [
            MissingStay { people, of, since: since.clone() },
            MissingDue { people, of, since: since.clone() },
            MissingHeld { people, of, since: since.clone() },
            MissingUntil { people, of, since, at },
            Incomplete,
            Header,
            Damaged,
            Empty,
            TooFew,
            NoRowUsed,
            TooLarge,
            NotText,
            OtherForm,
            Workbook,
            NotAFile,
            Paused,
        ];
        let (patterns, what) = (vec!["*.csv".to_owned(), "*.xlsx".to_owned()], "a pipe, not a file".to_owned());
        let refusals = [
            Refusal::OddName,
            Refusal::OldWorkbook,
            Refusal::Spreadsheet,
            Refusal::Packed,
            Refusal::OtherName { patterns },
            Refusal::NotReadable,
            Refusal::OpenToAll,
        ];
        let of_both = [Refusal::TooLarge { size: 2, max: 1 }, Refusal::NotAFile { what }];
        for language in Language::all() {
            let mut sentences: Vec<String> = notes.iter().map(|note| language.file_note(note).text).collect();
            sentences.extend(refusals.iter().map(|refusal| language.refusal(refusal).text));
            assert!(of_both.iter().all(|refusal| sentences.contains(&language.refusal(refusal).text)));
            assert!(sentences.iter().all(|sentence| !sentence.contains('{')), "{language:?}: {sentences:?}");
            assert_eq!(
                language.sentences().file_notes.len(),
                sentences.len(),
                "{language:?}: no sentence is left over"
            );
        }
    }

    #[test]
    fn every_language_has_every_sentence_with_the_same_places_for_values() {
        let table = |language: Language| texts(&Language::ALL[language as usize].2.parse().unwrap(), "");
        let english = table(Language::En);
        assert_eq!(Language::En.sentences().verdicts.len(), 7);
        assert_eq!(Language::En.sentences().outcomes.len(), 13);
        for language in Language::all() {
            assert_eq!(Language::ALL[language as usize].0, language);
            language.sentences();
            let own = table(language);
            assert_eq!(own.keys().collect::<Vec<_>>(), english.keys().collect::<Vec<_>>(), "{language:?}");
            for (name, text) in own {
                assert_eq!(text.is_empty(), english[&name].is_empty(), "{language:?} {name}");
                assert_eq!(places(&text), places(&english[&name]), "{language:?} {name}: {text}");
            }
        }
    }
}
