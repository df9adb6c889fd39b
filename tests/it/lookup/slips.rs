//! What goes wrong in a lookup, and what becomes of people and messages.

use super::{DIRECTORY, HIDDEN, LEAVE_AT_ONCE, config, directory, line, mobile, phone, synced};
use crate::support::{Config, people, row};

/// A slip, and what becomes of it.
struct Slip {
    what: &'static str,
    /// The lookup as it is read then; none where there is no file.
    text: Option<String>,
    code: i32,
    /// How many are updated for it.
    updated: u64,
    /// What the run says.
    said: &'static str,
    /// The number of the seventh person afterwards.
    seventh: String,
}

fn slips() -> Vec<Slip> {
    let whole = directory(1..41);
    let slip = |what, text: String, code, updated, said, seventh: &str| Slip {
        what,
        text: Some(text),
        code,
        updated,
        said,
        seventh: seventh.to_owned(),
    };
    let seventh = phone(7);
    let lost = "nothing is taken from the lookup directory, so these fields stay as they are (mobile)";
    vec![
        slip("nothing", whole.clone(), 0, 0, "", &seventh),
        slip("a value changed", whole.replace(&seventh, "0219999999"), 0, 1, "", "0219999999"),
        slip("outer white space", whole.replace("person7@", " person7@"), 0, 0, "", &seventh),
        slip("a column that no template names", whole.replace("Team 7", "Team 8"), 0, 0, "", &seventh),
        slip("missing", whole.replace(&line(7), ""), 0, 1, "", ""),
        slip("twice", format!("{whole}{}", line(7)), 3, 0, "1 row was rejected", &seventh),
        slip("twice, and different", whole.clone() + "person7@example.com,1,T\n", 3, 0, "1 row was rejected", &seventh),
        slip("without a key", format!("{whole},0215555555,Team\n"), 0, 0, "", &seventh),
        slip("cut", whole[..whole.len() / 2].to_owned(), 3, 0, lost, &seventh),
        slip("cut at its last line end", whole.trim_end().to_owned(), 3, 0, lost, &seventh),
        slip("no row", "Mail,Phone,Team name\n".into(), 3, 0, lost, &seventh),
        slip("no byte", String::new(), 3, 0, lost, &seventh),
        slip("a column is gone", whole.replace("Phone", "Fax"), 3, 0, lost, &seventh),
        slip("the key is gone", whole.replace("Mail,", "Login,"), 3, 0, lost, &seventh),
        slip("a key that is damaged", whole.replace("person9@example.com", "#REF!"), 3, 0, lost, &seventh),
        slip("a tenth", directory(1..5), 4, 0, "max_blanked", &seventh),
        Slip { what: "no file", text: None, code: 3, updated: 0, said: lost, seventh: phone(7) },
    ]
}

#[test]
fn law_1_and_2_a_slip_in_a_lookup_removes_no_one_and_empties_nothing_in_silence() {
    let mut loose = config("");
    // Only the limit on what becomes empty is left.
    loose.rest += "max_updates = \"off\"\n";
    let world = synced(loose);
    for Slip { what, text, code, updated, said, seventh } in slips() {
        match text {
            Some(text) => _ = world.put("directory.csv", text.as_bytes()),
            None => std::fs::remove_file(world.dir().join("directory.csv")).unwrap(),
        }
        let ran = world.sync().hides(&HIDDEN);
        let (_, complete, reason) = ran.ended();
        assert_eq!((ran.code, ran.writes()), (Some(code), (0, updated, 0)), "{what}: {reason}");
        assert!(complete, "{what}: who is there is known");
        assert!(reason.contains(said), "{what}: {reason}");
        assert_eq!(mobile(&world, 7), seventh, "{what}");
        // The same again asks for nothing more.
        let again = world.sync();
        assert_eq!((again.code, again.writes()), (Some(code), (0, 0, 0)), "{what}, again");
        // As it was: only what was changed for the slip is set back.
        world.put("directory.csv", directory(1..41).as_bytes());
        assert_eq!(world.sync().expect(0).writes(), (0, updated, 0), "{what}, mended");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{what}, unchanged");
        world.expect_people(1..41);
        assert_eq!(mobile(&world, 7), phone(7), "{what}, mended");
    }
}

#[test]
fn without_its_lookup_everything_else_of_a_run_goes_on() {
    let world = synced(config(""));
    world.put("directory.csv", b"Mail,Phone\n");
    // One moves, one comes, one leaves.
    let next = people(1..40).replace(&row(5, "Clerk"), &row(5, "Boss")) + &row(41, "New");
    let ran = world.sync_of(&next).hides(&HIDDEN).expect(3);
    assert_eq!(ran.writes(), (1, 1, 1));
    assert_eq!((mobile(&world, 5), mobile(&world, 41)), (phone(5), String::new()));
    world.put("directory.csv", directory(1..42).as_bytes());
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!((mobile(&world, 5), mobile(&world, 41)), (phone(5), phone(41)));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn a_new_person_waits_for_a_field_that_they_need() {
    let by_email = "on = \"{{ employee_no }}\"\nkey = \"{{ no }}\"\n";
    let map = "name = \"{{ name }}\"\nemail = \"{{ directory.mail }}\"\nemployee_id = \"{{ employee_no }}\"\n";
    let seeded = "name = \"{{ name }}\"\nemployee_id = \"{{ employee_no }}\"\ntitle = \"{{ directory.mail }}\"\n";
    for (what, job, map) in [
        ("in match_on", "match_on = [\"employee_id\", \"email\"]\n", map),
        ("set at creation only", "match_on = [\"employee_id\"]\nseed_only = [\"title\"]\n", seeded),
    ] {
        let lookup = DIRECTORY.replace("on = \"{{ email }}\"\nkey = \"{{ mail }}\"\n", by_email);
        let config = Config {
            job: format!("key = \"{{{{ employee_no }}}}\"\n{job}"),
            map: map.into(),
            ..Config::rest(&format!("{lookup}{LEAVE_AT_ONCE}"))
        };
        let directory = |last: usize| {
            (1..last).fold("No,Mail\n".to_owned(), |text, at| text + &format!("P{at:05},mail{at}@example.com\n"))
        };
        let world = crate::support::World::of(config);
        world.put("directory.csv", directory(41).as_bytes());
        assert_eq!(world.sync_of(people(1..41)).expect(0).writes(), (40, 0, 0), "{what}");
        world.put("directory.csv", b"No,Mail\n");
        let (_, complete, reason) = world.sync_of(people(2..42)).hides(&HIDDEN).expect(3).ended();
        assert!(!complete && reason.contains("1 row was rejected"), "{what}: {reason}");
        world.expect_people(1..41);
        world.put("directory.csv", directory(42).as_bytes());
        assert_eq!(world.sync().expect(0).writes(), (1, 0, 1), "{what}");
        world.expect_people(2..42);
    }
}

#[test]
fn an_empty_text_finds_nothing() {
    let world = synced(config("").job("include = \"{{ name != '' }}\"\n"));
    // Neither side has an email: the two are not the same for that.
    world.put("directory.csv", format!("{},0215555555,T\n", directory(1..41)).as_bytes());
    let without = people(1..41).replace("person7@example.com", "");
    let ran = world.sync_of(without).hides(&HIDDEN);
    assert_ne!(mobile(&world, 7), "0215555555", "{ran:?}");
}
