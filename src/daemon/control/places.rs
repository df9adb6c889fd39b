//! Limits how many commands of callers run at a time.

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

/// The places for commands.
#[derive(Debug)]
pub(super) struct CallSlots {
    all: Arc<Semaphore>,
    others: Mutex<BTreeMap<u32, usize>>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct CallSlot {
    _permit: OwnedSemaphorePermit,
    of: Option<(Arc<CallSlots>, u32)>,
}

impl CallSlots {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { all: Arc::new(Semaphore::new(PLACES)), others: Mutex::default() })
    }

    /// A place for a caller, or why there is none.
    pub(super) fn take(self: &Arc<Self>, caller: Caller) -> Result<CallSlot, String> {
        let busy = || "the daemon runs as many commands as it can: try again when one has ended".to_owned();
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if !caller.is_privileged() {
            let own = others.get(&caller.uid).copied().unwrap_or_default();
            if own >= PLACES_OF_ONE {
                return Err(format!("the daemon runs {own} commands of this user: try again when one has ended"));
            }
            if others.values().sum::<usize>() >= PLACES_OF_OTHERS {
                return Err(busy());
            }
        }
        let permit = Arc::clone(&self.all).try_acquire_owned().map_err(|_| busy())?;
        if caller.is_privileged() {
            return Ok(CallSlot { _permit: permit, of: None });
        }
        *others.entry(caller.uid).or_default() += 1;
        Ok(CallSlot { _permit: permit, of: Some((Arc::clone(self), caller.uid)) })
    }

    /// Waits until every command has ended, for as long as that may take.
    pub(super) async fn free(&self, longest: Duration) {
        let all = u32::try_from(PLACES).expect("a small number");
        // A caller that is late gets the message that the daemon ended.
        let _ = tokio::time::timeout(longest, self.all.acquire_many(all)).await;
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
        let places = CallSlots::new();
        let of = |uid| places.take(Caller { uid });
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
