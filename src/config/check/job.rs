//! Checks one `[[job]]`.

use jiff::tz::{self, TimeZone};

use super::{Environment, contractor, directory, guard, leavers, mapping, source, text};
use crate::config::nearest;
use crate::config::options::Job;
use crate::config::raw::RawJob;
use crate::config::report::Report;
use crate::config::schedule::Schedule;
use crate::plan::{OnDrift, Writes};
use crate::record::{JobName, Target};

const ON_DRIFT: &[(&str, OnDrift)] =
    &[("overwrite", OnDrift::Overwrite), ("keep", OnDrift::Keep), ("report", OnDrift::Report)];

const SCHEDULE_HINT: &str = "write five fields as in crontab: minute hour day month weekday";

/// Checks the job at `place`, such as `job[0]`.
pub(super) fn check(place: &str, mut raw: RawJob, ground: &Environment, report: &mut Report) -> Option<Job> {
    let at = |key: &str| format!("{place}.{key}");
    let name = name(&at("name"), raw.name.as_deref(), report);
    let target = target(&at("target"), raw.target.as_deref(), report);
    let parts = contractor::split(place, &mut raw, target, report);
    let source = source::check(&at("source"), raw.name.as_deref(), &raw.source, ground, report);
    let policy = leavers::leavers(&at("leavers"), &raw.leavers, target, report);
    let time_zone = time_zone(&at("time_zone"), raw.time_zone.as_deref(), report);
    let leaver_set = target.map(|target| leavers::set(place, &raw, policy.action, target, &time_zone, report));
    let protect = leavers::protect(&at("protect"), &raw.protect, report);
    let seed_only = mapping::seed_only(&at("seed_only"), &raw, report);
    let on_drift = text::choice(&at("on_drift"), raw.on_drift.as_deref(), ON_DRIFT, report);
    let limits = guard::limits(&at("guard"), &raw.guard, report);
    let writes = [("auto", Writes::Auto), ("approve", Writes::Approve), ("off", Writes::Off)];
    let writes = text::choice(&at("writes"), raw.writes.as_deref(), &writes, report);
    let schedule = text::unless_empty(raw.schedule.as_deref());
    let schedule = text::parsed(&at("schedule"), schedule, SCHEDULE_HINT, report, |text| {
        text.parse::<Schedule>().map_err(|error| error.to_string())
    });
    let is_directory = raw.source.kind.as_deref() == Some("ldap");
    let mut optional = raw.source.optional.clone();
    if is_directory && raw.key.is_none() {
        raw.key = Some(directory::KEY.to_owned());
        optional.extend(directory::KEY_NAMES.map(str::to_owned));
    }
    let mapped = target.and_then(|target| mapping::check(place, raw, target, optional, &time_zone, report));
    let (mapping, match_on) = mapped?;
    let source::Checked { source, mode, inbox, expect_every } = source?;
    let mut job = Job {
        name: name?,
        source,
        inbox,
        expect_every,
        mode,
        mapping,
        match_on,
        writes: writes.unwrap_or_default(),
        seed_only,
        on_drift: on_drift.unwrap_or_default(),
        protect,
        leavers: policy,
        leaver_set: leaver_set?,
        limits,
        schedule,
        time_zone,
        organizations: None,
        memberships: None,
    };
    if let Some(parts) = parts {
        parts.add_to(&mut job, place, report);
    }
    Some(job)
}

fn name(place: &str, given: Option<&str>, report: &mut Report) -> Option<JobName> {
    let Some(given) = given else {
        report.problem(place, "is missing", Some("every job needs a name of its own, such as \"employees\""));
        return None;
    };
    let name = JobName::new(given).filter(|name| !name.is_part());
    if name.is_none() {
        let hint = "use 1 to 64 letters, digits, '-', '_' and '.', beginning with a letter or digit";
        report.problem(place, format!("{given:?} is no name for a job"), Some(hint));
    }
    name
}

fn target(place: &str, given: Option<&str>, report: &mut Report) -> Option<Target> {
    let Some(given) = given else {
        report.problem(place, "is missing", Some("say target = \"staff\""));
        return None;
    };
    let target = Target::by_name(given);
    if target.is_none() {
        let names = || Target::ALL.iter().filter(|target| target.is_own()).map(|target| target.name());
        let all = || format!("use one of {}", names().collect::<Vec<_>>().join(", "));
        let hint = nearest(given, names()).map_or_else(all, |name| format!("did you mean {name:?}?"));
        report.problem(place, format!("{given:?} is no target"), Some(&hint));
    }
    target
}

fn time_zone(place: &str, given: Option<&str>, report: &mut Report) -> TimeZone {
    let Some(given) = given else { return TimeZone::UTC };
    if let Ok(zone) = TimeZone::get(given) {
        return zone;
    }
    let known: Vec<String> = tz::db().available().map(|name| name.to_string()).collect();
    let hint = match nearest(given, known.iter().map(String::as_str)) {
        Some(name) => format!("did you mean {name:?}?"),
        None if known.is_empty() => "this machine has no time zones: install the package tzdata".to_owned(),
        None => "write it like \"Pacific/Auckland\"".to_owned(),
    };
    report.problem(place, format!("{given:?} is no time zone"), Some(&hint));
    TimeZone::UTC
}
