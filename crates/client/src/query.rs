//! Typed queries of lists: only what the list's row of the table allows compiles.

use std::fmt;
use std::marker::PhantomData;

use jiff::Timestamp;

use crate::RemoteId;
use crate::asked::Asked;
use crate::filter::Filter;
use crate::resource::{Filterable, Limited, Ordered, Paged, Tracked};
use crate::wire::Member;
use crate::zone::TimeZone;

/// What is asked of a list of `R` (specification, Common behaviour). The default asks for everything, with times in UTC.
///
/// ```
/// use rosterd_client::{Filter, Operator, Query, Staff, TimeZone};
///
/// let filter = Filter::default().and("name", Operator::StartsWith, "An")?;
/// let query = Query::<Staff>::default().filter(filter).descending("created").limit(50).zone(TimeZone::PacificAuckland);
/// # Ok::<(), rosterd_client::FilterError>(())
/// ```
///
/// The list of zones takes no order:
///
/// ```compile_fail,E0277
/// use rosterd_client::{Query, Zone};
///
/// let query = Query::<Zone>::default().descending("created");
/// ```
pub struct Query<R> {
    pub(crate) asked: Asked,
    resource: PhantomData<fn() -> R>,
}

impl<R> Query<R> {
    /// Writes the times of the answer in a zone.
    pub fn zone(mut self, zone: TimeZone) -> Self {
        self.asked.zone = zone;
        self
    }

    /// Lists only what fits.
    pub fn filter(mut self, filter: Filter) -> Self
    where
        R: Filterable,
    {
        self.asked.filter = filter;
        self
    }

    /// Sorts by a field.
    pub fn ascending(mut self, field: &str) -> Self
    where
        R: Ordered,
    {
        self.asked.order = Some(field.to_owned());
        self
    }

    /// Sorts by a field, the highest first.
    pub fn descending(mut self, field: &str) -> Self
    where
        R: Ordered,
    {
        self.asked.order = Some(format!("-{field}"));
        self
    }

    /// Lists at most `limit` entities; the service may clamp it.
    pub fn limit(mut self, limit: u32) -> Self
    where
        R: Limited,
    {
        self.asked.limit = Some(limit);
        self
    }

    /// Lists the page of that number. Pages shift while entities come and go; a walk by id does not.
    pub fn page(mut self, page: u32) -> Self
    where
        R: Paged,
    {
        self.asked.page = Some(page);
        self
    }

    /// Lists only what was created or changed since then (If-Modified-Since; whole seconds).
    pub fn since(mut self, since: Timestamp) -> Self
    where
        R: Tracked,
    {
        self.asked.since = Some(since);
        self
    }
}

impl Query<Member> {
    /// Lists the member of that id alone.
    pub fn only(mut self, id: RemoteId) -> Self {
        self.asked.only = Some(id);
        self
    }
}

impl<R> Clone for Query<R> {
    fn clone(&self) -> Self {
        Self { asked: self.asked.clone(), resource: PhantomData }
    }
}

impl<R> Default for Query<R> {
    fn default() -> Self {
        Self { asked: Asked::default(), resource: PhantomData }
    }
}

impl<R> fmt::Debug for Query<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.asked.fmt(f)
    }
}
