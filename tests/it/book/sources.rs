//! The pages of the sources.

use super::read;

/// What each of them has, in this order; more may stand between.
const SECTIONS: [&str; 4] = ["First configuration", "The proof that everyone was seen", "Credentials", "Troubles"];

#[test]
fn every_page_of_a_source_has_the_same_sections_in_the_same_order() {
    for page in ["csv", "workbooks", "https", "fetch", "ldap", "entra"] {
        let text = read(&format!("docs/{page}.md"));
        let headings = text.lines().filter_map(|line| line.strip_prefix("## "));
        let found: Vec<&str> = headings.filter(|heading| SECTIONS.contains(heading)).collect();
        assert_eq!(found, SECTIONS, "{page}");
        assert!(read("docs/sources.md").contains(&format!("({page}.md)")), "{page}");
    }
}
