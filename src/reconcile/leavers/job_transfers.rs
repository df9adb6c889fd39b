//! People who leave one job and appear in another one's source: from staff to contractors, from one site's list to another's.
//!
//! A person who changes sides is removed here only once they are there, so that they are never missing from both; two records
//! are one person where their emails are the same. A person who comes to another job of the same side keeps their entity: this
//! job lets go of it, and the other one, which finds it by its `match_on`, takes it over. A source that can't be read says
//! nothing, and the run reports that.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use smol_str::SmolStr;

use crate::config::Job;
use crate::fault::chain;
use crate::mapping::Mapped;
use crate::mirror::Mirror;
use crate::plan::{Change, HoldReason, Match, Matcher, Writes};
use crate::reconcile::collect::rows;
use crate::reconcile::dropped::last_file;
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::record::{Entity, Key, Record, RemoteId, Target};
use crate::snapshot::SyncedRecord;
use crate::store::Store;
use crate::text::some_of;

/// How many people a note names; the rest is counted.
const NAMED_MAX: usize = 3;

/// Who of the leavers of a job appears in another one.
#[derive(Default)]
pub(crate) struct JobTransfers {
    /// Those who are not there yet: they stay, and why.
    pub(crate) waits: Vec<(Key, HoldReason)>,
    /// Those whose entity another job takes over: nothing is left to do here.
    pub(crate) handed_over: Vec<(Key, RemoteId)>,
    /// What is worth telling.
    pub(crate) notes: Vec<String>,
}

impl JobTransfers {
    /// Takes those out of the leavers of `job` who are to be found in another job, unless they are removed here since they are
    /// there by now.
    pub(crate) fn take(
        context: &Context<'_>,
        job: &Job,
        mirror: &Mirror,
        changes: &mut Vec<Change>,
    ) -> Result<Self, Error> {
        let mut moving = Self::default();
        let target = job.mapping.target;
        let may_take = |other: &&Job| {
            let same = other.mapping.target == target;
            other.name != job.name.root()
                && other.mapping.target.has_presence()
                && (other.mapping.fields.contains_key(Target::EMAIL) || same)
                && (other.writes != Writes::Off || !same)
        };
        let others: Vec<&Job> = context.config.jobs.iter().filter(may_take).collect();
        if !target.has_presence() || !changes.iter().any(|change| change.wish.leaves()) || others.is_empty() {
            return Ok(moving);
        }
        let leaving = entities(context.store, mirror, changes)?;
        for other in others {
            let is_same = other.mapping.target == target;
            let by = if is_same { other.match_on.clone() } else { vec![Target::EMAIL.into()] };
            let found = match appear(context, other, &by, &leaving) {
                Ok(found) => found,
                Err(error) => {
                    let reason = chain(&error);
                    let note = "could not be read, so it is not known whether leavers appear there";
                    moving.notes.push(format!("the source of job {} {note}: {reason}", other.name));
                    continue;
                }
            };
            if is_same {
                moving.hand_over(context.store, other, &found, changes)?;
            } else {
                moving.hold(context.store, other, &found, changes)?;
            }
        }
        Ok(moving)
    }

    fn hold(
        &mut self,
        store: &Store,
        other: &Job,
        there: &BTreeMap<RemoteId, Key>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let mut moved = Vec::new();
        for change in changes.extract_if(.., |change| is_among(there, change)).collect::<Vec<_>>() {
            let key = &there[&change.wish.id.expect("it is among them")];
            let known = SyncedRecord::get(store, &other.name, key)?;
            if known.is_some_and(|known| known.gone.is_none() && known.left.is_none()) {
                moved.push(change);
            } else {
                let reason = HoldReason::Moves { job: other.name.to_string(), key: key.to_string() };
                self.waits.push((change.key, reason));
            }
        }
        self.note(&format!("moved to job {} and leave here", other.name), moved.iter().map(|change| &change.key));
        changes.extend(moved);
        Ok(())
    }

    fn hand_over(
        &mut self,
        store: &Store,
        other: &Job,
        there: &BTreeMap<RemoteId, Key>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let mut wanted = BTreeMap::new();
        for (id, key) in there {
            // A record that the other job knows as another entity is of someone else, who shares an email with the leaver.
            if SyncedRecord::get(store, &other.name, key)?.is_none_or(|known| known.id == *id) {
                wanted.insert(*id, key.clone());
            }
        }
        let moved: Vec<_> = changes.extract_if(.., |change| is_among(&wanted, change)).collect();
        let what = format!("moved to the source of job {}, which takes them over with its next run", other.name);
        self.note(&what, moved.iter().map(|change| &change.key));
        self.handed_over.extend(moved.into_iter().filter_map(|change| Some((change.key, change.wish.id?))));
        Ok(())
    }

    fn note<'k>(&mut self, what: &str, keys: impl ExactSizeIterator<Item = &'k Key>) {
        if keys.len() > 0 {
            self.notes.push(format!("{what}: {}", some_of(keys.map(|key| format!("key {key}")), NAMED_MAX)));
        }
    }
}

fn is_among(there: &BTreeMap<RemoteId, Key>, change: &Change) -> bool {
    change.wish.leaves() && change.wish.id.is_some_and(|id| there.contains_key(&id))
}

/// The entities of those who leave.
fn entities(store: &Store, mirror: &Mirror, changes: &[Change]) -> Result<BTreeMap<RemoteId, Entity>, Error> {
    let mut leaving = BTreeMap::new();
    for id in changes.iter().filter(|change| change.wish.leaves()).filter_map(|change| change.wish.id) {
        leaving.extend(mirror.get(store, id)?.map(|entity| (id, entity)));
    }
    Ok(leaving)
}

/// Which of these leavers the source of a job has now, with the keys that it gives them. Of an inbox, that is the file that is
/// read next, or else the one that was read last.
fn appear(
    context: &Context<'_>,
    job: &Job,
    by: &[SmolStr],
    leaving: &BTreeMap<RemoteId, Entity>,
) -> Result<BTreeMap<RemoteId, Key>, Error> {
    let mut found = BTreeMap::new();
    let Some((job, _copy)) = last_file::latest(job, context.store, context.clock)? else { return Ok(found) };
    let matcher = Matcher::new(by, leaving.values());
    let today = context.clock.now().to_zoned(job.time_zone.clone()).date();
    let mut visit = |record: Record| {
        let (field, ids) = match matcher.find(&record.fields) {
            Match::None => return,
            Match::One { by, id } => (by, vec![id]),
            Match::Many { by, ids } => (by, ids),
        };
        for id in ids.into_iter().filter(|id| Matcher::confirmed(&record, &leaving[id], &field)) {
            found.insert(id, record.key.clone());
        }
    };
    rows::read(context, &job, &rows::mapping(&job), None, &mut |row, bound| {
        if let Mapped::Record(record) = bound.read(row, Some(today)).mapped {
            visit(record);
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}
