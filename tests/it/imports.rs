//! Guards the direction of imports: a module uses only modules above it in the list of `src/lib.rs`.

use std::fs;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Modules that are in other packages.
const OTHERS: [&str; 9] = ["clock", "crash", "fault", "file", "histogram", "secret", "tls", "api", "sandbox"];

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

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
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
    files(&source(), &mut all);
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
