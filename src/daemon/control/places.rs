//! Limits how many commands of callers run at a time: in the process, whichever account they are for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::call::Caller;

/// Commands at a time.
pub(super) const PLACES: usize = 32;
/// Those of one user who is neither root nor the daemon's own.
pub(super) const PLACES_OF_ONE: usize = 8;
/// Those of all such users.
const PLACES_OF_OTHERS: usize = 24;

/// The places for commands of a process.
#[derive(Debug)]
pub(in crate::daemon) struct CallerPlaces {
    all: Arc<Semaphore>,
    others: Mutex<BTreeMap<u32, usize>>,
}

/// Those of one account: as many as there are, of which the others have some.
#[derive(Debug)]
pub(super) struct CallSlots {
    places: Arc<CallerPlaces>,
    own: Arc<Semaphore>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct CallSlot {
    _permits: [OwnedSemaphorePermit; 2],
    of: Option<(Arc<CallerPlaces>, u32)>,
}

impl CallerPlaces {
    pub(in crate::daemon) fn new() -> Arc<Self> {
        Arc::new(Self { all: Arc::new(Semaphore::new(PLACES)), others: Mutex::default() })
    }
}

impl CallSlots {
    pub(super) fn new(places: &Arc<CallerPlaces>) -> Arc<Self> {
        Arc::new(Self { places: Arc::clone(places), own: Arc::new(Semaphore::new(PLACES)) })
    }

    /// A place for a caller, or why there is none.
    pub(super) fn take(&self, caller: &Caller) -> Result<CallSlot, String> {
        let busy = || "the daemon runs as many commands as it can: try again when one has ended".to_owned();
        let mut others = self.places.others.lock().unwrap_or_else(PoisonError::into_inner);
        if !caller.is_privileged() {
            let own = others.get(&caller.uid()).copied().unwrap_or_default();
            if own >= PLACES_OF_ONE {
                return Err(format!("the daemon runs {own} commands of this user: try again when one has ended"));
            }
            if others.values().sum::<usize>() >= PLACES_OF_OTHERS {
                return Err(busy());
            }
        }
        let permit = |of: &Arc<Semaphore>| Arc::clone(of).try_acquire_owned().map_err(|_| busy());
        let permits = [permit(&self.places.all)?, permit(&self.own)?];
        if caller.is_privileged() {
            return Ok(CallSlot { _permits: permits, of: None });
        }
        *others.entry(caller.uid()).or_default() += 1;
        Ok(CallSlot { _permits: permits, of: Some((Arc::clone(&self.places), caller.uid())) })
    }

    /// Waits until every command of the account has ended, for as long as that may take.
    pub(super) async fn free(&self, longest: Duration) {
        let all = u32::try_from(PLACES).expect("a small number");
        // A caller that is late gets the message that the daemon ended.
        let _ = tokio::time::timeout(longest, self.own.acquire_many(all)).await;
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        let Some((places, uid)) = &self.of else { return };
        let mut others = places.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = others.get_mut(uid) {
            *count -= 1;
            if *count == 0 {
                others.remove(uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_user_takes_all_places_but_root() {
        let places = CallerPlaces::new();
        let accounts = [CallSlots::new(&places), CallSlots::new(&places)];
        let of = |uid: u32| accounts[uid as usize % 2].take(&Caller::User(uid));
        let mut taken = Vec::new();
        for uid in [70_001, 70_002, 70_003] {
            taken.extend((0..PLACES_OF_ONE).map(|_| of(uid).unwrap()));
            assert!(of(uid).is_err());
        }
        assert!(of(70_004).is_err(), "the rest is for root and the daemon's own user");
        let own = rustix::process::geteuid().as_raw();
        taken.extend((taken.len()..PLACES).map(|at| of(if at % 2 == 0 { 0 } else { own }).unwrap()));
        assert!(of(0).is_err());
        taken.remove(0);
        taken.push(of(70_001).unwrap());
        assert!(of(70_001).is_err());
        taken.clear();
        assert!(of(70_004).is_ok());
        assert!(places.others.lock().unwrap().is_empty(), "nothing is kept of those who went");
    }
}
