//! Identity: new keys, shared emails, other people's ids, jobs under another name.

use jiff::SignedDuration;
use rosterd::clock::Clock;
use rosterd::sandbox::Options;
use serde_json::json;

use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, HEADER, World, people, row};

const BY_EMAIL: &str = "key = \"{{ employee_no }}\"\nmatch_on = [\"email\"]\n";

fn deleting(job: &str) -> Config {
    Config { job: job.into(), ..Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n") }
}

/// Five people in step; the last of them gets another staff number, but not another name and email.
fn renumbered(job: &str) -> (World, serde_json::Value) {
    let world = World::of(deleting(job));
    world.csv(people(0..5));
    world.sync().expect(0);
    let id = world.held_as(4).unwrap()["id"].clone();
    world.csv(people(0..4) + "P99999,Person 4,person4@example.com,Clerk\n");
    (world, id)
}

fn is_there(world: &World, id: &serde_json::Value) -> bool {
    world.staff().len() == 5 && world.staff().iter().any(|person| person["id"] == *id)
}

#[test]
fn law_6_a_new_staff_number_is_held_where_only_the_email_matches() {
    let (world, id) = renumbered(BY_EMAIL);
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
        assert!(is_there(&world, &id), "neither a leaver nor a joiner: {ran:?}");
    }
    world.run(&["approve", "staff", "P99999"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert!(is_there(&world, &id) && world.keys().contains(&"P99999".to_owned()));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

/// The file in which the last of five people has another number, and a newcomer has their name.
fn with_a_namesake() -> String {
    people(0..4) + "P99999,Person 4,person4@example.com,Clerk\nP88888,Person 4,other@example.com,Clerk\n"
}

#[test]
fn law_6_one_person_is_not_approved_to_be_two_records() {
    for of_inbox in [false, true] {
        let world = World::of(deleting(BY_EMAIL));
        let world = if of_inbox { inbox_of(world) } else { world };
        let put = |name: &str, text: String| if of_inbox { Inbox(&world).drop(name, text) } else { world.csv(text) };
        put("1.csv", people(0..5));
        world.sync().expect(0);
        let id = world.held_as(4).unwrap()["id"].clone();
        put("2.csv", with_a_namesake());
        assert_eq!(world.sync().expect(4).job()["held"], 2);
        let approve = |keys: &[&str]| world.run(&[&["approve", "staff"], keys].concat());
        let both = approve(&[]).expect(1);
        assert!(both.err.contains("P99999") && both.err.contains("P88888"), "{both:?}");
        approve(&["P99999"]).expect(0);
        approve(&["P88888"]).expect(1);
        assert_eq!(world.sync().writes(), (0, 1, 0));
        assert_eq!(world.sync().expect(4).writes(), (0, 0, 0), "undecided, no one is made");
        let person = world.staff().into_iter().find(|person| person["id"] == id).unwrap();
        assert_eq!(
            (person["employee_id"].as_str(), person["email"].as_str()),
            (Some("P99999"), Some("person4@example.com"))
        );
        // Who the newcomer is stays a question, though another one has the number by now.
        approve(&["P88888"]).expect(0);
        assert_eq!(world.sync().expect(0).writes(), (1, 0, 0), "{of_inbox}");
        assert_eq!((world.staff().len(), world.sync().expect(0).writes()), (6, (0, 0, 0)));
    }
}

#[test]
fn law_6_a_new_key_takes_over_the_person_of_an_absent_one() {
    // The key is another one; the staff number, by which people are matched, is the same.
    let job = "key = \"{{ title }}\"\nmatch_on = [\"employee_id\"]\n";
    let world = World::of(deleting(job));
    let file = |last: &str| {
        (0..5).fold(HEADER.to_owned(), |text, at| {
            text + &format!(
                "P{at:05},Person {at},person{at}@example.com,{}\n",
                if at == 4 { last.into() } else { format!("k{at}") }
            )
        })
    };
    world.csv(file("k4"));
    world.sync().expect(0);
    let id = world.held_as(4).unwrap()["id"].clone();
    world.csv(file("renewed"));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert!(is_there(&world, &id));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "the old key is nobody's leaver");
    world.csv(file("renewed").replace("P00004,Person 4,person4@example.com,renewed\n", ""));
    world.sync().expect(0);
    assert_eq!(world.staff().len(), 4, "the new key is whose absence counts");
}

#[test]
fn a_stranger_with_another_number_and_the_same_email_is_not_taken_over() {
    let world = World::new(Options { accept_duplicates: true, ..Options::default() });
    let reception = json!({"name": "Reception One", "email": "desk@example.com", "employee_id": "A1"});
    let id = world.service().put("staff", reception);
    world.csv(HEADER.to_owned() + "B2,Reception Two,desk@example.com,Clerk\n");
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
    let person = world.staff().into_iter().find(|person| person["id"] == id).unwrap();
    assert_eq!(person["name"], "Reception One");
}

#[test]
fn law_3_who_may_be_known_there_is_not_made_again_where_an_edit_at_the_service_hides_it() {
    for decision in ["approve", "reject"] {
        let world = World::new(Options::default());
        let ana = json!({"name": "Ana Cole", "email": "ana@example.com", "employee_id": "A1"});
        let id = world.service().put("staff", ana);
        world.csv(people(2..3) + "X1,Ana Cole,ana@example.com,Clerk\n");
        assert_eq!(world.sync().expect(4).writes(), (1, 0, 0), "whose number is mistyped waits");
        world.service().edit("staff", id, json!({"name": "Bo Dunn", "email": "bo@example.com"}));
        for _ in 0..2 {
            let ran = world.sync().expect(4);
            assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
            assert!(ran.reason().contains("until now this new record fitted the person with id"), "{ran:?}");
        }
        world.run(&[decision, "staff", "X1"]).expect(0);
        if decision == "approve" {
            assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
            let person = world.staff().into_iter().find(|person| person["id"] == id).unwrap();
            assert_eq!((person["email"].as_str(), world.staff().len()), (Some("ana@example.com"), 2));
        } else {
            assert_eq!(world.sync().expect(4).writes(), (0, 0, 0), "now it waits as a new person");
            world.run(&["approve", "staff", "X1"]).expect(0);
            assert_eq!((world.sync().expect(0).writes(), world.staff().len()), ((1, 0, 0), 3));
        }
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
}

#[test]
fn law_3_who_comes_back_under_another_number_while_they_still_are_at_the_service_is_not_made_again() {
    let options = || Options { accept_duplicates: true, ..Options::default() };
    for (refused, decision) in [(true, "approve"), (true, "reject"), (false, "")] {
        let world = World::with(options(), deleting("key = \"{{ employee_no }}\"\n"));
        world.csv(people(0..4) + "X9,Zed New,ana@example.com,Clerk\n");
        world.sync().expect(0);
        world.faults(if refused { &["staff.delete status=403"] } else { &[] });
        world.csv(people(0..4));
        world.sync();
        world.faults(&[]);
        world.csv(people(0..4) + "A1,Ana Cole,ana@example.com,Clerk\n");
        let ran = world.sync();
        if !refused {
            assert_eq!((ran.expect(0).writes(), world.staff().len()), ((1, 0, 0), 5), "the one before is gone");
            continue;
        }
        let ran = ran.expect(4);
        assert_eq!((ran.writes().0, world.staff().len()), (0, 5), "{ran:?}");
        assert!(ran.reason().contains("only email says that this new record is the person"), "{ran:?}");
        world.run(&[decision, "staff", "A1"]).expect(0);
        let taken = decision == "approve";
        // Who is not the newcomer leaves like anybody else.
        assert_eq!(world.sync().writes(), if taken { (0, 1, 0) } else { (0, 0, 1) }, "{decision}");
        assert_eq!(world.keys().contains(&"A1".to_owned()), taken);
    }
}

#[test]
fn law_3_who_is_missing_and_comes_back_with_another_number_and_email_is_not_made_again() {
    let leavers = |lines: &str| format!("[job.leavers]\n{lines}\n[job.guard]\nmax_missing = \"off\"\n");
    for (name, job, lines, asks_later) in [
        ("grace", "key = \"{{ employee_no }}\"\n", "action = \"delete\"\ngrace = \"90d\"", true),
        (
            "protected",
            "key = \"{{ employee_no }}\"\nprotect = [\"P00003\"]\n",
            "action = \"delete\"\ngrace = \"0s\"",
            true,
        ),
        ("kept", "key = \"{{ employee_no }}\"\n", "action = \"keep\"", false),
    ] {
        let world = World::of(Config { job: job.into(), ..Config::rest(&leavers(lines)) });
        let clock = Clock::fixed(Clock::system().now());
        let sync = |text: String| {
            world.csv(text);
            world.sync_at(&clock)
        };
        sync(people(0..4));
        sync(people(0..3));
        let report = sync(people(0..3) + "A1,Person 3,third@example.com,Clerk\n");
        assert_eq!(world.staff().len(), 4, "{name}: {report:?}");
        let shown = world.run(&["explain", "staff", "A1"]).expect(0);
        for shown in [world.run(&["plan"]), shown] {
            let said = "this new record has the name of the person with id";
            assert!(shown.out.contains(said) && shown.out.contains("the same person"), "{name}: {shown:?}");
            assert!(!shown.out.contains("if they are two people"), "{name}: {shown:?}");
        }
        // Where no one is ever removed, a namesake who comes much later is another person.
        clock.advance(SignedDuration::from_hours(31 * 24));
        sync(people(0..3) + "A2,Person 3,other@example.com,Clerk\n");
        assert_eq!(world.staff().len(), if asks_later { 4 } else { 5 }, "{name}");
    }
}

#[test]
fn law_6_a_key_that_goes_to_another_person_is_held_though_an_edit_at_the_service_shows_one_of_their_values() {
    for (edit, held) in [
        (json!({}), true),
        (json!({"name": "Zed New"}), true),
        (json!({"email": "zed@example.com"}), true),
        (json!({"name": "Zed New", "email": "zed@example.com"}), false),
    ] {
        let world = World::synced(Config::default(), 3);
        let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
        world.service().edit("staff", id, edit.clone());
        world.csv(people(1..4).replace("Person 1,person1@example.com,Clerk", "Zed New,zed@example.com,Baker"));
        let ran = world.sync();
        assert_eq!(ran.writes().1, u64::from(!held), "{edit}: {ran:?}");
        assert_eq!(ran.reason().contains("name and email both become others"), held, "{edit}: {ran:?}");
    }
}

#[test]
fn two_new_rows_with_one_email_are_held_and_can_be_approved() {
    let world = World::new(Options { accept_duplicates: true, ..Options::default() });
    world.csv(people(0..3) + "B1,Reception One,desk@example.com,x\nB2,Reception Two,desk@example.com,x\n");
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((3, 0, 0), Some(2)), "{ran:?}");
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (2, 0, 0));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn law_9_who_could_not_be_found_again_is_not_created_without_an_approval() {
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, deleting(BY_EMAIL));
    world.csv(people(0..3) + "P00003,No Mail,,Clerk\n");
    assert_eq!(world.sync().expect(4).writes(), (3, 0, 0));
    world.run(&["approve", "staff", "P00003"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    world.lose_state();
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0), "nobody is doubled by a lost state");
    assert_eq!(world.staff().len(), 4);
}

/// The number of each is that of the one before, also of those who are new.
#[test]
fn law_6_no_one_is_made_from_a_file_whose_rows_have_slipped() {
    let slipped = |last: usize| {
        (1..last).fold(HEADER.to_owned(), |text, number| {
            let of = if number + 1 < last { number + 1 } else { 1 };
            text + &row(of, "Clerk").replacen(&format!("P{of:05}"), &format!("P{number:05}"), 1)
        })
    };
    let world = World::synced(Config::default(), 40);
    world.csv(slipped(44));
    let ran = world.sync().expect(4);
    assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
    assert!(ran.reason().contains("40 known people would get the name or email"), "{ran:?}");
    assert_eq!(world.sync_of(people(1..44)).expect(0).writes(), (3, 0, 0), "the right file needs no decision");
    // So it is where the last two rows of many have slipped, with those who are new behind them.
    let world = World::synced(Config::default(), 40);
    let tail = |numbers: std::ops::Range<usize>| {
        let of = |number: usize| {
            row(number + 1, "Clerk").replacen(&format!("P{:05}", number + 1), &format!("P{number:05}"), 1)
        };
        numbers.map(of).collect::<String>()
    };
    assert_eq!(world.sync_of(people(1..39) + &tail(39..43)).expect(4).writes(), (0, 0, 0));
    assert_eq!(world.sync_of(people(1..44)).expect(0).writes(), (3, 0, 0));
    // A person may release it all the same; two who exchanged theirs say nothing of who is new.
    let world = World::synced(Config::default(), 40);
    world.csv(slipped(44));
    world.sync().expect(4);
    world.run(&["approve", "staff", "P00041"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (1, 0, 0));
    let world = World::synced(Config::default(), 40);
    let few = people(1..44).replace(&row(2, "Clerk"), "P00002,Person 3,person3@example.com,Clerk\n");
    let few = few.replace(&row(3, "Clerk"), "P00003,Person 2,person2@example.com,Clerk\n");
    assert_eq!(world.sync_of(few).expect(4).writes(), (3, 0, 0));
}

/// Of some columns each row has the value of another row: by number, whose it is.
#[test]
fn law_6_no_one_is_made_or_changed_from_a_column_that_has_slipped_to_those_who_are_new() {
    // How many are known and there, and the rows from which their names or emails are taken; who has a new name or email in earnest.
    for (is_name, known, order, is_new) in
        [(true, 3, &[3, 5, 1, 2, 4][..], None), (false, 6, &[7, 1, 4, 5, 3, 6, 2][..], Some(1))]
    {
        let right = |number: usize| {
            let name =
                if is_name && is_new == Some(number) { "Zed New".to_owned() } else { format!("Person {number}") };
            let email = if !is_name && is_new == Some(number) { "new".to_owned() } else { format!("person{number}") };
            (name, email)
        };
        let file = |order: &[usize]| {
            (1..).zip(order).fold(HEADER.to_owned(), |text, (number, from)| {
                let ((name, email), (other_name, other_email)) = (right(number), right(*from));
                let (name, email) = if is_name { (other_name, email) } else { (name, other_email) };
                text + &format!("P{number:05},{name},{email}@example.com,Clerk\n")
            })
        };
        let world = World::synced(Config::default(), known);
        assert_eq!(world.sync_of(file(order)).expect(4).writes(), (0, 0, 0), "names: {is_name}");
        let whole: Vec<usize> = (1..order.len() + 1).collect();
        let updated = is_new.map_or(0, |_| 1);
        let ran = world.sync_of(file(&whole)).expect(0);
        assert_eq!(
            ran.writes(),
            ((whole.len() - known) as u64, updated, 0),
            "the right file needs no decision: {ran:?}"
        );
    }
    // A mailbox that is handed on to someone new says nothing of others.
    let world = World::synced(Config::default(), 6);
    let rows = people(1..10).replace("person1@", "own@").replace("person9@", "person1@");
    assert_eq!(world.sync_of(rows.replace("person5@", "five@")).expect(4).writes(), (2, 1, 0));
}

/// The row by which someone leaves has slipped as well, perhaps.
#[test]
fn law_1_no_one_leaves_by_a_file_whose_rows_have_slipped() {
    let config = Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n");
    let world = World::synced(config.job("include = \"{{ title != 'Gone' }}\"\n"), 9);
    let tail = "P00007,Person 8,person8@example.com,Clerk\nP00008,Person 9,person9@example.com,Clerk\nP00009,Person 10,p10@example.com,Clerk\n";
    let gone = people(1..7).replace(&row(2, "Clerk"), &row(2, "Gone"));
    let ran = world.sync_of(gone.clone() + tail).expect(4);
    assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 9), "{ran:?}");
    let right = gone + &row(7, "Clerk") + &row(8, "Clerk") + &row(9, "Clerk");
    assert_eq!(world.sync_of(right).expect(0).writes(), (0, 0, 1));
}

#[test]
fn law_3_a_create_of_unclear_fate_makes_no_third() {
    let map = "name = \"{{ name }}\"\nemail = \"{{ email }}\"\n".into();
    let job = BY_EMAIL.to_owned() + "writes = \"approve\"\n";
    let options = Options { accept_duplicates: true, ..Options::default() };
    let world = World::with(options, Config { job, map, ..Config::default() });
    world.service().put("staff", json!({"name": "Ana"}));
    world.csv(HEADER.to_owned() + "1,Ana,,x\n");
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    world.service().set_faults(vec!["staff.create cut-after".parse().unwrap()]);
    world.sync();
    world.service().set_faults(vec![]);
    for _ in 0..2 {
        world.sync();
        assert_eq!(world.staff().len(), 2, "one before, one made");
    }
}

#[test]
fn law_2_another_person_under_a_known_id_is_not_overwritten() {
    let world = World::default();
    world.csv(people(0..5));
    world.sync().expect(0);
    let id = world.staff()[3]["id"].as_i64().unwrap();
    let other = json!({
        "created": "2020-01-01T00:00:00+00:00", "name": "Another Human", "email": "else@example.com", "employee_id": "Z1",
    });
    world.service().edit("staff", id, other);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0), "whose id it was is made again");
    assert!(world.texts("name").contains(&"Another Human".to_owned()));
}

#[test]
fn a_job_under_another_name_goes_on_with_its_people() {
    let world = World::default();
    world.csv(people(0..5));
    world.sync().expect(0);
    world.edit_config("name = \"staff\"", "name = \"people\"");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.csv(people(0..4));
    world.sync().expect(0);
}

#[test]
fn law_1_one_false_404_on_a_leaver_leaves_no_stranger() {
    let world = World::of(deleting(&Config::default().job));
    world.csv(people(0..5));
    world.sync().expect(0);
    world.csv(people(0..4));
    world.service().set_faults(vec!["staff.get not-found times=1".parse().unwrap()]);
    world.sync().expect(0);
    assert_eq!(world.staff().len(), 4);
}

#[test]
fn law_6_a_mailbox_that_is_the_key_does_not_hand_its_person_over() {
    let world = World::of(deleting("key = \"{{ email }}\"\nmatch_on = [\"employee_id\"]\n"));
    world.csv(people(0..5));
    world.sync().expect(0);
    let before = world.staff();
    world.csv(people(0..5).replace("P00004,Person 4,", "P00009,New Person,"));
    for _ in 0..2 {
        assert_eq!((world.sync().expect(4).writes(), world.staff()), ((0, 0, 0), before.clone()));
    }
}
