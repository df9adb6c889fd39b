//! A mapping at work on the rows of one source.

use std::cell::OnceCell;
use std::sync::Arc;

use jiff::civil::Date;
use minijinja::Value as Given;

use super::cells::Slots;
use super::compile::Mapping;
use super::error::Error;
use super::marks::{Mark, Marked};
use super::outcome::{Outcome, PHOTO_TEXT_BYTES_MAX, VALUE_BYTES_MAX};
use super::template::{Compiled, Ready};
use crate::record::{Field, Key, Kind, Marks, Private, Record, Rejected, Values, is_marked};
use crate::source::{Name, Row};

/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 512;

/// A mapping whose names stand for the columns of one source.
pub struct Bound<'m> {
    slots: Arc<Slots>,
    key: Ready<'m>,
    include: Option<Ready<'m>>,
    marks: Vec<(Mark, Ready<'m>)>,
    fields: Vec<(&'m Field, Ready<'m>)>,
    prefix: &'static str,
    joined: Option<Ready<'m>>,
}

/// A row as it is read on some day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it came to.
    pub mapped: Mapped,
    /// What it says about itself besides.
    pub marks: Marks,
    /// Whose row does not count yet: they are not to be made, and not gone either.
    pub early: Option<Key>,
    /// The first day on which the same row comes to something else.
    pub due: Option<Date>,
    /// The last day on which the row counted, where it has passed.
    pub past: Option<Date>,
    /// A field that can't be used though the rest of the record can: that field stays as it is at the service.
    pub flaw: Option<Rejected>,
}

impl Reading {
    /// A row of which nothing else is known than why it can't be used.
    pub fn rejected(rejected: Rejected) -> Self {
        Self::plain(Mapped::Rejected(rejected))
    }

    fn plain(mapped: Mapped) -> Self {
        Self { mapped, marks: Marks::default(), early: None, due: None, past: None, flaw: None }
    }

    /// Whose row it is, where that could be read.
    pub fn key(&self) -> Option<&Key> {
        match &self.mapped {
            Mapped::Record(record) => Some(&record.key),
            Mapped::Left(key) => Some(key),
            Mapped::Dropped => self.early.as_ref(),
            Mapped::Rejected(rejected) => rejected.key.as_ref(),
        }
    }

    /// Why a row that can be used is no record today, in words; none for a record and for a row that can't be used.
    pub fn absence(&self) -> Option<String> {
        match (&self.mapped, &self.early, self.due, self.past) {
            (Mapped::Record(_) | Mapped::Rejected(_), ..) => None,
            (_, Some(_), Some(from), _) => Some(format!("does not count before {from} (active_from)")),
            (.., Some(until)) => Some(format!("has left: the last day was {until} (active_until)")),
            _ => Some("not included: `include` gives false".to_owned()),
        }
    }
}

/// What a row came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mapped {
    /// A record.
    Record(Record),
    /// `include` gave false, and this is whose row it was.
    Left(Key),
    /// `include` gave false for a row without a readable key.
    Dropped,
    /// The row cannot be used; its key is there where it could be read.
    Rejected(Rejected),
}

impl<'m> Bound<'m> {
    /// Makes every template ready; `column` finds the column of a name.
    pub(super) fn new(
        mapping: &'m Mapping,
        slots: Arc<Slots>,
        column: impl Fn(&Name) -> Option<usize>,
    ) -> Result<Self, Error> {
        let ready = |template: &'m Compiled| template.ready(&mapping.environment, &column);
        Ok(Self {
            slots,
            prefix: mapping.prefix,
            key: ready(&mapping.key)?,
            joined: mapping.joined.as_ref().map(ready).transpose()?,
            include: mapping.include.as_ref().map(ready).transpose()?,
            fields: mapping
                .fields
                .iter()
                .map(|(field, template)| Ok((field, ready(template)?)))
                .collect::<Result<_, Error>>()?,
            marks: mapping.marks.iter().map(|(mark, it)| Ok((*mark, ready(it)?))).collect::<Result<_, Error>>()?,
        })
    }

    /// Maps one row of the source that this was bound to, whatever the day.
    #[cfg(test)]
    pub(super) fn map(&self, row: &Row) -> Mapped {
        self.read(row, None).mapped
    }

    /// Reads one row of the source that this was bound to, as it counts on the day `today`.
    pub fn read(&self, row: &Row, today: Option<Date>) -> Reading {
        let variables = OnceCell::new();
        let seen = Seen { row, slots: &self.slots, variables: &variables };
        let included = match &self.include {
            None => Ok(true),
            Some(include) => seen.on(include).and_then(|outcome| outcome.truth()),
        };
        let key = self.key(&seen);
        let mapped = match (included, key) {
            // What can't be used may be what `include` looks at.
            (_, Ok(key)) if row.flaw().is_some() => flawed(row, key),
            (_, Err(reason)) if row.flaw().is_some() => reject(row, None, "key", reason),
            (Ok(false), Ok(key)) => Mapped::Left(key),
            (Ok(false), Err(_)) => Mapped::Dropped,
            (Err(reason), key) => reject(row, key.ok(), "include", reason),
            (Ok(true), Err(reason)) => reject(row, None, "key", reason),
            (Ok(true), Ok(key)) => match self.marked(&seen) {
                Ok(marked) => return self.on(today, &seen, key, marked),
                Err((mark, reason)) => reject(row, Some(key), mark.place(), reason),
            },
        };
        Reading::plain(mapped)
    }

    /// A row that is included, on a day. What else is wrong with a row that counts no more does not matter.
    fn on(&self, today: Option<Date>, seen: &Seen<'_>, key: Key, marked: Marked) -> Reading {
        let Marked { marks, from, until } = marked;
        let is_past = |day: Option<Date>| day.zip(today).is_some_and(|(day, today)| day < today);
        let is_ahead = |day: Option<Date>| day.zip(today).is_some_and(|(day, today)| today < day);
        let mut flaw = None;
        let (mapped, early, due) = if is_past(until) {
            (Mapped::Left(key), None, None)
        } else if is_ahead(from) {
            (Mapped::Dropped, Some(key), from)
        } else {
            (self.record(seen, key, &mut flaw), None, until.and_then(|day| day.tomorrow().ok()))
        };
        Reading { mapped, marks, early, due, past: until.filter(|_| is_past(until)), flaw }
    }

    fn marked(&self, seen: &Seen<'_>) -> Result<Marked, (Mark, String)> {
        let mut marked = Marked::default();
        for (mark, template) in &self.marks {
            let taken = seen.on(template).and_then(|outcome| marked.take(*mark, outcome));
            taken.map_err(|reason| (*mark, reason))?;
        }
        marked.check()?;
        Ok(marked)
    }

    fn key(&self, seen: &Seen<'_>) -> Result<Key, String> {
        let key = self.half(seen, &self.key)?;
        let Some(joined) = &self.joined else { return Ok(key) };
        // A half that is missing says nothing about whose row it is.
        let key = Key::joined(&key, &self.half(seen, joined)?);
        if key.as_str().len() > KEY_BYTES_MAX { Err(too_long()) } else { Ok(key) }
    }

    fn half(&self, seen: &Seen<'_>, template: &Ready<'_>) -> Result<Key, String> {
        let text = seen.on(template)?.text()?;
        if text.len() > KEY_BYTES_MAX {
            return Err(too_long());
        }
        if text.contains(char::is_control) {
            return Err("the key holds a control character, such as a line end".to_owned());
        }
        if is_marked(&text) {
            return Err("the key holds U+FDD0 or U+FDD1, which are no characters".to_owned());
        }
        Key::new(&text).ok_or_else(|| "the key is empty".to_owned())
    }

    /// The photo of a row, where the job maps photos and the row has one that can be used.
    pub fn photo(&self, row: &Row) -> Option<Vec<u8>> {
        let (_, template) = self.fields.iter().find(|(field, _)| field.kind == Kind::Photo)?;
        let variables = OnceCell::new();
        let seen = Seen { row, slots: &self.slots, variables: &variables };
        seen.at_most(PHOTO_TEXT_BYTES_MAX, template).and_then(Outcome::photo).ok().map(|(bytes, _)| bytes)
    }

    fn record(&self, seen: &Seen<'_>, key: Key, flaw: &mut Option<Rejected>) -> Mapped {
        let mut fields = Vec::with_capacity(self.fields.len());
        for (field, template) in &self.fields {
            if field.kind == Kind::Photo {
                let outcome = seen.at_most(PHOTO_TEXT_BYTES_MAX, template);
                match outcome.and_then(|outcome| outcome.value(field.kind)) {
                    Ok(value) => fields.push((field.name.clone(), value)),
                    // A person without a usable photo is a person all the same (law 8).
                    Err(reason) => *flaw = Some(rejected(seen.row, Some(key.clone()), &field.name, reason)),
                }
                continue;
            }
            let value = match seen.on(template).and_then(|outcome| outcome.value(field.kind)) {
                Ok(value) if field.required && value.is_empty() => Err("it is empty, and must not be".to_owned()),
                value => value,
            };
            match value {
                Ok(value) => fields.push((field.name.clone(), value)),
                Err(reason) => return reject(seen.row, Some(key), &format!("{}{}", self.prefix, field.name), reason),
            };
        }
        Mapped::Record(Record { key, fields: Values::in_order(fields) })
    }
}

fn too_long() -> String {
    format!("the key has more than {KEY_BYTES_MAX} bytes")
}

/// A row, and how the engine sees it once it is asked.
struct Seen<'r> {
    row: &'r Row,
    slots: &'r Arc<Slots>,
    variables: &'r OnceCell<Given>,
}

impl Seen<'_> {
    fn on(&self, template: &Ready<'_>) -> Result<Outcome, String> {
        self.at_most(VALUE_BYTES_MAX, template)
    }

    fn at_most(&self, bytes_max: usize, template: &Ready<'_>) -> Result<Outcome, String> {
        template.on(self.row, bytes_max, || self.variables.get_or_init(|| self.slots.variables(self.row)).clone())
    }
}

/// A row of which a column can't be used; its key could be read all the same.
fn flawed(row: &Row, key: Key) -> Mapped {
    let (column, reason) = row.flaw().unwrap_or_default();
    reject(row, Some(key), column, reason.to_owned())
}

/// An entry whose key can't be read is told by its name: it has no line.
fn reject(row: &Row, key: Option<Key>, field: &str, reason: String) -> Mapped {
    Mapped::Rejected(rejected(row, key, field, reason))
}

fn rejected(row: &Row, key: Option<Key>, field: &str, reason: String) -> Rejected {
    let reason = match (row.dn(), &key) {
        (Some(dn), None) => format!("{reason} (entry {})", Private(dn)),
        _ => reason,
    };
    Rejected { key, line: row.shown_line(), field: Some(field.to_owned()), reason }
}
