//! Checks `[job.guard]`.

use super::text;
use crate::config::raw::{RawGuard, Scalar};
use crate::config::report::Report;
use crate::config::units;
use crate::plan::{Limit, Limits};

const LIMIT_HINT: &str = "write a share such as \"2%\", a plain count, or \"off\"";

pub(super) fn limits(place: &str, raw: &RawGuard, report: &mut Report) -> Limits {
    let at = |key: &str| format!("{place}.{key}");
    let defaults = Limits::default();
    let min_records = text::number(&at("min_records"), raw.min_records, (0, i64::MAX), report);
    if min_records == Some(0) {
        let hint = "use at least 1 unless the source may be empty";
        report.warning(&at("min_records"), "an empty source makes everyone a leaver", Some(hint));
    }
    let mut limit = |key: &str, given: Option<&Scalar>, default: Limit| {
        let limit = checked(&at(key), given, report);
        if let (Some(limit), Some(message)) = (limit, limit.and_then(|limit| unusual(limit, default))) {
            let hint = match limit {
                Limit::Off | Limit::Percent(100.0) => "a broken source then changes everyone at once",
                _ => "to hold every change, say writes = \"approve\"",
            };
            report.warning(&at(key), message, Some(hint));
        }
        limit.unwrap_or(default)
    };
    let leavers = limit("max_leavers", raw.max_leavers.as_ref(), defaults.leavers);
    Limits {
        leavers,
        missing: limit("max_missing", raw.max_missing.as_ref(), leavers),
        updates: limit("max_updates", raw.max_updates.as_ref(), defaults.updates),
        blanked: limit("max_blanked", raw.max_blanked.as_ref(), defaults.blanked),
        creates: limit("max_creates", raw.max_creates.as_ref(), defaults.creates),
        min_records: min_records.unwrap_or(defaults.min_records),
    }
}

fn checked(place: &str, given: Option<&Scalar>, report: &mut Report) -> Option<Limit> {
    match units::limit(given?) {
        Ok(limit) => Some(limit),
        Err(message) => {
            report.problem(place, message, Some(LIMIT_HINT));
            None
        }
    }
}

/// What deserves a second look. Where there is no limit by default, having none is nothing unusual.
fn unusual(limit: Limit, default: Limit) -> Option<String> {
    match limit {
        Limit::Off | Limit::Percent(100.0) if default == Limit::Off => None,
        Limit::Off => Some("there is no limit".to_owned()),
        Limit::Percent(100.0) => Some("100% is no limit".to_owned()),
        Limit::Percent(0.0) | Limit::Count(0) => {
            Some(format!("no limit is below {}: so many are changed all the same", Limit::FLOOR))
        }
        Limit::Percent(_) | Limit::Count(_) => None,
    }
}
