//! What a lookup says becomes of people, from every kind of source and for every part of a job.

use super::{DIRECTORY, LEAVE_AT_ONCE, config, directory, mobile, phone, synced};
use crate::support::scripted::{Scripted, code, done, entry};
use crate::support::web::{Web, file};
use crate::support::{Config, World, people, row};

#[test]
fn law_4_a_second_run_writes_nothing_and_one_value_changes_one_person() {
    let mut team = config("");
    team.map = team.map.replace("{{ title }}", "{{ directory['Team name'] }}");
    let world = synced(team);
    assert_eq!(mobile(&world, 40), phone(40));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.put("directory.csv", directory(1..41).replace("Team 3\n", "Team X\n").as_bytes());
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!(world.held_as(3).unwrap()["title"], "Team X");
}

#[test]
fn a_web_server_is_asked_once_in_a_run() {
    let web = Web::start(|_, _| file(&directory(1..41)));
    let lookup =
        DIRECTORY.replace("path = \"directory.csv\"\nsettle = \"0s\"", &format!("url = \"{}\"", web.url("/d.csv")));
    let world = World::of(Config { rest: format!("{lookup}{LEAVE_AT_ONCE}"), ..config("") });
    assert_eq!(world.sync_of(people(1..41)).expect(0).writes(), (40, 0, 0));
    assert_eq!((web.arrived().len(), mobile(&world, 9)), (1, phone(9)));
}

#[test]
fn a_directory_adds_values_and_never_people() {
    let server = Scripted::start(|asked, _| match asked.is_page() {
        true => (1..60).map(|number| entry(number, &[])).chain([done(b"")]).collect(),
        false => vec![code(0, "")],
    });
    let lookup = format!(
        "[job.lookup.directory]\non = \"{{{{ employee_no }}}}\"\nkey = \"{{{{ employeeNumber }}}}\"\n[job.lookup.directory.source]\n{}",
        crate::support::slapd::source(&[server.url()], "")
    );
    let map = "name = \"{{ name }}\"\nemployee_id = \"{{ employee_no }}\"\nemail = \"{{ directory.mail | upper | lower }}\"\n";
    let world = World::of(Config { map: map.into(), rest: format!("{lookup}\n{LEAVE_AT_ONCE}"), ..config("") });
    assert_eq!(world.sync_of(people(1..41)).expect(0).writes(), (40, 0, 0));
    world.expect_people(1..41);
    assert_eq!(world.held_as(9).unwrap()["email"], "person9@example.com");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn law_7_another_lookup_is_held_first() {
    for (from, to) in [
        ("on = \"{{ email }}\"", "on = \"{{ email | lower }}\""),
        ("key = \"{{ mail }}\"", "key = \"{{ mail | lower }}\""),
        ("directory.phone", "directory.team_name"),
    ] {
        let world = synced(config(""));
        world.put("directory.csv", directory(1..41).replace(&phone(7), "0217777777").as_bytes());
        world.edit_config(from, to);
        assert_eq!(world.sync().expect(4).writes(), (0, 0, 0), "{from}");
    }
}

#[test]
fn rows_of_one_key_are_held_against_each_other_with_what_was_joined() {
    let world = synced(config(""));
    let other = row(7, "Clerk").replace("person7@", "person8@");
    let ran = world.sync_of(people(1..41) + &other).expect(3);
    assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
    world.expect_people(1..41);
}
