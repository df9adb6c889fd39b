//! What the commands show of a directory.

use super::config;
use crate::support::slapd::{self, PEOPLE, READER, SUFFIX, Slapd, people, person};
use crate::support::{Config, World};

fn world(people: &str) -> Option<(Slapd, World)> {
    slapd::is_there().then(|| {
        let slapd = Slapd::start(people);
        let world = World::of(config(slapd.source(READER)));
        (slapd, world)
    })
}

#[test]
fn preview_and_explain_name_an_entry_and_no_line() {
    let Some((_slapd, world)) = world(&person(1, "mail: b@example.com\n")) else { return };
    let dn = format!("uid=u000001,{PEOPLE}");
    let row = world.run(&["--json", "preview", "staff"]).expect(0).json()["rows"][0].clone();
    assert_eq!(
        (row["dn"].as_str(), row["line"].is_null(), row["key"].as_str()),
        (Some(dn.as_str()), true, Some("P00001"))
    );
    assert_eq!(row["source"]["mail"], "b@example.com, person1@example.com", "every value is shown");
    let text = world.run(&["preview", "staff"]).expect(0).out;
    assert!(text.contains(&dn) && !text.contains("line "), "{text}");
    world.sync().expect(0);
    let row = world.run(&["--json", "explain", "staff", "P00001"]).expect(0).json()["source"]["rows"][0].clone();
    assert_eq!((row["dn"].as_str(), row["line"].is_null()), (Some(dn.as_str()), true));
    let text = world.run(&["explain", "staff", "P00001"]).expect(0).out;
    assert!(text.contains(&format!("entry {dn}")), "{text}");
}

#[test]
fn keycloak_48781_check_runs_the_real_search_and_counts() {
    let Some((slapd, mut world)) = world(&people(1..41)) else { return };
    let checked = |world: &World, code: i32| -> (bool, String) {
        let checks = world.run(&["--json", "check"]).expect(code).json()["checks"].clone();
        let source = checks.as_array().unwrap().iter().find(|one| one["what"] == "source of staff").unwrap().clone();
        (source["ok"] == true, source["message"].as_str().unwrap().to_owned())
    };
    let (fine, message) = checked(&world, 0);
    for word in [slapd.url().as_str(), "40 entries in ou=people", "40 records", "such as key P000"] {
        assert!(fine && message.contains(word), "{message}");
    }
    // The bind works, and the search finds no entries.
    for (source, words) in [
        (slapd.source(READER) + "scope = \"base\"\n", "found no entries"),
        (slapd.source(READER).replace("inetOrgPerson", "none"), "found no entries"),
        (slapd.source(READER).replace(PEOPLE, "ou=none,dc=example,dc=org"), "does not exist"),
        (slapd.source(READER).replace("\"reader\"", "\"wrong\""), "the bind was refused"),
    ] {
        world.reconfigure(|config| Config { source, ..config });
        let (fine, message) = checked(&world, 1);
        assert!(!fine && message.contains(words), "{message}");
    }
    world.reconfigure(|config| Config { source: slapd.source(READER), ..config.map("mobile = \"{{ mobile }}\"\n") });
    let (fine, message) = checked(&world, 1);
    assert!(!fine && message.contains("no entry has the attribute `mobile`"), "{message}");
    world.reconfigure(|config| Config { source: config.source + "optional = [\"mobile\"]\n", ..config });
    let (fine, message) = checked(&world, 0);
    assert!(fine && message.contains("none of them with mobile"), "{message}");
}

#[test]
fn init_prints_a_configuration_that_plans_everyone() {
    let Some((slapd, world)) = world(&people(1..41)) else { return };
    world.put("word", b"reader\n");
    let word = world.dir().join("word");
    let ca_file = slapd.ca_file();
    let arguments =
        ["--bind-dn", READER, "--bind-password-file", word.to_str().unwrap(), "--ca-file", ca_file.to_str().unwrap()];
    for address in [format!("{}/{PEOPLE}", slapd.tls_url()), slapd.tls_url()] {
        let printed = world.run(&[&["init", &address][..], &arguments].concat()).expect(0).out;
        for line in ["OpenLDAP", "Looked at: 40 people", "40  employeeNumber", "key = \"{{ entryUUID }}\""] {
            assert!(printed.contains(line), "{line:?} in\n{printed}");
        }
        assert!(!printed.contains("Person 1") && !printed.contains("@example.com"), "nobody is shown\n{printed}");
        world.put_config(&world.filled_in(&printed));
        let job = world.plan().expect(0).job();
        assert_eq!((job["complete"].clone(), job["new"].clone()), (true.into(), 40.into()), "{job}");
        assert!(job["held"]["reason"].as_str().unwrap().contains("approve"), "{job}");
    }
}

#[test]
fn init_says_what_it_could_not_see() {
    let Some((slapd, world)) = world(&people(1..4)) else { return };
    let ran = world.run(&["init", &format!("{}/ou=none,{SUFFIX}", slapd.url())]).expect(1);
    assert!(ran.out.contains("# In doubt:") && ran.err.contains("can't be seen"), "{ran:?}");
    let ran = world.run(&["init", "ldap://127.0.0.1:1"]).expect(1);
    assert!(ran.err.contains("refused"), "{ran:?}");
    let ran = world.run(&["init", "ldap://dc1.example.com", "--bind-dn", "cn=me", "--bind-password-file", "word"]);
    assert!(ran.expect(2).err.contains("clear text"));
}
