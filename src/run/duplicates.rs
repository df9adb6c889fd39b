//! Several rows of one key: equal ones are one, of different ones the preferred counts, or none (law 8).

use super::gather::Candidate;
use crate::record::{Number, Value};
use crate::snapshot::Known;

/// What becomes of the rows of one key.
pub(super) enum Choice {
    /// This one counts.
    Row(Candidate),
    /// The row that stands as it stood does.
    Standing,
    /// None can be told from the others; the lines of those that are equally good.
    Unclear(Vec<u64>),
}

/// Chooses among the rows of one key, of which there is at least one. `standing` is the row of this key that stands as it
/// stood, by its line and by what is known of it; fields of `seed_only` say nothing about whether rows are equal to it.
pub(super) fn choose(rows: Vec<Candidate>, standing: Option<(u64, Option<Known>)>, seed_only: &[String]) -> Choice {
    let preference = |row: &Candidate| row.marks.preference;
    let old = standing.as_ref().and_then(|(_, known)| known.as_ref()?.marks.preference);
    let best: Option<Number> =
        rows.iter().map(preference).chain([old]).flatten().max_by(|one, other| one.partial_cmp(other).expect("finite"));
    let stands = standing.filter(|_| old == best);
    let mut rows: Vec<Candidate> = rows.into_iter().filter(|row| preference(row) == best).collect();
    let equal = match (&stands, rows.first()) {
        (_, None) => true,
        (None, Some(first)) => rows.iter().all(|row| row.same_fields(first)),
        (Some((_, known)), Some(_)) => {
            rows.iter().all(|row| known.as_ref().is_some_and(|known| is_as_sent(row, known, seed_only)))
        }
    };
    match stands {
        _ if !equal => {
            let line = stands.iter().map(|(line, _)| *line);
            Choice::Unclear(rows.iter().map(|row| row.line).chain(line).collect())
        }
        Some(_) => Choice::Standing,
        None => rows.drain(..).next().map_or(Choice::Standing, Choice::Row),
    }
}

fn is_as_sent(row: &Candidate, known: &Known, seed_only: &[String]) -> bool {
    let fields = row.record().fields;
    let sent = |field: &String| known.sent.get(field).unwrap_or(&Value::Empty);
    fields.iter().all(|(field, value)| seed_only.contains(field) || value == sent(field))
}
