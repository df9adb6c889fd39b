//! Warnings about the environment: another program writes to the same people or uses the same credential, or a clock is
//! wrong.
//!
//! Two jobs of one state never own the same entity (law 6), but two machines may: each takes the other's writes for
//! edits and sets them back, run after run. Nothing here stops that; the warning lets a person stop it.

use jiff::SignedDuration;

use crate::api::Client;
use crate::config::Job;
use crate::push::Drained;
use crate::reconcile::model::error::Error;
use crate::record::Key;
use crate::snapshot::SyncedRecord;
use crate::store::Store;
use crate::text::{counted, some_of};

/// An edit may be undone once, and made again by a person who did not see why. Not so often.
const EDITS_IN_A_ROW: u32 = 3;
/// How many people a note names; the rest is counted.
const NAMED_MAX: usize = 5;

/// What is worth telling after a push.
pub(crate) fn notes(client: &Client, store: &Store, job: &Job, drained: &Drained) -> Result<Vec<String>, Error> {
    let mut contested = Vec::new();
    for (key, _) in drained.confirmed() {
        if SyncedRecord::get(store, &job.name, key)?.is_some_and(|known| known.edits >= EDITS_IN_A_ROW) {
            contested.push(key);
        }
    }
    let signs = [people(&contested), credential(client.throttled()), clocks(client.ahead())];
    Ok(signs.into_iter().flatten().collect())
}

fn people(contested: &[&Key]) -> Option<String> {
    if contested.is_empty() {
        return None;
    }
    let who = counted(contested.len(), "person was", "people were");
    let named = some_of(contested.iter().map(|key| key.to_string()), NAMED_MAX);
    Some(format!(
        "{who} changed at the service again each time after rosterd had set them, the last {EDITS_IN_A_ROW} times at least: \
         {named}; another program, another rosterd or a person holds other values (see on_drift and seed_only)"
    ))
}

fn credential(throttled: u64) -> Option<String> {
    let times = match throttled {
        0 => return None,
        1 => "once".to_owned(),
        many => format!("{many} times"),
    };
    Some(format!(
        "the service asked {times} to slow down though the limit was kept: another program uses this credential, or \
         requests_per_minute is more than it allows"
    ))
}

fn clocks(ahead: SignedDuration) -> Option<String> {
    let which = match ahead {
        ahead if ahead.abs() < Client::CLOCKS_APART => return None,
        ahead if ahead.is_negative() => "ahead of",
        _ => "behind",
    };
    let minutes = ahead.abs().as_mins();
    let goes_by = if ahead.is_negative() {
        "Grace and active_until go by the service's clock until then, schedules by this one"
    } else {
        "Schedules and active_until go by this machine's clock"
    };
    Some(format!(
        "this machine's clock is {minutes} minutes {which} the service's; is time synchronization on? {goes_by}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_named_and_the_rest_is_counted() {
        let keys: Vec<Key> = (0..7).map(|number| Key::new(&number.to_string()).unwrap()).collect();
        let keys: Vec<&Key> = keys.iter().collect();
        assert_eq!((people(&[]), credential(0)), (None, None));
        assert!(people(&keys[..1]).unwrap().starts_with("1 person was changed"));
        assert!(crate::record::reveal(&people(&keys).unwrap()).contains(": 0, 1, 2, 3, 4 and 2 more; another program"));
        let clocks = |minutes| clocks(SignedDuration::from_mins(minutes));
        assert_eq!((clocks(4), clocks(-4)), (None, None));
        assert!(clocks(10).unwrap().contains("10 minutes behind") && clocks(-10).unwrap().contains("minutes ahead of"));
        assert!(credential(1).unwrap().contains("asked once to slow down"));
    }
}
