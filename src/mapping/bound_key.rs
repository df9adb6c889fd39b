//! What gives the key of the rows of one lookup.

use std::cell::OnceCell;
use std::sync::Arc;

use super::bound::{RowView, Slot};
use super::cells::Slots;
use super::compile::Mapping;
use super::error::Error;
use super::outcome::Rendered;
use crate::record::{Key, RowDefect};
use crate::source::{Columns, Match, Name, Row};

/// What gives the key of the rows of one lookup.
pub struct BoundKey<'m> {
    slots: Arc<Slots>,
    slot: Slot<'m>,
}

impl Mapping {
    /// Finds the columns of a lookup that its key is made of.
    pub fn bind_lookup(&self, lookup: &str, columns: &Columns) -> Result<BoundKey<'_>, Error> {
        let own = self.lookups.iter().find(|own| own.name == lookup).expect("it is one of the mapping");
        let mut slots = Slots::default();
        let mut found = Vec::new();
        for name in &own.key.names {
            let column = match columns.find(name) {
                Match::One(at) => Some(at),
                Match::Missing if own.is_optional(name) => None,
                Match::Missing => return Err(Error::whole(&own.key.place, columns.lacks(name))),
                Match::Several(hits) => return Err(Error::whole(&own.key.place, columns.doubled(name, &hits))),
            };
            slots.add(name, column);
            found.push((name, column));
        }
        let column = |name: &Name| found.iter().find(|(known, _)| *known == name).and_then(|(_, column)| *column);
        let template = own.key.ready(&self.environment, column)?;
        let columns = found.iter().filter_map(|(_, column)| *column).collect();
        Ok(BoundKey { slots: Arc::new(slots), slot: Slot { template, columns, of_one: Vec::new() } })
    }
}

impl BoundKey<'_> {
    /// The key of a row; `None` where it has none. The error says why it can't be had.
    pub fn of(&self, row: &Row) -> Result<Option<Key>, RowDefect> {
        let view = RowView { row, slots: &self.slots, variables: OnceCell::new() };
        Ok(Key::new(&view.on(&self.slot).and_then(Rendered::text)?))
    }
}
