//! A second source that adds values to the people of the first one.

mod lagging;
mod reads;
mod shown;
mod slips;

use std::ops::Range;

use crate::support::{Config, World, people};

/// What removes leavers at the first complete read.
const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\n";
/// A file as a lookup, found by email.
const DIRECTORY: &str = "[job.lookup.directory]\non = \"{{ email }}\"\nkey = \"{{ mail }}\"\n\
                         [job.lookup.directory.source]\ntype = \"csv\"\npath = \"directory.csv\"\nsettle = \"0s\"\n";
/// What no line of a report shows.
const HIDDEN: [&str; 3] = ["Person ", "@example.com", "021000"];

/// A configuration that takes the mobile number from a lookup, with further lines of `[job.map]`.
fn config(map: &str) -> Config {
    Config::rest(&format!("{DIRECTORY}{LEAVE_AT_ONCE}")).map("mobile = \"{{ directory.phone }}\"\n").map(map)
}

/// The line of a person in the directory.
fn line(number: usize) -> String {
    format!("person{number}@example.com,{},Team {number}\n", phone(number))
}

fn phone(number: usize) -> String {
    format!("0210000{number:03}")
}

/// The directory with so many people.
fn directory(numbers: Range<usize>) -> String {
    numbers.fold("Mail,Phone,Team name\n".to_owned(), |text, number| text + &line(number))
}

/// A world in which forty people were synced with their numbers.
fn synced(config: Config) -> World {
    let world = World::of(config);
    world.put("directory.csv", directory(1..41).as_bytes());
    assert_eq!(world.sync_of(people(1..41)).hides(&HIDDEN).expect(0).writes(), (40, 0, 0));
    world
}

/// The number that the service has of a person; empty for none.
fn mobile(world: &World, number: usize) -> String {
    let person = world.held_as(number).unwrap_or_default();
    person["mobile"].as_str().unwrap_or_default().replace(' ', "")
}
