//! One change on its way.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::holdings::Holdings;
use super::undo::Undo;
use crate::record::{Action, DesiredState, Entity, JobName, Key, RowMetadata, Target, is_default};
use crate::snapshot::Owner;
use crate::store::{self, Store};

/// How far a change is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "is")]
pub enum State {
    /// Not sent, or surely without effect.
    Waiting,
    /// A request left, or was about to; what became of it is unknown.
    Sent {
        /// How often it was tried.
        attempts: u32,
        /// What the entity held before it was tried first, where it was read.
        #[serde(default, skip_serializing_if = "Holdings::is_empty")]
        held: Holdings,
    },
    /// The service refused it for good.
    Parked {
        /// The answer's status; 0 where it was refused before it was sent.
        status: u16,
        /// What the service said.
        words: String,
    },
}

impl State {
    /// The status under which a change is parked that the credential may not make.
    pub const DENIED: u16 = 403;

    /// Whether the service would refuse the same again: not where all that lacks is a permission, which may be given.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Parked { status, .. } if !matches!(*status, 0 | Self::DENIED))
    }

    /// Whether it was refused for good: it is not sent again by itself.
    pub fn is_parked(&self) -> bool {
        matches!(self, Self::Parked { .. })
    }
}

/// One change on its way: what is wanted for one key of one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The job that wants it.
    pub job: JobName,
    /// The record.
    pub key: Key,
    /// What the record is.
    pub target: Target,
    /// What is wanted.
    pub wish: DesiredState,
    /// Whether a person released it past the guard.
    pub approved: bool,
    /// What its row says about itself.
    #[serde(default, skip_serializing_if = "RowMetadata::is_empty")]
    pub marks: RowMetadata,
    /// What it takes back, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
    /// The record that had its entity when it was planned, where that was another one: it takes the entity from no one else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Owner>,
    /// In how many runs it could not be delivered for a reason of its own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failures: u32,
    /// The entity before a request of unknown outcome left, the first of them where there were several. It stays where a later look
    /// shows no effect: the request may arrive late, and the audit file is to have what it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<Entity>>,
    /// How far it is.
    pub state: State,
}

impl Change {
    /// The same, with the record that has its entity now.
    pub fn planned(self, store: &Store) -> Result<Self, store::Error> {
        let id = self.wish.id.filter(|_| self.wish.action == Action::Update);
        let owner = id.map(|id| Owner::besides(store, self.target, id, (&self.job, &self.key))).transpose()?;
        Ok(Self { from: owner.flatten(), ..self })
    }

    /// The mark of the photo that it sets, where it sets nothing else.
    pub fn only_photo(&self) -> Option<&str> {
        let wish = &self.wish;
        let is_photo = wish.action == Action::Update && wish.fields.len() == 1 && self.target == Target::Staff;
        wish.fields.get(Target::PHOTO).filter(|_| is_photo)?.as_text()
    }

    /// What it is ordered by.
    pub fn ticket(&self) -> Ticket {
        Ticket {
            key: self.key.clone(),
            action: self.wish.action,
            photo: self.wish.fields.contains_key(Target::PHOTO),
            only_photo: self.only_photo().is_some(),
            failures: self.failures,
        }
    }
}

/// A summary of a change without the values that it wants: a queue may have one for everybody, and each status reads
/// all of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Outer")]
pub struct Brief {
    /// The record.
    pub key: Key,
    /// What is to be done.
    pub action: Action,
    /// Whether it takes back what a run did.
    pub undoes: bool,
    /// In how many runs it could not be delivered for a reason of its own.
    pub failures: u32,
    /// Whether an update or a removal may have been done by a request whose outcome is unknown.
    pub tried: bool,
    /// How far it is.
    pub state: State,
}

impl Brief {
    /// How many requests it takes, at least.
    pub fn requests(&self) -> u64 {
        requests_of(self.action) as u64
    }
}

/// What is changed or removed is asked for first.
fn requests_of(action: Action) -> usize {
    if action == Action::Create { 1 } else { 2 }
}

/// A [`Change`] as it is stored, of which the rest is passed over.
#[derive(Deserialize)]
struct Outer {
    key: Key,
    wish: Aim,
    undo: Option<IgnoredAny>,
    #[serde(default)]
    failures: u32,
    before: Option<IgnoredAny>,
    state: State,
}

#[derive(Deserialize)]
struct Aim {
    action: Action,
}

impl From<Outer> for Brief {
    fn from(row: Outer) -> Self {
        let Outer { key, wish, undo, failures, before, state } = row;
        Self { key, action: wish.action, undoes: undo.is_some(), failures, tried: before.is_some(), state }
    }
}

/// What the order of sending asks of a change. The rest stays in the store until its turn comes: a first run sends one for
/// everybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The record.
    pub key: Key,
    /// What is to be done.
    pub action: Action,
    /// Whether it sets a photo.
    pub photo: bool,
    /// Whether it sets nothing else.
    pub only_photo: bool,
    /// In how many runs it could not be delivered for a reason of its own.
    pub failures: u32,
}

impl Ticket {
    /// Its place in the order of sending: leavers, joiners, movers (law 12).
    pub(super) fn rank(&self) -> u8 {
        match self.action {
            Action::Delete => 0,
            Action::Create => 1,
            Action::Update => 2,
        }
    }

    /// How many requests it takes, at least.
    pub fn requests(&self) -> usize {
        requests_of(self.action) + usize::from(self.photo)
    }
}
