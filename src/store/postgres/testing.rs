//! A database for tests, on a real server.

#[path = "../../../tests/it/support/postgres.rs"]
mod server;

pub(super) use server::Database;
pub(in crate::store) use server::is_there;
use server::{Server, program};

use std::process::Command;

use super::{Account, DatabaseOptions};
use crate::store::Home;

/// The state of an account in a database of its own.
pub(in crate::store) fn home() -> Home {
    Home::Database(account(&Server::shared().database()))
}

/// An account in a database, as the only process that uses it sees it.
pub(super) fn account(database: &Database) -> Account {
    named(database, "main")
}

/// The same with another name.
pub(super) fn named(database: &Database, name: &str) -> Account {
    let options = DatabaseOptions { url: database.url(), password: None, ca_file: None };
    Account::new(&options, name, database.spill_dir())
}

/// A database of one test.
pub(super) fn database() -> Database {
    Server::shared().database()
}

/// Dumps the tables of a database, and lays them down again, as an operator restores a backup.
pub(super) fn restore(database: &Database) {
    let dump =
        Command::new(program("pg_dump").unwrap()).args(["--schema=rosterd", "-d", &database.url()]).output().unwrap();
    assert!(dump.status.success(), "{dump:?}");
    database.sql("drop schema rosterd cascade");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), dump.stdout).unwrap();
    let laid = Command::new(program("psql").unwrap())
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &database.url(), "-f"])
        .arg(file.path())
        .output()
        .unwrap();
    assert!(laid.status.success(), "{laid:?}");
}
