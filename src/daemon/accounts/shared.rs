//! What the accounts of a process share.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::claims::Claims;
use crate::clock::Clock;
use crate::daemon::control::CallerPlaces;
use crate::daemon::folder_events::FolderEvents;
use crate::daemon::page::Pages;
use crate::daemon::runs::RunPlaces;
use crate::daemon::shutdown::CancelHandle;
use crate::daemon::systemd::Manager;

/// Stores that stay open unused in a process of several accounts.
const OPEN_STORES_MAX: usize = 8;

/// What the accounts of a process share.
pub(in crate::daemon) struct Shared {
    pub(in crate::daemon) clock: Clock,
    pub(in crate::daemon) places: Arc<RunPlaces>,
    pub(in crate::daemon) callers: Arc<CallerPlaces>,
    pub(in crate::daemon) claims: Arc<Claims>,
    pub(in crate::daemon) pages: Pages,
    pub(in crate::daemon) reloads: Reloads,
    pub(in crate::daemon) folders: FolderEvents,
    /// Stores that may stay open unused.
    pub(in crate::daemon) open_stores_max: usize,
    /// Asks accounts that have not begun yet to give up.
    pub(in crate::daemon) stopping: CancelHandle,
    /// Asks accounts that end to end at once.
    pub(in crate::daemon) hurry: CancelHandle,
    /// Something changed that the process looks at: what an account says of itself, or which stores are open.
    pub(in crate::daemon) changed: Notify,
}

impl Shared {
    /// What a process of one account has.
    pub(in crate::daemon) fn of_one(clock: &Clock) -> Arc<Self> {
        Self::new(clock, RunPlaces::unlimited(), 1)
    }

    /// What a process of several accounts has.
    pub(in crate::daemon) fn of_several(clock: &Clock) -> Arc<Self> {
        Self::new(clock, RunPlaces::of_this_machine(), OPEN_STORES_MAX)
    }

    fn new(clock: &Clock, places: Arc<RunPlaces>, open_stores_max: usize) -> Arc<Self> {
        Arc::new(Self {
            clock: clock.clone(),
            places,
            callers: CallerPlaces::new(),
            claims: Arc::default(),
            pages: Pages::default(),
            reloads: Reloads::default(),
            folders: FolderEvents::default(),
            open_stores_max,
            stopping: CancelHandle::new(0),
            hurry: CancelHandle::new(0),
            changed: Notify::new(),
        })
    }
}

/// The reloads under way: the service manager hears of the first one's beginning and of the last one's end.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Reloads(Mutex<usize>);

/// A reload, until it is dropped.
pub(in crate::daemon) struct Reload(Arc<Shared>);

impl Reload {
    pub(in crate::daemon) fn begin(shared: &Arc<Shared>) -> Self {
        let mut count = shared.reloads.0.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        if *count == 1 {
            Manager::reloading();
        }
        Self(Arc::clone(shared))
    }
}

impl Drop for Reload {
    fn drop(&mut self) {
        let mut count = self.0.reloads.0.lock().unwrap_or_else(PoisonError::into_inner);
        *count -= 1;
        if *count == 0 {
            Manager::ready();
        }
    }
}
