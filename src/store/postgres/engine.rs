//! What the engine does with rows, by the statements of `rows` and `bulk`.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::bulk::Bulk;
use super::connection::Value;
use super::rows::{Commit, Rows};
use super::tenure;
use crate::store::engine::{BulkLoad, Engine, Projection, Visit};
use crate::store::tenure::{HandOver, Objections, Predecessor, Terms};
use crate::store::{Batch, Error, ErrorKind, Keyspace};

/// So many rows at most come with one answer.
const PAGE_ROWS: i64 = 1000;
/// After so many rows, a walk over all of them costs less than a statement for each.
const WALK_FROM: u64 = 500;
/// Every table that holds something of people.
const VACUUMS: [&str; 5] = [
    "vacuum rosterd.rows",
    "vacuum rosterd.audit",
    "vacuum rosterd.document",
    "vacuum rosterd.file",
    "vacuum rosterd.blob",
];

impl Engine for Rows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        const GET: &str = "select payload from rosterd.rows r where r.account = $1 and r.space = $2 and r.name = $3
            and r.generation = coalesce((select generation from rosterd.space s where s.account = $1 and s.space = $2), 0)";
        let space = Keyspace::of(key).expect("a row belongs to a space");
        if !self.may_have_rows(space).map_err(|kind| self.error(kind))? {
            return Ok(None);
        }
        if let Some(row) = self.ahead().rows.get(key) {
            return row.as_ref().map(|row| self.payload(key, row)).transpose();
        }
        let values = || vec![Value::Small(i16::from(key[0])), Value::Bytes(key[1..].to_vec())];
        let rows = self.account.query(GET, values).map_err(|kind| self.error(kind))?;
        rows.first().map(|row| self.payload(key, row.get("payload"))).transpose()
    }

    fn read_ahead(&self, keys: &mut dyn FnMut() -> Vec<Vec<u8>>) -> Result<(), Error> {
        let mut wanted = Vec::new();
        for key in keys() {
            let space = Keyspace::of(&key).expect("a row belongs to a space");
            if self.may_have_rows(space).map_err(|kind| self.error(kind))? {
                wanted.push(key);
            }
        }
        self.load_ahead(wanted).map_err(|kind| self.error(kind))
    }

    /// Each page is of the generation that counts when it is asked for. One that comes to count in between has all that the
    /// one before had, as the last commit left it.
    fn walk(&self, prefix: &[u8], shown: Projection, visit: &mut Visit<'_>) -> Result<(), Error> {
        const FROM: &str = "select name, case when $5 then payload end as payload from rosterd.rows r
            where r.account = $1 and r.space = $2 and r.name >= $3
              and r.generation = coalesce((select generation from rosterd.space s where s.account = $1 and s.space = $2), 0)
            order by r.name limit $4";
        let space = prefix[0];
        let mut from = prefix[1..].to_vec();
        loop {
            let values = || {
                let (from, is_whole) = (Value::Bytes(from.clone()), Value::Flag(shown == Projection::Rows));
                vec![Value::Small(space.into()), from, Value::Big(PAGE_ROWS), is_whole]
            };
            let rows = self.account.query(FROM, values).map_err(|kind| self.error(kind))?;
            let is_last = (rows.len() as i64) < PAGE_ROWS;
            let mut key = vec![space];
            for row in &rows {
                key.truncate(1);
                key.extend_from_slice(row.get("name"));
                let payload = row.get::<_, Option<&[u8]>>("payload").map(|payload| self.payload(&key, payload));
                if !key.starts_with(prefix) || !visit(&key, &payload.transpose()?.unwrap_or_default())? {
                    return Ok(());
                }
            }
            if is_last {
                return Ok(());
            }
            // The least name after the last one.
            from = key[1..].to_vec();
            from.push(0);
        }
    }

    fn commit(&self, batch: Batch) -> Result<(), Error> {
        if batch.rows.len() > Bulk::COMMIT_ROWS_MAX {
            let mut bulk = self.bulk_load();
            bulk.add(batch)?;
            return bulk.commit();
        }
        let committed =
            self.commit_fenced(&mut self.writing(), Commit { rows: batch.rows, lines: batch.lines, generations: &[] });
        committed.map_err(|kind| self.error(kind))
    }

    fn bulk_load(&self) -> Box<dyn BulkLoad + '_> {
        Box::new(Bulk::new(self))
    }

    fn many(&self, _: Keyspace) -> u64 {
        WALK_FROM
    }

    fn is_full(&self) -> bool {
        self.account.is_full.load(Ordering::Relaxed)
    }

    /// Only what is written shows whether there is room again.
    fn may_have_room(&self) -> bool {
        true
    }

    /// What others find full is this machine's disk, where it works out what is large: the database says so itself.
    fn ran_full(&self) {}

    fn has_run_full(&self) -> bool {
        let has_run_full = self.ran_full.swap(false, Ordering::Relaxed);
        self.account.is_full.store(has_run_full, Ordering::Relaxed);
        has_run_full
    }

    fn before_sending(&self) -> Result<Duration, Error> {
        self.lease.before_sending().map_err(|kind| self.error(kind))
    }

    fn announce(&self, terms: &Terms<'_>) -> Result<Objections, Error> {
        tenure::announce(&self.account, &self.lease, terms).map_err(|kind| self.error(kind))
    }

    fn predecessor(&self) -> Option<Predecessor> {
        self.predecessor.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn hands_over(&self, budget: HandOver) {
        *self.hands_over.lock().unwrap_or_else(PoisonError::into_inner) = Some(budget);
        self.settled();
    }

    /// Rows that were removed leave the tables. Its write-ahead log and its backups are not the program's.
    fn vacuum(&self) -> Result<(), Error> {
        for statement in VACUUMS {
            let done = self.account.database.ready().map(|connection| connection.query(statement, Vec::new()));
            done.and_then(|done| done.map_err(ErrorKind::from_database)).map_err(|kind| self.error(kind))?;
        }
        Ok(())
    }

    fn maybe_vacuum(&self) -> Result<bool, Error> {
        Ok(false)
    }
}
