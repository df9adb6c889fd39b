//! Known people who are missing from complete reads, as they are shown and remembered.

use crate::text::clock_time;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::record::{Key, RemoteId, Target};

/// A person of a job who is missing from complete reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Their key.
    pub key: Key,
    /// Their entity.
    pub id: RemoteId,
    /// The first complete read that missed them.
    pub since: Timestamp,
    /// When their grace ends; none for those who stay.
    pub due: Option<Timestamp>,
}

/// How many people of a job complete reads miss, and what becomes of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// How many.
    pub people: u64,
    /// How many the job knows.
    pub of: u64,
    /// What they are.
    pub target: Target,
    /// Since when the first of them is missing.
    pub since: Timestamp,
    /// When the first grace ends; none where all of them stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// How many of them stay all the same: protected, or their removal was rejected.
    #[serde(default)]
    pub stay: u64,
    /// How many of them stay until it is decided: they are missing since the job was changed.
    #[serde(default)]
    pub waiting: u64,
    /// Whether they are removed then; else they are changed.
    pub removed: bool,
    /// Whether they are more than `max_missing` allows, not counting those that a person decided on.
    pub too_many: bool,
}

impl Missing {
    /// The same once some of them were removed; `None` where no one is left who is missing.
    pub(crate) fn still(self, missed: &[Missed]) -> Option<Self> {
        let since = missed.iter().map(|one| one.since).min()?;
        let (people, due) = (missed.len() as u64, missed.iter().filter_map(|one| one.due).min());
        Some(Self { people, of: self.of - (self.people - people), since, due, stay: staying(missed), ..self })
    }

    /// The same in words, with times in the job's zone.
    pub fn describe(&self, zone: &TimeZone, now: Timestamp) -> String {
        let time = |at: Timestamp| clock_time(at, zone);
        let fate = if self.removed { "removed" } else { "changed" };
        let then = match self.due {
            None => "they stay at the service".to_owned(),
            Some(_) if self.too_many => "they stay until that is decided".to_owned(),
            Some(due) if due <= now => format!("due to be {fate}"),
            Some(due) => format!("{fate} from {} on, unless they come back", time(due)),
        };
        let Self { people, of, target, .. } = self;
        let those = |count: u64, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 who {one}")),
            count => Some(format!("{count} who {many}")),
        };
        let (stay, waiting) = match self.due {
            None => (0, 0),
            Some(_) if self.too_many => (self.stay, 0),
            Some(_) => (self.stay, self.waiting),
        };
        let waiting = those(waiting, "stays until that is decided", "stay until that is decided");
        let but = [waiting, those(stay, "stays", "stay")];
        let but = but.into_iter().flatten().collect::<Vec<_>>().join(" and ");
        let but = if but.is_empty() { but } else { format!(", but {but}") };
        format!("{people} of {of} {} since {}; {then}{but}", target.plural(), time(self.since))
    }
}

/// How many of them nothing removes or changes.
pub(crate) fn staying(missed: &[Missed]) -> u64 {
    missed.iter().filter(|one| one.due.is_none()).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_becomes_of_those_who_are_missing_is_said_before_and_after_their_grace() {
        let at = |hour: &str| -> Timestamp { format!("2027-06-01T{hour}:00Z").parse().unwrap() };
        let missing = |due: Option<&str>, too_many, stay, waiting| Missing {
            people: 3,
            of: 40,
            target: Target::Staff,
            since: at("02:00"),
            due: due.map(at),
            stay,
            waiting,
            removed: true,
            too_many,
        };
        for (missing, then) in [
            (missing(None, false, 3, 0), "they stay at the service"),
            (missing(Some("11:00"), true, 0, 0), "they stay until that is decided"),
            (missing(Some("11:00"), true, 1, 2), "they stay until that is decided, but 1 who stays"),
            (missing(Some("10:00"), false, 0, 0), "due to be removed"),
            (missing(Some("09:59"), false, 2, 0), "due to be removed, but 2 who stay"),
            (
                missing(Some("10:01"), false, 1, 2),
                "removed from 1 Jun 2027, 10:01 UTC on, unless they come back, but 2 who stay until that is decided and 1 who stays",
            ),
        ] {
            let said = missing.describe(&TimeZone::UTC, at("10:00"));
            assert_eq!(said, format!("3 of 40 people since 1 Jun 2027, 02:00 UTC; {then}"));
        }
        let few = Missing { removed: false, ..missing(Some("11:00"), false, 0, 0) };
        assert!(few.describe(&TimeZone::UTC, at("10:00")).contains("changed from"));
    }
}
