//! Checks one `[[job]]`.

use jiff::tz::{self, TimeZone};

use super::section::{JobSection, Section};
use super::{contractor, guard, leavers, lookup, mapping, monitoring, source};
use crate::config::monitoring::HrReportOptions;
use crate::config::nearest;
use crate::config::options::Job;
use crate::config::schedule::Schedule;
use crate::plan::{OnDrift, Writes};
use crate::record::{JobName, Target};

const ON_DRIFT: &[(&str, OnDrift)] =
    &[("overwrite", OnDrift::Overwrite), ("keep", OnDrift::Keep), ("report", OnDrift::Report)];

/// Checks one job.
pub(super) fn check(table: Section<'_>) -> Option<Job> {
    let name = name(&table);
    let target = target(&table);
    let time_zone = time_zone(&table);
    let lookups = lookup::check(&table);
    let mut job = JobSection {
        map: table.texts("map"),
        seed_only: table.list("seed_only"),
        time_zone,
        lookups: lookups.iter().map(|found| found.options.clone()).collect(),
        table,
    };
    let parts = contractor::split(&mut job, target);
    let JobSection { table, .. } = &job;
    let source = source::check(&table.section("source"), table.text("name"));
    let policy = leavers::leavers(&table.section("leavers"), target);
    let leaver_set = target.map(|target| leavers::set(&job, policy.action, target));
    let protect = leavers::protect(table);
    mapping::check_seed_only(&job);
    let on_drift = table.choice("on_drift", ON_DRIFT);
    let limits = guard::limits(&table.section("guard"));
    let writes = table.choice("writes", &[("auto", Writes::Auto), ("approve", Writes::Approve), ("off", Writes::Off)]);
    let schedule = table.unless_empty("schedule").and_then(|text| {
        table.taken("schedule", text.parse::<Schedule>().map_err(|error| (error.to_string(), Schedule::HINT)))
    });
    let notify = monitoring::job_notify(&table.section("notify"));
    let mapped = target.and_then(|target| mapping::check(&job, target));
    let (mapping, match_on) = mapped?;
    let source::Checked { source, mode, inbox, expect_every } = source?;
    let mut checked = Job {
        name: name?,
        source,
        lookups: lookups.into_iter().map(|found| found.lookup).collect::<Option<_>>()?,
        inbox,
        expect_every,
        mode,
        mapping,
        match_on,
        writes: writes.unwrap_or_default(),
        seed_only: job.seed_only,
        on_drift: on_drift.unwrap_or_default(),
        protect,
        leavers: policy,
        leaver_set: leaver_set?,
        limits,
        schedule,
        time_zone: job.time_zone,
        notify,
        hr_report: HrReportOptions::default(),
        organizations: None,
        memberships: None,
    };
    if let Some(parts) = parts {
        parts.add_to(&mut checked, &job.table);
    }
    Some(checked)
}

fn name(job: &Section<'_>) -> Option<JobName> {
    let given = job.present("name", "every job needs a name of its own, such as \"employees\"")?;
    JobName::new(given).filter(|name| !name.is_part()).or_else(|| {
        let hint = "use 1 to 64 letters, digits, '-', '_' and '.', beginning with a letter or digit";
        job.wrong("name", format!("{given:?} is no name for a job"), Some(hint))
    })
}

fn target(job: &Section<'_>) -> Option<Target> {
    let given = job.present("target", "say target = \"staff\"")?;
    Target::by_name(given).or_else(|| {
        let names = || Target::ALL.iter().filter(|target| target.is_own()).map(|target| target.name());
        let all = || format!("use one of {}", names().collect::<Vec<_>>().join(", "));
        let hint = nearest(given, names()).map_or_else(all, |name| format!("did you mean {name:?}?"));
        job.wrong("target", format!("{given:?} is no target"), Some(&hint))
    })
}

fn time_zone(job: &Section<'_>) -> TimeZone {
    let Some(given) = job.text("time_zone") else { return TimeZone::UTC };
    if let Ok(zone) = TimeZone::get(given) {
        return zone;
    }
    let known: Vec<String> = tz::db().available().map(|name| name.to_string()).collect();
    let hint = match nearest(given, known.iter().map(String::as_str)) {
        Some(name) => format!("did you mean {name:?}?"),
        None if known.is_empty() => "this machine has no time zones: install the package tzdata".to_owned(),
        None => "write it like \"Pacific/Auckland\"".to_owned(),
    };
    job.problem("time_zone", format!("{given:?} is no time zone"), Some(&hint));
    TimeZone::UTC
}
