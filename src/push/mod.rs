//! Drains the queue: change → calls → answer → snapshot.
//!
//! Invariants:
//! - A request that changes something leaves only after its change is on disk as sent, and its outcome is one commit:
//!   snapshot, owner, mirror and queue together (law 3, law 5).
//! - A PUT is built from a copy read just before it, with the owned fields laid on top; what came back is compared, and
//!   a service that clears a field which the change does not touch stops the push (law 2).
//! - A create whose fate is unknown is looked up twice, 3 seconds apart, before it is sent again (law 3). An update or
//!   a removal of unknown fate starts again with a fresh copy.
//! - Only a person who is not on site is removed, and a person who signs in or out during an update keeps the presence
//!   that they signed (law 10): see [`Presence`].
//! - Leavers, joiners, movers and photos go one after the other, several requests in flight within each (law 12).
//!
//! Rejected: repeating failed writes inside the client. Only here it is known what a write was for, and so whether it has
//! happened.

mod attempt;
mod circuit_breaker;
mod commit;
mod error;
mod identity;
mod lanes;
mod outcome;
mod photo;
mod presence;
mod recover;
mod refused;
mod request;
mod resolve_unknown;
mod taken;
mod schedule;
mod stop_reason;

use smol_str::SmolStr;

use circuit_breaker::CircuitBreaker;
pub use error::Error;
use lanes::Lanes;
pub use lanes::same_account;
pub use outcome::{Outcome, Witness};
pub use photo::Photos;
pub(crate) use presence::ECHOES;
pub use presence::{Presence, astray};
pub use stop_reason::StopReason;

use crate::api::Client;
use crate::clock::Clock;
use crate::mirror::Mirror;
use crate::plan::Protection;
use crate::queue::{self, Change, Ticket};
use crate::record::{Action, Field, JobName, Key, Target};
use crate::store::Store;

/// What a push works with.
#[derive(Clone, Copy)]
pub struct Push<'a> {
    /// The service.
    pub client: &'a Client,
    /// Where outcomes go.
    pub store: &'a Store,
    /// The time of removals.
    pub clock: &'a Clock,
    /// What is pushed.
    pub target: Target,
    /// The fields that the job maps, or sets in leavers.
    pub fields: &'a [Field],
    /// Those of them that are set when a person is created, and never again.
    pub seed_only: &'a [SmolStr],
    /// None of them is removed.
    pub protection: &'a Protection,
    /// The fields by which a person of unknown fate is looked up, in this order.
    pub match_on: &'a [SmolStr],
    /// Watches over the presence of people.
    pub presence: &'a Presence<'a>,
    /// Where photos come from.
    pub photos: &'a dyn Photos,
    /// Receives every outcome.
    pub witness: &'a dyn Witness,
}

/// What became of the changes of a push.
#[derive(Debug, Default)]
pub struct Drained {
    /// By key; every change is in it that was queued when its turn came.
    pub outcomes: Vec<(Key, Action, Outcome)>,
    /// Why the push stopped before the end, where it did.
    pub stopped: Option<StopReason>,
    /// Further things worth knowing.
    pub notes: Vec<String>,
}

impl Drained {
    /// What was confirmed, in its order.
    pub fn confirmed(&self) -> impl Iterator<Item = (&Key, Action)> + Clone {
        let confirmed = self.outcomes.iter().filter(|(_, _, outcome)| *outcome == Outcome::Confirmed);
        confirmed.map(|(key, action, _)| (key, *action))
    }
}

/// How far a push has come.
struct Progress<'a> {
    job: &'a JobName,
    breaker: &'a CircuitBreaker<'a>,
    /// The further credentials that take part.
    lanes: Lanes<'a>,
    drained: Drained,
    /// Creates of people who exist already, which are updates by now.
    adopted: Vec<Ticket>,
}

impl Progress<'_> {
    /// How many changes had a clear outcome, or became others.
    fn clear(&self) -> usize {
        let clear = |outcome: &Outcome| !matches!(outcome, Outcome::Undelivered(_));
        self.drained.outcomes.iter().filter(|(_, _, outcome)| clear(outcome)).count() + self.adopted.len()
    }

    /// Takes note of what became of a change.
    fn note(&mut self, push: &Push<'_>, change: Change, outcome: Outcome) {
        let (job, key, action) = (change.job.as_str(), change.key.as_str(), change.wish.action.name());
        let result = outcome.describe();
        tracing::debug!(job, key, action, outcome = result, "{job}: {action} of {key}: {result}");
        push.witness.outcome(&change, &outcome);
        self.drained.outcomes.push((change.key, change.wish.action, outcome));
    }
}

impl Push<'_> {
    /// Works through changes of the queue of a job, and verifies the presence of those who are updated. Changes that
    /// could not be delivered stay in the queue.
    pub async fn drain(&self, mirror: &mut Mirror, job: &JobName, tickets: Vec<Ticket>) -> Result<Drained, Error> {
        self.presence.reopen();
        let work = async {
            let drained = self.work(mirror, job, tickets).await;
            self.presence.close();
            drained
        };
        let (drained, notes) = tokio::join!(work, self.presence.watch());
        let mut drained = drained?;
        drained.notes.extend(notes?);
        Ok(drained)
    }

    async fn work(&self, mirror: &mut Mirror, job: &JobName, mut tickets: Vec<Ticket>) -> Result<Drained, Error> {
        queue::order(&mut tickets);
        let photos = self.fields.iter().any(|field| field.name == Target::PHOTO);
        let mut with_photos: Vec<Key> = tickets.iter().filter(|_| photos).map(|ticket| ticket.key.clone()).collect();
        with_photos.sort_unstable();
        let breaker = CircuitBreaker::new(tickets.len());
        let lanes = Lanes::for_changes(self.client, &breaker, tickets.len());
        let (drained, adopted) = (Drained::default(), Vec::new());
        let mut progress = Progress { job, breaker: &breaker, lanes, drained, adopted };
        tickets.retain(|ticket| !ticket.only_photo);
        for action in [Action::Delete, Action::Create, Action::Update] {
            let (mut mine, rest): (Vec<Ticket>, _) = tickets.into_iter().partition(|ticket| ticket.action == action);
            tickets = rest;
            if action == Action::Update {
                mine.append(&mut progress.adopted);
            }
            self.phase(mirror, mine, &mut progress).await?;
        }
        if !with_photos.is_empty() {
            let photos = self.photos_of(job, &with_photos)?;
            for some in photos.chunks(self.photos.at_once()) {
                self.phase(mirror, self.gather(some, &breaker), &mut progress).await?;
            }
        }
        let mut drained = progress.drained;
        drained.notes.extend(progress.lanes.notes());
        Ok(Drained { stopped: breaker.reason(), ..drained })
    }
}

impl Drained {
    /// Adds what became of further changes.
    pub fn add(&mut self, other: Self) {
        self.outcomes.extend(other.outcomes);
        self.stopped = self.stopped.take().or(other.stopped);
        self.notes.extend(other.notes);
    }

    /// Takes a stop that is no failure out of the summary, with the changes that were left for it: they stay queued. Returns
    /// the reason and how many they are; `None` where nothing stopped the push, or something else did.
    pub fn excuse(&mut self, is_no_failure: fn(&StopReason) -> bool) -> Option<(StopReason, usize)> {
        let reason = self.stopped.take_if(|reason| is_no_failure(reason))?;
        let before = self.outcomes.len();
        self.outcomes.retain(|(_, _, outcome)| !matches!(outcome, Outcome::Undelivered(left) if is_no_failure(left)));
        Some((reason, before - self.outcomes.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_excused_by_its_kind_whatever_its_words() {
        let failed = |words: &str| StopReason::Failed(words.to_owned());
        let is_interruption = |reason: &StopReason| *reason == StopReason::Interrupted;
        for (stopped, left, expected, stay) in [
            (Some(StopReason::Interrupted), StopReason::Interrupted, Some(1), 1),
            (Some(StopReason::Interrupted), failed("interrupted"), Some(0), 2),
            (Some(failed("interrupted")), failed("interrupted"), None, 2),
            (Some(StopReason::Paused("interrupted".to_owned())), StopReason::Interrupted, None, 2),
            (None, StopReason::Interrupted, None, 2),
        ] {
            let key = || Key::new("1").unwrap();
            let outcomes = vec![
                (key(), Action::Update, Outcome::Confirmed),
                (key(), Action::Update, Outcome::Undelivered(left.clone())),
            ];
            let mut drained = Drained { outcomes, stopped: stopped.clone(), notes: Vec::new() };
            let excused = drained.excuse(is_interruption);
            assert_eq!(excused.map(|(_, count)| count), expected, "{stopped:?} {left:?}");
            assert_eq!(drained.outcomes.len(), stay, "{stopped:?} {left:?}");
            assert_eq!(drained.stopped.is_some(), stopped.is_some() && expected.is_none(), "{stopped:?} {left:?}");
        }
    }
}
