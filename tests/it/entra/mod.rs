//! A tenant of Microsoft Entra ID as a source, against a stand-in of Microsoft Graph.

mod commands;
mod credentials;
mod faults;
mod photos;
mod reads;
mod tls;

use crate::support::graph::{Graph, SECRET};
use crate::support::{Config, World};

/// What removes leavers at the first complete read.
const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\n";
/// What no line of the program shows.
const HIDDEN: [&str; 5] = [SECRET, "s3cret", "t0ken", "Person ", "skiptoken"];
/// The credential that most tests use.
const BY_SECRET: &str = "client_secret_file = \"word\"\n";

/// A configuration that reads that tenant, with these lines of `[job.source]`.
fn config(graph: &Graph, lines: &str) -> Config {
    Config {
        job: "match_on = [\"employee_id\", \"email\"]\n".into(),
        source: format!("{}{lines}", graph.source()),
        map: "name = \"{{ display_name }}\"\nemail = \"{{ mail }}\"\ntitle = \"{{ job_title }}\"\n\
              employee_id = \"{{ employee_id }}\"\n"
            .into(),
        ..Config::rest(LEAVE_AT_ONCE)
    }
}

fn world(config: Config) -> World {
    let world = World::of(config);
    world.put("word", format!("{SECRET}\n").as_bytes());
    world
}

/// A world in which forty people were synced from a tenant, which shows them on four pages.
fn synced(lines: &str) -> (Graph, World) {
    let graph = Graph::start(1..41);
    let world = world(config(&graph, &format!("{BY_SECRET}{lines}")));
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (40, 0, 0));
    world.expect_people(1..41);
    (graph, world)
}
