//! People who go from one job's list to another's, where the lists come by inboxes, in files of changes, or not at all.

use serde_json::Value;

use crate::support::{Config, World};

const STAFF: &str = "No,Name,Email\n";
const REMOVING: &str =
    "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\nmax_missing = \"off\"\n";

/// A job that is called as its list is.
fn list(name: &str, rest: &str) -> Config {
    Config {
        name: name.into(),
        job: "key = \"{{ no }}\"\nmatch_on = [\"employee_id\", \"email\"]\n".into(),
        path: format!("{name}.csv"),
        map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nemployee_id = \"{{ no }}\"\n".into(),
        ..Config::rest(rest)
    }
}

/// The same with an inbox; `source` are lines of the source.
fn inbox(name: &str, source: &str, rest: &str) -> Config {
    let config = list(name, rest);
    Config { path: name.into(), source: config.source.clone() + source, ..config }
}

fn of(north: Config, south: &Config) -> World {
    let world = World::of(north.and(south));
    for name in ["north", "south"] {
        std::fs::create_dir(world.dir().join(name)).unwrap();
    }
    world
}

/// People of one digit each, called by it.
fn put(world: &World, file: &str, people: &[u32]) {
    let row = |one: &u32| format!("{one},Person {one},p{one}@example.com\n");
    world.put(file, (STAFF.to_owned() + &people.iter().map(row).collect::<String>()).as_bytes());
}

/// Numbers and ids of those who are at the service.
fn ids(world: &World) -> Vec<(String, i64)> {
    let one = |one: Value| (one["employee_id"].as_str().unwrap().to_owned(), one["id"].as_i64().unwrap());
    let mut all: Vec<_> = world.service().all("staff").into_iter().map(one).collect();
    all.sort();
    all
}

/// What someone is called there.
fn called(world: &World, number: u32) -> String {
    let all = world.service().all("staff").into_iter();
    let one = all.into_iter().find(|one| one["employee_id"] == number.to_string().as_str()).unwrap();
    one["name"].as_str().unwrap().to_owned()
}

/// The other list finds people by their number alone, and has given them another one.
#[test]
fn who_goes_to_another_list_with_a_new_number_is_asked_about_there() {
    for [first, second] in [["north", "south"], ["south", "north"]] {
        for is_same in [true, false] {
            let by_number = |name: &str| {
                let config = list(name, REMOVING);
                Config { job: config.job.replace(", \"email\"", ""), ..config }
            };
            let world = World::of(by_number(first).and(&by_number(second)));
            put(&world, "north.csv", &[1, 2]);
            put(&world, "south.csv", &[3]);
            world.sync().expect(0);
            let before = ids(&world);
            put(&world, "north.csv", &[1]);
            world.put("south.csv", format!("{STAFF}3,Person 3,p3@example.com\n7,Person 2,p2@example.com\n").as_bytes());
            world.sync();
            world.sync().expect(4);
            let decision = if is_same { "approve" } else { "reject" };
            world.run(&[decision, "south", "7"]).expect(0);
            for _ in 0..2 {
                world.sync();
            }
            world.sync().expect(0);
            let id = before.iter().find(|(number, _)| number == "2").unwrap().1;
            let after = ids(&world);
            let seven = after.iter().find(|(number, _)| number == "7").unwrap().1;
            assert_eq!((after.len(), seven == id), (3, is_same), "{first} {is_same} {after:?}");
        }
    }
}

/// Two with one first name exchange their sites.
#[test]
fn law_1_who_is_known_by_number_name_and_email_keeps_no_one_of_a_like_name() {
    let rows = |rows: &[&str]| (STAFF.to_owned() + &rows.concat()).into_bytes();
    let (one, other) = ("1,Gina Ulrich,ulrich@example.com\n", "2,Gina Abt,abt@example.com\n");
    let (north, south) = ("3,Person 3,p3@example.com\n", "4,Person 4,p4@example.com\n");
    let world = World::of(list("north", REMOVING).and(&list("south", REMOVING)));
    world.put("north.csv", &rows(&[one, north]));
    world.put("south.csv", &rows(&[other, south]));
    world.sync().expect(0);
    let before = ids(&world);
    world.put("north.csv", &rows(&[other, north]));
    world.put("south.csv", &rows(&[one, south]));
    world.sync();
    world.sync().expect(0);
    assert_eq!(ids(&world), before);
    let ran = world.sync().expect(0);
    assert_eq!(ran.writes(), (0, 0, 0));
}

/// Who went to another list under the same number, with a new name and email.
#[test]
fn law_1_fault_100_who_goes_to_another_list_with_their_number_and_a_new_name_and_email_is_asked_about_there() {
    for [first, second] in [["north", "south"], ["south", "north"]] {
        for decision in ["approve", "reject"] {
            let world = of(list(first, REMOVING), &list(second, REMOVING));
            put(&world, "north.csv", &[1, 2, 3]);
            put(&world, "south.csv", &[7, 8, 9]);
            world.sync().expect(0);
            let before = ids(&world);
            put(&world, "north.csv", &[1, 2]);
            let south = [7, 8, 9].map(|one| format!("{one},Person {one},p{one}@example.com\n")).concat();
            world.put("south.csv", format!("{STAFF}{south}3,Ada Married,ada@example.com\n").as_bytes());
            world.sync().expect(4);
            let ran = world.sync().expect(4);
            assert!(ran.out.contains("name and email both become others"), "{ran:?}");
            assert_eq!((ids(&world), called(&world, 3).as_str()), (before.clone(), "Person 3"));
            world.run(&[decision, "south"]).expect(0);
            world.sync();
            world.sync().expect(0);
            assert_eq!(called(&world, 3), "Ada Married", "{first} first, {decision}");
            let stays = ids(&world) == before;
            assert_eq!((stays, ids(&world).len()), (decision == "approve", 6), "{first} first, {decision}");
        }
    }
}

/// Nothing of them but their number is in the other list, which does not find people by it.
#[test]
fn law_1_fault_100_who_goes_to_another_list_is_taken_over_by_their_number_alone() {
    for maps_number in [false, true] {
        let by_email = |name: &str| {
            let number = if maps_number { "employee_id = \"{{ no }}\"\n" } else { "" };
            Config {
                job: "key = \"{{ no }}\"\nmatch_on = [\"email\"]\n".into(),
                map: format!("name = \"{{{{ name }}}}\"\nemail = \"{{{{ email }}}}\"\n{number}"),
                ..list(name, REMOVING)
            }
        };
        for ([first, second], row, asks) in [
            (["north", "south"], "3,Person 3,new@example.com", false),
            (["south", "north"], "3,Person 3,new@example.com", false),
            (["north", "south"], "3,Ada New,new@example.com", true),
            (["south", "north"], "3,Ada New,new@example.com", true),
        ] {
            let world = of(by_email(first), &by_email(second));
            put(&world, "north.csv", &[1, 2, 3]);
            put(&world, "south.csv", &[7, 8, 9]);
            world.sync().expect(0);
            put(&world, "north.csv", &[1, 2]);
            let south = [7, 8, 9].map(|one| format!("{one},Person {one},p{one}@example.com\n")).concat();
            world.put("south.csv", format!("{STAFF}{south}{row}\n").as_bytes());
            // The list that comes first makes them before it is known that they left the other one, where the service lets it.
            let is_made = first == "south" && !maps_number;
            world.sync();
            assert!(world.service().all("staff").len() >= 6, "{row}, {first} first, {maps_number}");
            let ran = world.sync();
            if asks && !is_made {
                assert!(ran.out.contains("name and email both become others"), "{row}, {first} first: {ran:?}");
                world.run(&["approve", "south"]).expect(0);
            }
            world.sync();
            world.sync().expect(0);
            let emails: Vec<_> = world.service().all("staff").into_iter().map(|one| one["email"].clone()).collect();
            assert_eq!(emails.len(), 6, "{row}, {first} first, {maps_number}: {emails:?}");
            assert!(emails.contains(&"new@example.com".into()) && !emails.contains(&"p3@example.com".into()));
        }
    }
}

#[test]
fn who_comes_to_a_list_of_changes_is_handed_over_by_whichever_file_named_them() {
    let world = of(list("north", REMOVING), &inbox("south", "mode = \"changes\"\n", ""));
    put(&world, "north.csv", &[1, 2, 3, 5]);
    put(&world, "south/1.csv", &[8]);
    world.sync().expect(0);
    let before = ids(&world);
    put(&world, "south/2.csv", &[5]);
    world.sync().expect(4);
    // A later file says nothing of them.
    put(&world, "south/3.csv", &[8]);
    world.sync().expect(4);
    put(&world, "north.csv", &[1, 2, 3]);
    let ran = world.sync().expect(0);
    assert!(ran.reason().contains("moved to the source of job south"), "{ran:?}");
    assert_eq!(ids(&world), before, "no one is removed, or made again: {ran:?}");
    world.put("south/4.csv", (STAFF.to_owned() + "5,Person Five,p5@example.com\n").as_bytes());
    world.sync().expect(0);
    assert_eq!(called(&world, 5), "Person Five", "they are the other list's, which changes them");
}

#[test]
fn who_may_be_in_a_file_that_waits_unread_in_another_inbox_stays() {
    let world = of(list("north", REMOVING), &inbox("south", "", REMOVING));
    put(&world, "north.csv", &[1, 2, 5]);
    put(&world, "south/1.csv", &[8]);
    world.sync().expect(0);
    let before = ids(&world);
    put(&world, "north.csv", &[1, 2]);
    put(&world, "south/2.csv", &[8]);
    put(&world, "south/3.csv", &[8, 5]);
    let ran = world.sync().expect(4);
    assert!(ran.reason().contains("until job south has read what waits in its inbox"), "{ran:?}");
    assert_eq!(ids(&world), before, "{ran:?}");
    world.sync().expect(0);
    assert_eq!(ids(&world), before);
}

#[test]
fn law_6_who_shares_a_mailbox_with_a_newcomer_of_another_list_is_not_taken_for_them() {
    // Who comes there; whether it is the person who leaves here.
    for (no, name, is_them) in [(9, "Zoe Fox", false), (1, "Zoe Fox", true), (9, "Ana Lee", true), (1, "Lee Ana", true)]
    {
        let world = of(list("north", REMOVING), &list("south", REMOVING));
        world.put("north.csv", format!("{STAFF}1,Ana Lee,desk@example.com\n2,Bo,bo@example.com\n").as_bytes());
        put(&world, "south.csv", &[8]);
        world.sync().expect(0);
        let ana = ids(&world)[0].1;
        world.put("north.csv", format!("{STAFF}2,Bo,bo@example.com\n").as_bytes());
        let new = format!("{STAFF}8,Person 8,p8@example.com\n{no},{name},desk@example.com\n");
        world.put("south.csv", new.as_bytes());
        let ran = world.run(&["sync", "--json", "north"]);
        let is_there = ids(&world).iter().any(|(_, id)| *id == ana);
        assert_eq!(is_there, is_them, "{no} {name}: {ran:?}");
    }
}

#[test]
fn who_stays_at_the_service_is_let_go_of_once_another_list_has_them() {
    let keep = "[job.leavers]\naction = \"keep\"\ngrace = \"0s\"\n";
    let update = "[job.leavers]\naction = \"update\"\ngrace = \"0s\"\nset.title = \"Left\"\n";
    for leavers in [keep, update] {
        let world = of(list("north", leavers), &list("south", ""));
        put(&world, "north.csv", &[1, 2, 3, 5]);
        put(&world, "south.csv", &[8]);
        world.sync().expect(0);
        put(&world, "north.csv", &[1, 2, 3]);
        world.sync().expect(0);
        put(&world, "south.csv", &[8, 5]);
        world.sync();
        world.sync();
        world.sync().expect(0);
        world.put("south.csv", format!("{STAFF}8,Person 8,p8@example.com\n5,Person Five,p5@example.com\n").as_bytes());
        world.sync().expect(0);
        assert_eq!(called(&world, 5), "Person Five", "{leavers}: the other list's data arrives");
        assert_eq!(ids(&world).len(), 5, "{leavers}");
    }
}

#[test]
fn law_6_who_stays_at_the_service_is_not_let_go_of_for_another_person_with_their_mailbox() {
    let keep = "[job.leavers]\naction = \"keep\"\ngrace = \"0s\"\n";
    for (leavers, changes) in [(keep, false), (keep, true), (REMOVING, true)] {
        let south = if changes { inbox("south", "mode = \"changes\"\n", "") } else { list("south", "") };
        let world = of(list("north", leavers), &south);
        let list = if changes { "south/1.csv" } else { "south.csv" };
        let rows = |rows: &str| format!("{STAFF}{rows}");
        world.put("north.csv", rows("1,Person 1,p1@example.com\n5,Xena Old,desk@example.com\n").as_bytes());
        put(&world, list, &[8]);
        world.sync().expect(0);
        let next = list.replace('1', "2");
        world.put(&next, rows("8,Person 8,p8@example.com\n30,Yan New,desk@example.com\n").as_bytes());
        world.sync();
        put(&world, "north.csv", &[1]);
        for _ in 0..3 {
            world.sync();
        }
        let all = world.service().all("staff");
        let is_five = |one: &&Value| one["employee_id"] == "5";
        assert!(all.iter().filter(is_five).all(|one| one["name"] == "Xena Old"), "{leavers} {changes}: {all:?}");
        assert_eq!(all.iter().filter(is_five).count(), usize::from(leavers == keep), "{leavers} {changes}: {all:?}");
    }
}

#[test]
fn law_1_a_removal_that_waits_is_not_carried_out_while_another_list_has_the_person() {
    let north = inbox("north", "mode = \"changes\"\n", REMOVING);
    let north = Config { job: north.job.clone() + "include = \"{{ title != 'gone' }}\"\n", ..north };
    let world = of(north, &list("south", REMOVING));
    let rows = [1, 2, 5].map(|one| format!("{one},Person {one},p{one}@example.com,\n")).concat();
    world.put("north/1.csv", format!("No,Name,Email,Title\n{rows}").as_bytes());
    put(&world, "south.csv", &[8]);
    world.sync().expect(0);
    let before = ids(&world);
    let five = before[2].1;
    world.service().edit("staff", five, serde_json::json!({"onsite_status": "onsite"}));
    world.put("north/2.csv", "No,Name,Email,Title\n5,Person 5,p5@example.com,gone\n".as_bytes());
    let ran = world.sync().expect(0);
    assert_eq!(ids(&world), before, "they are on site: {ran:?}");
    put(&world, "south.csv", &[8, 5]);
    world.service().edit("staff", five, serde_json::json!({"onsite_status": "offsite"}));
    world.sync();
    assert_eq!(ids(&world), before, "the other list has them");
    let ran = world.sync().expect(0);
    assert_eq!(ids(&world), before, "{ran:?}");
    assert_eq!(world.run(&["status", "--json"]).job()["held"], 0, "nothing is left of the removal");
}

#[test]
fn law_1_who_waits_in_another_list_stays_though_its_source_can_not_be_read() {
    let world = of(list("north", REMOVING), &list("south", REMOVING));
    put(&world, "north.csv", &[1, 2, 5]);
    put(&world, "south.csv", &[8]);
    world.sync().expect(0);
    let before = ids(&world);
    put(&world, "south.csv", &[8, 5]);
    world.sync().expect(4);
    put(&world, "north.csv", &[1]);
    std::fs::remove_file(world.dir().join("south.csv")).unwrap();
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("1 person stays until the source of job south can be read"), "{ran:?}");
    assert!(ran.reason().contains("moved to the source of job south"), "{ran:?}");
    assert_eq!(ids(&world), before);
    put(&world, "south.csv", &[8, 5]);
    world.sync().expect(0);
    assert_eq!(ids(&world), [&before[..1], &before[2..]].concat(), "who is in neither left");
}

/// Members and memberships at the service, by id.
fn joined(world: &World) -> (Vec<i64>, Vec<i64>) {
    let ids = |what: &str| {
        let mut ids: Vec<i64> = world.service().all(what).iter().map(|one| one["id"].as_i64().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    (ids("sp.member"), ids("sp.membership"))
}

fn sites(name: &str) -> Config {
    Config {
        target: "contractor".into(),
        job: "key = \"{{ no }}\"\nmatch_on = [\"email\"]\n".into(),
        map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\n\"org.name\" = \"{{ ['Acme', no][0] }}\"\n".into(),
        ..list(name, REMOVING)
    }
}

#[test]
fn a_contractor_who_comes_to_another_list_takes_the_membership_along() {
    let world = of(sites("north"), &sites("south"));
    put(&world, "north.csv", &[1, 2, 5]);
    put(&world, "south.csv", &[8]);
    world.sync().expect(0);
    let before = joined(&world);
    put(&world, "north.csv", &[1, 2]);
    put(&world, "south.csv", &[8, 5]);
    let ran = world.run(&["sync", "--json", "north"]).expect(0);
    assert!(ran.reason().contains("moved to the source of job south"), "{ran:?}");
    assert_eq!(joined(&world), before, "nothing ends before the other list runs");
    world.sync().expect(0);
    assert_eq!(joined(&world), before);
    put(&world, "south.csv", &[8]);
    world.sync().expect(0);
    assert_eq!((joined(&world).0.len(), joined(&world).1.len()), (3, 3), "the other list ends both");
}

/// Lists of more than one firm.
fn firms(name: &str) -> Config {
    let config = sites(name);
    Config { map: config.map.replace("{{ ['Acme', no][0] }}", "{{ firm }}"), ..config }
}

#[test]
fn a_membership_that_the_other_list_does_not_have_ends_after_the_person_went_there() {
    let world = of(firms("north"), &firms("south"));
    let rows = |rows: &[(u32, &str)]| {
        let row = |(one, firm): &(u32, &str)| format!("{one},Person {one},p{one}@example.com,{firm}\n");
        "No,Name,Email,Firm\n".to_owned() + &rows.iter().map(row).collect::<String>()
    };
    world.put("north.csv", rows(&[(1, "Acme"), (6, "Acme"), (6, "Bolt")]).as_bytes());
    world.put("south.csv", rows(&[(8, "Acme")]).as_bytes());
    world.sync().expect(0);
    let member = joined(&world).0;
    world.put("north.csv", rows(&[(1, "Acme")]).as_bytes());
    world.put("south.csv", rows(&[(8, "Acme"), (6, "Acme"), (6, "Core")]).as_bytes());
    for _ in 0..3 {
        world.sync();
    }
    world.sync().expect(0);
    let orgs = |id: i64| {
        let all = world.service().all("sp.membership").into_iter().filter(move |one| one["member_id"] == id);
        let firms = world.service().all("sp.org");
        let called =
            |id: &Value| firms.iter().find(|firm| firm["id"] == *id).unwrap()["name"].as_str().unwrap().to_owned();
        let mut names: Vec<String> = all.map(|one| called(&one["org_id"])).collect();
        names.sort();
        names
    };
    let all = world.service().all("sp.member");
    let six = all.iter().find(|one| one["email"] == "p6@example.com").unwrap_or_else(|| panic!("{all:?}"));
    let six = six["id"].as_i64().unwrap();
    assert!(member.contains(&six), "they are who they were");
    assert_eq!(orgs(six), ["Acme", "Core"]);
    let writes = world.service().writes();
    world.sync().expect(0);
    assert_eq!(world.service().writes(), writes, "law 4");
}

#[test]
fn law_1_a_membership_stays_where_the_other_list_can_not_say_which_one_took_its_place() {
    let world = of(firms("north"), &firms("south"));
    let north = |rows: &str| {
        world.put("north.csv", format!("No,Name,Email,Firm\n1,Person 1,p1@example.com,Acme\n{rows}").as_bytes())
    };
    let south = |rows: &str| {
        world.put("south.csv", format!("No,Name,Email,Firm\n8,Person 8,p8@example.com,Acme\n{rows}").as_bytes())
    };
    north("6,Person 6,p6@example.com,Bolt\n");
    south("");
    world.sync().expect(0);
    let before = joined(&world);
    north("");
    south("6,Person 6,p6@example.com,\n");
    for _ in 0..4 {
        let ran = world.sync();
        assert_eq!(joined(&world), before, "they have no other place of work: {ran:?}");
    }
    south("6,Person 6,p6@example.com,Core\n");
    (0..3).for_each(|_| drop(world.sync()));
    let (members, memberships) = joined(&world);
    assert_eq!((members, memberships.len()), (before.0, before.1.len()), "one place of work for another");
    assert_ne!(memberships, before.1);
}

#[test]
fn a_membership_ends_though_the_inbox_of_the_other_list_has_been_empty_since() {
    let south = Config { path: "south".into(), ..firms("south") };
    let world = of(firms("north"), &south);
    let rows = |rows: &str| format!("No,Name,Email,Firm\n{rows}");
    world.put("north.csv", rows("1,Person 1,p1@example.com,Acme\n6,Person 6,p6@example.com,Bolt\n").as_bytes());
    world.put("south/1.csv", rows("8,Person 8,p8@example.com,Acme\n").as_bytes());
    world.sync().expect(0);
    world.put("north.csv", rows("1,Person 1,p1@example.com,Acme\n").as_bytes());
    world.put("south/2.csv", rows("8,Person 8,p8@example.com,Acme\n6,Person 6,p6@example.com,Core\n").as_bytes());
    // The first list offers the person, and the other one, which still has the file, takes them over.
    world.run(&["sync", "--json", "north"]);
    world.run(&["sync", "--json", "south"]);
    // Nothing is in its inbox now.
    world.run(&["sync", "--json", "south"]).expect(0);
    (0..2).for_each(|_| drop(world.run(&["sync", "--json", "north"])));
    let (members, memberships) = joined(&world);
    assert_eq!((members.len(), memberships.len()), (3, 3), "the earlier place of work is over");
}

#[test]
fn law_8_rows_that_join_people_to_an_organization_of_another_job_are_no_contradiction() {
    let world = of(sites("north"), &sites("south"));
    put(&world, "north.csv", &[1, 2, 5]);
    put(&world, "south.csv", &[6, 7, 8]);
    world.sync().expect(0);
    let writes = world.service().writes();
    for _ in 0..2 {
        let ran = world.sync().expect(0);
        assert_eq!(world.service().writes(), writes, "law 4: {ran:?}");
    }
    put(&world, "south.csv", &[6, 7, 8, 9]);
    let ran = world.sync().expect(0);
    assert_eq!(joined(&world).1.len(), 7, "{ran:?}");
}

#[test]
fn law_1_a_membership_stays_until_the_other_list_has_made_the_one_that_takes_its_place() {
    for fault in [
        "sp.membership.create status=400",
        "sp.membership.create status=500",
        "sp.membership.create status=403",
        "sp.org.create status=400",
    ] {
        let world = of(firms("north"), &firms("south"));
        let rows = |rows: &str| format!("No,Name,Email,Firm\n{rows}");
        let (one, eight) = ("1,Person 1,p1@example.com,Acme\n", "8,Person 8,p8@example.com,Acme\n");
        world.put("north.csv", rows(&format!("{one}6,Person 6,p6@example.com,Bolt\n")).as_bytes());
        world.put("south.csv", rows(eight).as_bytes());
        world.sync().expect(0);
        let before = joined(&world);
        world.faults(&[fault]);
        world.put("north.csv", rows(one).as_bytes());
        world.put("south.csv", rows(&format!("{eight}6,Person 6,p6@example.com,Core\n")).as_bytes());
        for _ in 0..4 {
            let ran = world.sync();
            assert_eq!(joined(&world), before, "{fault}: {ran:?}");
        }
        world.faults(&[]);
        world.run(&["queue", "retry", "south"]);
        (0..3).for_each(|_| drop(world.sync()));
        let (members, memberships) = joined(&world);
        assert_eq!((members, memberships.len()), (before.0, 3), "{fault}: one place of work for another");
        assert_ne!(memberships, before.1, "{fault}");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{fault}");
    }
}
