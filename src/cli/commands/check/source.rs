//! Reads each source of the configuration, as `rosterd check` shows it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use jiff::civil::Date;
use xxhash_rust::xxh3::xxh3_64;

use super::finding::{Finding, Verdict};
use super::units;
use crate::config::{Job, Mode};
use crate::fault::chain;
use crate::lookup::{self, Lookup};
use crate::mapping::{Bound, Mapped, Mapping, OnBadValue, Reading};
use crate::reconcile::{self, Block, mapping, peek, rows};
use crate::record::{FieldKind, Key, Record, Rejected, Target, Value};
use crate::source::{Access, Read, Row, SourceState, csv};

/// The names of locations in the sources, and what has each.
pub(super) type Places = BTreeMap<String, Having>;

/// How many records have a name of a location.
#[derive(Clone, Copy, Default)]
pub(super) struct Having {
    /// All of them.
    pub(super) records: u64,
    /// Those of which nothing is used where the name is not known.
    pub(super) whole: u64,
}

/// Where the entries of a directory lie.
pub(super) fn by_unit(job: &Job, now: &SourceState, last: Option<&SourceState>) -> Option<Finding> {
    let SourceState::Ldap(now) = now else { return None };
    let (verdict, text) = units::compared(now, last)?;
    Some(Finding::new(format!("entries of {} by organizational unit", job.name), verdict, text))
}

/// Reads each lookup of a job to its end; the job with what they hold.
pub(super) fn job_with_lookups(job: &Job, access: Access<'_>, findings: &mut Vec<Finding>) -> Job {
    let mappings: Vec<Mapping> = job.parts().map(mapping).collect();
    let mappings: Vec<&Mapping> = mappings.iter().collect();
    let mut lookups = Vec::new();
    for lookup in job.lookups.iter().filter(|own| mappings.iter().any(|mapping| mapping.names_lookup(&own.name))) {
        let loaded = lookup::load(&lookup.name, &lookup.source, &mappings, access);
        let what = format!("lookup {} of {}", lookup.name, job.name);
        let keyless = match loaded.keyless {
            0 => String::new(),
            keyless => format!(", {keyless} without a key left out"),
        };
        findings.push(match &loaded.table {
            Ok(table) => Finding::new(what, Verdict::Good, format!("{}: {} rows{keyless}", lookup.source, table.len())),
            Err(reason) => Finding::new(what, Verdict::Wrong, format!("{}: {reason}", lookup.source)),
        });
        lookups.push(Lookup { loaded: Some(Arc::new(loaded)), ..lookup.clone() });
    }
    let (organizations, memberships) = (job.organizations.clone(), job.memberships.clone());
    Job { lookups, organizations, memberships, ..job.clone() }
}

/// Reads a job's source to its end and maps it; `found` takes what the read found out.
pub(super) fn source(
    job: &Job,
    (access, last): (Access<'_>, Option<&SourceState>),
    places: &mut Places,
    found: &mut Option<SourceState>,
) -> Finding {
    let what = format!("source of {}", job.name);
    let next = match peek(job, None, access.clock) {
        Ok(next) => next,
        Err(error) => return Finding::new(what, Verdict::Wrong, chain(&error)),
    };
    let inbox = next.waiting.as_ref().map(|_| format!("{}: ", next.describe())).unwrap_or_default();
    let Some(job) = next.job() else { return Finding::new(what, Verdict::Good, next.describe()) };
    let today = job.day(access.clock.now());
    let mut tally = Tally::default();
    let mut visit = |row: &Row, bound: &Bound<'_>| {
        tally.add(job, row, bound.read(row, Some(today)), places);
        ControlFlow::Continue(())
    };
    // A run compares how the file is written with the one before.
    let read = match rows(job, &mapping(job), Access { known: last, ..access }, &mut visit) {
        Ok(read) => read,
        Err(error) => return Finding::new(what, Verdict::Wrong, chain(&error)),
    };
    // Of a read that did not come to its end, that of the last run is kept.
    *found = read.incomplete().is_empty().then(|| read.found.clone());
    let Tally { fits, seeks, records, dropped, mut rejected, bad_values, sample, keys } = tally;
    rejected.extend(read.rejected.iter().cloned());
    for part in job.parts().filter(|part| part.name != job.name) {
        if let Err(error) = unusable(part, access, today, &mut rejected) {
            return Finding::new(what, Verdict::Wrong, chain(&error));
        }
    }
    let sample = sample.filter(|_| !job.source.has_lines());
    let such_as = sample.map(|key| format!(" (such as key {key})")).unwrap_or_default();
    let seen = format!(
        "{inbox}{}: {records} records{such_as}, {dropped} not included, {} rejected{}",
        described(job, &read),
        rejected.len(),
        match bad_values.len() {
            0 => String::new(),
            1 => ", 1 value can't be used".to_owned(),
            many => format!(", {many} values can't be used"),
        }
    );
    let twice = read.superseded.len();
    let seen = if twice == 0 { seen } else { format!("{seen}, {twice} of all that were read came twice") };
    let seen = if seeks == 0 { seen } else { format!("{seen}, {fits} of {seeks} found in lookups") };
    if let Some(reason) = read.incomplete().first() {
        return Finding::new(what, Verdict::Wrong, format!("{seen}; incomplete: {reason}"));
    }
    let least = job.limits.min_records;
    // A row of a file of changes that says that its person is gone is what such a file is for.
    let counted = if job.mode == Mode::Changes { records + dropped } else { records };
    if counted < least && rejected.is_empty() {
        let few = Block::TooFewRecords { records: counted, least };
        return Finding::new(what, Verdict::Wrong, format!("{seen}; {few}"));
    }
    let shared = keys.found();
    let seen = format!("{seen}{}", shared.as_deref().unwrap_or_default());
    match rejected.first().or(bad_values.first()) {
        None if shared.is_some() => {
            let hint = format!("`rosterd plan {}` shows what becomes of them", job.name);
            Finding::new(what, Verdict::Doubtful, format!("{seen}; {hint}"))
        }
        None => Finding::new(what, Verdict::Good, seen),
        Some(row) => {
            let mut line = match (row.line, &row.key) {
                (Some(line), _) => format!("line {line}: "),
                (None, Some(key)) => format!("key {key}: "),
                (None, None) => String::new(),
            };
            line.extend(row.field.iter().map(|field| format!("{field}: ")));
            // The others go on; but where no row can be used, the mapping is at fault.
            let verdict = if records == 0 { Verdict::Wrong } else { Verdict::Doubtful };
            Finding::new(what, verdict, format!("{seen}; {line}{}", row.reason))
        }
    }
}

/// What the rows of a source come to.
#[derive(Default)]
struct Tally {
    /// How many lookups were sought, and how many of them found a row.
    seeks: u64,
    fits: u64,
    records: u64,
    /// Rows that say that their person is gone, or that are not included.
    dropped: u64,
    rejected: Vec<Rejected>,
    bad_values: Vec<Rejected>,
    /// The first key.
    sample: Option<Key>,
    keys: SharedKeys,
}

impl Tally {
    fn add(&mut self, job: &Job, row: &Row, reading: Reading, places: &mut Places) {
        self.seeks += row.joins().len() as u64;
        self.fits += row.joins().iter().filter(|joined| joined.place.is_some()).count() as u64;
        self.bad_values.extend(reading.bad_values);
        let record = match reading.mapped {
            Mapped::Record(record) => record,
            Mapped::Left(_) | Mapped::Dropped => return self.dropped += 1,
            Mapped::Rejected(row) => return self.rejected.push(row),
        };
        for (_, value) in record.fields.iter().filter(|(field, _)| is_place(job.mapping.target, field)) {
            let mut found = |name: &str| {
                let having = places.entry(name.to_owned()).or_default();
                having.records += 1;
                having.whole += u64::from(job.mapping.on_bad_value == OnBadValue::Row);
            };
            match value {
                Value::Text(name) => found(name),
                Value::List(names) => names.iter().for_each(|name| found(name)),
                _ => {}
            }
        }
        self.keys.take(&record);
        self.sample.get_or_insert(record.key);
        self.records += 1;
    }
}

/// Adds the rows that another part of a job can't use, as far as they are not among those that are known.
fn unusable(part: &Job, access: Access<'_>, today: Date, rejected: &mut Vec<Rejected>) -> Result<(), reconcile::Error> {
    let known: BTreeSet<Option<u64>> = rejected.iter().map(|row| row.line).filter(Option::is_some).collect();
    let mut visit = |row: &Row, bound: &Bound<'_>| {
        if let Mapped::Rejected(row) = bound.read(row, Some(today)).mapped
            && !known.contains(&row.line)
        {
            rejected.push(row);
        }
        ControlFlow::Continue(())
    };
    rows(part, &mapping(part), access, &mut visit).map(drop)
}

/// The keys that several records have, with other values in each: it is not certain which of them is right.
#[derive(Default)]
struct SharedKeys {
    /// By the digest of a key: the digest of its first record, how many there are, and whether others differ.
    records: HashMap<u64, (u64, u64, bool)>,
    such_as: Option<Key>,
}

impl SharedKeys {
    fn take(&mut self, record: &Record) {
        let fields = xxh3_64(&serde_json::to_vec(&record.fields).expect("plain values"));
        let (first, count, differ) =
            self.records.entry(xxh3_64(record.key.as_str().as_bytes())).or_insert((fields, 0, false));
        *count += 1;
        if *first != fields {
            *differ = true;
            self.such_as.get_or_insert_with(|| record.key.clone());
        }
    }

    /// What was found, as a further part of a sentence.
    fn found(&self) -> Option<String> {
        let key = self.such_as.as_ref()?;
        let count: u64 = self.records.values().filter(|(_, _, differ)| *differ).map(|(_, count, _)| count).sum();
        Some(format!(", {count} of the records share keys and have other values (such as key {key})"))
    }
}

/// How a source looks.
fn described(job: &Job, read: &Read) -> String {
    let origin = if job.source.is_remote() { format!("{}, ", job.source) } else { String::new() };
    match &read.found {
        SourceState::Csv(csv::DetectedFormat { sheet: Some(sheet), columns, header_line, .. }) => {
            format!("{origin}workbook, sheet {sheet:?}, {} columns, header on line {header_line}", columns.len())
        }
        SourceState::Csv(found) => {
            let (text, columns) = (found.text.clone().unwrap_or_default(), found.columns.len());
            let delimiter = csv::delimiter_name(text.delimiter);
            format!("{origin}{}, {columns} columns by {delimiter}, header on line {}", text.encoding, found.header_line)
        }
        // Nothing is remembered of a read that was not whole.
        SourceState::Ldap(found) if found.server.is_empty() || !read.incomplete().is_empty() => {
            format!("{}, {} entries", job.source, read.rows)
        }
        SourceState::Ldap(found) => {
            let bases: Vec<String> =
                found.entries.iter().map(|(base, count)| format!("{count} entries in {base}")).collect();
            let unused = found.attributes.iter().filter(|(_, count)| **count == 0).map(|(name, _)| name.as_str());
            let unused = match unused.collect::<Vec<_>>() {
                none if none.is_empty() => String::new(),
                names => format!(", none of them with {}", names.join(", ")),
            };
            let blind = match &read.span {
                Some(span) if !span.began.tells() => {
                    "; the server does not show how far it is: where it is behind another, or laid back from a copy, that can't \
                     be noticed"
                }
                _ => "",
            };
            format!("{}, {}{unused}{blind}", found.server, bases.join(", "))
        }
    }
}

/// Whether a field holds names of locations.
pub(super) fn is_place(target: Target, field: &str) -> bool {
    target.field(field).is_some_and(|field| matches!(field.kind, FieldKind::Location | FieldKind::Places))
}
