//! The status pages of a process: accounts that name the same address share one. If an address is taken, the daemon works
//! without the page, reports that, and tries again: a program that takes a port must not stop synchronization.
//!
//! An account that does not run is shown on every page: which address it would have is not known.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::clock::Clock;
use crate::config::Status;
use crate::fault::chain;
use crate::status::{Board, Hosts, Server, ShownAccount, Unserved};

/// How often it is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// The pages of a process.
#[derive(Default)]
pub(super) struct Pages {
    pages: Mutex<BTreeMap<SocketAddr, Arc<SharedPage>>>,
    /// The accounts that don't run, by name.
    stopped: Mutex<BTreeMap<String, Arc<ShownAccount>>>,
    /// Held while an address is taken, so that of several accounts one takes it.
    binding: tokio::sync::Mutex<()>,
}

/// One of them.
struct SharedPage {
    board: Arc<Board>,
    /// Accounts that keep it served.
    anchors: AtomicUsize,
    /// Why it is not served, where it is not.
    unserved: watch::Sender<Option<Unserved>>,
    /// Names that accounts have given, as far as it is not served yet.
    hosts: Mutex<Vec<String>>,
    /// Those under which it is asked, once it is served.
    served: Mutex<Option<Hosts>>,
    task: Mutex<Option<AbortHandle>>,
}

/// An account on a page, until it is taken off.
pub(super) struct OnPage {
    address: SocketAddr,
    name: Option<String>,
    /// Why the page is not served.
    pub(super) unserved: watch::Receiver<Option<Unserved>>,
}

/// Keeps a page served, whether or not there is an account on it that runs.
#[derive(Debug)]
pub(super) struct Anchor(SocketAddr);
impl OnPage {
    /// Whether another account with its name is on the same page.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.address == other.address && self.name == other.name
    }
}

impl Pages {
    /// Serves the page of that address from now on; nothing where it is turned off.
    pub(super) async fn keep(&self, options: &Status, clock: &Clock) -> Option<Anchor> {
        let address = options.listen?;
        let page = self.begun(address, &options.hosts, clock).await;
        page.anchors.fetch_add(1, Ordering::SeqCst);
        Some(Anchor(address))
    }

    /// That page is served for accounts that run only.
    pub(super) fn let_go(&self, anchor: &Anchor) {
        let mut pages = self.lock();
        if let Some(page) = pages.get(&anchor.0) {
            page.anchors.fetch_sub(1, Ordering::SeqCst);
        }
        self.end_if_empty(&mut pages, anchor.0);
    }

    /// Puts an account on the page of its address, and serves that, where it is not served yet; nothing where it is turned off.
    pub(super) async fn put_on(&self, options: &Status, shown: Arc<ShownAccount>, clock: &Clock) -> Option<OnPage> {
        let address = options.listen?;
        let page = self.begun(address, &options.hosts, clock).await;
        let name = shown.name().map(str::to_owned);
        page.board.show(shown);
        Some(OnPage { address, name, unserved: page.unserved.subscribe() })
    }

    /// The page of an address, which is served from now on.
    async fn begun(&self, address: SocketAddr, hosts: &[String], clock: &Clock) -> Arc<SharedPage> {
        let _one = self.binding.lock().await;
        let known = self.lock().get(&address).cloned();
        let page = match known {
            Some(page) => page,
            None => SharedPage::begin(address, hosts, clock).await,
        };
        page.is_asked_as(hosts);
        self.lock().insert(address, Arc::clone(&page));
        // Once it is among the pages: what stops from now on is shown on it too.
        self.stopped().values().for_each(|shown| page.board.show(Arc::clone(shown)));
        page
    }

    /// Takes an account off its page; a page without any is not served any more.
    pub(super) fn take_off(&self, on: &OnPage) {
        let mut pages = self.lock();
        if let Some(page) = pages.get(&on.address) {
            page.board.hide(on.name.as_deref());
        }
        self.end_if_empty(&mut pages, on.address);
    }

    fn end_if_empty(&self, pages: &mut BTreeMap<SocketAddr, Arc<SharedPage>>, address: SocketAddr) {
        let Some(page) = pages.get(&address) else { return };
        let stopped = self.stopped();
        let is_empty =
            page.board.names().iter().all(|name| name.as_ref().is_some_and(|name| stopped.contains_key(name)));
        if is_empty && page.anchors.load(Ordering::SeqCst) == 0 {
            page.end();
            pages.remove(&address);
        }
    }

    /// Shows on every page that an account does not run.
    pub(super) fn show_stopped(&self, name: &str, shown: Arc<ShownAccount>) {
        self.stopped().insert(name.to_owned(), Arc::clone(&shown));
        self.lock().values().for_each(|page| page.board.show(Arc::clone(&shown)));
    }

    /// That account runs, or is there no more.
    pub(super) fn hide_stopped(&self, name: &str) {
        if self.stopped().remove(name).is_some() {
            self.lock().values().for_each(|page| page.board.hide(Some(name)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Arc<SharedPage>>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> MutexGuard<'_, BTreeMap<String, Arc<ShownAccount>>> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedPage {
    async fn begin(address: SocketAddr, hosts: &[String], clock: &Clock) -> Arc<Self> {
        let page = Arc::new(Self {
            board: Arc::default(),
            anchors: AtomicUsize::new(0),
            unserved: watch::Sender::new(None),
            hosts: Mutex::new(hosts.to_vec()),
            served: Mutex::default(),
            task: Mutex::default(),
        });
        let server = page.bind(address, clock).await;
        let serves = {
            let (page, clock) = (Arc::clone(&page), clock.clone());
            async move {
                let mut server = server;
                loop {
                    if let Some(server) = server {
                        return server.serve(Arc::clone(&page.board)).await;
                    }
                    tokio::time::sleep(AGAIN).await;
                    server = page.bind(address, &clock).await;
                }
            }
        };
        *page.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(tokio::spawn(serves).abort_handle());
        page
    }

    /// Takes the address; `None` where it can't be had for now.
    async fn bind(&self, address: SocketAddr, clock: &Clock) -> Option<Server> {
        let before = self.unserved.borrow().clone();
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match Server::bind(address, &hosts).await {
            Ok(server) => {
                let address = server.address();
                tracing::info!(%address, "the status page answers at http://{address}/");
                *self.served.lock().unwrap_or_else(PoisonError::into_inner) = Some(server.hosts());
                self.is_asked_as(&[]);
                self.unserved.send_replace(None);
                Some(server)
            }
            Err(error) => {
                let reason = chain(&error);
                if before.is_none() {
                    tracing::error!(
                        reason,
                        "the daemon works without its status page, metrics and health, and tries again: {reason}; free the \
                         address, or set status.listen to another"
                    );
                }
                let since = before.map_or_else(|| clock.now(), |before| before.since);
                self.unserved.send_replace(Some(Unserved { since, reason }));
                None
            }
        }
    }

    /// It is asked under these names as well.
    fn is_asked_as(&self, names: &[String]) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.extend_from_slice(names);
        hosts.sort_unstable();
        hosts.dedup();
        if let Some(served) = &*self.served.lock().unwrap_or_else(PoisonError::into_inner) {
            served.add(&hosts);
        }
    }

    fn end(&self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}
