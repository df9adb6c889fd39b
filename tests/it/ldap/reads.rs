//! Against a real OpenLDAP server.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::channel;

use super::config;
use crate::support::slapd::{self, LIMITED, NARROW, PEOPLE, PLAIN, READER, SHY, SUFFIX, Slapd, people, person};
use crate::support::{Config, World};

#[test]
fn a_directory_becomes_the_state_of_the_service() {
    if !slapd::is_there() {
        return;
    }
    let slapd = Slapd::start(&people(1..41));
    let world = World::of(config(slapd.source(PLAIN)));
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
    world.expect_people(1..41);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn owncloud_28039_ten_thousand_are_read_whole_where_500_are_the_limit_of_a_search() {
    if !slapd::is_there() {
        return;
    }
    let slapd = Slapd::start(&people(0..10_000));
    let world = World::of(config(slapd.source(PLAIN)));
    let checked = world.run(&["plan", "--json"]).expect(0).job();
    assert_eq!(
        (checked["complete"].clone(), checked["new"].clone()),
        (true.into(), 10_000.into()),
        "{}",
        checked["incomplete"]
    );
}

#[test]
fn gitea_4402_fault_65_a_limit_that_cuts_the_pages_off_removes_no_one() {
    if !slapd::is_there() {
        return;
    }
    let slapd = Slapd::start(&people(0..600));
    let mut world = World::of(config(slapd.source(READER)));
    assert_eq!(world.sync().expect(0).writes(), (600, 0, 0));
    for (account, words) in [(LIMITED, "result code 4"), (NARROW, "result code 11")] {
        world.reconfigure(|config| Config { source: slapd.source(account), ..config });
        slapd.change(&format!("dn: uid=u000001,{PEOPLE}\nchangetype: modify\nreplace: title\ntitle: Moved {words}\n"));
        let ran = world.sync();
        let (_, complete, reason) = ran.ended();
        assert_eq!((complete, ran.writes().2), (false, 0), "{account}: {reason}");
        assert!(reason.contains(words), "{account}: {reason}");
        world.expect_people(0..600);
    }
    world.reconfigure(|config| Config { source: slapd.source(READER), ..config });
    assert_eq!(world.sync().expect(0).writes().2, 0);
}

/// Passes connections on, and cuts them off once so many bytes came from the server.
fn cut_after(slapd: &Slapd, bytes: usize) -> String {
    stop_after(slapd, bytes, || {})
}

/// The same, and does something before a connection is cut off.
fn stop_after(slapd: &Slapd, bytes: usize, before: impl Fn() + Send + 'static) -> String {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("ldap://{}", listener.local_addr().unwrap());
    let server = slapd.url().replace("ldap://", "");
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
            let (mut asks, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut asks, &mut answers));
            let mut left = bytes;
            let mut buffer = [0; 4096];
            while let Ok(read) = server.read(&mut buffer) {
                let passed = read.min(left);
                if passed < read {
                    before();
                }
                if read == 0 || client.write_all(&buffer[..passed]).is_err() || passed < read {
                    break;
                }
                left -= passed;
            }
            let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
        }
    });
    url
}

#[test]
fn glpi_984_fault_70_a_connection_that_breaks_between_pages_removes_no_one() {
    if !slapd::is_there() {
        return;
    }
    let slapd = Slapd::start(&people(0..300));
    let account = format!("bind_dn = \"{READER}\"\nbind_password = \"reader\"\npage_size = 50\n");
    let mut world = World::of(config(slapd::source(&[slapd.url()], &account)));
    assert_eq!(world.sync().expect(0).writes(), (300, 0, 0));
    for bytes in [20_000, 40_000, 60_000] {
        let broken = cut_after(&slapd, bytes);
        world.reconfigure(|config| Config { source: slapd::source(&[broken], &account), ..config });
        let ran = world.sync().expect(3);
        let (_, complete, reason) = ran.ended();
        assert_eq!((complete, ran.writes()), (false, (0, 0, 0)), "{bytes}: {reason}");
        assert!(reason.contains("went away in the middle"), "{bytes}: {reason}");
    }
    world.expect_people(0..300);
}

#[test]
fn fault_70_a_server_killed_between_pages_removes_no_one() {
    if !slapd::is_there() {
        return;
    }
    // Entries so large that the server is still sending while it is killed.
    let large: String =
        (0..400).map(|number| person(number, &format!("jpegPhoto:: {}\n", "A".repeat(40_000)))).collect();
    let mut slapd = Slapd::start(&large);
    let account = format!("bind_dn = \"{READER}\"\nbind_password = \"reader\"\npage_size = 20\n");
    let mut configuration = config(slapd::source(&[slapd.url()], &account));
    configuration.map = configuration.map.replace("{{ title }}", "{{ jpegPhoto | length }}");
    let mut world = World::of(configuration);
    assert_eq!(world.sync().expect(0).writes(), (400, 0, 0));
    for bytes in [10_000, 500_000, 3_000_000, 12_000_000] {
        let ((reached, reaches), (killed, kills)) = (channel(), channel());
        let through = stop_after(&slapd, bytes, move || {
            let _ = reached.send(());
            let _: Result<(), _> = kills.recv();
        });
        world.reconfigure(|config| Config { source: slapd::source(&[through], &account), ..config });
        let child = world.command(&["sync", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        reaches.recv().unwrap();
        slapd.kill();
        killed.send(()).unwrap();
        let output = child.wait_with_output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let job = &document["jobs"][0];
        assert_eq!((&job["complete"], &job["deleted"]), (&false.into(), &0.into()), "{bytes}: {job}");
        slapd.run();
    }
    let source = slapd::source(&[slapd.url()], &account);
    world.reconfigure(|config| Config { source, ..config });
    assert_eq!(world.sync().expect(0).writes().2, 0);
    world.expect_people(0..400);
}

#[test]
fn owncloud_460_a_second_server_takes_over() {
    if !slapd::is_there() {
        return;
    }
    let second = Slapd::start(&people(1..40));
    let mut first = Slapd::start(&people(1..41));
    let account = format!("bind_dn = \"{READER}\"\nbind_password = \"reader\"\n");
    let urls = [first.url(), second.url()];
    let world = World::of(config(slapd::source(&urls, &account)));
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
    first.stop();
    // The second has an older change number than the first, until something is written there.
    let ran = world.sync();
    assert_eq!(ran.writes().2, 0, "{}", ran.reason());
    second.change(&format!("dn: uid=u000001,{PEOPLE}\nchangetype: modify\nreplace: title\ntitle: Boss\n"));
    let ran = world.sync().expect(0);
    assert_eq!((ran.ended().1, ran.writes()), (true, (0, 1, 1)), "{}", ran.reason());
}

#[test]
fn fault_74_a_renamed_entry_is_an_update() {
    if !slapd::is_there() {
        return;
    }
    let slapd = Slapd::start(&people(1..41));
    let mut configuration = config(slapd.source(READER));
    configuration.job = "match_on = [\"employee_id\"]\n".into();
    let world = World::of(configuration);
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0), "the key is entryUUID by itself");
    slapd.change(&format!(
        "dn: uid=u000007,{PEOPLE}\nchangetype: modrdn\nnewrdn: uid=renamed\ndeleteoldrdn: 1\n\n\
         dn: uid=renamed,{PEOPLE}\nchangetype: modify\nreplace: cn\ncn: Person Seven\n-\n\
         replace: employeeNumber\nemployeeNumber: X00007\n"
    ));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!(world.texts("name").iter().filter(|name| *name == "Person Seven").count(), 1);
}

#[test]
fn fault_77_an_attribute_that_no_entry_shows_any_more_is_an_error() {
    if !slapd::is_there() {
        return;
    }
    let slapd = Slapd::start(&people(1..41));
    let mut configuration = config(slapd.source(READER));
    configuration.map += "phone = \"{{ telephoneNumber }}\"\n";
    let mut world = World::of(configuration);
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
    world.reconfigure(|config| Config { source: slapd.source(SHY), ..config });
    let ran = world.sync().expect(1);
    assert_eq!(ran.writes(), (0, 0, 0));
    for word in ["telephoneNumber", "40 had it", "may the account still see it"] {
        assert!(ran.reason().contains(word), "{}", ran.reason());
    }
    // If the attribute is optional, the guard protects people.
    world.reconfigure(|config| Config {
        source: format!("{}optional = [\"telephoneNumber\"]\n", slapd.source(SHY)),
        ..config
    });
    let ran = world.sync().expect(4);
    assert_eq!(ran.writes(), (0, 0, 0), "{}", ran.reason());
}

#[test]
fn an_attribute_that_no_entry_has_is_an_error_unless_it_is_optional() {
    if !slapd::is_there() {
        return;
    }
    let slapd = Slapd::start(&people(1..5));
    let mut configuration = config(slapd.source(READER));
    configuration.map += "mobile = \"{{ mobil }}\"\n";
    let mut world = World::of(configuration);
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("no entry has the attribute `mobil`"), "{}", ran.reason());
    world.reconfigure(|config| Config { source: format!("{}optional = [\"mobil\"]\n", config.source), ..config });
    assert_eq!(world.sync().expect(0).writes(), (4, 0, 0));
}

#[test]
fn fault_76_of_several_values_a_name_is_the_smallest_and_a_list_is_no_value() {
    if !slapd::is_there() {
        return;
    }
    let several = "mail: a.second@example.com\nmail: z.third@example.com\n";
    let slapd = Slapd::start(&(person(1, several) + &person(2, "")));
    let mut configuration = config(slapd.source(READER));
    configuration.map = configuration.map.replace("{{ title }}", "{{ all['mail'] | join(' ') }}");
    let mut world = World::of(configuration);
    assert_eq!(world.sync().expect(0).writes(), (2, 0, 0));
    let held = world.held_as(1).unwrap();
    assert_eq!(held["email"], "a.second@example.com");
    assert_eq!(held["title"], "a.second@example.com person1@example.com z.third@example.com");
    world.reconfigure(|mut config| {
        config.map = config.map.replace("{{ all['mail'] | join(' ') }}", "{{ all['mail'] }}");
        config
    });
    let plan = world.plan().job();
    let bad = &plan["rejected_values"][0];
    assert_eq!(
        (bad["key"].as_str(), bad["field"].as_str(), bad["line"].as_u64()),
        (Some("P00001"), Some("title"), None)
    );
}

#[test]
fn fault_80_two_entries_of_one_key_are_both_held_back() {
    if !slapd::is_there() {
        return;
    }
    let twin = format!(
        "dn: uid=twin,{PEOPLE}\nobjectClass: inetOrgPerson\nuid: twin\ncn: Twin\nsn: Twin\nmail: twin@example.com\n\
         employeeNumber: P00002\ntitle: Clerk\n\n"
    );
    let slapd = Slapd::start(&(people(1..5) + &twin));
    let world = World::of(config(slapd.source(READER)));
    let ran = world.sync().expect(3);
    assert_eq!((ran.writes(), ran.job()["rejected"].clone()), ((3, 0, 0), 2.into()));
    let plan = world.plan().job();
    let reason = plan["rejected"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("2 entries have this key"), "{reason}");
    assert_eq!(plan["rejected"][0]["key"], "P00002");
}

#[test]
fn names_ignore_case_and_an_entry_s_own_name_is_a_variable() {
    if !slapd::is_there() {
        return;
    }
    let slapd = Slapd::start(&person(1, ""));
    for (template, value) in [
        ("{{ givenName }}", "Person"),
        ("{{ given_name }}", "Person"),
        ("{{ GIVENNAME }}", "Person"),
        ("{{ source['GivenName'] }}", "Person"),
        ("{{ surname }}", "Surname"),
        ("{{ dn }}", "uid=u000001,ou=people,dc=example,dc=org"),
    ] {
        let mut configuration = config(slapd.source(READER));
        configuration.map = configuration.map.replace("{{ title }}", template);
        let world = World::of(configuration);
        world.sync().expect(0);
        assert_eq!(world.held_as(1).unwrap()["title"], value, "{template}");
    }
}

#[test]
fn several_bases_are_read_and_one_that_is_missing_is_an_alarm() {
    if !slapd::is_there() {
        return;
    }
    let other = format!("ou=contractors,{SUFFIX}");
    let there = format!("dn: {other}\nobjectClass: organizationalUnit\nou: contractors\n\n");
    let people = people(1..4) + &there + &person(4, "").replace(PEOPLE, &other);
    let slapd = Slapd::start(&people);
    let source = |base: &str| slapd.source(READER).replace(&format!("{PEOPLE:?}"), &format!("[{PEOPLE:?}, {base:?}]"));
    let mut world = World::of(config(source(&other)));
    assert_eq!(world.sync().expect(0).writes(), (4, 0, 0));
    world.reconfigure(|config| Config { source: source("ou=none,dc=example,dc=org"), ..config });
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("\"ou=none,dc=example,dc=org\" does not exist"), "{}", ran.reason());
    world.expect_people(1..5);
}

#[test]
fn keycloak_48781_a_search_that_finds_no_one_and_a_changed_filter_remove_no_one() {
    if !slapd::is_there() {
        return;
    }
    let slapd = Slapd::start(&people(1..41));
    let mut world = World::of(config(slapd.source(READER)));
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
    for (name, line, code) in [("one level", "scope = \"base\"\n", 4), ("narrower", "", 4)] {
        let narrower = |source: String| source.replace("(objectClass=inetOrgPerson)", "(uid=u000001)");
        world.reconfigure(|config| {
            let source = slapd.source(READER);
            Config { source: if line.is_empty() { narrower(source) } else { source + line }, ..config }
        });
        let ran = world.sync().expect(code);
        assert_eq!(ran.writes(), (0, 0, 0), "{name}: {}", ran.reason());
        world.expect_people(1..41);
    }
}
