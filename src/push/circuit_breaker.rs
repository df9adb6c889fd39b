//! Circuit breaker: ends a push early, or one kind of its changes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::StopReason;
use super::outcome::Witness;
use crate::record::Action;

/// Ends a push before its time, or one kind of change of it, or what one further credential does of it.
#[derive(Default)]
pub(super) struct CircuitBreaker<'a> {
    /// That of the push, where this one is of a further credential.
    of_push: Option<&'a Self>,
    reason: Mutex<Option<StopReason>>,
    denied: Mutex<Vec<(Action, String)>>,
    total: usize,
    refused: AtomicUsize,
    troubles: Mutex<BTreeMap<Action, usize>>,
    streak: AtomicUsize,
}

impl<'a> CircuitBreaker<'a> {
    /// Up to this number, refused changes are chance.
    const REFUSED_FEW: usize = 20;
    /// Above that, this percentage of them is a mistake in the mapping or the service.
    const REFUSED_PERCENT: usize = 5;
    /// From this number on, people who can't be read are a problem of the service, not of the people.
    const TROUBLES_MAX: usize = 5;
    /// From this number on, changes of unknown fate in a row mean that the service is down.
    const STREAK_MAX: usize = 8;

    pub(super) fn new(total: usize) -> Self {
        Self { total, ..Self::default() }
    }

    /// That of a further credential: what stops it does not stop the push.
    pub(super) fn beside(of_push: &'a Self) -> Self {
        Self { of_push: Some(of_push), total: of_push.total, ..Self::default() }
    }

    fn push(&self) -> &Self {
        self.of_push.unwrap_or(self)
    }

    /// Ends the push; the first reason stays.
    pub(super) fn stop(&self, reason: impl Into<StopReason>) {
        self.push().give_up(reason);
    }

    /// Ends what this credential does: with the first one, the push.
    pub(super) fn give_up(&self, reason: impl Into<StopReason>) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason.into());
    }

    /// Why this credential does nothing more, where it is so.
    pub(super) fn reason(&self) -> Option<StopReason> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why nothing more is begun, where it is so.
    pub(super) fn stopped(&self, witness: &dyn Witness) -> Option<StopReason> {
        if let Some(reason) = witness.halted() {
            self.stop(reason);
        }
        self.push().reason()
    }

    /// Ends one kind of change: the others go on. A further credential ends altogether.
    pub(super) fn deny(&self, action: Action, reason: String) {
        match self.of_push {
            Some(_) => self.give_up(reason),
            None => self.denied.lock().unwrap_or_else(PoisonError::into_inner).push((action, reason)),
        }
    }

    /// Why changes of this kind are not sent.
    pub(super) fn denied(&self, action: Action) -> Option<String> {
        let denied = self.push().denied.lock().unwrap_or_else(PoisonError::into_inner);
        denied.iter().find(|(other, _)| *other == action).map(|(_, reason)| reason.clone())
    }

    /// Whether this is a further credential that does nothing more: the others do its work.
    pub(super) fn leaves_it_to_others(&self) -> bool {
        self.of_push.is_some() && self.reason().is_some() && self.push().reason().is_none()
    }

    /// Notes whether a change had a clear outcome.
    pub(super) fn note(&self, clear: bool) {
        if clear {
            self.push().streak.store(0, Ordering::Relaxed);
        } else {
            self.push().streak.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether nothing more is begun before it is known what became of the last changes.
    pub(super) fn holds(&self) -> bool {
        self.push().streak.load(Ordering::Relaxed) >= Self::STREAK_MAX
    }

    /// Begins another round.
    pub(super) fn release(&self) {
        self.push().streak.store(0, Ordering::Relaxed);
    }

    /// Counts a person who could not be read; ends that kind of change where there are too many: those of other kinds have
    /// nothing to do with them (law 8).
    pub(super) fn trouble(&self, action: Action, reason: String) {
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        let count = troubles.entry(action).or_default();
        *count += 1;
        if *count >= Self::TROUBLES_MAX {
            self.deny(action, reason);
        }
    }

    /// Counts a refused change and ends the push where there are too many.
    pub(super) fn refused(&self) {
        let push = self.push();
        let refused = push.refused.fetch_add(1, Ordering::Relaxed) + 1;
        if refused > Self::REFUSED_FEW && refused * 100 > push.total * Self::REFUSED_PERCENT {
            self.stop(format!("the service refused {refused} of {} changes; see which and why first", push.total));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_ends_where_the_service_refuses_many() {
        // (changes, refused, whether it ends)
        for (total, refused, ends) in [
            (100, 20, false),
            (100, 21, true),
            (400, 20, false),
            (400, 21, true),
            (1_000, 50, false),
            (1_000, 51, true),
        ] {
            let breaker = CircuitBreaker::new(total);
            (0..refused).for_each(|_| breaker.refused());
            assert_eq!(breaker.reason().is_some(), ends, "{refused} of {total}");
        }
    }

    #[test]
    fn a_push_ends_where_many_people_can_not_be_read_and_waits_where_much_is_unknown() {
        let breaker = CircuitBreaker::new(100);
        (0..4).for_each(|_| breaker.trouble(Action::Delete, "500".into()));
        assert_eq!(breaker.denied(Action::Delete), None);
        breaker.trouble(Action::Delete, "502".into());
        assert_eq!(breaker.denied(Action::Delete), Some("502".to_owned()));
        assert_eq!((breaker.denied(Action::Create), breaker.reason()), (None, None), "joiners are sent all the same");

        let breaker = CircuitBreaker::new(100);
        (0..7).for_each(|_| breaker.note(false));
        assert!(!breaker.holds());
        breaker.note(false);
        assert!(breaker.holds());
        breaker.note(true);
        assert!(!breaker.holds(), "what becomes of changes is known again");
    }
}
