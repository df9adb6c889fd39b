//! What is kept of dropped files, and how long.

use jiff::Timestamp;

use crate::config::{Job, Mode};
use crate::plan::LeaverAction;
use crate::push::ECHOES;
use crate::queue;
use crate::reconcile::approval::held::HELD;
use crate::reconcile::collect::{fingerprint, rows};
use crate::reconcile::dropped::last_file;
use crate::reconcile::dropped::staging::Staging;
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::kept_record::LATER;
use crate::record::Day;
use crate::snapshot::Index;
use crate::source::inbox::{Folder, Swept};
use crate::store::{self, Batch, Store};

/// Drops the private copy of the last file once nothing of it is open.
pub(crate) fn tidy(context: &Context<'_>, job: &Job, staging: &Staging) -> Result<(), Error> {
    if is_open(context.store, job)? {
        return Ok(());
    }
    last_file::drop_kept_copy(context.store, job, staging);
    let mut state = JobState::load(context.store, &job.name)?;
    if state.inbox.kept_copy.take().is_some() {
        let mut batch = Batch::default();
        state.put(&mut batch, &job.name);
        context.store.commit(batch)?;
    }
    Ok(())
}

/// Whether something is left to do though no file waits: what was held, released, refused or not delivered, people who
/// are gone and not removed yet, rows that come to something else on a later day or once something else is mended.
pub(crate) fn is_open(store: &Store, job: &Job) -> Result<bool, store::Error> {
    let inbox = JobState::load(store, &job.name)?.inbox;
    if is_sendable(store, job)? || inbox.is_unjudged() || (job.mode == Mode::Full && inbox.is_unfinished()) {
        return Ok(true);
    }
    for part in job.parts() {
        let index = Index::load(store, &part.name)?;
        let leave = part.leavers.action != LeaverAction::Keep;
        if !LATER.is_empty(store, &part.name)? {
            return Ok(true);
        }
        if (0..index.len()).map(|at| index.entry(at)).any(|entry| entry.gone && leave || entry.due.is_some()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether something that files of changes said counts by now, or is to be looked at again, or can't be used any more since the
/// mapping is another: each run says so. What they said counts until a list of everyone is read.
pub(crate) fn has_come_due(store: &Store, job: &Job, now: Timestamp) -> Result<bool, store::Error> {
    let today = Day::of(job.day(now));
    let has_come = |day: Day| today.is_some_and(|today| today >= day);
    for part in job.parts() {
        let mut kept = Vec::new();
        LATER.each(store, &part.name, |_, record| kept.push((record.from, record.mapping)))?;
        if !kept.is_empty() {
            let mapping = fingerprint::of_mapping(part, &rows::mapping(part));
            if kept.iter().any(|(from, by)| from.is_none_or(has_come) || *by != mapping) {
                return Ok(true);
            }
        }
        let index = Index::load(store, &part.name)?;
        let mut days = (0..index.len()).filter_map(|at| index.entry(at).due);
        if part.mode == Mode::Changes && days.any(has_come) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether something is left that needs no row to be sent.
pub(crate) fn is_sendable(store: &Store, job: &Job) -> Result<bool, store::Error> {
    for part in job.parts() {
        let is_done = ECHOES.is_empty(store, &part.mapping.target)?
            && HELD.is_empty(store, &part.name)?
            && queue::is_empty(store, &part.name)?;
        if !is_done {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes from every inbox what was filed and has grown too old. What fails is tried again by the next sync.
pub(crate) fn sweep(context: &Context<'_>) {
    for job in &context.config.jobs {
        let Some(inbox) = &job.inbox else { continue };
        // The run of that inbox has already reported that it can't be opened.
        let Ok(folder) = Folder::open(&inbox.dir) else { continue };
        if !folder.is_marked() {
            continue;
        }
        let job = job.name.as_str();
        let Swept { removed, left } = folder.sweep(inbox.kept, context.now_for_leavers());
        if removed > 0 {
            tracing::info!(job, removed, "{job}: {removed} old files of the inbox were removed");
        }
        if let Some((name, error)) = left.first() {
            let left = left.len();
            tracing::warn!(
                job, left, %error,
                "{job}: {left} old files of the inbox could not be removed, the first is {name}: {error}; remove them by hand"
            );
        }
    }
}
