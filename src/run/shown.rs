//! Which server showed the people whom a job knows, and whether the one that is read now can say of them that they are
//! gone (law 1).
//!
//! Invariants:
//! - Of everybody whom the job knows it is remembered how far the server was that showed them last: in `last` for all, but
//!   for the few in `others`. Any read that shows somebody counts, a broken or narrowed one too, with how far its server was
//!   at the end.
//! - Somebody who is missing, or whose row says that they are gone, has left only where the server that is read had seen
//!   all of that before it was asked. Otherwise they stay as they are, neither leaving nor coming back.
//! - What was proven stays proven: who was missing where that could be believed is not doubted because another server is
//!   read next.
//! - A server that is behind takes nothing back: what it takes to be believed stays as high as it was, until a server
//!   reaches it or a person says that the directory is right as it is.
//!
//! Rejected: to doubt the whole read. Where a name stands for many servers that show nothing of each other, there is always
//! somebody whom the one at hand did not show, and nobody would ever be a leaver.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::gather::Gathered;
use super::held::DecisionError;
use super::report::counted;
use super::state::JobState;
use crate::clock::Clock;
use crate::config::Job;
use crate::history::{Audit, Line, acting_user};
use crate::record::Key;
use crate::snapshot::Index;
use crate::source::Standing;
use crate::store::{Batch, Store};

/// How many people are remembered one by one. Are there more, nobody is believed to be gone before they were shown again.
const OTHERS_MAX: usize = 10_000;
/// How many people a reason names.
const NAMED: usize = 3;

/// How far the servers were that showed people last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shown {
    /// The server that showed everybody but `others`.
    #[serde(default)]
    last: Option<Standing>,
    /// Those whom another server showed last, by the digests of their keys.
    #[serde(default)]
    others: Vec<(Standing, BTreeSet<u64>)>,
    /// The last read that could not be believed, where it was the last.
    #[serde(default)]
    doubted: Option<Standing>,
}

/// What a read says in the light of those before it.
#[derive(Default)]
pub(super) struct Doubt {
    /// Why some who are missing stay.
    pub(super) reason: Option<String>,
    /// What to think of the values that it gives.
    pub(super) note: Option<String>,
    /// What is to be remembered.
    pub(super) next: Shown,
}

impl Shown {
    /// Judges a read: those of whom it can't say that they are gone count as present from here on.
    pub(super) fn judge(&self, gathered: &mut Gathered, index: &Index) -> Doubt {
        let Some(span) = gathered.read.span.clone() else { return Doubt { next: self.clone(), ..Doubt::default() } };
        let missing: Vec<usize> =
            (0..index.len()).filter(|at| !gathered.present.has(*at) && !index.entry(*at).gone).collect();
        let mut doubted: Vec<Key> = Vec::new();
        let mut said_so = false;
        for at in &missing {
            let Some(key) = Key::new(index.entry(*at).key) else { continue };
            if self.of(&key).is_some_and(|shown| !span.began.covers(shown)) {
                said_so |= gathered.left.remove(&key).is_some();
                gathered.present.mark(*at);
                doubted.push(key);
            }
        }
        let next = self.after(&span.began, &span.ended, &missing, index, !doubted.is_empty());
        let is_whole = gathered.read.incomplete().is_empty();
        let before = self.last.as_ref().filter(|last| !span.began.covers(last));
        let reason = doubted.first().filter(|_| is_whole || said_so).and_then(|one| self.of(one));
        Doubt {
            reason: reason.map(|shown| reason_of(&span.began, shown, &doubted)),
            note: before.filter(|_| !gathered.candidates.is_empty()).map(|last| note(&span.began, last)),
            next,
        }
    }

    /// Takes the directory for right as it was read last, though that could not be believed. `None` where there is no such
    /// doubt, else the server.
    fn believe(&mut self) -> Option<String> {
        let doubted = self.doubted.take()?;
        let address = doubted.address.clone();
        *self = Self { last: Some(doubted), ..Self::default() };
        Some(address)
    }

    /// How far the server was that showed somebody last.
    fn of(&self, key: &Key) -> Option<&Standing> {
        let mark = mark(key.as_str());
        let other = self.others.iter().find(|(_, keys)| keys.contains(&mark));
        other.map(|(standing, _)| standing).or(self.last.as_ref())
    }

    /// What is to be remembered after a read that did not show those at `missing`.
    fn after(&self, began: &Standing, ended: &Standing, missing: &[usize], index: &Index, doubts: bool) -> Self {
        let missing: BTreeSet<u64> = missing.iter().map(|at| mark(index.entry(*at).key)).collect();
        let mut next = self.clone();
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
            next.last = Some(Standing::beyond());
        }
        next
    }
}

/// Takes a job's directory for right as it was read last; `None` where nothing of it is in doubt, else its server.
pub fn believe(store: &Store, clock: &Clock, job: &Job) -> Result<Option<String>, DecisionError> {
    let mut server = None;
    let mut batch = Batch::default();
    for part in job.parts() {
        let mut state = JobState::load(store, &part.name)?;
        if let Some(address) = state.shown.believe() {
            server = Some(address);
            state.put(&mut batch, &part.name);
        }
    }
    if let Some(server) = &server {
        let (at, why) = (clock.now(), Some(server.as_str()));
        let by = acting_user();
        let line = Line::Decision { at, job: Some(&job.name), key: None, decision: "believed the server", by, why };
        Audit::new(store.dir()).append(at, &line).map_err(DecisionError::Audit)?;
        store.commit(batch)?;
    }
    Ok(server)
}

fn mark(key: &str) -> u64 {
    xxh3_64(key.as_bytes())
}

fn reason_of(now: &Standing, shown: &Standing, doubted: &[Key]) -> String {
    let mut named: Vec<String> = doubted.iter().take(NAMED).map(Key::to_string).collect();
    if doubted.len() > NAMED {
        named.push("…".to_owned());
    }
    let who = counted(doubted.len(), "known person is missing there", "known people are missing there");
    let named = named.join(", ");
    let how = if now.is_behind(shown) {
        format!(
            "the server {} is behind what was read before: a replica that lags, or a directory from a backup; {who} \
             ({named}) and stay until it has caught up",
            now.address
        )
    } else {
        format!(
            "the server {} does not show that it has seen all that was read before; {who} ({named}) and stay until it shows \
             them, or until {}, which showed people last, is read without them",
            now.address, shown.address
        )
    };
    format!("{how}; if the directory is right as it is: `rosterd approve JOB --server`")
}

fn note(now: &Standing, last: &Standing) -> String {
    let what = if now.is_behind(last) { "is behind" } else { "may be behind" };
    format!(
        "the server {} {what} what was read before from {}: some values and joiners may be old",
        now.address, last.address
    )
}
