//! Dropping what has grown too old, at the end of a sync. What is dropped can't be had again, so its age goes by the earlier clock of
//! the two, this machine's and the service's.

use jiff::{SignedDuration, Timestamp};

use super::inbox::cleanup;
use super::model::context::Context;
use crate::store::{self, MetaKey};

/// How often the audit files are looked through.
const EVERY: SignedDuration = SignedDuration::from_hours(24);

/// Drops what has grown too old from the audit files: at most once a day, but at the end of every sync where something
/// is not to be kept at all. What fails is tried again by the next sync: the run is still valid (fault 10).
pub(crate) fn apply(context: &Context<'_>) -> Result<(), store::Error> {
    cleanup::sweep(context);
    let retention = context.config.retention;
    let now = context.now_for_leavers();
    let applied: Option<Timestamp> = context.store.meta(MetaKey::Retention)?;
    let at_once = retention.before_images.is_zero() || retention.runs.is_zero();
    if !at_once && applied.is_some_and(|applied| now.duration_since(applied).abs() < EVERY) {
        return Ok(());
    }
    if let Err(error) = retention.apply(context.store.home(), now) {
        tracing::warn!(%error, "what has grown too old could not be dropped from the audit files: {error}");
        return Ok(());
    }
    context.store.set_meta(MetaKey::Retention, &now)
}
