//! Reads a lookup to its end.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;

use super::table::{LookupRow, LookupTable};
use crate::fault::chain;
use crate::mapping::{BoundKey, Mapping};
use crate::source::{
    self, Access, Columns, JoinedName, Match, Name, Read, RequiredColumns, Row, Source, SourceState, Span,
};
use crate::spool;

/// What a run read of a lookup.
pub struct Loaded {
    /// Its rows; or why nothing is known of them.
    pub table: Result<LookupTable, String>,
    /// How many rows were read.
    pub rows: u64,
    /// How many of them have no key and are left out.
    pub keyless: u64,
    /// What was found out about the source.
    pub found: Option<SourceState>,
    /// How far the server was that was read, where it is one.
    pub span: Option<Span>,
}

/// Shows how many rows there are (law 11).
impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Loaded {
    /// The same where a later look found out that it can't be believed.
    #[must_use]
    pub fn doubted(self, reason: String) -> Self {
        Self { table: Err(reason), ..self }
    }
}

/// Reads the lookup of that name for all parts of a job, one mapping each, of which at least one names it.
pub fn load(name: &str, source: &Source, mappings: &[&Mapping], access: Access<'_>) -> Loaded {
    let uses = || mappings.iter().filter_map(|mapping| mapping.lookups().iter().find(|own| own.name == name));
    let mut wanted = RequiredColumns::default();
    mappings.iter().for_each(|mapping| {
        let own = mapping.lookups().iter().find(|own| own.name == name);
        own.into_iter().for_each(|own| wanted.add(&own.wanted(mapping.photos())));
    });
    let mut columns: Vec<JoinedName> = uses().flat_map(|own| own.columns.iter().cloned()).collect();
    columns.sort();
    columns.dedup();
    let named = mappings.iter().find(|mapping| mapping.lookups().iter().any(|own| own.name == name));
    let mapping = named.expect("a part of the job names it");
    let names = columns.iter().map(|joined| joined.as_str().to_owned()).collect();
    let mut reader = Reader {
        name,
        mapping,
        columns,
        bound: None,
        table: LookupTable::new(names, access.dir),
        keyless: 0,
        unreadable: None,
        fault: None,
    };
    let read = source::read(source, &wanted, access, &mut |row| reader.take(row));
    reader.end(read)
}

/// A lookup while it is read.
struct Reader<'m> {
    name: &'m str,
    mapping: &'m Mapping,
    columns: Vec<JoinedName>,
    bound: Option<(BoundKey<'m>, Vec<Option<usize>>)>,
    table: LookupTable,
    keyless: u64,
    /// How many rows have a key that can't be read, and why the first has none.
    unreadable: Option<(u64, String)>,
    fault: Option<String>,
}

impl Reader<'_> {
    fn take(&mut self, row: &Row) -> ControlFlow<()> {
        match self.put(row) {
            Ok(()) => ControlFlow::Continue(()),
            Err(fault) => {
                self.fault = Some(fault);
                ControlFlow::Break(())
            }
        }
    }

    fn put(&mut self, row: &Row) -> Result<(), String> {
        if self.bound.is_none() {
            let key = self.mapping.bind_lookup(self.name, row.columns()).map_err(|error| error.reason)?;
            let position = |joined: &JoinedName| position(self.mapping, self.name, row.columns(), &joined.column);
            let positions = self.columns.iter().map(position).collect::<Result<_, _>>()?;
            self.bound = Some((key, positions));
        }
        let (key, positions) = self.bound.as_ref().expect("it was bound just now");
        let key = match key.of(row) {
            Ok(Some(key)) => key,
            Ok(None) => {
                self.keyless += 1;
                return Ok(());
            }
            Err(reason) => {
                let reason = reason.to_string();
                self.unreadable.get_or_insert((0, reason)).0 += 1;
                return Ok(());
            }
        };
        let cell = |at: &Option<usize>| Cow::from(at.map_or("", |at| row.cell(at)));
        let flaw = |(number, at): (usize, &Option<usize>)| Some((number, row.flaw_in(&[(*at)?])?.clone()));
        let place = match row.dn() {
            Some(dn) => dn.to_owned(),
            None => format!("line {}", row.line),
        };
        let row = LookupRow {
            line: row.line,
            key: key.as_str().into(),
            place: place.into(),
            cells: positions.iter().map(cell).collect(),
            flaws: positions.iter().enumerate().filter_map(flaw).collect(),
        };
        self.table.put(&row).map_err(|error: spool::Error| chain(&error))
    }

    /// Makes of a finished read what is known of the lookup.
    fn end(self, read: Result<Read, source::Error>) -> Loaded {
        let Self { mut table, keyless, unreadable, fault, .. } = self;
        let read = match (fault, read) {
            (Some(fault), _) => return lost(fault),
            (None, Err(error)) => return lost(chain(&error)),
            (None, Ok(read)) => read,
        };
        let keys = unreadable.map(|(rows, reason)| match rows {
            1 => format!("the key of 1 row can't be read: {reason}"),
            rows => format!("the keys of {rows} rows can't be read, the first: {reason}"),
        });
        let ended = table.finish(&read.superseded).map_err(|error| chain(&error));
        let doubts: Vec<String> = read.incomplete().iter().cloned().chain(keys).chain(ended.err()).collect();
        let table = match doubts.is_empty() {
            false => Err(doubts.join("; ")),
            true if table.is_empty() => Err("it has no row that can be used".to_owned()),
            true => Ok(table),
        };
        Loaded { table, rows: read.rows, keyless, found: Some(read.found), span: read.span }
    }
}

fn lost(reason: String) -> Loaded {
    Loaded { table: Err(reason), rows: 0, keyless: 0, found: None, span: None }
}

fn position(mapping: &Mapping, lookup: &str, columns: &Columns, name: &Name) -> Result<Option<usize>, String> {
    let is_optional = mapping.lookups().iter().any(|own| own.name == lookup && own.is_optional(name));
    match columns.find(name) {
        Match::One(at) => Ok(Some(at)),
        Match::Missing if is_optional => Ok(None),
        Match::Missing => Err(columns.lacks(name)),
        Match::Several(hits) => Err(columns.doubled(name, &hits)),
    }
}
