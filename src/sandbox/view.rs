//! Entities as a caller sees them: what each field shows, and the JSON of an answer.
//!
//! Answers are written straight from the stored values; a page of thousands is never copied first. An answer in another
//! media type would be a second writer beside [`View::write`].

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::resource::{Kind, Resource};
use super::row::Row;
use super::store::Entities;
use super::tables;
use super::zone;

/// How a field can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Number,
    Time,
    Text,
    /// Any of several texts.
    Texts,
    Never,
}

/// The entities of one resource under one lock, in one time zone.
pub(super) struct View<'a> {
    pub(super) resource: &'static Resource,
    entities: &'a Entities,
    zone: TimeZone,
    show_ids: bool,
    counts: HashMap<usize, HashMap<&'a str, i64>>,
}

impl<'a> View<'a> {
    /// `show_ids`: whether lists of ids are in answers.
    pub(super) fn new(resource: &'static Resource, entities: &'a Entities, zone: TimeZone, show_ids: bool) -> Self {
        let mut counts = HashMap::new();
        for (position, field) in resource.fields.iter().enumerate() {
            if let Kind::CountOf(other, by) = field.kind {
                counts.insert(position, count(entities, other, by));
            }
        }
        Self { resource, entities, zone, show_ids, counts }
    }

    /// The entities by id.
    pub(super) fn rows(&self) -> &'a std::collections::BTreeMap<i64, Row> {
        self.entities.rows(self.resource.name)
    }

    /// How the field at a position can be compared.
    pub(super) fn comparison(&self, position: usize) -> Comparison {
        match self.resource.fields[position].kind {
            Kind::Id | Kind::Integer | Kind::Flag | Kind::Bool | Kind::CountOf(..) => Comparison::Number,
            Kind::Created | Kind::Modified | Kind::Timestamp => Comparison::Time,
            Kind::Text | Kind::Name | Kind::Email | Kind::Phone | Kind::Number | Kind::Choice(_) | Kind::NameOf(_) => {
                Comparison::Text
            }
            Kind::NestedNames => Comparison::Texts,
            Kind::IdsOf(_) | Kind::Custom(_) | Kind::Tokens | Kind::List => Comparison::Never,
        }
    }

    /// The number in a field.
    #[expect(clippy::cast_precision_loss, reason = "ids and counts are far below 2^53")]
    pub(super) fn number(&self, row: &Row, position: usize) -> Option<f64> {
        match self.resource.fields[position].kind {
            Kind::Id => Some(row.id as f64),
            Kind::CountOf(..) => Some(self.count(row, position) as f64),
            Kind::Bool => Some(f64::from(u8::from(row.value(position) == &Value::Bool(true)))),
            _ => row.value(position).as_f64(),
        }
    }

    /// The time in a field.
    pub(super) fn time(&self, row: &Row, position: usize) -> Option<Timestamp> {
        match self.resource.fields[position].kind {
            Kind::Created => Some(row.created),
            Kind::Modified => Some(row.modified),
            _ => row.text(position).and_then(zone::read),
        }
    }

    /// Appends the entity's JSON; `whole` where it is the answer, not one of a list.
    pub(super) fn write(&self, row: &Row, whole: bool, out: &mut Vec<u8>) {
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
    pub(super) fn each(&self, row: &Row, _whole: bool, mut member: impl FnMut(&str, &Value)) {
        for (position, field) in self.resource.fields.iter().enumerate() {
            match field.kind {
                Kind::Id => member(field.name, &row.id.into()),
                Kind::Created => member(field.name, &self.written(row.created)),
                Kind::Modified => member(field.name, &self.written(row.modified)),
                Kind::Timestamp => member(field.name, &self.zoned(row.value(position))),
                Kind::Tokens => member(field.name, &self.tokens(row.value(position))),
                Kind::CountOf(..) => member(field.name, &self.count(row, position).into()),
                Kind::IdsOf(_) if !self.show_ids => {}
                Kind::IdsOf(other) => member(field.name, &self.named(row.value(position), other)),
                _ => member(field.name, row.value(position)),
            }
        }
        for (name, value) in &row.extra {
            member(name, value);
        }
    }

    fn count(&self, row: &Row, position: usize) -> i64 {
        let name = self.resource.position("name").and_then(|position| row.text(position)).unwrap_or_default();
        self.counts.get(&position).and_then(|counts| counts.get(name)).copied().unwrap_or(0)
    }

    fn written(&self, at: Timestamp) -> Value {
        zone::written(at, &self.zone).into()
    }

    /// A stored time in the caller's zone; what is no time stays as it is.
    fn zoned(&self, value: &Value) -> Value {
        value.as_str().and_then(zone::read).map_or_else(|| value.clone(), |at| self.written(at))
    }

    fn tokens(&self, value: &Value) -> Value {
        let token = |token: &Value| match token {
            Value::Object(fields) => {
                let zoned = |(name, value): (&String, &Value)| {
                    let is_time = matches!(name.as_str(), "issued" | "expiry");
                    (name.clone(), if is_time { self.zoned(value) } else { value.clone() })
                };
                Value::Object(fields.iter().map(zoned).collect())
            }
            other => other.clone(),
        };
        value.as_array().map_or_else(|| value.clone(), |tokens| tokens.iter().map(token).collect())
    }

    /// Ids as objects of id and name.
    fn named(&self, ids: &Value, other: &str) -> Value {
        let position = tables::resource(other).and_then(|resource| resource.position("name"));
        let object = |id: &Value| {
            let row = id.as_i64().and_then(|id| self.entities.rows(other).get(&id));
            let name = row.zip(position).map_or(Value::Null, |(row, position)| row.value(position).clone());
            Value::Object(Map::from_iter([("id".to_owned(), id.clone()), ("name".to_owned(), name)]))
        };
        ids.as_array().map_or(Value::Null, |ids| ids.iter().map(object).collect())
    }
}

fn count<'a>(entities: &'a Entities, other: &str, by: &str) -> HashMap<&'a str, i64> {
    let mut counts = HashMap::new();
    let position = tables::resource(other).and_then(|resource| resource.position(by));
    for row in position.iter().flat_map(|_| entities.rows(other).values()) {
        if let Some(text) = position.and_then(|position| row.text(position)) {
            *counts.entry(text).or_insert(0) += 1;
        }
    }
    counts
}

fn json(value: &Value, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("values have string keys, and memory takes every byte");
}
