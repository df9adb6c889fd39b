//! Entities as a caller sees them: what each field shows, and the JSON of an answer.
//!
//! Answers are written straight from the stored values; a page of thousands is never copied first. Where a caller
//! wants XML, `xml` makes it from this JSON.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::resource::{Derived, FieldKind, Resource, Visibility};
use crate::row::{self, EntityRow};
use crate::store::Entities;
use crate::tables;
use crate::zone;

/// How a field can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Number,
    Time,
    Text,
    /// Any of several texts.
    Texts,
    Never,
}

impl Comparison {
    /// How what a field of that kind shows can be compared.
    pub(crate) fn of(kind: FieldKind) -> Self {
        match kind {
            FieldKind::Id
            | FieldKind::Integer
            | FieldKind::Decimal
            | FieldKind::IdOf(_)
            | FieldKind::AccessPoint
            | FieldKind::Flag
            | FieldKind::Bool
            | FieldKind::Minutes
            | FieldKind::Derived(Derived::Count(..) | Derived::SameAsOrganization) => Self::Number,
            FieldKind::Created
            | FieldKind::LocalCreated
            | FieldKind::Modified
            | FieldKind::Timestamp
            | FieldKind::LocalTime
            | FieldKind::Date => Self::Time,
            FieldKind::NestedNames => Self::Texts,
            FieldKind::IdsOf(_)
            | FieldKind::Places(_)
            | FieldKind::Custom(_)
            | FieldKind::Tokens
            | FieldKind::List(_)
            | FieldKind::Any
            | FieldKind::Parts(_)
            | FieldKind::Derived(Derived::Members | Derived::Organizations) => Self::Never,
            _ => Self::Text,
        }
    }
}

/// How a caller wants to see entities.
#[derive(Clone)]
pub(crate) struct Sight {
    pub(crate) zone: TimeZone,
    pub(crate) now: Timestamp,
    /// Whether what is [`Visibility::Roaming`] is in answers.
    pub(crate) show_roaming: bool,
    /// The fields in answers, where they are not all.
    pub(crate) only: Option<&'static [&'static str]>,
}

/// The entities of one resource under one lock.
pub(crate) struct View<'e> {
    pub(crate) resource: &'static Resource,
    pub(crate) entities: &'e Entities,
    pub(crate) sight: Sight,
    referring: RefCell<HashMap<(&'static str, &'static str), Rc<Referring<'e>>>>,
}

/// The entities of a resource by the id that a field of theirs refers to.
pub(crate) type Referring<'e> = HashMap<i64, Vec<&'e EntityRow>>;

#[cfg(test)]
impl Sight {
    /// UTC, and all that there is by default.
    pub(crate) fn plain() -> Self {
        Self { zone: TimeZone::UTC, now: Timestamp::UNIX_EPOCH, show_roaming: false, only: None }
    }
}

impl<'e> View<'e> {
    pub(crate) fn new(resource: &'static Resource, entities: &'e Entities, sight: Sight) -> Self {
        Self { resource, entities, sight, referring: RefCell::default() }
    }

    /// The entities by id.
    pub(crate) fn rows(&self) -> &'e BTreeMap<i64, EntityRow> {
        self.entities.rows(self.resource.name)
    }

    /// Those that changed since then, in order of id; `None` where they are more than `most`.
    pub(crate) fn changed_since(&self, since: Timestamp, most: usize) -> Option<Vec<&'e EntityRow>> {
        self.entities.changed_since(self.resource.name, since, most)
    }

    /// The position of a field that callers know.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.resource.position(name).filter(|position| self.is_shown(*position))
    }

    fn is_shown(&self, position: usize) -> bool {
        let field = &self.resource.fields[position];
        match field.shown {
            Visibility::Never => false,
            Visibility::Roaming if !self.sight.show_roaming => false,
            _ => self.sight.only.is_none_or(|only| only.contains(&field.name)),
        }
    }

    /// How the field at a position can be compared.
    pub(crate) fn comparison(&self, position: usize) -> Comparison {
        Comparison::of(self.resource.fields[position].kind)
    }

    /// Whether the field at a position holds a person's name, its own or another entity's.
    pub(crate) fn is_name(&self, position: usize) -> bool {
        let is_name = |other: &str, field: &str| {
            let other = tables::resource(other);
            other.is_some_and(|other| matches!(other.fields[other.at(field)].kind, FieldKind::Name))
        };
        match self.resource.fields[position].kind {
            FieldKind::Name => true,
            FieldKind::Derived(Derived::Of(references, field)) => {
                references.iter().any(|(_, other)| is_name(other, field))
            }
            FieldKind::Derived(Derived::OfRecord(field)) => is_name("staff", field),
            _ => false,
        }
    }

    /// The number in a field.
    #[expect(clippy::cast_precision_loss, reason = "ids and counts are far below 2^53")]
    pub(crate) fn number(&self, row: &EntityRow, position: usize) -> Option<f64> {
        match &*self.value(row, position) {
            Value::Bool(set) => Some(f64::from(u8::from(*set))),
            Value::Number(number) => number.as_i64().map(|number| number as f64).or_else(|| number.as_f64()),
            _ => None,
        }
    }

    /// The time in a field.
    pub(crate) fn time(&self, row: &EntityRow, position: usize) -> Option<Timestamp> {
        match self.resource.fields[position].kind {
            FieldKind::Created | FieldKind::LocalCreated => Some(row.created),
            FieldKind::Modified => Some(row.modified),
            _ => row.text(position).and_then(zone::read),
        }
    }

    /// What a field holds, or what follows in it from elsewhere; times as they are stored.
    pub(crate) fn value<'r>(&self, row: &'r EntityRow, position: usize) -> Cow<'r, Value> {
        match self.resource.fields[position].kind {
            FieldKind::Id => Cow::Owned(row.id.into()),
            FieldKind::Derived(derived) => match self.derived(row, derived) {
                Value::Null => Cow::Borrowed(row.value(position)),
                value => Cow::Owned(value),
            },
            _ => Cow::Borrowed(row.value(position)),
        }
    }

    /// The JSON of an answer that is one entity.
    pub(crate) fn one(&self, row: &EntityRow) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(row, true, &mut out);
        out
    }

    /// The JSON of a list, in the order of the rows.
    pub(crate) fn list<'r>(&self, rows: impl IntoIterator<Item = &'r EntityRow>) -> Vec<u8> {
        let mut out = vec![b'['];
        for row in rows {
            if out.len() > 1 {
                out.push(b',');
            }
            self.write(row, false, &mut out);
        }
        out.push(b']');
        out
    }

    /// Appends the entity's JSON; `whole` where it is the answer, not one of a list.
    pub(crate) fn write(&self, row: &EntityRow, whole: bool, out: &mut Vec<u8>) {
        out.push(b'{');
        let mut first = true;
        self.each(row, whole, |name, value| {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            json(&Value::from(name), out);
            out.push(b':');
            json(value, out);
        });
        out.push(b'}');
    }

    /// Hands over the names and values of an answer in their order; `whole` as for [`View::write`].
    pub(crate) fn each(&self, row: &EntityRow, whole: bool, mut member: impl FnMut(&str, &Value)) {
        for (position, field) in self.resource.fields.iter().enumerate() {
            if !self.is_shown(position) {
            } else if field.shown == Visibility::Whole && !whole {
                member(field.name, &row::empty(field.kind));
            } else {
                member(field.name, &self.shown(row, position));
            }
        }
        for (name, value) in &row.extra {
            member(name, value);
        }
    }

    /// The entities of another resource by the id that a field of theirs refers to.
    pub(crate) fn referring(&self, other: &'static str, by: &'static str) -> Rc<Referring<'e>> {
        if let Some(known) = self.referring.borrow().get(&(other, by)) {
            return Rc::clone(known);
        }
        let mut found: Referring<'e> = HashMap::new();
        if let Some(position) = tables::resource(other).and_then(|resource| resource.position(by)) {
            for row in self.entities.rows(other).values() {
                row.integer(position).into_iter().for_each(|id| found.entry(id).or_default().push(row));
            }
        }
        let found = Rc::new(found);
        self.referring.borrow_mut().insert((other, by), Rc::clone(&found));
        found
    }

    /// What a field shows.
    fn shown<'r>(&self, row: &'r EntityRow, position: usize) -> Cow<'r, Value> {
        let stored = row.value(position);
        Cow::Owned(match self.resource.fields[position].kind {
            FieldKind::Created => self.written(row.created),
            FieldKind::LocalCreated => self.written_locally(row.created),
            FieldKind::Modified => self.written(row.modified),
            FieldKind::Timestamp => self.zoned(stored),
            FieldKind::LocalTime => match stored.as_str().and_then(zone::read) {
                Some(at) => self.written_locally(at),
                None => return Cow::Borrowed(stored),
            },
            FieldKind::Tokens => self.timed(stored, &["issued", "expiry"]),
            FieldKind::List(times) if !times.is_empty() => self.timed(stored, times),
            FieldKind::IdsOf(other) => self.named(stored, other),
            FieldKind::Places(_) => self.places(self.effective_places(row, position)),
            _ => return self.value(row, position),
        })
    }

    fn written(&self, at: Timestamp) -> Value {
        zone::written(at, &self.sight.zone).into()
    }

    fn written_locally(&self, at: Timestamp) -> Value {
        zone::written_locally(at, &self.sight.zone).into()
    }

    /// A stored time in the caller's zone; what is no time stays as it is.
    fn zoned(&self, value: &Value) -> Value {
        value.as_str().and_then(zone::read).map_or_else(|| value.clone(), |at| self.written(at))
    }

    /// Objects of which the named members are times.
    fn timed(&self, value: &Value, times: &[&str]) -> Value {
        let object = |item: &Value| match item {
            Value::Object(fields) => {
                let zoned = |(name, value): (&String, &Value)| {
                    let is_time = times.contains(&name.as_str());
                    (name.clone(), if is_time { self.zoned(value) } else { value.clone() })
                };
                Value::Object(fields.iter().map(zoned).collect())
            }
            other => other.clone(),
        };
        value.as_array().map_or_else(|| value.clone(), |items| items.iter().map(object).collect())
    }

    /// Ids as objects of id and name.
    pub(crate) fn named(&self, ids: &Value, other: &str) -> Value {
        let object = |id: &Value| json!({ "id": id, "name": self.name_of(id, other) });
        ids.as_array().map_or(Value::Null, |ids| ids.iter().map(object).collect())
    }

    /// Places as objects of id, name, start and expires.
    pub(crate) fn places(&self, places: &Value) -> Value {
        let object = |place: &Value| {
            let mut shown = Map::new();
            shown.insert("id".to_owned(), place["id"].clone());
            shown.insert("name".to_owned(), self.name_of(&place["id"], "location"));
            for day in ["start", "expires"] {
                shown.insert(day.to_owned(), place[day].clone());
            }
            Value::Object(shown)
        };
        places.as_array().map_or(Value::Null, |places| places.iter().map(object).collect())
    }

    /// The name of an entity of another resource.
    fn name_of(&self, id: &Value, other: &str) -> Value {
        let row = id.as_i64().and_then(|id| self.entities.rows(other).get(&id));
        let position = tables::resource(other).and_then(|resource| resource.position("name"));
        row.zip(position).map_or(Value::Null, |(row, position)| row.value(position).clone())
    }
}

fn json(value: &Value, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("values have string keys, and memory takes every byte");
}
