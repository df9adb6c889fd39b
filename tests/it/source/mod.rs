//! What a source may hold: forms, faults, parts of it, days.

mod active_days;
mod changes;
mod cookbook;
mod faults;
mod first_sync;
pub(crate) mod forms;
mod older;
mod one_of_many;
