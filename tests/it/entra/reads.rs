//! Reads that come to their end.

use serde_json::json;

use super::{BY_SECRET, HIDDEN, config, synced, world};
use crate::support::graph::{Graph, TENANT, id, user};
use crate::support::{Config, World};

/// The titles of the people of these numbers at the service.
fn titles(world: &World, numbers: &[usize]) -> Vec<String> {
    let staff = world.staff();
    let title = |number: &usize| {
        let own = format!("P{number:05}");
        let person = staff.iter().find(|person| person["employee_id"] == own.as_str()).unwrap();
        person["title"].as_str().unwrap_or_default().to_owned()
    };
    numbers.iter().map(title).collect()
}

/// A tenant whose user 1 manages 2, and whose user 3 manages no one and has no manager.
fn managed() -> (Graph, World) {
    let graph = Graph::start(1..41);
    graph.change(|tenant| {
        tenant.users[1]["manager"] = json!(id(1));
        tenant.users[3]["manager"] = json!(id(5));
        tenant.users[4]["mail"] = json!(null);
        tenant.users[4]["userPrincipalName"] = json!("upn5@example.com");
    });
    let map = "name = \"{{ display_name }}\"\nemail = \"{{ user_principal_name }}\"\ntitle = \"{{ manager }}\"\n\
               employee_id = \"{{ employee_id }}\"\n";
    let world = world(Config { map: map.into(), ..config(&graph, BY_SECRET) });
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (40, 0, 0));
    (graph, world)
}

#[test]
fn law_4_a_tenant_that_is_as_before_writes_nothing() {
    let (graph, world) = synced("");
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.ended()), ((0, 0, 0), ("done".into(), true, String::new())));
    assert_eq!(graph.lists(), 8, "each run asks for each page once");
    let asked = graph.arrived();
    assert_eq!(asked[0].line, "POST /example.onmicrosoft.com/oauth2/v2.0/token");
    assert!(asked[1].line.contains("%24select=displayName%2CemployeeId%2Cid%2CjobTitle%2Cmail&"), "{}", asked[1].line);
}

#[test]
fn who_changes_comes_and_goes_does_so() {
    let (graph, world) = synced("");
    graph.change(|tenant| {
        tenant.users.remove(0);
        tenant.users.push(user(41));
        tenant.users[0]["jobTitle"] = json!("Moved");
    });
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (1, 1, 1));
    world.expect_people(2..42);
    assert_eq!(titles(&world, &[2]), ["Moved"]);
}

#[test]
fn the_guard_holds_a_tenant_that_shows_a_tenth_of_the_people() {
    let graph = Graph::start(1..41);
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let world = world(Config { rest: rest.into(), ..config(&graph, BY_SECRET) });
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
    graph.change(|tenant| tenant.users.truncate(4));
    assert_eq!(world.sync().hides(&HIDDEN).expect(4).writes(), (0, 0, 0));
    world.expect_people(1..41);
}

#[test]
fn a_disabled_account_goes_by_the_filter_or_by_include() {
    for (lines, include) in
        [("filter = \"accountEnabled eq true\"\n", ""), ("", "include = \"{{ account_enabled == 'true' }}\"\n")]
    {
        let graph = Graph::start(1..41);
        let world = world(config(&graph, &format!("{BY_SECRET}{lines}")).job(include));
        assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
        graph.change(|tenant| tenant.users[39]["accountEnabled"] = json!(false));
        assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (0, 0, 1), "{lines}");
        world.expect_people(1..40);
    }
}

#[test]
fn a_manager_is_the_mail_or_else_the_name_to_log_in_with() {
    let (graph, world) = managed();
    assert_eq!(titles(&world, &[2, 3, 4]), ["person1@example.com", "", "upn5@example.com"]);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    graph.change(|tenant| tenant.users[1]["manager"] = json!(null));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!(titles(&world, &[2]), [""]);
}

#[test]
fn law_2_a_manager_who_is_not_known_this_time_stays() {
    let (graph, world) = managed();
    graph.say(|_, arrived, mut page| {
        if arrived.line.contains("expand") {
            page["value"].as_array_mut().unwrap().retain(|user| user["id"] != id(2));
        }
        crate::support::graph::json_answer(200, "", &page)
    });
    let ran = world.sync().hides(&HIDDEN).expect(0);
    assert_eq!((ran.writes(), ran.job()["rejected_values"].as_u64()), ((0, 0, 0), Some(1)));
    assert_eq!(titles(&world, &[2]), ["person1@example.com"]);
    world.expect_people(1..41);
}

#[test]
fn extension_attributes_are_called_by_their_names() {
    let graph = Graph::start(1..4);
    let map = "name = \"{{ display_name }}\"\nemail = \"{{ mail }}\"\ntitle = \"{{ extension_attribute1 }}\"\n\
               employee_id = \"{{ employee_id }}\"\n";
    let world = world(Config { map: map.into(), ..config(&graph, BY_SECRET) });
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
    assert_eq!(titles(&world, &[1, 2]), ["Locker 1", "Locker 2"]);
}

#[test]
fn a_property_that_no_one_has_fails_the_run_unless_it_is_optional() {
    let (graph, world) = synced("");
    graph.change(|tenant| tenant.users.iter_mut().for_each(|user| user["jobTitle"] = json!(null)));
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("no user has the property `job_title`"), "{ran:?}");
    world.edit_config("type =", "optional = [\"jobTitle\"]\ntype =");
    let ran = world.sync();
    assert!(!ran.reason().contains("no user has"), "{ran:?}");
    world.expect_people(1..41);
}

#[test]
fn a_property_that_the_service_does_not_know_fails_the_run() {
    let (_graph, world) = synced("");
    world.edit_config("{{ job_title }}", "{{ job_titel }}");
    let ran = world.sync().hides(&HIDDEN).expect(1);
    assert!(ran.reason().contains("it answered 400 (BadRequest) to a request for users; check `filter`"), "{ran:?}");
    world.expect_people(1..41);
}

#[test]
fn members_of_groups_are_read_with_those_of_groups_in_them_each_once() {
    let group = |number: usize| format!("00000000-0000-0000-0001-{number:012}");
    let graph = Graph::start(1..41);
    graph.change(|tenant| {
        let users = |numbers: std::ops::Range<usize>| numbers.map(id);
        tenant.groups = vec![
            (group(1), "Staff's".into(), users(1..13).chain([group(2)]).collect()),
            (group(2), "Inner".into(), users(13..16).chain([group(1)]).collect()),
            (group(3), "Guests".into(), users(15..21).collect()),
        ];
    });
    let lines = format!("{BY_SECRET}groups = [\"staff's\", \"{}\"]\n", group(3));
    let world = world(config(&graph, &lines));
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (20, 0, 0));
    world.expect_people(1..21);
    graph.change(|tenant| tenant.groups[0].1 = "Other".into());
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("there is no group called \"staff's\""), "{ran:?}");
    graph.change(|tenant| tenant.groups[1].1 = "Staff's".into());
    graph.change(|tenant| tenant.groups[2].1 = "Staff's".into());
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("several groups are called"), "{ran:?}");
    graph.change(|tenant| drop(tenant.groups.remove(2)));
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("404 (Request_ResourceNotFound) to a request for the members of a group"), "{ran:?}");
    world.expect_people(1..21);
}

#[test]
fn law_1_a_group_that_shows_no_one_any_more_removes_no_one() {
    let group = |number: usize| format!("00000000-0000-0000-0001-{number:012}");
    let graph = Graph::start(1..21);
    graph.change(|tenant| {
        let members = |numbers: std::ops::Range<usize>| numbers.map(id).collect();
        tenant.groups =
            vec![(group(1), "Staff".into(), members(1..19)), (group(2), "Night shift".into(), members(19..21))];
    });
    let world = world(config(&graph, &format!("{BY_SECRET}groups = [\"Staff\", \"Night shift\"]\n")));
    assert_eq!(world.sync().expect(0).writes(), (20, 0, 0));
    graph.change(|tenant| tenant.groups[1].2.clear());
    for _ in 0..2 {
        let ran = world.sync().expect(3);
        let said = "Night shift shows no one any more, and 2 when it was read before";
        assert!(ran.reason().contains(said) && ran.reason().contains("`groups`"), "{ran:?}");
        world.expect_people(1..21);
    }
    graph.change(|tenant| tenant.groups[1].2.push(id(19)));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
}

#[test]
fn law_7_who_is_missing_from_another_group_of_the_same_name_is_held_first() {
    let group = |number: usize| format!("00000000-0000-0000-0001-{number:012}");
    let graph = Graph::start(1..21);
    let members = |numbers: std::ops::Range<usize>| numbers.map(id).collect::<Vec<_>>();
    graph.change(|tenant| tenant.groups = vec![(group(1), "Staff".into(), members(1..19))]);
    let world = world(config(&graph, &format!("{BY_SECRET}groups = [\"Staff\"]\n")));
    assert_eq!(world.sync().expect(0).writes(), (18, 0, 0));
    graph.change(|tenant| tenant.groups[0].1 = "STAFF".into());
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    graph.change(|tenant| {
        tenant.groups = vec![(group(1), "Old".into(), members(1..19)), (group(2), "Staff".into(), members(2..20))];
    });
    for made in [1, 0] {
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((made, 0, 0), Some(1)), "{ran:?}");
        assert!(ran.reason().contains("another file, folder or group"), "{ran:?}");
    }
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
    graph.change(|tenant| drop(tenant.groups[1].2.remove(0)));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1), "from now on it is the group");
}

#[test]
fn law_7_another_tenant_is_held_first() {
    let (graph, world) = synced("");
    graph.change(|tenant| {
        tenant.name = "example.org".into();
        tenant.users.truncate(39);
        tenant.users[0]["jobTitle"] = json!("Moved");
    });
    world.edit_config(TENANT, "example.org");
    assert_eq!(world.sync().hides(&HIDDEN).expect(4).writes(), (0, 0, 0));
    world.expect_people(1..41);
}

#[test]
fn law_7_another_filter_or_group_is_held_first() {
    for change in ["filter = \"accountEnabled eq true\"\n", "groups = [\"Staff\"]\n"] {
        let (graph, world) = synced("");
        graph.change(|tenant| {
            tenant.users[39]["accountEnabled"] = json!(false);
            tenant.groups =
                vec![("00000000-0000-0000-0001-000000000001".into(), "Staff".into(), (1..40).map(id).collect())];
        });
        world.edit_config("type =", &format!("{change}type ="));
        let ran = world.sync().hides(&HIDDEN).expect(4);
        assert_eq!(ran.writes(), (0, 0, 0), "{change}");
        world.expect_people(1..41);
    }
}
