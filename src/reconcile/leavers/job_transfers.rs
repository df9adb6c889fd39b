//! People who leave one job and appear in another one's source: from staff to contractors, or back.
//!
//! They are removed here only once they are there, so that a person who changes sides is never missing from both. Two
//! records are one person where their emails are the same; a source that can't be read says nothing, and the run
//! reports that.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::config::Job;
use crate::fault::chain;
use crate::mapping::Mapped;
use crate::mirror::Mirror;
use crate::plan::{Change, HoldReason};
use crate::reconcile::collect::rows;
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::record::{Key, normalize};
use crate::snapshot::SyncedRecord;
use crate::store::Store;
use crate::text::some_of;

/// The field by which a person is known on both sides.
const SAME: &str = "email";
/// How many people a note names; the rest is counted.
const NAMED_MAX: usize = 3;

/// Who of the leavers of a job appears in another one.
#[derive(Default)]
pub(crate) struct JobTransfers {
    /// Those who are not there yet: they stay, and why.
    pub(crate) waits: Vec<(Key, HoldReason)>,
    /// What is worth telling.
    pub(crate) notes: Vec<String>,
}

impl JobTransfers {
    /// Takes those out of the leavers of `job` who are to be found in another job and are not there yet.
    pub(crate) fn take(
        context: &Context<'_>,
        job: &Job,
        mirror: &Mirror,
        changes: &mut Vec<Change>,
    ) -> Result<Self, Error> {
        let mut moving = Self::default();
        let target = job.mapping.target;
        let is_other = |other: &&Job| {
            other.mapping.target != target
                && other.mapping.target.has_presence()
                && other.mapping.fields.contains_key(SAME)
        };
        let others: Vec<&Job> = context.config.jobs.iter().filter(is_other).collect();
        if !target.has_presence() || changes.is_empty() || others.is_empty() {
            return Ok(moving);
        }
        let emails = emails(context.store, mirror, changes)?;
        for other in others {
            let wanted: BTreeSet<&String> = emails.values().collect();
            let found = match appear(context, other, &wanted) {
                Ok(found) => found,
                Err(error) => {
                    let reason = chain(&error);
                    let note = "could not be read, so it is not known whether leavers appear there";
                    moving.notes.push(format!("the source of job {} {note}: {reason}", other.name));
                    continue;
                }
            };
            let is_there = |change: &Change| found.get(emails.get(&change.key)?);
            moving.hold(context.store, other, is_there, changes)?;
        }
        Ok(moving)
    }

    fn hold<'k>(
        &mut self,
        store: &Store,
        other: &Job,
        there: impl Fn(&Change) -> Option<&'k Key>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let mut moved = Vec::new();
        let mut stay = Vec::new();
        for change in std::mem::take(changes) {
            let Some(there) = there(&change) else {
                stay.push(change);
                continue;
            };
            let known = SyncedRecord::get(store, &other.name, there)?;
            if known.is_some_and(|known| known.gone.is_none() && known.left.is_none()) {
                moved.push(change.key.clone());
                stay.push(change);
            } else {
                let reason = HoldReason::Moves { job: other.name.to_string(), key: there.to_string() };
                self.waits.push((change.key, reason));
            }
        }
        *changes = stay;
        if !moved.is_empty() {
            let named = some_of(moved.iter().map(|key| format!("key {key}")), NAMED_MAX);
            self.notes.push(format!("moved to job {} and leave here: {named}", other.name));
        }
        Ok(())
    }
}

/// The emails of leavers, by key.
fn emails(store: &Store, mirror: &Mirror, changes: &[Change]) -> Result<BTreeMap<Key, String>, Error> {
    let mut emails = BTreeMap::new();
    for change in changes.iter().filter(|change| change.wish.leaves()) {
        let entity = change.wish.id.map(|id| mirror.get(store, id)).transpose()?.flatten();
        let email = entity.and_then(|entity| entity.value(SAME).as_text().map(normalize));
        emails.extend(email.filter(|email| !email.is_empty()).map(|email| (change.key.clone(), email)));
    }
    Ok(emails)
}

/// Which of these emails the source of a job has now, with the keys that it gives them.
fn appear(context: &Context<'_>, job: &Job, emails: &BTreeSet<&String>) -> Result<BTreeMap<String, Key>, Error> {
    let mut found = BTreeMap::new();
    let today = context.clock.now().to_zoned(job.time_zone.clone()).date();
    rows::read(context, job, &rows::mapping(job), None, &mut |row, bound| {
        if let Mapped::Record(record) = bound.read(row, Some(today)).mapped
            && let Some(email) = record.fields.get(SAME).and_then(|value| value.as_text().map(normalize))
            && emails.contains(&email)
        {
            found.insert(email, record.key);
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}
