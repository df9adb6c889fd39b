//! What is left of a store that is replaced by a new one.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;

use super::engine::{Engine, Projection};
use super::{Error, Keyspace, MetaKey};

/// A store that is to be thrown away.
pub struct OldStore<'a> {
    place: &'a str,
    engine: Option<&'a dyn Engine>,
    unreadable: BTreeSet<Keyspace>,
    damage: Option<&'a Error>,
}

/// What became of a store that was to be thrown away.
#[derive(Debug)]
pub struct ResetOutcome<T> {
    /// Why it could not be used, where it could not.
    pub damage: Option<Error>,
    /// What its reader made of it.
    pub seen: T,
    /// Whether it was thrown away.
    pub is_dropped: bool,
}

impl<'a> OldStore<'a> {
    /// What is left of a store: its engine where it opens at all, and the spaces that it can't read.
    pub(super) fn of(
        place: &'a str,
        engine: Option<&'a dyn Engine>,
        unreadable: BTreeSet<Keyspace>,
        damage: Option<&'a Error>,
    ) -> Self {
        Self { place, engine, unreadable, damage }
    }

    /// Why it can't be used; `None` where it is whole.
    pub fn damage(&self) -> Option<&Error> {
        self.damage
    }

    /// Reads a row about the state as a whole; of a damaged store, where it is readable.
    pub fn meta<T: DeserializeOwned>(&self, key: MetaKey<'_>) -> Result<Option<T>, Error> {
        let Some(engine) = self.engine else { return Ok(None) };
        let key = Keyspace::Meta.key(&key.to_string());
        let parse = |row: Vec<u8>| serde_json::from_slice(&row).map_err(|_| Error::of_row(self.place, &key));
        self.as_far_as_readable(engine.get(&key).and_then(|row| row.map(parse).transpose()))
    }

    /// Walks the rows of a space; of a damaged store, as far as they are readable.
    pub(super) fn scan(&self, space: Keyspace, mut visit: impl FnMut(&str, &[u8])) -> Result<(), Error> {
        let Some(engine) = self.engine.filter(|_| !self.unreadable.contains(&space)) else { return Ok(()) };
        self.as_far_as_readable(engine.walk(&space.key(""), Projection::Rows, &mut |key, payload| {
            let name = std::str::from_utf8(&key[1..]).map_err(|_| Error::of_row(self.place, key))?;
            visit(name, payload);
            Ok(true)
        }))
    }

    fn as_far_as_readable<T: Default>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.or_else(|error| if self.damage.is_some() { Ok(T::default()) } else { Err(error) })
    }
}
