//! Checks `[job.leavers]`, and who is protected from being one.

use jiff::tz::TimeZone;

use super::text;
use crate::config::raw::{RawJob, RawLeavers};
use crate::config::report::Report;
use crate::config::units;
use crate::mapping::{LeaverOptions, LeaverSet};
use crate::plan::{LeaverAction, Leavers};
use crate::record::Target;

const ACTIONS: &[(&str, LeaverAction)] =
    &[("keep", LeaverAction::Keep), ("update", LeaverAction::Update), ("delete", LeaverAction::Delete)];

pub(super) fn leavers(place: &str, raw: &RawLeavers, target: Option<Target>, report: &mut Report) -> Leavers {
    let at = |key: &str| format!("{place}.{key}");
    let defaults = Leavers::default();
    let grace = text::parsed(&at("grace"), raw.grace.as_deref(), text::DURATION_HINT, report, units::duration);
    let grace_reads = text::number(&at("grace_reads"), raw.grace_reads, (0, 1000), report);
    let action = text::choice(&at("action"), raw.action.as_deref(), ACTIONS, report);
    if target == Some(Target::Organization) && action == Some(LeaverAction::Delete) {
        let message = "\"delete\" can't be done: the API has no operation that removes an organization";
        report.problem(&at("action"), message, Some("use \"keep\", or \"update\" to set its status"));
    }
    Leavers {
        action: action.unwrap_or(defaults.action),
        grace: grace.unwrap_or(defaults.grace),
        grace_reads: grace_reads.unwrap_or(defaults.grace_reads),
    }
}

/// Checks what is set in leavers of the job at `place`.
pub(super) fn set(
    place: &str,
    raw: &RawJob,
    action: LeaverAction,
    target: Target,
    time_zone: &TimeZone,
    report: &mut Report,
) -> LeaverOptions {
    let at = |key: &str| format!("{place}.{key}");
    let (section, given) = (at("leavers.set"), &raw.leavers.set);
    let mut options = LeaverOptions {
        target,
        fields: given.clone(),
        tables: raw.values.clone(),
        mapped: raw.map.keys().cloned().collect(),
        time_zone: time_zone.clone(),
    };
    if given.is_empty() && action == LeaverAction::Update {
        let hint = "name the fields to set in [job.leavers.set], such as title = \"Left {{ left }}\"";
        report.problem(&at("leavers.action"), "\"update\" sets nothing without [job.leavers.set]", Some(hint));
    }
    for error in LeaverSet::compile(&options).err().unwrap_or_default() {
        let position = error.at.map(|(line, column)| format!(" (line {line}, column {column} of the template)"));
        report.problem(&at(&error.place), format!("{}{}", error.reason, position.unwrap_or_default()), None);
    }
    if given.contains_key(Target::PHOTO) {
        let message = "a photo can't be set for a person who has no row";
        report.problem(&format!("{section}.photo"), message, Some("leave it out"));
    }
    if action != LeaverAction::Update {
        if !given.is_empty() {
            report.warning(&section, "is not used", Some("it needs action = \"update\""));
        }
        options.fields.clear();
    }
    for name in options.fields.keys() {
        if target.field(name).is_some() && (!raw.map.contains_key(name) || raw.seed_only.iter().any(|own| own == name))
        {
            let message = "stays as it is set when a person comes back, since the job does not own this field";
            report.warning(&format!("{section}.{name}"), message, Some("map it in [job.map] to have it set back"));
        }
    }
    options
}

pub(super) fn protect(place: &str, given: &[String], report: &mut Report) -> Vec<String> {
    if given.iter().any(|name| name.trim().is_empty()) {
        report.problem(place, "holds an empty text", Some("write keys or emails"));
    }
    given.to_vec()
}
