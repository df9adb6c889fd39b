//! The summary of a change, as the guard needs it.

use super::{Change, Deltas};
use crate::record::{Action, DesiredState, Key, RemoteId, RowMetadata, Values};
use crate::spool::SpillOffset;

/// What the guard asks of a change, in whichever form it is.
pub trait Judged {
    /// The record.
    fn key(&self) -> &Key;
    /// What is to be done.
    fn action(&self) -> Action;
    /// Whether it sets what is set in those who are gone.
    fn is_leaver(&self) -> bool;
    /// Whether it counts as an update though it may make its entity again.
    fn is_known(&self) -> bool;
    /// A digest of what is wanted.
    fn wish(&self) -> u64;
    /// The segment of its row; empty for none.
    fn segment(&self) -> &str;
    /// The fields that turn empty by it.
    fn blanked(&self) -> impl Iterator<Item = &str>;
    /// Whether a person released it.
    fn is_approved(&self) -> bool;
    /// Notes that a person released it.
    fn approve(&mut self);

    /// The person whose update it is a part of, where one update takes several changes.
    fn part_of(&self) -> Option<&Key> {
        None
    }

    /// Whether it removes someone who is gone, or changes them for being gone.
    fn leaves(&self) -> bool {
        self.part_of().is_none() && (self.is_leaver() || self.action() == Action::Delete)
    }

    /// Whether it creates a person that neither the job nor the service knew.
    fn joins(&self) -> bool {
        self.part_of().is_none() && self.action() == Action::Create && !self.is_known()
    }
}

/// A change without what it sets, which lies in a spool: a first run has one for everybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The record.
    pub key: Key,
    /// What is to be done.
    pub action: Action,
    /// The entity; none for a create.
    pub id: Option<RemoteId>,
    known: bool,
    leaver: bool,
    approved: bool,
    wish: u64,
    /// What few changes have.
    rare: Option<Box<Rare>>,
    /// Where the rest lies.
    pub place: SpillOffset,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rare {
    segment: String,
    blanked: Vec<String>,
    part_of: Option<Key>,
}

impl Outline {
    /// The outline of a change that lies at `place`.
    pub fn of(change: &Change, place: SpillOffset) -> Self {
        let rare = Rare {
            segment: change.marks.segment.clone(),
            blanked: change.blanked().map(str::to_owned).collect(),
            part_of: None,
        };
        Self {
            key: change.key.clone(),
            action: change.wish.action,
            id: change.wish.id,
            known: change.known,
            leaver: change.wish.leaver,
            approved: change.approved,
            wish: change.wish.digest(),
            rare: (rare != Rare::default()).then(|| Box::new(rare)),
            place,
        }
    }

    /// Makes it a part of one update of a person.
    pub fn make_part_of(&mut self, person: Key) {
        self.rare.get_or_insert_default().part_of = Some(person);
    }

    /// The whole change again, with what lay at its place.
    pub fn with(&self, wanted: Values, fields: Deltas, line: Option<u64>, marks: RowMetadata) -> Change {
        let wish = DesiredState { action: self.action, id: self.id, fields: wanted, leaver: self.leaver };
        let Self { known, approved, .. } = *self;
        Change { key: self.key.clone(), wish, fields, line, known, approved, marks }
    }
}

impl Judged for Outline {
    fn key(&self) -> &Key {
        &self.key
    }

    fn action(&self) -> Action {
        self.action
    }

    fn is_leaver(&self) -> bool {
        self.leaver
    }

    fn is_known(&self) -> bool {
        self.known
    }

    fn wish(&self) -> u64 {
        self.wish
    }

    fn segment(&self) -> &str {
        self.rare.as_ref().map_or("", |rare| &rare.segment)
    }

    fn part_of(&self) -> Option<&Key> {
        self.rare.as_ref()?.part_of.as_ref()
    }

    fn blanked(&self) -> impl Iterator<Item = &str> {
        self.rare.iter().flat_map(|rare| &rare.blanked).map(String::as_str)
    }

    fn is_approved(&self) -> bool {
        self.approved
    }

    fn approve(&mut self) {
        self.approved = true;
    }
}

impl Judged for Change {
    fn key(&self) -> &Key {
        &self.key
    }

    fn action(&self) -> Action {
        self.wish.action
    }

    fn is_leaver(&self) -> bool {
        self.wish.leaver
    }

    fn is_known(&self) -> bool {
        self.known
    }

    fn wish(&self) -> u64 {
        self.wish.digest()
    }

    fn segment(&self) -> &str {
        &self.marks.segment
    }

    fn blanked(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(|(_, delta)| delta.blanks()).map(|(field, _)| field.as_str())
    }

    fn is_approved(&self) -> bool {
        self.approved
    }

    fn approve(&mut self) {
        self.approved = true;
    }
}
