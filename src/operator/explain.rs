//! One record from source to service, and why.
//!
//! Reads the source as it is now and everything else as it is stored. What would be done is decided by the very code that
//! a run decides with, narrowed to the one key; a second version of it would drift from the truth. Nothing is stored, and
//! nothing is asked of the service.

use std::ops::ControlFlow;

use jiff::Timestamp;
use smol_str::SmolStr;

use super::person_story::{self, StoryEvent};
use crate::config::{Job, Mode};
use crate::fault::chain;
use crate::history::{Changed, Decided};
use crate::mapping::{Bound, Mapped, Reading};
use crate::mirror::Mirror;
use crate::plan::{Change, LeaverAction, OnDrift, Outline, Verdict};
use crate::queue;
use crate::reconcile::approval::held::{HELD, PendingApproval};
use crate::reconcile::collect::{fingerprint, lookups, rows};
use crate::reconcile::correlate::fit::fit;
use crate::reconcile::inbox::peek::{self, Peeked};
use crate::reconcile::leavers::detect;
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::context::{Context, KeyFilter};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_fields::leaver_set;
use crate::reconcile::model::job_plan::JobPlan;
use crate::reconcile::model::job_state::{JobState, LastRun};
use crate::reconcile::model::kept_record::LATER;
use crate::reconcile::pause::{Pause, pause_of};
use crate::reconcile::plan::build::preview_plan;
use crate::reconcile::plan::inputs::JobContext;
use crate::record::{Action, Day, Entity, Field, FieldKind, Key, Record, Rejected, RemoteId, Value, Values, normalize};
use crate::snapshot::{Index, Owner, SyncedRecord};
use crate::source::{JoinedRow, Row};
use crate::spool;
use crate::store::{self, Store};

/// All there is to say about one record.
pub struct Explanation {
    /// Where its rows come from.
    pub from: String,
    /// Its rows; several where the source has it twice.
    pub rows: Vec<SourceRow>,
    /// Which file of an inbox this is about.
    pub inbox: Option<String>,
    /// Why the source could not be read.
    pub unreadable: Option<String>,
    /// Why the source does not prove who is absent.
    pub incomplete: Vec<String>,
    /// Which lookups nothing was taken from, and which fields stay as they are for that.
    pub lost: Vec<String>,
    /// What was confirmed of it.
    pub known: Option<SyncedRecord>,
    /// Its entity, as the service held it at the last pull.
    pub entity: Option<Entity>,
    /// Whose the entity is.
    pub owner: Option<Owner>,
    /// Each mapped field.
    pub fields: Vec<FieldView>,
    /// By field of `match_on`: the people at the service who fit.
    pub fits: Vec<Fit>,
    /// What a run would do, as far as one record says.
    pub outlook: Outlook,
    /// Values that can't be used though the rest of the record can.
    pub bad_values: Vec<Rejected>,
    /// The job's pause.
    pub paused: Option<Pause>,
    /// What waits for a person, and the number of the held set.
    pub held: Option<(PendingApproval, u64)>,
    /// What a person decided.
    pub decision: Option<Verdict>,
    /// The change on its way, or parked.
    pub queued: Option<queue::Change>,
    /// What an earlier file of changes said of it that no file says again, and that does not count yet.
    pub kept: Option<Kept>,
    /// The day on which it leaves, since an earlier file of changes named the last one before.
    pub leaves: Option<Day>,
    /// When the grace of a leaver is over; none where the job keeps leavers.
    pub due: Option<Timestamp>,
    /// By field: what is to be set in them for being gone; or why that can't be had. None where they are not gone, or
    /// where nothing is set in leavers, or was already.
    pub leaving: Option<Result<Values, String>>,
    /// The job's last run.
    pub last_run: Option<LastRun>,
    /// The last change that the service confirmed, and what it answered.
    pub last_change: Option<Changed>,
    /// What was decided about the record, the oldest first.
    pub decisions: Vec<Decided>,
    /// Keys that look like it, where nothing is known of it.
    pub nearest: Vec<Key>,
}

/// A row of the source.
pub struct SourceRow {
    /// Its line; `None` for an entry of a directory.
    pub line: Option<u64>,
    /// The name of its entry; `None` for a row of a file.
    pub dn: Option<String>,
    /// The rows of lookups that were joined to it.
    pub joined: Vec<JoinedRow>,
    /// Its columns and cells.
    pub cells: Vec<(String, String)>,
    /// What the mapping makes of it today.
    pub reading: Reading,
}

/// Who at the service fits a record by one field.
pub struct Fit {
    /// The field.
    pub field: String,
    /// The people, and whose they are.
    pub people: Vec<(RemoteId, Option<Owner>)>,
}

/// What an earlier file of changes said of a record.
pub struct Kept {
    /// The day from which on it counts; none where it counts once a run finds what it lacks.
    pub begins: Option<Day>,
    /// Whether it was read by the mapping of today: by another one it can't be used.
    pub is_usable: bool,
}

/// A mapped field.
pub struct FieldView {
    /// Its name.
    pub name: String,
    /// Its template.
    pub template: String,
    /// What the source wants; none without a usable row.
    pub wanted: Option<Value>,
    /// What the service holds; none without an entity.
    pub holds: Option<Value>,
    /// What was last sent or found equal; none where nothing was.
    pub sent: Option<Value>,
    /// What the service made of that, where it differs.
    pub echo: Option<Value>,
    /// How source and service compare.
    pub state: FieldState,
}

/// How source and service compare in one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldState {
    /// One of them is missing.
    Unknown,
    /// They agree.
    Same,
    /// The source wants something else than was last sent.
    Differs,
    /// The service holds something else than was last sent, and the source still wants that.
    Drifted,
    /// The same, and the job lets it stay (`on_drift`).
    Kept,
    /// It was set when the record was made, and is the service's own since (`seed_only`).
    Seeded,
}

/// What a run would do, as far as one record says.
pub enum Outlook {
    /// It can't be said, and why.
    Unclear(String),
    /// The source has no such row.
    Absent,
    /// The source has no such row, or one that says that they are gone, and the grace is over: a complete read removes or changes
    /// them, unless a limit or a protection holds that.
    Leaves(Action),
    /// Nothing.
    Nothing,
    /// The row can't be used.
    Rejected(Vec<String>),
    /// A change.
    Change(Box<Change>),
    /// It would wait for a person.
    Held {
        /// Why.
        reason: String,
        /// For what.
        change: Option<Box<Change>>,
    },
    /// Nothing, since a person rejected the change.
    Dropped(Box<Change>),
}

impl Explanation {
    /// Whether anything at all is known of the record.
    pub fn is_known(&self) -> bool {
        !self.rows.is_empty()
            || self.known.is_some()
            || self.held.is_some()
            || self.decision.is_some()
            || self.queued.is_some()
            || self.kept.is_some()
            || self.last_change.is_some()
            || !self.decisions.is_empty()
    }
}

/// How many similar keys are named.
const NEAREST_MAX: usize = 3;

/// Explains one record of a job, or of a part of it.
pub fn explain(context: &Context<'_>, job: &Job, key: &Key) -> Result<Explanation, Error> {
    let joined = lookups::loaded(context, job)?;
    let job = joined.as_ref().unwrap_or(job);
    let own = explain_part(context, job, key)?;
    if !own.is_known() {
        for part in job.parts().filter(|part| part.name != job.name) {
            let other = explain_part(context, part, key)?;
            if other.is_known() {
                return Ok(other);
            }
        }
    }
    Ok(own)
}

fn explain_part(context: &Context<'_>, job: &Job, key: &Key) -> Result<Explanation, Error> {
    let store = context.store;
    let mirrors = Mirrors::stored(store, job)?;
    let mirror = mirrors.as_ref().map(|mirrors| mirrors.of(job.mapping.target));
    let known = SyncedRecord::get(store, &job.name, key)?;
    let entity = match (mirror, &known) {
        (Some(mirror), Some(known)) => mirror.person(store, known)?,
        _ => None,
    };
    let state = JobState::load(store, &job.name)?;
    let next = peek::peek(job, Some(store), context.clock);
    let opened = next.as_ref().map_err(|error| format!("the source can't be read: {}", chain(error)));
    let read = opened.and_then(|next| match next.job() {
        Some(job) => read(context, job, key).map_err(|error| format!("the source can't be read: {}", chain(&error))),
        None => Err(next.describe()),
    });
    let inbox = next.as_ref().ok().filter(|next| next.waiting.is_some()).map(Peeked::describe);
    let job = next.as_ref().ok().and_then(Peeked::job).unwrap_or(job);
    let (SourceRead { from, rows, incomplete, lost, mut nearest }, unreadable) = match read {
        Ok(read) => (read, None),
        Err(error) => (SourceRead::default(), Some(error)),
    };
    let record = rows.iter().find_map(|row| match &row.reading.mapped {
        Mapped::Record(record) => Some(record.clone()),
        _ => None,
    });
    let record = record.map(|record| as_held(record, job, mirror));
    let record = record.as_ref();
    let (last_change, decisions) = last_recorded(context, job, key)?;
    let (outlook, of_plan) = outlook(context, job, key, mirrors.as_ref(), unreadable.as_deref().map_or(Ok(&rows), Err));
    let held = HELD.get(store, &job.name, key)?;
    let decision = queue::DECISIONS.get(store, &job.name, key)?.map(|decided| decided.verdict);
    let is_open = held.is_none() && !matches!(decision, Some(Verdict::Rejected(_))) && incomplete.is_empty();
    let outlook = match outlook {
        Outlook::Absent if is_open && leaves_now(context, job, known.as_ref()) => {
            let is_set = job.leavers.action == LeaverAction::Update;
            Outlook::Leaves(if is_set { Action::Update } else { Action::Delete })
        }
        outlook => outlook,
    };
    let of_rows = || rows.iter().flat_map(|row| &row.reading.bad_values);
    let further = of_plan.into_iter().filter(|bad| of_rows().all(|own| own.field != bad.field));
    let bad_values = of_rows().cloned().chain(further).collect();
    let mut explanation = Explanation {
        fields: fields(job, record, entity.as_ref(), known.as_ref()),
        fits: fits(store, job, mirror, record)?,
        owner: known.as_ref().map(|known| Owner::of(store, job.mapping.target, known.id)).transpose()?.flatten(),
        outlook,
        bad_values,
        paused: pause_of(store.home(), &job.name).unwrap_or_default(),
        held: held.map(|held| (held, state.held_set)),
        decision,
        queued: queue::get(store, &job.name, key)?,
        kept: kept(store, job, key)?,
        leaves: known.as_ref().filter(|_| job.mode == Mode::Changes).and_then(|known| known.marks.due),
        due: known.as_ref().and_then(|known| job.leavers.grace_ends(known.gone.as_ref()?.since)),
        leaving: leaving(context, job, &rows, known.as_ref()),
        last_run: state.last,
        from,
        rows,
        inbox,
        unreadable,
        incomplete,
        lost,
        known,
        entity,
        last_change,
        decisions,
        nearest: Vec::new(),
    };
    if !explanation.is_known() {
        let index = Index::load(store, &job.name)?;
        (0..index.len()).filter_map(|at| Key::new(index.entry(at).key)).for_each(|other| nearest.take(key, other));
        explanation.nearest = nearest.0.into_iter().map(|(_, key)| key).collect();
    }
    Ok(explanation)
}

#[derive(Default)]
struct SourceRead {
    from: String,
    rows: Vec<SourceRow>,
    incomplete: Vec<String>,
    lost: Vec<String>,
    nearest: Nearest,
}

fn read(context: &Context<'_>, job: &Job, key: &Key) -> Result<SourceRead, Error> {
    let mapping = rows::mapping(job);
    let mut found = Vec::new();
    let mut nearest = Nearest::default();
    let today = job.day(context.clock.now());
    let mut visit = |row: &Row, bound: &Bound<'_>| {
        let reading = bound.read(row, Some(today));
        let own = reading.key();
        if own == Some(key) {
            let cells = row.shown(mapping.photos()).map(|(column, cell)| (column.to_owned(), cell)).collect();
            let (line, dn, joined) = (row.shown_line(), row.dn().map(str::to_owned), row.joins().to_vec());
            found.push(SourceRow { line, dn, joined, cells, reading });
        } else if let Some(own) = own {
            nearest.take(key, own.clone());
        }
        ControlFlow::Continue(())
    };
    let read = rows::read(context, job, &mapping, None, &mut visit)?;
    Ok(SourceRead {
        from: job.source.with_sheet(&read.found),
        incomplete: read.incomplete().to_vec(),
        lost: lookups::reasons(&mapping, &read.lost),
        rows: found,
        nearest,
    })
}

/// The keys that look most like one that is not there, with their distance to it.
#[derive(Default)]
struct Nearest(Vec<(usize, Key)>);

impl Nearest {
    fn take(&mut self, wanted: &Key, other: Key) {
        let length = wanted.as_str().chars().count();
        if other.as_str().chars().count().abs_diff(length) > length.div_ceil(2) {
            return;
        }
        let distance = strsim::osa_distance(&wanted.as_str().to_lowercase(), &other.as_str().to_lowercase());
        if distance <= length.div_ceil(2) && !self.0.iter().any(|(_, key)| *key == other) {
            self.0.push((distance, other));
            self.0.sort();
            self.0.truncate(NEAREST_MAX);
        }
    }
}

/// A record as the service would hold it: a checkbox is ticked there or not, whatever the source calls that.
fn as_held(mut record: Record, job: &Job, mirror: Option<&Mirror>) -> Record {
    let fields: Vec<Field> = rows::mapping(job).fields().cloned().collect();
    // What does not fit is said by what a run would do.
    let _ = mirror.map(|mirror| fit(&mut record, &fields, mirror));
    record
}

fn fields(job: &Job, record: Option<&Record>, entity: Option<&Entity>, known: Option<&SyncedRecord>) -> Vec<FieldView> {
    let templates = job.mapping.fields.iter();
    let view = |(name, template): (&String, &String)| {
        let kind = job.mapping.target.field(name)?.kind;
        let wanted = record.and_then(|record| record.fields.get(name.as_str())).cloned();
        let holds = entity.map(|entity| entity.value(name).clone());
        let confirmed = known.filter(|known| !known.unsent || kind == FieldKind::Photo);
        let sent = confirmed.and_then(|known| known.sent.get(name.as_str())).cloned();
        // No list shows photos: the one that was sent last is the one that the service has, as far as is known.
        let holds = if kind == FieldKind::Photo { holds.and(sent.clone()) } else { holds };
        let state = match (&wanted, &holds) {
            (Some(wanted), Some(holds)) => {
                let same = known.map_or(kind.same(wanted, holds), |known| known.is_in_sync(name, kind, wanted, holds));
                match () {
                    () if same => FieldState::Same,
                    () if known.is_some() && job.seed_only.iter().any(|own| own == name) => FieldState::Seeded,
                    () if sent.as_ref() == Some(wanted) && job.on_drift != OnDrift::Overwrite => FieldState::Kept,
                    () if sent.as_ref() == Some(wanted) => FieldState::Drifted,
                    () => FieldState::Differs,
                }
            }
            _ => FieldState::Unknown,
        };
        let echo = known.and_then(|known| known.echo.get(name.as_str())).cloned();
        Some(FieldView { name: name.clone(), template: template.clone(), wanted, holds, sent, echo, state })
    };
    templates.filter_map(view).collect()
}

/// Who at the service fits the record, field by field.
fn fits(store: &Store, job: &Job, mirror: Option<&Mirror>, record: Option<&Record>) -> Result<Vec<Fit>, store::Error> {
    let (Some(mirror), Some(record)) = (mirror, record) else { return Ok(Vec::new()) };
    let folded = |value: Option<&Value>| value.and_then(Value::as_text).map(normalize).filter(|text| !text.is_empty());
    let wanted: Vec<(&SmolStr, Option<String>)> =
        job.match_on.iter().map(|field| (field, folded(record.fields.get(field)))).collect();
    let mut found: Vec<Vec<RemoteId>> = vec![Vec::new(); wanted.len()];
    mirror.each(store, |entity| {
        for ((field, text), ids) in wanted.iter().zip(&mut found) {
            if text.is_some() && *text == folded(Some(entity.value(field))) {
                ids.push(entity.id);
            }
        }
    })?;
    let mut fits = Vec::new();
    for ((field, _), ids) in wanted.into_iter().zip(found) {
        let owned = ids.into_iter().map(|id| Ok((id, Owner::of(store, job.mapping.target, id)?)));
        fits.push(Fit { field: field.to_string(), people: owned.collect::<Result<_, store::Error>>()? });
    }
    Ok(fits)
}

/// What a run would do, and the values of the record that it can't use.
fn outlook(
    context: &Context<'_>,
    job: &Job,
    key: &Key,
    mirrors: Option<&Mirrors>,
    read: Result<&Vec<SourceRow>, &str>,
) -> (Outlook, Vec<Rejected>) {
    let unclear = |reason: String| (Outlook::Unclear(reason), Vec::new());
    let rows = match read {
        Ok(rows) => rows,
        Err(reason) => return unclear(reason.to_owned()),
    };
    if rows.iter().all(|row| row.reading.absence().is_some()) {
        return (Outlook::Absent, Vec::new());
    }
    let Some(mirrors) = mirrors else {
        return unclear("the service was never read; `rosterd plan` reads it".to_owned());
    };
    let narrow = KeyFilter { keys: [key.clone()].into() };
    match preview_plan(JobContext { context, job, mirrors, filter: &narrow, earlier: &[], looks_ahead: true }) {
        Ok(mut prepared) => {
            let outlook = of_prepared(&prepared, key).unwrap_or_else(|error| Outlook::Unclear(chain(&error)));
            prepared.bad_values.retain(|bad| bad.key.as_ref() == Some(key));
            (outlook, prepared.bad_values)
        }
        Err(error) => unclear(chain(&error)),
    }
}

fn of_prepared(prepared: &JobPlan, key: &Key) -> Result<Outlook, spool::Error> {
    let rejected: Vec<String> = prepared
        .rejected
        .iter()
        .filter(|rejected| rejected.key.as_ref() == Some(key))
        .map(|rejected| match &rejected.field {
            Some(field) => format!("{field}: {}", rejected.reason),
            None => rejected.reason.to_string(),
        })
        .collect();
    if !rejected.is_empty() {
        return Ok(Outlook::Rejected(rejected));
    }
    let whole = |change: &Outline| prepared.spill.change(change).map(Box::new);
    if let Some(held) = prepared.held.iter().find(|held| held.key == *key) {
        let change = held.change.as_ref().map(whole).transpose()?;
        return Ok(Outlook::Held { reason: held.reason.to_string(), change });
    }
    if let Some(dropped) = prepared.dropped.iter().find(|change| change.key == *key) {
        return Ok(Outlook::Dropped(whole(dropped)?));
    }
    match prepared.go.iter().find(|change| change.key == *key) {
        Some(change) => Ok(Outlook::Change(whole(change)?)),
        None => Ok(Outlook::Nothing),
    }
}

fn kept(store: &Store, job: &Job, key: &Key) -> Result<Option<Kept>, Error> {
    let Some(record) = LATER.get(store, &job.name, key)? else { return Ok(None) };
    let is_usable = record.mapping == fingerprint::of_mapping(job, &rows::mapping(job));
    Ok(Some(Kept { begins: record.from, is_usable }))
}

/// Whether someone who is not in the source leaves by the next complete read.
fn leaves_now(context: &Context<'_>, job: &Job, known: Option<&SyncedRecord>) -> bool {
    let Some(known) = known.filter(|known| known.left.is_none() && !known.borrowed) else { return false };
    let now = context.now_for_leavers();
    match (job.leavers.action, job.mode) {
        (LeaverAction::Keep, _) => false,
        (_, Mode::Changes) => {
            known.marks.due.is_some_and(|due| Day::of(job.day(now)).is_some_and(|today| due <= today))
        }
        (_, Mode::Full) => {
            let since = known.gone.as_ref().map_or(now, |gone| gone.since);
            job.leavers.grace_ends(since).is_some_and(|end| end <= now)
        }
    }
}

/// What is to be set in someone for being gone.
fn leaving(
    context: &Context<'_>,
    job: &Job,
    rows: &[SourceRow],
    known: Option<&SyncedRecord>,
) -> Option<Result<Values, String>> {
    let says_so = rows.iter().any(|row| matches!(row.reading.mapped, Mapped::Left(_)));
    let known = known.filter(|known| known.left.is_none() && (says_so || known.gone.is_some()))?;
    if job.leavers.action != LeaverAction::Update {
        return None;
    }
    let since = known.gone.as_ref().map_or(context.clock.now(), |gone| gone.since);
    Some(leaver_set(job).values(&known.sent, job.day(since)).map_err(detect::fault_text))
}

/// What the audit files tell of the record: its last change, and what was decided.
fn last_recorded(context: &Context<'_>, job: &Job, key: &Key) -> Result<(Option<Changed>, Vec<Decided>), Error> {
    let (mut last, mut decisions) = (None, Vec::new());
    for event in person_story::events(context.store, &job.name, key)?.into_iter().rev() {
        match event {
            StoryEvent::Change(changed) => last = Some(changed),
            StoryEvent::Decision(decided) => decisions.push(decided),
        }
    }
    Ok((last, decisions))
}
