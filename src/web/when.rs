//! A moment as a page shows it: how long ago, and exactly.

use crate::text::clock_time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

/// A moment, seen from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct When {
    /// For programs.
    pub iso: String,
    /// How long ago, or in how long.
    pub about: String,
    /// As a clock on the wall of the reader shows it.
    pub exact: String,
}

impl When {
    /// `at` as seen at `now`, in a time zone.
    pub fn new(at: Timestamp, now: Timestamp, zone: &TimeZone) -> Self {
        let exact = clock_time(at, zone);
        Self { iso: format!("{at:.0}"), about: about(at.duration_since(now)), exact }
    }
}

/// A span of time in words.
fn about(from_now: SignedDuration) -> String {
    let seconds = from_now.as_secs();
    let span = match seconds.unsigned_abs() {
        0..45 => return if seconds > 0 { "in a moment".to_owned() } else { "just now".to_owned() },
        span => lasting(span),
    };
    if seconds > 0 { format!("in {span}") } else { format!("{span} ago") }
}

/// How long something lasts, by its largest unit.
pub fn lasting(seconds: u64) -> String {
    let rounded = |unit: u64| (seconds + unit / 2) / unit;
    match seconds {
        0..90 => format!("{seconds} s"),
        90..5_400 => format!("{} min", rounded(60)),
        5_400..172_800 => format!("{} h", rounded(3_600)),
        _ => format!("{} days", rounded(86_400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_shown_by_its_distance_and_exactly() {
        let now: Timestamp = "2026-11-23T10:00:00Z".parse().unwrap();
        for (seconds, expected) in [
            (0, "just now"),
            (-44, "just now"),
            (44, "in a moment"),
            (-60, "60 s ago"),
            (-180, "3 min ago"),
            (900, "in 15 min"),
            (-7_200, "2 h ago"),
            (-259_200, "3 days ago"),
        ] {
            assert_eq!(When::new(now + SignedDuration::from_secs(seconds), now, &TimeZone::UTC).about, expected);
        }
        let zone = TimeZone::get("Pacific/Auckland").unwrap();
        let when = When::new(now, now, &zone);
        assert_eq!((when.iso.as_str(), when.exact.as_str()), ("2026-11-23T10:00:00Z", "23 Nov 2026, 23:00 NZDT"));
    }
}
