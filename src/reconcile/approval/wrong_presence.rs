//! Those who do not stand as they signed and can't be put right: named by every run until a person has seen to it (law 10).

use super::held;
use crate::config::Job;
use crate::plan::HoldReason;
use crate::push;
use crate::reconcile::model::error::Error;
use crate::record::Key;
use crate::snapshot::Owner;
use crate::store::Store;

/// Holds the people that the part owns, in addition to what else waits for them. People who belong to no job are noted
/// by id.
pub(crate) fn hold(store: &Store, part: &Job, waits: &mut Vec<(Key, HoldReason)>) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    for (id, reason) in push::astray(store, part.mapping.target)? {
        match Owner::of(store, part.mapping.target, id)? {
            None => notes.push(format!("id {id} {reason}")),
            Some(Owner { job, key }) if job == part.name => match waits.iter_mut().find(|(held, _)| *held == key) {
                Some((_, held)) => held.precede(reason.into()),
                None => {
                    let reason = HoldReason::from(reason);
                    held::wait(store, &part.name, std::iter::once(&key), &reason)?;
                    waits.push((key, reason));
                }
            },
            // Their own job says so.
            Some(_) => {}
        }
    }
    Ok(notes)
}
