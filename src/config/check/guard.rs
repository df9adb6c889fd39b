//! Checks `[job.guard]`.

use super::section::Section;
use crate::config::units;
use crate::plan::{Limit, Limits};

const LIMIT_HINT: &str = "write a share such as \"2%\", a plain count, or \"off\"";

pub(super) fn limits(guard: &Section<'_>) -> Limits {
    let defaults = Limits::default();
    let min_records = guard.number("min_records", (0, i64::MAX));
    if min_records == Some(0) {
        let hint = "use at least 1 unless the source may be empty";
        guard.warning("min_records", "an empty source makes everyone a leaver", Some(hint));
    }
    let limit = |key: &str, default: Limit| {
        let given = guard.value(key).map(|given| units::limit(given).map_err(|message| (message, LIMIT_HINT)));
        let limit = given.and_then(|given| guard.taken(key, given));
        if let (Some(limit), Some(message)) = (limit, limit.and_then(|limit| unusual(limit, default))) {
            let hint = match limit {
                Limit::Off | Limit::Percent(100.0) => "a broken source then changes everyone at once",
                _ => "to hold every change, say writes = \"approve\"",
            };
            guard.warning(key, message, Some(hint));
        }
        limit.unwrap_or(default)
    };
    let leavers = limit("max_leavers", defaults.leavers);
    Limits {
        leavers,
        missing: limit("max_missing", leavers),
        updates: limit("max_updates", defaults.updates),
        blanked: limit("max_blanked", defaults.blanked),
        creates: limit("max_creates", defaults.creates),
        min_records: min_records.unwrap_or(defaults.min_records),
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
