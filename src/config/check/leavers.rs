//! Checks `[job.leavers]`, and who is protected from being one.

use super::mapping::{described, strange_field};
use super::section::{JobSection, Section};
use crate::mapping::{LeaverOptions, LeaverSet};
use crate::plan::{LeaverAction, Leavers};
use crate::record::Target;

const ACTIONS: &[(&str, LeaverAction)] =
    &[("keep", LeaverAction::Keep), ("update", LeaverAction::Update), ("delete", LeaverAction::Delete)];

pub(super) fn leavers(leavers: &Section<'_>, target: Option<Target>) -> Leavers {
    let defaults = Leavers::default();
    let grace = leavers.duration("grace");
    let grace_reads = leavers.number("grace_reads", (0, 1000));
    let action = leavers.choice("action", ACTIONS);
    if target == Some(Target::Organization) && action == Some(LeaverAction::Delete) {
        let message = "\"delete\" can't be done: the API has no operation that removes an organization";
        leavers.problem("action", message, Some("use \"keep\", or \"update\" to set its status"));
    }
    Leavers {
        action: action.unwrap_or(defaults.action),
        grace: grace.unwrap_or(defaults.grace),
        grace_reads: grace_reads.unwrap_or(defaults.grace_reads),
    }
}

/// Checks what is set in leavers of a job.
pub(super) fn set(job: &JobSection<'_>, action: LeaverAction, target: Target) -> LeaverOptions {
    let table = &job.table;
    let mut options = LeaverOptions {
        target,
        fields: table.section("leavers").texts("set"),
        tables: table.lookups("values"),
        mapped: job.map.keys().cloned().collect(),
        time_zone: job.time_zone.clone(),
    };
    if options.fields.is_empty() && action == LeaverAction::Update {
        let hint = "name the fields to set in [job.leavers.set], such as title = \"Left {{ left }}\"";
        table.problem("leavers.action", "\"update\" sets nothing without [job.leavers.set]", Some(hint));
    }
    let known = |name: &String| target.field(name).is_some();
    for name in options.fields.keys().filter(|name| !known(name)) {
        strange_field(table, &format!("leavers.set.{name}"), name, target);
    }
    let fields = options.fields.iter().filter(|(name, _)| known(name)).map(|(name, text)| (name.clone(), text.clone()));
    let of_fields = LeaverOptions { fields: fields.collect(), ..options.clone() };
    for error in LeaverSet::compile(&of_fields).err().unwrap_or_default() {
        table.problem(&error.place, described(&error), None);
    }
    let is_required = |name: &str| target.field(name).is_some_and(|field| field.required);
    for (name, _) in options.fields.iter().filter(|(name, text)| text.trim().is_empty() && is_required(name)) {
        table.problem(
            &format!("leavers.set.{name}"),
            "can't be empty at the service",
            Some("leave it out, or give it a text"),
        );
    }
    if options.fields.contains_key(Target::PHOTO) {
        let message = "a photo can't be set for a person who has no row";
        table.problem("leavers.set.photo", message, Some("leave it out"));
    }
    if action != LeaverAction::Update {
        if !options.fields.is_empty() {
            table.warning("leavers.set", "is not used", Some("it needs action = \"update\""));
        }
        options.fields.clear();
    }
    let is_owned = |name: &String| job.map.contains_key(name) && !job.seed_only.iter().any(|own| own == name);
    for name in options.fields.keys().filter(|name| target.field(name).is_some() && !is_owned(name)) {
        let message = "stays as it is set when a person comes back, since the job does not own this field";
        let hint = "map it in [job.map] to have it set back";
        table.warning(&format!("leavers.set.{name}"), message, Some(hint));
    }
    options
}

pub(super) fn protect(job: &Section<'_>) -> Vec<String> {
    let given: Vec<String> = job.list("protect");
    if given.iter().any(|name| name.trim().is_empty()) {
        job.problem("protect", "holds an empty text", Some("write keys or emails"));
    }
    given
}
