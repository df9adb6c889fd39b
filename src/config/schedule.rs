//! The schedule of a job.
//!
//! The cron crate reads the fields; the times are worked out here, in local time, because a schedule means something
//! where summer time begins and ends: a time that is skipped runs once right after the gap, one that comes twice runs
//! once, and with `*` or a step in the hour field it goes by elapsed time.

use std::fmt;
use std::str::FromStr;

use cron::TimeUnitSpec;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan};

use super::weekday;

/// How far ahead a next time is looked for: the rarest day, a 29 February on a given weekday, comes within 40 years.
const DAYS_AHEAD_MAX: i32 = 41 * 366;
/// How far local time may be set back at once; times before that can't come again.
const SET_BACK_MAX: SignedDuration = SignedDuration::from_hours(3);

/// A checked schedule, as crontab(5) reads it, or with seconds in front.
#[derive(Clone, PartialEq, Eq)]
pub struct Schedule {
    text: String,
    fields: cron::Schedule,
    /// Whether a day needs to fit just one of day of month and weekday: so where both are restricted.
    either_day: bool,
    /// Whether it goes by elapsed time where local time jumps.
    elapsed: bool,
}

/// Why a text is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ScheduleError {
    message: String,
}

impl Schedule {
    /// How to write one.
    pub(super) const HINT: &str = "write five fields as in crontab: minute hour day month weekday";

    /// The schedule as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it goes by elapsed time where local time jumps: so with `*` or a step in the hours.
    pub fn goes_by_elapsed_time(&self) -> bool {
        self.elapsed
    }

    /// The first time after `at`, in local time of `zone`; `None` where there is none in the next 41 years.
    pub fn next_after(&self, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        // Where local time is soon set back, what it shows again lies before what it shows now.
        let soon = at.saturating_add(SET_BACK_MAX).unwrap_or(Timestamp::MAX);
        let is_set_back_soon = zone.following(at).next().is_some_and(|change| change.timestamp() <= soon);
        let back = if is_set_back_soon { SET_BACK_MAX } else { SignedDuration::ZERO };
        let from = zone.to_datetime(at).saturating_sub(back);
        let mut best: Option<Timestamp> = None;
        let mut date = from.date();
        for _ in 0..DAYS_AHEAD_MAX {
            if self.fits(date) {
                for local in self.times(date, from).filter(|local| *local >= from) {
                    let (first, second) = self.instants(local, zone);
                    if best.is_some_and(|best| first.is_some_and(|first| first >= best)) {
                        return best;
                    }
                    let after = [first, second].into_iter().flatten().filter(|time| *time > at);
                    best = after.chain(best).min();
                }
            }
            if best.is_some() && date > from.date() {
                return best;
            }
            date = date.checked_add(1.day()).ok()?;
        }
        best
    }

    fn fits(&self, date: Date) -> bool {
        if !self.fields.months().includes(ordinal(date.month())) {
            return false;
        }
        let of_month = self.fields.days_of_month().includes(ordinal(date.day()));
        let of_week = self.fields.days_of_week().includes(ordinal(date.weekday().to_sunday_one_offset()));
        if self.either_day { of_month || of_week } else { of_month && of_week }
    }

    /// The local times of one day, in order; hours that end before `from` are left out.
    fn times(&self, date: Date, from: DateTime) -> impl Iterator<Item = DateTime> {
        let first = if date == from.date() { ordinal(from.hour()) } else { 0 };
        self.fields.hours().iter().filter(move |hour| *hour >= first).flat_map(move |hour| {
            self.fields.minutes().iter().flat_map(move |minute| {
                self.fields
                    .seconds()
                    .iter()
                    .filter_map(move |second| Some(date.at(small(hour)?, small(minute)?, small(second)?, 0)))
            })
        })
    }

    /// When a local time comes: once, twice, or, where it is skipped, never or right after the gap.
    fn instants(&self, local: DateTime, zone: &TimeZone) -> (Option<Timestamp>, Option<Timestamp>) {
        match zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => (offset.to_timestamp(local).ok(), None),
            AmbiguousOffset::Gap { .. } if self.elapsed => (None, None),
            AmbiguousOffset::Gap { after, .. } => {
                let before_gap = after.to_timestamp(local).ok();
                (before_gap.and_then(|time| Some(zone.following(time).next()?.timestamp())), None)
            }
            AmbiguousOffset::Fold { before, after } => {
                let second = if self.elapsed { after.to_timestamp(local).ok() } else { None };
                (before.to_timestamp(local).ok(), second)
            }
        }
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let wrong = |message: String| ScheduleError { message };
        let text = text.trim();
        let written: Vec<&str> = named(text).unwrap_or(text).split_whitespace().collect();
        let [second, minute, hour, day, month, weekday] = match *written.as_slice() {
            [minute, hour, day, month, weekday] => ["0", minute, hour, day, month, weekday],
            [second, minute, hour, day, month, weekday] => [second, minute, hour, day, month, weekday],
            _ => return Err(wrong(format!("{text:?} is not five or six fields"))),
        };
        let days = weekday::translate(weekday).map_err(wrong)?;
        for (field, name) in [(second, "second"), (minute, "minute"), (hour, "hour"), (day, "day"), (month, "month")] {
            let one = if name == "month" { format!("0 0 0 1 {field} *") } else { one_field(field, name) };
            if one.parse::<cron::Schedule>().is_err() {
                return Err(wrong(format!("{field:?} is not right for the {name}")));
            }
        }
        let fields = format!("{second} {minute} {hour} {day} {month} {days}")
            .parse()
            .map_err(|_| wrong(format!("{text:?} is not a schedule")))?;
        let restricted = |field: &str| !field.starts_with(['*', '?']);
        let schedule = Self {
            text: text.to_owned(),
            fields,
            either_day: restricted(day) && restricted(weekday),
            elapsed: hour.contains(['*', '/']),
        };
        match schedule.next_after(Timestamp::UNIX_EPOCH, &TimeZone::UTC) {
            Some(_) => Ok(schedule),
            None => Err(wrong(format!("{text:?} never comes"))),
        }
    }
}

/// A schedule of one field, the others open, to find the field that is wrong.
fn one_field(field: &str, name: &str) -> String {
    let at = |this: &str, open: &str| if this == name { field.to_owned() } else { open.to_owned() };
    format!("{} {} {} {} * *", at("second", "0"), at("minute", "0"), at("hour", "0"), at("day", "*"))
}

/// The fields that a name such as `@daily` means.
fn named(text: &str) -> Option<&'static str> {
    Some(match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => return None,
    })
}

fn ordinal(number: i8) -> u32 {
    u32::from(number.unsigned_abs())
}

fn small(number: u32) -> Option<i8> {
    i8::try_from(number).ok()
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schedule").field(&self.text).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn next(schedule: &str, zone: &str, at: &str, count: usize) -> Vec<String> {
        let schedule: Schedule = schedule.parse().unwrap();
        let zone = TimeZone::get(zone).unwrap();
        let mut at: Timestamp = at.parse().unwrap();
        let mut times = Vec::new();
        for _ in 0..count {
            at = schedule.next_after(at, &zone).unwrap();
            times.push(at.to_string());
        }
        times
    }

    #[test]
    fn a_schedule_means_what_crontab_says() {
        // 2026-01-01 is a Thursday.
        for (schedule, expected) in [
            ("*/15 * * * *", ["2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"]),
            ("0 6 * * 1-5", ["2026-01-01T06:00:00Z", "2026-01-02T06:00:00Z"]),
            ("0 6 * * 0", ["2026-01-04T06:00:00Z", "2026-01-11T06:00:00Z"]),
            ("0 6 * * 7", ["2026-01-04T06:00:00Z", "2026-01-11T06:00:00Z"]),
            ("0 6 3 * 5", ["2026-01-02T06:00:00Z", "2026-01-03T06:00:00Z"]),
            ("30 0 6 * * mon", ["2026-01-05T06:00:30Z", "2026-01-12T06:00:30Z"]),
            ("0 0 29 feb *", ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]),
            ("@daily", ["2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"]),
        ] {
            assert_eq!(next(schedule, "UTC", "2026-01-01T00:00:00Z", 2), expected, "{schedule}");
        }
    }

    #[test]
    fn a_time_that_summer_time_skips_runs_once_right_after_the_gap() {
        // Berlin, 2027-03-28: 02:00 becomes 03:00 at 01:00 UTC.
        for schedule in ["30 2 * * *", "0,30 2 * * *"] {
            let times = next(schedule, "Europe/Berlin", "2027-03-27T12:00:00Z", 2);
            assert_eq!(times[0], "2027-03-28T01:00:00Z", "{schedule}");
            assert!(times[1].starts_with("2027-03-29T00:"), "{schedule}: {}", times[1]);
        }
        let hourly = next("30 * * * *", "Europe/Berlin", "2027-03-28T00:00:00Z", 2);
        assert_eq!(hourly, ["2027-03-28T00:30:00Z", "2027-03-28T01:30:00Z"]);
    }

    #[test]
    fn a_time_that_comes_twice_runs_once() {
        // Berlin, 2027-10-31: 03:00 becomes 02:00 at 01:00 UTC.
        let fixed = next("30 2 * * *", "Europe/Berlin", "2027-10-30T12:00:00Z", 2);
        assert_eq!(fixed, ["2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z"]);
        let elapsed = next("30 */1 * * *", "Europe/Berlin", "2027-10-31T00:00:00Z", 4);
        let expected = ["2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z", "2027-10-31T02:30:00Z", "2027-10-31T03:30:00Z"];
        assert_eq!(elapsed, expected);
    }

    proptest! {
        #[test]
        fn the_next_time_is_later_and_nothing_fits_between(
            second in 0_i64..4_000_000_000,
            schedule in prop::sample::select(vec!["30 2 * * *", "*/20 * * * *", "0 */2 * * 1-5", "15 2,3 1 * 0"]),
            zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "Pacific/Auckland", "Australia/Lord_Howe"]),
        ) {
            let schedule: Schedule = schedule.parse().unwrap();
            let zone = TimeZone::get(zone).unwrap();
            let at = Timestamp::from_second(second).unwrap();
            let next = schedule.next_after(at, &zone).unwrap();
            prop_assert!(next > at);
            let middle = Timestamp::from_second(second.midpoint(next.as_second())).unwrap();
            if middle < next {
                prop_assert_eq!(schedule.next_after(middle, &zone), Some(next));
            }
        }
    }

    proptest! {
        #[test]
        fn around_a_change_of_the_clock_the_next_time_is_the_same_whoever_asks_when(
            year in 2020_i64..2036,
            minutes in -300_i64..300,
            schedule in prop::sample::select(vec![
                "30 2 * * *", "*/20 * * * *", "15 2,3 * * *", "*/30 23,0 * * *", "0 0 * * *", "45 1-3 * * *", "5 */2 * * *",
            ]),
            zone in prop::sample::select(vec![
                "Europe/Berlin", "Pacific/Auckland", "Australia/Lord_Howe", "America/Santiago", "Asia/Beirut",
            ]),
        ) {
            let schedule: Schedule = schedule.parse().unwrap();
            let zone = TimeZone::get(zone).unwrap();
            let begin = Timestamp::from_second((year - 1970) * 31_556_952).unwrap();
            for change in zone.following(begin).take(2) {
                let at = change.timestamp() + SignedDuration::from_mins(minutes);
                // From long before the change, one time after the other.
                let mut asked = at - SignedDuration::from_hours(48);
                while let Some(next) = schedule.next_after(asked, &zone).filter(|next| *next <= at) {
                    asked = next;
                }
                prop_assert_eq!(schedule.next_after(at, &zone), schedule.next_after(asked, &zone), "at {}", at);
            }
        }
    }

    #[test]
    fn what_is_no_schedule_is_named() {
        for (text, message) in [
            ("", "\"\" is not five or six fields"),
            ("* * *", "\"* * *\" is not five or six fields"),
            ("0 0 0 * * * 2030", "\"0 0 0 * * * 2030\" is not five or six fields"),
            ("60 * * * *", "\"60\" is not right for the minute"),
            ("0 24 * * *", "\"24\" is not right for the hour"),
            ("0 0 * 13 *", "\"13\" is not right for the month"),
            ("0 0 31 2 *", "\"0 0 31 2 *\" never comes"),
            ("0 0 * * 8", "\"8\" is not a weekday (0-7 or sun-sat)"),
            ("@reboot", "\"@reboot\" is not five or six fields"),
        ] {
            assert_eq!(text.parse::<Schedule>().unwrap_err().to_string(), message, "{text}");
        }
    }
}
