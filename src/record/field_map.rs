//! A small sorted map from field name to value.
//!
//! A run makes and drops several of these for everybody, each with a dozen fields at most, so they lie in one piece of
//! memory in order of name, and the names with them.
//!
//! Invariants:
//! - In order of name, each name once; the later of two stays.
//! - In JSON it is an object, an empty one too: the maps of `litemap` become an array then, which is why it does not write
//!   them here.
//!
//! Rejected: a tree, whose nodes are made for eleven entries and filled by sorting what is sorted; that was an eighth of
//! the time of a first run.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index};

use litemap::LiteMap;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

type Map<T> = LiteMap<SmolStr, T>;

/// Something for each of some fields, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldMap<T>(Map<T>);

impl<T> FieldMap<T> {
    /// Nothing.
    pub const fn new() -> Self {
        Self(LiteMap::new_vec())
    }

    /// Entries that are in order of name already, each name once.
    pub fn in_order(entries: Vec<(SmolStr, T)>) -> Self {
        debug_assert!(entries.is_sorted_by(|(one, _), (next, _)| one < next), "fields in order of name");
        Self(LiteMap::from_sorted_store_unchecked(entries))
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for FieldMap<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for FieldMap<T> {
    type Target = Map<T>;

    fn deref(&self) -> &Map<T> {
        &self.0
    }
}

impl<T> DerefMut for FieldMap<T> {
    fn deref_mut(&mut self) -> &mut Map<T> {
        &mut self.0
    }
}

impl<T> Index<&str> for FieldMap<T> {
    type Output = T;

    fn index(&self, field: &str) -> &T {
        self.0.get(field).expect("a field that is there")
    }
}

/// Most entries come in order of name, and are not looked for then.
impl<T> FromIterator<(SmolStr, T)> for FieldMap<T> {
    fn from_iter<I: IntoIterator<Item = (SmolStr, T)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let mut all = Self(LiteMap::with_capacity(entries.size_hint().0));
        all.extend(entries);
        all
    }
}

impl<T, const N: usize> From<[(SmolStr, T); N]> for FieldMap<T> {
    fn from(entries: [(SmolStr, T); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<T> Extend<(SmolStr, T)> for FieldMap<T> {
    fn extend<I: IntoIterator<Item = (SmolStr, T)>>(&mut self, entries: I) {
        for (field, it) in entries {
            if let Some((field, it)) = self.0.try_append(field, it) {
                self.0.insert(field, it);
            }
        }
    }
}

impl<T> IntoIterator for FieldMap<T> {
    type Item = (SmolStr, T);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a FieldMap<T> {
    type Item = (&'a SmolStr, &'a T);
    type IntoIter = <&'a Map<T> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: Serialize> Serialize for FieldMap<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FieldMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

struct Entries<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
    type Value = FieldMap<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("something by field")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<FieldMap<T>, A::Error> {
        let mut all = FieldMap::new();
        while let Some(entry) = entries.next_entry()? {
            all.extend([entry]);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_what_a_tree_is(entries in proptest::collection::vec(("[a-d]{0,2}", 0..9i32), 0..12), gone in "[a-d]{0,2}") {
            let named = |(field, it): &(String, i32)| (SmolStr::from(field), *it);
            let mut tree: BTreeMap<SmolStr, i32> = entries.iter().map(named).collect();
            let mut all: FieldMap<i32> = entries.iter().map(named).collect();
            let mut added = FieldMap::new();
            for (field, it) in entries.iter().map(named) {
                added.insert(field, it);
            }
            prop_assert_eq!(&all, &added);
            prop_assert_eq!(all.remove(gone.as_str()), tree.remove(gone.as_str()));
            prop_assert!(all.iter().eq(&tree));
            let text = serde_json::to_string(&all).unwrap();
            prop_assert_eq!(&text, &serde_json::to_string(&tree).unwrap());
            prop_assert_eq!(serde_json::from_str::<FieldMap<i32>>(&text).unwrap(), all);
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["[]", "null", "[[\"a\",1]]"] {
            assert!(serde_json::from_str::<FieldMap<i32>>(text).is_err(), "{text}");
        }
    }
}
