//! A push that takes longer than the job's interval: who leaves meanwhile goes first (law 12).

use crate::support::daemon::eventually;
use crate::support::{Config, HEADER, World, row};

const PEOPLE: usize = 300;

fn file(people: usize, title: &str) -> String {
    let rows: String = (1..=people).map(|number| row(number, title)).collect();
    format!("{HEADER}{rows}")
}

#[test]
fn law_12_who_leaves_while_updates_wait_is_removed_before_they_are_sent() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_updates = \"off\"\n";
    let world = World::synced(Config::served("schedule = \"*/3 * * * * *\"\n", rest), PEOPLE);
    world.faults(&["staff.update delay-before=1500ms"]);
    world.csv(file(PEOPLE, "Moved"));
    let daemon = world.daemon();
    let updates = || world.count("staff.update");
    eventually("updates are sent", || updates() > 4);
    world.csv(file(PEOPLE - 1, "Moved"));
    eventually("the leaver is removed", || world.count("staff.delete") == 1);
    assert!(updates() < PEOPLE / 2, "{} updates went before", updates());
    let requests = world.service().requests();
    let removed = requests.iter().position(|request| request.operation == "staff.delete").unwrap();
    let read = requests[..removed].iter().rposition(|request| request.operation == "staff.list").unwrap();
    let between: Vec<&str> = requests[read + 1..removed].iter().map(|request| request.operation).collect();
    assert!(!between.contains(&"staff.update"), "the next write after the leaver is known is the removal: {between:?}");
    let status = world.status();
    assert_ne!(status["last"]["status"], "failed", "a run that starts over has not failed: {status}");
    world.faults(&[]);
    eventually("the rest follows", || world.texts("title").iter().all(|title| title == "Moved"));
    eventually("the run is over", || world.status()["queued"] == 0);
    assert!(daemon.stop().success());
    // Each of them once: starting over sends nothing again.
    let updated = world.service().requests().iter().filter(|request| request.operation == "staff.update").count();
    assert!((PEOPLE - 1..PEOPLE + 20).contains(&updated), "{updated}");
    assert_eq!(world.staff().len(), PEOPLE - 1);
}
