//! Times of the service: its clock, and the zones in which it writes them.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;

/// The values that `time_zone` may have (specification, Common behaviour); case matters.
pub(crate) const ZONES: &[&str] = &[
    "UTC",
    "Africa/Algiers",
    "Africa/Cairo",
    "Africa/Johannesburg",
    "Africa/Lagos",
    "Africa/Nairobi",
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Toronto",
    "America/Mexico_City",
    "America/Sao_Paulo",
    "America/Argentina/Buenos_Aires",
    "Asia/Kolkata",
    "Asia/Dubai",
    "Asia/Tokyo",
    "Asia/Shanghai",
    "Asia/Hong_Kong",
    "Asia/Singapore",
    "Asia/Seoul",
    "Asia/Bangkok",
    "Australia/Sydney",
    "Australia/Melbourne",
    "Australia/Brisbane",
    "Australia/Perth",
    "Europe/London",
    "Europe/Berlin",
    "Europe/Paris",
    "Europe/Moscow",
    "Europe/Istanbul",
    "Europe/Rome",
    "Pacific/Auckland",
    "Pacific/Fiji",
    "Pacific/Honolulu",
];

/// The service's clock: a clock and how far the service is ahead of it.
#[derive(Clone, Debug)]
pub(crate) struct ServiceClock {
    clock: Clock,
    offset: SignedDuration,
}

impl ServiceClock {
    pub(crate) fn new(clock: Clock, offset: SignedDuration) -> Self {
        Self { clock, offset }
    }

    /// The service's time in whole seconds, which is as fine as the service tells it.
    pub(crate) fn now(&self) -> Timestamp {
        let now = self.clock.now().saturating_add(self.offset).unwrap_or(Timestamp::MAX);
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }

    /// The service's time as a `Date` header has it.
    pub(crate) fn date_header(&self) -> String {
        self.now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }
}

/// The zone of that name, where the specification allows it.
pub(crate) fn zone(name: &str) -> Option<TimeZone> {
    if name == "UTC" {
        return Some(TimeZone::UTC);
    }
    ZONES.contains(&name).then(|| TimeZone::get(name).ok()).flatten()
}

/// A time as answers have it: ISO 8601 with the zone's offset.
pub(crate) fn written(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// The same without an offset, as organization groups and asset movements have it.
pub(crate) fn written_locally(at: Timestamp, zone: &TimeZone) -> String {
    zone.to_datetime(at).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Reads an ISO 8601 time: with an offset, or without one (then UTC), or a date alone (its first second).
pub(crate) fn read(text: &str) -> Option<Timestamp> {
    read_locally(text, &TimeZone::UTC)
}

/// Reads a time that belongs to a zone where it has no offset of its own.
pub(crate) fn read_locally(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(zone.clone()).ok().map(|at| at.timestamp())
}

/// Whether a text is a day, `YYYY-MM-DD`.
pub(crate) fn is_day(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

/// A span of seconds in words, such as `13 minutes 32 seconds`.
pub(crate) fn in_words(seconds: u64) -> String {
    let parts = [
        (seconds / 86_400, "day"),
        (seconds / 3600 % 24, "hour"),
        (seconds / 60 % 60, "minute"),
        (seconds % 60, "second"),
    ];
    let written: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count} {unit}{}", if *count == 1 { "" } else { "s" }))
        .collect();
    if written.is_empty() { "0 seconds".to_owned() } else { written.join(" ") }
}

/// Reads the `If-Modified-Since` of the specification: `yyyy-mm-ddThh:mm:ss` in UTC, nothing else.
pub(crate) fn read_since(text: &str) -> Option<Timestamp> {
    let shaped = text.len() == 19
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            10 => byte == b'T',
            13 | 16 => byte == b':',
            _ => byte.is_ascii_digit(),
        });
    if shaped { read(text) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_time_is_written_with_the_offset_of_its_zone() {
        for (name, expected) in [
            ("UTC", "2021-10-06T02:35:50+00:00"),
            ("Pacific/Auckland", "2021-10-06T15:35:50+13:00"),
            ("Asia/Kolkata", "2021-10-06T08:05:50+05:30"),
            ("America/New_York", "2021-10-05T22:35:50-04:00"),
        ] {
            assert_eq!(written(at("2021-10-06T02:35:50Z"), &zone(name).unwrap()), expected);
        }
    }

    #[test]
    fn every_zone_of_the_specification_is_known_and_no_other() {
        assert!(ZONES.iter().all(|name| zone(name).is_some()));
        for name in ["", "utc", "Europe/Vienna", "pacific/auckland"] {
            assert!(zone(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_time_without_an_offset_belongs_to_the_zone_it_is_written_in() {
        let auckland = zone("Pacific/Auckland").unwrap();
        assert_eq!(written_locally(at("2021-10-06T02:35:50Z"), &auckland), "2021-10-06 15:35:50");
        for text in ["2021-10-06 15:35:50", "2021-10-06T15:35:50", "2021-10-06T15:35:50+13:00", "2021-10-06T02:35:50Z"]
        {
            assert_eq!(read_locally(text, &auckland), Some(at("2021-10-06T02:35:50Z")), "{text}");
        }
        assert_eq!(read_locally("soon", &auckland), None);
    }

    #[test]
    fn a_day_is_year_month_and_day() {
        for (text, expected) in [("2026-02-28", true), ("2026-02-29", false), ("2026-2-28", false), ("20260228", false)]
        {
            assert_eq!(is_day(text), expected, "{text}");
        }
    }

    #[test]
    fn a_span_is_shown_in_words() {
        for (seconds, expected) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (812, "13 minutes 32 seconds"),
            (3600, "1 hour"),
            (93_784, "1 day 2 hours 3 minutes 4 seconds"),
        ] {
            assert_eq!(in_words(seconds), expected);
        }
    }

    #[test]
    fn only_the_specified_form_of_since_is_read() {
        assert_eq!(read_since("2026-01-02T03:04:05"), Some(at("2026-01-02T03:04:05Z")));
        for text in [
            "2026-01-02T03:04:05Z",
            "2026-01-02 03:04:05",
            "2026-01-02",
            "2026-13-02T03:04:05",
            "Fri, 02 Jan 2026 03:04:05 GMT",
            "",
        ] {
            assert_eq!(read_since(text), None, "{text}");
        }
    }

    #[test]
    fn the_date_header_follows_the_offset_clock() {
        let clock = ServiceClock::new(Clock::of(|| at("2026-01-02T03:04:05.750Z")), SignedDuration::from_hours(-24));
        assert_eq!(clock.now(), at("2026-01-01T03:04:05Z"));
        assert_eq!(clock.date_header(), "Thu, 01 Jan 2026 03:04:05 GMT");
    }
}
