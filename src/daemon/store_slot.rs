//! The store of an account: open, closed while it is not needed, or lost to an error.
//!
//! Invariant: while the store is closed this process has its lock, so what was read of it when it was closed stays true.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::config::Config;
use crate::reconcile;
use crate::status::Remembered;
use crate::store::{self, ClosedStore, Store};

/// The store of an account.
pub(super) struct StoreSlot {
    slot: Arc<RwLock<Slot>>,
    is_open: AtomicBool,
    /// Whether another process took the state over.
    fenced: AtomicBool,
    /// Whether it can be closed and kept.
    can_rest: bool,
    used: Mutex<Instant>,
}

/// How it is.
pub(super) enum Slot {
    Open(Box<Store>),
    /// With what is remembered in it, for the configuration under which that was read.
    Closed(ClosedStore, Option<(Arc<Config>, Remembered)>),
    /// While one command has it for itself, or after it could not be opened again.
    Gone,
}

impl Slot {
    fn open(&self) -> Option<&Store> {
        match self {
            Self::Open(store) => Some(store),
            Self::Closed(..) | Self::Gone => None,
        }
    }
}

/// A store that others use as well, for as long as it is held.
pub struct StoreGuard(OwnedRwLockReadGuard<Slot, Store>);

impl Deref for StoreGuard {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.0
    }
}

impl StoreSlot {
    pub(super) fn new(store: Store) -> Self {
        let can_rest = store.home().folder().is_some();
        Self {
            slot: Arc::new(RwLock::new(Slot::Open(Box::new(store)))),
            is_open: AtomicBool::new(true),
            fenced: AtomicBool::new(false),
            can_rest,
            used: Mutex::new(Instant::now()),
        }
    }

    /// The store, for as long as the guard is held; opened first where it is not.
    pub(super) async fn shared(&self, config: &Config) -> Result<StoreGuard, store::Error> {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let guard = Arc::clone(&self.slot).read_owned().await;
        if let Ok(shared) = OwnedRwLockReadGuard::try_map(guard, Slot::open) {
            return Ok(StoreGuard(shared));
        }
        let mut slot = Arc::clone(&self.slot).write_owned().await;
        self.fill(&mut slot, config)?;
        let guard = OwnedRwLockWriteGuard::downgrade(slot);
        Ok(StoreGuard(OwnedRwLockReadGuard::map(guard, |slot| slot.open().expect("it was just opened"))))
    }

    /// The store for one user alone.
    pub(super) async fn alone(&self) -> OwnedRwLockWriteGuard<Slot> {
        Arc::clone(&self.slot).write_owned().await
    }

    /// Opens it where it is not open.
    pub(super) fn fill(&self, slot: &mut Slot, config: &Config) -> Result<(), store::Error> {
        let store = match slot {
            Slot::Open(_) => return Ok(()),
            Slot::Closed(closed, _) => closed.open()?,
            Slot::Gone if self.fenced.load(Ordering::SeqCst) => {
                return Err(config.state.home.error(store::ErrorKind::Fenced));
            }
            // Who took it over while this process could not keep it has it for good, as one that fenced this process off.
            Slot::Gone => reconcile::open_store(config).inspect_err(|error| {
                let is_taken = matches!(error.kind, store::ErrorKind::Leased { .. });
                self.fenced.fetch_or(is_taken, Ordering::SeqCst);
            })?,
        };
        *slot = Slot::Open(Box::new(store));
        self.is_open.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Takes the store out, for who has it alone.
    pub(super) fn take(&self, slot: &mut Slot, config: &Config) -> Result<Store, store::Error> {
        self.fill(slot, config)?;
        self.is_open.store(false, Ordering::SeqCst);
        match std::mem::replace(slot, Slot::Gone) {
            Slot::Open(store) => Ok(*store),
            Slot::Closed(..) | Slot::Gone => unreachable!("it was just opened"),
        }
    }

    /// Lets the store and its folder go; the next user opens it again.
    pub(super) fn let_go(&self, slot: &mut Slot) {
        // One that another process took over is not opened again: the account ends, and stands by when it is begun again.
        self.fenced.fetch_or(slot.open().is_some_and(is_lost), Ordering::SeqCst);
        *slot = Slot::Gone;
        self.is_open.store(false, Ordering::SeqCst);
    }

    /// When it was asked for last, where it is open and could be closed.
    pub(super) fn open_since(&self) -> Option<Instant> {
        let is_open = self.can_rest && self.is_open.load(Ordering::SeqCst);
        is_open.then(|| *self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Closes it, unless it is in use. Blocks.
    pub(super) fn rest(&self, config: &Arc<Config>) {
        let Ok(mut slot) = Arc::clone(&self.slot).try_write_owned() else { return };
        let Some(store) = slot.open() else { return };
        let remembered = Remembered::read(store, config).ok().map(|read| (Arc::clone(config), read));
        let Slot::Open(store) = std::mem::replace(&mut *slot, Slot::Gone) else { return };
        *slot = match store.close() {
            Ok(closed) => {
                self.is_open.store(false, Ordering::SeqCst);
                Slot::Closed(closed, remembered)
            }
            Err(store) => Slot::Open(store),
        };
    }

    /// Whether another process has taken the state over, or may have.
    pub(super) fn is_fenced(&self) -> bool {
        let slot = self.slot.try_read();
        self.fenced.load(Ordering::SeqCst) || slot.is_ok_and(|slot| slot.open().is_some_and(is_lost))
    }

    /// What is remembered in a store that is closed, and whether its disk is full; nothing where it has to be opened for that.
    pub(super) async fn remembered(&self, config: &Arc<Config>) -> Option<(Remembered, bool)> {
        match &*self.slot.read().await {
            Slot::Closed(closed, Some((read_under, remembered))) if Arc::ptr_eq(read_under, config) => {
                Some((remembered.clone(), closed.is_full()))
            }
            Slot::Open(_) | Slot::Closed(..) | Slot::Gone => None,
        }
    }
}

/// Whether another process has taken a store over, or may have.
fn is_lost(store: &Store) -> bool {
    store.before_sending().is_err_and(|error| matches!(error.kind, store::ErrorKind::Fenced))
}
