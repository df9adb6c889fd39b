//! Decides which faults apply to a request, by their counts.

use std::time::Duration;

use crate::chance::draw;
use crate::fault::{Disguise, Effect, Fault, FaultTarget, When};

/// The faults of a sandbox and how often each was asked and struck.
#[derive(Default)]
pub(crate) struct FaultRules {
    rules: Vec<(Fault, Count)>,
}

#[derive(Default)]
struct Count {
    fitting: u64,
    struck: u64,
}

/// What goes wrong with one request.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Strike {
    /// How long it is kept from being carried out.
    pub(crate) before: Duration,
    /// How long its answer is kept back.
    pub(crate) later: Duration,
    /// Whether it waits until it is released before it is carried out.
    pub(crate) held_before: bool,
    /// Whether its answer waits until it is released.
    pub(crate) held: bool,
    /// How entities are shown.
    pub(crate) shown: Vec<Disguise>,
    /// The first effect that is more than that, or a wait.
    pub(crate) effect: Option<Effect>,
}

impl FaultRules {
    pub(crate) fn new(faults: Vec<Fault>) -> Self {
        Self { rules: faults.into_iter().map(|fault| (fault, Count::default())).collect() }
    }

    /// Counts the request and says what goes wrong with it. Waits, and how entities are shown, add up; of other effects the
    /// first wins.
    pub(crate) fn strike(&mut self, target: FaultTarget<'_>) -> Strike {
        let mut strike = Strike::default();
        for (fault, count) in self.rules.iter_mut().filter(|(fault, _)| fault.fits(target)) {
            if !count.is_due(&fault.when) {
                continue;
            }
            match &fault.effect {
                Effect::Delay(delay) => strike.later += *delay,
                Effect::DelayBefore(delay) => strike.before += *delay,
                Effect::Hold => strike.held = true,
                Effect::HoldBefore => strike.held_before = true,
                Effect::Disguised(shown) => strike.shown.push(shown.clone()),
                effect => strike.effect = strike.effect.take().or_else(|| Some(effect.clone())),
            }
        }
        strike
    }
}

impl Count {
    fn is_due(&mut self, when: &When) -> bool {
        self.fitting += 1;
        let Some(number) = self.fitting.checked_sub(when.after).filter(|number| *number > 0) else { return false };
        let due = when.nth.is_none_or(|nth| number == nth)
            && when.every.is_none_or(|every| number.is_multiple_of(every))
            && when.times.is_none_or(|times| self.struck < times)
            && when.chance.is_none_or(|chance| draw(when.seed, number) < chance);
        self.struck += u64::from(due);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn struck(specs: &[&str], requests: usize) -> Vec<Strike> {
        let mut rules = FaultRules::new(specs.iter().map(|spec| spec.parse().unwrap()).collect());
        let target = FaultTarget { method: "GET", path: "/staff", operation: None };
        (0..requests).map(|_| rules.strike(target)).collect()
    }

    #[test]
    fn a_fault_strikes_when_it_says() {
        for (spec, expected) in [
            ("html", "xxxxxxxx"),
            ("html nth=2", ".x......"),
            ("html every=3", "..x..x.."),
            ("html times=2", "xx......"),
            ("html after=5", ".....xxx"),
            ("html after=3 nth=2", "....x..."),
            ("html every=2 times=2 after=1", "..x.x..."),
            ("html p=0", "........"),
            ("html p=1", "xxxxxxxx"),
            ("POST html", "........"),
        ] {
            let shown: String =
                struck(&[spec], 8).iter().map(|strike| if strike.effect.is_some() { 'x' } else { '.' }).collect();
            assert_eq!(shown, expected, "{spec}");
        }
    }

    #[test]
    fn chance_follows_its_seed() {
        let hits = |spec| struck(&[spec], 1000).iter().map(|strike| strike.effect.is_some()).collect::<Vec<_>>();
        assert_eq!(hits("html p=0.2 seed=7"), hits("html p=0.2 seed=7"));
        assert_ne!(hits("html p=0.2 seed=7"), hits("html p=0.2 seed=8"));
        let count = hits("html p=0.2").into_iter().filter(|hit| *hit).count();
        assert!((150..250).contains(&count), "{count}");
    }

    #[test]
    fn waits_add_up_and_the_first_other_effect_wins() {
        let strike = struck(&["delay=1s", "hold", "half", "delay=2s", "html", "delay-before=3s"], 1).remove(0);
        let (before, later) = (Duration::from_secs(3), Duration::from_secs(3));
        assert_eq!(
            strike,
            Strike { before, later, held_before: false, held: true, shown: Vec::new(), effect: Some(Effect::Half) }
        );
    }
}
