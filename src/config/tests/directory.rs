//! Jobs with a directory.

use std::time::Duration;

use super::support::{API, Place, check};
use crate::config::Needs;
use crate::secret::SecretSource;
use crate::source::Source;
use crate::source::ldap::{Bind, Options, SearchScope};

const JOB: &str = r#"[[job]]
name = "employees"
target = "staff"
[job.source]
type = "ldap"
url = "ldaps://dc1.example.com"
base = "ou=people,dc=example,dc=com"
[job.map]
name = "{{ cn }}"
email = "{{ mail }}"
"#;

fn with(lines: &str) -> String {
    format!("{API}{}", JOB.replace("base =", &format!("{lines}base =")))
}

fn loaded(lines: &str, variables: &[(&str, &str)]) -> Options {
    let place = Place::with(&with(lines));
    place.file("word", "hunter2\n", 0o600);
    let config = place.load(variables).unwrap();
    let Source::Ldap(options) = config.jobs[0].source.clone() else { panic!("the job reads a directory") };
    options
}

#[test]
fn a_directory_has_defaults_and_a_key_of_its_own() {
    let options = loaded("", &[]);
    assert_eq!((options.page_size, options.scope, options.tls_verify), (500, SearchScope::Subtree, true));
    assert_eq!((options.timeout, options.total_timeout), (Duration::from_secs(30), Duration::from_secs(900)));
    assert!(matches!(options.bind, Bind::Anonymous));
    let config = Place::with(&with("")).load(&[]).unwrap();
    let job = &config.jobs[0];
    assert!(job.mapping.key.contains("entryUUID") && job.mapping.key.contains("objectGUID | guid"));
    assert!(job.mapping.optional.contains(&"objectGUID".to_owned()));
}

#[test]
fn a_password_has_four_places_and_is_shown_at_none() {
    const DN: &str = "bind_dn = \"cn=me\"\n";
    let inline = format!("{DN}bind_password = \"hunter2\"\n");
    let file = format!("{DN}bind_password_file = \"word\"\n");
    for (lines, variables) in [
        (inline.as_str(), &[][..]),
        (&file, &[]),
        (DN, &[("ROSTERD__JOB__EMPLOYEES__SOURCE__BIND_PASSWORD", "hunter2")]),
    ] {
        let options = loaded(lines, variables);
        assert!(matches!(options.bind, Bind::Simple { .. }) && !format!("{options:?}").contains("hunter2"), "{lines}");
    }
    for name in ["bind_password", "employees.bind_password"] {
        let place = Place::with(&with(DN));
        place.file(name, "hunter2\n", 0o440);
        let dir = place.dir.path().to_str().unwrap().to_owned();
        let config = place.load(&[("CREDENTIALS_DIRECTORY", &dir)]).unwrap();
        let Source::Ldap(options) = &config.jobs[0].source else { panic!("the job reads a directory") };
        let Bind::Simple { password, .. } = &options.bind else { panic!("the job has a name") };
        assert!(matches!(password, SecretSource::File(path) if path.ends_with(name)), "{password:?}");
    }
}

#[test]
fn what_is_wrong_with_a_directory_is_named() {
    let line = |key: &str, said: &str| format!("config.toml:12: job.source.{key}: {said}");
    for (lines, expected) in [
        ("settle = \"2s\"\n", line("settle", "goes with a file; leave it out")),
        ("expect_every = \"8d\"\n", line("expect_every", "")),
        ("mode = \"changes\"\n", line("mode", "a directory is always read whole; leave it out")),
        ("scope = \"tree\"\n", line("scope", "\"tree\" is none of \"sub\", \"one\", \"base\"")),
        ("page_size = 10001\n", line("page_size", "10001 is not between 0 and 10000")),
        ("timeout = \"0s\"\n", line("timeout", "must be more than nothing; write it like")),
        ("filter = \"objectClass=(\"\n", line("filter", "\"objectClass=(\" is no LDAP filter; it is in brackets")),
        ("ca_file = \"none.pem\"\n", line("ca_file", "there is no file none.pem")),
        ("bind_dn = \"cn=me\"\n", line("bind_dn", "its password is missing; put it into a file of its own")),
        (
            "bind_dn = \"cn=me\"\nbind_password = \"\"\n",
            "config.toml:13: job.source.bind_password: is empty".to_owned(),
        ),
        ("bind_dn = \"cn=me\"\nbind_password_file = \"empty\"\n", "has nothing in its first line".to_owned()),
        ("bind_password = \"x\"\n", "job.source.bind_dn: is missing, and a password is there".to_owned()),
    ] {
        let place = Place::with(&with(lines));
        place.file("empty", "\n", 0o600);
        let found = place.load(&[]).err().unwrap_or_default();
        assert!(found.len() == 1 && found[0].contains(&expected), "{lines}: {found:?}");
    }
}

#[test]
fn an_address_is_an_ldap_server_s_and_holds_no_password() {
    let at = |url: &str, said: &str| {
        let text = format!("{API}{}", JOB.replace("\"ldaps://dc1.example.com\"", url));
        let found = Place::with(&text).load(&[]).err().unwrap_or_default();
        assert!(found.len() == 1 && found[0].contains(said) && !found[0].contains("hunter2"), "{url}: {found:?}");
    };
    at("[]", "is missing");
    at("\"https://dc1.example.com\"", "begins with neither ldap:// nor ldaps://");
    at("\"ldaps://dc1.example.com/dc=x\"", "has something behind it");
    at("\"ldaps://ana:hunter2@dc1.example.com\"", "belongs into bind_dn");
}

#[test]
fn a_password_never_goes_out_in_clear_text() {
    const BIND: &str = "bind_dn = \"cn=me\"\nbind_password = \"hunter2\"\n";
    for (url, lines, fits) in [
        ("ldap://dc1.example.com", "", false),
        ("ldap://dc1.example.com", "start_tls = true\n", true),
        ("ldaps://dc1.example.com", "", true),
        ("ldap://127.0.0.1:3890", "", true),
        ("ldap://10.0.0.1", "", false),
    ] {
        let text = with(&format!("{BIND}{lines}")).replace("ldaps://dc1.example.com", url);
        let found = Place::with(&text).load(&[]).err().unwrap_or_default();
        assert_eq!(found.is_empty(), fits, "{url} {lines}: {found:?}");
        assert!(fits || found[0].contains("sends the password in clear text"), "{found:?}");
    }
}

#[test]
fn people_in_clear_text_are_warned_of_where_no_password_goes_out() {
    let config = Place::with(&with("").replace("ldaps://dc1.example.com", "ldap://dc1.example.com")).load(&[]).unwrap();
    assert!(
        config.warnings.iter().any(|warning| warning.contains("sends people in clear text")),
        "{:?}",
        config.warnings
    );
}

#[test]
fn not_to_verify_is_warned_of_and_two_jobs_read_no_one_twice() {
    let config = Place::with(&with("tls_verify = false\n")).load(&[]).unwrap();
    assert!(config.warnings.iter().any(|warning| warning.contains("tls_verify")), "{:?}", config.warnings);
    let second = JOB.replace("employees", "others");
    let message = "config.toml:19: job.source.filter: job employees reads the same people for the same target; merge the two jobs";
    check(&format!("{API}{JOB}{second}"), &[], &[message]);
    check(&format!("{API}{JOB}{}", second.replace("base =", "filter = \"(o=x)\"\nbase =")), &[], &[]);
}

const CERTIFICATE: &str = include_str!("../../../tests/fixtures/certificates/client.pem");
const KEY: &str = include_str!("../../../tests/fixtures/certificates/client.key");
const OTHER_KEY: &str = include_str!("../../../tests/fixtures/certificates/other.key");
const PAIR: &str = "client_cert_file = \"client.pem\"\nclient_key_file = \"client.key\"\n";

/// A job with these lines, beside certificates and keys.
fn certified(text: &str) -> Place {
    let place = Place::with(text);
    place.file("client.pem", CERTIFICATE, 0o644);
    for (name, key, mode) in [
        ("client.key", KEY, 0o600),
        ("group.key", KEY, 0o640),
        ("open.key", KEY, 0o644),
        ("other.key", OTHER_KEY, 0o600),
    ] {
        place.file(name, key, mode);
    }
    place
}

#[test]
fn a_client_certificate_says_who_asks_or_is_shown_besides() {
    for (lines, is_external) in [
        (format!("bind = \"external\"\n{PAIR}"), true),
        (format!("bind = \"external\"\n{}", PAIR.replace("client.key", "group.key")), true),
        (PAIR.to_owned(), false),
        (format!("{PAIR}bind = \"simple\"\nbind_dn = \"cn=me\"\nbind_password = \"hunter2\"\n"), false),
    ] {
        let config = certified(&with(&lines)).load(&[]).unwrap();
        let Source::Ldap(options) = &config.jobs[0].source else { panic!("the job reads a directory") };
        assert!(options.certificate.is_some(), "{lines}");
        assert_eq!(matches!(options.bind, Bind::External), is_external, "{lines}");
    }
    let config = certified(&with("bind = \"simple\"\n")).load(&[]).unwrap();
    let Source::Ldap(options) = &config.jobs[0].source else { panic!("the job reads a directory") };
    assert!(options.certificate.is_none() && matches!(options.bind, Bind::Anonymous));
}

#[test]
fn what_is_wrong_with_a_client_certificate_is_named() {
    let external = format!("bind = \"external\"\n{PAIR}");
    let key = |name: &str| external.replace("client.key", name);
    let only = |key: &str| format!("{key} = \"client.pem\"\n");
    for (lines, expected) in [
        ("bind = \"sasl\"\n".to_owned(), "source.bind: \"sasl\" is none of \"simple\", \"external\""),
        (
            "bind = \"external\"\n".to_owned(),
            "source.bind: is \"external\", and there is no client certificate; name it",
        ),
        (
            only("client_cert_file"),
            "source.client_cert_file: its key is missing; name the file of its key as client_key_file",
        ),
        (
            only("client_key_file"),
            "source.client_key_file: is missing its certificate; name that file as client_cert_file",
        ),
        (key("none.key"), "source.client_key_file: none.key: no such file"),
        (key("open.key"), "source.client_key_file: every user of this machine may read or change open.key (mode 0644)"),
        (key("other.key"), "source.client_key_file: other.key is not the key of the certificate in client.pem"),
        (key("client.pem"), "source.client_key_file: every user of this machine may read or change client.pem"),
        (external.replace("client.pem", "none.pem"), "source.client_cert_file: none.pem can't be read"),
        (
            external.replace("client.pem", "group.key"),
            "source.client_cert_file: group.key holds no readable certificate",
        ),
        (format!("{external}bind_dn = \"cn=me\"\n"), "source.bind_dn: goes with bind = \"simple\""),
        (
            format!("{external}bind_password_file = \"word\"\n"),
            "source.bind_password_file: goes with bind = \"simple\"",
        ),
        (format!("{external}bind_password = \"hunter2\"\n"), "source.bind_password: goes with bind = \"simple\""),
    ] {
        let found = certified(&with(&lines)).load(&[]).err().unwrap_or_default();
        let shows = ["hunter2", KEY.lines().nth(1).unwrap()].iter().any(|secret| found.concat().contains(secret));
        assert!(found.len() == 1 && found[0].contains(expected) && !shows, "{lines}: {found:?}");
    }
    let variables = [("ROSTERD__JOB__EMPLOYEES__SOURCE__BIND_PASSWORD", "hunter2")];
    let found = certified(&with(&external)).load(&variables).unwrap_err();
    assert!(found.len() == 1 && found[0].contains("the job has bind = \"external\""), "{found:?}");
    // A command that reads no directory does without.
    for name in ["none.key", "open.key", "other.key"] {
        certified(&with(&key(name))).load_for(Needs::Local, &[]).unwrap();
    }
}

#[test]
fn a_client_certificate_wants_tls() {
    for (url, lines, fits) in [
        ("ldaps://dc1.example.com", "", true),
        ("ldap://dc1.example.com", "start_tls = true\n", true),
        ("ldap://dc1.example.com", "", false),
        ("ldap://127.0.0.1:3890", "", false),
    ] {
        for bind in ["bind = \"external\"\n", ""] {
            let text = with(&format!("{bind}{PAIR}{lines}")).replace("ldaps://dc1.example.com", url);
            let found = certified(&text).load(&[]).err().unwrap_or_default();
            assert_eq!(found.is_empty(), fits, "{url} {lines}: {found:?}");
            assert!(fits || found[0].contains("a client certificate is shown in TLS alone"), "{found:?}");
        }
    }
}
