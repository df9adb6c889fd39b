//! How things are in a world, gathered in this process as the daemon gathers it; and plain requests to what serves it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rosterd::api::{Client, Traffic};
use rosterd::clock::Clock;
use rosterd::config::Config;
use rosterd::status::{Board, Counters, Gather, LiveJobState, Server, ShownAccount, Snapshot};
use rosterd::store::{self, Home, Store};
use tokio::runtime::Runtime;

use super::World;
use super::daemon::PATIENCE;
use super::inside::open_store;

impl World {
    /// How things are.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.outlast_the_dead();
        gather(&self.checked(), |home| Ok(open_store(home))).unwrap()
    }
}

fn gather(config: &Config, open: Open) -> Result<Snapshot, String> {
    let clock = Clock::system();
    let store = open(&config.state.home).map_err(|error| error.to_string())?;
    let client = Client::new(&config.api, &clock).map_err(|error| error.to_string())?;
    let see = |_: &rosterd::config::Job| Ok(LiveJobState::default());
    Snapshot::gather(&store, config, client.budget(), clock.now(), &see).map_err(|error| error.to_string())
}

/// How a store is opened: at once or not at all, or once its owner lets it go.
type Open = fn(&Home) -> Result<Store, store::Error>;

/// Gathers again for each request that wants it.
struct Fresh {
    config: Config,
    open: Open,
    is_alive: bool,
}

impl Gather for Fresh {
    fn snapshot(&self) -> futures_util::future::BoxFuture<'_, Result<Snapshot, String>> {
        Box::pin(async { gather(&self.config, self.open) })
    }

    fn traffic(&self) -> Traffic {
        Client::new(&self.config.api, &Clock::system()).unwrap().traffic()
    }

    fn is_alive(&self) -> bool {
        self.is_alive
    }
}

/// The status page of a world, on a free port until it is dropped.
pub(crate) struct Served {
    _runtime: Runtime,
    address: SocketAddr,
    pub(crate) counters: Arc<Counters>,
}

impl Served {
    pub(crate) fn of(world: &World) -> Self {
        Self::opening(world, |home| Ok(open_store(home)), true)
    }

    /// The same where another process may have the store, without waiting for it.
    pub(crate) fn of_taken(world: &World) -> Self {
        Self::opening(world, |home| Store::open(home), true)
    }

    /// The same of a daemon whose loop does not turn.
    pub(crate) fn of_still(world: &World) -> Self {
        Self::opening(world, |home| Store::open(home), false)
    }

    fn opening(world: &World, open: Open, is_alive: bool) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let server = runtime.block_on(Server::bind("127.0.0.1:0".parse().unwrap(), &[])).unwrap();
        let (address, counters) = (server.address(), Arc::new(Counters::default()));
        let fresh = Arc::new(Fresh { config: world.checked(), open, is_alive });
        runtime.spawn(server.serve(Board::of(ShownAccount::new(None, fresh, Arc::clone(&counters)))));
        Self { _runtime: runtime, address, counters }
    }

    /// What a path answers: status, head and body.
    pub(crate) fn get(&self, path: &str) -> (u16, String, String) {
        get(self.address, path)
    }
}

/// What a path at an address answers: status, head and body.
pub(crate) fn get(address: SocketAddr, path: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), body.to_owned())
}
