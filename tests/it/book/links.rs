//! Links lead somewhere, every page is found, the README is short, and map and glossary are complete.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::pages::{Page, pages};
use super::{read, root};

/// What is linked on a page: the targets of `[…](…)`, code apart.
fn links(page: &Page) -> Vec<String> {
    let prose = page.prose();
    let text: String = prose.split('`').step_by(2).collect();
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// The anchors of a page as forges and mdBook make them of its headings.
fn anchors(page: &Page) -> BTreeSet<String> {
    let heading =
        |line: &str| Some(line.trim_start_matches('#').trim().to_lowercase()).filter(|_| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    page.prose()
        .lines()
        .filter_map(heading)
        .map(|text| text.chars().filter(kept).collect::<String>())
        .map(|text| text.replace(' ', "-"))
        .collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let mut wrong = Vec::new();
    for page in &pages {
        for link in links(page).iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = Path::new(&page.path).parent().unwrap();
            let target = if file.is_empty() { PathBuf::from(&page.path) } else { plain(&folder.join(file)) };
            let found = pages.iter().find(|page| Path::new(&page.path) == target);
            let is_there = root().join(&target).is_file();
            let has_anchor = anchor.is_empty() || found.is_some_and(|page| anchors(page).contains(anchor));
            let stays = !page.path.starts_with("docs/") || target.starts_with("docs");
            if !(is_there && has_anchor && stays) {
                wrong.push(format!("{}: {link}", page.path));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "no such file or heading, or out of the book");
}

#[test]
fn every_page_is_in_the_summary() {
    let pages = pages();
    let summary = pages.iter().find(|page| page.path == "docs/SUMMARY.md").unwrap();
    let listed: BTreeSet<String> = links(summary).into_iter().map(|link| format!("docs/{link}")).collect();
    let book = pages.iter().map(|page| &page.path);
    let book: BTreeSet<String> =
        book.filter(|path| path.starts_with("docs/") && *path != "docs/SUMMARY.md").cloned().collect();
    assert_eq!(listed, book);
}

#[test]
fn the_readme_is_short_and_begins_with_what_this_is_and_two_commands() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= 200, "{} lines", readme.lines().count());
    let top: Vec<&str> = readme.lines().take(20).collect();
    for command in ["cargo run --release -- demo", "./tests/run"] {
        assert!(top.iter().any(|line| line.starts_with(command)), "{command}");
    }
}

#[test]
fn the_module_map_names_every_module() {
    let page = read("docs/ARCHITECTURE.md");
    let map: String = page.lines().filter(|line| line.starts_with("| `")).collect();
    let named: BTreeSet<&str> = map.split('`').skip(1).step_by(2).collect();
    let library = read("src/lib.rs");
    let modules = library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let missing: Vec<&str> = modules.filter(|module| !named.contains(module)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn the_glossary_defines_each_term_once() {
    let glossary = read("docs/glossary.md");
    let mut terms: Vec<&str> = glossary.split("**").skip(1).step_by(2).flat_map(|terms| terms.split(", ")).collect();
    assert!(terms.len() > 60, "only {} terms", terms.len());
    terms.sort_unstable();
    let twice: Vec<&[&str]> = terms.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert_eq!(twice, Vec::<&[&str]>::new());
}
