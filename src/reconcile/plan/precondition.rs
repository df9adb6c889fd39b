//! What a planned change is based on, so that a later run can check whether any of it has changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::mirror::Mirror;
use crate::plan::{HoldReason, Judged as _, Outline};
use crate::reconcile::approval::remote_digest::{remote, text};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::JobPlan;
use crate::record::{Key, RemoteId};
use crate::snapshot::SyncedRecord;
use crate::spool;
use crate::store::Store;

/// What a planned change is based on. Presence and the service's time stamps have no part in it: someone who comes in in
/// the morning is no other person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Precondition {
    /// The digest of the source row and of the job's mapping; none for a leaver.
    pub(crate) row: Option<String>,
    /// The digest of what the service holds in the fields that the job owns; none for a joiner.
    pub(crate) remote: Option<String>,
    /// The digest of what is wanted.
    pub(crate) wish: String,
}

impl Precondition {
    /// What a change of a plan is based on.
    pub(crate) fn of(prepared: &JobPlan, change: &Outline) -> Result<Self, spool::Error> {
        let remote = prepared.updates.remote.get(&change.key).copied().map(text);
        Ok(Self { row: row(prepared, &change.key)?, remote, wish: wish(change) })
    }
}

/// A run that was just worked out, against which planned changes are held.
pub(crate) struct CurrentPlan<'a> {
    prepared: &'a JobPlan,
    mirror: &'a Mirror,
    store: &'a Store,
    go: BTreeMap<&'a Key, &'a Outline>,
    held: BTreeMap<&'a Key, &'a HoldReason>,
}

impl<'a> CurrentPlan<'a> {
    pub(crate) fn new(prepared: &'a JobPlan, mirror: &'a Mirror, store: &'a Store) -> Self {
        let go = prepared.go.iter().map(|change| (&change.key, change)).collect();
        let held = prepared.held.iter().map(|held| (&held.key, &held.reason)).collect();
        Self { prepared, mirror, store, go, held }
    }

    /// The planned change as it is wanted now, with true where a person released it; or why it is not to be sent.
    pub(crate) fn judge(
        &self,
        key: &Key,
        id: Option<RemoteId>,
        basis: &Precondition,
    ) -> Result<Result<&'a Outline, String>, Error> {
        let row = row(self.prepared, key)?;
        let remote = remote(&self.prepared.fields, id, self.mirror, self.store)?.map(text);
        let why = if row.is_some() && basis.row.is_some() && row != basis.row {
            "its row in the source changed since".to_owned()
        } else if remote.is_none() && basis.remote.is_some() {
            format!("the service does not have this {} any more", self.prepared.target.noun())
        } else if remote != basis.remote {
            format!("this {} changed at the service since", self.prepared.target.noun())
        } else if let Some(reason) = self.held.get(key) {
            format!("held by now: {reason}")
        } else if self.prepared.dropped.iter().any(|dropped| dropped.key == *key) {
            "a person rejected it since".to_owned()
        } else {
            match self.go.get(key) {
                None => self.unwanted(key, basis)?,
                Some(change) if wish(change) != basis.wish => {
                    "the planned change differs from the one in the file".to_owned()
                }
                Some(found) => match self.prepared.waits.get(key).filter(|reason| **reason != HoldReason::OnSite) {
                    None => return Ok(Ok(found)),
                    Some(reason) => reason.to_string(),
                },
            }
        };
        Ok(Err(why))
    }

    /// Why no change of a key is wanted where one was planned.
    fn unwanted(&self, key: &Key, basis: &Precondition) -> Result<String, Error> {
        let JobPlan { job, moving, target, .. } = self.prepared;
        if let Some((_, reason)) = moving.iter().find(|(moving, _)| moving == key) {
            return Ok(reason.to_string());
        }
        let is_made = basis.remote.is_none() && SyncedRecord::get(self.store, job, key)?.is_some();
        Ok(if is_made {
            format!("this {} was made since", target.noun())
        } else {
            "it is not wanted any more".to_owned()
        })
    }
}

fn wish(change: &Outline) -> String {
    format!("{:016x}", change.wish())
}

fn row(prepared: &JobPlan, key: &Key) -> Result<Option<String>, spool::Error> {
    Ok(prepared.updates.digests.get(key, &prepared.spill)?.map(text))
}
