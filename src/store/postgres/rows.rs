//! Rows in the database, and the one statement that a commit is.
//!
//! Invariants:
//! - A commit is one statement. It begins with the row of the account, and does nothing where holder, epoch or counter are
//!   others than this tenure's: what an old holder sends late is refused.
//! - The counter moves with every commit. Where an answer is lost it tells whether the commit was carried out; where that
//!   can't be found out, the tenure ends.
//! - Rows count in the generation that `space` names. A bulk load writes another generation in parts, which no one sees, and
//!   its last commit names it.
//! - What is stored of a row has a version and a checksum over its key, as in the embedded engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::connection::{StatementError, Value};
use super::database::Account;
use super::fence::{fence, fenced};
use super::lease::Lease;
use super::tenure::{self, Claimed};
use crate::crash::point;
use crate::store::batch::RowChange;
use crate::store::row::{self, RowFault};
use crate::store::tenure::{HandOver, Predecessor};
use crate::store::{Error, ErrorKind, Keyspace};

/// The rows of one account, while this process has its lease.
pub(in crate::store) struct Rows {
    pub(super) account: Account,
    pub(super) lease: Arc<Lease>,
    /// How many commits there were; held by who writes.
    commits: Mutex<i64>,
    pub(super) predecessor: Mutex<Option<Predecessor>>,
    pub(super) hands_over: Mutex<Option<HandOver>>,
    /// Whether nothing is open any more of a tenure before that did not end in good order.
    is_settled: AtomicBool,
    generations: Mutex<BTreeMap<Keyspace, Generations>>,
    /// Whether spaces may have rows, as far as it was asked for: at a first run, each person would be looked for in vain.
    may_have_rows: Mutex<BTreeMap<Keyspace, bool>>,
    ahead: Mutex<AheadRows>,
    pub(super) ran_full: AtomicBool,
}

/// The generations of a space whose numbers this tenure gave to loads.
#[derive(Default)]
struct Generations {
    /// The highest one.
    latest: i32,
    /// Those of loads that are under way: another load that ends before them leaves them alone.
    open: BTreeSet<i32>,
}

/// Rows that were read before they were asked for, as they are stored; `None` for those that are not there. A commit of this
/// tenure, the only one that writes, makes them void.
#[derive(Default)]
pub(super) struct AheadRows {
    pub(super) rows: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// How many commits came to an end.
    ended: u64,
}

/// Rows that change with a commit.
pub(super) struct Commit<'a> {
    pub(super) rows: Vec<RowChange>,
    /// Lines of the log, with their segments.
    pub(super) lines: Vec<(String, String)>,
    /// Generations that count from now on.
    pub(super) generations: &'a [(Keyspace, i32)],
}

impl Rows {
    /// Claims the account.
    pub(in crate::store) fn open(account: &Account) -> Result<Self, ErrorKind> {
        let Claimed { lease, commits, predecessor } = tenure::claim(account, &account.process())?;
        let rows = Self {
            account: account.clone(),
            lease,
            commits: Mutex::new(commits),
            is_settled: AtomicBool::new(predecessor.as_ref().is_none_or(|before| !before.is_lost)),
            predecessor: Mutex::new(predecessor),
            hands_over: Mutex::default(),
            generations: Mutex::default(),
            may_have_rows: Mutex::default(),
            ahead: Mutex::default(),
            ran_full: AtomicBool::new(false),
        };
        account.holds(&rows.lease);
        account.database.renewals()?.add(&rows.lease);
        rows.drop_unnamed()?;
        Ok(rows)
    }

    pub(super) fn error(&self, kind: ErrorKind) -> Error {
        if matches!(kind, ErrorKind::Full) {
            self.met_full();
        }
        Error { place: self.account.place(), kind }
    }

    /// The database refused something for want of room.
    pub(super) fn met_full(&self) {
        self.ran_full.store(true, Ordering::Relaxed);
        self.account.is_full.store(true, Ordering::Relaxed);
    }

    /// Held by who writes.
    pub(super) fn writing(&self) -> MutexGuard<'_, i64> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was read ahead.
    pub(super) fn ahead(&self) -> MutexGuard<'_, AheadRows> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads rows that are asked for next. They replace those that were read so before.
    pub(super) fn load_ahead(&self, keys: Vec<Vec<u8>>) -> Result<(), ErrorKind> {
        const GET: &str = "select w.space, w.name, r.payload
              from unnest($2::smallint[], $3::bytea[]) as w(space, name)
              join rosterd.rows r on r.account = $1 and r.space = w.space and r.name = w.name
               and r.generation = coalesce((select generation from rosterd.space s where s.account = $1 and s.space = w.space), 0)";
        let ended = self.ahead().ended;
        let mut rows: BTreeMap<Vec<u8>, Option<Vec<u8>>> = keys.into_iter().map(|key| (key, None)).collect();
        let spaces: Vec<i16> = rows.keys().map(|key| i16::from(key[0])).collect();
        let names: Vec<Vec<u8>> = rows.keys().map(|key| key[1..].to_vec()).collect();
        let values = || vec![Value::Smalls(spaces.clone()), Value::Blobs(names.clone())];
        let found = if rows.is_empty() { Vec::new() } else { self.account.query(GET, values)? };
        for row in &found {
            let space = u8::try_from(row.get::<_, i16>("space")).expect("it is one of those that were asked for");
            let key = [&[space], row.get::<_, &[u8]>("name")].concat();
            rows.insert(key, Some(row.get("payload")));
        }
        let mut ahead = self.ahead();
        // A commit that ended meanwhile may have changed them.
        if ahead.ended == ended {
            ahead.rows = rows;
        }
        Ok(())
    }

    /// Commits under the fence, whatever becomes of answers.
    pub(super) fn commit_fenced(&self, commits: &mut i64, commit: Commit<'_>) -> Result<(), ErrorKind> {
        let done = self.try_commit(commits, commit);
        let mut ahead = self.ahead();
        ahead.ended += 1;
        ahead.rows.clear();
        done
    }

    fn try_commit(&self, commits: &mut i64, commit: Commit<'_>) -> Result<(), ErrorKind> {
        const COMMIT: &str = concat!(
            "with fence as (
               update rosterd.account set commits = commits + 1
                where ",
            fence!(),
            " and commits = $4 returning commits),
             named as (
               insert into rosterd.space (account, space, generation)
               select $1, n.space, n.generation from unnest($5::smallint[], $6::int[]) as n(space, generation)
                where exists (select from fence)
               on conflict (account, space) do update set generation = excluded.generation),
             removed as (
               delete from rosterd.rows r using unnest($7::smallint[], $8::bytea[]) as d(space, name)
                where exists (select from fence) and r.account = $1 and r.space = d.space and r.name = d.name
                  and r.generation = coalesce((select generation from rosterd.space s where s.account = $1 and s.space = d.space), 0)),
             put as (
               insert into rosterd.rows (account, space, generation, name, payload)
               select $1, p.space, coalesce((select generation from rosterd.space s where s.account = $1 and s.space = p.space), 0),
                      p.name, p.payload
                 from unnest($9::smallint[], $10::bytea[], $11::bytea[]) as p(space, name, payload)
                where exists (select from fence)
               on conflict (account, space, generation, name) do update set payload = excluded.payload),
             told as (
               insert into rosterd.audit (account, segment, line)
               select $1, l.segment, l.line from unnest($12::text[], $13::text[]) with ordinality as l(segment, line, n)
                where exists (select from fence) order by l.n)
             select case when current_setting('synchronous_commit') = 'off'
                         then set_config('synchronous_commit', 'on', true) end from fence"
        );
        // Before the first of them is there; who asks at the same time has waited for it, or finds it said.
        let filled = commit.generations.iter().map(|(space, _)| *space);
        let put = commit.rows.iter().filter(|(_, payload)| payload.is_some());
        let filled: Vec<Keyspace> = filled.chain(put.filter_map(|(key, _)| Keyspace::of(key))).collect();
        self.known_spaces().extend(filled.into_iter().map(|space| (space, true)));
        let values = Changes::of(commit.rows);
        let (spaces, generations): (Vec<i16>, Vec<i32>) =
            commit.generations.iter().map(|(space, generation)| (number(*space), *generation)).unzip();
        let (segments, lines): (Vec<String>, Vec<String>) = commit.lines.into_iter().unzip();
        let mut is_doubtful = false;
        loop {
            point("store: before a batch");
            let values = self.lease.tenure.fence([
                Value::Big(*commits),
                Value::Smalls(spaces.clone()),
                Value::Ints(generations.clone()),
                Value::Smalls(values.removed_spaces.clone()),
                Value::Blobs(values.removed.clone()),
                Value::Smalls(values.put_spaces.clone()),
                Value::Blobs(values.put.clone()),
                Value::Blobs(values.payloads.clone()),
                Value::Texts(segments.clone()),
                Value::Texts(lines.clone()),
            ]);
            let values = [Value::Int(self.lease.tenure.account)].into_iter().chain(values).collect();
            match self.account.database.ready()?.query(COMMIT, values) {
                Ok(rows) if !rows.is_empty() => break,
                Ok(_) if !is_doubtful => return Err(self.lost(ErrorKind::Fenced)),
                Err(StatementError::Lost(_)) if !is_doubtful => is_doubtful = true,
                Err(failure) if !is_doubtful => return Err(ErrorKind::from_database(failure)),
                // The first try, or this one: no other tenure can have moved the counter to that number.
                Ok(_) | Err(StatementError::Lost(_)) => match self.is_committed(*commits + 1) {
                    Ok(true) => break,
                    Ok(false) => return Err(self.lost(ErrorKind::Fenced)),
                    Err(kind) => return Err(self.lost(kind)),
                },
                Err(failure) => return Err(self.lost(ErrorKind::from_database(failure))),
            }
        }
        *commits += 1;
        point("store: committed");
        Ok(())
    }

    /// Ends the tenure: what it committed last is not known, or another worker has the account. A later commit must not be
    /// taken for this one.
    fn lost(&self, kind: ErrorKind) -> ErrorKind {
        self.lease.lose();
        kind
    }

    /// Whether this tenure has made so many commits.
    fn is_committed(&self, commits: i64) -> Result<bool, ErrorKind> {
        let own = || self.lease.tenure.fence([Value::Big(commits)]);
        let statement = "select from rosterd.account where id = $1 and holder = $2 and epoch = $3 and commits = $4";
        Ok(!self.account.query(statement, own)?.is_empty())
    }

    /// Removes rows of generations that do not count: of loads that did not come to their end.
    pub(super) fn drop_unnamed(&self) -> Result<(), ErrorKind> {
        const DROP: &str = concat!(
            "with ",
            fenced!(),
            " delete from rosterd.rows r where r.account = $1 and exists (select from fence)
            and r.generation <> coalesce((select generation from rosterd.space s where s.account = $1 and s.space = r.space), 0)"
        );
        self.account.query(DROP, || self.lease.tenure.fence([])).map(drop)
    }

    /// A generation of a space that no load has had. Of those of earlier tenures only the one that counts is left.
    pub(super) fn next_generation(&self, space: Keyspace) -> Result<i32, ErrorKind> {
        const LATEST: &str = "select generation from rosterd.space where account = $1 and space = $2";
        let mut given = self.given();
        let latest = match given.get(&space) {
            Some(given) => given.latest,
            None => {
                self.account.query(LATEST, || vec![Value::Small(number(space))])?.first().map_or(0, |row| row.get(0))
            }
        };
        let next = latest.checked_add(1).expect("a load a second is decades of them");
        let given = given.entry(space).or_default();
        given.latest = next;
        given.open.insert(next);
        Ok(next)
    }

    /// The load that has a generation is over.
    pub(super) fn close_generation(&self, space: Keyspace, generation: i32) {
        if let Some(given) = self.given().get_mut(&space) {
            given.open.remove(&generation);
        }
    }

    /// Removes the generations of a space besides the one that counts, and besides those of loads that are under way.
    pub(super) fn drop_besides(&self, space: Keyspace, generation: i32) -> Result<(), ErrorKind> {
        const DROP: &str = "delete from rosterd.rows where account = $1 and space = $2
            and generation <= $4 and generation <> $3 and generation <> all($5)
            and exists (select from rosterd.space s where s.account = $1 and s.space = $2 and s.generation = $3)";
        let (latest, open) = match self.given().get(&space) {
            Some(given) => (given.latest, given.open.iter().copied().collect::<Vec<_>>()),
            None => return Ok(()),
        };
        let values = || {
            let (space, generation) = (Value::Small(number(space)), Value::Int(generation));
            vec![space, generation, Value::Int(latest), Value::Ints(open.clone())]
        };
        self.account.query(DROP, values).map(drop)
    }

    fn given(&self) -> MutexGuard<'_, BTreeMap<Keyspace, Generations>> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a space may have rows. Once it has none, it gets them from this tenure alone.
    pub(super) fn may_have_rows(&self, space: Keyspace) -> Result<bool, ErrorKind> {
        const ANY: &str = "select from rosterd.rows r where r.account = $1 and r.space = $2
            and r.generation = coalesce((select generation from rosterd.space s where s.account = $1 and s.space = $2), 0)
            limit 1";
        let mut known = self.known_spaces();
        if let Some(may) = known.get(&space) {
            return Ok(*may);
        }
        let may = !self.account.query(ANY, || vec![Value::Small(number(space))])?.is_empty();
        known.insert(space, may);
        Ok(may)
    }

    fn known_spaces(&self) -> MutexGuard<'_, BTreeMap<Keyspace, bool>> {
        self.may_have_rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All is known again of what a lost tenure before left open, or noted as still to be looked at.
    pub(super) fn settled(&self) {
        self.is_settled.store(true, Ordering::Relaxed);
    }

    /// What is stored as what a row holds.
    pub(super) fn payload(&self, key: &[u8], stored: &[u8]) -> Result<Vec<u8>, Error> {
        match row::decode(key, stored) {
            Ok(row) => Ok(row.payload.unwrap_or_default().to_vec()),
            Err(RowFault::Version(version)) => Err(self.error(ErrorKind::Newer { format: version.into() })),
            Err(RowFault::Checksum) => Err(Error::of_row(&self.account.place(), key)),
        }
    }
}

/// Rows as the statements take them.
#[derive(Default)]
pub(super) struct Changes {
    removed_spaces: Vec<i16>,
    removed: Vec<Vec<u8>>,
    put_spaces: Vec<i16>,
    put: Vec<Vec<u8>>,
    payloads: Vec<Vec<u8>>,
}

impl Changes {
    /// Of one key the last word counts: a statement can't change a row twice.
    fn of(rows: Vec<RowChange>) -> Self {
        let last: BTreeMap<_, _> = rows.into_iter().collect();
        let mut changes = Self::default();
        for (key, payload) in last {
            let (space, name) = (i16::from(key[0]), key[1..].to_vec());
            match payload {
                Some(payload) => {
                    changes.put_spaces.push(space);
                    changes.put.push(name);
                    changes.payloads.push(row::encode(&key, 0, Some(&payload)));
                }
                None => {
                    changes.removed_spaces.push(space);
                    changes.removed.push(name);
                }
            }
        }
        changes
    }
}

/// A space as the tables have it.
pub(super) fn number(space: Keyspace) -> i16 {
    i16::from(space as u8)
}

impl Drop for Rows {
    fn drop(&mut self) {
        let left = self.hands_over.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Where no one asked for what the process before left of it, nothing was sent since.
        let before =
            || self.predecessor.lock().unwrap_or_else(PoisonError::into_inner).take()?.budget.map(|(budget, _)| budget);
        let budget = left.map(|left| left()).or_else(before);
        // One that ends in the midst of a takeover is taken over in its turn.
        // One that ran out meanwhile is free anyway, and its database may be out of reach for each of many accounts.
        if self.lease.before_sending().is_ok()
            && self.is_settled.load(Ordering::Relaxed)
            && let Err(error) = tenure::release(&self.account, &self.lease, budget.unwrap_or_default())
        {
            tracing::warn!(%error, "the lease of {} could not be released, and expires: {error}", self.account);
        }
        self.account.let_go();
    }
}
