//! Replaces all rows of an account by a few.

use std::collections::BTreeSet;

use super::bulk::replace_all;
use super::database::Account;
use super::rows::Rows;
use crate::crash::point;
use crate::store::engine::{Engine as _, Projection};
use crate::store::old_store::{OldStore, ResetOutcome};
use crate::store::{Batch, Error, ErrorKind, Keyspace};

/// The old rows stay until one commit names the new ones.
pub(in crate::store) fn reset<T, E: From<Error>>(
    account: &Account,
    keep: impl FnOnce(&OldStore<'_>) -> Result<(Option<Batch>, T), E>,
) -> Result<Option<ResetOutcome<T>>, E> {
    let place = account.place();
    let rows = Rows::open(account).map_err(|kind| Error { place: place.clone(), kind })?;
    let mut is_empty = true;
    let (mut unreadable, mut damage) = (BTreeSet::new(), None);
    for space in Keyspace::ALL {
        let walked = rows.walk(&space.key(""), Projection::Rows, &mut |_, _| {
            is_empty = false;
            Ok(true)
        });
        match walked {
            Ok(()) => {}
            Err(error) if matches!(error.kind, ErrorKind::Damaged(_) | ErrorKind::Newer { .. }) => {
                unreadable.insert(*space);
                damage.get_or_insert(error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    if is_empty && damage.is_none() {
        return Ok(None);
    }
    let (batch, seen) = keep(&OldStore::of(&place, Some(&rows), unreadable, damage.as_ref()))?;
    let Some(batch) = batch else { return Ok(Some(ResetOutcome { damage, seen, is_dropped: false })) };
    point("rebuild: before the new store");
    replace_all(&rows, batch).map_err(|kind| rows.error(kind))?;
    point("rebuild: the new store is in its place");
    // An empty state lists the service as a whole.
    rows.settled();
    Ok(Some(ResetOutcome { damage, seen, is_dropped: true }))
}
