//! A narrowed run of a job with parts: the keys are those of its people, and each part has its own.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::collected_rows::CollectedRows;
use super::rows;
use crate::config::Job;
use crate::reconcile::model::context::{Context, KeyFilter};
use crate::reconcile::model::error::Error;
use crate::record::Key;
use crate::snapshot::Index;

impl KeyFilter {
    /// The keys that are in no row, as far as that is known, and not in the index either.
    pub(crate) fn unknown(&self, gathered: &CollectedRows, index: &Index) -> BTreeSet<Key> {
        let mut unknown = self.keys.clone();
        unknown.retain(|key| index.by_key(key.as_str()).is_none() && !gathered.left.contains_key(key));
        if !unknown.is_empty() {
            gathered.candidates.iter().for_each(|one| _ = unknown.remove(&one.key));
            gathered.rejected.iter().filter_map(|row| row.key.as_ref()).for_each(|key| _ = unknown.remove(key));
        }
        unknown
    }
}

/// The parts of a job, each narrowed to what belongs to the people asked for; parts with nothing of it are left out.
pub(crate) fn narrowed<'j>(
    context: &Context<'_>,
    job: &'j Job,
    narrow: &KeyFilter,
) -> Result<Vec<(&'j Job, KeyFilter)>, Error> {
    let mut narrowed = Vec::new();
    for part in job.parts() {
        if !narrow.is_narrow() || part.name == job.name {
            narrowed.push((part, narrow.clone()));
            continue;
        }
        // Both mappings read each row: what the row's person is called, and what the part is.
        let (people, mapping) = (rows::mapping(job), rows::mapping(part));
        let mut asked: Vec<u64> = Vec::new();
        rows::read(context, job, &people, None, &mut |row, bound| {
            if bound.read(row, None).key().is_some_and(|key| narrow.has(key)) {
                asked.push(row.line);
            }
            ControlFlow::Continue(())
        })?;
        let mut own = KeyFilter::default();
        rows::read(context, part, &mapping, None, &mut |row, bound| {
            if asked.contains(&row.line) {
                own.keys.extend(bound.read(row, None).key().cloned());
            }
            ControlFlow::Continue(())
        })?;
        if own.is_narrow() {
            narrowed.push((part, own));
        }
    }
    Ok(narrowed)
}
