//! What a read is given besides its source.

use std::path::Path;

use super::refused_logins::RefusedLogins;
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
    pub logins: &'a RefusedLogins,
    /// The folder for what is kept while the read lasts.
    pub dir: &'a Path,
    /// Whether someone asked to end.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Access<'a> {
    /// That of a person who waits for the answer.
    pub fn of_a_person(clock: &'a Clock, logins: &'a RefusedLogins, dir: &'a Path) -> Self {
        Self { known: None, clock, logins, dir, stop: &|| false }
    }
}
