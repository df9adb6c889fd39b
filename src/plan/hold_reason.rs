//! Why a record waits.
//!
//! Invariants:
//! - What people who correct files meet is a reason of its own, which each language of the report has a sentence for. Only
//!   what administrators act on is text.
//! - Whatever names a person in a value stands between marks ([`crate::record::Sensitive`]), as [`Key`] writes itself.
//!
//! Rejected: a text for each. The report is in six languages, and no text that is shown is compared to find another.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::Protection;
use crate::record::{Key, RemoteId, erase_key};
use crate::source::inbox::OlderExport;
use crate::text::thousands;

/// Why a record waits. Its text is for administrators.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each says by its text what it means")]
pub enum HoldReason {
    /// The record leaves and is on site (law 10).
    #[error("on site; removed once they have left")]
    OnSite,
    #[error("writes = \"approve\": every change waits for an approval")]
    WritesApprove,
    #[error("writes = \"off\": changes are planned and never sent")]
    WritesOff,
    #[error("max_leavers: {people} people would {}{}, {allowed} are allowed", how.verb(), besides(*earlier))]
    MaxLeavers { people: u64, earlier: u64, allowed: u64, how: Leaving },
    #[error(
        "max_updates: {changed} of {people} people would be changed{}, {allowed} are allowed",
        if *in_parts { " or change organizations" } else { "" }
    )]
    MaxUpdates { changed: u64, people: u64, allowed: u64, in_parts: bool },
    #[error("max_creates: {people} people would be created, {allowed} are allowed")]
    MaxCreates { people: u64, allowed: u64 },
    /// Known people get the values of the next ones, so new rows of the same read may have them, too, and rows by which someone leaves.
    #[error(
        "{} the name or email of the row beside, so the rows of this read have slipped, and this one may be about another person; \
         approve it if it is right",
        if *people == 1 { "1 known person would get".to_owned() } else { format!("{} known people would get", thousands(*people)) }
    )]
    SlippedRows { people: u64 },
    #[error("max_blanked: {field} would turn empty for {people} people, {allowed} are allowed")]
    MaxBlanked { field: String, people: u64, allowed: u64 },
    #[error("{0} approve those who are gone, reject if the source was wrong")]
    MaxMissing(ManyMissing),
    #[error("segment \"{segment}\": {reason}")]
    Segment { segment: String, reason: Box<Self> },
    #[error("all {people} people of the job would leave, and no limit lets everybody go; is it the right list?")]
    EveryoneLeaves { people: u64 },
    #[error("all {people} people in it would leave")]
    Emptied { people: u64 },
    #[error("the only person in it would leave, as would everybody in other segments")]
    EmptiedOfOne,
    #[error("{first}; {then}")]
    Both { first: Box<Self>, then: Box<Self> },
    #[error("{field} fits several {many} at the service (ids {ids}); make it unique there")]
    Ambiguous { field: String, many: String, ids: String },
    #[error(
        "{field} fits the {one} with id {id}, who belongs to key {key} of job {job} until that job has let them go"
    )]
    Taken { field: String, one: String, id: RemoteId, key: String, job: String },
    #[error("this record and that of key {key} both fit the {one} with id {id}")]
    Contested { one: String, id: RemoteId, key: String },
    #[error(
        "this new record has the {field} of key {key}, who is in the source too; approve it if they are two people"
    )]
    Shared { field: String, key: String },
    #[error(
        "this new record has the {field} of key {key}, which no row of this read has, and it may be the same person under a \
         mistyped key; approve it if they are two people"
    )]
    SharedWithMissing { field: String, key: String },
    #[error(
        "this new record is empty in every field of match_on, so it is unknown whether this person exists already; approve \
         it if they don't"
    )]
    Unfindable,
    #[error(
        "this new record and that of key {key} have the same {field}: one person under two keys would be made twice; approve \
         those who are different people"
    )]
    Twin { field: String, key: String },
    /// A new record of a first run has the name of a person at the service that no record matches.
    #[error(
        "this new record has the name of a person at the service that no record matches (id {id}), and on the first run of a \
         job, or after a rebuild, they may be the same person; approve it to create a new person, or make match_on fit them"
    )]
    SameName { id: RemoteId },
    /// The same of the email.
    #[error(
        "this new record has the email of a person at the service that no record matches (id {id}), and on the first run of a \
         job, or after a rebuild, they may be the same person; approve it to create a new person, or make match_on fit them"
    )]
    SameEmail { id: RemoteId },
    #[error("this new record has name and email of the {one} with id {id}; approve it if they are the same {one}")]
    SameNameAndEmail { one: String, id: RemoteId },
    #[error(
        "this new record has the {field} of the {one} with id {id}, whose key {key} no row of this read has; approve it if \
         they are the same person with a new key"
    )]
    NewKey { field: String, one: String, id: RemoteId, key: String },
    #[error(
        "only {field} says that this new record is the person with id {id}, whose key {key} is gone from the source; approve \
         it if they are the same person"
    )]
    OnlyShared { field: String, id: RemoteId, key: String },
    #[error("{field} fits the {one} with id {id}, whose {other} is another; approve it if they are the same {one}")]
    Contradicted { field: String, one: String, id: RemoteId, other: String },
    #[error(
        "until now this new record fitted the {one} with id {id}, and one of the two was changed since; approve it if they are \
         the same {one}"
    )]
    EarlierMatch { one: String, id: RemoteId },
    #[error("it was rejected that this new record is the {one} with id {id}; approve it to create a new person")]
    NotThis { one: String, id: RemoteId },
    #[error(
        "name and email both become others: the key may have been given to another person, or columns were sorted apart; \
         approve it if it is the same person"
    )]
    AnotherPerson,
    #[error(
        "it would get the {field} that key {key} has or gets; were columns sorted apart, or is a row mistyped? approve it if \
         this is right"
    )]
    ValueOfKey { field: String, key: String },
    #[error(
        "it would get the {field} that key {key} of job {job} has; were columns sorted apart, or is a row mistyped? approve \
         it if this is right"
    )]
    ValueOfJob { field: String, key: String, job: String },
    #[error(
        "it would get the {field} that the {one} with id {id} at the service has; were columns sorted apart, or is a row \
         mistyped? approve it if this is right"
    )]
    ValueOfEntity { field: String, one: String, id: RemoteId },
    /// A name or email of a person goes to another record of the same read.
    #[error(
        "the {field} of key {from} goes to key {to} in the same read; were columns sorted apart? approve both if this is right"
    )]
    MovedValue { field: String, from: String, to: String },
    #[error(
        "the state was copied or laid back since its last run, and what the service holds of this person is newer: approve it \
         if the source is right, reject it if the service is"
    )]
    RestoredState,
    #[error(
        "the state was copied or laid back since its last run, and so is the file old by which this person leaves: drop the newest \
         file, or approve it if they are gone"
    )]
    OldStatement,
    #[error("the mapping change alters {}", if *people == 1 { "1 person".to_owned() } else { format!("{} people", thousands(*people)) })]
    MappingChanged { people: usize },
    #[error(transparent)]
    OlderExport(OlderExport),
    #[error(
        "the row that says that this key is gone names another person than the one it belongs to; were columns sorted apart, \
         or is the key mistyped? approve it if they are gone"
    )]
    DoubtfulRow,
    #[error("moves to job {job} as key {key}, and leaves here once they are there")]
    Moves { job: String, key: String },
    #[error(
        "a row of job {job} that can't be used is about this person, who leaves here once it can be used or is gone"
    )]
    MovesUnusable { job: String },
    #[error(
        "this person may have moved to job {job}, whose source is not read to its end; they leave here once it is and does \
         not have them"
    )]
    MovesUnread { job: String },
    #[error("{}", Protection::REASON)]
    Protected,
    #[error(
        "this person looks after the account, by a role at the service, and is not removed; take the role from them, or remove \
         them there"
    )]
    Administrator,
    #[error("this person, or what is known of them, changed since it was approved: look at it once more")]
    Outdated,
    #[error("this person goes from one organization to another, and the other half of that is not to be sent")]
    OtherHalf,
    #[error(
        "this person goes from one organization to another, and only a complete read of a run for everyone ends the \
         membership that was: both halves wait for one"
    )]
    HalfAlone,
    #[error("ends once the membership that takes its place is at the service")]
    EndsLater,
    /// Another job may have made it, and knows soon.
    #[error(
        "job {job} has sent what may be the same and got no answer: waits until the next run of job {job} knows what became of it"
    )]
    SentByJob { job: String },
    #[error("waits until member {key} is at the service")]
    AwaitsMember { key: String },
    #[error("waits until organization {key} is at the service")]
    AwaitsOrganization { key: String },
    #[error("key {key} may be this person, or was said to be: decide on it first, or correct the source")]
    AskedAbout { key: String },
    #[error("waits until it is decided which organization {key} is")]
    AwaitsDecision { key: String },
    #[error("several {many} at the service fit (ids {ids})")]
    SeveralFit { many: String, ids: String },
    /// A create got no answer, and this one fits in part.
    #[error(
        "whether it was created is not known: {field} fits the {one} with id {id}, whose {other} is another; give them this \
         {other} at the service if they are the same {one}, and another {field} if not"
    )]
    PerhapsMade { field: String, one: String, id: RemoteId, other: String },
    #[error(
        "it was rejected that this row is about the person or organization whose key it has: correct the row in the source, or \
         give them a key of their own"
    )]
    NeedsOwnKey,
    /// Whose question a rebuild answers: approved, two people would be exchanged.
    #[error(
        "the job's keys are made of something else than before, or the state was laid back, so this key may be another person's by \
         now: `rosterd rebuild` has everyone found by match_on again"
    )]
    OtherKeys,
    #[error("undoing run {run}: {reason}")]
    Undoing { run: u64, reason: Box<Self> },
    #[error("reverting removes what the run created; approve to confirm")]
    MadeByRun,
    /// What only administrators act on.
    #[error("{0}")]
    Other(String),
}

/// What becomes of people who leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leaving {
    /// They are removed.
    Removed,
    /// They stay, and are set as gone.
    SetAsGone,
    /// They leave, or lose a membership.
    InParts,
}

impl Leaving {
    fn verb(self) -> &'static str {
        match self {
            Self::Removed => "be removed",
            Self::SetAsGone => "be set as gone",
            Self::InParts => "leave or lose a membership",
        }
    }
}

/// Says how many people were removed before and count together with those of this run.
fn besides(earlier: u64) -> String {
    if earlier == 0 { String::new() } else { format!(" besides {earlier} of the last 24 hours") }
}

/// More people are missing from a read than may leave without an approval.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[error(
    "max_missing: {missing} of {known} {many} are missing from the source, {allowed} are allowed; was a filter left on in the \
     export?"
)]
#[expect(missing_docs, reason = "it says by its text what it means")]
pub struct ManyMissing {
    pub missing: u64,
    pub known: u64,
    pub many: String,
    pub allowed: u64,
}

impl HoldReason {
    /// Puts another reason before it.
    pub fn precede(&mut self, first: Self) {
        let then = Box::new(std::mem::replace(self, Self::OnSite));
        *self = Self::Both { first: Box::new(first), then };
    }

    /// Whether the record waits, among other things, for it has the name or email of a person that no record matches.
    pub fn is_stranger(&self) -> bool {
        self.has(&|one| matches!(one, Self::SameName { .. } | Self::SameEmail { .. }))
    }

    /// Whether the record waits, among other things, for its file seems to be an older one.
    pub fn is_of_older_file(&self) -> bool {
        self.has(&|one| matches!(one, Self::OlderExport(_)))
    }

    /// Whether the record waits, among other things, for the row that says that its person is gone names another person.
    pub fn is_of_doubtful_row(&self) -> bool {
        self.has(&|one| matches!(one, Self::DoubtfulRow))
    }

    /// Whether a reason, or one of those that it is made of, is such a one.
    fn has(&self, is_such: &dyn Fn(&Self) -> bool) -> bool {
        match self {
            Self::Both { first, then } => first.has(is_such) || then.has(is_such),
            Self::Segment { reason, .. } | Self::Undoing { reason, .. } => reason.has(is_such),
            one => is_such(one),
        }
    }

    /// Whether each run finds out by itself whether the record still waits for this: no person decides on it.
    pub fn is_found_again(&self) -> bool {
        matches!(
            self,
            Self::OnSite
                | Self::Moves { .. }
                | Self::MovesUnusable { .. }
                | Self::MovesUnread { .. }
                | Self::Protected
                | Self::Administrator
                | Self::EndsLater
                | Self::SentByJob { .. }
                | Self::AwaitsMember { .. }
                | Self::AwaitsOrganization { .. }
                | Self::AwaitsDecision { .. }
                | Self::AskedAbout { .. }
        )
    }

    /// Whether it waits for another record of its job to be sent.
    pub fn awaits_another(&self) -> bool {
        matches!(self, Self::EndsLater | Self::AwaitsMember { .. } | Self::AwaitsOrganization { .. })
    }

    /// Whether a decision can release the record; else there is something to mend, or to wait for.
    pub fn can_be_approved(&self) -> bool {
        match self {
            Self::Ambiguous { .. }
            | Self::Taken { .. }
            | Self::Contested { .. }
            | Self::SeveralFit { .. }
            | Self::PerhapsMade { .. }
            | Self::NeedsOwnKey
            | Self::OtherKeys
            | Self::HalfAlone
            | Self::WritesOff => false,
            Self::Both { first, then } => first.can_be_approved() && then.can_be_approved(),
            Self::Segment { reason, .. } | Self::Undoing { reason, .. } => reason.can_be_approved(),
            reason => !reason.is_found_again(),
        }
    }

    /// Whether others have to be mended before it can be said who the record is.
    pub fn is_of_others(&self) -> bool {
        self.has(&|one| {
            matches!(
                one,
                Self::Ambiguous { .. } | Self::Taken { .. } | Self::Contested { .. } | Self::SeveralFit { .. }
            )
        })
    }

    /// Whether a person is asked whether a record is the person that it may be.
    pub fn is_question(&self) -> bool {
        let is_such = |one: &Self| {
            matches!(
                one,
                Self::Shared { .. }
                    | Self::SharedWithMissing { .. }
                    | Self::Unfindable
                    | Self::Twin { .. }
                    | Self::SameName { .. }
                    | Self::SameEmail { .. }
                    | Self::SameNameAndEmail { .. }
                    | Self::NewKey { .. }
                    | Self::OnlyShared { .. }
                    | Self::Contradicted { .. }
                    | Self::EarlierMatch { .. }
                    | Self::NotThis { .. }
                    | Self::AnotherPerson
                    | Self::ValueOfKey { .. }
                    | Self::ValueOfJob { .. }
                    | Self::ValueOfEntity { .. }
                    | Self::MovedValue { .. }
                    | Self::DoubtfulRow
                    | Self::Other(_)
            )
        };
        self.has(&is_such)
    }

    /// Whether it is that of someone who is missing, or gone by their row, and may be there under another key.
    pub fn is_of_absent(&self) -> bool {
        self.has(&|one| matches!(one, Self::AskedAbout { .. } | Self::MovesUnusable { .. }))
    }

    /// Whether it is asked whether the record and another one are two people.
    pub fn asks_for_two(&self) -> bool {
        self.has(&|one| matches!(one, Self::Shared { .. } | Self::SharedWithMissing { .. } | Self::Twin { .. }))
    }

    /// Whether nothing but its name says who the record is: it may be someone of that name, under a mistyped key.
    pub fn may_be_anybody(&self) -> bool {
        self.has(&|one| matches!(one, Self::Unfindable | Self::Shared { .. } | Self::Taken { .. }))
    }

    /// Whether it waits, among other things, for its row may be about another person than the one whose key it has.
    pub fn doubts_its_key(&self) -> bool {
        let is_such = |one: &Self| {
            matches!(
                one,
                Self::AnotherPerson
                    | Self::ValueOfKey { .. }
                    | Self::ValueOfJob { .. }
                    | Self::ValueOfEntity { .. }
                    | Self::MovedValue { .. }
                    | Self::NeedsOwnKey
                    | Self::OtherKeys
            )
        };
        self.has(&is_such)
    }

    /// Whether it is asked about together with the record of that key.
    pub fn is_asked_with(&self, other: &Key) -> bool {
        let other = other.to_string();
        self.has(&|one| match one {
            Self::ValueOfKey { key, .. } | Self::Shared { key, .. } | Self::Twin { key, .. } => *key == other,
            Self::MovedValue { from, to, .. } => [from, to].contains(&&other),
            _ => false,
        })
    }

    /// Whether the record waits, among other things, for its row may be about another person or another organization.
    pub fn doubts_its_row(&self) -> bool {
        self.doubts_its_key() || self.has(&|one| matches!(one, Self::AwaitsDecision { .. }))
    }

    /// Whether it waits, among other things, for there are too many like it.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::MaxLeavers { .. }
            | Self::MaxUpdates { .. }
            | Self::MaxCreates { .. }
            | Self::SlippedRows { .. }
            | Self::MaxBlanked { .. }
            | Self::MaxMissing(_)
            | Self::EveryoneLeaves { .. }
            | Self::Emptied { .. }
            | Self::EmptiedOfOne => true,
            Self::Both { first, then } => first.is_limit() || then.is_limit(),
            Self::Segment { reason, .. } => reason.is_limit(),
            _ => false,
        }
    }

    /// Whether it is, among other things, that of someone who is missing and whose grace may run.
    pub fn is_of_missing(&self) -> bool {
        match self {
            Self::MaxMissing(_) | Self::MappingChanged { .. } => true,
            Self::Both { first, then } => first.is_of_missing() || then.is_of_missing(),
            Self::Segment { reason, .. } => reason.is_of_missing(),
            _ => false,
        }
    }

    /// Whether only a decision releases what is held for it: a run over that record alone would not find it again.
    pub fn lasts(&self) -> bool {
        match self {
            Self::OlderExport(_) | Self::Outdated => true,
            Self::Both { first, then } => first.lasts() || then.lasts(),
            Self::Segment { reason, .. } => reason.lasts(),
            reason => reason.is_limit(),
        }
    }

    /// The same without a key, if it names it.
    pub fn without(&self, key: &Key) -> Option<Self> {
        let mut reason = serde_json::to_value(self).expect("plain values");
        erase(&mut reason, key).then(|| serde_json::from_value(reason).expect("a text in place of another"))
    }
}

/// Takes a key out of all texts.
fn erase(value: &mut Json, key: &Key) -> bool {
    match value {
        Json::String(text) => erase_key(text, key).map(|erased| *text = erased).is_some(),
        Json::Array(all) => all.iter_mut().map(|value| erase(value, key)).filter(|found| *found).count() > 0,
        Json::Object(all) => all.values_mut().map(|value| erase(value, key)).filter(|found| *found).count() > 0,
        _ => false,
    }
}

impl From<String> for HoldReason {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

impl From<&str> for HoldReason {
    fn from(text: &str) -> Self {
        Self::Other(text.to_owned())
    }
}

#[cfg(test)]
mod tests;
