//! The two links of a membership.

use super::synced_record::SyncedRecord;
use crate::record::{JobName, Key, RemoteId, Target, Value, Values};
use crate::store::{self, Store};

/// The member and the organization that a membership joins: what its record calls them, and their ids where they are
/// confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Links {
    /// The member's key.
    pub member: Key,
    /// The member's id, where it is confirmed.
    pub member_id: Option<RemoteId>,
    /// The organization's key.
    pub organization: Key,
    /// The organization's id, where it is confirmed.
    pub organization_id: Option<RemoteId>,
}

impl Links {
    /// Looks up the links of a membership of `job`, or of any part of it; `None` where the fields are not of a membership.
    pub fn of(store: &Store, job: &JobName, fields: &Values) -> Result<Option<Self>, store::Error> {
        let key = |field: &str| fields.get(field).and_then(Value::as_text).and_then(Key::new);
        let Some((member, organization)) = key(Target::MEMBER).zip(key(Target::ORGANIZATION)) else { return Ok(None) };
        let id = |job: &JobName, key: &Key| Ok(SyncedRecord::get(store, job, key)?.map(|known| known.id));
        let member_id = id(&job.root(), &member)?;
        let organization_id = id(&job.part(Target::Organization), &organization)?;
        Ok(Some(Self { member, member_id, organization, organization_id }))
    }
}
