//! Begins a tenure: opens the store, and goes on where the process was that had it before.
//!
//! Where the state lies in a folder there is nothing to do: all that the process before knew lies there. Where several workers
//! share it, the one before may have ended without a word: then what it left of the budget counts as spent, and what it sent
//! last may be unknown to the state. A whole listing of the service shows that, before anything is sent.
//!
//! That the budget counts as spent for a minute also keeps look-ups (law 3) until after the last write that the one before can
//! have had on its way.

use super::restored_state;
use crate::api::BudgetPlace;
use crate::config::Config;
use crate::crash;
use crate::mirror;
use crate::record::Target;
use crate::store::{self, Batch, Predecessor, Store};

/// Opens the store of a configuration.
pub fn open_store(config: &Config) -> Result<Store, store::Error> {
    let store = Store::open(&config.state.home)?;
    let BudgetPlace::Shared(budget) = &config.api.budget else { return Ok(store) };
    if let Some(Predecessor { budget: left, is_lost, sends_for }) = store.predecessor() {
        // What was sent since a dump was made that was laid back is not in it.
        let left = match left {
            Some(left) if !restored_state::is_new_copy(&store)? => Some(left),
            _ => None,
        };
        match left {
            Some((left, age)) => budget.take_over(&left, age),
            None if crash::all_arrived() => {}
            None => budget.count_as_spent(sends_for),
        }
        // What a further credential has left is not handed over.
        for further in &config.api.further {
            if let BudgetPlace::Shared(budget) = &further.budget {
                budget.count_as_spent(sends_for);
            }
        }
        if is_lost {
            tracing::warn!(
                "the worker before this one did not end in good order: its last requests are looked up, and the service is listed as a whole"
            );
            let mut batch = Batch::default();
            for target in Target::ALL {
                mirror::force_full_listing(&mut batch, &store, *target)?;
            }
            store.commit(batch)?;
        }
    }
    let budget = budget.clone();
    store.hands_over(Box::new(move || budget.hand_over()));
    Ok(store)
}
