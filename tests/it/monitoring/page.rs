//! The status page, metrics and health, over HTTP.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::SignedDuration;
use rosterd::api::{Api, Query, Staff};
use rosterd::reconcile::{Counts, Pause, PauseScope, ReasonKind, RejectedRows, Report, Status};
use rosterd::record::{JobName, RemoteId};
use rosterd::status::{Budget, Health, JobView, Running, Snapshot, UnreachableChannel, metrics, page};

use crate::monitoring::browser::{browser, look, picture};
use crate::support::inside::begin_tenure;
use crate::support::looked::Served;
use crate::support::{Config, HEADER, World, people};

const GUARDED: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = 3\n";

/// A world whose job waits for a person, with rows that can't be used. The keys, names and emails begin with `Canary`.
fn troubled() -> World {
    let canaries =
        |numbers: std::ops::Range<usize>| people(numbers).replace("P0", "Canary0").replace("Person ", "CanaryName");
    let world = World::with(rosterd::sandbox::Options::default(), Config::rest(GUARDED));
    world.csv(canaries(1..40));
    world.sync().expect(0);
    let bad = "Canary00030,,canaryx@example.com,Clerk\nCanary00031,,canaryy@example.com,Clerk\n";
    world.csv(canaries(1..30) + bad);
    world.sync().expect(4);
    world
}

/// Jobs with every kind of content: held, failing, overdue, paused, under way, well, never run; rejected rows, a queue, leavers
/// who wait, an inbox that waits and one that can't be read, a notice that can't be delivered.
fn everything() -> Snapshot {
    let world = troubled();
    let mut snapshot = world.snapshot();
    let held = snapshot.jobs[0].clone();
    let earlier = |hours: i64| snapshot.at - SignedDuration::from_hours(hours);
    let named = |name: &str| {
        let mut view = held.clone();
        view.name = JobName::new(name).unwrap();
        view
    };
    let ended = |mut view: JobView, status: Status, reasons: &[&str]| {
        if let Some(last) = &mut view.last {
            (last.status, last.counts.records) = (status, 1_204);
        }
        view.reasons = reasons.iter().map(|reason| (*reason).to_owned().into()).collect();
        (view.held, view.held_by, view.rejected) = (0, Vec::new(), RejectedRows::default());
        view
    };
    let mut failing = ended(
        named("visitors"),
        Status::Failed,
        &["the source could not be read: ldaps://dc1.example.com: no answer in time"],
    );
    failing.next = Some(snapshot.at + SignedDuration::from_mins(15));
    let mut overdue = ended(named("contractors"), Status::Done, &[]);
    overdue.overdue = Some(
        ReasonKind::Stale
            .because("overdue: no new content since 2027-06-10T02:30:00Z, and it is expected every 8 days"),
    );
    overdue.inbox = Some(Ok(vec!["one.csv".to_owned(), "two.csv".to_owned()]));
    let mut paused = ended(named("certificates"), Status::Partial, &["2 rows were rejected"]);
    paused.paused = Some(Pause { scope: PauseScope::All, note: None });
    paused.rejected = held.rejected.clone();
    let mut running = ended(named("first-sync"), Status::Done, &[]);
    running.running = Some(Running {
        since: earlier(2),
        stage: "1234 of 100000 changes sent".to_owned(),
        sent: Some((1234, 100_000)),
    });
    (running.queued, running.known, running.oldest_leaver) = (98_766, 1_234, Some(earlier(40)));
    let mut unreadable = ended(named("site-north"), Status::Done, &[]);
    unreadable.inbox = Some(Err("/srv/hr/north: Permission denied (os error 13)".to_owned()));
    let well = ended(named("site-south"), Status::Done, &[]);
    let idle = JobView::idle(JobName::new("site-new").unwrap(), held.target, held.time_zone.clone());
    snapshot.jobs.extend([failing, overdue, paused, running, unreadable, well, idle]);
    snapshot.budget = Budget {
        used: 100,
        limit: 100,
        blocked_until: Some(snapshot.at),
        finish: Some(snapshot.at + SignedDuration::from_hours(17)),
    };
    snapshot.unheard = vec![UnreachableChannel {
        channel: "mail".to_owned(),
        since: earlier(5),
        reason: "mail.example.com: the mail server refused the login (535); check notify.mail.user and its password"
            .to_owned(),
        waiting: 3,
    }];
    snapshot
}

/// A tool of this machine; none where it has none, which only a machine without duties may.
pub(crate) fn tool(name: &str) -> Option<&str> {
    let found = Command::new(name).arg("--version").output().is_ok();
    assert!(found || std::env::var_os("CI").is_none(), "CI needs {name}");
    found.then_some(name)
}

#[test]
fn the_page_says_what_happened_and_what_waits() {
    let world = troubled();
    let served = Served::of(&world);
    let (status, head, page) = served.get("/");
    assert_eq!(status, 200);
    assert!(head.contains("content-type: text/html; charset=utf-8") && head.contains("default-src 'none'"), "{head}");
    for text in [
        "Something needs a person",
        "held: 8 (set 1)",
        "max_leavers",
        "rosterd approve staff",
        "Rows that were not used: 2",
        "<td>31, 32</td>",
    ] {
        assert!(page.to_lowercase().contains(&text.to_lowercase()), "{text:?} is missing: {page}");
    }
    assert!(!page.contains("<script"));
}

#[test]
fn law_11_page_metrics_and_health_name_no_one() {
    let world = troubled();
    let served = Served::of(&world);
    for path in ["/", "/metrics", "/healthz"] {
        let (_, head, body) = served.get(path);
        assert!(!body.to_lowercase().contains("canary") && !head.contains("canary"), "{path}: {body}");
    }
}

#[test]
fn the_page_reloads_by_itself_only_where_the_reader_asks_for_it() {
    let world = troubled();
    let served = Served::of(&world);
    let (_, head, body) = served.get("/");
    assert!(!head.contains("refresh") && !body.contains("http-equiv=\"refresh\""), "{head}");
    assert!(body.contains("<a href=\"/?reload\">"), "{body}");
    assert!(served.get("/?reload").1.contains("\r\nrefresh: 60\r\n"));
}

#[test]
fn health_is_bad_while_a_job_fails_or_is_overdue_and_not_while_it_is_held() {
    let mut world = troubled();
    assert_eq!(Served::of(&world).get("/healthz").0, 200, "held is no fault of the program");
    world.csv("no header of ours\n");
    world.sync().expect(1);
    let (status, _, body) = Served::of(&world).get("/healthz");
    assert_eq!((status, body.as_str()), (503, "job staff fails\n"));
    world.csv(people(1..30));
    world.reconfigure(|config| Config { source: format!("{}expect_every = \"1d\"\n", config.source), ..config });
    world.sync_ago(SignedDuration::from_hours(25));
    let (status, _, body) = Served::of(&world).get("/healthz");
    assert_eq!((status, body.as_str()), (503, "job staff is overdue\n"));
}

#[test]
fn livez_says_whether_the_loop_turns_and_nothing_of_the_jobs() {
    let world = troubled();
    let (moving, still) = (Served::of_taken(&world), Served::of_still(&world));
    let store = world.store();
    assert_eq!(moving.get("/livez").0, 200, "though the state can't be read");
    assert_eq!(moving.get("/healthz").0, 503);
    drop(store);
    let (status, _, body) = still.get("/livez");
    assert_eq!((status, body.as_str()), (503, "the loop that starts runs does not turn\n"));
    assert_eq!(still.get("/healthz").0, 200);
}

#[test]
fn the_page_shows_the_last_runs_and_since_when_a_job_is_unwell() {
    let world = troubled();
    world.sync().expect(4);
    let (_, _, page) = Served::of(&world).get("/");
    assert_eq!(page.matches("<g><title>run ").count(), 3, "{page}");
    for text in [
        "The last runs as a table",
        "<td>done</td><td>39</td><td>39</td>",
        "Held since",
        "just now",
        "Troubleshooting, “What waits",
    ] {
        assert!(page.contains(text), "{text:?} is missing: {page}");
    }
    let version = format!("rosterd {} on ", env!("CARGO_PKG_VERSION"));
    assert!(page.contains(&version), "{page}");
}

#[test]
fn a_state_that_cannot_be_read_is_reported_on_the_page_and_by_health() {
    let world = troubled();
    let served = Served::of_taken(&world);
    let store = world.store();
    let (status, _, body) = served.get("/healthz");
    assert_eq!(status, 503);
    assert!(body.starts_with("the state can't be read: "), "{body}");
    assert_eq!(served.get("/").0, 503);
    let (status, _, body) = served.get("/metrics");
    assert_eq!(status, 200);
    assert!(body.contains("\nrosterd_state_readable 0\n"), "{body}");
    drop(store);
}

/// `docs/metrics.md` lists what is served; written where `ROSTERD_WRITE_DOCS` is set.
fn check_list(body: &str) {
    let mut page = "# Metrics\n\nAll that `/metrics` serves. The list only grows; no name is reused.\n\n\
                    | name | type | what it says |\n| --- | --- | --- |\n"
        .to_owned();
    let mut help = "";
    for line in body.lines() {
        if let Some(of) = line.strip_prefix("# HELP ") {
            help = of.split_once(' ').unwrap().1;
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|of| of.split_once(' ')) {
            page += &format!("| `{name}` | {kind} | {help} |\n");
        }
    }
    page += "\nWith [many accounts in one process](accounts.md) every series but `rosterd_build_info` has the label `account`, and there \
             is the gauge `rosterd_account_running`: 1 where the account runs. A worker that [stands by](shared-state.md#from-which-machine) \
             has `rosterd_account_standby` alone, 1.\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    if std::env::var_os("ROSTERD_WRITE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap() == page, "docs/metrics.md is another: ROSTERD_WRITE_DOCS=1 writes it");
}

#[test]
fn prometheus_takes_the_metrics_and_the_alerts() {
    let world = troubled();
    let served = Served::of(&world);
    let job = JobName::new("staff").unwrap();
    let held = Report { status: Status::Held, ..Report::idle(job.clone()) };
    served.counters.ended(&Report { counts: Counts { created: 1, ..Counts::default() }, ..held });
    served.counters.confirmed(&job, Duration::from_secs(70));
    served.counters.notice("webhook", false);
    served.counters.taken("2026-11-22T10:00:00Z".parse().unwrap());
    served.counters.refuse("2026-11-22T11:00:00Z".parse().unwrap(), "no known key".to_owned());
    let (status, head, body) = served.get("/metrics");
    assert_eq!(status, 200);
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    for line in [
        "rosterd_state_readable 1",
        "rosterd_job_held_changes{job=\"staff\"} 8",
        "rosterd_job_rejected_rows{job=\"staff\"} 2",
        "rosterd_job_last_run_status{job=\"staff\",status=\"held\"} 1",
        "rosterd_job_last_run_status{job=\"staff\",status=\"failed\"} 0",
        "rosterd_budget_limit_requests 3000",
        "rosterd_runs_total{job=\"staff\",status=\"held\"} 1",
        "rosterd_changes_total{job=\"staff\",action=\"create\"} 1",
        "rosterd_change_delay_seconds_bucket{job=\"staff\",le=\"60\"} 0",
        "rosterd_change_delay_seconds_bucket{job=\"staff\",le=\"300\"} 1",
        "rosterd_change_delay_seconds_bucket{job=\"staff\",le=\"+Inf\"} 1",
        "rosterd_change_delay_seconds_sum{job=\"staff\"} 70",
        "rosterd_notices_total{channel=\"webhook\",outcome=\"failed\"} 1",
        "rosterd_config_last_reload_successful 0",
        "rosterd_config_last_reload_success_timestamp_seconds 1795341600",
    ] {
        assert!(body.lines().any(|written| written == line), "{line} is missing: {body}");
    }
    check_list(&body);
    let Some(promtool) = tool("promtool") else {
        eprintln!("not looked at by Prometheus' own tool: no promtool on this machine");
        return;
    };
    let mut check = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    check.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    let checked = check.wait_with_output().unwrap();
    assert!(checked.status.success() && checked.stderr.is_empty() && checked.stdout.is_empty(), "{checked:?}");
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("alerts/rosterd.rules.yml");
    let checked = Command::new(promtool).args(["check", "rules"]).arg(&rules).output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
    // An alert on a figure that does not exist would be silent for ever.
    let rules = std::fs::read_to_string(rules).unwrap();
    let words = rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    for name in words.filter(|word| word.starts_with("rosterd_")) {
        assert!(body.contains(&format!("# TYPE {name} ")), "{name} is no metric");
    }
}

#[test]
fn requests_are_counted_by_outcome_and_duration() {
    let world = World::synced(Config::default(), 1);
    let config = world.checked();
    let clock = rosterd::clock::Clock::system();
    let _tenure = begin_tenure(&config);
    let client = rosterd::api::Client::new(&config.api, &clock).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let staff = Api::<Staff>::root();
    runtime.block_on(client.send(staff.list(&Query::default()))).unwrap();
    assert_eq!(runtime.block_on(client.send(staff.get(RemoteId::new(777).unwrap()))).unwrap().value.map(|_| ()), None);
    let text = metrics(None, &client.traffic(), &rosterd::status::Counters::default());
    for line in [
        "rosterd_api_requests_total{verb=\"list\",outcome=\"2xx\"} 1",
        "rosterd_api_requests_total{verb=\"get\",outcome=\"404\"} 1",
        "rosterd_api_request_duration_seconds_count{verb=\"get\"} 1",
        "rosterd_api_request_duration_seconds_bucket{verb=\"list\",le=\"60\"} 1",
    ] {
        assert!(text.lines().any(|written| written == line), "{line} is missing: {text}");
    }
}

#[test]
fn the_page_is_readable_on_a_phone_and_at_a_desk_by_day_and_by_night() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium on this machine");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let world = troubled();
    let mut snapshot = world.snapshot();
    let held = page(&snapshot);
    // As awkward as it comes.
    let mut wide = snapshot.jobs[0].clone();
    wide.name = JobName::new(&"job-".repeat(15)).unwrap_or(wide.name);
    wide.reasons = vec!["x".repeat(250).into(), "<b>&\"' \u{202e}ﷺ 員工".to_owned().into()];
    wide.rejected.first.iter_mut().for_each(|row| row.field = Some("Very Long Column Name ".repeat(8)));
    wide.running = Some(Running {
        since: snapshot.at,
        stage: "1234 of 100000 changes sent".to_owned(),
        sent: Some((1234, 100_000)),
    });
    wide.overdue = Some(ReasonKind::Late.because("overdue: no new content since 2027-06-10T02:30:00Z"));
    wide.inbox = Some(Ok(vec!["one.csv".to_owned()]));
    snapshot.jobs.push(wide);
    snapshot.budget.finish = Some(snapshot.at);
    snapshot.is_full = true;
    let bad = page(&snapshot);
    world.csv(HEADER);
    let quiet = World::synced(Config::default(), 5);
    for (name, page) in [("status-held", held), ("status-bad", bad), ("status-well", page(&quiet.snapshot()))] {
        look(&browser, home.path(), name, &page, false);
        look(&browser, home.path(), name, &page, true);
    }
    let page = page(&everything());
    for (width, dark) in [(390, false), (390, true), (1440, false), (1440, true)] {
        assert_eq!(picture(&browser, home.path(), "status-everything", &page, width, dark).0, width);
    }
    assert!(Health::of(&quiet.snapshot()).is_good());
}
