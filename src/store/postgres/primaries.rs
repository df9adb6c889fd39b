//! Which servers of a URL take writes. A URL that names several hosts must lead to one of them at a time.
//!
//! Invariants:
//! - No account is claimed while two servers take writes: each would have a lease of its own, and both workers would create
//!   who is new. A primary that was replaced and comes back as it was is such a case; what its timeline says does not help a
//!   worker that sees the other for the first time.
//! - Two hosts that lead to the same server count once: it is known by its number and its start.
//! - A host that does not answer in time counts as none. That two servers take writes which can't both be reached from here
//!   is left to the one that promotes.
//!
//! Rejected: to prefer the server with the highest timeline. Which of the two has what was committed last is not for a worker to
//! say, and the other one goes on taking writes.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::connection::{Connection, Patience};
use super::database::Database;
use super::options::ConnectionOptions;
use crate::store::ErrorKind;

/// How long what was seen counts: the accounts of a process are claimed one shortly after the other.
const FRESH: Duration = Duration::from_secs(10);

const PATIENCE: Patience =
    Patience { host: Duration::from_secs(2), connect: Duration::from_secs(3), statement: Duration::from_secs(3) };

impl Database {
    /// Fails where more than one server of the URL takes writes.
    pub(super) fn expect_one_primary(&self) -> Result<(), ErrorKind> {
        let hosts = self.primaries();
        if hosts.len() > 1 { Err(ErrorKind::SeveralPrimaries { hosts }) } else { Ok(()) }
    }

    /// The hosts of the URL that lead to servers which take writes, one for each server; none where the URL names one host.
    pub(super) fn primaries(&self) -> Vec<String> {
        if !self.options().has_several_hosts() {
            return Vec::new();
        }
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, primaries)) = looked.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return primaries.clone();
        }
        let hosts = self.options().each_host().into_iter();
        let threads: Vec<_> = hosts.map(|host| std::thread::spawn(move || primary(host))).collect();
        let found = threads.into_iter().filter_map(|thread| thread.join().ok().flatten());
        let mut servers: Vec<(String, String)> = Vec::new();
        for (server, host) in found {
            if !servers.iter().any(|(known, _)| *known == server) {
                servers.push((server, host));
            }
        }
        let primaries: Vec<String> = servers.into_iter().map(|(_, host)| host).collect();
        *looked = Some((Instant::now(), primaries.clone()));
        primaries
    }
}

/// What tells the server of a host from others, and the host's name, where it takes writes.
fn primary((name, options): (String, ConnectionOptions)) -> Option<(String, String)> {
    const LOOK: &str =
        "select (select system_identifier from pg_control_system())::text || ' ' || pg_postmaster_start_time()::text
        where not pg_is_in_recovery() and not current_setting('default_transaction_read_only')::bool";
    let connection = Connection::new(Arc::new(options), PATIENCE, 1);
    let rows = connection.query(LOOK, Vec::new()).ok()?;
    rows.first().map(|row| (row.get(0), name))
}
