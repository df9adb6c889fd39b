//! Flags where rows may lie, so that sled is not searched for rows that are merged into a file.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Space;

/// The spaces of which sled may have rows that are not in their files; of the others it need not be asked.
pub(super) struct Mask(AtomicU32);

impl Mask {
    pub(super) fn all() -> Self {
        Self(AtomicU32::new(u32::MAX))
    }

    pub(super) fn has(&self, space: Space) -> bool {
        self.0.load(Ordering::SeqCst) & Self::bit(space) != 0
    }

    pub(super) fn add(&self, newer: &BTreeMap<Space, u64>) {
        self.0.fetch_or(Self::of(newer), Ordering::SeqCst);
    }

    /// What is merged is in the file already when this is called.
    pub(super) fn set(&self, newer: &BTreeMap<Space, u64>) {
        self.0.store(Self::of(newer), Ordering::SeqCst);
    }

    fn of(newer: &BTreeMap<Space, u64>) -> u32 {
        newer
            .iter()
            .filter(|(_, rows)| **rows > 0)
            .fold(Self::bit(Space::Meta), |all, (space, _)| all | Self::bit(*space))
    }

    /// The letters of the spaces are those of the alphabet.
    fn bit(space: Space) -> u32 {
        1 << (space as u8 - b'a')
    }
}
