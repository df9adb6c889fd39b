//! Those who do not stand as they signed and can't be put right: named by every run until a person has seen to it (law 10).

use super::held;
use crate::config::Job;
use crate::plan::Held;
use crate::push;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::JobPlan;
use crate::record::Key;
use crate::snapshot::Owner;
use crate::store::Store;

/// Holds the people that the part owns, in addition to what else waits for them. People who belong to no job are noted
/// by id.
pub(crate) fn hold(store: &Store, part: &Job, prepared: &mut JobPlan) -> Result<(), Error> {
    for (id, reason) in push::astray(store, part.mapping.target)? {
        match Owner::of(store, part.mapping.target, id)? {
            None => prepared.notes.push(format!("id {id} {reason}")),
            Some(owner) if owner.job == part.name => hold_one(store, part, prepared, owner.key, &reason)?,
            // Their own job says so.
            Some(_) => {}
        }
    }
    Ok(())
}

fn hold_one(store: &Store, part: &Job, prepared: &mut JobPlan, key: Key, reason: &str) -> Result<(), Error> {
    if let Some(held) = prepared.held.iter_mut().find(|held| held.key == key) {
        held.reason = format!("{reason}; {}", held.reason).into();
        return Ok(());
    }
    held::wait(store, &part.name, std::iter::once(&key), reason)?;
    prepared.held.push(Held { key, reason: reason.into(), change: None, other: None });
    Ok(())
}
