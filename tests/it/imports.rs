//! Guards the direction of imports: a module uses only modules above it in the list of `src/lib.rs`, the parts of
//! `src/reconcile` only those above them in a list of their own, and no two files import each other.

mod files;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use files::{Files, rings};
use rosterd::store::Keyspace;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Modules that are in other packages.
const OTHERS: [&str; 10] = ["clock", "crash", "fault", "file", "histogram", "http", "secret", "tls", "api", "sandbox"];

/// The modules of the crate in the order of `src/lib.rs`, those of other packages among them.
fn order() -> Vec<String> {
    let root = fs::read_to_string(source().join("lib.rs")).unwrap();
    let modules = root.lines().filter_map(|line| {
        let name =
            line.strip_prefix("pub mod ").or_else(|| line.strip_prefix("pub use rosterd_"))?.strip_suffix(';')?;
        let name = name.split_once(" as ").map_or(name, |(_, name)| name);
        let names = name.split_once('{').map_or(name, |(_, names)| names.trim_end_matches('}'));
        Some(names.split(", ").map(str::to_owned).collect::<Vec<_>>())
    });
    modules.flatten().collect()
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The modules of the crate that a text names by `crate::`, comments apart; the braces of `use crate::{…}` included.
fn named(text: &str) -> Vec<String> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with('$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => names.push(word(rest)),
            Some(group) => {
                let mut depth = 1;
                let mut start = true;
                for (at, character) in group.char_indices() {
                    match character {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 1 => start = true,
                        c if c.is_whitespace() => continue,
                        _ if start && depth == 1 => {
                            names.push(word(&group[at..]));
                            start = false;
                        }
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
        }
    }
    names
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// What is wrong with the imports of `text` in module `own`.
fn fault(own: &str, text: &str, order: &[String]) -> Option<String> {
    let place = |name: &str| order.iter().position(|module| module == name);
    let own_place = place(own)?;
    named(text)
        .into_iter()
        .find(|name| place(name).is_some_and(|other| other > own_place))
        .map(|name| format!("{own} uses {name}, which stands below it"))
}

#[test]
fn a_module_uses_only_modules_above_it() {
    let order = order();
    let mut all = Vec::new();
    sources(&source(), &mut all);
    let mut faults = Vec::new();
    let mut modules = std::collections::BTreeSet::new();
    for file in all {
        let inside = file.strip_prefix(source()).unwrap();
        let first = inside.components().next().unwrap().as_os_str().to_string_lossy();
        let own = first.trim_end_matches(".rs").to_owned();
        if own == "lib" || own == "main" {
            continue;
        }
        assert!(order.contains(&own), "{} is in no module of lib.rs", file.display());
        let text = fs::read_to_string(&file).unwrap();
        faults.extend(fault(&own, &text, &order).map(|fault| format!("{}: {fault}", inside.display())));
        modules.insert(own);
    }
    let own: Vec<_> = order.iter().filter(|name| !OTHERS.contains(&name.as_str())).collect();
    assert_eq!(modules.len(), own.len(), "every module of lib.rs was looked at");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_guard_notices_an_import_that_points_down() {
    let order: Vec<String> = ["record", "plan", "cli"].map(str::to_owned).to_vec();
    for (own, text, wrong) in [
        ("plan", "use crate::record::Key;", false),
        ("plan", "use crate::cli::Ui;", true),
        ("plan", "use crate::{record::{Key, Value}, cli::Ui};", true),
        ("record", "fn f() { crate::plan::decide() }", true),
        ("record", "// crate::plan is elsewhere", false),
        ("cli", "use crate::{record, plan};", false),
    ] {
        assert_eq!(fault(own, text, &order).is_some(), wrong, "{text}");
    }
}

/// The parts of `src/reconcile` in order: each uses only what stands in a line above its own, and its own files.
const RECONCILE: [&[&str]; 11] = [
    &["model", "restored_state"],
    &["account", "approval", "freshness", "pause", "report", "unconfigured"],
    &["collect", "dropped"],
    &["commit", "mirrors", "photos", "started_run", "tenure"],
    &["correlate", "push_session"],
    &["leavers"],
    &["plan"],
    &["run_job"],
    &["inbox"],
    &["retention"],
    &["jobs"],
];

#[test]
fn no_two_files_import_each_other() {
    let mut found = Vec::new();
    for package in ["crates/client/src", "crates/sandbox/src", "src"] {
        let imports = Files::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(package)).imports();
        assert!(imports.values().any(|imported| !imported.is_empty()), "{package} was looked at");
        let named = |ring: Vec<String>| ring.iter().map(|file| format!("{package}/{file}")).collect::<Vec<_>>();
        found.extend(rings(&imports).into_iter().map(named));
    }
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_part_of_a_run_uses_only_parts_above_it() {
    let place = |file: &str| {
        let part = file.strip_prefix("reconcile/")?.split('/').next()?;
        let line = RECONCILE.iter().position(|line| line.contains(&part));
        (part != "mod").then(|| (line.unwrap_or_else(|| panic!("{part} has no place in the order")), part.to_owned()))
    };
    let mut faults = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (file, imported) in Files::read(&source()).imports() {
        let Some((line, part)) = place(&file) else { continue };
        let is_below = |other: &&String| place(other).is_some_and(|(other, name)| name != part && other >= line);
        faults.extend(
            imported.iter().filter(is_below).map(|other| format!("{file} uses {other}, which is not above it")),
        );
        seen.insert(part);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(seen.len(), RECONCILE.concat().len(), "every part of the order is there");
}

#[test]
fn rings_are_seen_through_what_a_folder_shows_and_in_paths_of_code() {
    for (one, other, is_ring) in [
        ("use super::b::B;\npub struct A;", "use super::a::A;\npub struct B;", true),
        ("use super::b::B;\npub struct A;", "pub struct B;", false),
        ("use crate::{b::B};\npub struct A;", "use crate::shown::A;\npub struct B;", true),
        ("use crate::b::B;\npub struct A;", "use crate::shown;\npub struct B;\nfn f() { shown::A }", true),
        ("use crate::b::B;\npub struct A;", "pub struct B;\nfn f() { super::shown::A }", true),
        ("fn f() { crate::b::B }\npub struct A;", "use crate::a::{self, A as Other};\npub struct B;", true),
        ("use crate::b::B;", "// crate::a::A is elsewhere\npub struct B;", false),
        ("use crate::b::B;", "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}", false),
    ] {
        let files = [("a", one), ("b", other), ("shown/mod", "pub use crate::a::A;")];
        assert_eq!(rings(&Files::of(&files).imports()).len(), usize::from(is_ring), "{one}\n{other}");
    }
}

/// The keyspaces that the files of `src` use outside the store, and where; each file names one only to make its table.
fn tables() -> BTreeMap<String, Vec<PathBuf>> {
    let mut all = Vec::new();
    sources(&source(), &mut all);
    let mut tables: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in all.iter().filter(|file| !file.starts_with(source().join("store"))) {
        let text = fs::read_to_string(file).unwrap();
        for (at, _) in text.match_indices("Keyspace::") {
            let space = word(&text[at + "Keyspace::".len()..]);
            assert!(text[..at].ends_with("= Table::new("), "{} uses {space} for more than its table", file.display());
            tables.entry(space).or_default().push(file.clone());
        }
    }
    tables
}

#[test]
fn each_kind_of_row_has_one_table_and_is_named_nowhere_else() {
    let mut tables = tables();
    for space in Keyspace::ALL.iter().filter(|space| **space != Keyspace::Meta) {
        let files = tables.remove(&format!("{space:?}")).unwrap_or_default();
        assert_eq!(files.len(), 1, "{space:?} in {files:?}");
    }
    assert!(tables.is_empty(), "{tables:?}");
}
