//! Which server showed the people that a job knows last.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::record::Key;
use crate::snapshot::Index;
use crate::source::{ReplicaPosition, Span};

/// How many people are remembered one by one. With more of them, no one counts as gone before they were shown again.
const OTHERS_MAX: usize = 10_000;

/// How far the servers were that showed people last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Replicas {
    /// The server that showed everybody but `others`.
    #[serde(default)]
    pub(crate) last: Option<ReplicaPosition>,
    /// The people that another server showed last, by the digests of their keys.
    #[serde(default)]
    others: Vec<(ReplicaPosition, BTreeSet<u64>)>,
    /// The last read that could not be believed, where it was the last.
    #[serde(default)]
    doubted: Option<ReplicaPosition>,
    /// Whether a server of this directory has shown how far it is: one that shows nothing may be in an import then.
    #[serde(default)]
    tells: bool,
}

impl Replicas {
    /// Takes the directory for right as it was read last, though that could not be believed. `None` where there is no such
    /// doubt, else the server.
    pub(crate) fn believe(&mut self) -> Option<String> {
        let doubted = self.doubted.take()?;
        let address = doubted.address.clone();
        *self = Self { last: Some(doubted), ..Self::default() };
        Some(address)
    }

    /// What is to be remembered after a read of a lookup, which says of no one that they are gone; and whether its server may
    /// be behind the one that was read before.
    pub(crate) fn of_lookup(&self, span: &Span) -> (Self, Option<ReplicaPosition>) {
        let Span { began, ended } = span;
        match &self.last {
            Some(last) if !began.covers(last) || self.tells && !began.tells() => {
                (Self { doubted: Some(ended.clone()), ..self.clone() }, Some(last.clone()))
            }
            _ => {
                let tells = self.tells || ended.tells();
                (Self { last: Some(ended.clone()), tells, ..Self::default() }, None)
            }
        }
    }

    /// Whether a server at `began` had seen all that the one which showed this person last had seen.
    pub(crate) fn is_covered(&self, key: &Key, began: &ReplicaPosition) -> bool {
        self.of(key).is_none_or(|shown| began.covers(shown) && (began.tells() || !self.tells))
    }

    /// The position of the server that showed this person last.
    pub(crate) fn of(&self, key: &Key) -> Option<&ReplicaPosition> {
        let mark = mark(key.as_str());
        let other = self.others.iter().find(|(_, keys)| keys.contains(&mark));
        other.map(|(newest, _)| newest).or(self.last.as_ref())
    }

    /// Erases a person.
    pub(crate) fn forget(&mut self, key: &Key) {
        let mark = mark(key.as_str());
        for (_, keys) in &mut self.others {
            keys.remove(&mark);
        }
        self.others.retain(|(_, keys)| !keys.is_empty());
    }

    /// What is to be remembered after a read that did not show those at `missing`.
    pub(crate) fn after(&self, span: &Span, missing: &[usize], index: &Index, doubts: bool) -> Self {
        let Span { began, ended } = span;
        let missing: BTreeSet<u64> = missing.iter().map(|at| mark(index.entry(*at).key)).collect();
        let mut next = self.clone();
        next.tells |= ended.tells();
        next.others.iter_mut().for_each(|(_, keys)| keys.retain(|key| missing.contains(key)));
        next.doubted = (doubts || self.last.as_ref().is_some_and(|last| !began.covers(last))).then(|| ended.clone());
        next.last = Some(match &self.last {
            Some(last) if began.is_behind(last) => last.clone().joined(ended),
            Some(last) if !began.covers(last) => {
                let apart: BTreeSet<u64> = next.others.iter().flat_map(|(_, keys)| keys).copied().collect();
                next.others.push((last.clone(), missing.difference(&apart).copied().collect()));
                ended.clone()
            }
            _ => ended.clone(),
        });
        next.others.retain(|(_, keys)| !keys.is_empty());
        if next.others.iter().map(|(_, keys)| keys.len()).sum::<usize>() > OTHERS_MAX {
            next.others.clear();
            next.last = Some(ReplicaPosition::beyond());
        }
        next
    }
}

fn mark(key: &str) -> u64 {
    xxh3_64(key.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_1_a_lookup_s_server_that_tells_nothing_is_doubted_once_one_has_told() {
        let at = |count: Option<u64>| ReplicaPosition { server: "a".into(), count, ..ReplicaPosition::default() };
        let span = |count| Span { began: at(count), ended: at(count) };
        let silent = Replicas::default().of_lookup(&span(None)).0;
        assert_eq!(silent.of_lookup(&span(None)), (silent.clone(), None));
        let told = silent.of_lookup(&span(Some(5))).0;
        for (count, doubts) in [(Some(4), true), (None, true), (Some(5), false), (Some(6), false)] {
            let (next, doubt) = told.of_lookup(&span(count));
            assert_eq!(doubt, doubts.then(|| at(Some(5))), "{count:?}");
            assert_eq!((next.doubted.is_some(), next.tells), (doubts, true), "{count:?}");
            assert_eq!(next.last, Some(at(if doubts { Some(5) } else { count })));
        }
        // It stays so where what it showed first was an older state of the one that tells.
        let again = told.of_lookup(&span(Some(6))).0;
        assert!(again.of_lookup(&span(None)).1.is_some());
    }

    #[test]
    fn who_is_forgotten_is_remembered_of_no_server() {
        let [one, two] = ["P1", "P2"].map(|key| Key::new(key).unwrap());
        let keys = [&one, &two].map(|key| mark(key.as_str())).into();
        let mut shown = Replicas { others: vec![(ReplicaPosition::beyond(), keys)], ..Replicas::default() };
        shown.forget(&one);
        assert_eq!((shown.of(&one), shown.of(&two)), (None, Some(&ReplicaPosition::beyond())));
        shown.forget(&two);
        assert_eq!(shown, Replicas::default());
    }
}
