//! Replaces a store by a new one.

#[cfg(feature = "postgres")]
use super::postgres;
use super::{Batch, Error, Home, OldStore, ResetOutcome, embedded};

/// Throws the store of a state away and makes a new one with what `keep` takes over. Where `keep` takes nothing over, not
/// even an empty batch, the old one stays. `None` where there was none.
///
/// The new store is whole and durable before it takes the old one's place: a process that ends in between leaves one of the
/// two. No other process can write meanwhile.
pub fn reset<T, E: From<Error>>(
    home: &Home,
    keep: impl FnOnce(&OldStore<'_>) -> Result<(Option<Batch>, T), E>,
) -> Result<Option<ResetOutcome<T>>, E> {
    match home {
        Home::Folder(dir) => embedded::reset(dir, keep),
        #[cfg(feature = "postgres")]
        Home::Database(account) => postgres::reset(account, keep),
    }
}
