//! A database for tests, on a real server.

#[path = "../../../tests/it/support/postgres.rs"]
mod server;

pub(super) use server::Database;
use server::Server;
pub(in crate::store) use server::is_there;

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
