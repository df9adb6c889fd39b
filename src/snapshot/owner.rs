//! Which record owns an entity (law 6).

use serde::{Deserialize, Serialize};

use super::synced_record::SyncedRecord;
use crate::record::{JobName, Key, RemoteId, Target};
use crate::store::{self, Batch, Keyspace, Store, Table};

/// The owners of entities.
pub const OWNERS: Table<RemoteId, Owner> = Table::new(Keyspace::Owner);

/// The record that owns an entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its job.
    pub job: JobName,
    /// Its key.
    pub key: Key,
}

impl Owner {
    /// The owner of an entity, where it has one.
    pub fn of(store: &Store, target: Target, id: RemoteId) -> Result<Option<Self>, store::Error> {
        OWNERS.get(store, &target, &id)
    }

    /// The same, where that is another record than this one.
    pub fn besides(
        store: &Store,
        target: Target,
        id: RemoteId,
        (job, key): (&JobName, &Key),
    ) -> Result<Option<Self>, store::Error> {
        Ok(Self::of(store, target, id)?.filter(|owner| owner.job != *job || owner.key != *key))
    }

    /// The job that may take the entity over from this record.
    pub fn offers_to(&self, store: &Store) -> Result<Option<JobName>, store::Error> {
        let known = SyncedRecord::get(store, &self.job, &self.key)?;
        Ok(known.and_then(|known| known.gone).and_then(|gone| gone.offered))
    }

    /// Makes this record the owner.
    pub fn put(&self, batch: &mut Batch, target: Target, id: RemoteId) {
        OWNERS.put(batch, &target, &id, self);
    }

    /// Removes this job's ownership of the entity. Another job keeps its own.
    pub fn release(
        batch: &mut Batch,
        store: &Store,
        job: &JobName,
        target: Target,
        id: RemoteId,
    ) -> Result<(), store::Error> {
        if Self::of(store, target, id)?.is_none_or(|owner| owner.job == *job) {
            OWNERS.remove(batch, &target, &id);
        }
        Ok(())
    }
}
