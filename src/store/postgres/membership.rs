//! The workers of a database, each with a row in which it says that it is there.
//!
//! Invariants:
//! - What is here decides who asks for an account, never who has it: that is the lease.
//! - One statement says and asks everything, for all accounts of a worker.
//!
//! Rejected: an attempt to claim for each account that stands by. Hundreds of accounts and a few workers would make hundreds of
//! statements a second, and nothing would tell who should have which.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use tokio_postgres::Row;

use super::connection::{StatementError, Value};
use super::database::{Account, Database};
use crate::store::membership::{AccountHolder, Membership, OtherWorker, Workers};
use crate::store::{Error, ErrorKind};

/// For so many seconds a worker counts as new: one that ends again and again is to take nothing from the others.
const NEW_FOR: f64 = if cfg!(debug_assertions) { 3.0 } else { 30.0 };

/// This process among the workers of a database.
pub(in crate::store) struct DatabaseMembership {
    database: Arc<Database>,
    /// This process, for people.
    process: String,
}

impl DatabaseMembership {
    pub(in crate::store) fn of(account: &Account) -> Self {
        Self { database: Arc::clone(&account.database), process: account.process() }
    }

    /// The statements say the same when they are said twice.
    fn ask(&self, statement: &'static str, values: impl Fn() -> Vec<Value>) -> Result<Vec<Row>, Error> {
        let asked = self.database.ready().and_then(|connection| {
            let answer = match connection.query(statement, values()) {
                Err(StatementError::Lost(_)) => connection.query(statement, values()),
                answer => answer,
            };
            answer.map_err(ErrorKind::from_database)
        });
        asked.map_err(|kind| Error { place: self.place(), kind })
    }
}

impl Membership for DatabaseMembership {
    fn place(&self) -> String {
        self.database.url().to_owned()
    }

    fn look(&self, offers: &BTreeSet<String>) -> Result<Workers, Error> {
        const LOOK: &str = "with own as (
              insert into rosterd.worker (id, node, offers) values ($1, $2, $3)
              on conflict (id) do update set seen_at = clock_timestamp(), offers = excluded.offers),
            gone as (
              delete from rosterd.worker where id in (
                select id from rosterd.worker where seen_at < clock_timestamp() - interval '1 hour' for update skip locked))
            select id as worker, offers, began_at > clock_timestamp() - make_interval(secs => $4) as is_new,
                   null as account, node, null as config, null::float8 as since
              from rosterd.worker where id <> $1 and seen_at > clock_timestamp() - interval '15 s'
            union all
            select holder, null, false, name, node, config, extract(epoch from since)::float8
              from rosterd.account where expires_at > clock_timestamp() and holder is not null";
        let own = self.database.worker.clone();
        let values = || {
            let offers = offers.iter().cloned().collect();
            vec![
                Value::Text(own.clone()),
                Value::Text(self.process.clone()),
                Value::Texts(offers),
                Value::Double(NEW_FOR),
            ]
        };
        let (mut others, mut held) = (BTreeMap::new(), BTreeMap::new());
        for row in self.ask(LOOK, values)? {
            let worker: String = row.get("worker");
            match row.get::<_, Option<Vec<String>>>("offers") {
                Some(offers) => {
                    let offers = offers.into_iter().collect();
                    others.insert(worker, OtherWorker { offers, is_new: row.get("is_new") });
                }
                None => _ = held.insert(row.get("account"), holder_of(&row)),
            }
        }
        Ok(Workers { own, others, held })
    }

    fn holders(&self) -> Result<BTreeMap<String, AccountHolder>, Error> {
        const HOLDERS: &str =
            "select name as account, holder as worker, node, config, extract(epoch from since)::float8 as since
            from rosterd.account where expires_at > clock_timestamp() and holder is not null";
        let rows = self.ask(HOLDERS, Vec::new)?;
        Ok(rows.iter().map(|row| (row.get("account"), holder_of(row))).collect())
    }

    fn leave(&self) -> Result<(), Error> {
        const LEAVE: &str = "delete from rosterd.worker where id = $1";
        self.ask(LEAVE, || vec![Value::Text(self.database.worker.clone())]).map(drop)
    }
}

fn holder_of(row: &Row) -> AccountHolder {
    let node = row.get::<_, Option<String>>("node").unwrap_or_else(|| "a worker".to_owned());
    let since = row.get::<_, Option<f64>>("since").and_then(|since| Timestamp::from_second(since as i64).ok());
    AccountHolder { worker: row.get("worker"), node, config: row.get("config"), since }
}
