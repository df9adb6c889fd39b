//! Reloads the configuration, or refuses the new one.
//!
//! A new configuration is loaded, checked, and planned against the snapshots as they are, before it is in force. It is
//! refused where it is broken, and where it is alarming: where a job's plan under it would be held for something that
//! the present configuration does not hold. If that is intended, restart the daemon: the first run then holds just
//! that, and a person approves it.
//!
//! What was failing before may fail on: a new configuration that mends one job of two must not be refused for the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::accounts::account::{StartError, expect_own_credentials};
use super::accounts::claims::{credentials_of, places_of};
use super::accounts::shared::Reload;
use super::event::Event;
use super::state::{DaemonState, LoopEvent, Setup};
use crate::config::{self, Config, Job, Needs};
use crate::fault::chain;
use crate::plan::{HoldReason, Writes};
use crate::reconcile::{self, Context, JobPlan, JobState, KeyFilter, NoObserver, Plan, Status};
use crate::record::{Key, reveal};
use crate::store;

/// Why a new configuration was refused. The one before stays in force.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadRefusal {
    /// It is wrong in itself.
    #[error(transparent)]
    Config(#[from] config::Errors),
    /// It is not good for this daemon, or a job can't be planned under it.
    #[error("{0}")]
    Broken(String),
    /// A job's plan under it would be held.
    #[error("{0}")]
    Alarming(String),
    /// The state could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl DaemonState {
    /// Loads the configuration's file again and takes it, after the runs under way.
    ///
    /// # Errors
    ///
    /// Why it was refused. The one before stays in force then.
    pub async fn reload(self: &Arc<Self>) -> Result<Vec<String>, ReloadRefusal> {
        let _one = self.reloading.lock().await;
        let _told = Reload::begin(self.shared());
        let result = self.try_reload().await;
        match &result {
            Ok(_) => {
                let path = self.setup().config.source_path.display().to_string();
                tracing::info!(path, "the configuration {path} is in force now");
                self.counters().taken(self.clock().now());
                self.publish(Event::Reloaded);
            }
            Err(refusal) => {
                let reason = chain(refusal);
                let text = &*reveal(&reason);
                tracing::error!(
                    reason = text,
                    "the new configuration was refused; the one before stays in force: {text}"
                );
                self.counters().refuse(self.clock().now(), reason.clone());
                self.publish(Event::Refused { reason });
            }
        }
        // The service manager shows what came of it.
        self.tell(LoopEvent::Looked);
        result
    }

    async fn try_reload(self: &Arc<Self>) -> Result<Vec<String>, ReloadRefusal> {
        let _turn = self.turns().of_all().await;
        let present = self.setup();
        // Rules of summer time may have been updated since they were read.
        jiff::tz::db().reset();
        let mut config = config::load(&present.config.source_path, config::environment(), Needs::Jobs)?;
        fits(&present.config, &config).map_err(ReloadRefusal::Broken)?;
        present.hand_budget_on(&mut config);
        let mut warnings = config.warnings.clone();
        let next = Setup::new(config, self.clock()).map_err(|error| ReloadRefusal::Broken(chain(&error)))?;
        warnings.extend(self.judge(&present, &next).await?);
        let wanted = places_of(&next.config).into_iter().chain(credentials_of(&next.config, &next.client));
        let held = self.shared().claims.take(&self.owner(), wanted.collect());
        let held = held.map_err(|conflict| ReloadRefusal::Broken(conflict.to_string()))?;
        let store = self.store().await?;
        expect_own_credentials(&next, &store, self.owner()).map_err(|error| match error {
            StartError::Store(error) => error.into(),
            conflict => ReloadRefusal::Broken(conflict.to_string()),
        })?;
        drop(store);
        self.hold(held);
        self.put_in_force(next);
        Ok(warnings)
    }

    /// Plans every job under the next configuration; a job with an inbox over its last file, where none waits. Returns what
    /// could not be tried.
    async fn judge(&self, present: &Setup, next: &Setup) -> Result<Vec<String>, ReloadRefusal> {
        let store = self.store().await?;
        let context = Context {
            config: &next.config,
            client: &next.client,
            store: &store,
            clock: self.clock(),
            watch: &NoObserver,
        };
        let jobs: Vec<&Job> = next.config.jobs.iter().collect();
        let plans = reconcile::plan(&context, &jobs, &KeyFilter::default(), reconcile::For::Rehearsal)
            .await
            .map_err(|error| ReloadRefusal::Broken(chain(&error)))?;
        let (mut alarms, mut untried) = (Vec::new(), Vec::new());
        let is_same = next.config.digest == present.config.digest;
        for Plan { job: name, result } in plans {
            let state = JobState::load(&store, &name)?;
            let last = state.last.as_ref().map(|last| last.status);
            match result {
                Err(_) if last == Some(Status::Failed) => {}
                // What says the same as before is no fault of what it says.
                Err(error) if is_same => untried.push(format!("job {name} could not be tried: {}", chain(&error))),
                Err(error) => return Err(ReloadRefusal::Broken(format!("job {name}: {}", chain(&error)))),
                Ok((prepared, _)) => {
                    let job = next.config.jobs.iter().find(|job| job.name == name).expect("it was planned");
                    let was = present.config.jobs.iter().find(|job| job.name == name);
                    let seen_none = prepared.iter().all(|part| part.records == 0);
                    if job.inbox.is_some() && seen_none && state.last.is_some() {
                        let why = "its last file is not kept any more, so what this changes of people was not tried";
                        untried.push(format!("job {name}: {why}"));
                    }
                    let held: BTreeSet<Key> = reconcile::held(&store, &name)?.into_keys().collect();
                    alarms.extend(prepared.iter().filter_map(|part| alarm(part, job, was, &held, last)));
                }
            }
        }
        if alarms.is_empty() { Ok(untried) } else { Err(ReloadRefusal::Alarming(alarms.join("; "))) }
    }
}

/// What only a restart can change.
fn fits(present: &Config, next: &Config) -> Result<(), String> {
    let moved = |key: &str| format!("{key} is another one: that takes effect when the daemon is restarted");
    if present.state.home != next.state.home {
        return Err(moved("state.dir"));
    }
    if present.control != next.control {
        return Err(moved("control.socket"));
    }
    if present.status.listen != next.status.listen {
        return Err(moved("status.listen"));
    }
    if present.status.hosts != next.status.hosts {
        return Err(moved("status.hosts"));
    }
    if present.api.base_url != next.api.base_url {
        return Err(moved("api.base_url"));
    }
    Ok(())
}

/// What a job's plan would hold that is not held today; nothing for a job that is new, or that holds every change anyway.
fn alarm(
    prepared: &JobPlan,
    job: &Job,
    was: Option<&Job>,
    held: &BTreeSet<Key>,
    last: Option<Status>,
) -> Option<String> {
    let name = &job.name;
    was?;
    // A pause was there before, and goes on.
    let is_only_paused = prepared.is_paused() && prepared.blocked.len() == 1;
    if let Some(reason) = prepared.blocked_by().filter(|_| !is_only_paused)
        && !matches!(last, Some(Status::Held | Status::Failed))
    {
        return Some(format!("job {name} would be held: {reason}"));
    }
    if job.writes != Writes::Auto {
        return None;
    }
    let news: Vec<&HoldReason> = prepared
        .held
        .iter()
        .filter(|one| one.change.is_some() && !held.contains(&one.key))
        .map(|one| &one.reason)
        .collect();
    let reason = news.first()?;
    Some(format!("job {name} would hold {} more changes: {reason}", news.len()))
}
