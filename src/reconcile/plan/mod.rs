//! The plan of one part of a job: everything that a run would do, and why the rest waits.

mod both_sides;
pub(crate) mod build;
pub(crate) mod inputs;
mod judge;
pub(crate) mod kept_halves;
pub(crate) mod notes;
mod protected;
pub(crate) mod precondition;
pub(crate) mod segments;
mod second_organizations;
mod sent_elsewhere;
mod takeovers;
#[cfg(test)]
mod tests;
mod under_way;
