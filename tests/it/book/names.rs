//! Names of types: few have more than one meaning, so that a reader knows which of them is meant.

use std::collections::BTreeMap;

use super::{files, read};

/// So many types may have one name.
const MEANINGS_MAX: usize = 3;
/// What each module may call its own.
const OF_EACH_MODULE: [&str; 2] = ["Error", "Options"];

/// The type that a line declares; an associated type, which is indented, is none.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    let is_type = match words.next()? {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let name = words.next().filter(|_| is_type)?;
    name.split(|c: char| !c.is_alphanumeric()).next().filter(|name| !name.is_empty())
}

#[test]
fn declarations_are_found_and_associated_types_left_out() {
    for (line, name) in [
        ("struct Row;", Some("Row")),
        ("    pub(super) enum Kind<'a> {", Some("Kind")),
        ("pub(crate) type Pages = Vec<Page>;", Some("Pages")),
        ("    type Item = Row;", None),
        ("// struct Row", None),
        ("pub struct $name {", None),
        ("let row = Row {", None),
    ] {
        assert_eq!(declared(line), name, "{line}");
    }
}

#[test]
fn no_type_name_has_more_than_three_meanings() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let all = ["src", "crates"].iter().flat_map(|folder| files(folder, "rs"));
    for path in all.filter(|path| !path.contains("/tests/") && !path.ends_with("/tests.rs")) {
        for name in read(&path).lines().filter_map(declared) {
            places.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    assert!(places.len() > 500, "only {} types", places.len());
    places.retain(|name, paths| paths.len() > MEANINGS_MAX && !OF_EACH_MODULE.contains(&name.as_str()));
    assert!(places.is_empty(), "one name for many types: {places:#?}");
}
