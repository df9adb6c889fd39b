//! Evaluates a mapping on the rows of one source.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::Date;
use minijinja::Value as Given;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::cells::Slots;
use super::compile::Mapping;
use super::error::Error;
use super::marks::{Mark, Marked};
use super::options::{OnBadValue, PhotoCells};
use super::outcome::{PHOTO_TEXT_BYTES_MAX, Rendered, VALUE_BYTES_MAX, damage};
use super::reach::Reach;
use super::template::{Compiled, Ready};
use crate::record::{
    CellValue, Day, Field, FieldKind, Key, Record, Rejected, RowDefect, RowMetadata, Sensitive, Target, Values,
    is_marked,
};
use crate::source::{Columns, LostLookup, Match, Name, Row};

/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 512;

/// A mapping whose names are resolved to the columns of one source.
pub struct Bound<'m> {
    slots: Arc<Slots>,
    key: Slot<'m>,
    include: Option<Slot<'m>>,
    /// The columns that `include` names, with those names.
    included_by: Vec<(usize, String)>,
    names_leavers: bool,
    marks: Vec<(Mark, Slot<'m>)>,
    fields: Vec<(&'m Field, Reach, Slot<'m>)>,
    prefix: &'static str,
    joined: Option<Slot<'m>>,
    /// What is sought in each lookup, by its place in the configuration.
    on: Vec<(String, Slot<'m>)>,
    on_bad_value: OnBadValue,
    photo_cells: PhotoCells,
    /// Which lookups are lost: rows of this read are not those of another that had them.
    lost: u128,
}

/// A row as it is read on some day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its result.
    pub mapped: Mapped,
    /// What it says about itself besides.
    pub marks: RowMetadata,
    /// Whose row does not count yet: they are not to be made, and not gone either.
    pub early: Option<Key>,
    /// Its result from its first day on.
    pub later: Option<Box<Mapped>>,
    /// The first day on which the same row has another result.
    pub due: Option<Date>,
    /// The last day on which the row counted, where it has passed.
    pub past: Option<Date>,
    /// Values that can't be used though the rest of the record can: each of their fields stays as it is at the service.
    pub bad_values: Vec<Rejected>,
    /// Whose membership it is, where nothing but the organization can't be read.
    pub member: Option<Key>,
}

impl Reading {
    /// A row of which nothing else is known than why it can't be used.
    pub fn rejected(rejected: Rejected) -> Self {
        Self::plain(Mapped::Rejected(rejected))
    }

    fn plain(mapped: Mapped) -> Self {
        let (marks, bad_values) = Default::default();
        Self { mapped, marks, early: None, later: None, due: None, past: None, bad_values, member: None }
    }

    /// A row that says nothing of the one whose key it has: they are not to be made by it, and not gone either.
    fn says_nothing(key: Option<Key>) -> Self {
        Self { early: key, ..Self::plain(Mapped::Dropped) }
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

/// The result of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mapped {
    /// A record.
    Record(Record),
    /// `include` gave false, and this is whose row it was.
    Left(Key),
    /// It says nothing today: `include` gave false for a row without a readable key, or its first day is still to come.
    Dropped,
    /// The row cannot be used; its key is there where it could be read.
    Rejected(Rejected),
}

impl Mapping {
    /// Finds the columns of a source that the templates use.
    pub fn bind(&self, columns: &Columns) -> Result<Bound<'_>, Error> {
        self.bind_without(columns, &[])
    }

    /// The same for a read in which nothing is known of some lookups: no record has a field whose template names one of
    /// them, so each stays as it is at the service.
    pub fn bind_without(&self, columns: &Columns, lost: &[LostLookup]) -> Result<Bound<'_>, Error> {
        let mut found: BTreeMap<&Name, Option<usize>> = BTreeMap::new();
        for template in self.templates() {
            for name in &template.names {
                let column = match columns.find(name) {
                    Match::One(at) => Some(at),
                    Match::Missing if self.optional(name) => None,
                    Match::Missing => return Err(Error::whole(&template.place, columns.lacks(name))),
                    Match::Several(hits) => return Err(Error::whole(&template.place, columns.doubled(name, &hits))),
                };
                found.insert(name, column);
            }
        }
        let mut slots = Slots::default();
        for template in self.templates().filter(|template| template.needs_engine()) {
            for name in &template.names {
                slots.add(name, found.get(name).copied().flatten());
            }
        }
        let mut bound = Bound::new(self, Arc::new(slots), |name| found.get(name).copied().flatten())?;
        let is_lost = |field: &Field| {
            lost.iter().any(|lookup| self.fields_of_lookup(&lookup.name).any(|named| named.name == field.name))
        };
        for lookup in lost {
            bound.lost ^= xxh3_128(lookup.name.as_bytes());
        }
        bound.fields.retain(|(field, ..)| !is_lost(field));
        Ok(bound)
    }
}

impl<'m> Bound<'m> {
    /// Makes every template ready; `column` finds the column of a name.
    fn new(mapping: &'m Mapping, slots: Arc<Slots>, column: impl Fn(&Name) -> Option<usize>) -> Result<Self, Error> {
        let ready = |template: &'m Compiled| -> Result<Slot<'m>, Error> {
            let columns = template.names.iter().filter_map(&column).collect();
            let of_one = template.of_one.iter().filter_map(&column).collect();
            Ok(Slot { template: template.ready(&mapping.environment, &column)?, columns, of_one })
        };
        Ok(Self {
            slots,
            prefix: mapping.prefix,
            names_leavers: mapping.names_leavers,
            on_bad_value: mapping.on_bad_value,
            photo_cells: mapping.photo_cells,
            lost: 0,
            key: ready(&mapping.key)?,
            joined: mapping.joined.as_ref().map(ready).transpose()?,
            include: mapping.include.as_ref().map(ready).transpose()?,
            included_by: mapping
                .include
                .iter()
                .flat_map(|include| &include.names)
                .filter_map(|name| Some((column(name)?, name.to_string())))
                .collect(),
            fields: mapping
                .fields
                .iter()
                .map(|(field, reach, template)| Ok((field, *reach, ready(template)?)))
                .collect::<Result<_, Error>>()?,
            on: mapping
                .lookups
                .iter()
                .map(|lookup| Ok((lookup.on.place.clone(), ready(&lookup.on)?)))
                .collect::<Result<_, Error>>()?,
            marks: mapping.marks.iter().map(|(mark, it)| Ok((*mark, ready(it)?))).collect::<Result<_, Error>>()?,
        })
    }

    /// Reads one row of the source that this was bound to, as it counts on the day `today`.
    pub fn read(&self, row: &Row, today: Option<Date>) -> Reading {
        let seen = self.view(row);
        let included = match &self.include {
            None => Ok(true),
            Some(include) => seen.settled(include).and_then(|outcome| outcome.truth()),
        };
        let key = self.key(&seen);
        let mapped = match (included, key) {
            (Ok(false), Ok(key)) => Mapped::Left(key),
            (Ok(false), Err(_)) if !self.names_leavers => Mapped::Dropped,
            (Err(reason), key) => reject(row, key.ok(), "include", self.include.as_ref(), reason),
            (Ok(_), Err((name, reason))) => {
                let member = self.joined.as_ref().and_then(|_| self.half(&seen, &self.key).ok());
                let mapped = reject(row, None, name, [&self.key].into_iter().chain(&self.joined), reason);
                return Reading { member, ..Reading::plain(mapped) };
            }
            (Ok(true), Ok(key)) if row.fault().is_some() => {
                let (place, reason) = row.fault().expect("it has one");
                reject(row, Some(key), place, None, reason.clone())
            }
            (Ok(true), Ok(key)) => match self.marked(&seen, &key) {
                Ok(marked) => return self.on(today, &seen, key, marked),
                Err((mark, reason)) => reject(row, Some(key), mark.place(), self.mark(mark), reason),
            },
        };
        match mapped {
            // The part of the people says what is wrong with it.
            Mapped::Rejected(rejected) if self.is_of_persons_row() => Reading::says_nothing(rejected.key),
            mapped => Reading::plain(mapped),
        }
    }

    /// Which of the attributes that `include` names an entry of a directory has; nothing of a row of a file, which has all columns.
    fn included_by(&self, row: &Row) -> u64 {
        let has = self.included_by.iter().filter(|(at, _)| row.dn().is_some() && !row.cell(*at).is_empty());
        has.fold(0, |bits, (_, name)| bits | bit_of(name))
    }

    /// Those attributes that `include` names, that an entry had `before`, and that it has no more: the account may not be allowed to
    /// read them.
    pub fn lacks(&self, row: &Row, before: u64) -> impl Iterator<Item = &str> {
        let gone =
            self.included_by.iter().filter(move |(at, name)| before & bit_of(name) != 0 && row.cell(*at).is_empty());
        gone.map(|(_, name)| name.as_str())
    }

    /// Whether it reads the organizations of people. What is wrong with their rows is said with the people: it says nothing of an
    /// organization, which stands in other rows too.
    fn is_of_persons_row(&self) -> bool {
        self.prefix == Target::ORGANIZATION_PREFIX
    }

    /// The digest of a row in this read. A row that lacks what a lookup says is not the same as one to which it says nothing.
    pub fn digest(&self, row: &Row) -> u128 {
        row.digest ^ self.lost
    }

    /// What a row seeks in the lookup at a position; `None` where it seeks nothing. The error says why that can't be had,
    /// after the key of the configuration that says so.
    pub fn sought(&self, row: &Row, at: usize) -> Result<Option<Key>, (String, RowDefect)> {
        let (place, slot) = &self.on[at];
        let text = self.view(row).on(slot).and_then(Rendered::text);
        text.map(|text| Key::new(&text)).map_err(|reason| (place.clone(), reason))
    }

    /// What gives a mark.
    fn mark(&self, mark: Mark) -> Option<&Slot<'_>> {
        self.marks.iter().find(|(own, _)| *own == mark).map(|(_, slot)| slot)
    }

    fn view<'r>(&'r self, row: &'r Row) -> RowView<'r> {
        RowView { row, slots: &self.slots, variables: OnceCell::new() }
    }

    /// A row that is included, on a day. What else is wrong with a row that counts no more does not matter.
    fn on(&self, today: Option<Date>, seen: &RowView<'_>, key: Key, marked: Marked) -> Reading {
        let Marked { marks, from, until, mut bad_values } = marked;
        let is_past = |day: Option<Date>| day.zip(today).is_some_and(|(day, today)| day < today);
        let is_ahead = |day: Option<Date>| day.zip(today).is_some_and(|(day, today)| today < day);
        let gone_from = until.and_then(|day| day.tomorrow().ok());
        let marks = RowMetadata { due: gone_from.and_then(Day::of), ..marks };
        let mut later = None;
        let (mapped, early, due) = if is_past(until) {
            (Mapped::Left(key), None, None)
        } else if is_ahead(from) {
            later = Some(Box::new(self.record(seen, key.clone(), &mut Vec::new())));
            (Mapped::Dropped, Some(key), from)
        } else {
            (self.record(seen, key, &mut bad_values), None, gone_from)
        };
        let past = until.filter(|_| is_past(until));
        Reading { mapped, marks, early, later, due, past, bad_values, member: None }
    }

    /// The row's metadata. A bad segment or preference does not reject the row, since neither says who is there.
    fn marked(&self, seen: &RowView<'_>, key: &Key) -> Result<Marked, (Mark, RowDefect)> {
        let mut marked = Marked::default();
        marked.marks.included_by = self.included_by(seen.row);
        for (mark, template) in &self.marks {
            let outcome = if mark.is_optional() { seen.on(template) } else { seen.settled(template) };
            match outcome.and_then(|outcome| marked.take(*mark, outcome)) {
                Ok(()) => {}
                Err(reason) if self.on_bad_value == OnBadValue::Field && mark.is_optional() => {
                    marked.bad_values.push(rejected(seen.row, Some(key.clone()), mark.place(), [template], reason));
                }
                Err(reason) => return Err((*mark, reason)),
            }
        }
        marked.check()?;
        Ok(marked)
    }

    /// The key of a row; else which setting gives none, and why.
    fn key(&self, seen: &RowView<'_>) -> Result<Key, (&'static str, RowDefect)> {
        const ORGANIZATION: &str = "org_key";
        let own = if self.is_of_persons_row() { ORGANIZATION } else { "key" };
        let key = self.half(seen, &self.key).map_err(|reason| (own, reason))?;
        let Some(joined) = &self.joined else { return Ok(key) };
        // A half that is missing says nothing about whose row it is.
        let key = Key::joined(&key, &self.half(seen, joined).map_err(|reason| (ORGANIZATION, reason))?);
        if key.as_str().len() > KEY_BYTES_MAX { Err((own, TOO_LONG)) } else { Ok(key) }
    }

    fn half(&self, seen: &RowView<'_>, slot: &Slot<'_>) -> Result<Key, RowDefect> {
        let text = seen.on(slot)?.text()?;
        if text.len() > KEY_BYTES_MAX {
            return Err(TOO_LONG);
        }
        if text.contains(char::is_control) {
            return Err(RowDefect::ControlInKey);
        }
        if is_marked(&text) {
            return Err("the key holds U+FDD0 or U+FDD1, which are no characters".into());
        }
        damage(&text).map_or(Ok(()), Err)?;
        Key::new(&text).ok_or(RowDefect::EmptyKey)
    }

    /// The photo of a row, where the job maps photos and the row has one that can be used.
    pub fn photo(&self, row: &Row) -> Option<Vec<u8>> {
        let (.., template) = self.fields.iter().find(|(field, ..)| field.kind == FieldKind::Photo)?;
        let seen = self.view(row);
        seen.at_most(PHOTO_TEXT_BYTES_MAX, template).and_then(Rendered::photo).ok().map(|(bytes, _)| bytes)
    }

    /// Who a row is about, as far as its name and email can be read: what tells one person from another.
    pub fn identity(&self, row: &Row) -> Values {
        self.readable(row, |name| Target::IDENTITY.contains(&name))
    }

    /// The texts of some fields, as far as they can be read, whatever else is wrong with the row.
    pub fn readable(&self, row: &Row, is_wanted: impl Fn(&str) -> bool) -> Values {
        let seen = self.view(row);
        let own = self.fields.iter().filter(|(field, ..)| is_wanted(&field.name));
        let value = |template| seen.on(template).and_then(|outcome| outcome.value(FieldKind::Text)).ok();
        Values::in_order(own.filter_map(|(field, _, template)| Some((field.name.clone(), value(template)?))).collect())
    }

    fn record(&self, seen: &RowView<'_>, key: Key, bad_values: &mut Vec<Rejected>) -> Mapped {
        let mut fields = Vec::with_capacity(self.fields.len());
        for (field, reach, template) in &self.fields {
            let bytes_max = if field.kind == FieldKind::Photo { PHOTO_TEXT_BYTES_MAX } else { VALUE_BYTES_MAX };
            let value = seen.at_most(bytes_max, template).and_then(|outcome| match (field.kind, self.photo_cells) {
                (FieldKind::Photo, PhotoCells::References) => outcome.value(FieldKind::Text),
                (kind, _) => outcome.value(kind),
            });
            let value = match value {
                Ok(value) if field.required && value.is_empty() => Err(RowDefect::Empty),
                value => value,
            };
            match (value, reach) {
                (Ok(value), _) => fields.push((field.name.clone(), value)),
                (Err(reason), Reach::Row) => {
                    let field = format!("{}{}", self.prefix, field.name);
                    return reject(seen.row, Some(key), &field, [template], reason);
                }
                (Err(reason), Reach::Field) => {
                    let field = format!("{}{}", self.prefix, field.name);
                    bad_values.push(rejected(seen.row, Some(key.clone()), &field, [template], reason));
                }
            };
        }
        Mapped::Record(Record { key, fields: Values::in_order(fields) })
    }
}

fn bit_of(name: &str) -> u64 {
    1 << (xxh3_64(name.as_bytes()) % 64)
}

const TOO_LONG: RowDefect = RowDefect::KeyTooLong { bytes: KEY_BYTES_MAX };

/// A template that is ready, and the columns that it uses.
pub(super) struct Slot<'m> {
    pub(super) template: Ready<'m>,
    pub(super) columns: Vec<usize>,
    /// Those of which it takes one value, if they have several.
    pub(super) of_one: Vec<usize>,
}

/// A row, and how the engine sees it once it is asked.
pub(super) struct RowView<'r> {
    pub(super) row: &'r Row,
    pub(super) slots: &'r Arc<Slots>,
    pub(super) variables: OnceCell<Given>,
}

impl RowView<'_> {
    pub(super) fn on(&self, slot: &Slot<'_>) -> Result<Rendered, RowDefect> {
        self.at_most(VALUE_BYTES_MAX, slot)
    }

    /// The result of a template that says whether a person is there. Where an entry has several values of what it names, the first of
    /// them is no more right than the others: they must come to one result.
    fn settled(&self, slot: &Slot<'_>) -> Result<Rendered, RowDefect> {
        let outcome = self.on(slot)?;
        for (at, list) in self.row.lists_in(&slot.of_one) {
            for value in list.iter().skip(1) {
                let row = self.row.with_value(at, value);
                let other = RowView { row: &row, slots: self.slots, variables: OnceCell::new() };
                if other.on(slot)? != outcome {
                    let name = &self.row.columns().names()[at];
                    return Err(format!(
                        "`{name}` has several values, and it depends on which of them counts; leave one of them, or ask for all of \
                         them with all[\"{name}\"]"
                    )
                    .into());
                }
            }
        }
        Ok(outcome)
    }

    fn at_most(&self, bytes_max: usize, Slot { template, columns, .. }: &Slot<'_>) -> Result<Rendered, RowDefect> {
        if let Some(reason) = self.row.flaw_in(columns) {
            return Err(reason.clone());
        }
        // A template may combine an error with a good value: `#REF! Bell` is not a name.
        if let Some(reason) = columns.iter().find_map(|at| damage(self.row.cell(*at))) {
            return Err(reason);
        }
        template.on(self.row, bytes_max, || self.variables.get_or_init(|| self.slots.variables(self.row)).clone())
    }
}

fn reject<'s>(
    row: &Row,
    key: Option<Key>,
    field: &str,
    slots: impl IntoIterator<Item = &'s Slot<'s>>,
    reason: RowDefect,
) -> Mapped {
    Mapped::Rejected(rejected(row, key, field, slots, reason))
}

/// A row that can't be used, with what stands in the cells that the templates use. An entry whose key can't be read is
/// identified by its name: it has no line number.
fn rejected<'s>(
    row: &Row,
    key: Option<Key>,
    field: &str,
    slots: impl IntoIterator<Item = &'s Slot<'s>>,
    reason: RowDefect,
) -> Rejected {
    let reason = match (row.dn(), &key) {
        (Some(dn), None) => format!("{reason} (entry {})", Sensitive(dn)).into(),
        _ => reason,
    };
    // What a lookup says does not stand in the file, and those who drop it may not know it.
    let columns = slots.into_iter().flat_map(|slot| &slot.columns).filter(|at| **at < row.columns().own());
    let value = CellValue::new(columns.flat_map(|at| row.all(*at)));
    Rejected { key, line: row.shown_line(), field: Some(field.to_owned()), value, reason }
}
