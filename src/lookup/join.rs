//! Joins the rows of a source with those of its lookups.

use std::sync::Arc;

use super::options::Lookup;
use super::read::Loaded;
use super::table::{Found, LookupRow, LookupTable};
use crate::mapping::{Bound, Mapping};
use crate::source::{Columns, JoinedRow, LostLookup, Row};
use crate::spool;

/// How many rows of a lookup a reason names.
const NAMED: usize = 3;

/// The lookups of a mapping, ready to be joined.
#[derive(Default)]
pub struct Join {
    /// In the order of the mapping.
    lookups: Vec<(String, Arc<Loaded>)>,
    lost: Vec<LostLookup>,
    scratch: Vec<u8>,
}

impl Join {
    /// The lookups that a mapping names; `load` reads one that no run has read.
    pub fn new(lookups: &[Lookup], mapping: &Mapping, load: impl Fn(&Lookup) -> Loaded) -> Self {
        let mut join = Self::default();
        for used in mapping.lookups() {
            let Some(lookup) = lookups.iter().find(|lookup| lookup.name == used.name) else { continue };
            let loaded = lookup.loaded.clone().unwrap_or_else(|| Arc::new(load(lookup)));
            if let Err(reason) = &loaded.table {
                join.lost.push(LostLookup { name: used.name.clone(), reason: reason.clone() });
            }
            join.lookups.push((used.name.clone(), loaded));
        }
        join
    }

    /// The lookups of which nothing is known.
    pub fn lost(&self) -> &[LostLookup] {
        &self.lost
    }

    /// Whether there is nothing to join.
    pub fn is_empty(&self) -> bool {
        self.lookups.is_empty()
    }

    /// The columns of joined rows. Of a lookup of which nothing is known they are those that the mapping names.
    pub fn columns(&self, own: &Columns, mapping: &Mapping) -> Arc<Columns> {
        let mut names: Vec<&str> = Vec::new();
        for ((_, loaded), used) in self.lookups.iter().zip(mapping.lookups()) {
            match &loaded.table {
                Ok(table) => names.extend(table.columns.iter().map(String::as_str)),
                Err(_) => names.extend(used.columns.iter().map(|joined| joined.as_str())),
            }
        }
        Arc::new(own.with_lookups(&names))
    }

    /// A row with what the lookups say.
    pub fn row(&mut self, row: &Row, columns: &Arc<Columns>, bound: &Bound<'_>) -> Result<Row, spool::Error> {
        let mut joined = row.widened(columns);
        for (at, (lookup, loaded)) in self.lookups.iter().enumerate() {
            let Ok(table) = &loaded.table else { continue };
            let found = match bound.sought(row, at) {
                Ok(Some(key)) => table.find(&key)?,
                Ok(None) => Found::Nothing,
                Err((place, reason)) => {
                    joined.spoil(place, reason);
                    Found::Nothing
                }
            };
            add(&mut joined, lookup, table, found);
        }
        Ok(joined.joined(&mut self.scratch))
    }
}

fn add(joined: &mut Row, lookup: &str, table: &LookupTable, found: Found) {
    let said = |place| JoinedRow { lookup: lookup.to_owned(), place };
    let nothing = || table.columns.iter().map(|_| "");
    match found {
        Found::Nothing => joined.join(said(None), nothing(), std::iter::empty()),
        Found::One(LookupRow { place, cells, flaws, .. }) => {
            joined.join(said(Some(place.into_owned())), cells.iter().map(AsRef::as_ref), flaws.into_iter());
        }
        Found::Several(places) => {
            joined.spoil(format!("lookup.{lookup}"), ambiguous(lookup, &places).into());
            joined.join(said(Some(places.join("; "))), nothing(), std::iter::empty());
        }
    }
}

/// Entries of a directory are named by nothing: their names hold those of people (law 11).
fn ambiguous(lookup: &str, places: &[String]) -> String {
    let lines: Vec<&str> = places.iter().filter_map(|place| place.strip_prefix("line ")).collect();
    let more = if places.len() > NAMED { ", …" } else { "" };
    let listed = match lines.len() == places.len() {
        true => format!(" (lines {}{more})", lines[..lines.len().min(NAMED)].join(", ")),
        false => String::new(),
    };
    format!("{} rows of the lookup {lookup} fit{listed}; which of them is right?", places.len())
}
