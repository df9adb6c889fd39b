//! Which tests keep their state in a folder wherever the others keep theirs: those that are about a folder. The list grows only
//! where someone writes it.

use std::collections::BTreeSet;

use super::{files, read, root, writes};

const LIST: &str = "tests/it/folder_only.txt";
/// What a test, or what lays out its world, says of it.
const MARK: &str = ".in_a_folder(";

/// A function that is not inside another one.
struct Function<'a> {
    name: &'a str,
    body: &'a str,
    is_test: bool,
}

fn functions(text: &str) -> Vec<Function<'_>> {
    let items = text.split_inclusive("\n}\n");
    let function = |body| {
        let (head, rest) = split_at_fn(body)?;
        let name = rest.split(['(', '<']).next().unwrap_or_default();
        Some(Function { name, body, is_test: head.contains("#[test]") })
    };
    items.filter_map(function).collect()
}

/// What stands before the first function of an item, and from its name on.
fn split_at_fn(item: &str) -> Option<(&str, &str)> {
    let at = ["\nfn ", "\npub(crate) fn ", "\npub(super) fn "]
        .iter()
        .filter_map(|begin| Some(item.find(begin)? + begin.len()))
        .min()?;
    Some(item.split_at(at))
}

/// Whether a text calls a function of that name.
fn calls(text: &str, name: &str) -> bool {
    let call = format!("{name}(");
    text.match_indices(&call)
        .any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.'))
}

/// The tests of a file that say it, or call what does, each with what it is about.
fn of_a_folder(text: &str) -> Vec<String> {
    let functions = functions(text);
    let mut marked: BTreeSet<&str> =
        functions.iter().filter(|function| function.body.contains(MARK)).map(|function| function.name).collect();
    loop {
        let more: Vec<&str> = functions
            .iter()
            .filter(|function| !marked.contains(function.name))
            .filter(|function| marked.iter().any(|name| calls(function.body, name)))
            .map(|function| function.name)
            .collect();
        if more.is_empty() {
            break;
        }
        marked.extend(more);
    }
    let tests = functions.iter().filter(|function| function.is_test && marked.contains(function.name));
    tests.map(|function| function.name.to_owned()).collect()
}

#[test]
fn every_test_that_is_about_a_folder_alone_is_listed() {
    let mut listed = String::new();
    for file in files("tests/it", "rs").iter().filter(|file| !file.ends_with("book/folders.rs")) {
        let text = read(file);
        let tests = of_a_folder(&text);
        assert!(!tests.is_empty() || !text.contains(MARK), "{file}: a mark, and no test that has it");
        for test in tests {
            listed += &format!("{} {test}\n", file.trim_start_matches("tests/it/"));
        }
    }
    if writes() {
        std::fs::write(root().join(LIST), &listed).unwrap();
    }
    assert_eq!(read(LIST), listed, "ROSTERD_WRITE_DOCS=1 writes {LIST}");
    assert!(listed.lines().count() > 10);
}
