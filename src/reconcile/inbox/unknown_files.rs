//! Lists in `processed/` that the state does not know: it was laid back since they were read, or they are another job's.
//!
//! Invariants:
//! - As long as a newer list was read than the last one that the state knows, that one counts no more (law 1): it would set back
//!   what the newer one said.
//! - Who is only in a list that the state does not know is at risk, so each run says so until another list is read.
//!
//! Rejected: to read the newest one of them. Why it was filed, and what was decided of it, is not known any more.

use crate::config::{Job, Mode};
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::inbox_state::InboxState;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::restored_state;
use crate::source::inbox::{Destination, Folder};

/// Looks for them where there may be some: in a state that was laid back, and in one that never filed a list.
pub(super) fn look(context: &Context<'_>, job: &Job, folder: &Folder) -> Result<(), Error> {
    let mut state = JobState::load(context.store, &job.name)?;
    let copies = restored_state::copies(context.store)?;
    let inbox = &mut state.inbox;
    if inbox.filed.is_some() && inbox.copies == copies {
        return Ok(());
    }
    let (lists, _) = folder.filed(Destination::Processed).map_err(|source| {
        let name = "what is in processed/".to_owned();
        crate::source::inbox::Error::Copy { name, source }
    })?;
    let before = (inbox.filed.clone(), inbox.copies, inbox.unknown.clone());
    inbox.unknown = lists.last().filter(|last| inbox.filed.as_ref().is_none_or(|filed| *last > filed)).cloned();
    if inbox.unknown.is_none() {
        (inbox.filed, inbox.copies) = (Some(inbox.filed.take().unwrap_or_default()), copies);
    }
    if before != (inbox.filed.clone(), inbox.copies, inbox.unknown.clone()) {
        state.save(context.store, &job.name)?;
    }
    Ok(())
}

/// What a run says of them.
pub(crate) fn note(job: &Job, inbox: &InboxState) -> Option<String> {
    let list = inbox.unknown.as_ref()?;
    let again = match job.mode {
        Mode::Full => "drop the newest one once more",
        Mode::Changes => "drop what came since then once more",
    };
    Some(match inbox.is_overtaken() {
        true => format!(
            "the state was laid back, and processed/ has newer files than it knows (the last is {list}): {again}. Until then no file \
             counts, and who is in none but those may be missing"
        ),
        false => format!(
            "processed/ has files that this job did not read, or of which its state was lost (the last is {list}): {again}. Who is in \
             none but those may be missing"
        ),
    })
}
