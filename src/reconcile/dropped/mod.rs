//! What is kept of dropped files: their private copies, what is laid out to be filed, and the last one that was read.

pub(crate) mod known_file;
pub(crate) mod last_file;
pub(crate) mod next_file;
pub(crate) mod staging;
pub(crate) mod with_copy;
