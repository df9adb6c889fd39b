//! What a damaged file may do: stop the run or shorten it, but remove no one and write nothing wrong.

use std::fs;

use serde_json::Value;

use crate::support::{Config, HEADER, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\n";

/// What no line of `sync` may hold of the people of [`people`].
const VALUES: [&str; 3] = ["Person ", "@example.com", "Moved"];

/// Forty people; the second of them has moved, so that a partial read is visible.
fn moved() -> String {
    people(1..41).replacen("person2@example.com,Clerk", "person2@example.com,Moved", 1)
}

/// What of the people must not change by a fault: everything but the second's title, and the time of that change.
fn rest(world: &World) -> Vec<Value> {
    let mut all = world.staff();
    for person in &mut all {
        if person["employee_id"] == "P00002" {
            person["title"] = Value::Null;
            person["modified"] = Value::Null;
        }
    }
    all
}

/// What a fault may do.
#[derive(Clone, Copy)]
enum Then {
    /// The run fails (exit 1) and takes nothing.
    Fails,
    /// The run is held (exit 4) and takes nothing.
    Holds,
    /// The run is partial (exit 3): whole rows flow, no one leaves by absence.
    Flows,
}

/// One fault: its name, the file (none: it is removed), what it may do, and words of the reason.
type Fault<'a> = (&'a str, Option<Vec<u8>>, Then, &'a [&'a str]);

/// Tries the faults one after the other on forty people, and the good file after them.
fn check(faults: Vec<Fault<'_>>) {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 40);
    let before = rest(&world);
    for (name, damaged, then, words) in faults {
        match damaged {
            Some(bytes) => world.csv(bytes),
            None => fs::remove_file(world.dir().join("staff.csv")).unwrap(),
        }
        let title = world.held_as(2).unwrap()["title"].clone();
        let writes = world.service().writes();
        let ran = world.sync().hides(&VALUES);
        let (code, status, flows) = match then {
            Then::Fails => (1, "failed", false),
            Then::Holds => (4, "held", false),
            Then::Flows => (3, "partial", true),
        };
        assert_eq!(ran.code, Some(code), "{name}: {ran:?}");
        let (seen, complete, reason) = ran.ended();
        assert_eq!((seen.as_str(), complete), (status, false), "{name}: {reason}");
        for word in words {
            assert!(reason.contains(word), "{name}: {word:?} is missing in {reason:?}");
        }
        let updated = u64::from(flows && title == "Clerk");
        assert_eq!(ran.writes(), (0, updated, 0), "{name}: {reason}");
        assert_eq!(world.service().writes() - writes, updated as usize, "{name}");
        let expected = if flows { "Moved".into() } else { title };
        assert_eq!(world.held_as(2).unwrap()["title"], expected, "{name}");
        assert_eq!(rest(&world), before, "{name}");
    }
    let shown = world.run(&["sync"]).hides(&VALUES);
    assert_ne!(shown.code, Some(0), "the last fault, as text: {shown:?}");
    assert_eq!(world.sync_of(people(1..41)).expect(0).writes().2, 0);
    assert_eq!(rest(&world), before, "after the good file");
}

#[test]
fn law_1_fault_83_a_file_cut_anywhere_loses_no_one() {
    let whole = moved();
    let row = whole.find("P00021").unwrap();
    let letter = whole.replace("Person 21", "Zoë 21");
    let within = letter.find('ë').unwrap() + 1;
    let open = whole.replace("P00030,Person 30", "P00030,\"Person 30");
    check(vec![
        ("in a cell", Some(whole[..row + 10].into()), Then::Flows, &["line 22", "line end"]),
        ("in the last line end", Some(whole.trim_end().into()), Then::Flows, &["line 41", "final_newline"]),
        ("in a character", Some(letter.as_bytes()[..within].into()), Then::Flows, &["line 22"]),
        ("a quote that is never closed", Some(open.into()), Then::Flows, &["line 31", "quote"]),
    ]);
}

#[test]
fn law_1_fault_86_columns_are_known_by_name() {
    let twice: String = moved().lines().map(|line| format!("{line},Clerk\n")).collect();
    let twice = twice.replacen("Title,Clerk", "Title,Title", 1);
    check(vec![
        ("renamed", Some(moved().replacen("Title", "Role", 1).into()), Then::Fails, &["title", "missing"]),
        ("the key's", Some(moved().replacen("Employee No", "Staff", 1).into()), Then::Fails, &["employee_no"]),
        ("no header", Some(moved().replacen(HEADER, "", 1).into()), Then::Fails, &["missing"]),
        ("there twice", Some(twice.into()), Then::Fails, &["Title"]),
    ]);
}

#[test]
fn law_1_fault_81_fault_96_a_file_that_holds_nothing_is_no_empty_list() {
    let binary: Vec<u8> = (0..4000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let zip = b"PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00".to_vec();
    check(vec![
        ("header only", Some(HEADER.into()), Then::Holds, &["min_records", "0 records"]),
        ("0 bytes", Some(Vec::new()), Then::Fails, &["empty"]),
        ("bytes", Some(binary), Then::Fails, &["not text"]),
        ("half a workbook", Some(zip), Then::Fails, &["cut or damaged"]),
        ("missing", None, Then::Fails, &["staff.csv", "does not exist"]),
    ]);
}

#[test]
fn law_1_law_8_fault_85_fault_87_a_bad_row_stops_no_one_else() {
    let line = row(30, "Clerk");
    let with = |bad: &str| Some(moved().replace(&line, bad).into_bytes());
    check(vec![
        ("no key", with(" ,Person 30,person30@example.com,Clerk\n"), Then::Flows, &["key", "1 row"]),
        ("too few cells", with("P00030,Person 30,person30@example.com\n"), Then::Flows, &["line 31", "1 row"]),
        ("too many cells", with("P00030,Person, 30,person30@example.com,Clerk\n"), Then::Flows, &["line 31", "1 row"]),
        ("NUL", with("P00030,Person\0 30,person30@example.com,Clerk\n"), Then::Flows, &["line 31", "1 row"]),
    ]);
}

#[test]
fn fault_84_fault_85_a_file_that_turns_to_another_form_is_refused() {
    let turned: Vec<u8> = moved().replace("Person 30", "Zo\u{eb} 30").chars().map(|c| c as u8).collect();
    check(vec![
        ("windows-1252", Some(turned), Then::Fails, &["UTF-8", "windows-1252", "line 31", "encoding"]),
        ("semicolons", Some(moved().replace(',', ";").into()), Then::Fails, &["comma", "semicolon", "delimiter"]),
    ]);
}

#[test]
fn law_1_a_byte_that_is_no_utf_8_in_a_file_said_to_be_utf_8_loses_no_one() {
    let config = Config { source: "settle = \"0s\"\nencoding = \"utf-8\"\n".into(), ..Config::rest(LEAVE_AT_ONCE) };
    let world = World::synced(config, 40);
    let broken: Vec<u8> = moved().replace("Person 30", "Zo\u{eb} 30").chars().map(|c| c as u8).collect();
    let ran = world.sync_of(broken).hides(&VALUES);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.ended().2.contains("line 31"), "{ran:?}");
    assert_eq!((ran.writes().2, world.staff().len()), (0, 40));
}

#[test]
fn law_8_fault_88_a_key_twice_is_one_person_where_the_rows_are_equal_and_none_where_they_differ() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 40);
    let equal = moved() + &row(40, "Clerk");
    let ran = world.sync_of(equal).expect(0).hides(&VALUES);
    assert_eq!((ran.writes(), ran.job()["records"].as_u64()), ((0, 1, 0), Some(40)));

    let differ = people(1..41) + &row(40, "Boss");
    let ran = world.sync_of(differ).expect(3).hides(&VALUES).hides(&["Boss"]);
    assert_eq!((ran.writes(), ran.job()["rejected"].as_u64()), ((0, 1, 0), Some(2)), "{ran:?}");
    assert_eq!(ran.ended().0, "partial");
    assert!(!ran.ended().1, "one of the rows may be somebody else's whose key is mistyped: {ran:?}");
    assert_eq!(world.held_as(40).unwrap()["title"], "Clerk");

    let plan = world.plan().expect(0).job();
    let lines: Vec<u64> = plan["rejected"].as_array().unwrap().iter().filter_map(|row| row["line"].as_u64()).collect();
    assert_eq!(lines, [41, 42], "{plan}");
    assert!(plan["rejected"].as_array().unwrap().iter().all(|row| row["key"] == "P00040"), "{plan}");

    let new = people(1..41) + &row(77, "Boss") + &row(77, "Clerk") + &row(78, "Clerk");
    assert_eq!(world.sync_of(new).expect(3).writes(), (1, 0, 0), "neither of two new rows of one key is created");
    assert!(world.held_as(77).is_none() && world.held_as(78).is_some());
}

#[test]
fn law_8_a_row_that_cannot_be_mapped_proves_its_person_present() {
    let config = Config {
        map: Config::default().map.replace("{{ title }}", "{{ title | lookup('titles') }}"),
        job: Config::default().job
            + "on_bad_value = \"row\"\nvalues.titles = { Clerk = \"Office Clerk\", Moved = \"Mover\" }\n",
        ..Config::rest(LEAVE_AT_ONCE)
    };
    let world = World::synced(config, 40);
    let bad = moved().replace("person30@example.com,Clerk", "person30@example.com,Zookeeper");
    let without_40 = bad.replace(&row(40, "Clerk"), "");
    let ran = world.sync_of(without_40).expect(3).hides(&VALUES).hides(&["Zookeeper"]);
    let (status, complete, _) = ran.ended();
    assert_eq!((status.as_str(), complete), ("partial", true), "{ran:?}");
    assert_eq!(ran.writes(), (0, 1, 1), "the mover moves, who is gone leaves, whose row is bad stays: {ran:?}");
    assert_eq!(world.held_as(30).unwrap()["title"], "Office Clerk");
    assert!(world.held_as(40).is_none());

    let rejected = world.plan().job()["rejected"].clone();
    let only = &rejected[0];
    assert_eq!(rejected.as_array().unwrap().len(), 1, "{rejected}");
    assert_eq!((&only["key"], &only["line"], &only["field"]), (&"P00030".into(), &31.into(), &"title".into()));
    assert!(only["reason"].as_str().unwrap().contains("titles"), "{rejected}");
}

#[test]
fn fault_87_a_file_of_which_many_rows_have_the_wrong_number_of_cells_is_rejected() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 40);
    let mut text = moved();
    for number in 21..41 {
        text = text.replace(&format!("Person {number},"), &format!("Person, {number},"));
    }
    let ran = world.sync_of(text);
    assert_eq!((ran.code, ran.writes()), (Some(1), (0, 0, 0)), "{ran:?}");
    assert_eq!(ran.ended().0, "failed");
}

#[test]
fn law_1_a_damaged_first_file_creates_whole_rows_only() {
    let world = World::of(Config::rest(LEAVE_AT_ONCE));
    let whole = people(1..41);
    let ran = world.sync_of(&whole[..whole.find("P00021").unwrap() + 10]).expect(3);
    assert_eq!(ran.writes(), (20, 0, 0));
    assert!(world.held_as(21).is_none());
    assert_eq!(world.sync_of(whole).expect(0).writes(), (20, 0, 0));
}

#[test]
fn law_11_however_much_is_logged_no_values_of_people_are_in_it() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 5);
    world.csv(
        people(2..6).replacen("person2@example.com,Clerk", "person2@example.com,Moved", 1)
            + &row(9, "Clerk")
            + "P00010,Person 10\n",
    );
    for variable in ["RUST_LOG", "ROSTERD_LOG"] {
        let output = world.command(&["sync"]).env(variable, "trace").output().unwrap();
        let shown = String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap();
        for value in VALUES.iter().chain(&["sandbox-key", "Clerk"]) {
            assert!(!shown.contains(value), "{variable}=trace shows {value:?}: {shown}");
        }
    }
}
