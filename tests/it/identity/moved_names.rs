//! Names and emails that go from a known person to someone else in one file: neither row is wrong by itself, and both wait.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use rosterd::clock::Clock;
use rosterd::sandbox::Options;

use crate::support::{Config, HEADER, Ran, World, people};

const PEOPLE: usize = 6;

/// A file of so many people; those of these numbers have other names than their own, and all have their own number and
/// email.
fn named(people: usize, names: &[(usize, &str)]) -> String {
    (1..people + 1).fold(HEADER.to_owned(), |text, number| {
        let own = format!("Person {number}");
        let name = names.iter().find(|(of, _)| *of == number).map_or(own.as_str(), |(_, name)| *name);
        text + &format!("P{number:05},{name},person{number}@example.com,Clerk\n")
    })
}

/// People in step, and a file in which the first of them has the name of a new one, who has theirs.
fn sorted_apart() -> World {
    let world = World::synced(Config::default(), PEOPLE);
    world.csv(named(PEOPLE + 1, &[(1, "Zed New"), (7, "Person 1")]));
    world
}

/// The people that a plan holds, by number, in order.
fn held(ran: &Ran) -> BTreeSet<usize> {
    let job = ran.job();
    let changes = job["changes"].as_array().cloned().unwrap_or_default();
    let held = changes.iter().filter(|change| !change["held"].is_null());
    held.map(|change| change["key"].as_str().unwrap()[1..].parse().unwrap()).collect()
}

#[test]
fn law_6_a_name_that_goes_to_someone_else_in_the_same_file_is_held_with_both() {
    let world = World::synced(Config::default(), PEOPLE);
    // (how many are in the file, whose name is which, who is held)
    for (case, people, names, expected) in [
        ("known and new", 7, &[(1, "Zed New"), (7, "Person 1")][..], &[1, 7][..]),
        ("whatever case and spaces", 7, &[(1, "Zed New"), (7, "PERSON  1")], &[1, 7]),
        ("two of each", 8, &[(1, "Zed New"), (2, "Yan New"), (7, "Person 2"), (8, "Person 1")], &[1, 2, 7, 8]),
        ("over a third", 7, &[(1, "Zed New"), (2, "Person 1"), (7, "Person 2")], &[1, 2, 7]),
        ("two known ones", 6, &[(1, "Person 2"), (2, "Person 1")], &[1, 2]),
        ("to a known one", 6, &[(1, "Zed New"), (2, "Person 1")], &[1, 2]),
        ("one marries, another joins", 7, &[(1, "Zed New"), (7, "Cy Dunn")], &[]),
        ("of one who keeps it", 7, &[(7, "Person 1")], &[]),
        ("of one who is spelled otherwise", 7, &[(1, "PERSON 1"), (7, "Person 1")], &[]),
        ("a name that nobody had", 7, &[(1, "Zed New"), (7, "Zed New")], &[]),
        ("filled down", 6, &[(1, "Zed New"), (2, "Zed New"), (4, "ZED NEW")], &[1, 2, 4]),
    ] {
        world.csv(named(people, names));
        let plan = world.plan().expect(0);
        assert_eq!(held(&plan), expected.iter().copied().collect(), "{case}: {plan:?}");
    }
}

#[test]
fn law_6_an_email_that_goes_to_someone_else_in_the_same_file_is_held_with_both() {
    let world = World::synced(Config::default(), PEOPLE);
    for (case, people, emails, expected) in [
        ("known and new", 7, &[(1, "person7@example.com"), (7, "person1@example.com")][..], &[1, 7][..]),
        ("two known ones", 6, &[(1, "person2@example.com"), (2, "Person1@example.com")], &[1, 2]),
        ("a mailbox that is handed on", 7, &[(1, "new@example.com"), (7, "person1@example.com")], &[1, 7]),
        ("a new address", 7, &[(1, "new@example.com")], &[]),
        ("filled down", 6, &[(1, "new@example.com"), (2, "new@example.com"), (4, "New@example.com")], &[1, 2, 4]),
        ("to a known and a new one", 7, &[(1, "new@example.com"), (7, "new@example.com")], &[1, 7]),
        ("of one who has it", 6, &[(1, "person3@example.com")], &[1]),
    ] {
        let text = (1..people + 1).fold(HEADER.to_owned(), |text, number| {
            let own = format!("person{number}@example.com");
            let email = emails.iter().find(|(of, _)| *of == number).map_or(own.as_str(), |(_, email)| *email);
            text + &format!("P{number:05},Person {number},{email},Clerk\n")
        });
        world.csv(text);
        let plan = world.plan().expect(0);
        assert_eq!(held(&plan), expected.iter().copied().collect(), "{case}: {plan:?}");
    }
}

#[test]
fn law_6_one_key_of_two_between_which_a_name_goes_is_held_too() {
    let world = sorted_apart();
    for key in ["P00001", "P00007"] {
        let ran = world.run(&["sync", "--json", "--key", key]);
        assert_eq!((ran.code, ran.writes()), (Some(4), (0, 0, 0)), "{ran:?}");
    }
}

#[test]
fn who_has_another_name_and_who_has_theirs_can_be_approved() {
    let world = sorted_apart();
    let ran = world.sync().expect(4).hides(&["Person 1", "Zed New"]);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(2)), "{ran:?}");
    assert!(ran.reason().contains("the name of key P00001 goes to key P00007 in the same read"), "{ran:?}");
    world.run(&["approve", "staff", "P00007"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (1, 0, 0), "each is decided on by itself");
    world.run(&["approve", "staff", "P00001"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(
        (&world.held_as(1).unwrap()["name"], &world.held_as(7).unwrap()["name"]),
        (&"Zed New".into(), &"Person 1".into())
    );
}

#[test]
fn who_was_rejected_is_neither_renamed_nor_created_until_the_file_is_mended() {
    let world = sorted_apart();
    world.sync().expect(4);
    world.run(&["reject", "staff"]).expect(0);
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(1)), "{ran:?}");
        assert!(
            ran.reason().contains("it was rejected that this row is about the person or organization whose key it has"),
            "{ran:?}"
        );
    }
    assert_eq!(world.sync_of(named(PEOPLE + 1, &[(7, "Zed New")])).expect(0).writes(), (1, 0, 0));
    assert_eq!(world.texts("name")[..2], ["Person 1", "Person 2"]);
}

#[test]
fn who_was_rejected_is_named_in_each_run_though_the_other_one_was_approved() {
    let world = sorted_apart();
    world.sync().expect(4);
    world.run(&["approve", "staff", "P00007"]).expect(0);
    world.run(&["reject", "staff", "P00001"]).expect(0);
    for created in [1, 0] {
        let ran = world.sync().expect(4);
        assert_eq!(ran.writes(), (created, 0, 0));
        assert!(ran.reason().contains("it was rejected that this row is about"), "{ran:?}");
    }
}

#[test]
fn law_9_a_name_that_goes_to_a_new_person_is_held_though_the_state_was_lost() {
    let world = World::new(Options::default());
    (1..PEOPLE + 1).for_each(|number| _ = world.person(number, "Clerk"));
    world.csv(named(PEOPLE + 1, &[(1, "Zed New"), (7, "Person 1")]));
    assert_eq!(held(&world.plan().expect(0)), [1, 7].into());
}

#[test]
fn law_1_a_mistyped_number_keeps_everybody_whom_its_row_may_be() {
    let world = World::of(Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n"));
    let wrong = "P00001,Ben Berg,ada@example.com,Clerk\nP00002,Ada Alm,ben@example.com,Clerk\n";
    assert_eq!(world.sync_of(people(3..13) + wrong).expect(0).writes(), (12, 0, 0));
    // By email it is the first of them, by name the second.
    let ran = world.sync_of(people(3..13) + "X00001,Ada Alm,ada@example.com,Clerk\n").expect(4);
    assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 12), "{ran:?}");
    assert_eq!(world.sync_of(people(3..13) + wrong).expect(0).writes(), (0, 0, 0));
}

/// Nothing in their row but a part of the name says who they are.
#[test]
fn law_1_a_row_that_waits_under_an_unknown_number_keeps_its_namesakes_until_it_is_decided_who_it_is() {
    for (match_on, slip) in [
        ("[\"email\"]", "X00005,Person Five,,Clerk\n"),
        ("[\"employee_id\", \"email\"]", "X00005,Person Five,person1@example.com,Clerk\n"),
    ] {
        for decision in ["approve", "reject"] {
            let job = format!("key = \"{{{{ employee_no }}}}\"\nmatch_on = {match_on}\n");
            let rest = Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n");
            let options = Options { accept_duplicates: true, ..Options::default() };
            let world = World::with(options, Config { job, ..rest });
            assert_eq!(world.sync_of(named(PEOPLE, &[])).expect(0).writes(), (PEOPLE as u64, 0, 0));
            world.csv(named(PEOPLE - 2, &[]) + "P00006,Person 6,person6@example.com,Clerk\n" + slip);
            for _ in 0..2 {
                let ran = world.sync().expect(4);
                assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), PEOPLE), "{slip}: {ran:?}");
                assert!(ran.out.contains("key X00005 may be this person"), "{ran:?}");
            }
            world.run(&[decision, "staff", "X00005"]).expect(0);
            // Rejected as someone new, it may be the one who is missing all the more.
            let expected = if decision == "approve" { (1, 0, 1) } else { (0, 0, 0) };
            assert_eq!(world.sync().writes(), expected, "{decision} {slip}");
            if decision == "reject" {
                // It keeps no one who is missing since then.
                let last = "P00006,Person 6,person6@example.com,Clerk\n";
                let more = named(PEOPLE - 3, &[]) + last;
                assert_eq!(world.sync_of(more.clone() + slip).writes(), (0, 0, 1), "{slip}");
                let right = more + "P00005,Person 5,person5@example.com,Clerk\n";
                assert_eq!(world.sync_of(right).expect(0).writes(), (0, 0, 0), "{slip}");
                assert_eq!(world.staff().len(), PEOPLE - 1);
            }
        }
    }
}

/// In a read that is not complete it is asked whether they are two people; the answer is that they are one.
#[test]
fn law_1_who_was_said_to_be_no_one_else_is_asked_about_once_the_read_is_complete() {
    let world = World::synced(Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n"), PEOPLE);
    let renumbered = people(1..PEOPLE) + "P00060,Person 6,person6@example.com,Clerk\n";
    world.csv(renumbered.clone() + ",No Number,nn@example.com,Clerk\n");
    let ran = world.sync().expect(4);
    assert!(ran.out.contains("approve it if they are two people"), "{ran:?}");
    world.run(&["reject", "staff", "P00060"]).expect(0);
    world.sync();
    world.csv(renumbered);
    let ran = world.sync().expect(4);
    assert!(ran.out.contains("approve it if they are the same person"), "{ran:?}");
    assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), PEOPLE));
    world.run(&["approve", "staff", "P00060"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert!(world.held_as(60).is_some() && world.staff().len() == PEOPLE);
}

/// They have a new contract, and the service refuses what their new row says.
#[test]
fn law_1_who_is_missing_stays_while_the_service_refuses_a_new_row_of_a_like_name() {
    let clock = Clock::fixed("2026-03-02T08:00:00Z".parse().unwrap());
    let world = World::at(&clock, Config::rest("[job.leavers]\naction = \"delete\"\n"));
    world.csv(named(PEOPLE, &[]));
    world.sync().expect(0);
    world.faults(&["staff.create status=422"]);
    world.csv(named(PEOPLE - 1, &[]) + "P00077,Percy 6,percy@example.com,Clerk\n");
    world.sync().expect(3);
    clock.advance(SignedDuration::from_hours(25));
    let ran = world.sync();
    assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), PEOPLE), "{ran:?}");
    assert!(ran.out.contains("key P00077 may be this person"), "{ran:?}");
    world.faults(&[]);
    world.run(&["queue", "retry", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 1));
}

#[test]
fn law_3_a_person_whose_own_entity_is_gone_is_not_made_beside_the_one_that_shows_them() {
    for match_on in ["email", "employee_id"] {
        let job = format!("key = \"{{{{ employee_no }}}}\"\nmatch_on = [\"{match_on}\"]\n");
        let rest = Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n");
        let world = World::of(Config { job, ..rest });
        let wrong = "P00001,Ada Alm,ada@example.com,Clerk\nP00002,Ben Berg,ben@example.com,Clerk\n";
        assert_eq!(world.sync_of(people(3..13) + wrong).expect(0).writes(), (12, 0, 0));
        let of = |number: usize| world.held_as(number).map(|one| one["id"].as_i64().unwrap());
        let [shown, own] = [1, 2].map(|number| of(number).unwrap());
        world.service().remove("staff", own);
        let ran = world.sync_of(people(3..13) + "P00002,Ada Alm,ada@example.com,Clerk\n").expect(4);
        assert_eq!((ran.writes(), of(1)), ((0, 0, 0), Some(shown)), "{match_on}: {ran:?}");
        world.run(&["approve", "staff", "P00002"]).expect(0);
        assert_eq!((world.sync().expect(0).writes(), of(2)), ((0, 1, 0), Some(shown)), "{match_on}");
    }
}

#[test]
fn law_1_who_is_gone_and_whose_email_another_person_gets_stays_and_is_named_until_that_is_decided() {
    for decision in ["approve", "reject"] {
        let world = World::synced(Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n"), PEOPLE);
        world.csv(people(1..PEOPLE).replacen("person2@", "person6@", 1));
        for _ in 0..2 {
            let ran = world.sync().expect(4);
            assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(2)), "{ran:?}");
            let explained = world.run(&["explain", "staff", "P00006"]).expect(0);
            assert!(explained.out.contains("key P00002 may be this person"), "{explained:?}");
        }
        world.run(&[decision, "staff", "P00002"]).expect(0);
        let ran = world.sync();
        match decision {
            "approve" => assert_eq!((ran.writes(), ran.code), ((0, 1, 1), Some(0)), "{ran:?}"),
            _ => assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(2)), "{ran:?}"),
        }
    }
}

#[test]
fn law_6_names_that_go_from_one_to_another_are_held_though_a_template_puts_their_words_otherwise() {
    let map = |name: &str| {
        let rest = "email = \"{{ email }}\"\ntitle = \"{{ title }}\"\nemployee_id = \"{{ employee_no }}\"\n";
        Config { map: format!("name = \"{name}\"\n{rest}"), ..Config::default() }
    };
    let of = |names: [&str; 4]| {
        let row = |(number, name): (usize, &str)| {
            format!("P{number:05},{},person{number}@example.com,Clerk\n", name.replace(' ', ","))
        };
        "employee_no,first,last,email,title\n".to_owned() + &(1..).zip(names).map(row).collect::<String>()
    };
    let named = ["Ana Bell", "Bo Cole", "Cy Dunn", "Di Eden"];
    for (case, names, with_new, expected) in [
        ("two exchanged", ["Bo Cole", "Ana Bell", "Cy Dunn", "Di Eden"], "", &[1, 2][..]),
        ("shifted by a row", ["Di Eden", "Ana Bell", "Bo Cole", "Cy Dunn"], "", &[1, 2, 3, 4]),
        (
            "known and new",
            ["Eve Ford", "Bo Cole", "Cy Dunn", "Di Eden"],
            "P00005,Ana,Bell,five@example.com,Clerk\n",
            &[1, 5],
        ),
        ("each their own", named, "", &[]),
    ] {
        let mut world = World::with(Options::default(), map("{{ first }} {{ last }}"));
        world.csv(of(named));
        world.sync().expect(0);
        world.csv(of(names) + with_new);
        world.reconfigure(|_| map("{{ last }}, {{ first }}"));
        let plan = world.plan().expect(0);
        let job = plan.job();
        let moved = job["changes"].as_array().unwrap().iter();
        let asked = moved.filter(|change| change["held"].as_str().is_some_and(|held| held.contains(" key P0000")));
        let keys: BTreeSet<usize> = asked.map(|change| change["key"].as_str().unwrap()[1..].parse().unwrap()).collect();
        assert_eq!(keys, expected.iter().copied().collect(), "{case}: {plan:?}");
        // What is approved is how names are written, not whose they are.
        world.sync().expect(4);
        world.run(&["reject", "staff", "P00001"]);
        world.run(&["approve", "staff"]);
        world.sync();
        let first = world.held_as(1).unwrap()["name"].clone();
        assert!(expected.is_empty() || first == "Ana Bell", "{case}: {first}");
    }
}
