//! Checks what turns rows into records: key, map, include, look-up tables, and what records are matched by.

use smol_str::SmolStr;

use super::section::{JobSection, Section};
use super::{directory, entra};
use crate::config::nearest;
use crate::mapping::{Error, Mapping, OnBadValue, Options, PhotoCells};
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

const ON_BAD_VALUE: &[(&str, OnBadValue)] = &[("field", OnBadValue::Field), ("row", OnBadValue::Row)];

/// Checks the mapping of a job, and gives it with the names of the fields to match by.
pub(super) fn check(job: &JobSection<'_>, target: Target) -> Option<(Options, Vec<SmolStr>)> {
    let table = &job.table;
    let source = table.section("source");
    check_fields(job, target);
    let match_on = match_on(job, target);
    let mut optional: Vec<String> = source.list("optional");
    let key = match source.text("type") {
        Some("ldap") if !table.has("key") => {
            optional.extend(directory::KEY_NAMES.map(str::to_owned));
            Some(directory::KEY)
        }
        Some("entra") if !table.has("key") => Some(entra::KEY),
        _ => key(table, target),
    };
    let on_bad_value = table.choice("on_bad_value", ON_BAD_VALUE);
    let all_known = job.map.keys().all(|name| target.field(name).is_some());
    let given = |key: &str| table.unless_empty(key).map(str::to_owned);
    let options = Options {
        target,
        prefix: "",
        key: key.unwrap_or_default().to_owned(),
        joined: None,
        include: given("include"),
        names_leavers: source.text("mode") == Some("changes"),
        active_from: given("active_from"),
        active_until: given("active_until"),
        prefer: given("prefer"),
        segment: segment(&table.section("guard")),
        fields: job.map.clone().into_iter().filter(|(name, _)| target.field(name).is_some()).collect(),
        tables: table.lookups("values"),
        match_on: match_on.clone().unwrap_or_default(),
        on_bad_value: on_bad_value.unwrap_or_default(),
        optional,
        photos: photo_cells(&source),
        lookups: job.lookups.clone(),
        time_zone: job.time_zone.clone(),
    };
    doubt_key(table, &options);
    // Templates are compiled in any case, so that their mistakes are reported together with the rest. A key that is
    // missing or is no template has been reported already.
    compile(table, &options, if key.is_some() { &[] } else { &["key"] });
    (all_known && key.is_some()).then_some((options, match_on?))
}

/// What a source has where a photo is.
pub(super) fn photo_cells(source: &Section<'_>) -> PhotoCells {
    if source.text("type") == Some("entra") { PhotoCells::References } else { PhotoCells::Base64 }
}

/// Reports what is wrong with templates, except at places that have been reported already.
pub(super) fn compile(job: &Section<'_>, options: &Options, reported: &[&str]) {
    for error in Mapping::compile(options).err().unwrap_or_default() {
        if !reported.contains(&error.place.as_str()) {
            job.problem(&error.place, described(&error), None);
        }
    }
}

/// What is wrong with a template, and where in it.
pub(super) fn described(error: &Error) -> String {
    let position = error.at.map(|(line, column)| format!(" (line {line}, column {column} of the template)"));
    format!("{}{}", error.reason, position.unwrap_or_default())
}

fn key<'a>(job: &Section<'a>, target: Target) -> Option<&'a str> {
    const PERSON: &str = "name the column that identifies a person for ever, such as \"{{ employee_no }}\"";
    const ORGANIZATION: &str =
        "name the column that identifies an organization for ever, such as \"{{ company_number }}\"";
    const HOLDER: &str = "name what identifies a person's certification, such as \"{{ employee_no }}-{{ course }}\"";
    let hint = match target {
        Target::Staff | Target::Contractor => PERSON,
        Target::Organization => ORGANIZATION,
        Target::Membership | Target::Holder => HOLDER,
    };
    let template = job.present("key", hint)?;
    if is_constant(template) {
        return job.wrong("key", "is the same text for every row", Some(hint));
    }
    Some(template)
}

/// Warns of a key that people do not have for ever: who gets the email of a former colleague would be taken for them.
fn doubt_key(table: &Section<'_>, options: &Options) {
    let key = Target::IDENTITY.iter().find(|field| options.is_key(field));
    if let Some(field) = key.filter(|_| options.target.has_presence()) {
        let message =
            format!("is the {field}: it changes, and who gets that of another person would be taken for them");
        let hint = "name a number that stays with its person, such as \"{{ employee_no }}\"";
        table.warning("key", message, Some(hint));
    }
}

/// Whether a template gives the same text for every row.
pub(super) fn is_constant(template: &str) -> bool {
    !template.contains("{{") && !template.contains("{%")
}

fn segment(guard: &Section<'_>) -> Option<String> {
    let template = guard.unless_empty("segment")?;
    if is_constant(template) {
        const HINT: &str = "name the column, such as \"{{ department }}\"";
        return guard.wrong(
            "segment",
            "is the same text for every row, so it tells no part of them from another",
            Some(HINT),
        );
    }
    Some(template.to_owned())
}

fn check_fields(job: &JobSection<'_>, target: Target) {
    for name in job.map.keys().filter(|name| target.field(name).is_none()) {
        let inner = format!("map.{name}");
        if PRESENCE.contains(&name.as_str()) {
            job.table.problem(&inner, "a person's presence is never changed by a sync", Some("leave it out"));
        } else {
            strange_field(&job.table, &inner, name, target);
        }
    }
    for name in own_fields(target) {
        if let Some(template) = job.map.get(*name).filter(|template| !template.is_empty() && is_constant(template)) {
            let message =
                format!("is the same text for every row, so all {} would have the same {name}", target.plural());
            let key = format!("map.{name}");
            if template.contains('{') {
                job.table.problem(&key, message, Some("a column stands in two braces, such as \"{{ name }}\""));
            } else {
                job.table.warning(&key, message, Some("name the column, such as \"{{ name }}\""));
            }
        }
    }
    for field in target.fields().filter(|field| field.required && !job.map.contains_key(field.name.as_str())) {
        let message = format!("is missing, and {target} can't be created without it");
        job.table.problem(&format!("map.{}", field.name), message, Some("add it to [job.map]"));
    }
    if job.map.contains_key("globalroaming") && !job.map.contains_key("globalroaming_locations") {
        let message = "without globalroaming_locations, people who roam can't be updated";
        let hint = "the service does not tell where they roam; map both or neither";
        job.table.warning("map.globalroaming", message, Some(hint));
    }
}

/// The fields that no two of a target have in common, or nearly no two.
fn own_fields(target: Target) -> &'static [&'static str] {
    match target {
        Target::Staff => &["name", "email", "employee_id"],
        Target::Contractor => &["name", "email"],
        Target::Organization | Target::Membership | Target::Holder => &[],
    }
}

/// Reports a field that a target does not have.
pub(super) fn strange_field(job: &Section<'_>, key: &str, name: &str, target: Target) {
    job.problem(key, format!("{target} has no such field"), Some(&nearest_field(name, target)));
}

/// Checks the fields that are set at a creation only.
pub(super) fn check_seed_only(job: &JobSection<'_>) {
    for name in job.seed_only.iter().filter(|name| !job.map.contains_key(name.as_str())) {
        let hint = nearest(name, job.map.keys().map(String::as_str)).map(|known| format!("did you mean {known}?"));
        let hint = hint.as_deref().or(Some("map it in [job.map]"));
        job.table.problem("seed_only", format!("{name:?} is not mapped"), hint);
    }
    if job.seed_only.iter().any(|name| name == Target::PHOTO) {
        let message = "\"photo\" is sent after its person was made, so it can't be for that moment only";
        job.table.problem("seed_only", message, Some("leave it out of seed_only"));
    }
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
fn match_on(job: &JobSection<'_>, target: Target) -> Option<Vec<SmolStr>> {
    const KEY: &str = "match_on";
    let table = &job.table;
    let is_text_kind = |kind| matches!(kind, FieldKind::Text | FieldKind::PersonName | FieldKind::Email);
    let is_text = |name: &str| target.field(name).is_some_and(|field| is_text_kind(field.kind));
    let mapped = || job.map.keys().map(String::as_str).filter(|name| is_text(name));
    if !table.has(KEY) {
        let default = default_match(target, |name| job.map.contains_key(name));
        if default.is_empty() && !table.is_bad(KEY) {
            let usual = usual_match(target).join(" or ");
            let hint = format!("map {usual}, or name other mapped fields in match_on");
            let message = format!("nothing to find {} by at the service", target.plural());
            return table.wrong(KEY, message, Some(&hint));
        }
        return Some(default);
    }
    if target == Target::Holder {
        let message = "is of no use here: holders are found by certification and person";
        return table.wrong(KEY, message, Some("leave it out"));
    }
    let given: Vec<SmolStr> = table.list(KEY);
    if given.is_empty() {
        return table.wrong(KEY, "is empty", Some("name at least one mapped field, such as \"employee_id\""));
    }
    for name in &given {
        if target.field(name).is_none() || !job.map.contains_key(name.as_str()) {
            let hint = nearest(name, mapped()).map(|known| format!("did you mean {known}?"));
            let hint = hint
                .unwrap_or_else(|| format!("map it in [job.map] or leave it out; mapped are: {}", listed(mapped())));
            table.problem(KEY, format!("{name:?} is not mapped"), Some(&hint));
        } else if !is_text(name) {
            let hint = format!("mapped fields that can be used: {}", listed(mapped()));
            table.problem(KEY, format!("{name:?} is no plain text to find people by"), Some(&hint));
        }
    }
    Some(given)
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
