//! Throwing a store away for a new one.

use std::fs;
use std::io;
use std::path::Path;

use super::{Batch, Error, Kind, Store, absent, lay_down, lock};
use crate::crash::point;
use crate::disk;

/// What a store was before it was thrown away.
#[derive(Debug)]
pub enum Dropped<T> {
    /// There was none.
    Nothing,
    /// It was whole; with what its reader made of it.
    Whole(T),
    /// It could not be used, and why.
    Unusable(Error),
}

/// Throws the store under `dir` away and makes a new one with what `keep` takes over from one that is whole. Where
/// `keep` takes nothing over, not even an empty batch, a whole store stays.
///
/// A process that ends in between leaves a store that says it is damaged, or an empty one: never a part that passes for
/// the whole. The folder's lock is held all the way.
pub fn renew<T>(
    dir: &Path,
    keep: impl FnOnce(&Store) -> Result<(Option<Batch>, T), Error>,
) -> Result<Dropped<T>, Error> {
    let fail = |error: io::Error| Error { dir: dir.to_owned(), kind: Kind::from_io(error) };
    lay_down(dir)?;
    let lock = lock(dir)?;
    let (store, commits, aside) = (dir.join("store"), dir.join("commits"), dir.join("store.dropped"));
    absent(fs::remove_dir_all(&aside)).map_err(fail)?;
    if !store.exists() && !commits.exists() {
        return Ok(Dropped::Nothing);
    }
    let opened = Store::open_locked(dir, lock.try_clone().map_err(fail)?);
    let (batch, dropped) = match opened.and_then(|store| keep(&store)) {
        Ok((None, seen)) => return Ok(Dropped::Whole(seen)),
        Ok((Some(batch), seen)) => (batch, Dropped::Whole(seen)),
        Err(error) if matches!(error.kind, Kind::Damaged(_) | Kind::Newer { .. }) => {
            (Batch::default(), Dropped::Unusable(error))
        }
        Err(error) => return Err(error),
    };
    point("rebuild: before the store is dropped");
    absent(fs::rename(&store, &aside)).map_err(fail)?;
    point("rebuild: the store is aside");
    absent(fs::remove_file(&commits)).map_err(fail)?;
    point("rebuild: the store is dropped");
    disk::sync_folder(dir).map_err(fail)?;
    Store::open_locked(dir, lock)?.commit(batch)?;
    point("rebuild: the new store is there");
    absent(fs::remove_dir_all(&aside)).map_err(fail)?;
    Ok(dropped)
}
