//! What the configuration of a job says of fields and of people: worked out wherever it is needed.

use super::context::Context;
use super::job_state::JobState;
use crate::config::Job;
use crate::mapping::{LeaverSet, Mapping};
use crate::plan::Protection;
use crate::record::{Field, Target, normalize};
use crate::store;

/// The fields by which a person who holds something is found.
pub(crate) fn found_by(target: Target) -> &'static [&'static str] {
    match target {
        Target::Contractor => &["service_provider_id", "email"],
        _ => &["employee_id", "email"],
    }
}

/// The removal protection of all jobs together.
pub(crate) fn protection(context: &Context<'_>) -> Result<Protection, store::Error> {
    let mut people = Vec::new();
    for job in context.config.jobs.iter().filter(|job| !job.protect.is_empty()) {
        let mut last = JobState::load(context.store, &job.name)?.protects;
        people.extend(job.protect.iter().filter_map(|name| last.remove(&normalize(name))).flatten());
    }
    Ok(Protection::new(context.config.jobs.iter().flat_map(|job| &job.protect), people))
}

/// What is set in leavers, which the configuration was checked with.
pub(crate) fn leaver_set(job: &Job) -> LeaverSet {
    LeaverSet::compile(&job.leaver_set).expect("the configuration was checked with these very templates")
}

/// The fields that the job writes: those that it maps, and those that it sets in leavers.
pub(crate) fn written(job: &Job, mapping: &Mapping) -> Vec<Field> {
    let mut fields: Vec<Field> = mapping.fields().cloned().collect();
    for name in job.leaver_set.fields.keys().filter(|name| !job.mapping.fields.contains_key(*name)) {
        fields.extend(job.mapping.target.field(name));
    }
    fields
}
