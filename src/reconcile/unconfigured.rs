//! Jobs of the state that the configuration does not have: no one brings their people up to date, and none of them is removed.
//!
//! Those of them that another job has taken over are not counted.

use std::collections::BTreeSet;
use std::fmt;

use super::model::job_state::JobState;
use crate::config::Config;
use crate::record::JobName;
use crate::snapshot::{Owner, SYNCED, SyncedRecord};
use crate::store::{self, Store};
use crate::text::counted;

/// A job that was taken out of the configuration, or renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnconfiguredJob {
    /// Its name.
    pub name: JobName,
    /// How many people are known of it that no other job has.
    pub people: u64,
}

impl UnconfiguredJob {
    /// All of a state that have people.
    ///
    /// # Errors
    ///
    /// Why the state can't be read.
    pub fn all(store: &Store, config: &Config) -> Result<Vec<Self>, store::Error> {
        let names: BTreeSet<JobName> = store.jobs()?.iter().map(JobName::root).collect();
        let mut all = Vec::new();
        for name in names.into_iter().filter(|name| config.part(name).is_none()) {
            let people = people(store, &name)?;
            all.extend((people > 0).then_some(Self { name, people }));
        }
        Ok(all)
    }
}

/// The people of a job whose entities are its own still.
fn people(store: &Store, name: &JobName) -> Result<u64, store::Error> {
    let Some(target) = JobState::load(store, name)?.target else { return Ok(0) };
    let mut known = Vec::new();
    SYNCED.each(store, name, |key, record: SyncedRecord| known.push((key, record.id)))?;
    let mut people = 0;
    for (key, id) in known {
        let owner = Owner::of(store, target, id)?;
        people += u64::from(owner.is_some_and(|owner| owner.job == *name && owner.key == key));
    }
    Ok(people)
}

impl fmt::Display for UnconfiguredJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, people } = self;
        let who = counted(people, "person is known of it", "people are known of it");
        write!(
            f,
            "job {name} is not in the configuration, and {who}: no one changes or removes them any more. Put it back under this name; where \
             it is gone for good, another job takes over who is in its source, and `rosterd forget KEY` drops one of the others"
        )
    }
}
