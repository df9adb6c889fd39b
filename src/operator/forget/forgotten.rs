//! What was forgotten of a person.

use std::collections::BTreeSet;

use crate::record::{JobName, Key, RemoteId};

/// What was forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// The jobs that knew the key, by name; those that are no longer configured too.
    pub jobs: BTreeSet<JobName>,
    /// The entities that the key was: they are still at the service.
    pub ids: BTreeSet<RemoteId>,
    /// The keys of their certificates: those are forgotten by keys of their own.
    pub certificates: BTreeSet<Key>,
    /// Other keys that the audit files have of these entities. An id may be another person's by now, so they are only named.
    pub others: BTreeSet<Key>,
    /// How many rows of the state went.
    pub rows: u64,
    /// How many lines of the audit files went.
    pub lines: u64,
    /// How many files of inboxes, filed or kept, were rewritten or removed.
    pub files: u64,
    /// The jobs whose report of what waits could not be read, and may have named them: it is not brought up to date any
    /// more.
    pub dropped_reports: BTreeSet<JobName>,
}
