//! The safety options of a job: limits, leavers, and whether changes are sent without approval.

use jiff::{SignedDuration, Timestamp};

/// How much of one kind of change a run may make by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// That many percent of the people it is measured against, from 0 to 100.
    Percent(f64),
    /// That many.
    Count(u64),
    /// No limit.
    Off,
}

impl Limit {
    /// No limit is below this, or a job of ten people could not lose one.
    pub const FLOOR: u64 = 3;

    /// The number of changes allowed among `base` people; `None` where there is no limit.
    pub fn allows(self, base: u64) -> Option<u64> {
        match self {
            Self::Off => None,
            Self::Count(count) => Some(count.max(Self::FLOOR)),
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "numbers of people are far below 2^52, and the product is never negative"
            )]
            Self::Percent(percent) => Some(((base as f64 * percent / 100.0).floor() as u64).max(Self::FLOOR)),
        }
    }
}

/// The guard of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// People removed and about to be removed in any 24 hours.
    pub leavers: Limit,
    /// Known people who are missing from complete reads, before any grace.
    pub missing: Limit,
    /// Changes of people known or just matched.
    pub updates: Limit,
    /// One field turning empty.
    pub blanked: Limit,
    /// New people.
    pub creates: Limit,
    /// With fewer source records than this, nothing is taken from the read.
    pub min_records: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            leavers: Limit::Percent(2.0),
            missing: Limit::Percent(2.0),
            updates: Limit::Percent(30.0),
            blanked: Limit::Percent(5.0),
            creates: Limit::Off,
            min_records: 1,
        }
    }
}

/// What becomes of someone who is gone from the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaverAction {
    /// Nothing.
    Keep,
    /// Some of their fields are set, once.
    Update,
    /// They are removed from the service.
    Delete,
}

/// How leavers are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leavers {
    /// What becomes of them.
    pub action: LeaverAction,
    /// How long someone must be gone, and still missing from the latest complete read.
    pub grace: SignedDuration,
    /// In how many further complete reads they must be missing.
    pub grace_reads: u32,
}

impl Leavers {
    /// Whether someone who is gone stays for a while, also where a person approved that they leave.
    pub fn has_grace(&self) -> bool {
        self.action != LeaverAction::Keep && (self.grace > SignedDuration::ZERO || self.grace_reads > 0)
    }

    /// When the grace of someone who is gone since then ends; none where leavers stay.
    pub fn grace_ends(&self, since: Timestamp) -> Option<Timestamp> {
        if self.action == LeaverAction::Keep { None } else { since.checked_add(self.grace).ok() }
    }
}

impl Default for Leavers {
    fn default() -> Self {
        Self { action: LeaverAction::Keep, grace: SignedDuration::from_hours(24), grace_reads: 0 }
    }
}

/// Whether a job's changes are sent by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Writes {
    /// They are, within the guard.
    #[default]
    Auto,
    /// Every change is held until someone approves it.
    Approve,
    /// They are planned and never sent.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leavers_stay_for_a_time_or_for_a_number_of_reads() {
        let since: Timestamp = "2026-03-02T08:00:00Z".parse().unwrap();
        for (action, hours, grace_reads, has_grace) in [
            (LeaverAction::Delete, 24, 0, true),
            (LeaverAction::Delete, 0, 1, true),
            (LeaverAction::Delete, 0, 0, false),
            (LeaverAction::Update, 1, 1, true),
            (LeaverAction::Keep, 24, 2, false),
        ] {
            let leavers = Leavers { action, grace: SignedDuration::from_hours(hours), grace_reads };
            assert_eq!(leavers.has_grace(), has_grace, "{leavers:?}");
            let ends = (action != LeaverAction::Keep).then(|| since + SignedDuration::from_hours(hours));
            assert_eq!(leavers.grace_ends(since), ends, "{leavers:?}");
        }
    }

    #[test]
    fn no_limit_is_below_three() {
        for (limit, base, allowed) in [
            (Limit::Percent(2.0), 10, Some(3)),
            (Limit::Percent(2.0), 1000, Some(20)),
            (Limit::Percent(0.0), 1000, Some(3)),
            (Limit::Count(1), 1000, Some(3)),
            (Limit::Count(40), 1000, Some(40)),
            (Limit::Off, 1000, None),
        ] {
            assert_eq!(limit.allows(base), allowed, "{limit:?} of {base}");
        }
    }
}
