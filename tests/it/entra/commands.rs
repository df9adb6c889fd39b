//! Commands that look at a tenant.

use super::{BY_SECRET, HIDDEN, config, synced, world};
use crate::support::graph::{Graph, json_answer, refusal, user};

#[test]
fn check_reads_it_to_its_end() {
    let (graph, world) = synced("");
    let ran = world.run(&["check"]).hides(&["hunter2", "t0ken"]).expect(0);
    assert!(
        ran.out.contains("40 records (such as key 00000000-0000-0000-0000-000000000001), 0 not included, 0 rejected"),
        "{ran:?}"
    );
    assert!(ran.out.contains("40 entries in example.onmicrosoft.com"), "{ran:?}");
    graph.say(|_, _, mut page| {
        page.as_object_mut().unwrap().remove("@odata.count");
        json_answer(200, "", &page)
    });
    let ran = world.run(&["check"]).expect(1);
    assert!(ran.out.contains("incomplete: the service showed 40 users"), "{ran:?}");
    graph.say(|_, _, _| refusal(403, "Authorization_RequestDenied"));
    let ran = world.run(&["check"]).hides(&HIDDEN).expect(1);
    assert!(ran.out.contains("User.Read.All"), "{ran:?}");
}

#[test]
fn preview_plan_and_explain_read_it_as_a_run_does() {
    let (graph, world) = synced("");
    graph.change(|tenant| tenant.users.push(user(41)));
    let key = crate::support::graph::id(41);
    let ran = world.run(&["preview", "staff", "--key", &key]).expect(0);
    assert!(ran.out.contains("Person 41") && ran.out.contains(&format!("\nuser {key}  key {key}")), "{ran:?}");
    let ran = world.run(&["explain", "staff", &key]).hides(&["hunter2"]).expect(0);
    assert!(ran.out.contains("Person 41"), "{ran:?}");
    assert!(world.run(&["plan"]).expect(0).out.contains(&key));
}

#[test]
fn init_prints_a_configuration_that_syncs() {
    let graph = Graph::start(1..4);
    let world = world(config(&graph, BY_SECRET));
    let ran = world.run(&["init", "entra"]).expect(0);
    assert!(ran.out.contains("writes = \"approve\"") && ran.out.contains("type = \"entra\""), "{ran:?}");
    let printed = world.filled_in(&ran.out.replace("writes = \"approve\"", "writes = \"auto\""));
    let (before, after) = printed.split_once("type = \"entra\"\ntenant = \"…\"").unwrap();
    world.put_config(&format!("{before}{}{BY_SECRET}{after}", graph.source()));
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
    world.expect_people(1..4);
    let ran = world.run(&["init", "entra", "--json"]).expect(0);
    assert!(ran.json()["configuration"].as_str().unwrap().contains("tenant"), "{ran:?}");
}
