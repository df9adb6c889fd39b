//! Random histories, with the laws looked at after every step: of files, edits, movements, faults, kills, approvals and
//! lost state; of contractors who move between companies; and of directories whose servers are behind each other.
//!
//! A history is a list of steps; engine and service run in this process. One that breaks a law is made as short as it can be
//! before it is shown. `ROSTERD_HISTORIES` asks for another number of them, and `ROSTERD_SEED` for others.

mod directory;
mod history;
mod lagging;
mod lived;
mod machine;
mod members;
mod runner;
mod world;

/// As many as fit into a few seconds.
const HISTORIES: usize = 60;

#[test]
fn the_laws_hold_after_every_step_of_random_histories() {
    runner::lives(HISTORIES, history::histories, world::run);
}

#[test]
fn no_one_is_lost_to_servers_that_are_behind() {
    runner::lives(HISTORIES, lagging::histories, lagging::run);
}

#[test]
fn the_laws_hold_for_memberships_through_random_histories() {
    runner::lives(HISTORIES / 2, members::histories, members::run);
}
