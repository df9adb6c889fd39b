//! Flags where rows may lie, so that sled is not searched for rows that are merged into a file.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::store::Keyspace;

/// The spaces of which sled may have rows that are not in their files; of the others it need not be asked.
pub(in crate::store::embedded) struct OverlayFlags(AtomicU32);

impl OverlayFlags {
    pub(in crate::store::embedded) fn all() -> Self {
        Self(AtomicU32::new(u32::MAX))
    }

    pub(in crate::store::embedded) fn has(&self, space: Keyspace) -> bool {
        self.0.load(Ordering::SeqCst) & Self::bit(space) != 0
    }

    pub(in crate::store::embedded) fn add(&self, overlay: &BTreeMap<Keyspace, u64>) {
        self.0.fetch_or(Self::of(overlay), Ordering::SeqCst);
    }

    /// What is merged is in the file already when this is called.
    pub(in crate::store::embedded) fn set(&self, overlay: &BTreeMap<Keyspace, u64>) {
        self.0.store(Self::of(overlay), Ordering::SeqCst);
    }

    fn of(overlay: &BTreeMap<Keyspace, u64>) -> u32 {
        overlay
            .iter()
            .filter(|(_, rows)| **rows > 0)
            .fold(Self::bit(Keyspace::Meta), |all, (space, _)| all | Self::bit(*space))
    }

    /// The letters of the spaces are those of the alphabet.
    fn bit(space: Keyspace) -> u32 {
        1 << (space as u8 - b'a')
    }
}
