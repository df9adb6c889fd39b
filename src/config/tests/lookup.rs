//! Second sources in a configuration.

use super::support::{API, JOB, Place};
use crate::source::Source;

const LOOKUP: &str = r#"
[job.lookup.directory]
on = "{{ email }}"
key = "{{ mail }}"
[job.lookup.directory.source]
type = "csv"
path = "directory.csv"
"#;

fn text(from: &str, to: &str) -> String {
    let text = format!("{API}{JOB}mobile = \"{{{{ directory.phone }}}}\"\n{LOOKUP}");
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

#[test]
fn a_lookup_is_a_source_with_two_templates() {
    let config = Place::with(&text("", "")).load(&[]).unwrap();
    let [lookup] = &config.jobs[0].lookups[..] else { panic!("one lookup") };
    assert!(lookup.name == "directory" && matches!(lookup.source, Source::Csv(_)) && config.warnings.is_empty());
    let inline = text(
        LOOKUP,
        "[job.lookup]\ndirectory = { on = \"{{ email }}\", key = \"{{ mail }}\", source = { type = \"csv\", path = \"d.csv\" } }\n",
    );
    assert_eq!(Place::with(&inline).load(&[]).unwrap().jobs[0].lookups.len(), 1);
}

#[test]
fn what_is_wrong_with_a_lookup_is_named_with_its_key() {
    let who = "who is there is decided by the job's own source alone";
    for (from, to, said) in [
        ("key = \"{{ no }}\"", "key = \"{{ directory.no }}\"", who),
        ("key = \"{{ no }}\"", "key = \"{{ no }}\"\ninclude = \"{{ directory.no != '' }}\"", who),
        ("key = \"{{ no }}\"", "key = \"{{ no }}\"\nactive_until = \"{{ directory.no }}\"", who),
        ("key = \"{{ no }}\"", "key = \"{{ no }}\"\nprefer = \"{{ directory['no'] }}\"", who),
        ("[job.map]", "[job.guard]\nsegment = \"{{ directory.no }}\"\n[job.map]", who),
        ("on = \"{{ email }}\"", "on = \"{{ directory.mail }}\"", "job.lookup.directory.on: it names a lookup"),
        ("key = \"{{ mail }}\"", "key = \"{{ directory.mail }}\"", "job.lookup.directory.key: it names a lookup"),
        ("on = \"{{ email }}\"\n", "", "job.lookup.directory.on: is missing"),
        ("on = \"{{ email }}\"", "on = \"email\"", "job.lookup.directory.on: is the same text for every row"),
        ("on = \"{{ email }}\"", "om = \"{{ email }}\"", "job.lookup.directory.om: unknown key; did you mean on?"),
        (
            "path = \"directory.csv\"",
            "pat = \"directory.csv\"",
            "job.lookup.directory.source.pat: unknown key; did you mean path?",
        ),
        ("path = \"directory.csv\"", "path = \"inbox/\"", "job.lookup.directory.source.path: is an inbox"),
        (
            "path = \"directory.csv\"",
            "path = \"d.csv\"\nmode = \"changes\"",
            "job.lookup.directory.source.mode: a lookup is always read whole",
        ),
        ("{{ directory.phone }}", "{{ directory }}", "`directory` is a lookup and takes a column's name"),
        ("[job.lookup.directory]", "[job.lookup.Directory]", "is no name for a lookup"),
    ] {
        let errors = Place::with(&text(from, to)).load(&[]).unwrap_err();
        assert!(errors.iter().any(|error| error.contains(said)), "{to}: {errors:?}");
    }
}

#[test]
fn a_lookup_that_nothing_names_is_worth_a_second_look() {
    let config = Place::with(&text("{{ directory.phone }}", "{{ phone }}")).load(&[]).unwrap();
    assert!(config.warnings.iter().any(|warning| warning.contains("no template names it")), "{:?}", config.warnings);
}

#[test]
fn law_11_a_secret_of_a_lookup_makes_the_file_a_secret() {
    let source = "type = \"csv\"\npath = \"directory.csv\"";
    let given = "type = \"ldap\"\nurl = \"ldaps://a.example.com\"\nbase = \"dc=a\"\nbind_dn = \"cn=a\"\nbind_password = \"sesame\"";
    let place = Place::with("");
    place.file("config.toml", &text(source, given), 0o644);
    let errors = place.load(&[]).unwrap_err();
    assert!(errors.iter().any(|error| error.contains("only its owner may read this file")), "{errors:?}");
    assert!(!errors.iter().any(|error| error.contains("sesame")), "{errors:?}");
}
