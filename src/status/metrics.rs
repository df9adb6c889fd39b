//! Metrics in Prometheus' text format.
//!
//! Names follow Prometheus' conventions: base units, `_total` for what only grows, one meaning a name. Labels have few values:
//! jobs, statuses, actions; never a key or a person (law 11).

use std::collections::HashMap;
use std::fmt::{self, Display, Write as _};

use jiff::Timestamp;

use super::board::ShownAccount;
use super::counters::Counters;
use super::snapshot::{JobView, Snapshot};
use crate::api::Traffic;
use crate::histogram::Histogram;
use crate::reconcile::Status;

/// What the body of `/metrics` is.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const STATUSES: [Status; 4] = [Status::Done, Status::Partial, Status::Held, Status::Failed];

/// A figure of every job, where it has one.
struct Figure {
    name: &'static str,
    help: &'static str,
    value: fn(&JobView, Timestamp) -> Option<f64>,
}

const FIGURES: &[Figure] = &[
    Figure {
        name: "rosterd_job_last_run_timestamp_seconds",
        help: "When the job's last run ended, since 1970.",
        value: |job, _| job.last.as_ref().map(|last| seconds(last.ended)),
    },
    Figure {
        name: "rosterd_job_last_run_duration_seconds",
        help: "How long the job's last run took.",
        value: |job, _| job.last.as_ref().map(|last| seconds(last.ended) - seconds(last.started)),
    },
    Figure {
        name: "rosterd_job_next_run_timestamp_seconds",
        help: "When the job is due next, since 1970; missing without a schedule.",
        value: |job, _| job.next.map(seconds),
    },
    Figure {
        name: "rosterd_job_overdue",
        help: "1 where the job has not run, or its source has brought nothing new, for too long.",
        value: |job, _| Some(flag(job.overdue.is_some())),
    },
    Figure {
        name: "rosterd_job_paused",
        help: "1 where nothing of the job is sent.",
        value: |job, _| Some(flag(job.paused.is_some())),
    },
    Figure {
        name: "rosterd_job_running",
        help: "1 while a run of the job is under way.",
        value: |job, _| Some(flag(job.running.is_some())),
    },
    Figure {
        name: "rosterd_job_source_records",
        help: "Records of the source in the job's last run.",
        value: |job, _| job.last.as_ref().map(|last| count(last.counts.records)),
    },
    Figure {
        name: "rosterd_job_source_complete",
        help: "1 where the job's last read proved that it saw everyone.",
        value: |job, _| job.last.as_ref().map(|last| flag(last.complete)),
    },
    Figure {
        name: "rosterd_job_last_file_unused",
        help: "1 where nothing of the last file in the job's inbox was used; missing without an inbox.",
        value: |job, _| job.inbox.as_ref().map(|_| flag(job.unused_file.is_some())),
    },
    Figure {
        name: "rosterd_job_rejected_rows",
        help: "Rows that the last run of the job that read its source could not use.",
        value: |job, _| job.last.as_ref().map(|_| count(job.rejected.count)),
    },
    Figure {
        name: "rosterd_job_rejected_values",
        help: "Values that the last run of the job that read its source could not use, of rows that count all the same.",
        value: |job, _| job.last.as_ref().map(|_| count(job.bad_values.count)),
    },
    Figure {
        name: "rosterd_job_missing_records",
        help: "Known records that the job's source misses.",
        value: |job, _| Some(count(job.missing.as_ref().map_or(0, |missing| missing.people))),
    },
    Figure {
        name: "rosterd_job_missing_over_limit",
        help: "1 where they are more than max_missing allows, and no decision was made on them.",
        value: |job, _| Some(flag(job.missing.as_ref().is_some_and(|missing| missing.too_many))),
    },
    Figure {
        name: "rosterd_job_known_records",
        help: "Records that the job knows at the service.",
        value: |job, _| Some(count(job.known)),
    },
    Figure {
        name: "rosterd_job_held_changes",
        help: "What waits: for a decision, for someone to leave the site, for another job, or for good because it is protected.",
        value: |job, _| Some(count(job.held as u64)),
    },
    Figure {
        name: "rosterd_job_queued_changes",
        help: "Changes on their way.",
        value: |job, _| Some(count(job.queued as u64)),
    },
    Figure {
        name: "rosterd_job_parked_changes",
        help: "Changes that the service refused for good.",
        value: |job, _| Some(count(job.parked.len() as u64)),
    },
    Figure {
        name: "rosterd_job_on_site_leavers",
        help: "Leavers who wait until they are off site.",
        value: |job, _| Some(count(job.on_site.len() as u64)),
    },
    Figure {
        name: "rosterd_job_oldest_leaver_seconds",
        help: "How long the leaver who waits longest for removal has been missing; 0 if no one waits.",
        value: |job, now| Some(job.oldest_leaver.map_or(0.0, |since| (seconds(now) - seconds(since)).max(0.0))),
    },
    Figure {
        name: "rosterd_job_inbox_files",
        help: "Files that wait in the job's inbox.",
        value: |job, _| job.inbox.as_ref()?.as_ref().ok().map(|files| count(files.len() as u64)),
    },
];

/// Whether an account runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It runs in this process.
    Runs,
    /// It should, and does not.
    Stopped,
    /// Another worker has it.
    StandsBy,
}

impl Standing {
    pub(super) fn of(shown: &ShownAccount) -> Self {
        match (shown.gather.stopped(), shown.gather.elsewhere()) {
            (Some(_), _) => Self::Stopped,
            (None, Some(_)) => Self::StandsBy,
            (None, None) => Self::Runs,
        }
    }
}

/// What is measured of one account.
pub(super) struct Measured<'a> {
    /// Its name, where the process has several: a label of each of its series.
    pub(super) account: Option<&'a str>,
    pub(super) standing: Standing,
    /// How it is; without it only what is known without the state is written.
    pub(super) snapshot: Option<&'a Snapshot>,
    /// What came of its requests.
    pub(super) traffic: &'a Traffic,
    /// What happened.
    pub(super) counters: &'a Counters,
}

/// Writes all of the only account of a process; without a snapshot only what is known without the state.
pub fn metrics(snapshot: Option<&Snapshot>, traffic: &Traffic, counters: &Counters) -> String {
    metrics_of(&[Measured { account: None, standing: Standing::Runs, snapshot, traffic, counters }])
}

/// Writes all of several accounts.
pub(super) fn metrics_of(accounts: &[Measured<'_>]) -> String {
    let mut page = Page::default();
    page.head("rosterd_build_info", "gauge", "The version of the program.");
    page.line("rosterd_build_info", &[("version", &env!("CARGO_PKG_VERSION"))], 1.0);
    for account in accounts {
        page.account = account.account.map(str::to_owned);
        if account.account.is_some() {
            let help = "1 where the account of a process with several runs.";
            page.single("rosterd_account_running", "gauge", help, flag(account.standing == Standing::Runs));
            let help = "1 where the account of a process with several stands by: another worker has it.";
            page.single("rosterd_account_standby", "gauge", help, flag(account.standing == Standing::StandsBy));
        }
        if account.standing == Standing::StandsBy {
            if account.account.is_none() {
                let help = "1 where another worker has the account; there is nothing else of it here then.";
                page.single("rosterd_account_standby", "gauge", help, 1.0);
            }
            continue;
        }
        let readable = flag(account.snapshot.is_some());
        page.single("rosterd_state_readable", "gauge", "1 where the state can be read.", readable);
        if let Some(snapshot) = account.snapshot {
            of_state(&mut page, snapshot);
        }
        of_traffic(&mut page, account.traffic);
        of_process(&mut page, account.counters);
    }
    page.text()
}

fn of_state(page: &mut Page, snapshot: &Snapshot) {
    let budget = &snapshot.budget;
    let finish = budget.finish.map_or(0.0, |finish| seconds(finish) - seconds(snapshot.at));
    let blocked = budget.blocked_until.map_or(0.0, |until| (seconds(until) - seconds(snapshot.at)).max(0.0));
    for (name, help, value) in [
        ("rosterd_budget_used_requests", "Requests that count in the last 60 seconds.", f64::from(budget.used)),
        ("rosterd_budget_limit_requests", "Requests allowed in any 60 seconds.", f64::from(budget.limit)),
        ("rosterd_budget_blocked_seconds", "How long the service asked to wait.", blocked),
        ("rosterd_queue_finish_seconds", "How long what is queued takes within the rate limit.", finish),
        ("rosterd_disk_full", "1 where the disk of the state is full and nothing is sent.", flag(snapshot.is_full)),
    ] {
        page.single(name, "gauge", help, value);
    }
    let name = "rosterd_job_last_run_status";
    page.head(name, "gauge", "1 for how the job's last run ended, 0 for how it did not.");
    for job in &snapshot.jobs {
        for status in STATUSES.iter().filter(|_| job.last.is_some()) {
            let labels: [(&str, &dyn Display); 2] = [("job", &job.name), ("status", &status.name())];
            page.line(name, &labels, flag(job.status() == Some(*status)));
        }
    }
    for figure in FIGURES {
        page.head(figure.name, "gauge", figure.help);
        for job in &snapshot.jobs {
            if let Some(value) = (figure.value)(job, snapshot.at) {
                page.line(figure.name, &[("job", &job.name)], value);
            }
        }
    }
}

fn of_traffic(page: &mut Page, traffic: &Traffic) {
    let name = "rosterd_api_requests_total";
    page.head(name, "counter", "Requests by kind of operation and outcome, since the configuration came into force.");
    for ((verb, outcome), count) in &traffic.outcomes {
        page.line(name, &[("verb", verb), ("outcome", outcome)], *count as f64);
    }
    let name = "rosterd_api_request_duration_seconds";
    page.head(name, "histogram", "How long answers took, waiting for the rate limit apart.");
    for (verb, times) in &traffic.durations {
        page.histogram(name, ("verb", verb), times);
    }
}

fn of_process(page: &mut Page, counters: &Counters) {
    let counts = counters.lock();
    if let Some(taken) = counts.taken {
        let name = "rosterd_config_last_reload_successful";
        let help = "1 where the last configuration that was to be taken was taken, the one at the start included.";
        page.single(name, "gauge", help, flag(counts.refused.is_none()));
        let name = "rosterd_config_last_reload_success_timestamp_seconds";
        page.single(name, "gauge", "When the configuration in force was taken, since 1970.", seconds(taken));
    }
    let name = "rosterd_runs_total";
    page.head(name, "counter", "Runs by how they ended, since the process started.");
    for ((job, status), value) in &counts.runs {
        page.line(name, &[("job", job), ("status", status)], count(*value));
    }
    let name = "rosterd_changes_total";
    page.head(name, "counter", "Changes that the service confirmed, by kind, since the process started.");
    for ((job, action), value) in &counts.changes {
        page.line(name, &[("job", job), ("action", action)], count(*value));
    }
    let name = "rosterd_change_delay_seconds";
    page.head(
        name,
        "histogram",
        "Time from the source's change to the service's confirmation: from when a file was written, or came into an inbox where \
         that is later; for a directory from when the run that read it began. It includes waiting for grace and approval.",
    );
    for (job, delays) in &counts.delays {
        page.histogram(name, ("job", job), delays);
    }
    let name = "rosterd_notices_total";
    page.head(name, "counter", "Attempts to deliver a notice, by channel and outcome, since the process started.");
    for ((channel, delivered), value) in &counts.notices {
        let outcome = if *delivered { "delivered" } else { "failed" };
        page.line(name, &[("channel", channel), ("outcome", &outcome)], count(*value));
    }
}

/// Whole numbers up to 2^53 are exact.
fn count(number: u64) -> f64 {
    number as f64
}

fn flag(is: bool) -> f64 {
    if is { 1.0 } else { 0.0 }
}

fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

/// The text as it grows: each figure with its series, of whichever accounts.
#[derive(Default)]
struct Page {
    figures: Vec<Series>,
    /// By name, where it stands.
    places: HashMap<String, usize>,
    /// Which one is written to.
    current: usize,
    /// The account that is written about.
    account: Option<String>,
}

/// One figure: its head, and its series.
struct Series {
    head: String,
    lines: String,
}

impl Page {
    /// All of it.
    fn text(self) -> String {
        self.figures.into_iter().map(|Series { head, lines }| head + &lines).collect()
    }

    /// Goes to a figure; the first time, at the end.
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.current = *self.places.entry(name.to_owned()).or_insert_with(|| {
            let head = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
            self.figures.push(Series { head, lines: String::new() });
            self.figures.len() - 1
        });
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.head(name, kind, help);
        self.line(name, &[], value);
    }

    fn line(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: f64) {
        self.write(name, labels, value).expect("memory takes everything");
    }

    fn write(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: f64) -> fmt::Result {
        let text = &mut self.figures[self.current].lines;
        text.push_str(name);
        let account = self.account.as_ref().map(|name| ("account", name as &dyn Display));
        let mut apart = '{';
        for (label, value) in account.iter().chain(labels) {
            write!(text, "{apart}{label}=\"{}\"", escaped(&value.to_string()))?;
            apart = ',';
        }
        let close = if apart == '{' { "" } else { "}" };
        writeln!(text, "{close} {value}")
    }

    fn histogram(&mut self, name: &str, (label, value): (&str, &dyn Display), times: &Histogram) {
        let bucket = format!("{name}_bucket");
        for (bound, below) in times.cumulative() {
            self.line(&bucket, &[(label, value), ("le", &bound)], count(below));
        }
        self.line(&bucket, &[(label, value), ("le", &"+Inf")], count(times.total()));
        self.line(&format!("{name}_sum"), &[(label, value)], times.sum());
        self.line(&format!("{name}_count"), &[(label, value)], count(times.total()));
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
