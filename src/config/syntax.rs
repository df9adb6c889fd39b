//! The first pass over the file: syntax, lines, unknown keys, shapes.

use std::borrow::Cow;
use std::ops::Range;

use config::{Map, Value, ValueKind};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::keys::{self, Shape};
use super::nearest::nearest;
use super::report::{Report, shown};

/// Syntax errors named at once; more than that are the consequence of the first ones.
const SYNTAX_ERRORS_MAX: usize = 10;

/// The commonest slip in a template.
const QUOTES: &str =
    "a template stands in double quotes, and texts within it in single ones: \"{{ site | lookup('site') }}\"";

/// Reads the text of a configuration and gives what is known and of the right shape; the rest is in the report.
///
/// `None` where the text is no TOML.
pub(super) fn walk(text: &str, report: &mut Report) -> Option<Map<String, Value>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors.iter().take(SYNTAX_ERRORS_MAX) {
        let line = error.span().map(|span| line_at(text, span.start));
        // The error's own `Display` quotes the line, and with it perhaps a secret.
        let written = line.and_then(|line| text.lines().nth(line - 1)).unwrap_or_default();
        let hint = written.contains("{{").then_some(QUOTES);
        let key = error.span().and_then(|span| key_at(text, &span)).unwrap_or_default();
        report.problem_on_line(line, key.to_owned(), error.message().to_owned(), hint);
    }
    errors.is_empty().then(|| Walk { text, report }.table("", document.get_ref()))
}

/// The plain key that an error points at, if it is one.
fn key_at<'t>(text: &'t str, span: &Range<usize>) -> Option<&'t str> {
    let (key, behind) = (text.get(span.clone())?, text.get(span.end..)?);
    let is_plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    (is_plain && behind.trim_start_matches([' ', '\t']).starts_with('=')).then_some(key)
}

/// What can be made out in a text, be it TOML or not quite.
pub(super) fn recovered(text: &str, report: &mut Report) -> Map<String, Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (document, _) = DeTable::parse_recoverable(text);
    Walk { text, report }.table("", document.get_ref())
}

struct Walk<'a> {
    text: &'a str,
    report: &'a mut Report,
}

impl Walk<'_> {
    /// A table whose keys are in the list of known ones.
    fn table(&mut self, place: &str, table: &DeTable<'_>) -> Map<String, Value> {
        let mut taken = Map::new();
        for (key, value) in table {
            let inner = joined(place, key.get_ref());
            self.report.at_line(&inner, line_at(self.text, key.span().start));
            let known = shown(&inner);
            let value = if let Some(shape) = keys::shape(&known) {
                self.value(&inner, shape, value)
            } else {
                self.unknown(&inner, place, key.get_ref());
                None
            };
            if let Some(value) = value {
                taken.insert(key.get_ref().clone().into_owned(), value);
            }
        }
        taken
    }

    fn value(&mut self, place: &str, shape: Shape, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        let kind = match (shape, value.get_ref()) {
            (Shape::Text | Shape::TextOrNumber | Shape::TextOrList, DeValue::String(text)) => {
                ValueKind::String(text.clone().into_owned())
            }
            (Shape::Number | Shape::TextOrNumber, DeValue::Integer(number)) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => ValueKind::I64(number),
                    Err(_) => {
                        self.report.problem(place, "the number is too large", None);
                        return None;
                    }
                }
            }
            (Shape::Flag, DeValue::Boolean(flag)) => ValueKind::Boolean(*flag),
            (Shape::List | Shape::TextOrList, DeValue::Array(list))
                if list.iter().all(|entry| entry.get_ref().is_str()) =>
            {
                ValueKind::Array(list.iter().filter_map(|entry| entry.get_ref().as_str()).map(Value::from).collect())
            }
            (Shape::Table, DeValue::Table(table)) => ValueKind::Table(self.table(place, table)),
            (Shape::Tables, DeValue::Array(list)) => ValueKind::Array(self.tables(place, list)),
            (Shape::Texts, DeValue::Table(table)) => ValueKind::Table(self.entries(place, Shape::Text, table)),
            (Shape::Named, DeValue::Table(table)) => ValueKind::Table(self.entries(place, Shape::Table, table)),
            (Shape::Lookups, DeValue::Table(table)) => ValueKind::Table(self.entries(place, Shape::Texts, table)),
            (_, other) => {
                let remedy = remedy(place, shape, other);
                self.report.problem(place, format!("must be {}", shape.described()), remedy.as_deref());
                return None;
            }
        };
        Some(Value::new(None, kind))
    }

    fn tables(&mut self, place: &str, list: &DeArray<'_>) -> Vec<Value> {
        let mut taken = Vec::new();
        for (number, entry) in list.iter().enumerate() {
            let inner = format!("{place}[{number}]");
            self.report.at_line(&inner, line_at(self.text, entry.span().start));
            match entry.get_ref() {
                DeValue::Table(table) => {
                    let table = self.table(&inner, table);
                    taken.push(Value::new(None, ValueKind::Table(table)));
                }
                _ => {
                    let hint = format!("write [[{}]] above its keys", shown(place));
                    self.report.problem(&inner, "must be a table", Some(&hint));
                }
            }
        }
        taken
    }

    /// A table with keys of the user's own.
    fn entries(&mut self, place: &str, shape: Shape, table: &DeTable<'_>) -> Map<String, Value> {
        let mut taken = Map::new();
        for (key, value) in table {
            let inner = joined(place, key.get_ref());
            self.report.at_line(&inner, line_at(self.text, key.span().start));
            if let Some(value) = self.value(&inner, shape, value) {
                taken.insert(key.get_ref().clone().into_owned(), value);
            }
        }
        taken
    }

    fn unknown(&mut self, place: &str, table: &str, name: &str) {
        let table = shown(table);
        let hint = nearest(name, keys::below(&table))
            .map(|known| format!("did you mean {known}?"))
            .or_else(|| keys::home_of(name).map(|home| format!("it belongs in {home}")));
        self.report.problem(place, "unknown key", hint.as_deref());
    }
}

/// What to do about a value of another shape.
fn remedy(place: &str, shape: Shape, value: &DeValue<'_>) -> Option<Cow<'static, str>> {
    if matches!((shape, value), (Shape::Tables, DeValue::Table(_))) {
        return Some(format!("write it with two brackets: [[{}]]", shown(place)).into());
    }
    let remedy = match (shape, value) {
        (Shape::Text, DeValue::Table(_)) => Some("a name with a dot needs quotes: \"cf.Locker\" = \"…\""),
        (Shape::Text, DeValue::Array(_) | DeValue::String(_)) => None,
        (Shape::Text | Shape::TextOrNumber, _) => Some("put it in quotes"),
        (Shape::Number | Shape::Flag, DeValue::String(_)) => Some("leave out the quotes"),
        (Shape::List, DeValue::String(_)) => Some("put it in square brackets"),
        _ => None,
    };
    remedy.map(Cow::Borrowed)
}

fn joined(place: &str, key: &str) -> String {
    if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") }
}

fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
