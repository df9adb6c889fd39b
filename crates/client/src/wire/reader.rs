//! The fields of one object, on their way from JSON into a type.
//!
//! Invariants:
//! - A name that is there twice is an error, as everywhere ([`json`]).
//! - What is no field of the type is left over; nothing is dropped.
//!
//! A list is read object by object: one reader serves all of them, and one object at a time exists as JSON values.
//!
//! Rejected: a page as one tree. A thousand people are tens of thousands of allocations that live at the same time. Rejected too:
//! serde's derive (see the module above).

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

use super::value::{Fields, WireValue, flat, whole};
use crate::RemoteId;
use crate::json::{self, Strict};

/// Something that answers carry.
pub trait Wire: Serialize + Sized + Send + 'static {
    /// The names of its fields.
    const FIELDS: &'static [&'static str];

    /// Reads one JSON object; the error says what is wrong, without a value.
    fn read(object: Map<String, Json>) -> Result<Self, &'static str> {
        Self::take(&mut Reader::of(Self::FIELDS, object))
    }

    /// The same of an object whose fields are in a reader, which then holds nothing of it.
    #[doc(hidden)]
    fn take(reader: &mut Reader) -> Result<Self, &'static str>;

    /// The names of fields that hold something other than the specification says.
    fn unreadable(&self) -> &[&'static str];

    /// The names of fields that the answer does not have.
    fn unshown(&self) -> &[&'static str];

    /// Takes what this answer does not have from another answer about the same entity: lists may show more of it than an
    /// operation that shows it alone.
    fn complete(&mut self, other: Self);
}

/// Takes the fields of one object after the other by name. What can't be read is noted; what is never asked for is left over.
pub struct Reader {
    names: &'static [&'static str],
    /// The values, by position of their names.
    values: Vec<Option<Json>>,
    extra: Fields,
    unreadable: Vec<&'static str>,
    unshown: Vec<&'static str>,
    /// The position of the name that is asked for next, if they are asked for in order.
    next: usize,
    /// Which name came first, second and so on in the object before: objects of a list come in one form.
    order: Vec<usize>,
}

impl Reader {
    /// For objects with these fields.
    pub(crate) fn new(names: &'static [&'static str]) -> Self {
        let values = vec![None; names.len()];
        let (unreadable, unshown) = (Vec::new(), Vec::new());
        Self { names, values, extra: Fields::new(), unreadable, unshown, next: 0, order: Vec::new() }
    }

    /// The same, with the fields of an object.
    pub(crate) fn of(names: &'static [&'static str], object: Map<String, Json>) -> Self {
        let mut reader = Self::new(names);
        for (name, value) in object {
            match reader.position(&name, 0) {
                Some(at) => reader.values[at] = Some(value),
                None => _ = reader.extra.insert(name, value),
            }
        }
        reader
    }

    /// What was not asked for, the names of what could not be read, and those of what is not there. The next object may
    /// follow.
    pub(crate) fn finish(&mut self) -> (Fields, Vec<&'static str>, Vec<&'static str>) {
        self.next = 0;
        let (unreadable, unshown) = (std::mem::take(&mut self.unreadable), std::mem::take(&mut self.unshown));
        (std::mem::take(&mut self.extra), unreadable, unshown)
    }

    /// Forgets what is left of an object.
    fn clear(&mut self) {
        self.values.fill(None);
        self.finish();
    }

    /// The id: a whole number that fits int32 and is above zero, or the same as text.
    pub(crate) fn id(&mut self) -> Result<RemoteId, &'static str> {
        let id = self.value("id").ok_or("an entity without an id")?;
        whole(&id).and_then(RemoteId::new).ok_or("an id that is not a whole int32")
    }

    /// The value of a field; the default for null, missing and unreadable.
    pub(crate) fn take<T: WireValue>(&mut self, name: &'static str) -> T {
        let Some(json) = self.value(name) else {
            self.unshown.push(name);
            return T::default();
        };
        if json.is_null() {
            return T::default();
        }
        T::read(json).unwrap_or_else(|| {
            self.unreadable.push(name);
            T::default()
        })
    }

    /// The same of a field that requests call otherwise: an answer may show it under their name (specification, Conventions:
    /// `customfields` / `cf`). Where it shows it under both, with different values, it can't be read.
    pub(crate) fn take_either<T: WireValue + PartialEq>(&mut self, name: &'static str, sent: &str) -> T {
        let value: T = self.take(name);
        // A name that answers have too is another field.
        let Some(other) = (name != sent).then(|| self.extra.remove(sent)).flatten() else { return value };
        self.unshown.retain(|unshown| *unshown != name);
        let empty = T::default();
        match if other.is_null() { Some(T::default()) } else { T::read(other) } {
            Some(other) if other == empty || other == value => value,
            Some(other) if value == empty && !self.unreadable.contains(&name) => other,
            _ => {
                self.unreadable.push(name);
                T::default()
            }
        }
    }

    fn value(&mut self, name: &str) -> Option<Json> {
        let at = self.position(name, self.next)?;
        self.next = at + 1;
        self.values[at].take()
    }

    /// The position of a name, which is probably the `likely` one.
    fn position(&self, name: &str, likely: usize) -> Option<usize> {
        if self.names.get(likely).is_some_and(|known| *known == name) {
            return Some(likely);
        }
        self.names.iter().position(|known| *known == name)
    }
}

/// A part of an entity.
impl<T: Wire + Clone> WireValue for Vec<T> {
    fn read(json: Json) -> Option<Self> {
        let part = |item: Json| match item {
            Json::Object(object) => T::read(object).ok().filter(|part| part.unreadable().is_empty()),
            _ => None,
        };
        flat(json)?.into_iter().map(part).collect()
    }
}

/// The name of a field in JSON: its position among those that are known.
struct Named<'r>(&'r Reader, usize);

enum Name {
    At(usize),
    Other(String),
}

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = Name;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Named<'_> {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        Ok(self.0.position(name, self.1).map_or_else(|| Name::Other(name.to_owned()), Name::At))
    }
}

/// A value of JSON: an object goes into the reader. Says whether it was one.
struct Object<'r>(&'r mut Reader);

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<bool, A::Error> {
        let reader = self.0;
        let mut count = 0;
        loop {
            let likely = reader.order.get(count).copied().unwrap_or_default();
            let Some(name) = entries.next_key_seed(Named(reader, likely))? else { return Ok(true) };
            let value = entries.next_value_seed(Strict)?;
            let (at, before) = match name {
                Name::At(at) => (at, reader.values[at].replace(value)),
                Name::Other(name) => (likely, reader.extra.insert(name, value)),
            };
            if before.is_some() {
                return Err(A::Error::custom(json::TWICE));
            }
            // More names than there are fields are not in any order that helps.
            match reader.order.get_mut(count) {
                Some(known) => *known = at,
                None if count < reader.names.len() => reader.order.push(at),
                None => {}
            }
            count += 1;
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<bool, A::Error> {
        Strict.visit_seq(items).map(|_| false)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<bool, E> {
        Strict.visit_f64(number).map(|_| false)
    }

    fn visit_str<E>(self, _: &str) -> Result<bool, E> {
        Ok(false)
    }
}

/// The objects of a list, and the position of the first item that is none or can't be read, with the reason.
pub(crate) struct List<T>(PhantomData<T>);

impl<T: Wire> List<T> {
    /// Reads a document that is a list; the outer error says that it is no JSON, the inner one names an item.
    pub(crate) fn read(bytes: &[u8]) -> Result<Result<Vec<T>, (usize, &'static str)>, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let list = deserializer.deserialize_seq(Self(PhantomData))?;
        deserializer.end()?;
        Ok(list)
    }
}

impl<'de, T: Wire> Visitor<'de> for List<T> {
    type Value = Result<Vec<T>, (usize, &'static str)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    /// All of it is read, whatever is wrong with an item: it may be no JSON further down.
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut reader = Reader::new(T::FIELDS);
        let mut list = Ok(Vec::new());
        let mut index = 0;
        while let Some(is_object) = items.next_element_seed(Object(&mut reader))? {
            let read = if is_object { T::take(&mut reader) } else { Err(json::NO_OBJECT) };
            match (&mut list, read) {
                (Ok(list), Ok(item)) => list.push(item),
                (Ok(_), Err(problem)) => list = Err((index, problem)),
                (Err(_), _) => {}
            }
            if list.is_err() {
                reader.clear();
            }
            index += 1;
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::wire::Staff;

    /// The same list as one tree.
    fn as_tree(bytes: &[u8]) -> Result<Result<Vec<Staff>, (usize, &'static str)>, serde_json::Error> {
        let Json::Array(items) = json::parse(bytes)? else { unreachable!("it is a list") };
        let read = |(index, item)| match item {
            Json::Object(object) => Staff::read(object).map_err(|problem| (index, problem)),
            _ => Err((index, json::NO_OBJECT)),
        };
        Ok(items.into_iter().enumerate().map(read).collect())
    }

    fn item() -> impl Strategy<Value = String> {
        let value = prop_oneof![
            Just("1".to_owned()),
            Just("null".to_owned()),
            Just("\"x\"".to_owned()),
            Just("{\"a\":1}".to_owned()),
            Just("{\"a\":1,\"a\":2}".to_owned()),
            Just("[[\"b\"],[2]]".to_owned()),
            Just("1e999".to_owned()),
        ];
        let name =
            prop::sample::select(vec!["id", "id", "id", "name", "title", "roles", "customfields", "i\\u0064", "odd"]);
        let field = (name, value.clone()).prop_map(|(name, value)| format!("\"{name}\":{value}"));
        let object = prop::collection::vec(field, 0..5).prop_map(|fields| format!("{{{}}}", fields.join(",")));
        prop_oneof![8 => object, 1 => value]
    }

    proptest! {
        #[test]
        fn a_list_is_read_object_by_object_as_it_is_as_a_whole(items in prop::collection::vec(item(), 0..4), tail in "[ ,x]?") {
            let text = format!("[{}]{tail}", items.join(","));
            let (one, other) = (List::<Staff>::read(text.as_bytes()), as_tree(text.as_bytes()));
            match (one, other) {
                (Ok(one), Ok(other)) => prop_assert_eq!(one, other),
                (one, other) => prop_assert!(one.is_err() && other.is_err(), "{}", text),
            }
        }
    }

    #[test]
    fn nothing_of_an_object_is_left_for_the_next() {
        let list =
            json!([{"name": "Ada", "odd": 1}, {"id": 2, "title": "Dr", "odd": 1}, {"title": [], "id": 3}]).to_string();
        assert_eq!(List::<Staff>::read(list.as_bytes()).unwrap(), Err((0, "an entity without an id")));
        let list = list.replace("{\"name\"", "{\"id\":1,\"name\"");
        let read = List::<Staff>::read(list.as_bytes()).unwrap().unwrap();
        let seen = |at: usize| {
            (read[at].name.as_deref(), read[at].title.as_deref(), read[at].extra.len(), &*read[at].unreadable)
        };
        assert_eq!(seen(0), (Some("Ada"), None, 1, &[][..]));
        assert_eq!(seen(1), (None, Some("Dr"), 1, &[][..]));
        assert_eq!(seen(2), (None, None, 0, &["title"][..]));
    }
}
