//! The tables, and their version.

use tokio_postgres::error::SqlState;

use super::connection::{Connection, StatementError, Value};
use crate::store::ErrorKind;

/// The version that this program knows.
pub(super) const VERSION: i32 = 1;
/// Keeps two workers from making the tables at the same time; any number that no other program takes.
const LOCK: i64 = 0x726f_7374_6572_6431;
const TABLES: &str = include_str!("schema.sql");

/// Makes the tables where there are none. Tables of a later version are refused.
pub(super) fn prepare(connection: &Connection) -> Result<(), ErrorKind> {
    match version(connection)? {
        Some(VERSION) => Ok(()),
        Some(found) if found > VERSION => Err(ErrorKind::Newer { format: found.unsigned_abs() }),
        Some(found) => Err(ErrorKind::Unversioned(format!("they have the unknown version {found}"))),
        None => {
            let made = connection.script(format!(
                "begin; set local lock_timeout = '20s'; select pg_advisory_xact_lock({LOCK}); \
                 do $make$ begin if to_regclass('rosterd.meta') is null then {TABLES} end if; end $make$; commit;"
            ));
            made.map_err(ErrorKind::from_database)?;
            match version(connection)? {
                Some(VERSION) => Ok(()),
                _ => Err(ErrorKind::Damaged("its tables could not be made".into())),
            }
        }
    }
}

pub(super) fn version(connection: &Connection) -> Result<Option<i32>, ErrorKind> {
    match connection.query("select version from rosterd.meta", Vec::new()) {
        Ok(rows) => match rows.as_slice() {
            [row] => Ok(Some(row.get(0))),
            _ => Err(ErrorKind::Unversioned("`meta` does not hold one version".into())),
        },
        Err(failure) if is_without_tables(&failure) => Ok(None),
        Err(failure) => Err(ErrorKind::from_database(failure)),
    }
}

/// Whether a statement was refused because there are no tables.
pub(super) fn is_without_tables(failure: &StatementError) -> bool {
    matches!(failure, StatementError::Refused { code, .. }
        if *code == SqlState::UNDEFINED_TABLE || *code == SqlState::INVALID_SCHEMA_NAME)
}

/// The account of this name, made where there is none. One that is there is only read: what looks at it needs no right to write.
pub(super) fn account(connection: &Connection, name: &str) -> Result<i32, ErrorKind> {
    const FIND: &str = "select id from rosterd.account where name = $1";
    const MAKE: &str = "insert into rosterd.account (name) values ($1) on conflict (name) do nothing returning id";
    // Two workers may make it at once: the one that comes second sees it with its next statement.
    for statement in [FIND, MAKE, FIND] {
        let rows = connection.query(statement, vec![Value::Text(name.to_owned())]).map_err(ErrorKind::from_database)?;
        if let Some(row) = rows.first() {
            return Ok(row.get(0));
        }
    }
    Err(ErrorKind::Damaged(format!("the account {name} could not be made")))
}
