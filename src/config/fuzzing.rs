//! Made-up configurations and schedules, and what must hold of each.

use std::path::PathBuf;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{CallerConfig, Needs, Schedule, load_given};

/// What a schedule is tried in: without summer time, with it, with one that moves by half an hour, and with dates that
/// were left out.
const ZONES: [&str; 4] = ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"];

/// A configuration file.
pub(crate) fn configuration(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let given = CallerConfig { path: PathBuf::from("/nonexistent/config.toml"), text: text.to_owned(), mode: 0o600 };
    match load_given(&given, std::iter::empty(), Needs::Account) {
        Ok(config) => {
            assert!(!config.api.base_url.is_empty(), "a service is named");
            _ = format!("{config:?}");
        }
        Err(errors) => {
            assert!(!errors.problems.is_empty(), "what can't be used says why");
            let lines = text.split('\n').count();
            for problem in &errors.problems {
                assert!(problem.line.is_none_or(|line| (1..=lines).contains(&line)), "a line is one of the file");
                assert!(!problem.message.is_empty() && !problem.to_string().contains('\n'), "a problem is a line");
            }
        }
    }
}

/// Eight bytes of a time, one of a zone, and a schedule.
pub(crate) fn schedules(bytes: &[u8]) {
    let Some((at, rest)) = bytes.split_first_chunk::<8>() else { return };
    let Some((zone, text)) = rest.split_first() else { return };
    let Ok(schedule) = std::str::from_utf8(text).unwrap_or_default().parse::<Schedule>() else { return };
    assert_eq!(schedule.as_str().parse::<Schedule>().as_ref(), Ok(&schedule), "it is read as it is shown");
    let zone = TimeZone::get(ZONES[usize::from(*zone) % ZONES.len()]).expect("its rules are there");
    // From 1970 to 2106.
    let second = i64::from_le_bytes(*at).rem_euclid(i64::from(u32::MAX));
    let mut at = Timestamp::from_second(second).expect("it is a time");
    for _ in 0..3 {
        let Some(next) = schedule.next_after(at, &zone) else { return };
        assert!(next > at, "a next time comes later");
        assert!(next.duration_since(at) <= SignedDuration::from_hours(24 * 366 * 42), "it is within 41 years");
        let between = Timestamp::from_second(at.as_second().midpoint(next.as_second())).expect("it is a time");
        if between > at && between < next {
            assert_eq!(schedule.next_after(between, &zone), Some(next), "nothing comes before it");
        }
        at = next;
    }
}
