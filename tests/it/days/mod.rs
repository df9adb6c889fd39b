//! 24 days in the life of one machine, from 20 March to 13 April 2026: in Jerusalem and London summer time begins, in Auckland
//! and Santiago it ends. The service is away for nine hours, the directory for a day, the power fails in the middle of runs,
//! the clock is set, HR sends what it should not.
//!
//! Real are: the scheduler, what it remembers across restarts, the whole of each run (some 2,400 of them) with its
//! store, the requests over HTTP to the sandbox, an OpenLDAP server, the inbox, the decision on notices, their book on
//! disk, and the webhook.
//!
//! Simulated are: the time (a run takes no time but 20 seconds afterwards, an inbox is looked at once a minute), the loop
//! that asks the scheduler and starts the runs, and a failing power: the run is dropped where it stands, with everything that
//! was in memory. That a real process survives being killed is shown elsewhere, and so is the loop.
//!
//! That every schedule was kept is judged by an oracle that knows nothing of the scheduler (`oracle`).

mod machine;
mod oracle;

use std::collections::BTreeMap;
use std::fs;

use jiff::civil::Weekday;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use machine::{Machine, People, difference, file};
use oracle::{AUCKLAND, JERUSALEM, LONDON, Place, Rule, SANTIAGO};
use rosterd::reconcile::Status;

use crate::support::Config;
use crate::support::slapd::{self, PLAIN, Slapd};

const BEGIN: &str = "2026-03-20T00:01:00Z";
const END: &str = "2026-04-13T00:01:00Z";
/// The latest that a job may start after its time: others may run on the same target.
const LATE_MAX: SignedDuration = SignedDuration::from_mins(3);

/// The jobs with a schedule, and how people would say when they run: in the hour that spring skips, in the one that autumn
/// repeats, and all the time.
static SCHEDULES: &[(&str, &str, Rule, Place)] = &[
    ("often", "*/15 * * * *", Rule::Quarters, JERUSALEM),
    ("friday", "30 2 * * 5", Rule::Weekly(Weekday::Friday, (2, 30)), JERUSALEM),
    ("london", "30 1 * * *", Rule::Daily(&[(1, 30)]), LONDON),
    ("auckland", "30 2 * * *", Rule::Daily(&[(2, 30)]), AUCKLAND),
    ("santiago", "30 11,23 * * *", Rule::Daily(&[(11, 30), (23, 30)]), SANTIAGO),
];

/// The number of each job's first person, and how many it has at first.
const FIRST: &[(&str, usize, usize)] = &[
    ("often", 1000, 24),
    ("friday", 2000, 6),
    ("london", 3000, 6),
    ("auckland", 4000, 6),
    ("santiago", 5000, 6),
    ("drops", 6000, 10),
];

/// The notices in order: when, of which job, and what.
const TOLD: &[(&str, &str, &str)] = &[
    ("2026-03-21T09:00:00Z", "often", "partial"),
    // Another row that can't be used.
    ("2026-03-21T15:00:00Z", "often", "partial"),
    ("2026-03-21T21:00:00Z", "often", "recovered"),
    // The service is away.
    ("2026-03-22T10:15:00Z", "often", "failed"),
    ("2026-03-22T12:00:00Z", "drops", "failed"),
    ("2026-03-22T13:30:00Z", "auckland", "failed"),
    ("2026-03-22T14:30:00Z", "santiago", "failed"),
    // An inbox whose file could not be taken is looked at again after a while.
    ("2026-03-22T19:05:00Z", "drops", "recovered"),
    ("2026-03-22T19:15:00Z", "often", "recovered"),
    ("2026-03-23T02:30:00Z", "santiago", "recovered"),
    ("2026-03-23T13:30:00Z", "auckland", "recovered"),
    // The directory is.
    ("2026-03-24T14:30:00Z", "santiago", "failed"),
    ("2026-03-25T14:30:00Z", "santiago", "recovered"),
    // Half of the people are missing from a file.
    ("2026-03-30T08:00:00Z", "often", "held"),
    ("2026-03-30T12:00:00Z", "often", "recovered"),
    // Nothing was dropped for five days; the receiver of notices did not answer for some hours.
    ("2026-04-01T12:00:00Z", "drops", "overdue"),
    ("2026-04-02T10:00:00Z", "drops", "recovered"),
];

/// How long after the time above a notice may arrive: at the next look, or when it is tried again after an hour.
const TOLD_LATE_MAX: SignedDuration = SignedDuration::from_mins(75);

/// The machine, and those who change what it reads.
struct Story {
    machine: Machine,
    slapd: Slapd,
    sources: BTreeMap<&'static str, People>,
    /// How many people have joined.
    joined: usize,
    /// Rows that can't be used, at the end of often's file.
    bad: &'static str,
    /// Whether half of often's file is missing.
    is_half: bool,
    has_directory: bool,
    place: Option<tokio::net::TcpSocket>,
}

fn config(directory: &str) -> Config {
    let job = |name: &str, path: &str, grace: &str, times: &str| Config {
        name: name.into(),
        path: path.into(),
        job: format!("key = \"{{{{ employee_no }}}}\"\nmatch_on = [\"employee_id\"]\n{times}"),
        source: "settle = \"0s\"\nheader = 1\ndelimiter = \",\"\n".into(),
        ..Config::rest(&format!(
            "[job.leavers]\naction = \"delete\"\ngrace = \"{grace}\"\n[job.guard]\nmax_updates = \"off\"\n"
        ))
    };
    let scheduled = SCHEDULES.iter().map(|(name, schedule, _, place)| {
        let grace = if *name == "london" { "24h" } else { "0s" };
        let times = format!("schedule = \"{schedule}\"\ntime_zone = \"{}\"\n", place.name);
        job(name, &format!("{name}.csv"), grace, &times)
    });
    let jobs = scheduled.map(|job| match job.name.as_str() {
        "santiago" => Config {
            job: job.job.replace("key = \"{{ employee_no }}\"\n", ""),
            source: directory.into(),
            map: job
                .map
                .replace(" name ", " cn ")
                .replace(" email ", " mail ")
                .replace("employee_no ", "employee_number "),
            ..job
        },
        _ => job,
    });
    let mut drops = job("drops", "inbox", "0s", "");
    drops.source += "expect_every = \"5d\"\n";
    jobs.chain([drops]).reduce(|all, job| all.and(&job)).expect("there are some")
}

impl Story {
    fn new() -> Self {
        let slapd = Slapd::start("");
        let directory = slapd.source(PLAIN);
        let machine = Machine::new(BEGIN.parse().unwrap(), config(&directory));
        fs::create_dir(machine.world.dir().join("inbox")).unwrap();
        let mut story = Self {
            machine,
            slapd,
            sources: FIRST.iter().map(|(job, _, _)| (*job, People::new())).collect(),
            joined: 0,
            bad: "",
            is_half: false,
            has_directory: true,
            place: None,
        };
        for (job, _, count) in FIRST {
            story.change(job, *count, 0, 0);
        }
        story
    }

    /// So many people join, move and leave; those who came first move and leave first.
    fn change(&mut self, job: &'static str, joiners: usize, movers: usize, leavers: usize) {
        let begin = FIRST.iter().find(|(name, _, _)| *name == job).unwrap().1;
        let people = self.sources.get_mut(job).unwrap();
        let before = people.clone();
        let next = people.keys().last().map_or(begin, |last| last + 1);
        (next..next + joiners).for_each(|number| drop(people.insert(number, "Clerk".to_owned())));
        for _ in 0..leavers {
            people.pop_first();
        }
        people.values_mut().take(movers).for_each(|title| title.push('+'));
        self.joined += joiners;
        if job == "santiago" {
            self.slapd.change(&difference(&before, &self.sources[job]));
        } else {
            self.publish(job);
        }
    }

    /// HR lays down the file of a job.
    fn publish(&mut self, job: &str) {
        let mut text = file(&self.sources[job]);
        if job == "often" {
            text += self.bad;
            if self.is_half {
                let lines: Vec<&str> = text.lines().take(text.lines().count() / 2).collect();
                text = lines.join("\n") + "\n";
            }
        }
        match job {
            "drops" => {
                let at = self.machine.now().strftime("%Y-%m-%d").to_string();
                // Under another name until it is whole, as upload programs do it.
                let path = self.machine.world.put("inbox/next.part", text.as_bytes());
                fs::rename(path, self.machine.world.dir().join(format!("inbox/{at}.csv"))).unwrap();
            }
            job => drop(self.machine.world.put(&format!("{job}.csv"), text.as_bytes())),
        }
    }

    /// What happens on one day besides everything else: people come, move and go.
    fn routine(&mut self, day: i64) {
        self.change("often", 1, 2, 1);
        self.change("london", 1, 1, usize::from(day % 3 == 0));
        self.change("auckland", 1, 1, usize::from(day % 3 == 1));
        if self.has_directory {
            self.change("santiago", 1, 1, usize::from(day % 3 == 2));
        }
        if day % 5 == 0 {
            self.change("friday", 1, 1, 1);
        }
    }

    fn lives(&mut self) {
        type Act = fn(&mut Story);
        let mut acts: Vec<(String, Act)> = vec![
            ("2026-03-21T08:59:00Z".into(), |story| {
                story.bad = "P09001,,nobody@example.com,Clerk\n";
                story.publish("often");
            }),
            ("2026-03-21T14:59:00Z".into(), |story| {
                story.bad = "P09001,,nobody@example.com,Clerk\nP09002,,somebody@example.com,Clerk\n";
                story.publish("often");
            }),
            ("2026-03-21T20:59:00Z".into(), |story| {
                story.bad = "";
                story.publish("often");
            }),
            // Answers are lost first, then everything.
            ("2026-03-22T09:59:00Z".into(), |story| {
                story.machine.world.faults(&["staff.create cut-after times=2"]);
                story.change("often", 6, 10, 0);
            }),
            ("2026-03-22T10:05:00Z".into(), |story| story.place = Some(story.machine.stop_service())),
            ("2026-03-22T11:00:00Z".into(), |story| story.change("often", 3, 3, 1)),
            ("2026-03-22T12:00:00Z".into(), |story| story.change("drops", 3, 5, 1)),
            ("2026-03-22T19:05:00Z".into(), |story| {
                let place = story.place.take().unwrap();
                story.machine.start_service(place);
            }),
            ("2026-03-24T12:00:00Z".into(), |story| {
                story.slapd.stop();
                story.has_directory = false;
            }),
            ("2026-03-25T12:00:00Z".into(), |story| {
                story.slapd.run();
                story.has_directory = true;
            }),
            // The daemon is restarted, as an upgrade does it.
            ("2026-03-25T20:05:00Z".into(), |story| story.machine.off()),
            ("2026-03-25T20:06:00Z".into(), |story| story.machine.on()),
            ("2026-03-27T10:00:00Z".into(), |story| story.change("drops", 1, 1, 1)),
            ("2026-03-30T07:59:00Z".into(), |story| {
                story.is_half = true;
                story.publish("often");
            }),
            ("2026-03-30T11:59:00Z".into(), |story| {
                story.is_half = false;
                story.publish("often");
            }),
            // The power fails in the middle of a run, and comes back six hours later.
            ("2026-03-31T10:59:00Z".into(), |story| {
                story.change("often", 5, 20, 0);
                story.machine.cut_next_run(7);
            }),
            ("2026-03-31T17:00:00Z".into(), |story| story.machine.on()),
            ("2026-04-01T09:00:00Z".into(), |story| story.machine.set_webhook(false)),
            ("2026-04-01T12:00:00Z".into(), |story| story.machine.set_webhook(true)),
            // The clock is set back by an hour right after London's time, and put right ten hours later.
            ("2026-04-02T00:50:00Z".into(), |story| story.machine.set_clock(-1)),
            ("2026-04-02T10:00:00Z".into(), |story| story.change("drops", 2, 2, 1)),
            ("2026-04-02T10:50:00Z".into(), |story| story.machine.set_clock(1)),
            ("2026-04-06T10:00:00Z".into(), |story| story.change("drops", 1, 1, 0)),
            // It is put forward by an hour right before London's time, and put right six hours later.
            ("2026-04-08T00:10:00Z".into(), |story| story.machine.set_clock(1)),
            ("2026-04-08T06:10:00Z".into(), |story| story.machine.set_clock(-1)),
            // It is killed in the middle of a run, and is back two minutes later.
            ("2026-04-09T10:14:00Z".into(), |story| {
                story.change("often", 4, 10, 0);
                story.machine.cut_next_run(4);
            }),
            ("2026-04-09T10:17:00Z".into(), |story| story.machine.on()),
            ("2026-04-10T10:00:00Z".into(), |story| story.change("drops", 1, 1, 1)),
        ];
        // Until three days before the end, so that who leaves has left.
        let first: Timestamp = "2026-03-20T05:00:00Z".parse().unwrap();
        acts.extend((0..21).map(|day| ((first + (24 * day).hours()).to_string(), (|_| {}) as Act)));
        acts.sort_by(|one, other| one.0.cmp(&other.0));
        self.machine.on();
        for (at, act) in acts {
            self.machine.until(&at);
            if at.ends_with("T05:00:00Z") {
                let at: Timestamp = at.parse().unwrap();
                self.routine(at.duration_since(first).as_hours() / 24);
            }
            act(self);
        }
        self.machine.until(END);
    }
}

#[test]
fn in_24_days_every_schedule_is_kept_no_one_is_lost_or_doubled_and_each_trouble_is_notified_once() {
    if !slapd::is_there() {
        return;
    }
    let mut story = Story::new();
    story.lives();
    let machine = &story.machine;

    let (begin, end) = (BEGIN.parse().unwrap(), END.parse().unwrap());
    for (job, _, rule, place) in SCHEDULES {
        let expected = oracle::starts(job, rule, place, (begin, end), &machine.blows);
        let starts: Vec<Timestamp> =
            machine.starts.iter().filter(|(started, _)| started == job).map(|(_, at)| *at).collect();
        let late = |(start, expected): (&Timestamp, &Timestamp)| {
            let late = start.duration_since(*expected);
            !(SignedDuration::ZERO..=LATE_MAX).contains(&late)
        };
        let odd = starts.iter().zip(&expected).position(late);
        assert_eq!(
            odd,
            None,
            "{job}: {:?}, but expected {:?}",
            odd.map(|at| &starts[at..starts.len().min(at + 3)]),
            odd.map(|at| &expected[at..expected.len().min(at + 3)])
        );
        assert_eq!(starts.len(), expected.len(), "{job}");
    }

    // Of several jobs, which notice comes first within some minutes is not said.
    let mut notices: Vec<_> = machine.told.iter().map(|(at, job, event)| (job.as_str(), *at, event.as_str())).collect();
    let mut expected_notices = TOLD.to_vec();
    notices.sort();
    expected_notices.sort_by_key(|(at, job, _)| (*job, *at));
    let told: Vec<(&str, &str)> = notices.iter().map(|(job, _, event)| (*job, *event)).collect();
    let expected: Vec<(&str, &str)> = expected_notices.iter().map(|(_, job, event)| (*job, *event)).collect();
    assert_eq!(told, expected, "{:#?}", machine.told);
    for ((job, at, event), (expected, _, _)) in notices.iter().zip(expected_notices) {
        let late = at.duration_since(expected.parse().unwrap());
        assert!((SignedDuration::ZERO..TOLD_LATE_MAX).contains(&late), "{job} {event} at {at}");
    }

    let people = |(number, title): (&usize, &String)| format!("P{number:05} {title}");
    let mut expected: Vec<String> = story.sources.values().flatten().map(people).collect();
    expected.sort();
    let text = |person: &serde_json::Value, name: &str| person[name].as_str().unwrap_or_default().to_owned();
    let staff = machine.world.staff();
    let mut found: Vec<String> =
        staff.iter().map(|person| format!("{} {}", text(person, "employee_id"), text(person, "title"))).collect();
    found.sort();
    assert_eq!(found, expected, "somebody is missing, twice, or not as the source has them");
    assert_eq!(machine.created(), story.joined, "each was made once");

    let dropped = |folder: &str| {
        let files = fs::read_dir(machine.world.dir().join("inbox").join(folder)).unwrap();
        files.filter(|file| !file.as_ref().unwrap().file_name().to_string_lossy().contains(".report.")).count()
    };
    assert_eq!((dropped("processed"), dropped("failed")), (6, 0));
    let last = |job: &str| machine.reports.iter().rev().find(|(_, report)| report.name.as_str() == job).unwrap();
    for (job, _, _) in FIRST {
        let (at, report) = last(job);
        assert_eq!((report.status, report.counts.held), (Status::Done, 0), "{job} at {at}: {:?}", report.reasons);
    }
}
