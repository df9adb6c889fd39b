//! Renews the leases of a worker, all of one database with one statement.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::connection::{Connection, Patience, StatementError, Value};
use super::lease::{Lease, RENEW_EVERY, WRITE_UNTIL, lease};
use super::options::ConnectionOptions;
use super::timeline::timeline;
use crate::crash::term;
use crate::uptime::uptime;

/// A connection that is dead without a sign costs one renewal, and not the lease: there is time for others after it. Real time
/// whatever the terms are, for it is that of network and server.
const PATIENCE: Patience =
    Patience { host: Duration::from_secs(2), connect: Duration::from_secs(5), statement: Duration::from_secs(5) };

const _: () = assert!(
    RENEW_EVERY.as_secs() + 2 * PATIENCE.statement.as_secs() + PATIENCE.connect.as_secs() < WRITE_UNTIL.as_secs()
);

/// A thread with a connection of its own. It ends with this value.
pub(super) struct Renewals {
    leases: Arc<Mutex<Vec<Weak<Lease>>>>,
    _alive: Sender<()>,
}

impl Renewals {
    pub(super) fn start(options: Arc<ConnectionOptions>, worker: String) -> std::io::Result<Self> {
        let connection = Connection::new(options, PATIENCE, 1);
        let leases: Arc<Mutex<Vec<Weak<Lease>>>> = Arc::default();
        let (alive, ended) = channel();
        let held = Arc::clone(&leases);
        thread::Builder::new().name("renewals".to_owned()).spawn(move || {
            let mut wait = term(RENEW_EVERY);
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let begun = Instant::now();
                let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
                let live: Vec<Arc<Lease>> =
                    held.iter().filter_map(Weak::upgrade).filter(|lease| !lease.is_lost()).collect();
                *held = live.iter().map(Arc::downgrade).collect();
                drop(held);
                if let Err(error) = renew(&connection, &worker, &live) {
                    tracing::warn!(%error, "the leases could not be renewed: {error}");
                }
                wait = term(RENEW_EVERY).saturating_sub(begun.elapsed());
            }
        })?;
        Ok(Self { leases, _alive: alive })
    }

    /// Renews a lease from now on, until it is lost or dropped.
    pub(super) fn add(&self, lease: &Arc<Lease>) {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(lease));
    }
}

/// Asks for all of them; those that are not granted are lost.
fn renew(connection: &Connection, worker: &str, leases: &[Arc<Lease>]) -> Result<(), StatementError> {
    const RENEW: &str = concat!(
        "update rosterd.account a set expires_at = clock_timestamp() + $4 * interval '1 ms'
           from unnest($2, $3) as own(id, epoch)
          where a.id = own.id and a.holder = $1 and a.epoch = own.epoch
         returning a.id, ",
        timeline!(),
        " as timeline"
    );
    if leases.is_empty() {
        return Ok(());
    }
    let asked = uptime();
    let values = vec![
        Value::Text(worker.to_owned()),
        Value::Ints(leases.iter().map(|lease| lease.tenure.account).collect()),
        Value::Bigs(leases.iter().map(|lease| lease.tenure.epoch).collect()),
        lease(),
    ];
    let granted = connection.query(RENEW, values)?;
    for lease in leases {
        match granted.iter().find(|row| row.get::<_, i32>("id") == lease.tenure.account) {
            Some(row) => lease.renewed(asked, row.get("timeline")),
            None => lease.lose(),
        }
    }
    Ok(())
}
