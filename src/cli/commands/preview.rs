//! `rosterd preview`.

use std::ops::ControlFlow;

use serde_json::{Map, Value, json};

use crate::cli::args::PreviewArgs;
use crate::cli::backend::{Backend, session};
use crate::cli::ui::{Exit, Failure, Paint, Ui, joined_document, joined_line, sanitize};
use crate::clock::Clock;
use crate::config::Job;
use crate::mapping::{Bound, Mapped, Reading};
use crate::reconcile::{mapping, peek, rows};
use crate::record::{Key, Rejected, Target, Value as FieldValue};
use crate::source::{Access, JoinedRow, RefusedLogins, Row, Source};

/// A row and what became of it.
struct PreviewRow {
    line: Option<u64>,
    /// The name of the entry; none of a row of a file.
    dn: Option<String>,
    source: Vec<(String, String)>,
    /// The rows of lookups that were joined to it.
    joined: Vec<JoinedRow>,
    reading: Reading,
    /// What the other parts of the job make of it, with what the names of their fields begin with.
    parts: Vec<(&'static str, Reading)>,
}

pub(crate) fn run(ui: &Ui, host: &Backend, args: &PreviewArgs) -> Result<Exit, Failure> {
    let config = session::configuration(ui, host)?;
    let job = session::job_or_only(&config, args.job.as_deref())?;
    let key = args.key.as_deref().map(|key| Key::new(key).ok_or_else(|| Failure::usage("a key can't be empty")));
    let key = key.transpose()?;
    let next = peek(job, None, &Clock::system())?;
    let (clock, logins) = (Clock::system(), RefusedLogins::of_a_run(config.state.home.spill_dir()));
    let scratch = session::scratch(&config);
    let access = Access::of_a_person(&clock, &logins, &scratch);
    let seen = next.job().map(|job| look(ui, job, access, key.as_ref(), args.limit)).transpose()?;
    let (seen, from) = seen.unwrap_or_default();
    if ui.json {
        let rows: Vec<Value> = seen.iter().map(document).collect();
        let inbox = next.waiting.as_ref();
        let inbox = inbox.map(|inbox| json!({"dir": inbox.dir, "file": inbox.file, "waiting": inbox.files}));
        ui.document(&json!({"version": 1, "job": job.name, "from": from, "rows": rows, "inbox": inbox}));
    } else {
        if next.waiting.is_some() {
            ui.note(sanitize(&next.describe()));
        }
        if !seen.is_empty() {
            ui.line(format!("from {}", sanitize(&from)));
        }
        let source = &next.job().unwrap_or(job).source;
        seen.iter().for_each(|seen| lines(ui, source, seen));
    }
    match key.filter(|_| next.job().is_some()) {
        Some(key) if seen.is_empty() => {
            let words = format!("no row of {} has the key {key}", next.job().unwrap_or(job).source);
            Err(Failure::failed(crate::cli::ui::Message(words)))
        }
        _ => Ok(Exit::Done),
    }
}

/// The rows, and where they come from.
fn look(
    ui: &Ui,
    job: &Job,
    access: Access<'_>,
    key: Option<&Key>,
    limit: usize,
) -> Result<(Vec<PreviewRow>, String), Failure> {
    let mut seen = Vec::new();
    let today = job.day(access.clock.now());
    let templates = mapping(job);
    let mut visit = |row: &Row, bound: &Bound<'_>| {
        let reading = bound.read(row, Some(today));
        if key.is_none_or(|key| reading.key() == Some(key)) {
            let source = row.shown(templates.photos()).map(|(column, cell)| (column.to_owned(), cell)).collect();
            let (line, dn, joined) = (row.shown_line(), row.dn().map(str::to_owned), row.joins().to_vec());
            seen.push(PreviewRow { line, dn, source, joined, reading, parts: Vec::new() });
        }
        if seen.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let read = rows(job, &templates, access, &mut visit)?;
    let from = job.source.with_sheet(&read.found);
    read.lost.iter().for_each(|lost| ui.warn(sanitize(&format!("lookup {}: {}", lost.name, lost.reason))));
    let room = limit.saturating_sub(seen.len());
    let rejected = read.rejected.into_iter().filter(|_| key.is_none()).take(room);
    seen.extend(rejected.map(|rejected| PreviewRow {
        line: rejected.line,
        dn: None,
        source: Vec::new(),
        joined: Vec::new(),
        reading: Reading::rejected(rejected),
        parts: Vec::new(),
    }));
    for part in job.parts().filter(|part| part.name != job.name) {
        look_at_part(part, access, &mut seen)?;
    }
    Ok((seen, from))
}

/// Adds what another part of the job makes of the same rows.
fn look_at_part(part: &Job, access: Access<'_>, seen: &mut [PreviewRow]) -> Result<(), Failure> {
    let today = part.day(access.clock.now());
    if seen.is_empty() {
        return Ok(());
    }
    let mut left = seen.len();
    let mut visit = |row: &Row, bound: &Bound<'_>| {
        let is_it = |one: &&mut PreviewRow| one.line == row.shown_line() && one.dn.as_deref() == row.dn();
        if let Some(one) = seen.iter_mut().find(is_it) {
            one.parts.push((part.mapping.prefix, bound.read(row, Some(today))));
            left = left.saturating_sub(1);
        }
        if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    rows(part, &mapping(part), access, &mut visit)?;
    Ok(())
}

/// The fields that a part of the job maps, with their whole names; what joins people to organizations is none.
fn of_part<'r>(prefix: &'r str, reading: &'r Reading) -> impl Iterator<Item = (String, &'r FieldValue)> {
    let fields = match &reading.mapped {
        Mapped::Record(record) => Some(&record.fields),
        Mapped::Left(_) | Mapped::Dropped | Mapped::Rejected(_) => None,
    };
    let is_link = |field: &str| [Target::MEMBER, Target::ORGANIZATION].contains(&field);
    let own = fields.into_iter().flat_map(|fields| fields.iter()).filter(move |(field, _)| !is_link(field));
    own.map(move |(field, value)| (format!("{prefix}{field}"), value))
}

/// Why a row can't be used, by the first part of the job that can't use it.
fn rejection(seen: &PreviewRow) -> Option<&Rejected> {
    let readings = std::iter::once(&seen.reading).chain(seen.parts.iter().map(|(_, reading)| reading));
    readings.into_iter().find_map(|reading| match &reading.mapped {
        Mapped::Rejected(rejected) => Some(rejected),
        Mapped::Record(_) | Mapped::Left(_) | Mapped::Dropped => None,
    })
}

fn document(seen: &PreviewRow) -> Value {
    let source: Map<String, Value> =
        seen.source.iter().map(|(column, cell)| (column.clone(), cell.as_str().into())).collect();
    let record = match &seen.reading.mapped {
        Mapped::Record(record) => {
            let own = record.fields.iter().map(|(field, value)| (field.to_string(), value));
            let parts = seen.parts.iter().flat_map(|(prefix, reading)| of_part(prefix, reading));
            Value::Object(own.chain(parts).map(|(field, value)| (field, value.to_json())).collect())
        }
        Mapped::Rejected(_) | Mapped::Left(_) | Mapped::Dropped => Value::Null,
    };
    let rejected =
        rejection(seen).map(|rejected| json!({"field": rejected.field, "reason": rejected.reason.to_string()}));
    let absence = seen.reading.absence();
    json!({
        "line": seen.line,
        "dn": seen.dn,
        "key": seen.reading.key(),
        "included": absence.is_none(),
        "absence": absence,
        "source": source,
        "lookups": joined_document(&seen.joined),
        "record": record,
        "rejected": rejected,
        "rejected_values": seen.reading.bad_values.iter().map(|bad| json!({"field": bad.field, "reason": bad.reason.to_string()})).collect::<Vec<_>>(),
    })
}

fn lines(ui: &Ui, source: &Source, seen: &PreviewRow) {
    let key = seen.reading.key().map(|key| format!("  key {}", sanitize(key.as_str()))).unwrap_or_default();
    let place = sanitize(&source.place(seen.line, seen.dn.as_deref()));
    ui.line(format!("{}{key}", ui.paint(Paint::Bold, &place)));
    seen.joined.iter().for_each(|joined| ui.line(format!("  {}", joined_line(joined))));
    let left: Vec<(String, String)> =
        seen.source.iter().map(|(column, cell)| (sanitize(column), format!("{:?}", sanitize(cell)))).collect();
    let right: Vec<String> = match &seen.reading.mapped {
        Mapped::Record(record) => record
            .fields
            .iter()
            .map(|(field, value)| (field.to_string(), value))
            .chain(seen.parts.iter().flat_map(|(prefix, reading)| of_part(prefix, reading)))
            .map(|(field, value)| {
                let shown =
                    if value.is_empty() { "(empty)".to_owned() } else { format!("{:?}", sanitize(&value.shown())) };
                format!("{} = {shown}", sanitize(&field))
            })
            .chain(rejection(seen).map(|rejected| unusable(ui, rejected)))
            .chain(seen.reading.bad_values.iter().map(|bad| {
                let field = bad.field.as_deref().unwrap_or_default();
                ui.paint(
                    Paint::Red,
                    &format!("stays as it is: {}: {}", sanitize(field), sanitize(&bad.reason.to_string())),
                )
            }))
            .collect(),
        Mapped::Left(_) | Mapped::Dropped => seen.reading.absence().into_iter().collect(),
        Mapped::Rejected(rejected) => vec![unusable(ui, rejected)],
    };
    beside(&left, &right).iter().for_each(|line| ui.line(line));
}

fn unusable(ui: &Ui, rejected: &Rejected) -> String {
    let field = rejected.field.as_ref().map(|field| format!("{}: ", sanitize(field))).unwrap_or_default();
    ui.paint(Paint::Red, &format!("rejected: {field}{}", sanitize(&rejected.reason.to_string())))
}

/// The widest that a column of names or cells is made; what is longer moves the next column.
const WIDTH_MAX: usize = 60;

/// Columns and their cells on the left, what becomes of them on the right.
fn beside(left: &[(String, String)], right: &[String]) -> Vec<String> {
    let width = |texts: &mut dyn Iterator<Item = &String>| {
        texts.map(|text| text.chars().count()).max().unwrap_or(0).min(WIDTH_MAX)
    };
    let name = width(&mut left.iter().map(|(column, _)| column));
    let cell = width(&mut left.iter().map(|(_, cell)| cell));
    let line = |at: usize| {
        let (column, text) = left.get(at).map_or(("", ""), |(column, cell)| (column.as_str(), cell.as_str()));
        let arrow = if right.get(at).is_some() { "→" } else { "" };
        let line = format!("  {column:name$}  {text:cell$}  {arrow} {}", right.get(at).map_or("", String::as_str));
        line.trim_end().to_owned()
    };
    (0..left.len().max(right.len())).map(line).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_long_cell_does_not_push_the_others_aside() {
        let pair = |column: &str, cell: &str| (column.to_owned(), cell.to_owned());
        let lines = beside(&[pair("Name", "Ana"), pair("Note", &"x".repeat(200))], &["name = Ana".into(), "b".into()]);
        assert_eq!(lines[0], format!("  Name  Ana{}  → name = Ana", " ".repeat(57)));
        assert_eq!(lines[1], format!("  Note  {}  → b", "x".repeat(200)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// `format!` takes no width beyond 65,535.
        #[test]
        fn texts_of_any_length_are_printed(lengths in prop::collection::vec((0usize..200_000, 0usize..200_000), 0..4)) {
            let left: Vec<_> = lengths.iter().map(|(one, other)| ("é".repeat(*one), "x".repeat(*other))).collect();
            let lines = beside(&left, &["y".repeat(100_000)]);
            prop_assert_eq!(lines.len(), left.len().max(1));
            for ((column, cell), line) in left.iter().zip(&lines) {
                prop_assert!(line.contains(column.as_str()) && line.contains(cell.as_str()));
            }
        }
    }
}
