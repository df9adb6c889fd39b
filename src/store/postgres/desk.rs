//! The worker's side of requests: one thread for all accounts of a process in one database, with a connection of its own.
//!
//! Each second it asks with one statement for the requests of all its accounts, more often while there are any. It writes the
//! parts of answers as they come.
//!
//! Invariants:
//! - A request is taken only while the tenure holds under which it is taken: the statement compares holder and epoch.
//! - Where the answer of that statement is lost, the next one gives what was taken: this process says which ones it knows.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::connection::{Connection, Patience, StatementError, Value};
use super::options::ConnectionOptions;
use crate::store::relay::{
    AnswerPart, CallerMark, HolderRequest, PART_BYTES, Reply, RequestKind, SILENT_MAX, TakeRequest, TakenRequest,
    TakesRequests,
};

/// How often it looks for requests.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The same while there was one a short time ago: a person waits, and asks again.
const BUSY_EVERY: Duration = Duration::from_millis(200);
const BUSY_FOR: Duration = Duration::from_secs(10);
/// How often requests of callers are removed that vanished.
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// Parts that one statement writes.
const WRITE_BYTES: usize = 8 * PART_BYTES;
const WRITE_PARTS: usize = 1000;

/// The epoch under which this process has an account.
pub(super) type EpochOf = Box<dyn Fn(i32) -> Option<i64> + Send>;

/// Takes requests of the accounts of a process.
pub(super) struct Desk {
    works: Sender<Work>,
    served: Arc<Mutex<BTreeMap<i32, Served>>>,
}

/// An account whose requests are taken.
struct Served {
    take: TakeRequest,
    form: i32,
    /// The epoch under which the account says so.
    told: Option<i64>,
}

/// A part of an answer on its way.
struct Outgoing {
    request: i64,
    n: i32,
    part: AnswerPart,
    /// Who waits until it is written.
    written: Option<SyncSender<()>>,
}

enum Work {
    Write(Outgoing),
    /// Look now: there is an account more.
    Look,
    /// No one needs it any more.
    End,
}

impl Desk {
    /// Starts the thread. `epoch_of` says under which epoch this process has an account, if it has it.
    pub(super) fn start(options: Arc<ConnectionOptions>, worker: String, epoch_of: EpochOf) -> std::io::Result<Self> {
        let connection = Connection::new(options, Patience::USUAL, 1);
        let (works, received) = channel();
        let served: Arc<Mutex<BTreeMap<i32, Served>>> = Arc::default();
        let thread = DeskThread {
            connection,
            worker,
            epoch_of,
            served: Arc::clone(&served),
            works: works.clone(),
            known: BTreeMap::new(),
            outgoing: VecDeque::new(),
            busy_until: Instant::now(),
            sweeps_at: Instant::now(),
        };
        thread::Builder::new().name("requests".to_owned()).spawn(move || thread.run(received))?;
        Ok(Self { works, served })
    }

    /// Takes the requests of an account from now on.
    pub(super) fn serve(self: &Arc<Self>, account: i32, form: u32, take: TakeRequest) -> TakesRequests {
        let form = i32::try_from(form).unwrap_or(i32::MAX);
        self.served.lock().unwrap_or_else(PoisonError::into_inner).insert(account, Served { take, form, told: None });
        // The thread ends only with the process.
        let _ = self.works.send(Work::Look);
        TakesRequests { _end: Box::new(Leaves { desk: Arc::clone(self), account }) }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.works.send(Work::End);
    }
}

/// Takes no more requests of an account when it is dropped.
struct Leaves {
    desk: Arc<Desk>,
    account: i32,
}

impl Drop for Leaves {
    fn drop(&mut self) {
        self.desk.served.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.account);
    }
}

struct DeskThread {
    connection: Connection,
    worker: String,
    epoch_of: EpochOf,
    served: Arc<Mutex<BTreeMap<i32, Served>>>,
    works: Sender<Work>,
    /// The requests that were taken, and are there yet.
    known: BTreeMap<i64, Arc<CallerMark>>,
    outgoing: VecDeque<Outgoing>,
    busy_until: Instant,
    sweeps_at: Instant,
}

impl DeskThread {
    fn run(mut self, received: Receiver<Work>) {
        let mut looks_at = Instant::now();
        loop {
            match received.recv_timeout(looks_at.saturating_duration_since(Instant::now())) {
                Ok(Work::Write(part)) => {
                    self.outgoing.push_back(part);
                    while self.outgoing.len() < WRITE_PARTS
                        && let Ok(work) = received.try_recv()
                    {
                        match work {
                            Work::Write(part) => self.outgoing.push_back(part),
                            Work::Look => looks_at = Instant::now(),
                            Work::End => return,
                        }
                    }
                }
                Ok(Work::Look) => looks_at = Instant::now(),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Work::End) | Err(RecvTimeoutError::Disconnected) => return,
            }
            if let Err(error) = self.write() {
                tracing::debug!(%error, "an answer could not be written: {error}");
                thread::sleep(BUSY_EVERY);
            }
            if looks_at <= Instant::now() {
                if let Err(error) = self.look() {
                    tracing::debug!(%error, "requests of other workers could not be looked for: {error}");
                }
                let is_busy = !self.known.is_empty() || self.busy_until > Instant::now();
                looks_at = Instant::now() + if is_busy { BUSY_EVERY } else { LOOK_EVERY };
            }
        }
    }

    /// Writes what is on its way, as much as goes with a statement at a time.
    fn write(&mut self) -> Result<(), StatementError> {
        const WRITE: &str = "insert into rosterd.answer (request, n, kind, bytes)
            select p.request, p.n, p.kind, p.bytes from unnest($2::bigint[], $3::int[], $4::smallint[], $5::bytea[]) as p(request, n, kind, bytes)
             where exists (select from rosterd.request r where r.id = p.request and r.holder = $1) on conflict (request, n) do nothing";
        while !self.outgoing.is_empty() {
            let mut bytes = 0;
            let fits = |part: &&Outgoing| {
                bytes += part.part.bytes.len();
                bytes <= WRITE_BYTES || bytes == part.part.bytes.len()
            };
            let parts: Vec<&Outgoing> = self.outgoing.iter().take_while(fits).collect();
            let count = parts.len();
            let values = vec![
                Value::Text(self.worker.clone()),
                Value::Bigs(parts.iter().map(|part| part.request).collect()),
                Value::Ints(parts.iter().map(|part| part.n).collect()),
                Value::Smalls(parts.iter().map(|part| part.part.kind.into()).collect()),
                Value::Blobs(parts.iter().map(|part| part.part.bytes.clone()).collect()),
            ];
            match self.connection.query(WRITE, values) {
                // What the database refuses it refuses again; the caller hears in the end that this worker is silent.
                Ok(_) | Err(StatementError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
            for part in self.outgoing.drain(..count) {
                // Who waits for it may have given up.
                part.written.into_iter().for_each(|written| _ = written.send(()));
            }
        }
        Ok(())
    }

    /// Takes what is new, and learns which callers have gone.
    fn look(&mut self) -> Result<(), StatementError> {
        const LOOK: &str = "with own as (select * from unnest($2::int[], $3::bigint[]) as o(account, epoch)),
             free as (
               select r.id, own.epoch from rosterd.request r join own on own.account = r.account
                 join rosterd.account a on a.id = r.account and a.holder = $1 and a.epoch = own.epoch and a.expires_at > clock_timestamp()
                where r.id <> all($4) and (r.holder = $1 or r.holder is null and not r.stops and r.alive_at > clock_timestamp() - interval '15 s')
                order by r.asked_at limit 32),
             taken as (
               update rosterd.request r set holder = $1, epoch = free.epoch from free
                where r.id = free.id and (r.holder is null or r.holder = $1) returning r.id, r.account, r.kind, r.call, r.caller)
            select id, account, kind, call, caller, false as ends from taken
            union all
            select id, null, null, null, null, stops or alive_at < clock_timestamp() - interval '15 s'
              from rosterd.request where id = any($4)";
        const _: () = assert!(SILENT_MAX.as_secs() == 15);
        let own = self.own();
        if own.is_empty() && self.known.is_empty() {
            return Ok(());
        }
        self.tell(&own)?;
        let known: Vec<i64> = self.known.keys().copied().collect();
        let (accounts, epochs) = own.iter().copied().unzip();
        let values =
            vec![Value::Text(self.worker.clone()), Value::Ints(accounts), Value::Bigs(epochs), Value::Bigs(known)];
        let rows = self.connection.query(LOOK, values)?;
        let (mut there, mut new) = (Vec::new(), Vec::new());
        for row in &rows {
            let number: i64 = row.get("id");
            there.push(number);
            match row.get::<_, Option<i32>>("account") {
                Some(account) => new.push((number, account, row)),
                None if row.get("ends") => self.known.get(&number).into_iter().for_each(|caller| caller.end()),
                None => {}
            }
        }
        self.known.retain(|number, caller| {
            let is_there = there.contains(number);
            if !is_there {
                caller.end();
            }
            is_there
        });
        for (number, account, row) in new {
            self.busy_until = Instant::now() + BUSY_FOR;
            let caller = Arc::<CallerMark>::default();
            self.known.insert(number, Arc::clone(&caller));
            let take = self
                .served
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(&account)
                .map(|one| Arc::clone(&one.take));
            let Some((take, kind)) = take.zip(RequestKind::of(row.get("kind"))) else { continue };
            let request = HolderRequest { kind, call: row.get("call"), by: row.get("caller") };
            let reply = Box::new(Answering { number, next: Mutex::new(0), works: self.works.clone() });
            take(TakenRequest { request, reply, caller });
        }
        self.sweep()
    }

    /// The accounts that this process has and serves, each with its epoch.
    fn own(&self) -> Vec<(i32, i64)> {
        let served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.keys().filter_map(|account| Some((*account, (self.epoch_of)(*account)?))).collect()
    }

    /// Says of accounts whose tenure is new that their requests are taken.
    fn tell(&self, own: &[(i32, i64)]) -> Result<(), StatementError> {
        const TELL: &str = "update rosterd.account a set serves = own.form
             from unnest($2::int[], $3::bigint[], $4::int[]) as own(account, epoch, form)
            where a.id = own.account and a.holder = $1 and a.epoch = own.epoch";
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        let new: Vec<(i32, i64, i32)> = own
            .iter()
            .filter_map(|(account, epoch)| {
                let one = served.get(account).filter(|one| one.told != Some(*epoch))?;
                Some((*account, *epoch, one.form))
            })
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        let values = vec![
            Value::Text(self.worker.clone()),
            Value::Ints(new.iter().map(|(account, _, _)| *account).collect()),
            Value::Bigs(new.iter().map(|(_, epoch, _)| *epoch).collect()),
            Value::Ints(new.iter().map(|(_, _, form)| *form).collect()),
        ];
        self.connection.query(TELL, values)?;
        for (account, epoch, _) in new {
            if let Some(one) = served.get_mut(&account) {
                one.told = Some(epoch);
            }
        }
        Ok(())
    }

    /// Removes requests whose callers vanished, with what there is of their answers.
    fn sweep(&mut self) -> Result<(), StatementError> {
        const SWEEP: &str = "delete from rosterd.request where account = any($1) and id <> all($2)
            and alive_at < clock_timestamp() - interval '1 min'";
        if self.sweeps_at > Instant::now() {
            return Ok(());
        }
        self.sweeps_at = Instant::now() + SWEEP_EVERY;
        let accounts = self.own().into_iter().map(|(account, _)| account).collect();
        let at_work = self.known.iter().filter(|(_, caller)| Arc::strong_count(caller) > 1).map(|(number, _)| *number);
        self.connection.query(SWEEP, vec![Value::Ints(accounts), Value::Bigs(at_work.collect())]).map(drop)
    }
}

/// The way back to the caller of a request.
struct Answering {
    number: i64,
    next: Mutex<i32>,
    works: Sender<Work>,
}

impl Answering {
    fn push(&self, part: AnswerPart, written: Option<SyncSender<()>>) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let outgoing = Outgoing { request: self.number, n: *next, part, written };
        *next += 1;
        // The thread ends only with the process.
        let _ = self.works.send(Work::Write(outgoing));
    }
}

impl Reply for Answering {
    fn send(&self, part: AnswerPart) {
        self.push(part, None);
    }

    fn finish(self: Box<Self>, part: AnswerPart) {
        let (written, wait) = sync_channel(1);
        self.push(part, Some(written));
        // A database that is out of reach for so long has forgotten the caller.
        let _ = wait.recv_timeout(SILENT_MAX);
    }
}
