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
