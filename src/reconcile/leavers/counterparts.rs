//! Whether people who leave a job for one of the other side are at the service there, asked right before they may be removed.
//!
//! That the other job confirmed them once is no proof: their entry may have been removed at the service since, or never been kept. A
//! listing of changes does not show that, and the other job may be planned after this one. So each entry is asked for by its id. Who is
//! not there stays, with their memberships, and the other job lists everything again and makes them once more.
//!
//! Rejected: to ask when the removal is sent. Their memberships have ended by then.

use std::collections::BTreeSet;

use crate::fault::chain;
use crate::mirror::{self, EntityRef, Remote};
use crate::plan::{HoldReason, Judged as _};
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::part_draft::PartDraft;
use crate::record::Key;
use crate::snapshot::{Owner, SyncedRecord};
use crate::store::Batch;
use crate::text::some_of;

/// How many people a note names; the rest is counted.
const NAMED_MAX: usize = 3;

/// Takes those out of the leavers of a draft who are to be in another job, where the service does not show them.
pub(crate) async fn keep_absent(context: &Context<'_>, draft: &mut PartDraft) -> Result<(), Error> {
    let mut absent = BTreeSet::new();
    for change in draft.changes.go.iter().filter(|change| change.leaves()) {
        let Some(there) = draft.results.moved.get(&change.key) else { continue };
        if !is_there(context, there).await? {
            absent.insert(change.key.clone());
        }
    }
    draft.changes.go.retain(|change| !absent.contains(&change.key));
    for key in &absent {
        let Owner { job, key: other } = &draft.results.moved[key];
        draft.rest.moving.push((key.clone(), HoldReason::Moves { job: job.to_string(), key: other.to_string() }));
    }
    if !absent.is_empty() {
        let keys = some_of(absent.iter().map(|key: &Key| format!("key {key}")), NAMED_MAX);
        let note = "stay, since the service does not show them in the job to which they moved; it makes them again";
        draft.rest.notes.push(format!("{note}: {keys}"));
    }
    Ok(())
}

/// Whether the service shows the entity of a record. One that can't be asked for is none that is there; one that is gone is
/// listed again.
async fn is_there(context: &Context<'_>, record: &Owner) -> Result<bool, Error> {
    let store = context.store;
    let known = SyncedRecord::get(store, &record.job, &record.key)?;
    let target = context.config.part(&record.job).map(|job| job.mapping.target);
    let Some((known, target)) = known.zip(target) else { return Ok(false) };
    let at = EntityRef { target, id: known.id, below: None };
    match Remote::look(context.client, at).await {
        Ok(answered) if answered.value.is_some() => Ok(true),
        Ok(_) => {
            let mut batch = Batch::default();
            mirror::drop_gone(&mut batch, target, known.id);
            mirror::force_full_listing(&mut batch, store, target)?;
            store.commit(batch)?;
            Ok(false)
        }
        Err(error) => {
            let (job, key, reason) = (record.job.as_str(), record.key.as_str(), chain(&error).to_string());
            tracing::warn!(
                job,
                key,
                reason,
                "key {key} of job {job} could not be asked for, so who moved there stays: {reason}"
            );
            Ok(false)
        }
    }
}
