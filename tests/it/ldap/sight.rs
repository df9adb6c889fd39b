//! What an account may not see any more: the server says success, and shows fewer people.

use super::config;
use crate::support::scripted::{Said, Scripted, done, entry};
use crate::support::slapd;
use crate::support::{Config, World};

/// These people right below `ou`.
fn unit(ou: &str, numbers: std::ops::Range<usize>) -> Vec<Said> {
    let within = |number| match entry(number, &[]) {
        Said::Entry(_, attributes) => Said::Entry(format!("uid=u{number},ou={ou},dc=example,dc=org"), attributes),
        other => other,
    };
    numbers.map(within).collect()
}

fn shown(units: &[Vec<Said>]) -> impl Fn() -> Vec<Said> + Send + Sync + 'static + use<> {
    let units = units.concat();
    move || units.iter().cloned().chain([done(b"")]).collect()
}

/// A job that reads these lines of `[job.source]` and takes leavers at once.
fn reading(source: String, guard: &str) -> Config {
    let rest = format!("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\n{guard}\n");
    Config { rest, ..config(source) }
}

#[test]
fn a_unit_that_is_hidden_is_held_whatever_its_size_and_named_by_run_and_check() {
    for size in [2, 3, 4] {
        let all = [unit("people", 1..300), unit("tiny", 300..300 + size)];
        let before = shown(&all);
        let server = Scripted::of_pages(move |_, _| before());
        let source = slapd::source(&[server.url()], "");
        let world = World::of(reading(source, "segment = \"{{ dn | ou }}\""));
        assert_eq!(world.sync().expect(0).writes(), (299 + size as u64, 0, 0));
        let hidden = shown(&[unit("people", 3..300)]);
        server.say_pages(move |_, _| hidden());
        let seen = world.run(&["check"]).expect(0).out;
        for part in [&format!("tiny 0 ({size} at the last run)"), "people 297 (299 at the last run)"] {
            assert!(seen.contains(part) && !seen.contains("none of them with dn"), "{part}: {seen}");
        }
        let ran = world.sync().expect(4);
        let (writes, held) = (ran.writes(), ran.job()["held"].clone());
        assert_eq!((writes, held), ((0, 0, 2), size.into()), "the two others leave: {ran:?}");
        let words = format!("no entry is left in the organizational unit \"tiny\" ({size} before)");
        assert!(ran.ended().2.contains(&words), "{words}: {ran:?}");
    }
}

#[test]
fn a_unit_that_is_hidden_is_held_though_one_of_its_people_moved_to_another_at_once() {
    let all = shown(&[unit("people", 1..300), unit("tiny", 300..303)]);
    let server = Scripted::of_pages(move |_, _| all());
    let source = slapd::source(&[server.url()], "");
    let world = World::of(reading(source, "segment = \"{{ dn | ou }}\""));
    assert_eq!(world.sync().expect(0).writes(), (302, 0, 0));
    let hidden = shown(&[unit("people", 1..301)]);
    server.say_pages(move |_, _| hidden());
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(2)), "{ran:?}");
}

#[test]
fn law_7_a_run_that_looks_by_another_account_or_elsewhere_is_held_first() {
    let lines = |dn: &str| format!("bind_dn = \"{dn}\"\nbind_password = \"word\"\n");
    let person = "(objectClass=inetOrgPerson)";
    for what in ["the account", "the filter", "the base", "nothing"] {
        let all = shown(&[unit("people", 1..41)]);
        let fewer = shown(&[unit("people", 1..40)]);
        let server = Scripted::of_pages(move |_, _| all());
        let before = slapd::source(&[server.url()], &lines("cn=reader"));
        let mut world = World::of(reading(before.clone(), ""));
        world.sync().expect(0);
        server.say_pages(move |_, _| fewer());
        let after = match what {
            "the account" => slapd::source(&[server.url()], &lines("cn=other")),
            "the filter" => before.replace(person, "(objectClass=person)"),
            "the base" => before.replace("ou=people", "ou=staff"),
            _ => before.clone(),
        };
        world.reconfigure(|config| Config { source: after, ..config });
        let is_held = what != "nothing";
        let ran = world.sync().expect(if is_held { 4 } else { 0 });
        assert_eq!(ran.writes(), (0, 0, u64::from(!is_held)), "{what}: {ran:?}");
        if is_held {
            assert!(ran.ended().2.contains("alters 1 person"), "{what}: {ran:?}");
        }
    }
}

/// People with these values of two attributes: the first few as given, the rest as staff without a last day.
fn typed(first: &[(&[&str], &[&str])]) -> impl Fn() -> Vec<Said> + Send + Sync + 'static + use<> {
    let one = |number: usize, (kinds, days): (&[&str], &[&str])| {
        let Said::Entry(dn, mut attributes) = entry(number, &[]) else { unreachable!("it is an entry") };
        for (name, values) in [("employeeType", kinds), ("endDate", days)] {
            let values = values.iter().map(|value| value.as_bytes().to_vec()).collect::<Vec<_>>();
            attributes.extend(Some((name.to_owned(), values)).filter(|(_, values)| !values.is_empty()));
        }
        Said::Entry(dn, attributes)
    };
    let given = |at: usize| first.get(at).copied().unwrap_or((&["staff"], &[]));
    shown(&[(0..40).map(|at| one(at + 1, given(at))).collect()])
}

/// A world whose job includes staff up to their last day, and removes leavers after an hour.
fn staff_only(server: &Scripted) -> World {
    let source = slapd::source(&[server.url()], "optional = [\"endDate\", \"employeeType\"]\n");
    let job = "include = \"{{ employeeType == 'staff' }}\"\nactive_until = \"{{ endDate }}\"\n";
    let of = reading(source, "max_leavers = 10");
    let world = World::of(Config { job: of.job.clone() + job, rest: of.rest.replace("0s", "1h"), ..of });
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
    world
}

#[test]
fn law_1_an_entry_that_lacks_what_says_who_is_included_does_not_say_that_its_person_is_gone() {
    let all = typed(&[]);
    let server = Scripted::of_pages(move |_, _| all());
    let world = staff_only(&server);
    // One is said to be something else; of the two others it is not shown any more what they are.
    let hidden = typed(&[(&["alum"], &[]), (&[], &[]), (&[], &[])]);
    server.say_pages(move |_, _| hidden());
    let ran = world.sync();
    assert_eq!((ran.writes(), ran.job()["missing"].as_u64()), ((0, 0, 1), Some(2)), "{ran:?}");
    assert!(ran.ended().2.contains("2 people count as missing") && ran.ended().2.contains("`employeeType`"), "{ran:?}");
    let shown = typed(&[(&["alum"], &[])]);
    server.say_pages(move |_, _| shown());
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.job()["missing"].as_u64()), ((0, 0, 0), Some(0)), "{ran:?}");
    assert_eq!(world.staff().len(), 39);
}

#[test]
fn law_8_no_one_leaves_by_one_of_several_values() {
    let all = typed(&[]);
    let server = Scripted::of_pages(move |_, _| all());
    let world = staff_only(&server);
    let several = typed(&[
        (&["alum", "staff"], &[]),
        (&["staff", "temp", "visitor"], &[]),
        (&["staff"], &["2020-01-01", "2099-01-01"]),
        // They come to one result.
        (&["alum", "temp"], &[]),
        (&["staff"], &["2099-01-01", "2099-01-01 "]),
    ]);
    server.say_pages(move |_, _| several());
    let ran = world.sync();
    let rejected = ran.job()["rejected"].as_u64();
    assert_eq!((ran.writes(), rejected, world.staff().len()), ((0, 0, 1), Some(3), 39), "{ran:?}");
    let said = ran.job()["rejected_rows"].to_string();
    assert!(said.contains("`employeeType` has several values") && said.contains("`endDate` has several"), "{said}");
}
