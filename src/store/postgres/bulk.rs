//! Writes many rows at once: in parts to a generation that no one sees, which the last commit names.
//!
//! ```text
//! add ─▶ a buffer ─▶ parts of the new generation, removals too ─▶ the rest of the old one is copied ─▶ one commit names it
//! ```
//!
//! Each part is short, so that renewals and commands come through in between. It holds the row of the account for reading:
//! no other worker can claim before it has ended, and where one has, it is refused. A load
//! that does not come to its end leaves rows that do not count; the next tenure removes them.

use std::collections::BTreeMap;

use super::connection::Value;
use super::fence::fenced;
use super::rows::{Commit, Rows, number};
use crate::crash::point;
use crate::store::batch::RowChange;
use crate::store::engine::{BulkLoad, Interrupted, OrderedRows};
use crate::store::{Batch, Error, ErrorKind, Keyspace, row};

/// A part has so many bytes and rows at most; next to nothing in a debug build, so that every test goes over generations.
const PART_BYTES: usize = if cfg!(debug_assertions) { 1024 } else { 4 * 1024 * 1024 };
const PART_ROWS: usize = 10_000;

pub(super) struct Bulk<'a> {
    rows: &'a Rows,
    /// Rows about the state as a whole, which are never many.
    unfiled: Vec<RowChange>,
    lines: Vec<(String, String)>,
    buffer: Vec<RowChange>,
    bytes: usize,
    /// The generation that is written of each space that has one.
    generations: BTreeMap<Keyspace, i32>,
}

impl<'a> Bulk<'a> {
    /// More rows at once go to a new generation.
    pub(super) const COMMIT_ROWS_MAX: usize = if cfg!(debug_assertions) { 256 } else { PART_ROWS };

    pub(super) fn new(rows: &'a Rows) -> Self {
        Self {
            rows,
            unfiled: Vec::new(),
            lines: Vec::new(),
            buffer: Vec::new(),
            bytes: 0,
            generations: BTreeMap::new(),
        }
    }

    fn push(&mut self, row: RowChange) -> Result<(), ErrorKind> {
        if Keyspace::filed(&row.0).is_none() {
            self.unfiled.push(row);
            return Ok(());
        }
        self.push_part(row)
    }

    fn push_part(&mut self, row: RowChange) -> Result<(), ErrorKind> {
        self.bytes += row.0.len() + row.1.as_ref().map_or(0, Vec::len);
        self.buffer.push(row);
        if self.bytes >= PART_BYTES || self.buffer.len() >= PART_ROWS { self.spill() } else { Ok(()) }
    }

    /// Writes what is in memory to the new generations.
    fn spill(&mut self) -> Result<(), ErrorKind> {
        self.bytes = 0;
        let mut parts: BTreeMap<Keyspace, BTreeMap<Vec<u8>, Option<Vec<u8>>>> = BTreeMap::new();
        for (key, payload) in std::mem::take(&mut self.buffer) {
            let space = Keyspace::of(&key).expect("a row belongs to a space");
            parts.entry(space).or_default().insert(key, payload);
        }
        for (space, part) in parts {
            let generation = self.generation(space)?;
            let names = part.keys().map(|key| key[1..].to_vec()).collect();
            let payloads = part
                .iter()
                .map(|(key, payload)| payload.as_ref().map(|payload| row::encode(key, 0, Some(payload))))
                .collect();
            self.part(space, generation, names, payloads)?;
        }
        Ok(())
    }

    /// The new generation of a space; the first call takes its number.
    fn generation(&mut self, space: Keyspace) -> Result<i32, ErrorKind> {
        if let Some(generation) = self.generations.get(&space) {
            return Ok(*generation);
        }
        let generation = self.rows.next_generation(space)?;
        self.generations.insert(space, generation);
        Ok(generation)
    }

    /// Writes a part; a row without a payload says that its name is removed.
    fn part(
        &self,
        space: Keyspace,
        generation: i32,
        names: Vec<Vec<u8>>,
        payloads: Vec<Option<Vec<u8>>>,
    ) -> Result<(), ErrorKind> {
        const PART: &str = concat!(
            "with ",
            fenced!(),
            ", put as (
              insert into rosterd.rows (account, space, generation, name, payload)
              select $1, $4, $5, p.name, p.payload from unnest($6::bytea[], $7::bytea[]) as p(name, payload)
               where exists (select from fence)
              on conflict (account, space, generation, name) do update set payload = excluded.payload)
            select from fence"
        );
        let values = || {
            self.rows.lease.tenure.fence([
                Value::Small(number(space)),
                Value::Int(generation),
                Value::Blobs(names.clone()),
                Value::OptionalBlobs(payloads.clone()),
            ])
        };
        self.rows.account.query(PART, values).and_then(|rows| self.fenced(&rows))
    }

    /// A statement that saw no fence did nothing.
    fn fenced(&self, rows: &[tokio_postgres::Row]) -> Result<(), ErrorKind> {
        if rows.is_empty() {
            self.rows.lease.lose();
            return Err(ErrorKind::Fenced);
        }
        Ok(())
    }

    /// Copies what the old generation of a space has besides, in parts, and takes the marks of removals out.
    fn complete(&self, space: Keyspace, generation: i32) -> Result<(), ErrorKind> {
        const PART: &str = concat!(
            "with ",
            fenced!(),
            ", part as (
              select name, payload from rosterd.rows r where r.account = $1 and r.space = $4 and r.name > $6
                 and r.generation = coalesce((select generation from rosterd.space s where s.account = $1 and s.space = $4), 0)
               order by name limit 10000),
            copied as (
              insert into rosterd.rows (account, space, generation, name, payload)
              select $1, $4, $5, name, payload from part where exists (select from fence)
              on conflict (account, space, generation, name) do nothing)
            select (select name from part order by name desc limit 1) as last from fence"
        );
        const MARKS: &str = concat!(
            "with ",
            fenced!(),
            ", swept as (
              delete from rosterd.rows where account = $1 and space = $4 and generation = $5 and payload is null
                 and exists (select from fence))
            select from fence"
        );
        let of = |more: Option<Vec<u8>>| {
            let place = [Value::Small(number(space)), Value::Int(generation)];
            self.rows.lease.tenure.fence(place.into_iter().chain(more.map(Value::Bytes)))
        };
        // No name is empty.
        let mut last = Vec::new();
        loop {
            let rows = self.rows.account.query(PART, || of(Some(last.clone())))?;
            self.fenced(&rows)?;
            match rows.first().and_then(|row| row.get::<_, Option<Vec<u8>>>("last")) {
                Some(copied) => last = copied,
                None => break,
            }
        }
        self.rows.account.query(MARKS, || of(None)).and_then(|rows| self.fenced(&rows))
    }

    fn finish(mut self) -> Result<(), ErrorKind> {
        let mut commits = self.rows.writing();
        let lines = std::mem::take(&mut self.lines);
        if self.generations.is_empty() {
            let mut rows = std::mem::take(&mut self.unfiled);
            rows.append(&mut self.buffer);
            if rows.is_empty() && lines.is_empty() {
                return Ok(());
            }
            return self.rows.commit_fenced(&mut commits, Commit { rows, lines, generations: &[] });
        }
        self.spill()?;
        let generations: Vec<(Keyspace, i32)> =
            self.generations.iter().map(|(space, number)| (*space, *number)).collect();
        generations.iter().try_for_each(|(space, generation)| self.complete(*space, *generation))?;
        point("store: a merged file is there");
        let rows = std::mem::take(&mut self.unfiled);
        self.rows.commit_fenced(&mut commits, Commit { rows, lines, generations: &generations })?;
        point("store: a merged file counts");
        generations.iter().try_for_each(|(space, generation)| self.rows.drop_besides(*space, *generation))
    }
}

/// Puts the rows of a batch in the place of all that there are.
pub(super) fn replace_all(rows: &Rows, batch: Batch) -> Result<(), ErrorKind> {
    let mut bulk = Bulk::new(rows);
    let mut commits = rows.writing();
    let mut generations = Vec::new();
    for space in Keyspace::ALL {
        generations.push((*space, bulk.generation(*space)?));
    }
    for row in batch.rows {
        bulk.push_part(row)?;
    }
    bulk.spill()?;
    rows.commit_fenced(&mut commits, Commit { rows: Vec::new(), lines: batch.lines, generations: &generations })?;
    generations.iter().try_for_each(|(space, generation)| rows.drop_besides(*space, *generation))
}

impl Drop for Bulk<'_> {
    fn drop(&mut self) {
        self.generations.iter().for_each(|(space, generation)| self.rows.close_generation(*space, *generation));
    }
}

impl BulkLoad for Bulk<'_> {
    fn add(&mut self, batch: Batch) -> Result<(), Error> {
        let rows = self.rows;
        self.lines.extend(batch.lines);
        batch.rows.into_iter().try_for_each(|row| self.push(row)).map_err(|kind| rows.error(kind))
    }

    fn commit(self: Box<Self>) -> Result<(), Error> {
        let rows = self.rows;
        self.finish().map_err(|kind| rows.error(kind))
    }

    fn commit_with(mut self: Box<Self>, rows: &mut OrderedRows<'_>) -> Result<(), Error> {
        for batch in rows {
            let interrupted = |Interrupted| self.rows.error(ErrorKind::Io(std::io::ErrorKind::Interrupted.into()));
            let batch = batch.map_err(interrupted)?;
            self.add(batch)?;
        }
        self.commit()
    }
}
