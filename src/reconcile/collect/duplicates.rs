//! Several rows of one key: equal ones are one, of different ones the preferred counts, or none (law 8).

use smol_str::SmolStr;

use crate::plan::is_another_person;
use crate::reconcile::model::candidate::{Candidate, lines_of};
use crate::reconcile::model::change_spill::ChangeSpill;
use crate::record::{Number, Value, Values};
use crate::snapshot::SyncedRecord;
use crate::spool;

/// What becomes of the rows of one key.
pub(crate) enum Choice {
    /// This one counts.
    Row(Candidate),
    /// The unchanged row counts.
    Correlation,
    /// No row is better than the others; the lines of the equally good ones.
    Unclear(Vec<u64>),
}

/// A row with its values and how much it is preferred.
type Opened = (Candidate, Values, Option<Number>);

/// Chooses among the rows of one key, of which there is at least one. `unchanged` is the unchanged row of this key, by
/// its line and by what is known of it; fields of `seed_only` say nothing about whether rows are equal to it.
pub(crate) fn choose(
    rows: Vec<Candidate>,
    unchanged: Option<(u64, Option<SyncedRecord>)>,
    seed_only: &[SmolStr],
    spill: &ChangeSpill,
) -> Result<Choice, spool::Error> {
    let mut opened: Vec<Opened> = Vec::new();
    for row in rows {
        let (record, marks) = row.open(spill)?;
        opened.push((row, record.fields, marks.preference));
    }
    if !are_one_person(&opened, unchanged.as_ref()) {
        return unclear(opened, unchanged, spill);
    }
    let old = unchanged.as_ref().map(|(_, known)| known.as_ref()?.marks.preference);
    let all: Option<Vec<Number>> = opened.iter().map(|(_, _, preference)| *preference).chain(old).collect();
    // A number that can't be read may be the highest: then none of them decides.
    let decides = all.is_some();
    let best = all.into_iter().flatten().max_by(|one, other| one.partial_cmp(other).expect("finite"));
    let old = old.flatten();
    let stands = unchanged.filter(|_| !decides || old == best);
    let mut rows: Vec<_> = opened.into_iter().filter(|(_, _, preference)| !decides || *preference == best).collect();
    let equal = match (&stands, rows.first()) {
        (_, None) => true,
        (None, Some((_, first, _))) => rows.iter().all(|(_, fields, _)| fields == first),
        (Some((_, known)), Some(_)) => {
            rows.iter().all(|(_, fields, _)| known.as_ref().is_some_and(|known| is_as_sent(fields, known, seed_only)))
        }
    };
    Ok(match stands {
        _ if !equal => return unclear(rows, stands, spill),
        Some(_) => Choice::Correlation,
        None => rows.drain(..).next().map_or(Choice::Correlation, |(row, _, _)| Choice::Row(row)),
    })
}

/// None of these rows is better than the others; `unchanged` is one of them, if there is one.
fn unclear(
    rows: Vec<Opened>,
    unchanged: Option<(u64, Option<SyncedRecord>)>,
    spill: &ChangeSpill,
) -> Result<Choice, spool::Error> {
    let mut lines = lines_of(rows.iter().map(|(row, ..)| row), spill)?;
    lines.extend(unchanged.map(|(line, _)| line));
    Ok(Choice::Unclear(lines))
}

/// Whether all rows of a key name one person: to prefer one of two people would lose the other.
fn are_one_person(rows: &[Opened], unchanged: Option<&(u64, Option<SyncedRecord>)>) -> bool {
    let sent = unchanged.and_then(|(_, known)| known.as_ref()).map(|known| &known.sent);
    let Some(first) = sent.or_else(|| rows.first().map(|(_, fields, _)| fields)) else { return true };
    let named = |field: &str| first.get(field).cloned().unwrap_or(Value::Empty);
    rows.iter().all(|(_, fields, _)| !is_another_person(named, fields))
}

fn is_as_sent(fields: &Values, known: &SyncedRecord, seed_only: &[SmolStr]) -> bool {
    let sent = |field: &str| known.sent.get(field).unwrap_or(&Value::Empty);
    fields.iter().all(|(field, value)| seed_only.contains(field) || value == sent(field))
}
