//! Every block of TOML loads: as a whole file, or as what stands in the table that its fence names (`toml,job.map`); and every
//! field that can be mapped is named; every script is one that bash can read.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use rosterd::config::{Needs, load};
use rosterd::record::{FieldKind, Target};
use toml::{Table, Value};

use super::pages::{Block, pages};
use super::read;

/// The whole configuration into which a fragment is put.
const BASE: &str = r#"
[api]
base_url = "https://api.example.com/v1"
api_key_file = "secret"
[notify.mail]
to = ["it@example.com"]
from = "rosterd@example.com"
smtp = "smtps://mail.example.com"
[[job]]
name = "employees"
target = "staff"
key = "{{ employee_no }}"
match_on = ["employee_id", "email"]
values.site = { AKL = "Auckland Office", WLG = "Wellington Office" }
[job.source]
type = "csv"
path = "employees.csv"
[job.map]
name = "{{ name }}"
title = "{{ title }}"
email = "{{ email }}"
employee_id = "{{ employee_no }}"
"#;

/// Lays a table over another; a source of another kind takes the place of the one before.
fn lay(over: &mut Table, fragment: Table) {
    for (key, value) in fragment {
        match (over.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new))
                if old.get("type") == new.get("type") && !new.contains_key("url") || !new.contains_key("type") =>
            {
                lay(old, new);
            }
            (Some(Value::Array(old)), Value::Array(new)) if key == "job" => {
                let (Some(Value::Table(old)), Some(Value::Table(new))) = (old.first_mut(), new.into_iter().next())
                else {
                    panic!("jobs are tables")
                };
                // What the base maps is of another target.
                if new.contains_key("target") {
                    old.remove("map");
                    old.remove("match_on");
                }
                lay(old, new);
            }
            (_, value) => drop(over.insert(key, value)),
        }
    }
}

/// A value as it may be written on one line. Texts of JSON are texts of TOML.
fn written(value: &Value) -> String {
    match value {
        Value::Table(table) => {
            let pairs: Vec<String> =
                table.iter().map(|(key, value)| format!("{} = {}", serde_json::json!(key), written(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::String(text) => serde_json::json!(text).to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        _ => panic!("no key takes {value:?}"),
    }
}

/// The whole file of a block.
fn whole(block: &Block) -> Result<String, String> {
    let text = block.lines.join("\n");
    let Some(table) = block.info.strip_prefix("toml,") else { return Ok(text) };
    let above = match table.split_once('.') {
        Some(("job", _)) => format!("[[job]]\n[{table}]\n"),
        _ if table == "job" => "[[job]]\n".to_owned(),
        _ => format!("[{table}]\n"),
    };
    let fragment: Table = toml::from_str(&(above + &text)).map_err(|error| error.to_string())?;
    let mut base: Table = toml::from_str(BASE).unwrap();
    lay(&mut base, fragment);
    Ok(base.iter().map(|(key, value)| format!("{key} = {}\n", written(value))).collect())
}

#[test]
fn every_block_of_toml_loads() {
    let blocks: Vec<Block> = pages().iter().flat_map(|page| page.blocks()).collect();
    let mut wrong = Vec::new();
    let mut tried = 0;
    for block in blocks.iter().filter(|block| block.info.starts_with("toml")) {
        tried += 1;
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("secret", "sesame".to_owned()),
            ("database-password", "sesame".to_owned()),
            ("first-key", "one".to_owned()),
            ("second-key", "two".to_owned()),
            ("third-key", "three".to_owned()),
            ("rosterd.pem", include_str!("../../fixtures/certificates/client.pem").to_owned()),
            ("rosterd.key", include_str!("../../fixtures/certificates/client.key").to_owned()),
            ("config.toml", whole(block).unwrap_or_else(|error| error)),
        ] {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        if let Err(errors) = load(&dir.path().join("config.toml"), std::iter::empty(), Needs::Jobs) {
            wrong.push(format!("{}: {errors}", block.place));
        }
    }
    assert!(tried > 5, "only {tried} blocks");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_script_is_one() {
    let pages = pages();
    let scripts: Vec<Block> =
        pages.iter().flat_map(|page| page.blocks()).filter(|block| block.info == "bash").collect();
    assert!(scripts.len() > 2, "only {} scripts", scripts.len());
    for script in scripts {
        let parsed = Command::new("bash").args(["-n", "-c", &script.lines.join("\n")]).output().unwrap();
        assert!(parsed.status.success(), "{}: {}", script.place, String::from_utf8_lossy(&parsed.stderr));
    }
}

#[test]
fn the_page_of_the_mapping_names_every_field() {
    let page = read("docs/mapping.md");
    for target in Target::ALL {
        let begins = format!("| {} | ", target.name());
        let row = page.lines().find_map(|line| line.strip_prefix(&begins)).unwrap_or_else(|| panic!("no row {begins}"));
        let named: BTreeSet<String> = row.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        // What a membership joins is no matter of its row.
        let mapped = target.fields().filter(|field| field.kind != FieldKind::Link);
        assert_eq!(named, mapped.map(|field| field.name.to_string()).collect(), "{begins}");
    }
}
