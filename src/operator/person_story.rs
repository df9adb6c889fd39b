//! What is known of one person, and what became of them: for people without a shell.
//!
//! Reads what is stored alone. [`explain`](super::explain()) also reads the source and works out what a run would do; a page
//! that anybody may load again and again must not ask a directory each time.

use jiff::Timestamp;

use crate::config::Job;
use crate::history::{self, AuditEvent, Changed, Decided};
use crate::mirror::Mirror;
use crate::plan::Verdict;
use crate::queue;
use crate::reconcile::approval::held::{HELD, PendingApproval};
use crate::reconcile::model::error::Error;
use crate::record::{JobName, Key, RemoteId, Target, Value};
use crate::snapshot::SyncedRecord;
use crate::store::Store;

/// What is known of one person.
pub struct PersonStory {
    /// The job, or the part of one, that knows them.
    pub part: JobName,
    /// What it manages.
    pub target: Target,
    /// What they are called; none where the service was not asked yet.
    pub name: Option<String>,
    /// What was confirmed of them.
    pub known: Option<SyncedRecord>,
    /// Their entity, where the service held it when it was last asked.
    pub id: Option<RemoteId>,
    /// By field, what was last sent and what the service holds.
    pub fields: Vec<StoryField>,
    /// What waits for a person.
    pub held: Option<PendingApproval>,
    /// What is on its way, or parked.
    pub queued: Option<queue::Change>,
    /// What was decided, as long as it counts.
    pub verdict: Option<Verdict>,
    /// What became of them, the latest first.
    pub events: Vec<StoryEvent>,
}

/// A field of a person.
pub struct StoryField {
    /// Its name.
    pub name: String,
    /// What was last sent or found equal.
    pub sent: Value,
    /// What the service held when it was last asked.
    pub holds: Value,
}

/// One thing that became of a person.
pub enum StoryEvent {
    /// A change that the service confirmed.
    Change(Changed),
    /// What was decided about them.
    Decision(Decided),
}

impl StoryEvent {
    /// When it was.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Change(changed) => changed.at,
            Self::Decision(decided) => decided.at,
        }
    }
}

impl PersonStory {
    /// Reads it from the first part of the job that knows the key; `None` where none does.
    ///
    /// # Errors
    ///
    /// The state or the audit files can't be read.
    pub fn load(store: &Store, job: &Job, key: &Key) -> Result<Option<Self>, Error> {
        for part in job.parts() {
            let story = Self::of_part(store, part, key)?;
            if story.is_known() {
                return Ok(Some(story));
            }
        }
        Ok(None)
    }

    fn of_part(store: &Store, part: &Job, key: &Key) -> Result<Self, Error> {
        let target = part.mapping.target;
        let known = SyncedRecord::get(store, &part.name, key)?;
        let held = HELD.get(store, &part.name, key)?;
        let wish = held.as_ref().and_then(|held| held.change.as_ref());
        let id = known.as_ref().map(|known| known.id).or_else(|| wish?.id);
        let entity = match (Mirror::stored(store, target)?, id) {
            (Some(mirror), Some(id)) => mirror.get(store, id)?,
            _ => None,
        };
        let sent = |name: &str| known.as_ref().and_then(|known| known.sent.get(name)).cloned().unwrap_or_default();
        let holds = |name: &str| entity.as_ref().map(|entity| entity.value(name).clone()).unwrap_or_default();
        let fields = known.iter().flat_map(|known| &known.sent).map(|(name, sent)| StoryField {
            name: name.to_string(),
            sent: sent.clone(),
            holds: holds(name),
        });
        let fields = fields.collect();
        let called = |value: Value| Some(value.shown()).filter(|name| !name.is_empty());
        let wanted = || called(wish?.fields.get(Target::NAME)?.clone());
        Ok(Self {
            name: called(holds(Target::NAME)).or_else(|| called(sent(Target::NAME))).or_else(wanted),
            id: entity.map(|entity| entity.id),
            fields,
            queued: queue::get(store, &part.name, key)?,
            verdict: queue::DECISIONS.get(store, &part.name, key)?.map(|decided| decided.verdict),
            events: events(store, &part.name, key)?,
            part: part.name.clone(),
            target,
            known,
            held,
        })
    }

    fn is_known(&self) -> bool {
        self.known.is_some()
            || self.held.is_some()
            || self.queued.is_some()
            || self.verdict.is_some()
            || !self.events.is_empty()
    }
}

/// What the audit files say of one record, the latest first.
pub(crate) fn events(store: &Store, job: &JobName, key: &Key) -> Result<Vec<StoryEvent>, Error> {
    let mut events = Vec::new();
    history::read(store.home(), |entry| match entry {
        AuditEvent::Change(changed) if changed.job == *job && changed.key == *key => {
            events.push(StoryEvent::Change(changed));
        }
        AuditEvent::Decision(decided) if decided.job.as_ref() == Some(job) && decided.key.as_ref() == Some(key) => {
            events.push(StoryEvent::Decision(decided));
        }
        _ => {}
    })
    .map_err(Error::History)?;
    events.reverse();
    Ok(events)
}
