//! The lists of laws and faults: every number that code and tests cite is explained, and every test that a list names is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{files, read, root, writes};

/// Faults that no single test is named after: `tests/crash` ends the program wherever they can strike.
const BY_CRASHES: [u32; 5] = [1, 2, 3, 5, 7];
/// So many files are named of a law.
const FILES_MAX: usize = 8;

/// What is cited of one list.
#[derive(Default)]
struct Cited {
    /// By number: the tests that have it in their name, each with its file.
    tests: BTreeMap<u32, BTreeSet<(String, String)>>,
    /// By number: a file that cites it.
    places: BTreeMap<u32, String>,
}

/// What is cited of the list whose entries are called `word`.
fn cited(word: &str) -> Cited {
    let mut cited = Cited::default();
    for file in ["src", "crates", "tests", "benches"].iter().flat_map(|folder| files(folder, "rs")) {
        for line in read(&file).lines() {
            let name = line.trim_start().split_once("fn ").and_then(|(_, rest)| rest.split_once('('));
            for number in name.map(|(name, _)| numbers(name, word)).unwrap_or_default() {
                let (name, _) = name.expect("a name had a number");
                cited.tests.entry(number).or_default().insert((name.to_owned(), file.clone()));
                cited.places.entry(number).or_insert_with(|| file.clone());
            }
            for number in said(line, word) {
                cited.places.entry(number).or_insert_with(|| file.clone());
            }
        }
    }
    assert!(cited.tests.len() > 10, "only {} of {word} are cited", cited.tests.len());
    cited
}

/// The numbers in the name of a test: `law_4_and_12_…`, `fault_38_40_…`.
fn numbers(name: &str, word: &str) -> Vec<u32> {
    let mut found = Vec::new();
    let mut inside = false;
    for part in name.split('_') {
        match part.parse() {
            Ok(number) if inside => found.push(number),
            _ => inside = part == word || (inside && part == "and"),
        }
    }
    found
}

/// The numbers in a comment: "law 4".
fn said(line: &str, word: &str) -> Vec<u32> {
    let Some((_, comment)) = line.split_once("//") else { return Vec::new() };
    let lower = comment.to_lowercase();
    let word = format!("{word} ");
    let parts = lower.split(word.as_str()).skip(1);
    parts.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()).collect()
}

/// The number of the entry that a line begins.
fn begins(line: &str) -> Option<u32> {
    match line.strip_prefix("## Law ") {
        Some(rest) => rest.split_once(':')?.0.parse().ok(),
        None => line.strip_prefix("- **")?.split_once("**")?.0.parse().ok(),
    }
}

/// The entries of a page, each with its text, and what stands before them as 0.
fn entries(page: &str) -> Vec<(u32, Vec<&str>)> {
    let mut entries = vec![(0, Vec::new())];
    for line in page.lines() {
        match begins(line) {
            Some(number) => entries.push((number, vec![line])),
            None if line.starts_with("## ") => entries.push((0, vec![line])),
            None => entries.last_mut().expect("there is a first").1.push(line),
        }
    }
    entries
}

/// The line that names the tests of an entry.
fn named(word: &str, number: u32, tests: &BTreeSet<(String, String)>) -> String {
    if word == "fault" {
        let names: BTreeSet<String> = tests.iter().map(|(name, _)| format!("`{name}`")).collect();
        return format!("  Tests: {}", names.into_iter().collect::<Vec<_>>().join(", "));
    }
    let mut by_file: BTreeMap<&str, usize> = BTreeMap::new();
    tests.iter().for_each(|(_, file)| *by_file.entry(file).or_default() += 1);
    let mut by_file: Vec<_> = by_file.into_iter().collect();
    by_file.sort_by_key(|(file, tests)| (usize::MAX - tests, *file));
    let names: Vec<String> = by_file.iter().take(FILES_MAX).map(|(file, _)| format!("`{file}`")).collect();
    format!("Tests: `law_{number}_`, most of them in {}.", names.join(", "))
}

/// A page with the tests of each entry at its end.
fn written(page: &str, word: &str, cited: &Cited) -> String {
    let mut text = String::new();
    for (number, lines) in entries(page) {
        let mut lines: Vec<String> = lines
            .into_iter()
            .filter(|line| number == 0 || !line.trim_start().starts_with("Tests: "))
            .map(str::to_owned)
            .collect();
        if let Some(tests) = cited.tests.get(&number) {
            let gaps = lines.iter().rev().take_while(|line| line.is_empty()).count();
            let end = lines.len() - gaps;
            let gap = (word == "law").then(String::new);
            lines.truncate(end);
            lines.extend(gap.into_iter().chain([named(word, number, tests)]));
            lines.extend((0..gaps.min(1)).map(|_| String::new()));
        }
        lines.iter().for_each(|line| text.extend([line, "\n"]));
    }
    format!("{}\n", text.trim_end())
}

/// The words in backquotes of the line that names an entry's tests.
fn promised<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let line = lines.iter().find(|line| line.trim_start().starts_with("Tests: "));
    line.map(|line| line.split('`').skip(1).step_by(2).collect()).unwrap_or_default()
}

fn check(path: &str, word: &str) {
    let cited = cited(word);
    if writes() {
        fs::write(root().join(path), written(&read(path), word, &cited)).unwrap();
    }
    let page = read(path);
    let entries = entries(&page);
    let listed: Vec<u32> = entries.iter().map(|(number, _)| *number).filter(|number| *number > 0).collect();
    assert_eq!(listed, (1..=listed.len() as u32).collect::<Vec<_>>(), "{path}: each number once, in order");
    let mut wrong = Vec::new();
    for (number, place) in cited.places.iter().filter(|(number, _)| !listed.contains(number)) {
        wrong.push(format!("{place} cites {word} {number}, which {path} does not have"));
    }
    for (number, lines) in entries.iter().filter(|(number, _)| *number > 0) {
        let tests = cited.tests.get(number).cloned().unwrap_or_default();
        let there = |name: &str| {
            tests.iter().any(|(test, file)| name == test || name == file) || name == format!("{word}_{number}_")
        };
        let promised = promised(lines);
        if promised.is_empty() && !(word == "fault" && BY_CRASHES.contains(number)) {
            wrong.push(format!("{path}: {word} {number} names no test"));
        }
        wrong
            .extend(promised.iter().filter(|name| !there(name)).map(|name| format!("{word} {number}: no test {name}")));
    }
    assert!(wrong.is_empty(), "{}\nROSTERD_WRITE_DOCS=1 writes the names of the tests", wrong.join("\n"));
}

#[test]
fn every_law_that_is_cited_is_listed_with_its_tests() {
    check("docs/laws.md", "law");
}

#[test]
fn every_fault_that_is_cited_is_listed_with_its_tests() {
    check("docs/faults.md", "fault");
}

#[test]
fn numbers_are_found_wherever_they_are_cited() {
    assert_eq!(numbers("law_4_and_12_photos_last", "law"), [4, 12]);
    assert_eq!(numbers("law_1_fault_38_40_45_a_listing", "fault"), [38, 40, 45]);
    assert_eq!(numbers("fault_54_of_250_requests", "fault"), [54]);
    assert_eq!(said("/// It waits (law 3, law 5).", "law"), [3, 5]);
    assert_eq!(said("let fault = 7;", "fault"), [0; 0]);
}
