//! What a read is given besides its source.

use std::path::Path;

use super::ldap;
use super::source_state::SourceState;
use crate::clock::Clock;

/// What a read is given besides its source.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    /// What the read before found.
    pub known: Option<&'a SourceState>,
    /// The time.
    pub clock: &'a Clock,
    /// Which accounts of directories are tried.
    pub binds: &'a ldap::Binds,
    /// The folder for what is kept while the read lasts.
    pub dir: &'a Path,
    /// Whether someone asked to end.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Access<'a> {
    /// That of a person who waits for the answer.
    pub fn of_a_person(clock: &'a Clock, binds: &'a ldap::Binds, dir: &'a Path) -> Self {
        Self { known: None, clock, binds, dir, stop: &|| false }
    }
}
