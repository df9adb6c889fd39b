//! Made-up values, and what filters must make of each.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::{TimeZone, offset};

use super::{phone, text, time};

/// A value that a filter reads.
pub(crate) fn filters(bytes: &[u8]) {
    _ = text::guid_of_bytes(bytes);
    let Ok(value) = std::str::from_utf8(bytes) else { return };
    if let Ok(guid) = text::guid(value) {
        assert_eq!((guid.len(), text::guid(&guid)), (36, Ok(guid.clone())), "a GUID is one");
    }
    if let Ok(moment) = time::filetime(value)
        && !moment.is_empty()
    {
        assert!(moment.parse::<Timestamp>().is_ok(), "a file time is a time");
    }
    for zone in [TimeZone::UTC, TimeZone::fixed(offset(13))] {
        if let Ok(day) = time::last_day(value, &zone) {
            assert!(day.parse::<Date>().is_ok(), "a last day is a day");
        }
    }
    for format in ["%d/%m/%Y", "%Y-%m-%d", "%d %B %y"] {
        if let Ok(day) = time::date(value, format, &TimeZone::fixed(offset(13))) {
            assert!(day.parse::<Date>().is_ok(), "a date is a day");
        }
    }
    if let Some((format, value)) = value.split_once('\n')
        && time::check_format(format).is_ok()
        && let Ok(day) = time::date(value, format, &TimeZone::UTC)
    {
        assert!(day.parse::<Date>().is_ok(), "a date is a day");
    }
    for country in ["NZ", "DE", "US"] {
        if let Ok(number) = phone::phone(value, country) {
            assert_eq!(phone::phone(&number, country), Ok(number.clone()), "a number is written in one way");
        }
    }
    if let Ok(place) = text::ou(value) {
        assert!(place.len() <= text::PLACE_BYTES_MAX, "a place has its limit");
    }
    assert!(text::digits(value).bytes().all(|byte| byte.is_ascii_digit()));
    assert_eq!(text::squeeze(&text::squeeze(value)), text::squeeze(value));
    _ = text::bit(value, 2);
}
