//! A plan as a file, applying it, and which were applied.

pub(crate) mod apply;
pub(crate) mod file;
pub(crate) mod used;
