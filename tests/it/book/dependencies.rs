//! The page of dependencies: each crate that one of the packages names has one row, and no other has.

use std::collections::BTreeSet;

use toml::Table;

use super::read;

/// The crates from elsewhere that a `Cargo.toml` names in any of its tables of dependencies.
fn named(manifest: &str) -> BTreeSet<String> {
    let manifest: Table = toml::from_str(manifest).unwrap();
    let targets = manifest.get("target").and_then(|target| target.as_table()).into_iter().flatten();
    let tables = targets.filter_map(|(_, target)| target.as_table()).chain([&manifest]);
    let kinds =
        tables.flat_map(|table| ["dependencies", "dev-dependencies", "build-dependencies"].map(|kind| table.get(kind)));
    let crates = kinds.flatten().filter_map(|kind| kind.as_table()).flatten();
    crates.filter(|(_, said)| said.get("path").is_none()).map(|(name, _)| name.clone()).collect()
}

/// The rows of the page: the crate, and its other cells.
fn rows(page: &str) -> Vec<(&str, Vec<&str>)> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(name, rest)| (name, rest.trim_end_matches('|').split('|').map(str::trim).collect())).collect()
}

#[test]
fn every_crate_that_a_package_names_has_its_reason() {
    let packages = ["Cargo.toml", "crates/client/Cargo.toml", "crates/sandbox/Cargo.toml"];
    let named: BTreeSet<String> = packages.iter().flat_map(|manifest| named(&read(manifest))).collect();
    assert!(named.len() > 40, "only {named:?}");
    let page = read("docs/dependencies.md");
    let rows = rows(&page);
    let listed: BTreeSet<String> = rows.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(listed.len(), rows.len(), "a crate has two rows");
    assert_eq!(listed, named, "docs/dependencies.md, and what the packages name");
    for (name, cells) in rows {
        assert!(cells.len() == 3 && cells.iter().all(|cell| !cell.is_empty()), "{name}: {cells:?}");
    }
}

#[test]
fn crates_are_found_in_every_table_and_packages_of_the_project_left_out() {
    let manifest = "[dependencies]\na = \"1\"\nown = { path = \"own\", version = \"1\" }\n[dev-dependencies]\nb.workspace = true\n\
                    [target.'cfg(unix)'.dependencies]\nc = { version = \"1\" }\n[package]\nname = \"d\"\n";
    assert_eq!(named(manifest), ["a", "b", "c"].map(str::to_owned).into());
}
