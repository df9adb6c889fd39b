//! Client certificates: binds by one (SASL EXTERNAL), and servers that want one of everybody.

use std::path::Path;

use super::config;
use crate::support::slapd::{self, READER, Slapd, people};
use crate::support::{Config, World, authority};

const ACCOUNT: &str = "bind_dn = \"cn=reader,dc=example,dc=org\"\nbind_password = \"reader\"\n";
const EXTERNAL: &str = "bind = \"external\"\n";
/// A certificate of no authority, out of its time.
const EXPIRED: [(&str, &[u8]); 2] = [
    ("client.pem", include_bytes!("../../fixtures/certificates/client.pem")),
    ("client.key", include_bytes!("../../fixtures/certificates/client.key")),
];

/// A server that treats client certificates so, and knows one of them as an account.
fn server(verify: &str) -> Slapd {
    let mapped = format!("authz-regexp \"cn=rosterd,o=example\" \"{READER}\"");
    let slapd = Slapd::with(&format!("TLSVerifyClient {verify}\n{mapped}"), &people(1..4));
    authority::client(&slapd.path(""), "rosterd", "/O=Example/CN=rosterd");
    slapd
}

fn pair(dir: &Path, name: &str) -> String {
    let file = |kind: &str| dir.join(name).with_extension(kind);
    format!("client_cert_file = {:?}\nclient_key_file = {:?}\n", file("pem"), file("key"))
}

#[test]
fn a_client_certificate_says_who_asks_over_ldaps_and_start_tls() {
    if !slapd::is_there() {
        return;
    }
    let slapd = server("try");
    let lines = format!("{EXTERNAL}ca_file = {:?}\n{}", slapd.ca_file(), pair(&slapd.path(""), "rosterd"));
    let mut world = World::of(config(slapd::source(&[slapd.tls_url()], &lines)));
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.run(&["check"]).expect(0);
    world.reconfigure(|config| Config {
        source: slapd::source(&[slapd.url()], &format!("{lines}start_tls = true\n")),
        ..config
    });
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.expect_people(1..4);
    let pair = ["rosterd.pem", "rosterd.key"].map(|name| slapd.path(name).display().to_string());
    let ca_file = slapd.ca_file().display().to_string();
    let address = format!("{}/{}", slapd.tls_url(), slapd::PEOPLE);
    let certified = ["--client-cert-file", &pair[0], "--client-key-file", &pair[1]];
    let printed = world.run(&[&["init", &address, "--ca-file", &ca_file][..], &certified].concat()).expect(0).out;
    for line in ["bind = \"external\"", "client_cert_file = \"", "client_key_file = \""] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
}

#[test]
fn law_11_what_is_wrong_with_a_bind_by_a_certificate_says_what_to_do_and_shows_no_key() {
    if !slapd::is_there() {
        return;
    }
    let (asks, takes_none, demands) = (server("try"), server("never"), server("demand"));
    let stranger = tempfile::TempDir::new().unwrap();
    authority::certificates(stranger.path(), "DNS:localhost");
    authority::client(stranger.path(), "rosterd", "/O=Example/CN=rosterd");
    let own = |slapd: &Slapd| pair(&slapd.path(""), "rosterd");
    let world = World::default();
    for (name, bytes) in EXPIRED {
        world.put(name, bytes);
    }
    let expired = pair(world.dir(), "client");
    for (name, slapd, lines, wrong) in [
        ("taken", &demands, format!("{EXTERNAL}{}", own(&demands)), None),
        ("beside a name and password", &demands, format!("{ACCOUNT}{}", own(&demands)), None),
        (
            "not asked for",
            &takes_none,
            format!("{EXTERNAL}{}", own(&takes_none)),
            Some("asked for no client certificate"),
        ),
        (
            "of another authority",
            &asks,
            format!("{EXTERNAL}{}", pair(stranger.path(), "rosterd")),
            Some("does not take the client certificate"),
        ),
        (
            "expired",
            &asks,
            format!("{EXTERNAL}{expired}"),
            Some("client.pem expired at 2025-01-01T00:00:00Z; put a renewed one"),
        ),
        ("wanted, and none is shown", &demands, ACCOUNT.to_owned(), Some("no server can be read")),
    ] {
        let lines = format!("{lines}ca_file = {:?}\ntimeout = \"5s\"\n", slapd.ca_file());
        world.configure(config(slapd::source(&[slapd.tls_url()], &lines)));
        let ran = world.plan();
        let job = ran.job();
        match wrong {
            None => assert_eq!(job["records"], 3, "{name}: {ran:?}"),
            Some(words) => {
                let error = job["error"].as_str().unwrap_or_default();
                assert!(ran.code == Some(1) && error.contains(words), "{name}: {ran:?}");
                assert!(!format!("{ran:?}").contains("PRIVATE KEY"), "{name}");
            }
        }
    }
}
