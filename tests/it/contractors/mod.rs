//! Contractors, their organizations and certifications.

mod changing_sides;
mod doubtful_moves;
mod every_target;
mod holders;
pub(crate) mod jobs;
mod lists_of_changes;
mod organizations;
mod parts;
mod reports;
mod stated_once;
mod two_lists;
