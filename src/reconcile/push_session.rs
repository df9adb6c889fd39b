//! Everything that one push of a job part needs: client, store, and the observer of its progress.

use std::collections::BTreeMap;

use super::collect::rows;
use super::model::context::Context;
use super::model::error::Error;
use super::model::job_fields::{protection, written};
use super::pause;
use super::photos::SourcePhotos;
use crate::config::Job;
use crate::history::{Audit, Changed};
use crate::plan::Protection;
use crate::push::{Outcome, Presence, Push, StopReason, Witness};
use crate::queue::Change;
use crate::record::{Action, Entity, Field, Value};
use crate::store::Batch;

/// Writes the audit file and passes on what happens.
pub(crate) struct PushSession<'a> {
    context: &'a Context<'a>,
    job: &'a Job,
    run: u64,
    audit: Audit,
    fields: Vec<Field>,
    protection: Protection,
    presence: Presence<'a>,
    photos: SourcePhotos<'a>,
    /// Why it is unknown whether people that an earlier process updated have the presence that they signed.
    pub(crate) unlooked: Option<String>,
}

impl<'a> PushSession<'a> {
    /// Opens the session. Verifies the presence of people that an earlier process updated, unless the job is paused.
    pub(crate) async fn open(context: &'a Context<'a>, job: &'a Job, run: u64) -> Result<Self, Error> {
        let store = context.store;
        let presence = Presence::open(context.client, store, context.clock, job.mapping.target)?;
        let is_paused = pause::reason(store.home(), &job.name).is_some();
        let unlooked = if is_paused { None } else { presence.look().await? };
        Ok(Self {
            context,
            job,
            run,
            audit: Audit::new(store.home()),
            fields: written(job, &rows::mapping(job)),
            protection: protection(context)?,
            presence,
            photos: SourcePhotos::new(context, job),
            unlooked,
        })
    }

    pub(crate) fn push(&self) -> Push<'_> {
        Push {
            client: self.context.client,
            store: self.context.store,
            clock: self.context.clock,
            target: self.job.mapping.target,
            fields: &self.fields,
            seed_only: &self.job.seed_only,
            protection: &self.protection,
            match_on: &self.job.match_on,
            presence: &self.presence,
            photos: &self.photos,
            witness: self,
        }
    }
}

impl Witness for PushSession<'_> {
    fn confirmed(
        &self,
        change: &Change,
        before: Option<&Entity>,
        after: Option<&Entity>,
        batch: &mut Batch,
    ) -> std::io::Result<()> {
        let value = |entity: Option<&'_ Entity>, field: &str| -> Value {
            entity.map_or(Value::Empty, |entity| entity.value(field).clone())
        };
        let moved = self.fields.iter().map(|field| (&field.name, [before, after].map(|of| value(of, &field.name))));
        let moved = moved.filter(|(_, [before, after])| before != after);
        let fields: BTreeMap<String, _> = moved.map(|(field, values)| (field.to_string(), Some(values))).collect();
        if fields.is_empty() && change.wish.action == Action::Update {
            // It was found as wanted, and nothing was sent.
            return Ok(());
        }
        let changed = Changed {
            at: self.context.clock.now(),
            run: self.run,
            job: change.job.clone(),
            key: change.key.clone(),
            action: change.wish.action,
            id: after.or(before).map(|entity| entity.id).or(change.wish.id),
            fields,
        };
        self.audit.append_with(batch, changed)
    }

    fn outcome(&self, change: &Change, outcome: &Outcome) {
        self.context.watch.outcome(change, outcome);
    }

    fn halted(&self) -> Option<StopReason> {
        let interrupted = self.context.watch.interrupted().then_some(StopReason::Interrupted);
        interrupted.or_else(|| {
            pause::reason(self.context.store.home(), &self.job.name).map(|reason| StopReason::Paused(reason.text))
        })
    }

    fn alarm(&self, reason: &str) -> std::io::Result<()> {
        pause::alarm(self.context.store.home(), self.context.clock, reason)
    }
}
