//! The engines: each loads rows in order, durable when it returns, and walks all of them in order.

use std::fs::{self, File};
use std::path::Path;

use fjall::{KeyspaceCreateOptions, PersistMode};
use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use rosterd::record::{JobName, Key};
use rosterd::store::{Batch, Keyspace, Store, Table};

use crate::{Failure, row};

/// What is called with each key and value.
type Visit<'a> = &'a mut dyn FnMut(&[u8], &[u8]);

/// One way to keep rows.
pub(crate) struct Engine {
    pub(crate) name: &'static str,
    pub(crate) load: fn(&Path, u64) -> Result<(), Failure>,
    pub(crate) walk: fn(&Path, Visit<'_>) -> Result<(), Failure>,
}

pub(crate) const ENGINES: &[Engine] = &[
    Engine { name: "rosterd", load: load_own, walk: walk_own },
    Engine { name: "sled 0.34", load: load_sled, walk: walk_sled },
    Engine { name: "redb 4", load: load_redb, walk: walk_redb },
    Engine { name: "fjall 3", load: load_fjall, walk: walk_fjall },
];

const OWN: Table<Key, ()> = Table::new(Keyspace::Synced);
const REDB: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");
/// sled keeps memory for what it was given at once.
const SLED_BATCH: u64 = 100;
const SLED_CACHE_BYTES: u64 = 64 * 1024 * 1024;

fn job() -> JobName {
    JobName::new("staff").expect("it is a name")
}

fn load_own(dir: &Path, rows: u64) -> Result<(), Failure> {
    let store = Store::open(dir)?;
    let rows = (0..rows).map(|number| -> Result<Batch, rosterd::store::Error> {
        let mut batch = Batch::default();
        OWN.put_bytes(&mut batch, &job(), &Key::new(&row::key(number)).expect("it is a key"), &row::value(number));
        Ok(batch)
    });
    Ok(store.bulk_load().commit_with(rows)?)
}

fn walk_own(dir: &Path, visit: Visit<'_>) -> Result<(), Failure> {
    Ok(OWN.scan(&Store::open(dir)?, &job(), |key, value| {
        visit(key.as_bytes(), value);
        Ok(())
    })?)
}

fn open_sled(dir: &Path) -> Result<sled::Db, Failure> {
    Ok(sled::Config::new().path(dir).cache_capacity(SLED_CACHE_BYTES).open()?)
}

fn load_sled(dir: &Path, rows: u64) -> Result<(), Failure> {
    let sled = open_sled(dir)?;
    for first in (0..rows).step_by(usize::try_from(SLED_BATCH)?) {
        let mut batch = sled::Batch::default();
        for number in first..rows.min(first + SLED_BATCH) {
            batch.insert(row::key(number).into_bytes(), row::value(number));
        }
        sled.apply_batch(batch)?;
    }
    sled.flush()?;
    // It asks the kernel to write and waits for no device.
    Ok(File::open(dir.join("db"))?.sync_data()?)
}

fn walk_sled(dir: &Path, visit: Visit<'_>) -> Result<(), Failure> {
    for row in open_sled(dir)?.iter() {
        let (key, value) = row?;
        visit(&key, &value);
    }
    Ok(())
}

fn load_redb(dir: &Path, rows: u64) -> Result<(), Failure> {
    fs::create_dir_all(dir)?;
    let database = Database::create(dir.join("rows.redb"))?;
    let writing = database.begin_write()?;
    {
        let mut table = writing.open_table(REDB)?;
        for number in 0..rows {
            table.insert(row::key(number).as_bytes(), row::value(number).as_slice())?;
        }
    }
    Ok(writing.commit()?)
}

fn walk_redb(dir: &Path, visit: Visit<'_>) -> Result<(), Failure> {
    let database = Database::open(dir.join("rows.redb"))?;
    for row in database.begin_read()?.open_table(REDB)?.iter()? {
        let (key, value) = row?;
        visit(key.value(), value.value());
    }
    Ok(())
}

fn load_fjall(dir: &Path, rows: u64) -> Result<(), Failure> {
    let database = fjall::Database::builder(dir).open()?;
    let keyspace = database.keyspace("rows", KeyspaceCreateOptions::default)?;
    for number in 0..rows {
        keyspace.insert(row::key(number), row::value(number))?;
    }
    Ok(database.persist(PersistMode::SyncAll)?)
}

fn walk_fjall(dir: &Path, visit: Visit<'_>) -> Result<(), Failure> {
    let database = fjall::Database::builder(dir).open()?;
    let keyspace = database.keyspace("rows", KeyspaceCreateOptions::default)?;
    for row in keyspace.iter() {
        let (key, value) = row.into_inner()?;
        visit(&key, &value);
    }
    Ok(())
}
