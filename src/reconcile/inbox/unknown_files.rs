//! Lists in `processed/` that the state does not know: it was laid back since they were read, or they are another job's.
//!
//! Invariants:
//! - As long as a newer list was read than the last one that the state knows, that one counts no more (law 1): it would set back
//!   what the newer one said.
//! - Who is only in a list that the state does not know is at risk, so each run says so until one that is no older is read; of files
//!   of changes, each of them.
//!
//! Rejected: to read the newest one of them. Why it was filed, and what was decided of it, is not known any more.

use crate::config::{Job, Mode};
use crate::reconcile::dropped::last_file;
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::inbox_state::InboxState;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::restored_state;
use crate::source::inbox::{Destination, Folder, OlderExport, Taken, dated, is_filed_later, unfiled};
use crate::store::Store;

/// Looks for them where there may be some: in a state that was laid back, and in one that never filed a list. Those that are gone are
/// missed no more.
pub(super) fn look(context: &Context<'_>, job: &Job, folder: &Folder) -> Result<(), Error> {
    let mut state = JobState::load(context.store, &job.name)?;
    let copies = restored_state::copies(context.store)?;
    let inbox = &mut state.inbox;
    let is_new = inbox.filed.is_none() || inbox.copies != copies;
    if !is_new && inbox.unknown.is_empty() {
        return Ok(());
    }
    // Where it can't be listed, nothing can be filed either, and the run says so.
    let Ok((mut filed, _)) = folder.filed(Destination::Processed) else { return Ok(()) };
    filed.retain(|name| match is_new {
        true => inbox.filed.as_ref().is_none_or(|last| is_filed_later(name, last)),
        false => inbox.unknown.contains(name),
    });
    if !is_new && filed == inbox.unknown {
        return Ok(());
    }
    inbox.filed.get_or_insert_default();
    (inbox.copies, inbox.unknown) = (copies, filed);
    Ok(state.save(context.store, &job.name)?)
}

/// Why a list of everyone seems to be older than the newest of those: by the dates in their names, or since it is one that came before.
pub(super) fn older(
    store: &Store,
    job: &Job,
    inbox: &InboxState,
    (name, taken): (&str, &Taken),
) -> Result<Option<OlderExport>, Error> {
    let Some(newest) = inbox.unknown.last().filter(|_| job.mode == Mode::Full) else { return Ok(None) };
    let latest = inbox.unknown.iter().filter_map(|filed| dated(filed)).max();
    if let (Some(date), Some(latest)) = (dated(name), latest) {
        let last = unfiled(newest).to_owned();
        return Ok((date < latest).then_some(OlderExport::OlderName { last }));
    }
    for filed in inbox.unknown.iter().rev() {
        if last_file::content_as_filed(job, store, filed)?.as_ref() == Some(&taken.content) {
            let (at, last) = (filed.chars().take_while(|c| *c != '_').collect(), unfiled(newest).to_owned());
            return Ok((filed != newest).then_some(OlderExport::ReadBefore { at, last }));
        }
    }
    Ok(None)
}

/// What a run says of them.
pub(crate) fn note(job: &Job, inbox: &InboxState) -> Option<String> {
    let (first, last) = inbox.unknown.first().zip(inbox.unknown.last())?;
    let which = match inbox.unknown.len() {
        1 => last.clone(),
        count => format!("{count}, from {first} to {last}"),
    };
    let again = match job.mode {
        Mode::Full => "drop the newest one once more",
        Mode::Changes => "drop them once more, in that order",
    };
    Some(match inbox.is_overtaken() {
        true => format!(
            "the state was laid back, and processed/ has newer files than it knows ({which}): {again}. Until then no file counts, and \
             who is in none but those may be missing"
        ),
        false => format!(
            "processed/ has files that this job did not read, or of which its state was lost ({which}): {again}, or move \
             them out of processed/ where they count no more. Who is in none but those may be missing"
        ),
    })
}
