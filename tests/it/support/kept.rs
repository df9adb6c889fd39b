//! What is kept of a state, in whichever kind it lies: a folder, or a database. `ROSTERD_TEST_STORE=postgres` puts the states of
//! all tests into databases, save of those that are about a folder (`OfAFolder`).

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use memchr::memmem::Finder;
use rosterd::store::{Account, Batch, DatabaseOptions, Home, Log, MetaKey};

use super::Site;
use super::config::Kept;
use super::postgres::{self, Database, Server};

/// Whether a state lies in a database.
pub(super) fn is_in_database(kept: Kept) -> bool {
    match kept {
        Kept::InDatabase => true,
        Kept::InFolder(why) => {
            if is_asked_for() {
                let _ = writeln!(std::io::stderr(), "in a folder all the same: this test is about it ({why:?})");
            }
            false
        }
        Kept::Anywhere => is_asked_for(),
    }
}

/// Whether every test is to keep its state in a database.
pub(crate) fn is_asked_for() -> bool {
    std::env::var("ROSTERD_TEST_STORE").is_ok_and(|value| value == "postgres") && postgres::is_there()
}

/// Databases whose tests have ended, with tables in them: to make new ones takes longer.
static LEFT: Mutex<Vec<Database>> = Mutex::new(Vec::new());

/// A database that no one else has.
pub(super) fn database(kept: Kept) -> Database {
    // Who asks for one may look at what is in it from the beginning.
    if matches!(kept, Kept::InDatabase) {
        return Server::shared().database();
    }
    let Some(database) = left() else { return Server::shared().database() };
    database.sql("truncate rosterd.account restart identity cascade");
    database
}

/// One that is left, and all processes of its test.
fn left() -> Option<Database> {
    const FREE: &str = "select datname from pg_database d
        where not exists (select from pg_stat_activity a where a.datname = d.datname)";
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    if left.is_empty() {
        return None;
    }
    let (free, _) = Server::shared().sql("postgres", FREE);
    let at = left.iter().position(|database| free.lines().any(|name| name == database.name))?;
    Some(left.swap_remove(at))
}

/// Leaves a database to other tests.
pub(super) fn leave(database: Database) {
    if has_tables(&database) {
        LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(database);
    }
}

/// Whether a worker has made its tables.
fn has_tables(database: &Database) -> bool {
    Server::shared().sql(&database.name, "select from rosterd.meta").1
}

/// Whether a process has an account that does not live any more.
fn has_dead_holder(database: &Database) -> bool {
    // Before the first worker there are no tables to look at.
    let (node, has_tables) =
        Server::shared().sql(&database.name, "select node from rosterd.account where holder is not null");
    let number = node.split_whitespace().nth(1).filter(|_| has_tables);
    let process = number.and_then(|number| number.parse::<u32>().ok());
    process.is_some_and(|process| process != std::process::id() && !is_rosterd(process))
}

/// Whether a process of that number lives, and is one of the program: numbers come again.
fn is_rosterd(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name.trim() == "rosterd")
}

/// All rows of an account, each a line: the table, the names, and what is in it as hexadecimal digits.
const DUMP: &str = "
    select 'account ' || name || '|' || encode(convert_to(commits::text, 'utf8'), 'hex') from rosterd.account
    union all select 'row ' || space || ' ' || generation || ' ' || encode(name, 'hex') || '|' || encode(name || payload, 'hex')
      from rosterd.rows
    union all select 'audit ' || segment || ' ' || n || '|' || encode(convert_to(line, 'utf8'), 'hex') from rosterd.audit
    union all select 'document ' || name || '|' || encode(convert_to(name, 'utf8') || bytes, 'hex') from rosterd.document";

impl Site {
    /// Where the state lies.
    pub(crate) fn home(&self) -> Home {
        match self.in_database() {
            None => self.state().into(),
            Some(database) => {
                let options = DatabaseOptions { url: database.url(), password: None, ca_file: None };
                Home::Database(Account::new(&options, "config", database.spill_dir()))
            }
        }
    }

    /// A configuration with its state at another place, which need not be there.
    pub(crate) fn with_other_state(&self, config: &str) -> String {
        match self.in_database() {
            None => config.replace("dir = \"state\"", "dir = \"elsewhere\""),
            Some(database) => config.replace(&format!("/{}\"", database.name), "/elsewhere\""),
        }
    }

    /// The newest audit file of a folder.
    pub(crate) fn audit_file(&self) -> PathBuf {
        let files = fs::read_dir(self.state().join("audit")).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "ndjson")).max().unwrap()
    }

    /// The lines of what was done and decided, the oldest first.
    pub(crate) fn audit(&self) -> String {
        let log = Log::of(&self.home());
        let mut text = String::new();
        for segment in log.segments().unwrap() {
            let add = |line: &[u8]| text.extend([str::from_utf8(line).unwrap().trim_end_matches('\n'), "\n"]);
            log.lines(&segment, add).unwrap();
        }
        text
    }

    /// A document beside the rows, as it is kept.
    pub(crate) fn document(&self, name: &str) -> String {
        String::from_utf8(self.home().read(name).unwrap().expect("it is there")).unwrap()
    }

    /// Everything that is kept, by a name for each part.
    pub(crate) fn kept(&self) -> BTreeMap<String, Vec<u8>> {
        let mut kept = BTreeMap::new();
        below(&self.state(), &mut kept);
        if let Some(database) = self.in_database().filter(|database| has_tables(database)) {
            for line in database.sql(DUMP).lines() {
                let (name, hex) = line.split_once('|').unwrap();
                let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
                kept.insert(name.to_owned(), hex.as_bytes().chunks(2).map(byte).collect());
            }
        }
        kept
    }

    /// The parts of what is kept that hold a text.
    pub(crate) fn kept_with(&self, text: &str) -> Vec<String> {
        let finder = Finder::new(text);
        self.kept().into_iter().filter(|(_, bytes)| finder.find(bytes).is_some()).map(|(name, _)| name).collect()
    }

    /// Loses all of it.
    pub(crate) fn lose_state(&self) {
        match self.in_database() {
            None => fs::remove_dir_all(self.state()).unwrap_or_default(),
            Some(database) => {
                let all = "delete from rosterd.rows; delete from rosterd.space; delete from rosterd.audit;
                           delete from rosterd.document; update rosterd.account set holder = null, epoch = 0, commits = 0,
                           expires_at = 'epoch', quiet_until = 'epoch', budget = null, budget_at = null";
                if has_tables(database) {
                    database.sql(all);
                }
            }
        }
    }

    /// Loses the rows alone: what is written for people stays.
    pub(crate) fn lose_rows(&self) {
        match self.in_database() {
            None => {
                fs::remove_dir_all(self.state().join("store")).unwrap();
                fs::remove_file(self.state().join("commits")).unwrap();
            }
            Some(database) => drop(database.sql("delete from rosterd.rows; delete from rosterd.space")),
        }
    }

    /// Makes it one of a later version of the program; returns that version.
    pub(crate) fn make_later(&self) -> u32 {
        if let Some(database) = self.in_database() {
            self.is_spoiled.store(true, Ordering::Relaxed);
            return database.sql("update rosterd.meta set version = version + 1 returning version").parse().unwrap();
        }
        let store = self.store();
        let later = store.meta::<u32>(MetaKey::Format).unwrap().unwrap() + 1;
        let mut batch = Batch::default();
        batch.put_meta(MetaKey::Format, &later);
        store.commit(batch).unwrap();
        later
    }

    /// Loses what is known of requests that were sent: none of them counts any more.
    pub(crate) fn lose_budget(&self) {
        match self.in_database() {
            None => fs::remove_file(self.state().join("budget")).unwrap(),
            Some(database) => drop(database.sql("update rosterd.account set epoch = 0")),
        }
    }

    /// Takes the wait out of takeovers, after which a successor writes: the test knows that nothing is under way any more.
    pub(crate) fn settle_at_once(&self) {
        const SETTLED: &str = "
            create or replace function rosterd.settled() returns trigger language plpgsql as
              'begin new.quiet_until := ''epoch''; return new; end';
            create or replace trigger settled before update on rosterd.account for each row execute function rosterd.settled()";
        if let Some(database) = self.in_database() {
            self.home().create().unwrap();
            database.sql(SETTLED);
            self.settles_at_once.store(true, Ordering::Relaxed);
        }
    }

    /// As if the process that has the account had died now, without a word, and its lease had run out.
    pub(crate) fn lose_holder(&self) {
        if let Some(database) = self.in_database() {
            database.sql("update rosterd.account set holder = 'dead', expires_at = 'epoch' where holder is not null");
        }
    }

    /// Where every test keeps its state in a database: lets time pass for a process that was killed with the account. What a
    /// successor does that does not wait has tests of its own, which ask for a database themselves.
    pub(crate) fn outlast_the_dead(&self) {
        let is_any = is_asked_for() && matches!(self.config.kept, Kept::Anywhere);
        let Some(database) = self.in_database().filter(|_| is_any) else { return };
        if has_dead_holder(database) {
            // Where a successor would have to wait, it finds an account that no one had.
            let then = match self.settles_at_once.load(Ordering::Relaxed) {
                true => "expires_at = 'epoch'",
                false => "holder = null, expires_at = 'epoch', quiet_until = 'epoch', epoch = 0",
            };
            database.sql(&format!("update rosterd.account set {then}"));
        }
    }
}

/// Adds all files below a folder, by their paths.
fn below(folder: &Path, kept: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, kept);
        } else {
            kept.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
}
