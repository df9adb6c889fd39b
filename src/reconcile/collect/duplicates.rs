//! Several rows of one key: equal ones are one, of different ones the preferred counts, or none (law 8).

use smol_str::SmolStr;

use crate::config::Job;
use crate::plan::is_another_person;
use crate::reconcile::model::candidate::{Candidate, lines_of};
use crate::reconcile::model::change_spill::ChangeSpill;
use crate::record::{Day, Number, Target, Value, Values};
use crate::snapshot::SyncedRecord;
use crate::spool;

/// What becomes of the rows of one key.
pub(crate) enum Choice {
    /// This one counts.
    Row(Candidate),
    /// The unchanged row counts.
    Unchanged,
    /// No row is better than the others; the lines of the equally good ones.
    Unclear(Vec<u64>),
}

/// A row with its values, how much it is preferred, and the day on which its person is gone.
struct Opened {
    row: Candidate,
    fields: Values,
    preference: Option<Number>,
    due: Option<Day>,
}

/// Chooses among the rows of one key, of which there is at least one. `unchanged` is the unchanged row of this key, by
/// its line and by what is known of it; fields of `seed_only` say nothing about whether rows are equal to it.
///
/// What that row holds is known by what was sent of it, which differs from it where the service knows a value by another name: then
/// another row that may be equal counts in its place, and is looked at as any row that changed.
pub(crate) fn choose(
    rows: Vec<Candidate>,
    unchanged: Option<(u64, Option<SyncedRecord>)>,
    job: &Job,
    spill: &ChangeSpill,
) -> Result<Choice, spool::Error> {
    let mut opened: Vec<Opened> = Vec::new();
    for row in rows {
        let (record, marks) = row.open(spill)?;
        opened.push(Opened { row, fields: record.fields, preference: marks.preference, due: marks.due });
    }
    if !are_one_person(&opened, unchanged.as_ref()) {
        return unclear(opened, unchanged, spill);
    }
    let old = unchanged.as_ref().map(|(_, known)| known.as_ref()?.marks.preference);
    let best = best(opened.iter().map(|row| row.preference).chain(old));
    let counts = |preference: Option<Number>| best.is_none() || preference == best;
    let stands = unchanged.filter(|_| counts(old.flatten()));
    let rows: Vec<_> = opened.into_iter().filter(|row| counts(row.preference)).collect();
    let are_equal = rows.windows(2).all(|pair| pair[0].fields == pair[1].fields);
    let likeness = |known: &Option<SyncedRecord>| {
        let likeness = |row: &Opened| Likeness::of(&row.fields, known.as_ref(), job);
        rows.iter().map(likeness).max().unwrap_or(Likeness::Equal)
    };
    let likeness = stands.as_ref().map(|(_, known)| likeness(known));
    let until = stands.as_ref().and_then(|(_, known)| known.as_ref()).map(|known| known.marks.due);
    match likeness {
        Some(Likeness::Equal) => {
            let longer = |row: &Opened| until.is_some_and(|until| lasts(row.due) > lasts(until));
            Ok(longest(rows.into_iter().filter(longer)))
        }
        None | Some(Likeness::Unknown) if are_equal => Ok(longest(rows)),
        _ => unclear(rows, stands, spill),
    }
}

/// The highest of the numbers by which rows are preferred; none where one of them can't be read, which may be higher.
pub(super) fn best(preferences: impl Iterator<Item = Option<Number>>) -> Option<Number> {
    let all: Vec<Number> = preferences.collect::<Option<_>>()?;
    all.into_iter().max_by(|one, other| one.partial_cmp(other).expect("finite"))
}

/// How long a row has its person, by the day on which they are gone: for good where it names none.
pub(super) fn lasts(due: Option<Day>) -> (bool, Option<Day>) {
    (due.is_none(), due)
}

/// Of equal rows, the first among those that have their person the longest; the unchanged one where there are none.
fn longest(rows: impl IntoIterator<Item = Opened>) -> Choice {
    let longest = rows.into_iter().reduce(|one, other| if lasts(other.due) > lasts(one.due) { other } else { one });
    longest.map_or(Choice::Unchanged, |longest| Choice::Row(longest.row))
}

/// None of these rows is better than the others; `unchanged` is one of them, if there is one.
fn unclear(
    rows: Vec<Opened>,
    unchanged: Option<(u64, Option<SyncedRecord>)>,
    spill: &ChangeSpill,
) -> Result<Choice, spool::Error> {
    let mut lines = lines_of(rows.iter().map(|opened| &opened.row), spill)?;
    lines.extend(unchanged.map(|(line, _)| line));
    Ok(Choice::Unclear(lines))
}

/// Whether all rows of a key name one person: to prefer one of two people would lose the other.
fn are_one_person(rows: &[Opened], unchanged: Option<&(u64, Option<SyncedRecord>)>) -> bool {
    let sent = unchanged.and_then(|(_, known)| known.as_ref()).map(|known| &known.sent);
    let sent = sent.filter(|sent| !sent.is_empty());
    let Some(first) = sent.or_else(|| rows.first().map(|row| &row.fields)) else { return true };
    rows.iter().all(|row| !is_another_person(first, &row.fields))
}

/// How a row compares to an unchanged one, the least alike last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    Equal,
    /// What was sent of the unchanged one does not tell.
    Unknown,
    Different,
}

impl Likeness {
    fn of(fields: &Values, known: Option<&SyncedRecord>, job: &Job) -> Self {
        // Nothing is sent of an organization that another job keeps.
        let Some(known) = known.filter(|known| !known.sent.is_empty()) else { return Self::Unknown };
        let likeness = |(field, value): (&SmolStr, &Value)| {
            let sent = known.sent.get(field).unwrap_or(&Value::Empty);
            let is_link = || job.mapping.target == Target::Holder && Target::HOLDER_LINKS.contains(&field.as_str());
            match value {
                _ if value == sent || job.seed_only.contains(field) => Self::Equal,
                // Of a link, the id was sent; of a checkbox, 1 or 0.
                _ if is_link() || value.ticked().is_some_and(|ticked| sent.as_text() == Some(ticked)) => Self::Unknown,
                _ => Self::Different,
            }
        };
        fields.iter().map(likeness).max().unwrap_or(Self::Equal)
    }
}
