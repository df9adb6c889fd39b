//! The last confirmed state of one key.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::record::{FieldKind, JobName, Key, RemoteId, RowMetadata, Target, Value, Values, is_default};
use crate::store::{self, Batch, Keyspace, Store, Table};

/// What was confirmed, by job and key.
pub const SYNCED: Table<Key, SyncedRecord> = Table::new(Keyspace::Synced);
/// The keys that moved since the pages of the index were written.
pub(crate) const DIRTY: Table<Key, ()> = Table::new(Keyspace::Dirty);

/// What was confirmed of one key of one job.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncedRecord {
    /// The entity that the record is.
    pub id: RemoteId,
    /// When the service made that entity, as the service wrote it.
    pub created: String,
    /// What was last sent and confirmed, or found equal, by field.
    pub sent: Values,
    /// What the service made of it, where that differs.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub echo: Values,
    /// Since when the key is missing from complete reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
    /// What became of someone who is gone and stays at the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Left>,
    /// What the row said about itself.
    #[serde(default, skip_serializing_if = "RowMetadata::is_empty")]
    pub marks: RowMetadata,
    /// How many writes in a row set back what was edited at the service since the one before, the source being the same.
    #[serde(default, skip_serializing_if = "is_default")]
    pub edits: u32,
    /// Whether another job owns the entity, and this one only joins people to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub borrowed: bool,
    /// Whether the service held something newer when the state was found to be a copy that was laid back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overtaken: bool,
    /// Whether `sent` holds what was wanted and could not be sent, since the service showed the entity no more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsent: bool,
}

/// That what `[job.leavers.set]` asks for was done to someone who is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// When, by this machine's clock.
    pub at: Timestamp,
    /// Whether a person had released it.
    pub approved: bool,
}

/// Since when a key is missing from complete reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    /// The first complete read that missed it.
    pub since: Timestamp,
    /// How many further complete reads missed it; the same unchanged file is not a further one.
    pub reads: u32,
    /// The content of the latest read that was counted.
    pub content: String,
    /// What took its place in the source, by key, where something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<Key>,
    /// The job whose source has the person, and which may take the entity over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<JobName>,
    /// How many copies of the state had been laid back by then. A later copy did not see who was there in between, so in it the grace
    /// begins again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub copies: u64,
}

impl Gone {
    /// Missing from now on.
    pub fn since(since: Timestamp) -> Self {
        Self { since, reads: 0, content: String::new(), successor: None, offered: None, copies: 0 }
    }
}

impl SyncedRecord {
    /// What is known of an entity of which nothing was sent yet.
    pub fn of(id: RemoteId, created: String) -> Self {
        Self {
            id,
            created,
            sent: Values::new(),
            echo: Values::new(),
            gone: None,
            left: None,
            marks: RowMetadata::default(),
            edits: 0,
            borrowed: false,
            overtaken: false,
            unsent: false,
        }
    }

    /// Whether nothing says that its person is gone.
    pub fn stays(&self) -> bool {
        self.gone.is_none() && self.left.is_none()
    }

    /// Whether the entity that now has the id is another person's: the service `created` it at another time.
    pub fn is_of_another(&self, created: &str) -> bool {
        !self.created.is_empty() && !created.is_empty() && self.created != created
    }

    /// Whether the remote `value` of a field means what this job wants: equal by kind, or what the service made of just
    /// this wish before (law 4).
    pub fn is_in_sync(&self, field: &str, kind: FieldKind, wanted: &Value, value: &Value) -> bool {
        kind.same(wanted, value)
            || (self.echo.get(field) == Some(value) && self.sent.get(field).is_some_and(|sent| sent == wanted))
    }

    /// The same with the photo that was confirmed `before`: which one the service has is known from sending it alone, and
    /// no operation takes it away.
    #[must_use]
    pub fn with_photo_of(mut self, before: Option<&Self>) -> Self {
        for (now, before) in
            [(&mut self.sent, before.map(|known| &known.sent)), (&mut self.echo, before.map(|known| &known.echo))]
        {
            now.remove(Target::PHOTO);
            now.extend(
                before.and_then(|before| before.get(Target::PHOTO)).map(|photo| (Target::PHOTO.into(), photo.clone())),
            );
        }
        self
    }

    /// Whether the photo that was last sent is one that the source does not have any more.
    pub fn has_stale_photo(&self, wanted: &Values) -> bool {
        wanted.get(Target::PHOTO).is_some_and(Value::is_empty) && self.sent.contains_key(Target::PHOTO)
    }

    /// The job that may take the entity over, since the person is gone here and in its source.
    pub fn offered(&self) -> Option<&JobName> {
        self.gone.as_ref()?.offered.as_ref()
    }

    /// Reads the row of a key.
    pub fn get(store: &Store, job: &JobName, key: &Key) -> Result<Option<Self>, store::Error> {
        SYNCED.get(store, job, key)
    }

    /// Puts the row of a key and marks the key as moved.
    pub fn put(&self, batch: &mut Batch, job: &JobName, key: &Key) {
        SYNCED.put(batch, job, key, self);
        Self::mark_dirty(batch, job, key);
    }

    /// Removes the row of a key and marks the key as moved.
    pub fn remove(batch: &mut Batch, job: &JobName, key: &Key) {
        SYNCED.remove(batch, job, key);
        Self::mark_dirty(batch, job, key);
    }

    /// Marks a key as moved: whatever its row's digest, it is mapped and compared until it is found to need nothing.
    pub fn mark_dirty(batch: &mut Batch, job: &JobName, key: &Key) {
        DIRTY.put(batch, job, key, &());
    }
}

/// Names the id only (law 11).
impl fmt::Debug for SyncedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncedRecord").field("id", &self.id).field("gone", &self.gone).finish_non_exhaustive()
    }
}
