//! The state that all requests share: the options, the store, the clock, credentials, faults and the limit of requests.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::credential::Credentials;
use crate::error::Error;
use crate::fault::Fault;
use crate::fault_rules::FaultRules;
use crate::gate::Gate;
use crate::options::Options;
use crate::rate::Rate;
use crate::store::Store;
use crate::traffic::Traffic;
use crate::zone::ServiceClock;

/// What all requests share.
pub(crate) struct Service {
    pub(crate) options: Options,
    pub(crate) store: Store,
    pub(crate) clock: ServiceClock,
    pub(crate) credentials: Credentials,
    /// Whether the account has the add-on for assets now.
    pub(crate) assets: AtomicBool,
    rate: Mutex<Rate>,
    faults: Mutex<FaultRules>,
    /// Where a request waits that a fault holds.
    pub(crate) gate: Gate,
    traffic: Mutex<Traffic>,
}

impl Service {
    pub(crate) fn open(mut options: Options, store: Store) -> Result<Self, Error> {
        let faults = std::mem::take(&mut options.faults);
        Ok(Self {
            clock: ServiceClock::new(options.clock.clone(), options.clock_offset),
            credentials: Credentials::open(&options)?,
            assets: AtomicBool::new(options.assets),
            rate: Mutex::new(Rate::new(options.rate, options.window)),
            faults: Mutex::new(FaultRules::new(faults)),
            gate: Gate::new(),
            traffic: Mutex::new(Traffic::new()),
            options,
            store,
        })
    }

    pub(crate) fn rate(&self) -> MutexGuard<'_, Rate> {
        self.rate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn faults(&self) -> MutexGuard<'_, FaultRules> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the present faults by others. Requests that the old ones held continue, since nothing could release
    /// them any more.
    pub(crate) fn set_faults(&self, faults: Vec<Fault>) {
        *self.faults() = FaultRules::new(faults);
        self.gate.open();
    }

    pub(crate) fn traffic(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of the data folder.
    pub(crate) fn close(&self) {
        self.store.close();
        self.credentials.close();
        self.gate.open();
    }
}
