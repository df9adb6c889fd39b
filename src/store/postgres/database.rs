//! The database of one or more accounts, and one account in it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;

use tokio_postgres::Row;

use super::connection::{Connection, Patience, StatementError, Value};
use super::desk::Desk;
use super::lease::Lease;
use super::options::{ConnectionOptions, DatabaseOptions};
use super::renewal::Renewals;
use super::schema;
use super::timeline::timeline;
use crate::secret::Unusable;
use crate::store::embedded::{check_state_dir, create_state_dir};
use crate::store::tenure::{Permit, SendPermit};
use crate::store::{Error, ErrorKind, Mark};

/// Statements of a process under way at the same time. Of its accounts few work at once, and fewer for long.
const CONNECTIONS_MAX: usize = 4;

/// A database, and this process as one of its workers. All accounts of a process in one database share it.
pub(super) struct Database {
    options: Arc<ConnectionOptions>,
    connection: Connection,
    is_prepared: Mutex<bool>,
    renewals: OnceLock<Renewals>,
    desk: OnceLock<Arc<Desk>>,
    /// The numbers of the accounts, by name, where they are known: a configuration that is read again is of the same account.
    ids: Mutex<BTreeMap<String, Arc<OnceLock<i32>>>>,
    /// The accounts that this process has, or claims.
    held: Mutex<BTreeMap<i32, Weak<Lease>>>,
    /// When it was looked which hosts of the URL take writes, and which did.
    pub(super) looked: Mutex<Option<(Instant, Vec<String>)>>,
    /// This process, by a name of its own.
    pub(super) worker: String,
}

/// Those that are in use, by what reaches them.
static OPEN: Mutex<BTreeMap<String, Weak<Database>>> = Mutex::new(BTreeMap::new());

impl Database {
    fn new(options: &DatabaseOptions) -> Self {
        let options = Arc::new(ConnectionOptions::new(options));
        Self {
            connection: Connection::new(Arc::clone(&options), Patience::USUAL, CONNECTIONS_MAX),
            options,
            is_prepared: Mutex::new(false),
            renewals: OnceLock::new(),
            desk: OnceLock::new(),
            ids: Mutex::default(),
            held: Mutex::default(),
            looked: Mutex::default(),
            worker: unique(),
        }
    }

    fn of(options: &DatabaseOptions) -> Arc<Self> {
        // `Debug` names no secret that is given as text: who changes one starts another process.
        let name = format!("{options:?}");
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = open.get(&name).and_then(Weak::upgrade) {
            return database;
        }
        let database = Arc::new(Self::new(options));
        open.insert(name, Arc::downgrade(&database));
        database
    }

    /// Where the number of an account is kept.
    fn id_of(&self, name: &str) -> Arc<OnceLock<i32>> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(ids.entry(name.to_owned()).or_default())
    }

    /// The connection, once the tables are known to be there.
    pub(super) fn ready(&self) -> Result<&Connection, ErrorKind> {
        let mut is_prepared = self.is_prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_prepared {
            schema::prepare(&self.connection)?;
            *is_prepared = true;
        }
        Ok(&self.connection)
    }

    /// The connection, whether there are tables or not.
    pub(super) fn bare(&self) -> &Connection {
        &self.connection
    }

    /// What it is called.
    pub(super) fn url(&self) -> &str {
        self.options.url()
    }

    /// How it is reached.
    pub(super) fn options(&self) -> &ConnectionOptions {
        &self.options
    }

    /// What renews the leases of this worker, on a connection of its own: no long statement may keep it from that.
    pub(super) fn renewals(&self) -> Result<&Renewals, ErrorKind> {
        if let Some(renewals) = self.renewals.get() {
            return Ok(renewals);
        }
        let made = Renewals::start(Arc::clone(&self.options), self.worker.clone()).map_err(ErrorKind::from_io)?;
        Ok(self.renewals.get_or_init(|| made))
    }

    /// What takes requests of other workers, on a connection of its own: answers may be long, and callers wait for them.
    pub(super) fn desk(self: &Arc<Self>) -> Result<&Arc<Desk>, ErrorKind> {
        if let Some(desk) = self.desk.get() {
            return Ok(desk);
        }
        let own = Arc::downgrade(self);
        let epoch_of = Box::new(move |account| own.upgrade()?.epoch_of(account));
        let made = Desk::start(Arc::clone(&self.options), self.worker.clone(), epoch_of).map_err(ErrorKind::from_io)?;
        Ok(self.desk.get_or_init(|| Arc::new(made)))
    }

    /// The epoch under which this process has an account.
    pub(super) fn epoch_of(&self, account: i32) -> Option<i64> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.get(&account)?.upgrade().filter(|lease| !lease.is_lost()).map(|lease| lease.tenure.epoch)
    }
}

/// A name that nothing else has had.
pub(super) fn unique() -> String {
    use ring::rand::SecureRandom as _;
    let mut bytes = [0; 16];
    ring::rand::SystemRandom::new().fill(&mut bytes).expect("the system has random numbers");
    format!("{:032x}", u128::from_le_bytes(bytes))
}

/// What this machine calls itself.
fn host() -> String {
    plain(&rustix::system::uname().nodename().to_string_lossy())
}

/// A name that can stand in a header.
fn plain(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' };
    name.chars().map(keep).collect()
}

/// One account in a database.
#[derive(Clone)]
pub struct Account {
    pub(super) database: Arc<Database>,
    pub(super) name: String,
    id: Arc<OnceLock<i32>>,
    spill_dir: PathBuf,
    /// What this machine is called; without spaces and parentheses.
    pub(super) node: String,
    /// Whether the database had no room for something of it, and no run has ended since that met no such refusal.
    pub(super) is_full: Arc<AtomicBool>,
}

impl Account {
    /// The account of this name; connects to nothing. `spill_dir` is a folder for what may be lost.
    pub fn new(options: &DatabaseOptions, name: &str, spill_dir: PathBuf) -> Self {
        let database = Database::of(options);
        let id = database.id_of(name);
        Self { database, name: name.to_owned(), id, spill_dir, node: host(), is_full: Arc::default() }
    }

    /// The same for a machine that is called otherwise than it calls itself; other characters than those of a host's name become
    /// dashes.
    pub fn on_node(self, name: &str) -> Self {
        Self { node: plain(name), ..self }
    }

    /// Makes the tables where there are none, and the folder for what may be lost.
    pub(in crate::store) fn create(&self) -> Result<(), Error> {
        self.id().map_err(|kind| Error { place: self.place(), kind })?;
        create_state_dir(&self.spill_dir)
    }

    /// Whether the folder for what may be lost can be used.
    pub(in crate::store) fn check(&self) -> Result<(), Error> {
        check_state_dir(&self.spill_dir)
    }

    /// The same account as another process sees it.
    #[cfg(test)]
    pub(super) fn as_another_worker(&self) -> Self {
        let database = Arc::new(Database::new(self.database.options.given()));
        Self { database, id: Arc::default(), ..self.clone() }
    }

    /// Reads the password now, for a process that may not read its file later.
    pub(in crate::store) fn hold_password(&self) -> Result<(), Unusable> {
        self.database.options.hold_password()
    }

    /// The folder for what may be lost.
    pub fn spill_dir(&self) -> &Path {
        &self.spill_dir
    }

    /// Its number in the database, made where it is new.
    pub(super) fn id(&self) -> Result<i32, ErrorKind> {
        if let Some(id) = self.id.get() {
            return Ok(*id);
        }
        let id = schema::account(self.database.ready()?, &self.name)?;
        Ok(*self.id.get_or_init(|| id))
    }

    /// What an error calls it.
    pub(in crate::store) fn place(&self) -> String {
        format!("state of {self}")
    }

    /// Takes the account for one store of this process; false where another has it.
    pub(super) fn take(&self) -> Result<bool, ErrorKind> {
        match self.held().entry(self.id()?) {
            Entry::Occupied(_) => Ok(false),
            Entry::Vacant(free) => {
                free.insert(Weak::new());
                Ok(true)
            }
        }
    }

    /// This process has the account by this lease.
    pub(super) fn holds(&self, lease: &Arc<Lease>) {
        self.held().insert(lease.tenure.account, Arc::downgrade(lease));
    }

    /// What is asked right before each request to the service.
    pub(in crate::store) fn send_permit(&self) -> SendPermit {
        let account = self.clone();
        Arc::new(move || {
            let lease = account.lease().ok_or_else(|| format!("this process does not have the {}", account.place()))?;
            let wait = lease.before_sending().map_err(|kind| format!("{}: {kind}", account.place()))?;
            Ok(Permit { wait, sender: format!("{}; epoch {}", account.node, lease.tenure.epoch) })
        })
    }

    /// The lease by which this process has the account, if it has.
    pub(super) fn lease(&self) -> Option<Arc<Lease>> {
        self.id.get().and_then(|id| self.held().get(id)?.upgrade())
    }

    /// This process, for people.
    pub(super) fn process(&self) -> String {
        format!("process {} on {}", std::process::id(), self.node)
    }

    /// Lets it go again.
    pub(super) fn let_go(&self) {
        if let Some(id) = self.id.get() {
            self.held().remove(id);
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<i32, Weak<Lease>>> {
        self.database.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What tells the database from a copy of it: its number, the timeline that it writes, and the number of a table, which is
    /// another one where a dump was restored.
    pub(in crate::store) fn mark(&self) -> Result<Mark, ErrorKind> {
        const MARK: &str = concat!(
            "select system_identifier::text as system, ",
            timeline!(),
            " as timeline, 'rosterd.account'::regclass::oid::bigint as table_number from pg_control_system() where $1 > 0"
        );
        let rows = self.query(MARK, Vec::new)?;
        let row = rows.first().ok_or_else(|| ErrorKind::Damaged("it has no number".into()))?;
        let place = row.get::<_, &str>("system").parse().unwrap_or(0);
        Ok(Mark { place, changed: (row.get::<_, i32>("timeline").into(), row.get("table_number")) })
    }

    /// Whether there is anything of it.
    pub(in crate::store) fn exists(&self) -> Result<bool, ErrorKind> {
        self.look_up("select from rosterd.account where name = $1").map(|rows| !rows.is_empty())
    }

    /// Carries out a statement that reads, and whose value is the name of the account: no rows where there are no tables. Makes
    /// neither tables nor an account.
    pub(super) fn look_up(&self, statement: &'static str) -> Result<Vec<Row>, ErrorKind> {
        let connection = self.database.bare();
        let name = || vec![Value::Text(self.name.clone())];
        let answer = match connection.query(statement, name()) {
            Err(StatementError::Lost(_)) => connection.query(statement, name()),
            answer => answer,
        };
        match answer {
            Err(failure) if schema::is_without_tables(&failure) => Ok(Vec::new()),
            answer => answer.map_err(ErrorKind::from_database),
        }
    }

    /// Carries out a statement whose first value is the number of the account.
    pub(super) fn query_once(&self, statement: &'static str, values: Vec<Value>) -> Result<Vec<Row>, ErrorKind> {
        let connection = self.database.ready()?;
        let values = [Value::Int(self.id()?)].into_iter().chain(values).collect();
        connection.query(statement, values).map_err(ErrorKind::from_database)
    }

    /// The same for one that only reads, or that says the same when it is said twice: it is repeated where the connection broke.
    pub(super) fn query(
        &self,
        statement: &'static str,
        values: impl Fn() -> Vec<Value>,
    ) -> Result<Vec<Row>, ErrorKind> {
        let connection = self.database.ready()?;
        let id = self.id()?;
        let all = || [Value::Int(id)].into_iter().chain(values()).collect();
        match connection.query(statement, all()) {
            Err(StatementError::Lost(_)) => connection.query(statement, all()),
            answer => answer,
        }
        .map_err(ErrorKind::from_database)
    }
}

impl PartialEq for Account {
    fn eq(&self, other: &Self) -> bool {
        self.database.options.url() == other.database.options.url() && self.name == other.name
    }
}

impl Eq for Account {}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Account({self})")
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "account {} in {}", self.name, self.database.options.url())
    }
}
