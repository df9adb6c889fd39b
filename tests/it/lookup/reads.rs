//! What a lookup says becomes of people, from every kind of source and for every part of a job.

use rosterd::sandbox::Options;

use super::{DIRECTORY, HIDDEN, LEAVE_AT_ONCE, config, directory, mobile, phone, synced};
use crate::contractors::jobs;
use crate::support::graph::{self, Graph};
use crate::support::scripted::{Scripted, code, done, entry};
use crate::support::web::{Web, file};
use crate::support::{Config, World, people, row};
use crate::workbooks::workbook;

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
fn a_workbook_and_a_tenant_add_values_as_a_file_does() {
    let graph = Graph::start(1..41);
    let of_book = DIRECTORY.replace("directory.csv", "directory.xlsx");
    let of_tenant = DIRECTORY.replace("type = \"csv\"\npath = \"directory.csv\"\nsettle = \"0s\"\n", &graph.source())
        + "client_secret_file = \"word\"\n";
    for (lookup, column, title) in [(of_book, "team_name", "Team 7"), (of_tenant, "extension_attribute1", "Locker 7")] {
        graph.change(|tenant| tenant.users = (1..41).map(graph::user).collect());
        let config = Config { rest: format!("{lookup}{LEAVE_AT_ONCE}"), ..config("") };
        let map = config.map.replace("directory.phone", &format!("directory.{column}")).replace("mobile", "title");
        let map = map.replace("title = \"{{ title }}\"\n", "");
        let world = World::of(Config { map, ..config });
        world.put("directory.xlsx", &workbook(&directory(1..41)));
        world.put("word", graph::SECRET.as_bytes());
        assert_eq!(world.sync_of(people(1..41)).hides(&HIDDEN).expect(0).writes(), (40, 0, 0), "{column}");
        assert_eq!(world.held_as(7).unwrap()["title"], title);
        // One of them is there in the lookup no more, which says nothing of who is there.
        graph.change(|tenant| tenant.users.truncate(39));
        world.put("directory.xlsx", &workbook(&directory(1..40)));
        assert_eq!(world.sync().expect(0).writes(), (0, 1, 0), "{column}");
        world.expect_people(1..41);
        assert_eq!(world.held_as(40).unwrap()["title"].as_str().unwrap_or_default(), "", "{column}");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{column}");
    }
}

#[test]
fn a_lookup_adds_values_to_contractors_and_to_their_organizations() {
    let lookup = DIRECTORY.replace("{{ email }}", "{{ company_no }}");
    let world = jobs::world(Options::default(), "", &format!("{lookup}{LEAVE_AT_ONCE}"));
    world.edit_config("{{ trade }}", "{{ directory.team_name }}");
    world.edit_config("{{ company }}", "{{ company }} {{ directory.phone }}");
    let list = |of: &str| format!("Mail,Phone,Team name\n94000001,{of},Roof team\n94000002,22,Wall team\n");
    world.put("directory.csv", list("11").as_bytes());
    let rows = jobs::row(1, 1, "") + &jobs::row(2, 1, "") + &jobs::row(3, 2, "");
    world.sync_of(jobs::HEADER.to_owned() + &rows).expect(0);
    let all = |what: &str, field: &str| {
        let mut texts: Vec<String> =
            world.service().all(what).iter().map(|one| one[field].as_str().unwrap_or_default().to_owned()).collect();
        texts.sort();
        texts
    };
    assert_eq!(all("sp.member", "title"), ["Roof team", "Roof team", "Wall team"]);
    assert_eq!(all("sp.org", "name"), ["Company 1 Ltd 11", "Company 2 Ltd 22"]);
    world.sync().expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.put("directory.csv", list("12").as_bytes());
    world.sync().expect(0);
    assert_eq!(all("sp.org", "name"), ["Company 1 Ltd 12", "Company 2 Ltd 22"]);
    // A lookup that is gone changes and removes nothing.
    world.put("directory.csv", b"");
    world.sync();
    assert_eq!(all("sp.org", "name"), ["Company 1 Ltd 12", "Company 2 Ltd 22"]);
    assert_eq!(all("sp.member", "title"), ["Roof team", "Roof team", "Wall team"]);
    assert_eq!(world.service().all("sp.membership").len(), 3);
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
