//! What a job says about a lookup, and what a run read of it.

use std::sync::Arc;

use super::read::Loaded;
use crate::source::Source;

/// A second source of a job.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// Its name in templates.
    pub name: String,
    /// Where its rows come from.
    pub source: Source,
    /// What was read of it, where a run has done so.
    pub loaded: Option<Arc<Loaded>>,
}
