//! A row as the template engine sees it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::Object;

use crate::source::{Name, Row};

/// The names that the templates of a mapping use, and the columns of their values.
#[derive(Default)]
pub(super) struct Slots {
    /// The column of each slot; `None` where the source lacks an optional one.
    columns: Vec<Option<usize>>,
    plain: HashMap<Box<str>, usize>,
    verbatim: HashMap<Box<str>, usize>,
    /// By lookup, the names of its columns.
    joined: HashMap<Box<str>, HashMap<Box<str>, usize>>,
}

impl Slots {
    /// Makes `name` refer to a column.
    pub(super) fn add(&mut self, name: &Name, column: Option<usize>) {
        let slot = match self.columns.iter().position(|known| *known == column) {
            Some(slot) => slot,
            None => {
                self.columns.push(column);
                self.columns.len() - 1
            }
        };
        let (names, name) = match name {
            Name::Plain(name) => (&mut self.plain, name.as_str()),
            Name::Verbatim(name) => (&mut self.verbatim, name.as_str()),
            Name::Joined(name) => (self.joined.entry(name.lookup.as_str().into()).or_default(), name.column.as_str()),
        };
        names.insert(name.into(), slot);
    }

    /// The variables of a row.
    pub(super) fn variables(self: &Arc<Self>, row: &Row) -> Value {
        let cell = |column: &Option<usize>| Value::from(column.map_or("", |column| visible(row.cell(column))));
        let values = self.columns.iter().map(cell).collect();
        let list = |column: &Option<usize>| {
            let all: Vec<&str> = column.map(|column| row.all(column).map(visible).collect()).unwrap_or_default();
            (all.len() > 1).then(|| Value::from_iter(all))
        };
        let lists = self.columns.iter().map(list).collect();
        Value::from_object(Cells { slots: Arc::clone(self), values, lists })
    }
}

/// A value without what no one sees at its ends in a spreadsheet: white space, marks of direction and of bytes, hyphens and joiners
/// without width. `include` compares what is left.
pub(super) fn visible(value: &str) -> &str {
    let is_unseen = |letter: char| {
        letter.is_whitespace() || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
    };
    value.trim_matches(is_unseen)
}

/// The cells of one row that templates use.
struct Cells {
    slots: Arc<Slots>,
    values: Vec<Value>,
    /// The lists of those that have several values.
    lists: Vec<Option<Value>>,
}

impl Object for Cells {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match key {
            "source" => Some(Value::from_object(Items { cells: Arc::clone(self), lists: false })),
            "all" => Some(Value::from_object(Items { cells: Arc::clone(self), lists: true })),
            lookup if self.slots.joined.contains_key(lookup) => {
                Some(Value::from_object(Joined { cells: Arc::clone(self), lookup: lookup.into() }))
            }
            _ => self.slots.plain.get(key).map(|slot| self.values[*slot].clone()),
        }
    }
}

/// `source` and `all`: columns by their own names, as text or as a list.
struct Items {
    cells: Arc<Cells>,
    lists: bool,
}

impl Object for Items {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        let slot = *self.cells.slots.verbatim.get(key)?;
        if let Some(list) = self.cells.lists[slot].as_ref().filter(|_| self.lists) {
            return Some(list.clone());
        }
        let value = self.cells.values[slot].clone();
        Some(match (self.lists, value.as_str()) {
            (true, Some("")) => Value::from(Vec::<Value>::new()),
            (true, _) => Value::from(vec![value]),
            (false, _) => value,
        })
    }
}

/// The columns of a lookup.
struct Joined {
    cells: Arc<Cells>,
    lookup: Box<str>,
}

impl Object for Joined {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        let slot = *self.cells.slots.joined.get(&self.lookup)?.get(key)?;
        Some(self.cells.values[slot].clone())
    }
}

/// Shows nothing of the row (law 11).
impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Joined")
    }
}

/// Shows nothing of the row (law 11).
impl fmt::Debug for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cells")
    }
}

/// Shows nothing of the row (law 11).
impl fmt::Debug for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Items")
    }
}
