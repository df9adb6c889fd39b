//! A plan as a file, applying it, and which were applied.

pub(crate) mod apply;
pub(crate) mod file;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
pub(crate) mod used;
