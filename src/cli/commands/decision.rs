//! What `approve`, `reject`, `queue retry` and `queue drop` share: a person decides about changes of a job.

use std::collections::BTreeSet;

use serde_json::json;

use crate::cli::backend::Backend;
use crate::cli::ui::{Failure, Message, Ui, sanitize};
use crate::clock::Clock;
use crate::config::{Config, Job, Needs};
use crate::operator::{Chosen, ChosenKey, DecisionError};
use crate::plan::Writes;
use crate::reconcile::pause;
use crate::record::{JobName, Key};
use crate::store::Store;
use crate::text::some_of;

/// How many records are named.
const NAMED_MAX: usize = 10;

/// A kind of decision.
pub(super) struct Decision {
    /// What has happened to a change then.
    pub(super) done: &'static str,
    /// Decides about the records with these keys, all of them where none is given; returns those it was made about.
    pub(super) decide: Decide,
    /// Whether it is made of what was approved, too.
    pub(super) takes_back: bool,
}

type Decide = fn(&Store, &Clock, &Job, &Chosen<'_>) -> Result<Vec<Key>, DecisionError>;

impl Decision {
    /// Decides about the records with these keys, where `set` is still the number of what is held.
    pub(super) fn make(
        &self,
        store: &Store,
        job: &Job,
        keys: &BTreeSet<Key>,
        set: Option<u64>,
    ) -> Result<Vec<Key>, Failure> {
        let keys: BTreeSet<ChosenKey> = keys.iter().filter_map(|key| ChosenKey::parse(job, key.as_str())).collect();
        let chosen = Chosen { keys: Some(&keys).filter(|keys| !keys.is_empty()), set, digest: None };
        (self.decide)(store, &Clock::system(), job, &chosen).map_err(|error| match error {
            DecisionError::Changed { .. } => Failure::failed(Message(format!("{error}; nothing was {}", self.done)))
                .hint("look at `rosterd plan` again"),
            error => refused(error),
        })
    }

    /// Says about which records it was made, and of which set of held changes.
    pub(super) fn show(&self, ui: &Ui, job: &JobName, keys: &[Key], set: Option<u64>) {
        let done = self.done;
        if ui.json {
            let mut document = json!({"version": 1, "job": job, done: keys});
            if let Some(set) = set {
                document["set"] = set.into();
            }
            ui.document(&document);
        } else {
            let named = some_of(keys.iter().map(|key| sanitize(key.as_str())), NAMED_MAX);
            ui.line(format!("{done} {} of job {job}: {named}", keys.len()));
        }
    }
}

/// A decision that could not be made.
pub(super) fn refused(error: DecisionError) -> Failure {
    match error {
        DecisionError::Store(error) => error.into(),
        DecisionError::Ambiguous { ref key, ref parts } => {
            let hint = format!("write the part before the key, in quotes: '{} {key}'", parts[0]);
            Failure::failed(error).hint(sanitize(&hint))
        }
        DecisionError::Claimed { .. } => {
            let hint = "reject the one that is someone else, by its key, and approve the other one; what was rejected may then be \
                        approved as a new record";
            Failure::failed(error).hint(hint)
        }
        DecisionError::NotHeld { ref memberships, .. } if !memberships.is_empty() => {
            let named = some_of(memberships.iter().map(|key| format!("'{}'", sanitize(key.as_str()))), NAMED_MAX);
            Failure::failed(error).hint(format!("of this person memberships are held, by keys of their own: {named}"))
        }
        DecisionError::NotHeld { .. } => {
            Failure::failed(error).hint("`rosterd explain JOB KEY` names keys that look like it, as they are typed")
        }
        error => Failure::failed(error),
    }
}

/// Says who sends what was released, and has the daemon do it.
pub(super) fn release(ui: &Ui, host: &Backend, job: &JobName) {
    if !ui.json {
        let config = host.config(Needs::Local).ok();
        ui.note(match config.as_ref().and_then(|config| kept_by(config, job)) {
            Some(reason) => format!("they wait: {}", sanitize(&reason)),
            None if host.sends() => "they are sent now, if they are still wanted".to_owned(),
            None => format!("the next `rosterd sync {job}` sends them, if they are still wanted then"),
        });
    }
    host.decided(Some(std::slice::from_ref(job)));
}

/// What keeps a job from sending.
fn kept_by(config: &Config, job: &JobName) -> Option<String> {
    let paused = pause::reason(&config.state.home, job).map(|reason| reason.text);
    let is_off = || config.jobs.iter().any(|one| one.name == *job && one.writes == Writes::Off);
    let off = || format!("writes = \"off\", so nothing of job {job} is sent; the approval stands when that changes");
    paused.or_else(|| is_off().then(off))
}
