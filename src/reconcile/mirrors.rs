//! What the service holds, of every target that the jobs of a command need; each is pulled once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use jiff::SignedDuration;

use super::collect::rows;
use super::model::context::{Context, Stage};
use super::model::error::Error;
use super::model::job_state::JobState;
use super::{account, restored_state};
use crate::config::Job;
use crate::mapping::Mapped;
use crate::mirror::{Mirror, PullSet};
use crate::record::{Target, Value};
use crate::snapshot::OWNERS;
use crate::store::{self, Store};

/// The mirrors of a command, by target.
#[derive(Clone, Default)]
pub(crate) struct Mirrors {
    by_target: BTreeMap<Target, Mirror>,
    /// Whether what is pulled is stored.
    persist: bool,
    /// Whether the credential may be another account's, once it was asked.
    doubted: Option<bool>,
}

impl Mirrors {
    /// Mirrors of which all that is pulled is stored; by default, nothing is.
    pub(crate) fn kept() -> Self {
        Self { persist: true, ..Self::default() }
    }

    /// The mirror of a target that was pulled.
    pub(crate) fn of(&self, target: Target) -> &Mirror {
        self.by_target.get(&target).expect("it is pulled before the job is looked at")
    }

    /// The mirror of a target, where it was pulled.
    pub(crate) fn get(&self, target: Target) -> Option<&Mirror> {
        self.by_target.get(&target)
    }

    /// The mirror of a target that was pulled, to be read once more.
    pub(crate) fn of_mut(&mut self, target: Target) -> &mut Mirror {
        self.by_target.get_mut(&target).expect("it is pulled before the job is looked at")
    }

    /// Stores what was learned of all that a part of a job needs.
    pub(crate) fn save(&mut self, store: &Store, part: &Job) -> Result<(), store::Error> {
        needed(part).into_iter().try_for_each(|target| self.of_mut(target).save(store))
    }

    /// The mirrors that a job needs as the last finished pulls left them; `None` where one of them was never pulled.
    pub(crate) fn stored(store: &Store, job: &Job) -> Result<Option<Self>, store::Error> {
        let mut mirrors = Self::default();
        for target in needed(job) {
            let Some(mirror) = Mirror::stored(store, target)? else { return Ok(None) };
            mirrors.by_target.insert(target, mirror);
        }
        Ok(Some(mirrors))
    }

    /// Pulls what a job needs and what was not pulled yet.
    pub(crate) async fn pull(&mut self, context: &Context<'_>, job: &Job) -> Result<(), Error> {
        let doubted = match self.doubted {
            Some(doubted) => doubted,
            None => *self.doubted.insert(account::is_doubted(context)?),
        };
        // A later job, or a later file, may name certifications that the ones before did not.
        let named = if job.mapping.target == Target::Holder { certifications(context, job)? } else { BTreeSet::new() };
        let is_there = |target: &Target| {
            self.by_target.get(target).is_some_and(|mirror| *target != Target::Holder || mirror.lists(&named))
        };
        let missing: Vec<Target> = needed(job).into_iter().filter(|target| !is_there(target)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        context.watch.stage(&job.name, Stage::Pulling);
        // For a state that was restored from a copy, it is unknown what was removed since.
        let is_laid_back = restored_state::copies(context.store)? > JobState::load(context.store, &job.name)?.copies;
        let full_pull = if is_laid_back { SignedDuration::ZERO } else { context.config.state.full_pull };
        for target in missing {
            let fields = context.config.parts().filter(|part| part.mapping.target == target).flat_map(Job::fields);
            let known_by = context.config.jobs.iter().flat_map(|job| found_by(job, target));
            let mut wanted = PullSet { doubted, ..PullSet::new(target, fields.chain(known_by), full_pull) };
            if target == Target::Holder {
                wanted.certifications.clone_from(&named);
                wanted.certifications.extend(self.by_target.get(&target).into_iter().flat_map(Mirror::listed));
            }
            let mirror = Mirror::pull(context.client, context.store, &wanted, context.clock, self.persist).await?;
            self.by_target.insert(target, mirror);
        }
        if doubted && self.persist && self.shows_all_known(context.store)? {
            let mut mirrors: Vec<&mut Mirror> = self.by_target.values_mut().collect();
            account::trust(context, &mut mirrors)?;
            self.doubted = Some(false);
        }
        Ok(())
    }

    /// Whether every target of which anybody is known was pulled: only then has the credential shown whose account it is.
    fn shows_all_known(&self, store: &Store) -> Result<bool, store::Error> {
        for target in Target::ALL.iter().filter(|target| !self.by_target.contains_key(target)) {
            if !OWNERS.is_empty(store, target)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The targets whose mirrors a job needs: no two runs that share one may be under way at a time.
pub fn needed(job: &Job) -> BTreeSet<Target> {
    let own = job.parts().map(|part| part.mapping.target);
    own.chain(holds(job)).collect()
}

/// The kinds of people who can hold what a job manages.
fn holds(job: &Job) -> Vec<Target> {
    match job.mapping.fields.get("record_type").map(|text| text.trim()) {
        None => Vec::new(),
        Some("staff") => vec![Target::Staff],
        Some("sp") => vec![Target::Contractor],
        Some(_) => vec![Target::Staff, Target::Contractor],
    }
}

/// The fields by which a job finds people of another target.
fn found_by(job: &Job, target: Target) -> Vec<String> {
    let fields =
        holds(job).into_iter().filter(|held| *held == target).flat_map(crate::reconcile::model::job_fields::found_by);
    fields.map(|field| (*field).to_owned()).collect()
}

/// The certifications that the source of a job names now. An inbox of which no file was taken names none.
fn certifications(context: &Context<'_>, job: &Job) -> Result<BTreeSet<String>, Error> {
    let mut named = BTreeSet::new();
    let folder = job.inbox.as_ref().map(|inbox| &inbox.dir);
    if folder.is_some() && folder == job.source.file().map(|file| &file.path) {
        return Ok(named);
    }
    let mapping = rows::mapping(job);
    rows::read(context, job, &mapping, None, &mut |row, bound| {
        if let Mapped::Record(record) = bound.read(row, None).mapped {
            named.extend(record.fields.get("certification").and_then(Value::as_text).map(str::to_owned));
        }
        ControlFlow::Continue(())
    })?;
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{JobName, Key, RemoteId};
    use crate::snapshot::Owner;
    use crate::store::Batch;

    #[test]
    fn law_2_an_account_is_not_known_before_every_target_with_people_was_pulled() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let mirrors = Mirrors::default();
        assert!(mirrors.shows_all_known(&store).unwrap());
        let mut batch = Batch::default();
        let owner = Owner { job: JobName::new("sites").unwrap(), key: Key::new("7").unwrap() };
        owner.put(&mut batch, Target::Contractor, RemoteId::new(7).unwrap());
        store.commit(batch).unwrap();
        assert!(!mirrors.shows_all_known(&store).unwrap());
    }
}
