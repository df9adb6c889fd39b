//! Comments and documents use plain words: none of those that the glossary rejects.

use super::{files, read};

const HEADING: &str = "## Words that we don't use";

/// The first cells of the table below the heading, in small letters; one cell may hold several words.
fn rejected() -> Vec<String> {
    let glossary = read("docs/glossary.md");
    let (_, table) = glossary.split_once(HEADING).expect("the glossary has the section");
    let rows =
        table.lines().skip_while(|line| !line.starts_with("| ---")).skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split(',')).map(|word| word.trim().to_lowercase()).collect()
}

/// How often a word is in a line, as a word of its own.
fn count(line: &str, word: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_own = |at: usize| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part);
    line.match_indices(word).filter(|(at, _)| is_own(*at)).count()
}

/// The comments of the packages and of all tests, and the documents without the table itself, as lines with their places.
fn lines() -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut add = |path: &str, text: &str, is_taken: fn(&str) -> bool| {
        let taken = text.lines().enumerate().filter(|(_, line)| is_taken(line));
        lines.extend(taken.map(|(at, line)| (format!("{path}:{}", at + 1), line.to_lowercase())));
    };
    for path in ["src", "crates", "tests", "benches"].iter().flat_map(|folder| files(folder, "rs")) {
        add(&path, &read(&path), |line| line.trim_start().starts_with("//"));
    }
    let top = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "config.example.toml"].map(str::to_owned);
    for path in files("docs", "md").into_iter().chain(top) {
        let text = read(&path);
        add(&path, text.split(HEADING).next().unwrap_or_default(), |_| true);
    }
    lines
}

#[test]
fn rejected_words_are_counted_as_whole_words() {
    for (line, word, times) in [
        ("/// nobody's, and nobody", "nobody", 2),
        ("nobody_but_its_owner", "nobody", 0),
        ("all but for one", "but for", 1),
        ("untold", "told", 0),
    ] {
        assert_eq!(count(line, word), times, "{line}");
    }
}

#[test]
fn words_that_the_glossary_rejects_are_not_used() {
    let words = rejected();
    assert!(words.len() > 10, "only {words:?}");
    let lines = lines();
    assert!(lines.len() > 10_000, "only {} lines", lines.len());
    let found = lines.iter().flat_map(|(place, line)| {
        words.iter().flat_map(move |word| std::iter::repeat_n(format!("{place} {word}"), count(line, word)))
    });
    let found: Vec<String> = found.collect();
    assert_eq!(found, [] as [String; 0]);
}
