//! What the cron crate does where summer time begins and ends, and how it counts: the reasons why only its reading of fields
//! is used, and the times are worked out here.
//!
//! A version of the crate that does it another way fails here: then it is to be looked at again what of it can be used.

use std::fmt;
use std::str::FromStr as _;

use chrono::{DateTime, Duration, FixedOffset, MappedLocalTime, NaiveDate, NaiveDateTime, Offset, TimeZone, Utc};
use cron::{Schedule, TimeUnitSpec as _};

/// Berlin in 2027: summer time from 28 March to 31 October, each at 01:00 UTC.
#[derive(Clone, Copy, Debug)]
struct Berlin;

/// Hours from UTC.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Hours(i32);

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fix().fmt(f)
    }
}

impl Offset for Hours {
    fn fix(&self) -> FixedOffset {
        FixedOffset::east_opt(self.0 * 3600).unwrap()
    }
}

impl TimeZone for Berlin {
    type Offset = Hours;

    fn from_offset(_: &Hours) -> Self {
        Self
    }

    fn offset_from_local_date(&self, local: &NaiveDate) -> MappedLocalTime<Hours> {
        self.offset_from_local_datetime(&local.and_hms_opt(12, 0, 0).unwrap())
    }

    fn offset_from_local_datetime(&self, local: &NaiveDateTime) -> MappedLocalTime<Hours> {
        let fits = |hours: i32| {
            let utc = *local - Duration::hours(hours.into());
            (self.offset_from_utc_datetime(&utc) == Hours(hours)).then_some(Hours(hours))
        };
        match (fits(2), fits(1)) {
            (Some(first), Some(second)) => MappedLocalTime::Ambiguous(first, second),
            (Some(only), None) | (None, Some(only)) => MappedLocalTime::Single(only),
            (None, None) => MappedLocalTime::None,
        }
    }

    fn offset_from_utc_date(&self, utc: &NaiveDate) -> Hours {
        self.offset_from_utc_datetime(&utc.and_hms_opt(12, 0, 0).unwrap())
    }

    fn offset_from_utc_datetime(&self, utc: &NaiveDateTime) -> Hours {
        let at = |month, day| NaiveDate::from_ymd_opt(2027, month, day).unwrap().and_hms_opt(1, 0, 0).unwrap();
        Hours(if (at(3, 28)..at(10, 31)).contains(utc) { 2 } else { 1 })
    }
}

fn berlin(text: &str) -> DateTime<Berlin> {
    text.parse::<DateTime<Utc>>().unwrap().with_timezone(&Berlin)
}

fn shown(at: DateTime<Berlin>) -> String {
    at.with_timezone(&Utc).format("%dT%H:%M").to_string()
}

fn next(schedule: &str, after: &str, count: usize) -> Vec<String> {
    Schedule::from_str(schedule).unwrap().after(&berlin(after)).take(count).map(shown).collect()
}

/// The same, each asked for after the one before.
fn one_by_one(schedule: &str, after: &str, count: usize) -> Vec<String> {
    let schedule = Schedule::from_str(schedule).unwrap();
    let mut at = berlin(after);
    let mut step = || {
        at = schedule.after(&at).next().unwrap();
        shown(at)
    };
    (0..count).map(|_| step()).collect()
}

#[test]
fn fault_57_the_crate_leaves_out_a_day_whose_time_summer_time_skips() {
    assert_eq!(next("0 30 2 * * *", "2027-03-27T12:00:00Z", 2), ["29T00:30", "30T00:30"]);
}

#[test]
fn fault_57_the_crate_runs_a_time_twice_that_comes_twice() {
    assert_eq!(next("0 30 2 * * *", "2027-10-30T12:00:00Z", 3), ["31T00:30", "31T01:30", "01T01:30"]);
}

#[test]
fn fault_57_the_crate_loses_an_hour_of_hourly_runs_when_asked_one_by_one() {
    let expected = ["30T23:15", "31T00:15", "31T01:15", "31T02:15"];
    assert_eq!(next("0 15 * * * *", "2027-10-30T22:30:00Z", 4), expected);
    assert_ne!(one_by_one("0 15 * * * *", "2027-10-30T22:30:00Z", 4), expected);
}

#[test]
fn fault_57_the_crate_counts_weekdays_from_1_for_sunday_and_wants_seconds() {
    let sunday = Schedule::from_str("0 0 6 * * 1").unwrap();
    assert_eq!(sunday.after(&berlin("2027-06-01T00:00:00Z")).map(shown).next().unwrap(), "06T04:00", "a Sunday");
    assert!(Schedule::from_str("0 0 6 * * 0").is_err());
    assert!(Schedule::from_str("0 6 * * 1").is_err());
    assert!(sunday.days_of_week().includes(1) && !sunday.days_of_week().includes(2));
}

#[test]
fn fault_57_no_panic_comes_out_of_the_gap_by_whatever_second_it_is_asked() {
    let schedule = Schedule::from_str("0 30 2 * * *").unwrap();
    let begin = berlin("2027-03-28T00:00:00Z");
    for minutes in 0..180 {
        let at = begin + Duration::minutes(minutes);
        assert!(schedule.after(&at).next().is_some_and(|next| next > at));
    }
}
