//! When each job should start, worked out in another way than the scheduler's: minute after minute, a look at the wall.
//!
//! The wall clocks of the four places are a table of their changes in these days, written down by hand from the
//! announcements, and only compared with the time zone database of this machine.

use jiff::civil::{DateTime, Weekday};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

/// A place: its name, its hours from UTC at first, when that changes, and the hours from then on.
pub(super) struct Place {
    pub(super) name: &'static str,
    before: i8,
    change: &'static str,
    after: i8,
}

pub(super) const JERUSALEM: Place =
    Place { name: "Asia/Jerusalem", before: 2, change: "2026-03-27T00:00:00Z", after: 3 };
pub(super) const LONDON: Place = Place { name: "Europe/London", before: 0, change: "2026-03-29T01:00:00Z", after: 1 };
pub(super) const AUCKLAND: Place =
    Place { name: "Pacific/Auckland", before: 13, change: "2026-04-04T14:00:00Z", after: 12 };
pub(super) const SANTIAGO: Place =
    Place { name: "America/Santiago", before: -3, change: "2026-04-05T03:00:00Z", after: -4 };

impl Place {
    fn shows(&self, at: Timestamp) -> DateTime {
        let change: Timestamp = self.change.parse().unwrap();
        Offset::constant(if at < change { self.before } else { self.after }).to_datetime(at)
    }
}

/// When a job is to start, as people would say it.
pub(super) enum Rule {
    /// Every quarter of an hour.
    Quarters,
    /// Each day at these times.
    Daily(&'static [(i8, i8)]),
    /// Each week on this day at this time.
    Weekly(Weekday, (i8, i8)),
}

/// What befell the machine.
pub(super) enum Blow {
    /// It went off, or only its daemon; the run of that job was cut off.
    Off(Option<String>),
    /// It is on again.
    On,
    /// Its clock was set by so many hours.
    Set(i64),
}

/// When a job should start, by true time: between `begin` and `end`, through these blows.
pub(super) fn starts(
    job: &str,
    rule: &Rule,
    place: &Place,
    (begin, end): (Timestamp, Timestamp),
    blows: &[(Timestamp, Blow)],
) -> Vec<Timestamp> {
    let mut starts = Vec::new();
    let mut seen = Seen::of(rule, place, begin);
    let (mut is_on, mut set, mut is_due) = (true, 0, false);
    let mut blows = blows.iter().peekable();
    let minute = SignedDuration::from_mins(1);
    let mut now = begin;
    while now < end {
        // A run that begins when the power fails has begun.
        while let Some((_, blow)) =
            blows.next_if(|(at, blow)| *at < now || (*at == now && !matches!(blow, Blow::Off(_))))
        {
            match blow {
                Blow::Off(cut) => {
                    is_on = false;
                    is_due |= cut.as_deref() == Some(job);
                }
                Blow::On => is_on = true,
                Blow::Set(hours) => {
                    set += hours;
                    seen.set(*hours, now + SignedDuration::from_hours(set));
                }
            }
        }
        is_due |= seen.look(rule, place, now + SignedDuration::from_hours(set));
        if is_due && is_on {
            starts.push(now);
            is_due = false;
        }
        now += minute;
    }
    starts
}

/// What was seen on the wall already.
struct Seen {
    quarter: i64,
    /// For each time of the rule, the last day on which it was seen.
    days: Vec<jiff::civil::Date>,
}

impl Seen {
    /// A new look waits for what comes.
    fn of(rule: &Rule, place: &Place, begin: Timestamp) -> Self {
        let now = place.shows(begin);
        let days = rule.times().iter().map(|(hour, minute)| {
            let is_over = now.time() >= jiff::civil::time(*hour, *minute, 0, 0);
            if is_over { now.date() } else { now.date().yesterday().unwrap() }
        });
        Self { quarter: quarter(begin), days: days.collect() }
    }

    /// Whether a new time is on the wall.
    fn look(&mut self, rule: &Rule, place: &Place, now: Timestamp) -> bool {
        if let Rule::Quarters = rule {
            let is_new = quarter(now) > self.quarter;
            self.quarter = self.quarter.max(quarter(now));
            return is_new;
        }
        let wall = place.shows(now);
        let mut is_new = false;
        for ((hour, minute), day) in rule.times().iter().zip(&mut self.days) {
            let is_day = !matches!(rule, Rule::Weekly(weekday, _) if wall.date().weekday() != *weekday);
            if is_day && wall.date() > *day && wall.time() >= jiff::civil::time(*hour, *minute, 0, 0) {
                *day = wall.date();
                is_new = true;
            }
        }
        is_new
    }

    /// The clock was set. Quarters go on as time passes; a time of the day that comes twice was seen.
    fn set(&mut self, hours: i64, now: Timestamp) {
        if hours < 0 {
            self.quarter = quarter(now);
        }
    }
}

impl Rule {
    fn times(&self) -> &[(i8, i8)] {
        match self {
            Self::Quarters => &[],
            Self::Daily(times) => times,
            Self::Weekly(_, time) => std::slice::from_ref(time),
        }
    }
}

fn quarter(at: Timestamp) -> i64 {
    at.as_second().div_euclid(15 * 60)
}

#[test]
fn the_four_places_change_their_clocks_as_the_time_zone_database_says() {
    for place in [JERUSALEM, LONDON, AUCKLAND, SANTIAGO] {
        let zone = TimeZone::get(place.name).unwrap();
        let mut at: Timestamp = "2026-03-19T00:00:00Z".parse().unwrap();
        let (mut changes, end) = (0, "2026-04-14T00:00:00Z".parse().unwrap());
        while at < end {
            assert_eq!(place.shows(at), zone.to_datetime(at), "{} at {at}", place.name);
            let next = at + SignedDuration::from_mins(15);
            changes += usize::from(zone.to_offset(at) != zone.to_offset(next));
            at = next;
        }
        assert_eq!(changes, 1, "{}", place.name);
    }
}
