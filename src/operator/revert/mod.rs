//! Undoing one run of a job, as far as what it left is still there.

pub(crate) mod inverse;
pub(crate) mod undo_run;
