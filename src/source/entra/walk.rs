//! A walk over the pages of one list: which page is next, and whether everyone was seen.

use std::collections::HashSet;

use reqwest::Url;
use xxhash_rust::xxh3::xxh3_128;

use super::error::EntraErrorKind;
use super::limits::{PAGES_MAX, USERS_MAX};
use super::page::{ListPage, id};

/// Why a count may not fit, though nothing is wrong.
const CHANGES: &str = "; where users were added or removed meanwhile, the next read fits";

/// What was seen of a list.
pub(super) struct Walk<'a> {
    /// The address that every page lies below.
    root: &'a Url,
    /// Of the first page: how many there are.
    count: Option<u64>,
    pages: usize,
    links: HashSet<u128>,
    ids: HashSet<u128>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(root: &'a Url) -> Self {
        Self { root, count: None, pages: 0, links: HashSet::new(), ids: HashSet::new() }
    }

    /// Takes a page; returns where the next one is, or `None` at the end.
    pub(super) fn take(&mut self, page: &ListPage) -> Result<Option<Url>, EntraErrorKind> {
        if self.pages == 0 {
            self.count = page.count;
        }
        self.pages += 1;
        self.ids.extend(page.value.iter().map(|object| xxh3_128(id(object).as_bytes())));
        if self.pages > PAGES_MAX || self.seen() > USERS_MAX {
            return Err(EntraErrorKind::TooMany);
        }
        let Some(link) = &page.next else { return Ok(None) };
        let next = Url::parse(link).map_err(|_| EntraErrorKind::Elsewhere { to: "no address".to_owned() })?;
        if !is_below(&next, self.root) {
            return Err(EntraErrorKind::Elsewhere { to: next.origin().ascii_serialization() });
        }
        match self.links.insert(xxh3_128(next.as_str().as_bytes())) {
            true => Ok(Some(next)),
            false => Err(EntraErrorKind::Loop),
        }
    }

    /// How many different objects came.
    pub(super) fn seen(&self) -> u64 {
        self.ids.len() as u64
    }

    /// Why the walk, which came to its end, does not prove that it saw everyone.
    pub(super) fn doubt(&self) -> Option<String> {
        let seen = self.seen();
        match self.count {
            Some(count) if count == seen => None,
            Some(count) => Some(format!("the service counted {count} users and showed {seen}{CHANGES}")),
            None => Some(format!("the service showed {seen} users and did not say how many there are (@odata.count)")),
        }
    }
}

/// Whether an address has the scheme, host and port of the root, and lies below its path.
fn is_below(next: &Url, root: &Url) -> bool {
    let folder = format!("{}/", root.path().trim_end_matches('/'));
    let has_login = !next.username().is_empty() || next.password().is_some();
    next.origin() == root.origin() && !has_login && next.path().starts_with(&folder)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(count: Option<u64>, ids: &[&str], next: Option<&str>) -> ListPage {
        let value: Vec<_> = ids.iter().map(|id| json!({ "id": id })).collect();
        let body = json!({ "@odata.count": count, "@odata.nextLink": next, "value": value });
        ListPage::parse(body.to_string().as_bytes()).unwrap()
    }

    const ROOT: &str = "https://graph.example.com/v1.0";

    #[test]
    fn law_1_everyone_was_seen_where_as_many_came_as_were_counted() {
        let next = Some("https://graph.example.com/v1.0/users?$skiptoken=1");
        let last = Some("https://graph.example.com/v1.0/users?$skiptoken=2");
        for (pages, doubt) in [
            (vec![page(Some(2), &["1", "2"], None)], None),
            (vec![page(Some(2), &["1"], next), page(None, &["2"], None)], None),
            (vec![page(Some(2), &["1"], next), page(None, &[], last), page(None, &["2"], None)], None),
            (vec![page(Some(2), &["1"], next), page(Some(9), &["2"], None)], None),
            (
                vec![page(Some(3), &["1", "2"], None)],
                Some(format!("the service counted 3 users and showed 2{CHANGES}")),
            ),
            (
                vec![page(Some(1), &["1", "2"], None)],
                Some(format!("the service counted 1 users and showed 2{CHANGES}")),
            ),
            (
                vec![page(Some(2), &["1", "1"], None)],
                Some(format!("the service counted 2 users and showed 1{CHANGES}")),
            ),
            (
                vec![page(None, &["1"], next), page(Some(2), &["2"], None)],
                Some("the service showed 2 users and did not say how many there are (@odata.count)".to_owned()),
            ),
        ] {
            let root = Url::parse(ROOT).unwrap();
            let mut walk = Walk::new(&root);
            let ends: Vec<bool> = pages.iter().map(|page| walk.take(page).unwrap().is_none()).collect();
            assert_eq!(ends.iter().position(|end| *end), Some(pages.len() - 1));
            assert_eq!(walk.doubt(), doubt);
        }
    }

    #[test]
    fn a_link_is_followed_only_below_the_configured_address() {
        let root = Url::parse(ROOT).unwrap();
        for (link, fits) in [
            ("https://graph.example.com/v1.0/users?$skiptoken=1", true),
            ("https://graph.example.com:443/v1.0/users?$skiptoken=1", true),
            ("http://graph.example.com/v1.0/users?$skiptoken=1", false),
            ("https://graph.example.com:8443/v1.0/users", false),
            ("https://graph.example.com.evil.example/v1.0/users", false),
            ("https://evil.example/v1.0/users", false),
            ("https://ana:x@graph.example.com/v1.0/users", false),
            ("https://graph.example.com/v1.0/../beta/users", false),
            ("https://graph.example.com/v1.0evil/users", false),
            ("/v1.0/users?$skiptoken=1", false),
        ] {
            let taken = Walk::new(&root).take(&page(Some(1), &["1"], Some(link)));
            assert_eq!(taken.is_ok(), fits, "{link}");
            let text = taken.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!text.contains("skiptoken") && !text.contains("ana"), "{text}");
        }
    }

    #[test]
    fn a_link_that_comes_twice_is_a_fault() {
        let root = Url::parse(ROOT).unwrap();
        let mut walk = Walk::new(&root);
        let next = Some("https://graph.example.com/v1.0/users?$skiptoken=1");
        walk.take(&page(Some(2), &["1"], next)).unwrap();
        assert!(matches!(walk.take(&page(None, &["2"], next)), Err(EntraErrorKind::Loop)));
    }
}
