//! Checks what turns rows into records: key, map, include, look-up tables, and what records are matched by.

use jiff::tz::TimeZone;
use smol_str::SmolStr;

use super::text;
use crate::config::nearest;
use crate::config::raw::RawJob;
use crate::config::report::Report;
use crate::mapping::{Mapping, OnBadValue, Options};
use crate::record::{FieldKind, Target};

/// Fields of a person's presence: never changed by a sync (law 10).
const PRESENCE: &[&str] =
    &["onsite_status", "onsite", "cur_location", "cur_location_id", "zone", "zone_id", "signed_in", "signed_out"];

/// The fields that entities are matched by if `match_on` is not set, as far as they are mapped.
fn usual_match(target: Target) -> &'static [&'static str] {
    match target {
        Target::Staff => &["employee_id", "email"],
        Target::Contractor => &["service_provider_id", "email"],
        Target::Organization => &["legalid", "name"],
        Target::Membership | Target::Holder => &[Target::COMPOSITE],
    }
}

/// The usual fields that are mapped.
pub(super) fn default_match(target: Target, is_mapped: impl Fn(&str) -> bool) -> Vec<SmolStr> {
    let fields = usual_match(target).iter().filter(|name| is_mapped(name) || **name == Target::COMPOSITE);
    fields.map(|name| SmolStr::new_static(name)).collect()
}

/// Checks the mapping of the job at `place`, and gives it with the names of the fields to match by.
pub(super) fn check(
    place: &str,
    raw: RawJob,
    target: Target,
    optional: Vec<String>,
    time_zone: &TimeZone,
    report: &mut Report,
) -> Option<(Options, Vec<SmolStr>)> {
    let at = |key: &str| format!("{place}.{key}");
    check_fields(&at("map"), &raw, target, report);
    let match_on = match_on(&at("match_on"), &raw, target, report);
    let key = key(&at("key"), raw.key.as_deref(), target, report);
    const ON_BAD_VALUE: &[(&str, OnBadValue)] = &[("field", OnBadValue::Field), ("row", OnBadValue::Row)];
    let on_bad_value = text::choice(&at("on_bad_value"), raw.on_bad_value.as_deref(), ON_BAD_VALUE, report);
    let include = text::unless_empty(raw.include.as_deref()).map(str::to_owned);
    let all_known = raw.map.keys().all(|name| target.field(name).is_some());
    let fields = raw.map.into_iter().filter(|(name, _)| target.field(name).is_some()).collect();
    let key_template = key.clone().unwrap_or_default();
    let given = |text: &Option<String>| text::unless_empty(text.as_deref()).map(str::to_owned);
    let options = Options {
        target,
        prefix: "",
        key: key_template,
        joined: None,
        include,
        active_from: given(&raw.active_from),
        active_until: given(&raw.active_until),
        prefer: given(&raw.prefer),
        segment: given(&raw.guard.segment),
        fields,
        tables: raw.values,
        match_on: match_on.clone().unwrap_or_default(),
        on_bad_value: on_bad_value.unwrap_or_default(),
        optional,
        time_zone: time_zone.clone(),
    };
    // Templates are compiled in any case, so that their mistakes are reported together with the rest. A key that is
    // missing or is no template has been reported already.
    compile(place, &options, if key.is_some() { &[] } else { &["key"] }, report);
    (all_known && key.is_some()).then_some((options, match_on?))
}

/// Reports what is wrong with templates, except at places that have been reported already.
pub(super) fn compile(place: &str, options: &Options, reported: &[&str], report: &mut Report) {
    for error in Mapping::compile(options).err().unwrap_or_default() {
        if !reported.contains(&error.place.as_str()) {
            let position = error.at.map(|(line, column)| format!(" (line {line}, column {column} of the template)"));
            let message = format!("{}{}", error.reason, position.unwrap_or_default());
            report.problem(&format!("{place}.{}", error.place), message, None);
        }
    }
}

fn key(place: &str, given: Option<&str>, target: Target, report: &mut Report) -> Option<String> {
    const PERSON: &str = "name the column that identifies a person for ever, such as \"{{ employee_no }}\"";
    const ORGANIZATION: &str =
        "name the column that identifies an organization for ever, such as \"{{ company_number }}\"";
    const HOLDER: &str = "name what identifies a person's certification, such as \"{{ employee_no }}-{{ course }}\"";
    let hint = match target {
        Target::Staff | Target::Contractor => PERSON,
        Target::Organization => ORGANIZATION,
        Target::Membership | Target::Holder => HOLDER,
    };
    let Some(template) = given else {
        report.problem(place, "is missing", Some(hint));
        return None;
    };
    if !template.contains("{{") && !template.contains("{%") {
        report.problem(place, "is the same text for every row", Some(hint));
        return None;
    }
    Some(template.to_owned())
}

fn check_fields(place: &str, raw: &RawJob, target: Target, report: &mut Report) {
    for name in raw.map.keys().filter(|name| target.field(name).is_none()) {
        let inner = format!("{place}.{name}");
        if PRESENCE.contains(&name.as_str()) {
            report.problem(&inner, "a person's presence is never changed by a sync", Some("leave it out"));
        } else {
            strange_field(&inner, name, target, report);
        }
    }
    for field in target.fields().filter(|field| field.required && !raw.map.contains_key(field.name.as_str())) {
        let inner = format!("{place}.{}", field.name);
        let message = format!("is missing, and {target} can't be created without it");
        report.problem(&inner, message, Some("add it to [job.map]"));
    }
    if raw.map.contains_key("globalroaming") && !raw.map.contains_key("globalroaming_locations") {
        let message = "without globalroaming_locations, people who roam can't be updated";
        let hint = "the service does not tell where they roam; map both or neither";
        report.warning(&format!("{place}.globalroaming"), message, Some(hint));
    }
}

/// Reports a field that a target does not have.
pub(super) fn strange_field(place: &str, name: &str, target: Target, report: &mut Report) {
    report.problem(place, format!("{target} has no such field"), Some(&nearest_field(name, target)));
}

/// The mapped fields that are set at a creation only.
pub(super) fn seed_only(place: &str, raw: &RawJob, report: &mut Report) -> Vec<SmolStr> {
    for name in raw.seed_only.iter().filter(|name| !raw.map.contains_key(name.as_str())) {
        let hint = nearest(name, raw.map.keys().map(String::as_str)).map(|known| format!("did you mean {known}?"));
        report.problem(place, format!("{name:?} is not mapped"), hint.as_deref().or(Some("map it in [job.map]")));
    }
    if raw.seed_only.iter().any(|name| name == Target::PHOTO) {
        let message = "\"photo\" is sent after its person was made, so it can't be for that moment only";
        report.problem(place, message, Some("leave it out of seed_only"));
    }
    raw.seed_only.clone()
}

fn nearest_field(name: &str, target: Target) -> String {
    let known: Vec<_> = target.fields().map(|field| field.name).collect();
    match nearest(name, known.iter().map(SmolStr::as_str)) {
        Some(known) => format!("did you mean {known}?"),
        None if target.has_custom() => format!("for a custom field, write \"{}{name}\"", Target::CUSTOM),
        None => format!("its fields are: {}", known.join(", ")),
    }
}

/// The mapped text fields by which records are matched.
fn match_on(place: &str, raw: &RawJob, target: Target, report: &mut Report) -> Option<Vec<SmolStr>> {
    let is_text =
        |name: &str| target.field(name).is_some_and(|field| matches!(field.kind, FieldKind::Text | FieldKind::Email));
    let mapped = || raw.map.keys().map(String::as_str).filter(|name| is_text(name));
    let Some(given) = &raw.match_on else {
        let default = default_match(target, |name| raw.map.contains_key(name));
        if default.is_empty() && !report.is_bad(place) {
            let usual = usual_match(target).join(" or ");
            let hint = format!("map {usual}, or name other mapped fields in match_on");
            report.problem(place, format!("nothing to find {} by at the service", target.plural()), Some(&hint));
            return None;
        }
        return Some(default);
    };
    if target == Target::Holder {
        let message = "is of no use here: holders are found by certification and person";
        report.problem(place, message, Some("leave it out"));
        return None;
    }
    if given.is_empty() {
        report.problem(place, "is empty", Some("name at least one mapped field, such as \"employee_id\""));
    }
    for name in given {
        if target.field(name).is_none() || !raw.map.contains_key(name.as_str()) {
            let hint = nearest(name, mapped()).map(|known| format!("did you mean {known}?"));
            let hint = hint
                .unwrap_or_else(|| format!("map it in [job.map] or leave it out; mapped are: {}", listed(mapped())));
            report.problem(place, format!("{name:?} is not mapped"), Some(&hint));
        } else if !is_text(name) {
            let hint = format!("mapped fields that can be used: {}", listed(mapped()));
            report.problem(place, format!("{name:?} is no plain text to find people by"), Some(&hint));
        }
    }
    (!given.is_empty()).then(|| given.clone())
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
