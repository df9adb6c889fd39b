//! Selects the entities of a list: filter, order, limit and changes since a time.

use std::cmp::Ordering;
use std::ops::Bound;

use jiff::Timestamp;

use crate::answer::Rejection;
use crate::filter::{self, Term, Test};
use crate::resource::FieldKind;
use crate::row::EntityRow;
use crate::view::{Comparison, View};

/// Up to this number, changed entities are looked up by the time of their change, instead of walking over all there
/// are.
const FEW: usize = 10_000;

/// What is asked of a list.
#[derive(Debug, Default)]
pub(crate) struct Listing<'a> {
    pub(crate) filter: Option<&'a str>,
    pub(crate) order: Option<&'a str>,
    pub(crate) limit: Option<&'a str>,
    pub(crate) since: Option<Timestamp>,
    /// Which page of that size, counted from 1.
    pub(crate) page: Option<&'a str>,
    /// The most that is answered, whatever `limit` says.
    pub(crate) page_max: u32,
    pub(crate) scope: ListScope<'a>,
}

/// Which entities of the resource belong to a list at all.
#[derive(Debug, Default)]
pub(crate) enum ListScope<'a> {
    #[default]
    Everything,
    /// Those with this number in the field at a position.
    Of(usize, i64),
    /// Those of these ids.
    Ids(&'a [i64]),
}

/// A value to sort by; what has none comes first, as null does in most databases.
#[derive(PartialEq, PartialOrd)]
enum Sorted {
    Nothing,
    Number(f64),
    Time(Timestamp),
    Text(String),
}

/// Selects the entities of a page, in order.
pub(crate) fn select<'a>(view: &View<'a>, listing: &Listing<'_>) -> Result<Vec<&'a EntityRow>, Rejection> {
    let terms = listing.filter.map_or(Ok(Vec::new()), |text| filter::read(view, text))?;
    let limit = limit(listing)?;
    let skipped = skipped(listing, limit)?;
    let (position, descending) = order(view, listing.order)?;
    let fits = |row: &&EntityRow| {
        listing.scope.holds(row)
            && listing.since.is_none_or(|since| row.modified >= since)
            && terms.iter().all(|term| term.fits(view, row))
    };
    let rows = walked(view, listing, &terms);
    if matches!(view.resource.fields[position].kind, FieldKind::Id) {
        return Ok(if descending {
            rows.rev().filter(fits).skip(skipped).take(limit).collect()
        } else {
            rows.filter(fits).skip(skipped).take(limit).collect()
        });
    }
    let mut sorted: Vec<(Sorted, &EntityRow)> =
        rows.filter(fits).map(|row| (sort_value(view, row, position), row)).collect();
    sorted.sort_by(|(one, _), (other, _)| {
        let (one, other) = if descending { (other, one) } else { (one, other) };
        one.partial_cmp(other).unwrap_or(Ordering::Equal)
    });
    Ok(sorted.into_iter().skip(skipped).take(limit).map(|(_, row)| row).collect())
}

/// The entities that are looked at for a page: not those before it, nor many that didn't change.
fn walked<'a>(
    view: &View<'a>,
    listing: &Listing<'_>,
    terms: &[Term],
) -> Box<dyn DoubleEndedIterator<Item = &'a EntityRow> + 'a> {
    let after = highest_bound(view, terms);
    match listing.since.and_then(|since| view.changed_since(since, FEW)) {
        Some(changed) => Box::new(changed.into_iter().filter(move |row| row.id > after)),
        None => Box::new(view.rows().range((Bound::Excluded(after), Bound::Unbounded)).map(|(_, row)| row)),
    }
}

impl ListScope<'_> {
    fn holds(&self, row: &EntityRow) -> bool {
        match self {
            Self::Everything => true,
            Self::Of(position, id) => row.integer(*position) == Some(*id),
            Self::Ids(ids) => ids.contains(&row.id),
        }
    }
}

/// How many entities come before the page asked for.
fn skipped(listing: &Listing<'_>, limit: usize) -> Result<usize, Rejection> {
    match listing.page.map(str::parse::<usize>) {
        None => Ok(0),
        Some(Ok(page)) if page > 0 => Ok((page - 1).saturating_mul(limit)),
        Some(_) => Err(Rejection::bad("page takes a number above zero")),
    }
}

fn limit(listing: &Listing<'_>) -> Result<usize, Rejection> {
    let most = listing.page_max as usize;
    match listing.limit {
        None => Ok(most),
        Some(text) => match text.parse::<u64>() {
            Ok(limit) if limit > 0 => Ok(usize::try_from(limit).unwrap_or(most).min(most)),
            _ => Err(Rejection::bad("limit takes a number above zero")),
        },
    }
}

fn order(view: &View<'_>, text: Option<&str>) -> Result<(usize, bool), Rejection> {
    let text = text.unwrap_or("id");
    let (name, descending) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
    let position = view.position(name);
    let position =
        position.filter(|position| !matches!(view.comparison(*position), Comparison::Never | Comparison::Texts));
    Ok((
        position.ok_or_else(|| Rejection::bad("order takes the name of a field, with - before it to turn it round"))?,
        descending,
    ))
}

/// The highest `id>N` of the terms, so that a page is found without walking all before it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a float turns into the nearest integer, and the terms apply anyway"
)]
fn highest_bound(view: &View<'_>, terms: &[Term]) -> i64 {
    let is_id = |term: &Term| matches!(view.resource.fields[term.position].kind, FieldKind::Id);
    let bounds = terms.iter().filter(|term| is_id(term)).filter_map(|term| match term.test {
        Test::Number(Ordering::Greater, Some(number)) => Some(number.floor() as i64),
        _ => None,
    });
    bounds.max().unwrap_or(i64::MIN)
}

fn sort_value(view: &View<'_>, row: &EntityRow, position: usize) -> Sorted {
    match view.comparison(position) {
        Comparison::Number => view.number(row, position).map_or(Sorted::Nothing, Sorted::Number),
        Comparison::Time => view.time(row, position).map_or(Sorted::Nothing, Sorted::Time),
        _ => view.value(row, position).as_str().map_or(Sorted::Nothing, |text| Sorted::Text(text.to_lowercase())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::tables::STAFF;
    use crate::view::Sight;

    fn listed(listing: &Listing<'_>) -> Option<Vec<i64>> {
        viewed(|view| select(view, listing).ok().map(|rows| rows.iter().map(|row| row.id).collect()))
    }

    fn viewed<T>(look: impl FnOnce(&View<'_>) -> T) -> T {
        let store = Store::open(None).unwrap();
        let rows = [(1, "Cy"), (2, "ana"), (3, ""), (4, "Bo"), (9, "Ana")].map(|(id, name)| {
            let at = format!("2026-01-0{id}T00:00:00Z").parse().unwrap();
            let mut row = EntityRow::new(&STAFF, id, at);
            if !name.is_empty() {
                row.set(STAFF.position("name").unwrap(), name.into());
            }
            row
        });
        store.write().put(&STAFF, rows.into()).unwrap();
        let entities = store.read();
        let view = View::new(&STAFF, &entities, Sight::plain());
        look(&view)
    }

    #[test]
    fn a_page_is_filtered_ordered_and_limited() {
        for (filter, order, limit, expected) in [
            (None, None, None, Some(vec![1, 2, 3, 4, 9])),
            (None, Some("id"), Some("2"), Some(vec![1, 2])),
            (None, Some("-id"), Some("2"), Some(vec![9, 4])),
            (Some("id>2"), Some("id"), Some("2"), Some(vec![3, 4])),
            (Some("id>2"), Some("-id"), None, Some(vec![9, 4, 3])),
            (Some("id>9"), Some("id"), None, Some(vec![])),
            (Some("id>2.5"), None, None, Some(vec![3, 4, 9])),
            (Some("name%ana"), Some("id"), None, Some(vec![2, 9])),
            (None, Some("name"), None, Some(vec![3, 2, 9, 4, 1])),
            (None, Some("-name"), None, Some(vec![1, 4, 2, 9, 3])),
            (None, Some("-modified"), Some("1"), Some(vec![9])),
            (None, None, Some("0"), None),
            (None, None, Some("-1"), None),
            (None, None, Some("ten"), None),
            (None, Some("shoe"), None, None),
            (None, Some("tokens"), None, None),
            (Some("shoe:1"), None, None, None),
        ] {
            let listing = Listing { filter, order, limit, page_max: 100, ..Listing::default() };
            assert_eq!(listed(&listing), expected, "{listing:?}");
        }
    }

    #[test]
    fn a_limit_above_the_maximum_is_clamped_in_silence() {
        for limit in [None, Some("3"), Some("4"), Some("99999999999")] {
            let listing = Listing { limit, page_max: 3, ..Listing::default() };
            assert_eq!(listed(&listing), Some(vec![1, 2, 3]));
        }
    }

    #[test]
    fn a_page_follows_the_pages_before_it() {
        for (page, expected) in [
            (None, Some(vec![1, 2])),
            (Some("1"), Some(vec![1, 2])),
            (Some("3"), Some(vec![9])),
            (Some("4"), Some(vec![])),
            (Some("18446744073709551615"), Some(vec![])),
            (Some("0"), None),
            (Some("x"), None),
        ] {
            let listing = Listing { limit: Some("2"), page, page_max: 3, ..Listing::default() };
            assert_eq!(listed(&listing), expected, "{page:?}");
        }
    }

    #[test]
    fn a_page_of_many_walks_over_none_that_lie_before_it() {
        for (filter, walked_ids) in [("id>3", &[4, 9][..]), ("id>3,id>4", &[9]), ("name%ana", &[1, 2, 3, 4, 9])] {
            let ids: Vec<i64> = viewed(|view| {
                let terms = filter::read(view, filter).unwrap_or_else(|_| panic!("{filter}"));
                walked(view, &Listing::default(), &terms).map(|row| row.id).collect()
            });
            assert_eq!(ids, walked_ids, "{filter}");
        }
    }

    #[test]
    fn since_is_inclusive() {
        let since = Some("2026-01-04T00:00:00Z".parse().unwrap());
        assert_eq!(listed(&Listing { since, page_max: 9, ..Listing::default() }), Some(vec![4, 9]));
    }
}
