//! Encryption, and which servers are trusted.

use super::config;
use crate::support::slapd::{self, READER, Slapd, people};
use crate::support::{Config, World};

const ACCOUNT: &str = "bind_dn = \"cn=reader,dc=example,dc=org\"\nbind_password = \"reader\"\n";

#[test]
fn a_server_is_read_over_tls_where_its_authority_is_trusted() {
    if !slapd::is_there() {
        return;
    }
    let slapd = Slapd::start(&people(1..4));
    let ca_file = format!("ca_file = {:?}\n", slapd.ca_file());
    let world = World::of(config(slapd::source(&[slapd.tls_url()], ACCOUNT)));
    let mut world = world;
    for (name, url, lines, wrong) in [
        ("ldaps", slapd.tls_url(), ca_file.clone(), None),
        ("by name", slapd.tls_url_of("localhost"), ca_file.clone(), None),
        ("by an address of version 6", slapd.tls_url_of("[::1]"), ca_file.clone(), None),
        ("StartTLS", slapd.url(), format!("{ca_file}start_tls = true\n"), None),
        ("unknown authority", slapd.tls_url(), String::new(), Some("set ca_file")),
        ("unknown authority, StartTLS", slapd.url(), "start_tls = true\n".to_owned(), Some("set ca_file")),
        ("another address", slapd.tls_url_of("127.0.0.2"), ca_file.clone(), Some("")),
        ("TLS to a port in the clear", slapd.url().replace("ldap:", "ldaps:"), ca_file.clone(), Some("")),
        ("in the clear to a port with TLS", slapd.tls_url().replace("ldaps:", "ldap:"), String::new(), Some("")),
        ("unverified", slapd.tls_url(), "tls_verify = false\n".to_owned(), None),
    ] {
        world.reconfigure(|config| Config {
            source: slapd::source(&[url], &format!("{ACCOUNT}timeout = \"3s\"\n{lines}")),
            ..config
        });
        let ran = world.plan();
        let job = ran.job();
        match wrong {
            None => assert_eq!(job["records"], 3, "{name}: {ran:?}"),
            Some(word) => {
                let error = job["error"].as_str().unwrap_or_default();
                assert!(ran.code == Some(1) && error.contains(word) && !error.is_empty(), "{name}: {ran:?}");
            }
        }
        // Loudly: at every load of the configuration, and at every read.
        assert_eq!(ran.err.matches("tls_verify").count() >= 2, name == "unverified", "{name}: {}", ran.err);
    }
}

#[test]
fn a_password_comes_from_a_file_or_the_environment_and_is_never_shown() {
    if !slapd::is_there() {
        return;
    }
    let slapd = Slapd::start(&people(1..4));
    let source = |line: &str| slapd::source(&[slapd.url()], &format!("bind_dn = {READER:?}\n{line}"));
    let world = World::of(config(source("bind_password_file = \"word\"\n")));
    world.put("word", b"reader\n");
    assert_eq!(world.plan().expect(0).job()["records"], 3);
    world.put("word", b"hunter2\n");
    let ran = world.plan().expect(1).hides(&["hunter2"]);
    assert!(ran.job()["error"].as_str().unwrap().contains("the bind was refused"), "{ran:?}");
    let mut world = world;
    world.reconfigure(|config| Config { source: source(""), ..config });
    assert!(world.plan().expect(2).err.contains("its password is missing"));
    let mut command = world.command(&["plan", "--json"]);
    let output = command.env("ROSTERD__JOB__STAFF__SOURCE__BIND_PASSWORD", "reader").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut command = world.command(&["plan", "--json"]);
    let output = command.env("ROSTERD__JOB__OTHER__SOURCE__BIND_PASSWORD", "reader").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
