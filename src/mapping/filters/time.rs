//! Filters that read dates. None of them knows what day it is.

use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::record::RowDefect;

/// From 1601 to 1970, in seconds.
const FILE_TIME_EPOCH: i64 = 11_644_473_600;
/// How many file-time ticks a second has.
const FILE_TIME_TICKS: i64 = 10_000_000;

/// Text of a `strptime` format as `YYYY-MM-DD`. A day with its time as ISO 8601 writes them is one in any format: dates of a
/// workbook whose cells hold a time come so. Where the time has an offset, the day must be the same in the zone of the job: nothing
/// says which of two days is meant.
pub(super) fn date(text: &str, format: &str, time_zone: &TimeZone) -> Result<String, RowDefect> {
    let day = match strtime::parse(format, text) {
        Ok(parsed) => parsed.to_date().map_err(|_| RowDefect::NoSuchDay)?,
        Err(_) => day_of_time(text, time_zone)?.ok_or_else(|| RowDefect::no_date(format, iso_day(text).is_ok()))?,
    };
    // `%Y` takes fewer digits than four, too: 27 is no year of today.
    if day.year() < YEAR_MIN { Err(RowDefect::no_date(format, false)) } else { Ok(day.to_string()) }
}

const ISO: &str = "%Y-%m-%d";

/// The earliest year that has four digits.
pub(in crate::mapping) const YEAR_MIN: i16 = 1000;

/// A day `YYYY-MM-DD` that there is.
fn iso_day(text: &str) -> Result<Date, jiff::Error> {
    strtime::parse(ISO, text)?.to_date()
}

/// The day of a day with its time; `None` for another text.
fn day_of_time(text: &str, time_zone: &TimeZone) -> Result<Option<Date>, RowDefect> {
    let Some((day, time)) = text.split_once(['T', ' ']).filter(|(day, _)| day.len() == "YYYY-MM-DD".len()) else {
        return Ok(None);
    };
    let moment = text.parse::<Timestamp>().ok();
    let is_local = !time.contains(['+', '-', '[', 'Z', 'z']) && time.parse::<Time>().is_ok();
    let Some(day) = iso_day(day).ok().filter(|_| is_local || moment.is_some()) else { return Ok(None) };
    let is_other = |moment: Timestamp| moment.to_zoned(time_zone.clone()).date() != day;
    if moment.is_some_and(is_other) { Err(RowDefect::OtherDayInZone) } else { Ok(Some(day)) }
}

/// Checks a `strptime` format.
pub(in crate::mapping) fn check_format(format: &str) -> Result<(), String> {
    let some_day = some_day().to_zoned(TimeZone::UTC).map_err(|error| error.to_string())?;
    let written = BrokenDownTime::from(&some_day).to_string(format);
    let written = written.map_err(|_| format!("`{format}` is no date format; days are %d, months %m, years %Y"))?;
    strtime::parse(format, &written)
        .and_then(|parsed| parsed.to_date())
        .map(drop)
        .map_err(|_| format!("the format `{format}` does not give a whole date"))
}

fn some_day() -> DateTime {
    jiff::civil::date(2001, 2, 3).at(4, 5, 6, 0)
}

/// A Windows file time (100 ns since 1601) as a time in UTC. 0 and the highest number mean never, so they give no
/// value.
pub(super) fn filetime(text: &str) -> Result<String, RowDefect> {
    let wrong = || RowDefect::from("the value is no Windows file time");
    match text.parse::<i64>().map_err(|_| wrong())? {
        0 | i64::MAX => Ok(String::new()),
        ticks if ticks < 0 => Err(wrong()),
        ticks => {
            let seconds = ticks / FILE_TIME_TICKS - FILE_TIME_EPOCH;
            Timestamp::from_second(seconds).map(|time| time.to_string()).map_err(|_| wrong())
        }
    }
}

/// The last day of what ends at a moment (RFC 3339 or LDAP's generalized time): the day before midnight belongs to it, the
/// one after does not.
pub(super) fn last_day(text: &str, time_zone: &TimeZone) -> Result<String, RowDefect> {
    let wrong = || RowDefect::from("the value is no time with its zone, as `filetime` gives one");
    let moment = text.parse::<Timestamp>().or_else(|_| generalized(text)).map_err(|_| wrong())?;
    let last = moment.checked_sub(SignedDuration::from_nanos(1)).map_err(|_| wrong())?;
    Ok(last.to_zoned(time_zone.clone()).date().to_string())
}

/// A time as LDAP writes it, in UTC: `20260701000000Z`, `20260701000000.0Z`.
fn generalized(text: &str) -> Result<Timestamp, jiff::Error> {
    let time = strtime::parse("%Y%m%d%H%M%S%.fZ", text)?.to_datetime()?;
    Ok(time.to_zoned(TimeZone::UTC)?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str, format: &str) -> Result<String, RowDefect> {
        super::date(text, format, &TimeZone::UTC)
    }

    #[test]
    fn a_date_is_read_by_its_format() {
        for (text, format, date) in [
            ("31/12/2026", "%d/%m/%Y", Some("2026-12-31")),
            ("1/2/2026", "%d/%m/%Y", Some("2026-02-01")),
            ("2026-02-01 13:45:00", "%Y-%m-%d %H:%M:%S", Some("2026-02-01")),
            ("3 Mar 2026", "%d %b %Y", Some("2026-03-03")),
            ("20260203040506.0Z", "%Y%m%d%H%M%S.0Z", Some("2026-02-03")),
            ("20260203040506Z", "%Y%m%d%H%M%SZ", Some("2026-02-03")),
            ("2026-02-03T04:05:06Z", "%Y-%m-%dT%H:%M:%SZ", Some("2026-02-03")),
            ("31/02/2026", "%d/%m/%Y", None),
            ("12/31/2026", "%d/%m/%Y", None),
            ("31/12/2026 x", "%d/%m/%Y", None),
            ("31/12/27", "%d/%m/%Y", None),
            ("31/12/207", "%d/%m/%Y", None),
            ("31/12/27", "%d/%m/%y", Some("2027-12-31")),
        ] {
            assert_eq!(self::date(text, format).ok().as_deref(), date, "{text} {format}");
        }
        for (text, format, defect) in [
            ("secret", "%d/%m/%Y", RowDefect::no_date("%d/%m/%Y", false)),
            ("2026-12-31", "%d/%m/%Y", RowDefect::no_date("%d/%m/%Y", true)),
            ("26-12-31", "%Y-%m-%d", RowDefect::no_date("%Y-%m-%d", false)),
            ("2026-02-29", "%Y-%m-%d", RowDefect::NoSuchDay),
            ("31/02/2026", "%d/%m/%Y", RowDefect::NoSuchDay),
        ] {
            assert_eq!(date(text, format), Err(defect), "{text} {format}");
        }
    }

    #[test]
    fn a_format_is_checked_before_any_row() {
        for (format, fine) in [
            ("%d/%m/%Y", true),
            ("%Y-%m-%dT%H:%M:%S", true),
            ("%d.%m.%y", true),
            ("%F", true),
            ("%d/%m", false),
            ("dd/mm/yyyy", false),
            ("%", false),
        ] {
            assert_eq!(check_format(format).is_ok(), fine, "{format}");
        }
    }

    #[test]
    fn a_file_time_is_a_time() {
        for (text, time) in [
            ("116444736000000000", Some("1970-01-01T00:00:00Z")),
            ("133801632000000000", Some("2025-01-01T00:00:00Z")),
            ("0", Some("")),
            ("9223372036854775807", Some("")),
            ("-1", None),
            ("soon", None),
        ] {
            assert_eq!(filetime(text).ok().as_deref(), time, "{text}");
        }
    }
    #[test]
    fn the_last_day_is_the_one_before_the_moment_in_the_zone_of_the_job() {
        for (text, zone, day) in [
            // "End of 30 June", as it is set in each of these places.
            ("2026-07-01T00:00:00Z", "UTC", Some("2026-06-30")),
            ("2026-06-30T12:00:00Z", "Pacific/Auckland", Some("2026-06-30")),
            ("2026-07-01T04:00:00Z", "America/New_York", Some("2026-06-30")),
            // A person who works until noon works on that day.
            ("2026-07-01T00:00:00Z", "Pacific/Auckland", Some("2026-07-01")),
            ("2026-07-01T00:00:00+12:00", "Pacific/Auckland", Some("2026-06-30")),
            ("20260701000000Z", "UTC", Some("2026-06-30")),
            ("20260701000000.5Z", "UTC", Some("2026-07-01")),
            ("2026-07-01", "UTC", None),
            ("soon", "UTC", None),
        ] {
            let zone = TimeZone::get(zone).unwrap();
            assert_eq!(last_day(text, &zone).ok().as_deref(), day, "{text}");
        }
        let never = ["0", "9223372036854775807"].map(|text| filetime(text).unwrap());
        assert_eq!(never, ["", ""], "what never ends has no last day");
    }

    #[test]
    fn a_day_with_its_time_is_a_day_in_any_format() {
        for (text, format, day) in [
            ("31/12/2030", "%d/%m/%Y", Some("2030-12-31")),
            ("2030-12-31", "%d/%m/%Y", None),
            ("2030-12-31T00:00:00", "%d/%m/%Y", Some("2030-12-31")),
            ("2030-12-31 23:59", "%Y-%m-%d", Some("2030-12-31")),
            ("2030-02-31", "%d/%m/%Y", None),
            ("2030-12-31 soon", "%d/%m/%Y", None),
            ("30-12-31", "%d/%m/%Y", None),
        ] {
            assert_eq!(date(text, format).ok().as_deref(), day, "{text} {format}");
        }
    }

    #[test]
    fn a_day_with_its_time_and_an_offset_is_one_where_it_is_that_day_in_the_zone_of_the_job_too() {
        for (text, zone, day) in [
            ("2026-12-31T00:00:00Z", "UTC", Some("2026-12-31")),
            ("2026-12-31T00:00:00Z", "Pacific/Auckland", Some("2026-12-31")),
            ("2026-12-31T00:00:00Z", "America/New_York", None),
            ("2026-12-31T00:00:00+01:00", "Europe/Berlin", Some("2026-12-31")),
            ("2026-12-31 00:00:00+01:00", "UTC", None),
            ("2026-12-31T11:00:00+00:00", "Pacific/Auckland", None),
            ("2026-12-31T23:00:00-10:00", "Pacific/Auckland", None),
            ("2026-12-31T00:00+13:00", "Pacific/Auckland", Some("2026-12-31")),
            ("2026-12-31T23:59", "Pacific/Auckland", Some("2026-12-31")),
        ] {
            let zone = TimeZone::get(zone).unwrap();
            let read = super::date(text, "%d/%m/%Y", &zone);
            assert_eq!(read, day.map(str::to_owned).ok_or(RowDefect::OtherDayInZone), "{text} {zone:?}");
        }
        for text in ["2026-12-31T10:00+99", "2026-12-31T10:00:00+01:00x", "2026-02-29T00:00:00Z"] {
            assert_eq!(date(text, "%d/%m/%Y"), Err(RowDefect::no_date("%d/%m/%Y", false)), "{text}");
        }
    }
}
