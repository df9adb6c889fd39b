//! Reading the source: which rows are new or changed, which keys are there.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::Narrow;
use super::error::Error;
use super::rows::rows;
use crate::clock::Clock;
use crate::config::Job;
use crate::mapping::{Bound, Mapped, Mapping};
use crate::plan::Present;
use crate::record::{Key, Record, Rejected};
use crate::snapshot::{Index, Known};
use crate::source::csv::Found;
use crate::source::{Read, Row};
use crate::store::{self, Store};

/// A record that must be looked at, as small as it can be: a first run has one for everybody.
pub(super) struct Candidate {
    pub(super) key: Key,
    pub(super) line: u64,
    /// Of the row and of the job's mapping.
    pub(super) digest: u128,
    fields: Box<[u8]>,
}

impl Candidate {
    pub(super) fn record(&self) -> Record {
        let fields = serde_json::from_slice(&self.fields).expect("it was written from fields");
        Record { key: self.key.clone(), fields }
    }
}

/// What a source holds.
pub(super) struct Gathered {
    pub(super) read: Read,
    /// Records that are new, changed, or whose entity has changed; one a key, in order of key.
    pub(super) candidates: Vec<Candidate>,
    /// Keys whose row says that they are gone.
    pub(super) left: BTreeMap<Key, u64>,
    pub(super) rejected: Vec<Rejected>,
    /// Which known keys are there.
    pub(super) present: Present,
    /// Records that stand as they stood.
    pub(super) unchanged: u64,
    /// Rows whose key the mapping could not read.
    pub(super) unreadable: u64,
}

/// Reads the source of a job. `dirty` are positions of the index whose entities the mirror saw change.
pub(super) fn gather(
    job: &Job,
    mapping: &Mapping,
    index: &Index,
    dirty: &BTreeSet<usize>,
    found: Option<&Found>,
    narrow: &Narrow,
    clock: &Clock,
) -> Result<Gatherer, Error> {
    let mut gatherer = Gatherer {
        candidates: Vec::new(),
        left: BTreeMap::new(),
        rejected: Vec::new(),
        present: Present::none(index),
        lines: vec![0; index.len()],
        unreadable: 0,
        read: None,
    };
    let stamp = mapping.digest();
    let mut visit = |row: &Row, bound: &Bound<'_>| {
        let digest = row.digest ^ stamp;
        if let Some(at) = index.by_digest(digest)
            && !narrow.keys.iter().any(|key| key.as_str() == index.entry(at).key)
            && !dirty.contains(&at)
            && !index.entry(at).gone
        {
            gatherer.present.mark(at);
            gatherer.lines[at] = row.line;
            return ControlFlow::Continue(());
        }
        gatherer.take(bound.map(row), row.line, digest, narrow);
        ControlFlow::Continue(())
    };
    let read = rows(job, mapping, found, clock, &mut visit)?;
    gatherer.read = Some(read);
    Ok(gatherer)
}

/// A source as it was read, before rows of one key are held against each other.
pub(super) struct Gatherer {
    candidates: Vec<Candidate>,
    left: BTreeMap<Key, u64>,
    rejected: Vec<Rejected>,
    present: Present,
    /// By position of the index: the line of the row that stands as it stood; 0 for none.
    lines: Vec<u64>,
    unreadable: u64,
    read: Option<Read>,
}

impl Gatherer {
    fn take(&mut self, mapped: Mapped, line: u64, digest: u128, narrow: &Narrow) {
        match mapped {
            // Those who are not asked for are looked at too: one of them may be the same person.
            Mapped::Record(record) => {
                let fields = serde_json::to_vec(&record.fields).expect("plain values").into_boxed_slice();
                self.candidates.push(Candidate { key: record.key, line, digest, fields });
            }
            Mapped::Left(key) if narrow.has(&key) => {
                self.left.insert(key, line);
            }
            Mapped::Rejected(rejected) if rejected.key.as_ref().is_none_or(|key| narrow.has(key)) => {
                self.rejected.push(rejected);
            }
            Mapped::Left(_) | Mapped::Rejected(_) | Mapped::Dropped => {}
        }
    }

    /// Holds rows of one key against each other: equal ones are one, different ones are all rejected (law 8).
    pub(super) fn settle(mut self, job: &Job, index: &Index, store: &Store) -> Result<Gathered, store::Error> {
        let read = self.read.take().expect("the read has ended");
        // The reader counts its own rejected rows among its reasons.
        self.unreadable += self.rejected.iter().filter(|rejected| rejected.key.is_none()).count() as u64;
        self.rejected.extend(read.rejected.iter().cloned());
        let spoilt: BTreeSet<Key> = self.rejected.iter().filter_map(|rejected| rejected.key.clone()).collect();
        self.candidates.sort_by(|one, other| (&one.key, one.line).cmp(&(&other.key, other.line)));
        let mut kept: Vec<Candidate> = Vec::with_capacity(self.candidates.len());
        let mut rows = std::mem::take(&mut self.candidates).into_iter().peekable();
        while let Some(first) = rows.next() {
            let mut group = vec![first];
            while let Some(next) = rows.next_if(|next| next.key == group[0].key) {
                group.push(next);
            }
            let standing = index.by_key(group[0].key.as_str()).filter(|at| self.present.has(*at));
            let mut lines: Vec<u64> = group.iter().map(|candidate| candidate.line).collect();
            let mut equal = group.iter().all(|candidate| candidate.fields == group[0].fields);
            if let Some(at) = standing {
                lines.push(self.lines[at]);
                let known = Known::get(store, &job.name, &group[0].key)?;
                equal &= known.is_some_and(|known| known.sent == group[0].record().fields);
            }
            lines.sort_unstable();
            let spoilt = spoilt.contains(&group[0].key);
            if spoilt || !equal {
                self.reject(&group[0].key, &lines, spoilt);
                standing.into_iter().for_each(|at| self.lines[at] = 0);
            } else if standing.is_none() {
                kept.extend(group.into_iter().next());
            }
        }
        for key in
            kept.iter().map(|candidate| &candidate.key).chain(self.rejected.iter().filter_map(|r| r.key.as_ref()))
        {
            if let Some(at) = index.by_key(key.as_str()) {
                self.present.mark(at);
            }
            self.left.remove(key);
        }
        let lines = &self.lines;
        let unchanged = (0..index.len()).filter(|at| lines[*at] > 0).count() as u64;
        self.left.retain(|key, _| index.by_key(key.as_str()).is_none_or(|at| lines[at] == 0));
        Ok(Gathered {
            read,
            candidates: kept,
            left: self.left,
            rejected: self.rejected,
            present: self.present,
            unchanged,
            unreadable: self.unreadable,
        })
    }

    fn reject(&mut self, key: &Key, lines: &[u64], spoilt: bool) {
        let listed: Vec<String> = lines.iter().map(u64::to_string).collect();
        let reason = if spoilt {
            "another row of this key can't be used, so this one is not used either".to_owned()
        } else {
            format!("the key stands on lines {} with different values; which of them is right?", listed.join(", "))
        };
        for line in lines {
            self.rejected.push(Rejected {
                key: Some(key.clone()),
                line: Some(*line),
                field: None,
                reason: reason.clone(),
            });
        }
    }
}
