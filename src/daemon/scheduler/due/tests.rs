//! Simulated time: days pass in milliseconds, clocks are set, machines sleep.

use cron::TimeUnitSpec as _;
use jiff::ToSpan as _;
use jiff::civil::DateTime;
use proptest::prelude::*;

use super::*;

/// A machine whose two clocks the test moves, and what its jobs did.
struct Machine {
    scheduler: Scheduler,
    at: ClockReading,
    /// How long a run of a job takes.
    takes: BTreeMap<JobName, Duration>,
    running: Vec<(JobName, Duration)>,
    /// Each start: the job, and what both clocks said.
    starts: Vec<(JobName, ClockReading)>,
    /// What would be remembered across a restart.
    served: BTreeMap<JobName, Timestamp>,
    jobs: Vec<Timed>,
    /// How long it sleeps where nothing is due: longer than the program would, for a test of many days.
    nap: Duration,
}

fn name(text: &str) -> JobName {
    JobName::new(text).unwrap()
}

fn timed(job: &str, schedule: &str, zone: &str) -> Timed {
    let schedule = Some((schedule.parse().unwrap(), TimeZone::get(zone).unwrap()));
    Timed { name: name(job), targets: BTreeSet::from([Target::Staff]), schedule, served: None, goes_on: false }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

impl Machine {
    fn new(start: &str, jobs: Vec<Timed>) -> Self {
        let at = ClockReading { wall: at(start), elapsed: Duration::from_secs(1_000) };
        let mut machine = Self {
            scheduler: Scheduler::new(jobs.clone()),
            at,
            takes: BTreeMap::new(),
            running: Vec::new(),
            starts: Vec::new(),
            served: BTreeMap::new(),
            jobs,
            nap: SLEEP_MAX,
        };
        machine.turn();
        machine
    }

    /// Starts what is due, and ends what has run long enough.
    fn turn(&mut self) {
        let now = self.at.elapsed;
        let over: Vec<JobName> =
            self.running.iter().filter(|(_, end)| *end <= now).map(|(job, _)| job.clone()).collect();
        self.running.retain(|(_, end)| *end > now);
        for job in over {
            if let Some(served) = self.scheduler.ended(&job, Ended::Served, self.at) {
                self.served.insert(job, served);
            }
        }
        for job in self.scheduler.due(self.at) {
            assert!(self.running.is_empty(), "{job} starts while {:?} runs on the same target", self.running);
            self.starts.push((job.clone(), self.at));
            let takes = self.takes.get(&job).copied().unwrap_or(Duration::from_secs(20));
            self.running.push((job, now + takes));
        }
    }

    /// Lives on until the wall clock says so.
    fn until(&mut self, end: &str) {
        let end = at(end);
        while self.at.wall < end {
            let left = Duration::try_from(end.duration_since(self.at.wall)).unwrap();
            let sleep = self.scheduler.sleep(self.at);
            let mut step = if sleep == SLEEP_MAX { self.nap } else { sleep }.max(Duration::from_millis(1)).min(left);
            if let Some(first) = self.running.iter().map(|(_, end)| *end).min() {
                step = step.min(first.saturating_sub(self.at.elapsed).max(Duration::from_millis(1)));
            }
            self.pass(step);
            self.turn();
        }
    }

    fn pass(&mut self, time: Duration) {
        self.at.elapsed += time;
        self.at.wall += time;
    }

    /// Sets the wall clock.
    fn set(&mut self, hours: i64) {
        self.at.wall += hours.hours();
        self.turn();
    }

    /// The program ends, and another begins when the wall clock says so.
    fn off_until(&mut self, end: &str) {
        let time = Duration::try_from(at(end).duration_since(self.at.wall)).unwrap();
        self.pass(time);
        self.running.clear();
        let remembered = |timed: &Timed| Timed { served: self.served.get(&timed.name).copied(), ..timed.clone() };
        self.scheduler = Scheduler::new(self.jobs.iter().map(remembered));
        self.turn();
    }

    /// When a job started, by the wall clock.
    fn starts_of(&self, job: &str) -> Vec<Timestamp> {
        self.starts.iter().filter(|(started, _)| started.as_str() == job).map(|(_, at)| at.wall).collect()
    }

    fn shown(&self, job: &str) -> Vec<String> {
        self.starts_of(job).iter().map(ToString::to_string).collect()
    }
}

/// A day's local time as an instant: right after the gap where it is skipped, the first where it comes twice.
fn local(day: DateTime, zone: &str) -> Timestamp {
    let zone = TimeZone::get(zone).unwrap();
    match zone.to_ambiguous_timestamp(day).offset() {
        jiff::tz::AmbiguousOffset::Gap { after, .. } => {
            zone.following(after.to_timestamp(day).unwrap()).next().unwrap().timestamp()
        }
        _ => zone.to_ambiguous_timestamp(day).compatible().unwrap(),
    }
}

#[test]
fn in_24_days_with_two_changes_of_the_clock_an_outage_and_a_clock_set_back_no_run_is_lost_or_doubled() {
    // Berlin begins summer time on 28 March at 01:00 UTC, Auckland ends it on 3 April at 14:00 UTC.
    let jobs = vec![
        timed("often", "*/15 * * * *", "Europe/Berlin"),
        timed("night", "30 2 * * *", "Europe/Berlin"),
        timed("south", "30 2 * * *", "Pacific/Auckland"),
        timed("weekly", "0 6 * * 1", "UTC"),
    ];
    let mut machine = Machine::new("2027-03-15T00:01:00Z", jobs);
    // The source does not answer: runs fail, and fail slowly.
    machine.until("2027-03-18T10:00:30Z");
    machine.takes.insert(name("often"), Duration::from_secs(14 * 60));
    machine.until("2027-03-18T14:00:30Z");
    machine.takes.clear();
    // The service is off from 20:01 to 05:01, over Berlin's night run (01:30 UTC), and between none of Auckland's.
    machine.until("2027-03-20T20:01:00Z");
    machine.off_until("2027-03-21T05:01:00Z");
    // The clock is set back by an hour right after a night run, at 01:31 UTC, and put right again ten hours later.
    machine.until("2027-03-24T01:31:00Z");
    machine.set(-1);
    let at_set_back = machine.starts.len();
    machine.until("2027-03-24T10:31:10Z");
    machine.set(1);
    machine.until("2027-04-08T00:00:00Z");

    let day = |number: i64| DateTime::constant(2027, 3, 15, 2, 30, 0, 0) + number.days();
    let mut night: Vec<Timestamp> = (0..24).map(|number| local(day(number), "Europe/Berlin")).collect();
    // The night of the outage is made up when the service is back.
    let made_up = night.iter_mut().find(|night| **night == at("2027-03-21T01:30:00Z")).unwrap();
    *made_up = at("2027-03-21T05:01:00Z");
    let late = |found: &[Timestamp], expected: &[Timestamp]| {
        let late: Vec<i64> = found.iter().zip(expected).map(|(a, b)| a.duration_since(*b).as_secs()).collect();
        (found.len() == expected.len() && late.iter().all(|late| (0..=15 * 60).contains(late)), late)
    };
    let (right, seen) = late(&machine.starts_of("night"), &night);
    assert!(right, "{seen:?}: {:?}", machine.shown("night"));

    let south: Vec<Timestamp> = (0..25)
        .map(|number| local(DateTime::constant(2027, 3, 15, 2, 30, 0, 0) + number.days(), "Pacific/Auckland"))
        .filter(|time| *time > at("2027-03-15T00:01:00Z") && *time < at("2027-04-08T00:00:00Z"))
        .collect();
    let (right, seen) = late(&machine.starts_of("south"), &south);
    assert!(right, "{seen:?}: {:?}", machine.shown("south"));

    let weekly =
        ["2027-03-15T06:00:00Z", "2027-03-22T06:00:00Z", "2027-03-29T06:00:00Z", "2027-04-05T06:00:00Z"].map(at);
    let (right, seen) = late(&machine.starts_of("weekly"), &weekly);
    assert!(right, "{seen:?}: {:?}", machine.shown("weekly"));

    // By elapsed time a quarter of an hour lies between two runs, over summer time and the clock that was set back, but
    // for the outage, the runs that took long, and the hour that was not there when the clock was put right.
    let often: Vec<Duration> =
        machine.starts.iter().filter(|(job, _)| job.as_str() == "often").map(|(_, at)| at.elapsed).collect();
    let gaps: Vec<u64> = often.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    let odd: Vec<&u64> = gaps.iter().filter(|gap| !(870..=930).contains(*gap)).collect();
    assert!(odd.len() <= 6 && odd.iter().all(|gap| **gap <= 10 * 3600 && **gap >= 30), "{odd:?}");
    let lived = machine.at.elapsed.as_secs() - 1_000;
    let possible = (lived - 9 * 3600) / 900;
    assert!((possible - 6..=possible + 3).contains(&(often.len() as u64)), "{} of {possible}", often.len());
    let repeated =
        machine.starts[at_set_back..].iter().filter(|(_, at)| at.wall < "2027-03-24T10:00:00Z".parse().unwrap());
    assert!(repeated.clone().all(|(job, _)| job.as_str() != "night"), "the hour that came twice repeats no fixed time");
}

#[test]
fn fault_55_a_time_in_the_gap_of_spring_runs_once_right_after_it() {
    let mut machine = Machine::new("2027-03-27T12:00:00Z", vec![timed("night", "30 2 * * *", "Europe/Berlin")]);
    machine.until("2027-03-29T12:00:00Z");
    assert_eq!(machine.shown("night"), ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]);
}

#[test]
fn fault_56_a_time_that_autumn_repeats_runs_once_and_every_hour_still_comes() {
    let jobs = vec![timed("night", "30 2 * * *", "Europe/Berlin"), timed("hourly", "15 * * * *", "Europe/Berlin")];
    let mut machine = Machine::new("2027-10-30T22:00:00Z", jobs);
    machine.until("2027-10-31T04:00:00Z");
    assert_eq!(machine.shown("night"), ["2027-10-31T00:30:00Z"]);
    let hours: Vec<String> =
        (0..6).map(|hour| format!("2027-10-{:02}T{:02}:15:00Z", 30 + (22 + hour) / 24, (22 + hour) % 24)).collect();
    assert_eq!(machine.shown("hourly"), hours);
}

#[test]
fn fault_57_what_the_cron_crate_makes_of_a_gap_and_of_weekdays_is_not_what_is_used() {
    // The crate skips the day of the gap, and counts weekdays from 1 for Sunday; only its reading of fields is used.
    let crates: cron::Schedule = "0 0 6 * * 1".parse().unwrap();
    assert!(crates.days_of_week().includes(1) && !crates.days_of_week().includes(2), "1 is Sunday there");
    let mut machine = Machine::new("2027-03-26T12:00:00Z", vec![timed("monday", "30 2 * * 1,7", "Europe/Berlin")]);
    machine.until("2027-03-30T12:00:00Z");
    assert_eq!(machine.shown("monday"), ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]);
}

#[test]
fn fault_58_a_clock_that_jumps_a_day_makes_each_job_run_at_most_once() {
    for hours in [24, -24, 1, -1, 24 * 365, -24 * 30] {
        let jobs = vec![
            timed("often", "*/15 * * * *", "UTC"),
            timed("night", "30 2 * * *", "UTC"),
            timed("pair", "0 2,14 * * *", "UTC"),
        ];
        let mut machine = Machine::new("2027-06-10T00:00:30Z", jobs);
        machine.until("2027-06-10T15:05:00Z");
        machine.starts.clear();
        machine.set(hours);
        for _ in 0..6 {
            machine.pass(Duration::from_secs(20));
            machine.turn();
        }
        for job in ["often", "night", "pair"] {
            assert!(machine.starts_of(job).len() <= 1, "{hours} h: {:?}", machine.shown(job));
        }
        // Each goes on as its schedule says by the clock that is.
        let noon = machine.at.wall + 2.hours();
        machine.starts.clear();
        machine.until(&noon.to_string());
        assert!((7..=9).contains(&machine.starts_of("often").len()), "{hours} h: {:?}", machine.shown("often"));
    }
}

#[test]
fn fault_59_nothing_runs_by_a_clock_of_1970_and_what_was_missed_runs_once_it_is_right() {
    let mut job = timed("night", "30 2 * * *", "UTC");
    job.served = Some(at("2027-06-09T02:30:00Z"));
    let mut machine = Machine::new("1970-01-01T00:00:10Z", vec![job.clone(), timed("often", "* * * * *", "UTC")]);
    machine.jobs = vec![job];
    for _ in 0..120 {
        machine.pass(machine.scheduler.sleep(machine.at));
        machine.turn();
    }
    assert_eq!(machine.starts.len(), 0);
    let waits = |machine: &Machine| machine.scheduler.waits_since(&name("night"));
    assert_eq!(waits(&machine), Some(at("1970-01-01T00:00:10Z")));
    assert!(Scheduler::is_clock_wrong(machine.at) && machine.scheduler.sleep(machine.at) <= Duration::from_secs(1));
    machine.at.wall = at("2027-06-10T09:00:30Z");
    machine.turn();
    assert_eq!(waits(&machine), None);
    assert_eq!(machine.shown("night"), ["2027-06-10T09:00:30Z"]);
    assert_eq!(machine.starts.len(), 1, "what never ran waits for its first time");
}

#[test]
fn fault_61_a_run_longer_than_its_interval_skips_times_and_counts_them() {
    let mut machine = Machine::new("2027-06-10T00:00:30Z", vec![timed("often", "*/15 * * * *", "UTC")]);
    machine.takes.insert(name("often"), Duration::from_secs(40 * 60));
    machine.until("2027-06-10T02:00:00Z");
    assert_eq!(machine.shown("often"), ["2027-06-10T00:15:00Z", "2027-06-10T01:00:00Z", "2027-06-10T01:45:00Z"]);
    assert_eq!(machine.scheduler.skipped(&name("often")), 4);
}

#[test]
fn fault_63_midnight_and_the_29_of_february_are_those_of_the_site() {
    let mut machine = Machine::new("2028-02-27T00:00:00Z", vec![timed("leap", "0 0 29 2 *", "Pacific/Auckland")]);
    machine.until("2028-03-02T00:00:00Z");
    assert_eq!(machine.shown("leap"), ["2028-02-28T11:00:00Z"]);
    // In Beirut summer time begins at midnight: the day has none.
    let mut machine = Machine::new("2027-03-27T12:00:00Z", vec![timed("daily", "0 0 * * *", "Asia/Beirut")]);
    machine.until("2027-03-29T12:00:00Z");
    assert_eq!(machine.shown("daily"), ["2027-03-27T22:00:00Z", "2027-03-28T21:00:00Z"]);
}

#[test]
fn fault_64_a_machine_that_slept_makes_up_each_job_once() {
    let jobs = vec![timed("often", "*/15 * * * *", "UTC"), timed("night", "30 2 * * *", "UTC")];
    let mut machine = Machine::new("2027-06-10T22:00:30Z", jobs);
    machine.until("2027-06-10T23:01:00Z");
    machine.starts.clear();
    machine.pass(Duration::from_secs(8 * 3600));
    machine.turn();
    machine.until("2027-06-11T07:10:00Z");
    assert_eq!(machine.shown("often"), ["2027-06-11T07:01:00Z"]);
    assert_eq!(machine.shown("night"), ["2027-06-11T07:01:20Z"], "after the other: one at a time");
}

#[test]
fn what_was_missed_is_late_only_from_when_it_could_be_made_up() {
    let jobs = vec![timed("often", "*/15 * * * *", "UTC"), timed("night", "30 2 * * *", "UTC")];
    let mut machine = Machine::new("2027-06-10T22:00:30Z", jobs);
    let waits = |machine: &Machine, job| machine.scheduler.waits_since(&name(job)).map(|at| at.to_string());
    machine.until("2027-06-10T23:01:00Z");
    machine.pass(Duration::from_secs(8 * 3600));
    assert_eq!(waits(&machine, "night"), None, "the schedule was not checked yet");
    machine.turn();
    assert_eq!(waits(&machine, "night").as_deref(), Some("2027-06-11T07:01:00Z"), "the other one runs first");
    assert_eq!(waits(&machine, "often"), None, "it runs");
    machine.until("2027-06-11T07:02:00Z");
    assert_eq!(waits(&machine, "night"), None, "it has run");
}

#[test]
fn a_run_that_was_missed_while_the_machine_was_off_runs_once_at_the_start() {
    let mut machine = Machine::new("2027-06-10T01:00:00Z", vec![timed("night", "30 2 * * *", "UTC")]);
    machine.until("2027-06-10T03:00:00Z");
    machine.off_until("2027-06-14T12:00:00Z");
    machine.until("2027-06-15T03:00:00Z");
    assert_eq!(machine.shown("night"), ["2027-06-10T02:30:00Z", "2027-06-14T12:00:00Z", "2027-06-15T02:30:00Z"]);
    // Off while nothing was due: nothing to make up.
    machine.off_until("2027-06-15T22:00:00Z");
    assert_eq!(machine.starts.len(), 3);
}

#[test]
fn fault_113_a_run_that_did_not_end_is_due_again_after_a_restart() {
    let mut machine = Machine::new("2027-06-10T01:00:00Z", vec![timed("night", "30 2 * * *", "UTC")]);
    machine.until("2027-06-10T03:00:00Z");
    machine.until("2027-06-11T02:30:05Z");
    // It is killed five seconds after its start.
    machine.off_until("2027-06-11T02:31:00Z");
    assert_eq!(machine.shown("night")[1..], ["2027-06-11T02:30:00Z", "2027-06-11T02:31:00Z"]);
}

#[test]
fn fault_22_a_run_that_was_preempted_is_due_again_at_once_and_not_remembered_as_served() {
    let mut scheduler = Scheduler::new([timed("night", "30 2 * * *", "UTC")]);
    let at = |wall: &str| ClockReading { wall: wall.parse().unwrap(), elapsed: Duration::from_secs(1_000) };
    scheduler.due(at("2027-06-10T02:00:00Z"));
    let job = name("night");
    assert!(scheduler.ask(&job));
    assert_eq!(scheduler.due(at("2027-06-10T02:00:01Z")), std::slice::from_ref(&job));
    assert_eq!(scheduler.ended(&job, Ended::Preempted, at("2027-06-10T02:00:02Z")), None);
    assert_eq!(scheduler.due(at("2027-06-10T02:00:02Z")), std::slice::from_ref(&job));
    scheduler.ask(&job);
    assert!(scheduler.due(at("2027-06-10T02:00:03Z")).is_empty(), "it runs");
    assert!(scheduler.ended(&job, Ended::Served, at("2027-06-10T02:00:04Z")).is_some());
    assert_eq!(scheduler.due(at("2027-06-10T02:00:04Z")), [job], "it was asked for while it ran");
}

#[test]
fn a_run_that_was_preempted_starts_over_behind_those_that_waited_for_it() {
    let jobs = ["first", "second", "third"].map(|job| timed(job, "30 2 * * *", "UTC"));
    let mut scheduler = Scheduler::new(jobs);
    let at = |wall: &str| ClockReading { wall: wall.parse().unwrap(), elapsed: Duration::from_secs(1_000) };
    scheduler.due(at("2027-06-10T02:00:00Z"));
    let mut started = scheduler.due(at("2027-06-10T02:30:00Z"));
    let mut order = Vec::new();
    for second in 1..5 {
        let [job] = &started[..] else { panic!("one at a time: {started:?}") };
        order.push(job.to_string());
        let how = if second == 1 { Ended::Preempted } else { Ended::Served };
        let wall = at(&format!("2027-06-10T02:30:0{second}Z"));
        scheduler.ended(&job.clone(), how, wall);
        started = scheduler.due(wall);
    }
    assert_eq!(order, ["first", "second", "third", "first"]);
    assert!(started.is_empty());
}

#[test]
fn a_run_that_could_not_use_the_state_is_tried_again_soon_whatever_the_clock_says() {
    let mut scheduler = Scheduler::new([timed("night", "30 2 * * *", "UTC")]);
    let at = |wall: &str, elapsed: Duration| ClockReading { wall: wall.parse().unwrap(), elapsed };
    let (begun, job) = (Duration::from_secs(1_000), name("night"));
    scheduler.due(at("2027-06-10T02:29:59Z", begun));
    assert_eq!(scheduler.due(at("2027-06-10T02:30:00Z", begun)), std::slice::from_ref(&job));
    let lost = at("2027-06-10T02:30:01Z", begun);
    assert!(scheduler.ended(&job, Ended::Lost, lost).is_some());
    assert_eq!(scheduler.sleep(lost), LOST_RETRY.min(SLEEP_MAX));
    assert!(scheduler.due(at("2027-06-10T02:35:00Z", begun)).is_empty(), "the clock was set");
    let later = at("2027-06-10T02:30:02Z", begun + LOST_RETRY);
    assert_eq!(scheduler.due(later), std::slice::from_ref(&job));
    scheduler.ended(&job, Ended::Served, later);
    assert!(scheduler.due(at("2027-06-10T02:40:00Z", begun + 9 * LOST_RETRY)).is_empty(), "it is done");
}

#[test]
fn fault_62_a_reload_keeps_what_is_served_and_counts_another_schedule_from_now() {
    let now = ClockReading { wall: at("2027-06-10T12:00:00Z"), elapsed: Duration::from_secs(1_000) };
    let mut kept = timed("kept", "30 2 * * *", "UTC");
    kept.served = Some(at("2027-06-10T02:30:00Z"));
    let mut moved = timed("moved", "30 2 * * *", "UTC");
    moved.served = kept.served;
    let mut scheduler = Scheduler::new([kept.clone(), moved]);
    assert!(scheduler.due(now).is_empty());
    scheduler.replace([kept, timed("moved", "0 6 * * *", "Pacific/Auckland"), timed("new", "0 6 * * *", "UTC")], now);
    assert!(scheduler.due(now).is_empty(), "nothing is made up that was never missed");
    let next = |job: &str| scheduler.next(&name(job)).unwrap().to_string();
    assert_eq!(next("kept"), "2027-06-11T02:30:00Z");
    assert_eq!(next("moved"), "2027-06-10T18:00:00Z", "06:00 in Auckland's winter");
    assert_eq!(next("new"), "2027-06-11T06:00:00Z");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn over_any_jumps_no_job_runs_twice_for_one_time_and_none_is_forgotten(
        steps in prop::collection::vec((1_u64..20_000, prop::sample::select(vec![0_i64, 0, 0, -1, 1, -2, 2])), 1..40),
    ) {
        let mut machine = Machine::new("2027-06-10T00:00:30Z", vec![timed("night", "30 2 * * *", "UTC")]);
        machine.nap = Duration::from_secs(600);
        let mut highest = machine.at.wall;
        for (seconds, jump) in steps {
            let end = machine.at.wall + Duration::from_secs(seconds);
            machine.until(&end.to_string());
            highest = highest.max(machine.at.wall);
            // Never further back than a fixed time may stand ahead, all jumps together.
            if jump > 0 || highest.duration_since(machine.at.wall) < SignedDuration::from_hours(1) {
                machine.set(jump);
            }
            highest = highest.max(machine.at.wall);
        }
        let end = highest + Duration::from_secs(60);
        machine.until(&end.to_string());
        let times = (0..).map(|day| at("2027-06-10T02:30:00Z") + (24 * day).hours()).take_while(|time| *time <= end);
        prop_assert_eq!(machine.starts.len(), times.count(), "{:?}", machine.shown("night"));
    }
}

#[test]
fn a_run_that_no_schedule_started_serves_the_times_until_now_and_keeps_the_schedule() {
    let moment =
        |wall: &str, seconds: u64| ClockReading { wall: at(wall), elapsed: Duration::from_secs(1_000 + seconds) };
    let mut scheduler = Scheduler::new([timed("staff", "30 2 * * *", "UTC")]);
    assert_eq!(scheduler.due(moment("2027-06-10T02:00:00Z", 0)), [] as [JobName; 0]);
    // It came due while the command ran, before the loop looked.
    let ran = moment("2027-06-10T02:40:00Z", 2_400);
    assert_eq!(scheduler.ran(&name("staff"), ran), Some(ran.wall));
    assert_eq!(scheduler.due(moment("2027-06-10T02:40:01Z", 2_401)), [] as [JobName; 0]);
    assert_eq!(scheduler.next(&name("staff")), Some(at("2027-06-11T02:30:00Z")));
    assert_eq!(scheduler.due(moment("2027-06-11T02:30:00Z", 88_200)), [name("staff")]);
    assert_eq!(scheduler.ran(&name("nobody"), moment("2027-06-11T02:30:01Z", 88_201)), None);
}
