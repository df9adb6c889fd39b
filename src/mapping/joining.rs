//! How a mapping uses a lookup: what finds its rows, and which of its columns are named.
//!
//! `on` is filled from a row of the source, `key` from one of the lookup. Both are compared as the keys of records are:
//! without outer white space, and nothing else is folded. An empty text finds nothing.

use std::collections::BTreeSet;

use super::options::LookupOptions;
use super::template::Compiled;
use crate::source::{ColumnRequirement, JoinedName, Name, RequiredColumns};

/// How a mapping uses one lookup.
pub struct LookupMapping {
    /// Its name.
    pub name: String,
    pub(super) on: Compiled,
    pub(super) key: Compiled,
    /// The columns that templates name, in order.
    pub columns: Vec<JoinedName>,
    optional: Vec<String>,
}

impl LookupMapping {
    pub(super) fn new(options: &LookupOptions, on: Compiled, key: Compiled, named: BTreeSet<JoinedName>) -> Self {
        let (name, optional) = (options.name.clone(), options.optional.clone());
        Self { name, on, key, columns: named.into_iter().collect(), optional }
    }

    /// Whether any template names a column of it.
    pub(super) fn is_used(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Whether its source may lack a column.
    pub fn is_optional(&self, name: &Name) -> bool {
        self.optional.iter().any(|column| name.means(column))
    }

    /// The columns that its source must have; `photos` are those of the job that hold photos.
    pub fn wanted(&self, photos: &[Name]) -> RequiredColumns {
        let keys: Vec<Name> = self.key.names.iter().cloned().collect();
        let named = self.columns.iter().map(|joined| joined.column.as_ref().clone());
        let mut names: Vec<Name> = keys.iter().cloned().chain(named).collect();
        names.sort();
        names.dedup();
        let need = |name: Name| ColumnRequirement { optional: self.is_optional(&name), name };
        let own = photos.iter().filter_map(Name::joined).filter(|photo| photo.lookup == self.name);
        RequiredColumns {
            needs: names.into_iter().map(need).collect(),
            photos: own.map(|photo| photo.column.as_ref().clone()).collect(),
            keys,
        }
    }
}
