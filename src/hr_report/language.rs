//! The languages of the report: a table of sentences for each.
//!
//! Invariants:
//! - Every language has every sentence: a table that lacks one, or has one more, can't be read, and a test reads all.
//! - A further language is one file beside the others, and its line in [`Language::ALL`].
//!
//! Rejected: sentences in code. Who translates them does not build this program.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::{RowOutcome, Verdict};
use crate::record::RowDefect;

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
        defect.sentence(&self.sentences().defects)
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
    pub(super) verdicts: BTreeMap<Verdict, VerdictWords>,
    pub(super) outcomes: BTreeMap<RowOutcome, OutcomeWords>,
    /// What is wrong with a row, by the name of its defect.
    pub(super) defects: BTreeMap<String, String>,
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
            RowsDiffer { lines: text() },
            NoLocation,
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
        assert_eq!(date.as_deref(), Some("kein Datum der Form DD/MM/YYYY"));
    }

    #[test]
    fn every_language_has_every_sentence_with_the_same_places_for_values() {
        let table = |language: Language| texts(&Language::ALL[language as usize].2.parse().unwrap(), "");
        let english = table(Language::En);
        assert_eq!(Language::En.sentences().verdicts.len(), 6);
        assert_eq!(Language::En.sentences().outcomes.len(), 11);
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
