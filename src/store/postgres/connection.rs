//! The connections of a worker to its database, each on a thread of its own; callers wait for their answers.
//!
//! Invariants:
//! - There are as many as have been busy at the same time, up to a limit: what one account loads or removes for long holds up
//!   the commits of no other.
//! - Each piece of work is one statement, and so a transaction by itself: no pause of this process can hold a lock, and a
//!   pooler in transaction mode may stand between.
//! - Statements have no names: a pooler may give each of them to another session.
//! - Where the connection broke meanwhile, what a statement did is not known, and [`StatementError::Lost`] says so.
//!
//! Rejected: the blocking client of the same library. It starts a runtime inside the caller's, and fails where the caller is
//! a task. A connection for each account: hundreds of sessions of which few do anything.

use std::collections::VecDeque;
use std::sync::mpsc::{SendError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::options::ConnectionOptions;

/// How long the database is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How long one host may take to accept a connection, so that the next one in the URL is asked in time.
    pub(super) host: Duration,
    /// How long it may take to connect.
    pub(super) connect: Duration,
    /// How long a statement may take.
    pub(super) statement: Duration,
}

impl Patience {
    /// The longest statements are parts of a bulk load.
    pub(super) const USUAL: Self =
        Self { host: Duration::from_secs(5), connect: Duration::from_secs(10), statement: Duration::from_secs(60) };
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum StatementError {
    /// The statement was not begun.
    #[error("the database can't be reached: {0}")]
    Unreachable(String),
    /// The server lets this role not in, or not into this database.
    #[error("the database refuses this role: {0}")]
    Denied(String),
    /// Whether the statement was carried out is not known.
    #[error("the connection to the database broke: {0}")]
    Lost(String),
    /// The database did not carry the statement out.
    #[error("the database refused a statement: {message}")]
    Refused {
        /// The kind of reason.
        code: SqlState,
        /// The database's words.
        message: String,
    },
}

/// A value of a statement.
#[derive(Debug)]
pub(super) enum Value {
    Flag(bool),
    Small(i16),
    Int(i32),
    Big(i64),
    Text(String),
    Bytes(Vec<u8>),
    Smalls(Vec<i16>),
    Ints(Vec<i32>),
    Bigs(Vec<i64>),
    Double(f64),
    Texts(Vec<String>),
    Blobs(Vec<Vec<u8>>),
    OptionalBlobs(Vec<Option<Vec<u8>>>),
}

impl Value {
    fn bound(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Self::Flag(value) => (value, Type::BOOL),
            Self::Small(value) => (value, Type::INT2),
            Self::Int(value) => (value, Type::INT4),
            Self::Big(value) => (value, Type::INT8),
            Self::Text(value) => (value, Type::TEXT),
            Self::Bytes(value) => (value, Type::BYTEA),
            Self::Smalls(value) => (value, Type::INT2_ARRAY),
            Self::Ints(value) => (value, Type::INT4_ARRAY),
            Self::Bigs(value) => (value, Type::INT8_ARRAY),
            Self::Double(value) => (value, Type::FLOAT8),
            Self::Texts(value) => (value, Type::TEXT_ARRAY),
            Self::Blobs(value) => (value, Type::BYTEA_ARRAY),
            Self::OptionalBlobs(value) => (value, Type::BYTEA_ARRAY),
        }
    }
}

struct Request {
    work: Work,
    reply: SyncSender<Result<Vec<Row>, StatementError>>,
}

enum Work {
    Statement(&'static str, Vec<Value>),
    Script(String),
}

/// Connections that take turns. Each is made with the first statement that finds no other one idle, and made again after it
/// broke.
pub(super) struct Connection {
    options: Arc<ConnectionOptions>,
    patience: Patience,
    links_max: usize,
    links: Mutex<Links>,
}

#[derive(Default)]
struct Links {
    /// Those that wait for a statement; the one that was busy last is asked first, so few are where few are needed.
    idle: Vec<Link>,
    begun: usize,
    /// Who wait for one, in the order in which they came.
    waiting: VecDeque<SyncSender<Link>>,
}

/// What reaches the thread of one connection.
type Link = UnboundedSender<Request>;

impl Connection {
    /// At most so many; connects to nothing.
    pub(super) fn new(options: Arc<ConnectionOptions>, patience: Patience, links_max: usize) -> Self {
        Self { options, patience, links_max, links: Mutex::default() }
    }

    fn links(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that no one else uses.
    fn link(&self) -> std::io::Result<Link> {
        let mut links = self.links();
        if let Some(idle) = links.idle.pop() {
            return Ok(idle);
        }
        if links.begun < self.links_max {
            let link = ServerLink::begin(Arc::clone(&self.options), self.patience)?;
            links.begun += 1;
            return Ok(link);
        }
        let (give, given) = sync_channel(1);
        links.waiting.push_back(give);
        drop(links);
        given.recv().map_err(std::io::Error::other)
    }

    /// Gives it to the next one who waits.
    fn give_back(&self, mut link: Link) {
        let mut links = self.links();
        while let Some(next) = links.waiting.pop_front() {
            match next.send(link) {
                Ok(()) => return,
                Err(SendError(back)) => link = back,
            }
        }
        links.idle.push(link);
    }

    /// Carries out one statement and waits for its rows.
    pub(super) fn query(&self, statement: &'static str, values: Vec<Value>) -> Result<Vec<Row>, StatementError> {
        self.ask(Work::Statement(statement, values))
    }

    /// Carries out several statements that begin and end a transaction of their own.
    pub(super) fn script(&self, statements: String) -> Result<(), StatementError> {
        self.ask(Work::Script(statements)).map(drop)
    }

    fn ask(&self, work: Work) -> Result<Vec<Row>, StatementError> {
        let unreachable = |error: &dyn std::error::Error| StatementError::Unreachable(words(error));
        let link = self.link().map_err(|error| unreachable(&error))?;
        let (reply, answer) = sync_channel(1);
        let asked = link.send(Request { work, reply });
        let answer = match asked {
            Ok(()) => answer.recv().map_err(|error| unreachable(&error)).flatten(),
            Err(error) => Err(unreachable(&error)),
        };
        self.give_back(link);
        answer
    }
}

struct ServerLink {
    options: Arc<ConnectionOptions>,
    patience: Patience,
    client: Option<Client>,
}

impl ServerLink {
    /// Starts its thread, which ends with the sender; connects to nothing.
    fn begin(options: Arc<ConnectionOptions>, patience: Patience) -> std::io::Result<Link> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (requests, received) = unbounded_channel();
        thread::Builder::new()
            .name("database".to_owned())
            .spawn(move || runtime.block_on(Self { options, patience, client: None }.serve(received)))?;
        Ok(requests)
    }

    async fn serve(mut self, mut requests: UnboundedReceiver<Request>) {
        while let Some(Request { work, reply }) = requests.recv().await {
            let answer = self.carry_out(&work).await;
            match &answer {
                // A session that takes no writes stays so, while a new one may take them again.
                Err(StatementError::Refused { code, .. }) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
                    self.client = None;
                }
                Ok(_) | Err(StatementError::Refused { .. }) => {}
                Err(_) => self.client = None,
            }
            // Who asked may have ended.
            let _ = reply.send(answer);
        }
    }

    async fn carry_out(&mut self, work: &Work) -> Result<Vec<Row>, StatementError> {
        if self.client.as_ref().is_none_or(Client::is_closed) {
            self.client = Some(self.connect().await?);
        }
        let client = self.client.as_ref().expect("it is connected");
        let asked = async {
            match work {
                Work::Statement(statement, values) => {
                    client.query_typed(statement, &values.iter().map(Value::bound).collect::<Vec<_>>()).await
                }
                Work::Script(statements) => client.batch_execute(statements).await.map(|()| Vec::new()),
            }
        };
        let most = self.patience.statement;
        let asked = tokio::time::timeout(most, asked).await;
        let asked = asked.map_err(|_| StatementError::Lost(format!("no answer within {} s", most.as_secs())))?;
        asked.map_err(|error| match error.as_db_error() {
            Some(refused) if ends_session(refused.code()) => StatementError::Lost(refused.message().to_owned()),
            Some(refused) => {
                StatementError::Refused { code: refused.code().clone(), message: refused.message().to_owned() }
            }
            None => StatementError::Lost(words(&error)),
        })
    }

    async fn connect(&self) -> Result<Client, StatementError> {
        let unreachable = |error: tokio_postgres::Error| match error.as_db_error() {
            Some(refused)
                if *refused.code() == SqlState::INVALID_CATALOG_NAME || refused.code().code().starts_with("28") =>
            {
                StatementError::Denied(refused.message().to_owned())
            }
            _ => StatementError::Unreachable(words(&error)),
        };
        let mut config = self.options.config().map_err(StatementError::Unreachable)?;
        config.connect_timeout(self.patience.host);
        let connect = async {
            match self.options.tls().map_err(StatementError::Unreachable)? {
                Some(tls) => {
                    let (client, connection) =
                        config.connect(MakeRustlsConnect::new(tls)).await.map_err(unreachable)?;
                    tokio::spawn(connection);
                    Ok(client)
                }
                None => {
                    let (client, connection) = config.connect(NoTls).await.map_err(unreachable)?;
                    tokio::spawn(connection);
                    Ok(client)
                }
            }
        };
        let most = self.patience.connect;
        let connected = tokio::time::timeout(most, connect).await;
        connected.map_err(|_| StatementError::Unreachable(format!("no answer within {} s", most.as_secs())))?
    }
}

/// Whether the server says by it that it ended the session (an administrator's order, a crash, a start), or a pooler that it has no
/// server.
fn ends_session(code: &SqlState) -> bool {
    ["57P", "08"].iter().any(|class| code.code().starts_with(class))
}

/// An error of the library with its causes: its own words alone are "db error" or "error connecting to server".
fn words(error: &dyn std::error::Error) -> String {
    crate::fault::chain(error)
}
