//! Converts the input of callers into stored values.

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::answer::Rejection;
use crate::part::Parts;
use crate::resource::{Field, FieldKind, Resource, Sent, Visibility};
use crate::row::{self, EntityRow};
use crate::sent;
use crate::store::Entities;
use crate::tables;
use crate::zone;

/// A body, and what it is read against.
pub(crate) struct RequestBody<'a> {
    pub(crate) resource: &'static Resource,
    pub(crate) entities: &'a Entities,
    pub(crate) body: &'a Map<String, Value>,
    /// Whether what it says is laid on an entity that exists.
    pub(crate) is_update: bool,
    /// The zone of times without an offset.
    pub(crate) zone: &'a TimeZone,
    /// Whether values are rewritten as they come in.
    pub(crate) normalize: bool,
}

impl RequestBody<'_> {
    /// Checks that every name is one of the resource. What only answers have is taken and ignored; a name that is
    /// neither is a mistake worth an answer.
    pub(crate) fn check_names(&self) -> Result<(), Rejection> {
        for name in self.body.keys() {
            let is_known = |field: &Field| {
                field.shown != Visibility::Never && field.name == name
                    || self.takes(field) && field.inputs.contains(&name.as_str())
            };
            if !self.resource.fields.iter().any(is_known) {
                return Err(Rejection::bad(format!("the {} has a field that doesn't exist", self.resource.name)));
            }
        }
        Ok(())
    }

    /// Whether the body changes custom fields only: an id, and nothing else but them.
    pub(crate) fn is_custom_only(&self) -> bool {
        let is_custom = |name: &str| {
            self.resource
                .fields
                .iter()
                .any(|field| matches!(field.kind, FieldKind::Custom(_)) && field.inputs.contains(&name))
        };
        self.resource.is_partial_by_custom
            && self.body.contains_key("id")
            && self.body.keys().any(|name| is_custom(name))
            && self.body.keys().all(|name| name == "id" || is_custom(name))
    }

    /// Replaces every input field: one that isn't sent becomes empty.
    pub(crate) fn replace(&self, row: &mut EntityRow) -> Result<(), Rejection> {
        self.each(|position, field, sent| {
            let value =
                sent.map_or_else(|| Ok(row::empty(field.kind)), |sent| self.value(field, sent, row, position))?;
            row.set(position, value);
            Ok(())
        })
    }

    /// Sets the fields that are sent; the others stay.
    pub(crate) fn fill(&self, row: &mut EntityRow) -> Result<(), Rejection> {
        self.each(|position, field, sent| {
            if let Some(sent) = sent.filter(|sent| !sent.is_null()) {
                row.set(position, self.value(field, sent, row, position)?);
            }
            Ok(())
        })
    }

    /// Sets the custom fields that are sent; the others stay.
    pub(crate) fn merge_custom(&self, row: &mut EntityRow) -> Result<(), Rejection> {
        self.each(|position, field, sent| {
            let FieldKind::Custom(_) = field.kind else { return Ok(()) };
            let Some(sent) = sent else { return Ok(()) };
            let mut kept = row.value(position).as_object().cloned().unwrap_or_default();
            if let Value::Object(changed) = self.value(field, sent, row, position)? {
                kept.extend(changed);
            }
            row.set(position, Value::Object(kept));
            Ok(())
        })
    }

    /// Checks that everything is there without which there is no such entity.
    pub(crate) fn check_required(&self, row: &EntityRow) -> Result<(), Rejection> {
        let empty = self.resource.required.iter().find(|name| row.value(self.resource.at(name)).is_null());
        empty.map_or(Ok(()), |name| Err(Rejection::bad(format!("{name} is required"))))
    }

    fn takes(&self, field: &Field) -> bool {
        match field.sent {
            Sent::Always => true,
            Sent::OnCreate => !self.is_update,
            Sent::OnUpdate => self.is_update,
        }
    }

    fn each(
        &self,
        mut set: impl FnMut(usize, &'static Field, Option<&Value>) -> Result<(), Rejection>,
    ) -> Result<(), Rejection> {
        let inputs = self.resource.fields.iter().enumerate().filter(|(_, field)| field.is_input() && self.takes(field));
        for (position, field) in inputs {
            // Each of several names for one field is read, so that none hides a mistake; the first one counts.
            let mut sent = field.inputs.iter().rev().filter_map(|name| self.body.get(*name)).peekable();
            if sent.peek().is_none() {
                set(position, field, None)?;
            }
            for sent in sent {
                set(position, field, Some(sent))?;
            }
        }
        Ok(())
    }

    /// What a field of the entity holds from now on.
    fn value(&self, field: &Field, sent: &Value, row: &EntityRow, position: usize) -> Result<Value, Rejection> {
        let wrong = |what: &str| Rejection::bad(format!("{} takes {what}", field.name));
        if sent.is_null() {
            return Ok(row::empty(field.kind));
        }
        match field.kind {
            FieldKind::Custom(elements) => self.custom(sent, elements),
            FieldKind::Parts(fields) => {
                let parts = Parts { fields, of: row.id, known: row.value(position), normalize: self.normalize };
                parts.read(sent).ok_or_else(|| wrong("a list of objects with their own fields"))
            }
            kind => self.plain(kind, sent, row.value(position)).map_err(wrong),
        }
    }

    fn plain(&self, kind: FieldKind, sent: &Value, known: &Value) -> Result<Value, &'static str> {
        match kind {
            FieldKind::NestedNames => sent::nested_names(sent).ok_or("a list of names"),
            FieldKind::IdOf(other) => {
                let id = sent::id(sent).ok_or("an id")?;
                // Who refers to what is gone may say so again.
                let is_there = |id: i64| self.entities.rows(other).contains_key(&id) || known.as_i64() == Some(id);
                if id == 0 {
                    Ok(Value::Null)
                } else {
                    is_there(id).then(|| id.into()).ok_or("the id of one that exists")
                }
            }
            FieldKind::IdsOf(other) => self.ids(sent, other).ok_or("a list of ids that exist"),
            FieldKind::AccessPoint => {
                let id = sent::id(sent).ok_or("an id")?;
                let is_there = id == 0 || self.entities.access_point(id).is_some() || known.as_i64() == Some(id);
                let stored = if id == 0 { Value::Null } else { id.into() };
                is_there.then_some(stored).ok_or("the id of an access point that exists")
            }
            FieldKind::Places(_) => self.places(sent).ok_or("a list of locations that exist, with days"),
            FieldKind::LocalTime => {
                let at = sent.as_str().map(|text| (text, zone::read_locally(text, self.zone)));
                match at {
                    Some(("", _)) => Ok(Value::Null),
                    Some((_, Some(at))) => Ok(zone::written(at, &TimeZone::UTC).into()),
                    _ => Err("a date and a time"),
                }
            }
            FieldKind::NameOf(other) => {
                let value = sent::plain(kind, sent, self.normalize)?;
                let is_there = value.as_str().is_none_or(|name| self.entities.is_name_of(name, other));
                is_there.then_some(value).ok_or("the name of one that exists")
            }
            kind => sent::plain(kind, sent, self.normalize),
        }
    }

    fn ids(&self, sent: &Value, other: &str) -> Option<Value> {
        let rows = self.entities.rows(other);
        sent.as_array()?.iter().map(|id| sent::id(id).filter(|id| rows.contains_key(id)).map(Value::from)).collect()
    }

    /// Locations with the days from and until which they count; their names are taken and ignored.
    fn places(&self, sent: &Value) -> Option<Value> {
        let place = |place: &Value| {
            let place = place.as_object()?;
            let id = sent::id(place.get("id")?).filter(|id| self.entities.rows("location").contains_key(id))?;
            let mut stored = Map::new();
            stored.insert("id".to_owned(), id.into());
            for day in ["start", "expires"] {
                let sent = place.get(day).unwrap_or(&Value::Null);
                let value =
                    if sent.is_null() { Some(Value::Null) } else { sent::plain(FieldKind::Date, sent, false).ok() };
                stored.insert(day.to_owned(), value?);
            }
            place
                .keys()
                .all(|name| matches!(name.as_str(), "id" | "name" | "start" | "expires"))
                .then_some(Value::Object(stored))
        };
        sent.as_array()?.iter().map(place).collect()
    }

    /// Custom fields by element id; the deprecated list has objects of id and value.
    fn custom(&self, sent: &Value, elements: Option<&'static str>) -> Result<Value, Rejection> {
        let wrong = |what: &str| Rejection::bad(format!("custom fields take {what}"));
        let pairs: Option<Vec<(String, &Value)>> = match sent {
            Value::Object(map) => Some(map.iter().map(|(id, value)| (id.clone(), value)).collect()),
            Value::Array(items) => items
                .iter()
                .map(|item| Some((sent::id(item.get("id")?)?.to_string(), item.get("value").unwrap_or(&Value::Null))))
                .collect(),
            _ => None,
        };
        let mut stored = Map::new();
        for (id, value) in pairs.ok_or_else(|| wrong("an object of element ids and values"))? {
            let number = id.parse::<i64>().map_err(|_| wrong("the ids of elements"))?;
            let is_checkbox = match elements.and_then(tables::resource) {
                Some(elements) => {
                    let element = self.entities.rows(elements.name).get(&number);
                    let element = element.ok_or_else(|| wrong("the ids of elements that exist"))?;
                    element.text(elements.at("element_type")) == Some("checkbox")
                }
                None => false,
            };
            let value = sent::custom_value(value, is_checkbox);
            stored.insert(id, value.ok_or_else(|| wrong("text, and 1 or 0 for a checkbox"))?);
        }
        Ok(Value::Object(stored))
    }
}
