//! A plan as a file, and applying it.

pub(crate) mod apply;
pub(crate) mod file;
