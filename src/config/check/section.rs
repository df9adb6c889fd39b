//! One table of a configuration: gives its values with their types, and says what is wrong with them.
//!
//! The shapes of values were looked at before (`syntax`, `layers`): a value is of its key's shape or is not there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use config::{Map, Value, ValueKind};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use smol_str::SmolStr;

use super::Environment;
use crate::config::keys::{self, Shape, SourceKind};
use crate::config::report::{Report, shown};
use crate::config::units;
use crate::mapping::LookupOptions;

const DURATION_HINT: &str = "write it like \"90s\", \"15m\", \"24h\" or \"30d\"";

/// A table, where it is, and where its mistakes go. Keys are relative to it; an empty key is the table itself.
pub(in crate::config) struct Section<'a> {
    /// Such as `job[1].guard`; empty for the top.
    place: String,
    /// `None` where there is no such table.
    table: Option<&'a Map<String, Value>>,
    pub(super) ground: &'a Environment,
    pub(super) report: &'a Report,
}

/// A job that is being checked, with what it says of its own people alone: not of their organizations and memberships.
pub(super) struct JobSection<'a> {
    pub(super) table: Section<'a>,
    pub(super) map: BTreeMap<String, String>,
    pub(super) seed_only: Vec<SmolStr>,
    pub(super) time_zone: TimeZone,
    /// How its lookups find their rows.
    pub(super) lookups: Vec<LookupOptions>,
}

impl<'a> Section<'a> {
    /// The whole configuration.
    pub(in crate::config) fn top(table: &'a Map<String, Value>, ground: &'a Environment, report: &'a Report) -> Self {
        Self { place: String::new(), table: Some(table), ground, report }
    }

    /// The table of that key.
    pub(super) fn section(&self, key: &str) -> Self {
        let table = match self.value(key) {
            Some(ValueKind::Table(table)) => Some(table),
            _ => None,
        };
        Self { place: self.at(key), table, ground: self.ground, report: self.report }
    }

    /// The tables of a list.
    pub(super) fn sections(&self, key: &str) -> Vec<Self> {
        let numbered = self.array(key).iter().enumerate().map(|(number, entry)| {
            let table = if let ValueKind::Table(table) = &entry.kind { Some(table) } else { None };
            let place = format!("{}[{number}]", self.at(key));
            Self { place, table, ground: self.ground, report: self.report }
        });
        numbered.collect()
    }

    /// The place of a key.
    pub(super) fn at(&self, key: &str) -> String {
        match (self.place.as_str(), key) {
            (place, "") => place.to_owned(),
            ("", key) => key.to_owned(),
            (place, key) => format!("{place}.{key}"),
        }
    }

    /// A key as messages name it, with the line where it is.
    pub(super) fn named(&self, key: &str) -> String {
        self.report.named(&self.at(key))
    }

    /// The keys that are set.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.table.into_iter().flat_map(Map::keys).map(String::as_str)
    }

    /// What is written, as it is.
    pub(super) fn value(&self, key: &str) -> Option<&'a ValueKind> {
        debug_assert!(self.shape(key).is_some(), "{} is in the table of keys", self.at(key));
        self.table?.get(key).map(|value| &value.kind)
    }

    fn shape(&self, key: &str) -> Option<Shape> {
        keys::shape(&shown(&self.at(key)))
    }

    fn array(&self, key: &str) -> &'a [Value] {
        if let Some(ValueKind::Array(entries)) = self.value(key) { entries } else { &[] }
    }

    /// Whether the key is set.
    pub(super) fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    /// Whether the key is set in the file, whatever became of its value.
    pub(super) fn in_file(&self, key: &str) -> bool {
        self.report.in_file(&self.at(key))
    }

    /// Whether a mistake was found there.
    pub(super) fn is_bad(&self, key: &str) -> bool {
        self.report.is_bad(&self.at(key))
    }

    /// A text.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        if let ValueKind::String(text) = self.value(key)? { Some(text) } else { None }
    }

    /// A text with something in it; an empty one is a mistake.
    pub(super) fn filled(&self, key: &str) -> Option<&'a str> {
        match self.text(key)? {
            text if text.trim().is_empty() => self.wrong(key, "is empty", None),
            text => Some(text),
        }
    }

    /// A text, or nothing where it is empty: the way to turn something off.
    pub(super) fn unless_empty(&self, key: &str) -> Option<&'a str> {
        self.text(key).filter(|text| !text.trim().is_empty())
    }

    /// A text that has to be there.
    pub(super) fn present(&self, key: &str, hint: &str) -> Option<&'a str> {
        self.text(key).or_else(|| self.wrong(key, "is missing", Some(hint)))
    }

    /// A text that has to be there, with something in it.
    pub(super) fn required(&self, key: &str, hint: &str) -> Option<&'a str> {
        self.present(key, hint)?;
        self.filled(key)
    }

    /// A path as the configuration means it, unless it is empty.
    pub(super) fn path(&self, key: &str) -> Option<PathBuf> {
        self.unless_empty(key).map(|written| self.ground.path(written))
    }

    /// The file with certificates of authorities; an empty text does without.
    pub(super) fn ca_file(&self) -> Option<PathBuf> {
        let file = self.path("ca_file")?;
        if !file.is_file() {
            self.problem("ca_file", format!("there is no file {}", file.display()), None);
        }
        Some(file)
    }

    /// True or false.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        if let ValueKind::Boolean(flag) = self.value(key)? { Some(*flag) } else { None }
    }

    /// A whole number between two bounds, both included; the environment gives it as a text.
    pub(super) fn number<T: TryFrom<i64>>(&self, key: &str, (least, most): (i64, i64)) -> Option<T> {
        let given = match self.value(key)? {
            ValueKind::I64(number) => *number,
            text => text.to_string().parse().ok()?,
        };
        let fits = (least..=most).contains(&given).then(|| T::try_from(given).ok()).flatten();
        fits.or_else(|| self.wrong(key, format!("{given} is not between {least} and {most}"), None))
    }

    /// A list of texts. A text is its only entry; as the environment has no lists, spaces or commas divide it there.
    pub(super) fn list<T: for<'t> From<&'t str>>(&self, key: &str) -> Vec<T> {
        match self.text(key) {
            Some(text) if self.shape(key) == Some(Shape::List) => {
                text.split([' ', ',']).filter(|entry| !entry.is_empty()).map(T::from).collect()
            }
            Some(text) => vec![text.into()],
            None => self.array(key).iter().map(|entry| T::from(&entry.to_string())).collect(),
        }
    }

    /// Texts by keys of the user's own.
    pub(super) fn texts(&self, key: &str) -> BTreeMap<String, String> {
        if let Some(ValueKind::Table(table)) = self.value(key) { texts(table) } else { BTreeMap::new() }
    }

    /// Tables of texts by keys of the user's own.
    pub(super) fn lookups(&self, key: &str) -> BTreeMap<String, BTreeMap<String, String>> {
        let Some(ValueKind::Table(tables)) = self.value(key) else { return BTreeMap::new() };
        let lookup = |(name, value): (&String, &Value)| match &value.kind {
            ValueKind::Table(table) => Some((name.clone(), texts(table))),
            _ => None,
        };
        tables.iter().filter_map(lookup).collect()
    }

    /// A text, parsed; `hint` says how it is written.
    pub(super) fn parsed<T>(
        &self,
        key: &str,
        hint: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        self.taken(key, parse(self.text(key)?).map_err(|message| (message, hint)))
    }

    /// How long.
    pub(super) fn duration(&self, key: &str) -> Option<SignedDuration> {
        self.parsed(key, DURATION_HINT, units::duration)
    }

    /// How long, which is more than nothing.
    pub(super) fn positive_duration(&self, key: &str) -> Option<SignedDuration> {
        self.parsed(key, DURATION_HINT, |text| {
            let duration = units::duration(text)?;
            if duration.is_positive() { Ok(duration) } else { Err("must be more than nothing".to_owned()) }
        })
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Option<T> {
        let given = self.text(key)?;
        let chosen = choices.iter().find(|(word, _)| *word == given).map(|(_, value)| *value);
        chosen.or_else(|| {
            let words: Vec<String> = choices.iter().map(|(word, _)| format!("{word:?}")).collect();
            self.wrong(key, format!("{given:?} is none of {}", words.join(", ")), None)
        })
    }

    /// What was made of the value of a key; an error is a message and a hint.
    pub(super) fn taken<T>(&self, key: &str, made: Result<T, (String, &'static str)>) -> Option<T> {
        made.map_or_else(|(message, hint)| self.wrong(key, message, Some(hint)), Some)
    }

    /// Adds a mistake, unless that key has one already.
    pub(super) fn problem(&self, key: &str, message: impl Into<String>, hint: Option<&str>) {
        self.report.problem(&self.at(key), message, hint);
    }

    /// The same, where there is no value then.
    pub(super) fn wrong<T>(&self, key: &str, message: impl Into<String>, hint: Option<&str>) -> Option<T> {
        self.problem(key, message, hint);
        None
    }

    /// Names the keys that a source of that kind does not have.
    pub(super) fn refuse_foreign(&self, kind: SourceKind) {
        for (key, kinds) in keys::foreign_to(kind).filter(|(key, _)| self.in_file(key)) {
            self.problem(key, format!("goes with {kinds}"), Some("leave it out"));
        }
    }

    /// Adds a warning.
    pub(super) fn warning(&self, key: &str, message: impl Into<String>, hint: Option<&str>) {
        self.report.warning(&self.at(key), message, hint);
    }
}

fn texts(table: &Map<String, Value>) -> BTreeMap<String, String> {
    table.iter().map(|(name, text)| (name.clone(), text.to_string())).collect()
}
