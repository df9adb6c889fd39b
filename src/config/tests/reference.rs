//! The table of keys: its defaults are those of the program, and the reference is what it says.

use std::fmt::Write as _;
use std::path::Path;

use super::support::Place;
use crate::config::keys::{KNOWN, Key, Shape, tables};

const HEAD: &str = "# Reference of the configuration

Every key, made from the table by which the program checks a file. `config.example.toml` shows each in its place with more
words; `rosterd init` writes a first file. A key without a default is not set unless you set it. Unknown keys and bad values
are errors that name file, line and key (exit 2).

- A relative path begins at the folder of the file.
- A template is text with `{{ }}`, filled from one row; see [Mapping](mapping.md).
- A duration is a number with `s`, `m`, `h` or `d`, such as `\"90s\"`.
- A limit of the guard is a share (`\"2%\"`), a count (`5`) or `\"off\"`. No limit is below 3 people.
- An environment variable overrides a key of every table but `[[job]]` whose value is a text, a number or a list of texts:
  `ROSTERD__API__BASE_URL` is `base_url` of `[api]`.
";

/// The page, as the table says it.
fn page() -> String {
    let mut page = HEAD.to_owned();
    for (written, table, keys) in tables() {
        write!(page, "\n## `{written}`\n\n{}\n", table.about).unwrap();
        if !keys.is_empty() {
            page += "\n| key | value | default | what it says |\n| --- | --- | --- | --- |\n";
        }
        for Key { name, shape, default, about, .. } in keys {
            let name = name.rsplit('.').next().unwrap();
            let default = default.map(|default| format!("`{default}`")).unwrap_or_default();
            writeln!(page, "| `{name}` | {} | {default} | {about} |", shape.described()).unwrap();
        }
    }
    page
}

#[test]
fn the_reference_is_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    if std::env::var_os("ROSTERD_WRITE_DOCS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written == page(), "docs/configuration.md is another: ROSTERD_WRITE_DOCS=1 writes it");
}

const CSV: &str = r#"
[api]
base_url = "https://api.example.com/v1"
auth_url = "https://login.example.com"
client_id = "rosterd"
client_secret_file = "secret"
[state]
[control]
[status]
[notify]
[notify.mail]
to = ["it@example.com"]
from = "rosterd@example.com"
smtp = "smtps://mail.example.com"
[retention]
[[job]]
name = "employees"
target = "staff"
key = "{{ no }}"
[job.source]
type = "csv"
path = "hr.csv"
[job.map]
name = "{{ name }}"
email = "{{ email }}"
[job.leavers]
[job.guard]
"#;

/// The same with a key in the place of a client, and with an inbox, a directory or a tenant as the source.
fn bases() -> [String; 5] {
    let client = "auth_url = \"https://login.example.com\"\nclient_id = \"rosterd\"\nclient_secret_file = \"secret\"\n";
    let file = "type = \"csv\"\npath = \"hr.csv\"\n";
    let directory = "type = \"ldap\"\nurl = \"ldaps://ldap.example.com\"\nbase = \"dc=example,dc=com\"\n";
    let tenant = "type = \"entra\"\ntenant = \"example.com\"\nclient_id = \"app\"\nclient_secret_file = \"secret\"\n";
    [
        CSV.to_owned(),
        CSV.replace(client, "api_key_file = \"secret\"\n"),
        CSV.replace(file, "type = \"csv\"\npath = \"inbox\"\n"),
        CSV.replace(file, directory),
        CSV.replace(file, tenant),
    ]
}

#[test]
fn a_default_that_is_written_down_changes_nothing() {
    let bases = bases();
    let mut wrong = Vec::new();
    for (written, _, keys) in tables() {
        for Key { name, default, .. } in keys {
            let Some(default) = default else { continue };
            let line = format!("{written}\n{} = {default}\n", name.rsplit('.').next().unwrap());
            let same = bases.iter().filter(|base| {
                let place = Place::with(base);
                std::fs::create_dir(place.dir.path().join("inbox")).unwrap();
                let loaded = |text: &str| {
                    place.file("config.toml", text, 0o600);
                    let mut config = place.load(&[]).ok()?;
                    config.warnings.clear();
                    config.digest.clear();
                    Some(format!("{config:?}"))
                };
                let with = loaded(&base.replacen(&format!("{written}\n"), &line, 1));
                with.is_some() && with == loaded(base)
            });
            if same.count() == 0 {
                wrong.push(format!("{name}: {default} is not the default, or fits nowhere"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_key_says_what_it_does() {
    for Key { name, shape, default, about, .. } in KNOWN {
        let is_sentence = about.ends_with('.') && !about.contains('|') && about.len() > 8;
        assert!(is_sentence, "{name}: {about}");
        assert!(default.is_none() || !matches!(shape, Shape::Table | Shape::Tables | Shape::Named), "{name}");
    }
}

/// A key that is accepted and asked for nowhere would do nothing, in silence.
#[test]
fn every_key_is_asked_for() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/check");
    let files = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let checks: String = files.collect();
    let asked = |name: &str| checks.contains(&format!("\"{}\"", name.rsplit('.').next().unwrap()));
    let ignored: Vec<&str> = KNOWN.iter().map(|key| key.name).filter(|name| !asked(name)).collect();
    // The files of secrets are asked for by the names of their secrets.
    assert!(ignored.iter().all(|name| name.ends_with("_file")), "{ignored:?}");
}
