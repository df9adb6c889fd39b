//! Walking a list to its end: the one written stop rule.

use jiff::Timestamp;

use super::call::Query;
use super::client::Client;
use super::error::{Error, Kind};
use super::resource::{Api, Walkable};
use crate::record::RemoteId;

/// The most pages that a walk reads; with pages of 100 that is two million entities.
const PAGES_MAX: u32 = 20_000;

/// A page is not halved below this after a time-out.
const PAGE_SIZE_MIN: u32 = 50;

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page<R> {
    /// What it holds, perhaps nothing.
    Items(Vec<R>),
    /// Nothing changed since the time given (304).
    NotModified,
    /// The service says that there is nothing (404); what that means depends on what was asked.
    Absent,
}

/// A walk that reached its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// The `Date` of the first answer: the service's clock when the walk began.
    pub date: Option<Timestamp>,
    /// How many entities were visited.
    pub entities: u64,
    /// How many pages were asked for; repeats after a failure are not in it.
    pub requests: u64,
    /// Whether an unfiltered list said 404 at once: empty where it was empty before, else a fault (law 1).
    pub listed_nothing_by_404: bool,
}

/// Visits every entity of a list, page by page, in order of id.
///
/// Ends at an empty page, or a 404 on a later page or a delta, or a 304 on a delta; never at a short page, since the
/// service may clamp the limit. A page that is not in ascending order of id above the cursor is an error, for then
/// nobody knows what was left out. Only `Ok` proves that the list was read to its end.
pub async fn walk<R: Walkable>(
    client: &Client,
    since: Option<Timestamp>,
    mut visit: impl FnMut(Vec<R>),
) -> Result<Walked, Error> {
    let mut walked = Walked { date: None, entities: 0, requests: 0, listed_nothing_by_404: false };
    let mut cursor: Option<RemoteId> = None;
    let mut size = client.page_size();
    for _ in 0..PAGES_MAX {
        let query = Query { since, order_by_id: true, limit: Some(size), id_above: cursor };
        let answered = match client.send(Api::<R>::root().page(&query)).await {
            Err(Error { kind: Kind::TimeOut { .. }, .. }) if size > PAGE_SIZE_MIN => {
                size = (size / 2).max(PAGE_SIZE_MIN);
                continue;
            }
            answered => answered?,
        };
        if walked.requests == 0 {
            walked.date = answered.date;
        }
        walked.requests += 1;
        let items = match answered.value {
            Page::Items(items) => items,
            Page::NotModified => return Ok(walked),
            Page::Absent => {
                walked.listed_nothing_by_404 = since.is_none() && cursor.is_none();
                return Ok(walked);
            }
        };
        match advance(cursor, items.iter().map(|item| item.id())) {
            Ok(None) => return Ok(walked),
            Ok(last) => cursor = last,
            Err(rule) => return Err(Error::new(R::LIST.name, Kind::Lying { rule })),
        }
        walked.entities += items.len() as u64;
        visit(items);
    }
    Err(Error::new(R::LIST.name, Kind::TooManyPages { limit: PAGES_MAX }))
}

/// The cursor after a page; `None` at the end.
fn advance(cursor: Option<RemoteId>, ids: impl Iterator<Item = RemoteId>) -> Result<Option<RemoteId>, &'static str> {
    let mut last = None;
    for id in ids {
        if cursor.is_some_and(|cursor| id <= cursor) {
            return Err("a page holds an id that lies before it: the filter id> was ignored");
        }
        if last.is_some_and(|last| id <= last) {
            return Err("a page is not in order of id, or holds one twice");
        }
        last = Some(id);
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_1_a_cursor_that_does_not_grow_is_an_error() {
        let id = |number: i64| RemoteId::new(number).unwrap();
        let check = |cursor: Option<i64>, ids: &[i64], expected: Result<Option<i64>, ()>| {
            let advanced = advance(cursor.map(id), ids.iter().copied().map(id));
            assert_eq!(
                advanced.map(|last| last.map(|id| i64::from(id.get()))).map_err(drop),
                expected,
                "{cursor:?} {ids:?}"
            );
        };
        check(None, &[], Ok(None));
        check(None, &[1, 2, 9], Ok(Some(9)));
        check(Some(9), &[10], Ok(Some(10)));
        check(Some(9), &[], Ok(None));
        check(Some(9), &[9, 10], Err(()));
        check(Some(9), &[1, 2, 9], Err(()));
        check(None, &[2, 1], Err(()));
        check(None, &[1, 1], Err(()));
    }
}
