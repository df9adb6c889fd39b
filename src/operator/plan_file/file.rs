//! A plan as a file: what a person saw and may apply later.
//!
//! Invariants:
//! - It carries for each change what that was based on, and for each job what the job said, by digest. Nothing of it is
//!   ever sent: `apply` computes the run again and sends what is in both.
//! - A plan is applied once; see [`USED_PLANS`].
//! - Sensitive values are in it only where that was asked for; of the others a person sees before and after.
//!
//! Rejected: rendered requests in the file. A PUT that was put together yesterday would undo what others did since.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use xxhash_rust::xxh3::xxh3_128;

use super::used::{PlanFiles, PlanId, USED_PLANS};
use crate::config::{Config, Job};
use crate::history::acting_user;
use crate::plan::Outline;
use crate::reconcile::model::context::{Context, KeyFilter};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::{JobPlan, Plan};
use crate::reconcile::model::plan_file_error::PlanFileError;
use crate::reconcile::plan::precondition::Precondition;
use crate::record::{self, Action, JobName, Key, RemoteId, Target, Value};
use crate::spool;
use crate::store::{Batch, Store};

/// The form that this program writes and reads.
pub(super) const VERSION: u64 = 1;
/// What a value is shown as that is sensitive.
const HIDDEN: &str = "***";

/// A plan as a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    id: PlanId,
    /// When it was made.
    pub made: Timestamp,
    by: String,
    base_url: String,
    credential: String,
    /// The records that it was narrowed to; empty for all.
    keys: Vec<Key>,
    pub(crate) jobs: Vec<PlannedJob>,
}

/// What is planned for one job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedJob {
    pub(crate) name: JobName,
    config: String,
    complete: bool,
    pub(crate) changes: Vec<Planned>,
}

/// One planned change.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Planned {
    pub(crate) action: Action,
    target: Target,
    pub(crate) key: Key,
    pub(crate) id: Option<RemoteId>,
    line: Option<u64>,
    /// Why it waits for a person; such a one is for the reader only.
    pub(crate) held: Option<String>,
    fields: BTreeMap<String, Shown>,
    pub(crate) based_on: Precondition,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    from: Json,
    to: Json,
}

impl PlanFile {
    /// The largest file that is read.
    pub const SIZE_MAX: u64 = 512 * 1024 * 1024;

    /// Puts down what was planned [`For::File`](crate::reconcile::For); jobs whose plan failed are left out. Sensitive values
    /// are in it only with `values`.
    ///
    /// # Errors
    /// Where what was planned can't be read back from the disk of the state folder.
    pub fn new(context: &Context<'_>, plans: &[Plan], narrow: &KeyFilter, values: bool) -> Result<Self, spool::Error> {
        let id = unique();
        let prepared = plans.iter().filter_map(|plan| plan.result.as_ref().ok()).flat_map(|(parts, _)| parts);
        let planned = prepared.filter_map(|prepared| {
            let part = context.config.part(&prepared.job)?;
            Some(PlannedJob::new(part, prepared, values))
        });
        Ok(Self {
            made: context.clock.now(),
            by: acting_user(),
            base_url: context.config.api.base_url.clone(),
            credential: context.client.identity(id.to_string().as_bytes()),
            keys: narrow.keys.iter().cloned().collect(),
            jobs: planned.collect::<Result<_, _>>()?,
            id,
        })
    }

    /// The file's text.
    pub fn encode(&self) -> String {
        let plan = serde_json::to_value(self).expect("plain values");
        let document = json!({"version": VERSION, "seal": seal(&plan), "plan": plan});
        format!("{document:#}\n")
    }

    /// Reads what [`PlanFile::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, PlanFileError> {
        let document: Json = serde_json::from_slice(bytes).map_err(|_| PlanFileError::Damaged)?;
        let version = document.get("version").and_then(Json::as_u64).ok_or(PlanFileError::Damaged)?;
        if version != VERSION {
            return Err(PlanFileError::Version(version));
        }
        let plan = document.get("plan").ok_or(PlanFileError::Damaged)?;
        if document.get("seal").and_then(Json::as_str) != Some(seal(plan).as_str()) {
            return Err(PlanFileError::Damaged);
        }
        serde_json::from_value(plan.clone()).map_err(|_| PlanFileError::Damaged)
    }

    /// How many changes it would send, and how many it shows that are held.
    pub fn counts(&self) -> (usize, usize) {
        let all = || self.jobs.iter().flat_map(|job| &job.changes);
        let held = all().filter(|change| change.held.is_some()).count();
        (all().count() - held, held)
    }

    /// Fails unless it was made for this service and these jobs, and never applied.
    pub(crate) fn check(&self, context: &Context<'_>) -> Result<(), Error> {
        let configured = &context.config.api.base_url;
        if self.base_url != *configured {
            let (planned, configured) = (self.base_url.clone(), configured.clone());
            return Err(PlanFileError::Service { planned, configured }.into());
        }
        if self.credential != context.client.identity(self.id.to_string().as_bytes()) {
            return Err(PlanFileError::Credential.into());
        }
        if let Some(job) = self.jobs.iter().find(|planned| planned.job(context.config).is_none()) {
            return Err(PlanFileError::Job(job.name.clone()).into());
        }
        self.check_unused(context.store)
    }

    /// Fails where it was applied.
    pub(crate) fn check_unused(&self, store: &Store) -> Result<(), Error> {
        match USED_PLANS.get(store, &PlanFiles, &self.id)? {
            Some(at) => Err(PlanFileError::Used(at).into()),
            None => Ok(()),
        }
    }

    /// Notes that it is applied, with the first of its changes that are queued.
    pub(crate) fn mark(&self, batch: &mut Batch, now: Timestamp) {
        USED_PLANS.put(batch, &PlanFiles, &self.id, &now);
    }

    pub(crate) fn id(&self) -> &PlanId {
        &self.id
    }

    pub(crate) fn narrow(&self) -> KeyFilter {
        KeyFilter { keys: self.keys.iter().cloned().collect() }
    }
}

impl PlannedJob {
    fn new(job: &Job, prepared: &JobPlan, values: bool) -> Result<Self, spool::Error> {
        let held = prepared.held.iter().filter_map(|held| {
            Some((held.change.as_ref()?, Some(record::reveal(&held.reason.to_string()).into_owned())))
        });
        let changes = prepared.go.iter().map(|change| (change, None)).chain(held);
        Ok(Self {
            name: job.name.clone(),
            config: stamp(job),
            complete: prepared.complete,
            changes: changes
                .map(|(change, held)| planned(job, prepared, change, held, values))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The job of the configuration that it was planned for, as it was then.
    pub(crate) fn job<'c>(&self, config: &'c Config) -> Option<&'c Job> {
        config.part(&self.name).filter(|job| stamp(job) == self.config)
    }
}

fn planned(
    job: &Job,
    prepared: &JobPlan,
    outline: &Outline,
    held: Option<String>,
    values: bool,
) -> Result<Planned, spool::Error> {
    let change = prepared.spill.change(outline)?;
    let sensitive = |name: &str| prepared.fields.iter().any(|field| field.name == name && field.sensitive);
    let shown = |name: &str, value: &Value| match value {
        value if !value.is_empty() && sensitive(name) && !values => HIDDEN.into(),
        value => value.to_json(),
    };
    let fields = change.moves().map(|(name, from, to)| {
        let (from, to) = (shown(name, from), shown(name, to));
        (name.to_owned(), Shown { from, to })
    });
    Ok(Planned {
        action: outline.action,
        target: job.mapping.target,
        key: outline.key.clone(),
        id: outline.id,
        line: change.line,
        held,
        fields: fields.collect(),
        based_on: Precondition::of(prepared, outline)?,
    })
}

/// Fingerprint of a job's configuration: the `Debug` of its options, so that new keys are part of it too.
fn stamp(job: &Job) -> String {
    format!("{:032x}", xxh3_128(format!("{job:?}").as_bytes()))
}

pub(super) fn seal(plan: &Json) -> String {
    format!("{:032x}", xxh3_128(plan.to_string().as_bytes()))
}

/// An id that no other plan has.
fn unique() -> PlanId {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).expect("the kernel gives random bytes");
    PlanId::random(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> PlanFile {
        PlanFile {
            id: unique(),
            made: "2026-01-02T03:04:05Z".parse().unwrap(),
            by: "uid 0".into(),
            base_url: "https://api.example.com/v1".into(),
            credential: "00".into(),
            keys: vec![Key::new("42").unwrap()],
            jobs: vec![],
        }
    }

    #[test]
    fn fault_111_a_plan_file_that_was_changed_in_any_byte_is_refused() {
        let text = file().encode();
        assert_eq!(PlanFile::decode(text.as_bytes()).unwrap().encode(), text);
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            // White space between the words says nothing.
            let same = PlanFile::decode(&bytes).is_ok_and(|read| read.encode() == text);
            assert!(
                PlanFile::decode(&bytes).is_err() || same && text.as_bytes()[at].is_ascii_whitespace(),
                "byte {at}"
            );
        }
        for cut in 0..text.len() - 2 {
            assert!(PlanFile::decode(&text.as_bytes()[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn fault_111_a_plan_is_used_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let (used, other) = (file(), file());
        used.check_unused(&store).unwrap();
        let mut batch = Batch::default();
        used.mark(&mut batch, used.made);
        store.commit(batch).unwrap();
        assert!(matches!(used.check_unused(&store), Err(Error::PlanFile(PlanFileError::Used(at))) if at == used.made));
        other.check_unused(&store).unwrap();
    }
}
