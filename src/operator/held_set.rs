//! What a job holds, as a person is shown it.
//!
//! A person decides on what a page shows: so the digest covers all of that, each value before and after included, and the wish
//! of each change besides. Where any of it is another by now, the digest is.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{Context, SHA256};
use serde::Serialize;

use crate::config::Job;
use crate::mirror::Mirror;
use crate::plan::ChangeSummary;
use crate::reconcile::approval::held::{PendingApproval, held};
use crate::reconcile::model::job_state::JobState;
use crate::record::{Action, Entity, JobName, Key, Target, Value};
use crate::store::{self, Store};

/// The field that says who someone is.
const NAME: &str = "name";

/// What a job holds.
pub struct HeldSet {
    /// The number of the set.
    pub number: u64,
    /// What waits, in the order of the job's parts and of keys.
    pub changes: Vec<HeldChange>,
}

/// One change that waits.
#[derive(Serialize)]
pub struct HeldChange {
    /// The job, or the part of one.
    pub part: JobName,
    /// What it manages.
    pub target: Target,
    /// The record.
    pub key: Key,
    /// What would be done; none where there is something to mend.
    pub action: Option<Action>,
    /// Whether someone who is gone is removed, or changed for that. A membership that ends takes no one away.
    pub leaves: bool,
    /// Whether they do only when a grace is over.
    pub has_grace: bool,
    /// What the person is called; none where neither service nor source says.
    pub name: Option<String>,
    /// Why it waits; as stored, with the marks around keys.
    pub reason: String,
    /// The fields that would be another.
    pub fields: Vec<HeldField>,
    /// The digest of what is wanted.
    wish: u64,
}

/// A field that would be another.
#[derive(Serialize)]
pub struct HeldField {
    /// Its name.
    pub name: String,
    /// What the service held when it was last asked.
    pub from: Value,
    /// What it would hold.
    pub to: Value,
    /// Whether its values are shown only where they are asked for.
    pub sensitive: bool,
}

/// The number of the current set of held changes of a job and its parts.
pub fn held_set(store: &Store, job: &Job) -> Result<u64, store::Error> {
    job.parts().map(|part| Ok(JobState::load(store, &part.name)?.held_set)).sum()
}

impl HeldSet {
    /// Reads it; nothing is asked of the service.
    ///
    /// # Errors
    ///
    /// The state can't be read.
    pub fn load(store: &Store, job: &Job) -> Result<Self, store::Error> {
        let mut changes = Vec::new();
        let mut mirrors: BTreeMap<Target, Option<Mirror>> = BTreeMap::new();
        for part in job.parts() {
            let target = part.mapping.target;
            let mirror = match mirrors.entry(target) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(missing) => missing.insert(Mirror::stored(store, target)?),
            };
            let mirror = mirror.as_ref();
            for (key, held) in held(store, &part.name)? {
                let id = held.change.as_ref().and_then(|wish| wish.id);
                let entity = match (mirror, id) {
                    (Some(mirror), Some(id)) => mirror.get(store, id)?,
                    _ => None,
                };
                changes.push(HeldChange::of(part, key, &held, entity.as_ref()));
            }
        }
        Ok(Self { number: held_set(store, job)?, changes })
    }

    /// A digest of all that is shown.
    pub fn digest(&self) -> String {
        let mut digest = Context::new(&SHA256);
        for change in &self.changes {
            let text = serde_json::to_vec(change).expect("plain values");
            digest.update(&(text.len() as u64).to_be_bytes());
            digest.update(&text);
        }
        URL_SAFE_NO_PAD.encode(digest.finish())
    }

    /// How many of these changes remove someone who is gone, or change them for that.
    pub fn leavers(&self, chosen: impl Fn(&HeldChange) -> bool) -> usize {
        self.changes.iter().filter(|change| change.leaves && chosen(change)).count()
    }

    /// What all of it does as a whole; what only has to be mended does nothing.
    pub fn summary(&self) -> ChangeSummary {
        let mut summary = ChangeSummary::default();
        for change in &self.changes {
            match change.action {
                None => {}
                Some(action @ (Action::Create | Action::Delete)) if change.target == Target::Membership => {
                    summary.add_membership(action == Action::Create);
                }
                Some(_) if change.leaves => summary.add_leaver(""),
                Some(Action::Create) => summary.add_create(),
                Some(Action::Update | Action::Delete) => {
                    summary.add_update(change.fields.iter().map(|field| (field.name.as_str(), &field.from, &field.to)));
                }
            }
        }
        summary
    }
}

impl HeldChange {
    fn of(part: &Job, key: Key, held: &PendingApproval, entity: Option<&Entity>) -> Self {
        let target = part.mapping.target;
        let field = |(name, to): (&str, &Value)| {
            let from = entity.map(|entity| entity.value(name).clone()).unwrap_or_default();
            let is_same = target.field(name).is_some_and(|field| field.kind.same(to, &from));
            (!is_same).then(|| HeldField {
                name: name.to_owned(),
                from,
                to: to.clone(),
                sensitive: target.is_sensitive(name),
            })
        };
        let wish = held.change.as_ref();
        let fields = wish.into_iter().flat_map(|wish| wish.fields.iter());
        let fields = fields.filter_map(|(name, value)| field((name.as_str(), value))).collect();
        let called = |value: &Value| Some(value.shown()).filter(|text| !text.is_empty());
        let name = entity.and_then(|entity| called(entity.value(NAME)));
        let name = name.or_else(|| called(wish?.fields.get(NAME)?));
        Self {
            part: part.name.clone(),
            target,
            key,
            action: held.action,
            leaves: held.leaves() && target != Target::Membership,
            has_grace: held.has_grace(part),
            name,
            reason: held.reason.to_string(),
            fields,
            wish: held.wish,
        }
    }

    /// Whether a person can decide on it.
    pub fn is_open(&self) -> bool {
        self.action.is_some()
    }
}
