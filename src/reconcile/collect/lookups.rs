//! One read of each lookup for all that a run wants of it, and what a run without one may do.
//!
//! A directory that is read as a lookup has a position of its own: a server that may be behind the one that was read before shows
//! old values, so nothing is known of its lookup. It is asked again in the next run, or believed by a person.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rows;
use crate::config::Job;
use crate::lookup::{self, Loaded, Lookup};
use crate::mapping::Mapping;
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::{JobState, LookupState};
use crate::record::JobName;
use crate::source::{LostLookup, ReplicaPosition};
use crate::text::counted;

/// The job with what its lookups hold now; `None` where it has none, or they were read.
pub(crate) fn loaded(context: &Context<'_>, job: &Job) -> Result<Option<Job>, Error> {
    if job.lookups.iter().all(|lookup| lookup.loaded.is_some()) {
        return Ok(None);
    }
    let state = JobState::load(context.store, &job.name)?;
    let mappings: Vec<Mapping> = job.parts().map(rows::mapping).collect();
    let mappings: Vec<&Mapping> = mappings.iter().collect();
    let is_named = |lookup: &Lookup| mappings.iter().any(|mapping| mapping.names_lookup(&lookup.name));
    let read = |lookup: &Lookup| {
        let before = state.lookups.get(&lookup.name);
        let known = before.and_then(|before| before.found.as_ref());
        let found =
            rows::accessed(context, known, |access| lookup::load(&lookup.name, &lookup.source, &mappings, access));
        let found = judged(&job.name, found, before);
        Lookup { loaded: Some(Arc::new(found)), ..lookup.clone() }
    };
    let lookups: Vec<Lookup> = job.lookups.iter().filter(|lookup| is_named(lookup)).map(read).collect();
    let part = |part: &Option<Box<Job>>| {
        part.as_ref().map(|part| Box::new(Job { lookups: lookups.clone(), ..Job::clone(part) }))
    };
    let (organizations, memberships) = (part(&job.organizations), part(&job.memberships));
    Ok(Some(Job { lookups, organizations, memberships, ..job.clone() }))
}

fn judged(job: &JobName, found: Loaded, before: Option<&LookupState>) -> Loaded {
    let Some(span) = &found.span else { return found };
    let (_, doubt) = before.map(|before| before.shown.of_lookup(span)).unwrap_or_default();
    match doubt.filter(|_| found.table.is_ok()) {
        Some(last) => {
            let reason = behind(job, &span.began, &last);
            found.doubted(reason)
        }
        None => found,
    }
}

fn behind(job: &JobName, now: &ReplicaPosition, last: &ReplicaPosition) -> String {
    let how = match now.is_behind(last) {
        true => "is behind what was read before: a replica that lags, or a directory from a backup",
        false => "does not show that it has seen all that was read before",
    };
    let job = job.root();
    format!("the server {} {how}; if the directory is right as it is: `rosterd approve {job} --server`", now.address)
}

/// What is to be remembered of the lookups of a run.
pub(crate) fn states(job: &Job, before: &JobState) -> BTreeMap<String, LookupState> {
    let state = |lookup: &Lookup| {
        let loaded = lookup.loaded.as_ref()?;
        let old = before.lookups.get(&lookup.name).cloned().unwrap_or_default();
        let shown = match &loaded.span {
            // A broken read shows how far a server is as well as a whole one, but not that it showed everybody.
            Some(span) if loaded.table.is_ok() || old.shown.of_lookup(span).1.is_some() => old.shown.of_lookup(span).0,
            _ => old.shown,
        };
        let found = if loaded.table.is_ok() { loaded.found.clone() } else { old.found };
        Some((lookup.name.clone(), LookupState { found, shown }))
    };
    job.lookups.iter().filter_map(state).collect()
}

/// By field: the lookup of which nothing is known.
pub(crate) fn withheld(mapping: &Mapping, lost: &[LostLookup]) -> BTreeMap<String, String> {
    let fields = |one: &LostLookup| {
        let name = one.name.clone();
        mapping.fields_of_lookup(&one.name).map(move |field| (field.name.to_string(), name.clone())).collect::<Vec<_>>()
    };
    lost.iter().flat_map(fields).collect()
}

/// What a run says of lookups of which nothing is known.
pub(crate) fn reasons(mapping: &Mapping, lost: &[LostLookup]) -> Vec<String> {
    let reason = |one: &LostLookup| {
        let fields: Vec<&str> = mapping.fields_of_lookup(&one.name).map(|field| field.name.as_str()).collect();
        let fields = fields.join(", ");
        format!(
            "nothing is taken from the lookup {}, so these fields stay as they are ({fields}): {}",
            one.name, one.reason
        )
    };
    lost.iter().map(reason).collect()
}

/// What else is worth knowing of lookups.
pub(crate) fn notes(job: &Job) -> Vec<String> {
    let note = |lookup: &Lookup| {
        let loaded = lookup.loaded.as_ref().filter(|loaded| loaded.keyless > 0)?;
        let rows = counted(usize::try_from(loaded.keyless).unwrap_or(usize::MAX), "row has", "rows have");
        Some(format!(
            "lookup {}: {rows} no key and {} left out",
            lookup.name,
            if loaded.keyless == 1 { "is" } else { "are" }
        ))
    };
    job.lookups.iter().filter_map(note).collect()
}
