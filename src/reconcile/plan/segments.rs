//! How many people each segment of a job holds.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::config::Job;
use crate::plan::{Base, Guarded, Judged, guard_segments};
use crate::reconcile::model::row_segments::RowSegments;
use crate::record::RowMetadata;
use crate::snapshot::{Left, SYNCED};
use crate::store::{self, Store};

/// What counts of a remembered person.
#[derive(Deserialize)]
struct Counted {
    #[serde(default)]
    marks: RowMetadata,
    #[serde(default)]
    left: Option<Left>,
}

/// Puts the limits of the segments on what the limits of the whole let pass. `lately` are those who left in the last 24 hours. People
/// are counted only where something is to be judged.
pub(crate) fn guard(
    guarded: &mut Guarded<impl Judged>,
    job: &Job,
    store: &Store,
    RowSegments { matched, settled }: &RowSegments,
    lately: &[RowMetadata],
) -> Result<(), store::Error> {
    let mut judged = guarded.go.iter().filter(|change| !change.is_approved() && !change.segment().is_empty());
    if job.mapping.segment.is_none() || judged.next().is_none() {
        return Ok(());
    }
    let mut bases: BTreeMap<String, Base> = BTreeMap::new();
    // Whose row is there counts where it is now, not where it was.
    let held = guarded.held.iter().filter_map(|held| held.change.as_ref());
    let changed = guarded.go.iter().chain(held).filter(|change| change.is_known());
    let settled = settled.iter().map(|(key, segment)| (key.as_str(), segment.as_str()));
    let moved: BTreeMap<&str, &str> =
        settled.chain(changed.map(|change| (change.key().as_str(), change.segment()))).collect();
    SYNCED.of::<Counted>().each(store, &job.name, |key, Counted { marks, left }| {
        // A first run remembers the people that it matches while it runs.
        if left.is_none() && !matched.contains_key(&key) {
            let segment = moved.get(key.as_str()).map_or(marks.segment, |segment| (*segment).to_owned());
            bases.entry(segment).or_default().known += 1;
        }
    })?;
    for segment in matched.values() {
        bases.entry(segment.clone()).or_default().matched += 1;
    }
    for marks in lately {
        bases.entry(marks.segment.clone()).or_default().removed += 1;
    }
    guard_segments(guarded, &job.limits, &bases);
    Ok(())
}
