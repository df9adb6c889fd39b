//! A file of a web server as a source.

mod answers;
mod commands;
mod credentials;
mod reads;

use crate::support::web::{Web, file};
use crate::support::{Config, World, people};

/// What removes leavers at the first complete read.
const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\n";
/// Where the file is. Its query is a secret.
const TARGET: &str = "/hr/staff.csv?key=s3cret";
/// What no line of the program shows.
const HIDDEN: [&str; 4] = ["s3cret", "Person ", "@example.com", "Moved"];

/// A configuration that reads the file of that server, with these lines of `[job.source]`.
fn config(web: &Web, lines: &str) -> Config {
    Config { source: source(web, lines), ..Config::rest(LEAVE_AT_ONCE) }
}

fn source(web: &Web, lines: &str) -> String {
    format!("type = \"csv\"\nurl = \"{}\"\n{lines}", web.url(TARGET))
}

/// A server that has a file of forty people.
fn forty() -> Web {
    Web::start(|_, _| file(&people(1..41)))
}

/// A world in which forty people were synced from a server.
fn synced(lines: &str) -> (Web, World) {
    let web = forty();
    let world = World::of(config(&web, lines));
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (40, 0, 0));
    (web, world)
}
