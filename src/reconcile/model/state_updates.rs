//! What a sync stores of a plan besides its changes.

use std::collections::{BTreeMap, BTreeSet};

use super::candidate::Digests;
use super::job_state::{Counterparts, LookupState};
use super::kept_record::KeptRecord;
use super::read_in_place::ReadInPlace;
use super::replicas::Replicas;
use super::spoilt_keys::SpoiltKeys;
use crate::plan::{ProtectedPerson, RemoteDigest, Verdict};
use crate::record::{Day, Key, RemoteId};
use crate::snapshot::SyncedRecord;
use crate::source::SourceState;

/// An approval of what is not the change any more that was shown.
pub(crate) struct Outdated {
    /// The digest of what was approved.
    pub(crate) wish: u64,
    /// What a person would see now.
    pub(crate) seen: Option<RemoteDigest>,
}

/// What the row of a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowIs {
    /// It says what becomes of its person.
    Usable,
    /// It was rejected: its person is there, and no more is known.
    Rejected,
}

/// What a sync needs besides.
#[derive(Default)]
pub(crate) struct StateUpdates {
    /// Fingerprint of mapping, key, match fields and the settings of the source that select people.
    pub(crate) mapping: String,
    /// Whether this mapping is the one to compare the next with: not before what it alters was decided on.
    pub(crate) mapping_settled: bool,
    /// Whether its key is the one to compare the next with: not before those are decided on who are asked about under it.
    pub(crate) key_settled: bool,
    /// Where the files of the job lie, where that is what to compare the next with.
    pub(crate) place: Option<String>,
    /// How many copies of the state that were laid back are seen by this run, where it found out.
    pub(crate) copies: Option<u64>,
    /// The same where it read something that is newer than those.
    pub(crate) copies_read: Option<u64>,
    pub(crate) file: Option<SourceState>,
    pub(crate) shown: Replicas,
    /// What is to be remembered of lookups that were read.
    pub(crate) lookups: BTreeMap<String, LookupState>,
    /// The digest of the source's content.
    pub(crate) content: String,
    /// What was read in place, unless it seems to be an older export.
    pub(crate) read_in_place: Option<ReadInPlace>,
    /// Rows that need nothing, with their digests, in order of key.
    pub(crate) settled: Vec<(Key, u128)>,
    /// Of every row that was looked at.
    pub(crate) digests: Digests,
    /// The first day on which a row comes to something else.
    pub(crate) due: BTreeMap<Key, Day>,
    pub(crate) waiting: Vec<(Key, SyncedRecord)>,
    pub(crate) forgotten: Vec<(Key, RemoteId)>,
    pub(crate) matched: Vec<RemoteId>,
    /// For memberships: the members with a row that names no organization.
    pub(crate) unplaced: BTreeSet<Key>,
    /// People that a job of the other side has, too: that job, and their key there.
    pub(crate) on_both_sides: Counterparts,
    /// Of people with a change that takes back a run and waits: the wish with which the source would make them again.
    pub(crate) made_again: BTreeMap<Key, u64>,
    pub(crate) verdicts: BTreeMap<Key, Verdict>,
    /// Of the keys with a verdict, those whose verdict counts though another change is held now.
    pub(crate) in_force: BTreeSet<Key>,
    /// Of the keys with a verdict, or with a change that waits, those that the read has a row of: a verdict on their removal is
    /// void, and so is a removal that waits.
    pub(crate) there: BTreeMap<Key, RowIs>,
    /// What the service holds of the people that the plan changes, by digest; computed for plan files and for what is
    /// held.
    pub(crate) remote: BTreeMap<Key, u128>,
    /// Those who changed at the service since a person approved what is done to them, with what they are now: the approval
    /// is void.
    pub(crate) outdated: BTreeMap<Key, Outdated>,
    /// Those with a decision that counts no more.
    pub(crate) void: BTreeSet<Key>,
    /// Whether the run judged everybody, so that what it does not mention is not wanted.
    pub(crate) judged_all: bool,
    /// What files of changes said that counts from a later day on, and whose of that counts no more.
    pub(crate) later: BTreeMap<Key, KeptRecord>,
    pub(crate) later_ended: BTreeSet<Key>,
    /// Keys whose row in a file of changes can't be used: the day that an earlier one named does not count any more.
    pub(crate) undue: BTreeSet<Key>,
    /// Keys of which a row can't be used: of what waits, no last day counts that an earlier file named of them.
    pub(crate) spoilt: SpoiltKeys,
    /// Who has the names in `protect`, or had them last.
    pub(crate) protects: BTreeMap<String, Vec<ProtectedPerson>>,
    /// Of which records of files of changes something could not be used that may be mended elsewhere, or waits for what takes back a run.
    pub(crate) to_mend: BTreeSet<Key>,
    /// The day on which the run looks at who is there.
    pub(crate) today: Option<Day>,
    /// Keys that were asked for and that neither the job nor its source knows.
    pub(crate) unknown: BTreeSet<Key>,
}
