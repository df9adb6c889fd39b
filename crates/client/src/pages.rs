//! Walking a list to its end: the one written stop rule.

use std::collections::BTreeMap;

use futures_util::Stream;
use futures_util::stream::try_unfold;
use jiff::Timestamp;

use crate::RemoteId;
use crate::api::Api;
use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::filter::Filter;
use crate::page::Page;
use crate::query::Query;
use crate::resource::{Filterable, Limited, Placed, Root, Tracked, Walkable};

/// The most pages that a walk reads; with pages of 100 that is two million entities.
const PAGES_MAX: u32 = 20_000;

/// A list of fewer was not cut at a limit.
const CUT_MIN: usize = 50;
/// A page is not divided below this after a time-out.
const PAGE_SIZE_MIN: u32 = 50;
/// By how much a page is divided that took too long.
const DIVISOR: u32 = 4;
/// This number of time-outs in a row ends a walk, whatever the size of its pages: a list that does not come at all is
/// known to after that many times `timeout`. Each takes one of the run's retries, which bounds those of a walk that
/// goes on.
const TIME_OUTS_MAX: u32 = 3;

/// How far a walk came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// The `Date` of the first answer: the service's clock when the walk began.
    pub date: Option<Timestamp>,
    /// How many entities were visited.
    pub entities: u64,
    /// How many pages were asked for; repeats after a failure are not in it.
    pub requests: u64,
    /// Whether the list ended with a 404: that is how some lists say that there is nothing, or nothing more, and how a gateway
    /// says that it does not reach the service. Of a whole list that said so at once nothing may be concluded (law 1).
    pub ended_by_404: bool,
}

/// The pages of a list, in order of id.
///
/// They end at an empty page, or a 404 on a later page, a delta or a filtered list, or a 304 on a delta; never at a
/// short page, since the service may clamp the limit. A page that is not in ascending order of id above the cursor is
/// an error, because it is unknown what was left out. Only [`Pages::next`] with `Ok(None)` proves that the list was
/// read to its end.
#[derive(Debug)]
pub struct Pages<'c, R> {
    client: &'c Client,
    query: Query<R>,
    cursor: Option<RemoteId>,
    size: u32,
    left: u32,
    time_outs: u32,
    ended: bool,
    /// Whether an empty page is asked for once more, and whether that was done of the one at hand.
    is_careful: bool,
    was_asked_again: bool,
    walked: Walked,
}

impl<'c, R: Walkable> Pages<'c, R> {
    /// The pages of what fits `query`, whose order and page number are the walk's own to choose; its limit is the size of
    /// a page.
    pub fn new(client: &'c Client, query: Query<R>) -> Self {
        let walked = Walked { date: None, entities: 0, requests: 0, ended_by_404: false };
        let size = query.asked.limit.unwrap_or(client.page_size());
        let (is_careful, was_asked_again) = (false, false);
        Self {
            client,
            query,
            cursor: None,
            size,
            left: PAGES_MAX,
            time_outs: 0,
            ended: false,
            is_careful,
            was_asked_again,
            walked,
        }
    }

    /// Takes an empty page for the end only where it is empty twice. That is for a list of which nothing else is known: one false
    /// answer would have everything behind it made again (law 1).
    #[must_use]
    pub fn careful(self) -> Self {
        Self { is_careful: true, ..self }
    }

    /// The next page, or `None` at the end of the list. A page that takes too long is asked for again in parts.
    pub async fn next(&mut self) -> Result<Option<Vec<R>>, Error> {
        while !self.ended {
            self.left =
                self.left.checked_sub(1).ok_or_else(|| failed::<R>(ErrorKind::TooManyPages { limit: PAGES_MAX }))?;
            let answered = match self.client.send_page(Api::<R>::root().page(&self.asked())).await {
                Err(Error { kind: ErrorKind::TimeOut { .. }, .. }) if self.may_ask_again() => {
                    self.size = (self.size / DIVISOR).max(PAGE_SIZE_MIN.min(self.size));
                    continue;
                }
                answered => answered?,
            };
            self.time_outs = 0;
            if self.walked.requests == 0 {
                self.walked.date = answered.date;
            }
            self.walked.requests += 1;
            match answered.value {
                Page::Items(items) => {
                    let last = advance(self.cursor, items.iter().map(|item| item.id()))
                        .map_err(|rule| failed::<R>(ErrorKind::Lying { rule }))?;
                    if last.is_some() {
                        self.cursor = last;
                        self.was_asked_again = false;
                        self.walked.entities += items.len() as u64;
                        return Ok(Some(items));
                    }
                    if self.is_careful && !std::mem::replace(&mut self.was_asked_again, true) {
                        continue;
                    }
                }
                Page::NotModified => {}
                Page::Absent => self.walked.ended_by_404 = true,
            }
            self.ended = true;
        }
        Ok(None)
    }

    /// Visits each page, to the end of the list.
    pub async fn visit(mut self, mut visit: impl FnMut(Vec<R>)) -> Result<Walked, Error> {
        while let Some(page) = self.next().await? {
            visit(page);
        }
        Ok(self.walked)
    }

    /// How far the walk came.
    pub fn walked(&self) -> Walked {
        self.walked
    }

    /// The same as a stream, which ends after an error.
    pub fn stream(self) -> impl Stream<Item = Result<Vec<R>, Error>> + use<'c, R> {
        try_unfold(self, |mut pages| async move { Ok(pages.next().await?.map(|page| (page, pages))) })
    }

    fn asked(&self) -> Query<R> {
        let mut query = self.query.clone().ascending("id").limit(self.size);
        if let Some(cursor) = self.cursor {
            query.asked.filter = query.asked.filter.id_above(cursor);
        }
        query.asked.page = None;
        query
    }

    /// After a time-out.
    fn may_ask_again(&mut self) -> bool {
        self.time_outs += 1;
        self.time_outs < TIME_OUTS_MAX && self.client.take_retry()
    }
}

/// Visits every entity of a list, or all that was created or changed since a time; see [`Pages`].
pub async fn walk<R: Walkable + Tracked>(
    client: &Client,
    since: Option<Timestamp>,
    visit: impl FnMut(Vec<R>),
) -> Result<Walked, Error> {
    let query = Query::default();
    Pages::<R>::new(client, since.map_or(query.clone(), |since| query.since(since))).visit(visit).await
}

/// The entity of an id as a list shows it, which may be more than an operation that shows it alone does; `None` where the list
/// does not have it.
pub async fn listed<R: Walkable>(client: &Client, id: RemoteId) -> Result<Option<R>, Error> {
    let before = RemoteId::new(i64::from(id.get()) - 1);
    let filter = before.map(|before| Filter::default().id_above(before)).unwrap_or_default();
    let query = Query::<R>::default().ascending("id").limit(1).filter(filter);
    match client.send(Api::<R>::root().list(&query)).await {
        Ok(answered) => Ok(answered.value.into_iter().find(|one| one.id() == id)),
        Err(error) if error.code() == Some(404) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Lists all of what can't be ordered; `None` where the service says 404 at once, which is nothing or a fault (law 1).
///
/// A service may cut a list at a limit of its own without saying so: after a part of fifty entities or more, what lies
/// behind its highest id is asked for. Where more comes and the part before was not in order of id, it is unknown what was
/// left out, and that is an error.
pub async fn list_all<R>(client: &Client) -> Result<Option<Vec<R>>, Error>
where
    R: Filterable + Limited + Placed<Scope = Root>,
{
    let mut all: BTreeMap<RemoteId, R> = BTreeMap::new();
    let (mut cursor, mut was_ordered) = (None, true);
    for _ in 0..PAGES_MAX {
        let mut query = Query::<R>::default().limit(client.page_size());
        if let Some(cursor) = cursor {
            query = query.filter(Filter::default().id_above(cursor));
        }
        let part = match client.send(Api::<R>::root().list(&query)).await {
            Ok(answered) => answered.value,
            Err(error) if error.code() == Some(404) && cursor.is_none() => return Ok(None),
            Err(error) if error.code() == Some(404) => break,
            Err(error) => return Err(error),
        };
        let is_ordered = part.is_sorted_by_key(|one| one.id());
        let (count, known) = (part.len(), all.len());
        all.extend(part.into_iter().map(|one| (one.id(), one)));
        let is_more = all.len() > known;
        if cursor.is_some() && is_more && !was_ordered {
            let rule =
                "a list that is longer than one answer is not in order of id, so it is unknown what it leaves out";
            return Err(Error::new(R::LIST.name, ErrorKind::Lying { rule }));
        }
        if !is_more || count < CUT_MIN.min(client.page_size() as usize) {
            break;
        }
        (cursor, was_ordered) = (all.last_key_value().map(|(id, _)| *id), is_ordered);
    }
    Ok(Some(all.into_values().collect()))
}

fn failed<R: Walkable>(kind: ErrorKind) -> Error {
    Error::new(R::LIST.name, kind)
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
