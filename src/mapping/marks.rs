//! Row metadata from the templates that are not fields: from when to when it counts, its segment, its preference.

use jiff::civil::Date;

use super::options::Options;
use super::outcome::{Rendered, day};
use crate::record::{Number, Rejected, RowDefect, RowMetadata};

/// The longest name of a segment, in bytes: messages contain it.
const SEGMENT_BYTES_MAX: usize = 200;

/// A template beside the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    From,
    Until,
    Preference,
    Segment,
}

impl Mark {
    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::From, Self::Until, Self::Preference, Self::Segment];

    /// How its template is called in messages: its key in the configuration.
    pub(super) fn place(self) -> &'static str {
        match self {
            Self::From => "active_from",
            Self::Until => "active_until",
            Self::Preference => "prefer",
            Self::Segment => "guard.segment",
        }
    }

    /// Whether a row counts without it.
    pub(super) fn is_optional(self) -> bool {
        matches!(self, Self::Preference | Self::Segment)
    }

    /// Its template, where the job has one.
    pub(super) fn template(self, options: &Options) -> Option<&String> {
        match self {
            Self::From => options.active_from.as_ref(),
            Self::Until => options.active_until.as_ref(),
            Self::Preference => options.prefer.as_ref(),
            Self::Segment => options.segment.as_ref(),
        }
    }
}

/// The metadata of one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marked {
    pub(super) marks: RowMetadata,
    /// The first and the last day on which the row counts.
    pub(super) from: Option<Date>,
    pub(super) until: Option<Date>,
    /// Values that can't be used though the row can.
    pub(super) bad_values: Vec<Rejected>,
}

impl Marked {
    /// Takes the result of the template of a mark; the error is a reason without any value of the row.
    pub(super) fn take(&mut self, mark: Mark, outcome: Rendered) -> Result<(), RowDefect> {
        let text = outcome.text()?;
        match mark {
            Mark::From => self.from = day(&text)?,
            Mark::Until => self.until = last_day(day(&text)?)?,
            Mark::Preference => {
                let number = Number::parse(&text);
                self.marks.preference = Some(number.ok_or(RowDefect::NoNumber)?);
            }
            Mark::Segment if text.len() > SEGMENT_BYTES_MAX => {
                return Err(format!("the segment has more than {SEGMENT_BYTES_MAX} bytes").into());
            }
            Mark::Segment => self.marks.segment = text.into(),
        }
        Ok(())
    }

    /// Rejects a last day before the first one: a slip, such as an old end date that stayed when a person was hired
    /// again.
    pub(super) fn check(&self) -> Result<(), (Mark, RowDefect)> {
        match (self.from, self.until) {
            (Some(from), Some(until)) if until < from => Err((Mark::Until, RowDefect::LastDayBeforeFirst)),
            _ => Ok(()),
        }
    }
}

/// The earliest year of a last day. Programs write 1 January 1900, and others, for a day that is not set.
const LAST_DAY_YEAR_MIN: i16 = 1950;

/// A last day; no one leaves by one that means none.
fn last_day(day: Option<Date>) -> Result<Option<Date>, RowDefect> {
    let is_none = day.is_some_and(|day| day.year() < LAST_DAY_YEAR_MIN);
    if is_none { Err(RowDefect::DayLongAgo) } else { Ok(day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_one_leaves_by_a_day_that_means_none() {
        for (text, fits) in [("1900-01-01", false), ("1949-12-31", false), ("1950-01-01", true), ("9999-12-31", true)] {
            assert_eq!(last_day(day(text).unwrap()).is_ok(), fits, "{text}");
        }
        assert_eq!(last_day(None).unwrap(), None);
    }
}
