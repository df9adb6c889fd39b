//! A run from end to end.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::adopt::Adoption;
use super::basis;
use super::error::Error;
use super::prepare::{ON_SITE, Prepared, prepare, protection, written};
use super::report::{Counts, Details, Report, Status};
use super::state::{JobState, LastRun, next_run};
use super::{Context, Narrow, Stage, account, expected, held, inbox, pause, retention, rows, signs};
use crate::config::{Job, Mode};
use crate::fault::chain;
use crate::history::{Audit, Ended, Line};
use crate::mirror::{Mirror, Removal, Wanted};
use crate::plan::{Held, Protection, Writes};
use crate::push::{Drained, Outcome, Presence, Push, Witness};
use crate::queue::{self, Change, State};
use crate::record::{Action, Entity, Field, JobName, Key, RemoteId, Target, Value};
use crate::snapshot::{Day, Entry, Index, Known, Owner};
use crate::store::{self, Batch, Store};

/// Runs jobs one after the other, in the order given. An error is one of the state: every other failure is in a report.
pub async fn sync(context: &Context<'_>, jobs: &[&Job], narrow: &Narrow) -> Result<Vec<Report>, Error> {
    account::claim(context)?;
    let mut reports = Vec::new();
    let mut mirror = None;
    for job in jobs {
        if context.watch.interrupted() {
            break;
        }
        if let Some(inbox) = &job.inbox {
            reports.push(inbox::sync(context, job, inbox, &mut mirror, narrow).await?);
            continue;
        }
        let before = context.client.requests();
        let started = context.clock.now();
        context.client.begin_run();
        let run = next_run(context.store)?;
        let mut report = match one(context, job, &mut mirror, narrow, run, before).await {
            Ok(report) => report,
            Err(error) => Report::failed(job.name.clone(), chain(&error), context.client.requests() - before),
        };
        report.reasons.extend(expected::noted(context, job)?);
        tracing::info!(job = job.name.as_str(), run, status = report.status.name(), "a run ended");
        record(context, job, &report, run, started)?;
        reports.push(report);
    }
    Removal::prune(context.store, Target::Staff, context.clock.now())?;
    retention::apply(context)?;
    Ok(reports)
}

/// What `sync` would do for one job.
pub struct Plan {
    /// The job.
    pub job: JobName,
    /// What it would do, and how many people at the service belong to no record of the job; or why that can't be said.
    pub result: Result<(Prepared, u64), Error>,
}

/// Works out what `sync` would do, and changes nothing here or there. One job's failure is its own.
pub async fn plan(context: &Context<'_>, jobs: &[&Job], narrow: &Narrow) -> Result<Vec<Plan>, Error> {
    account::check(context)?;
    context.client.begin_run();
    let mut plans = Vec::new();
    let mut mirror = None;
    for job in jobs {
        let result = plan_one(context, job, &mut mirror, narrow).await;
        plans.push(Plan { job: job.name.clone(), result });
    }
    Ok(plans)
}

async fn plan_one(
    context: &Context<'_>,
    job: &Job,
    mirror: &mut Option<Mirror>,
    narrow: &Narrow,
) -> Result<(Prepared, u64), Error> {
    let next = inbox::next(job, Some(context.store), context.clock)?;
    let mirror = pulled(context, job, mirror, false).await?;
    let Some(job) = next.job() else {
        let prepared = Prepared { inbox: next.waiting.clone(), ..Prepared::nothing(job, next.told()) };
        let foreign = foreign(context.store, mirror, job, &[])?;
        return Ok((prepared, foreign));
    };
    let mut prepared = prepare(context, job, &rows::mapping(job), mirror, narrow, &mut |_, _| Ok(()))?;
    prepared.notes.extend(next.waiting.is_some().then(|| next.told()));
    prepared.inbox.clone_from(&next.waiting);
    pause::reason(context.store.dir(), &job.name).into_iter().for_each(|reason| prepared.hold_by(reason));
    prepared.new.bases = basis::all(&prepared, mirror, context.store)?;
    let foreign = foreign(context.store, mirror, job, &prepared.new.matched)?;
    Ok((prepared, foreign))
}

pub(super) async fn one(
    context: &Context<'_>,
    job: &Job,
    mirror: &mut Option<Mirror>,
    narrow: &Narrow,
    run: u64,
    requests_before: u64,
) -> Result<Report, Error> {
    let store = context.store;
    let fields = written(job, &rows::mapping(job));
    let presence = Presence::open(context.client, store, context.clock, job.mapping.target)?;
    let is_paused = pause::reason(store.dir(), &job.name).is_some();
    let unlooked = if is_paused { None } else { presence.look().await? };
    let mirror = pulled(context, job, mirror, true).await?;
    let witness = Recorder { context, audit: Audit::new(store.dir()), run, job: &job.name, fields: &fields };
    let protection = protection(context);
    let push = Push {
        client: context.client,
        store,
        clock: context.clock,
        fields: &fields,
        seed_only: &job.seed_only,
        protection: &protection,
        match_on: &job.match_on,
        presence: &presence,
        witness: &witness,
    };
    let mut prepared = settled(context, job, &push, mirror, narrow).await?;
    let nothing_taken = prepared.hold.is_some();
    let paused = pause::reason(store.dir(), &job.name);
    paused.iter().for_each(|reason| prepared.hold_by(reason.clone()));
    if nothing_taken {
        prepared.notes.extend(unlooked);
        let requests = context.client.requests() - requests_before;
        let mut report = report(job, prepared, &Drained::default(), parked(store, job)?, requests);
        report.details.nothing_taken = true;
        return Ok(report);
    }
    let changes = commit(store, job, &mut prepared, narrow)?;
    if job.inbox.is_none() && !narrow.is_narrow() {
        expected::note(context, job, &prepared.new.content)?;
    }
    let before = mirror.changed().clone();
    let mut drained = Drained::default();
    if paused.is_none() {
        let requests = changes.iter().map(|change| if change.wish.action == Action::Create { 1 } else { 2 }).sum();
        context.watch.stage(&job.name, Stage::Sending { changes: changes.len(), requests });
        drained = push.drain(mirror, changes).await?;
        pause::excuse(store.dir(), &mut prepared, &mut drained);
        drained.notes.extend(signs::notes(context.client, store, job, &drained)?);
    } else if !changes.is_empty() {
        prepared.hold_by(counted(changes.len(), "change waits", "changes wait"));
    }
    save_index(store, job, mirror, &before, &prepared, &drained)?;
    let on_site = drained.outcomes.iter().filter(|(_, _, outcome)| *outcome == Outcome::OnSite);
    held::wait(store, &job.name, on_site.map(|(key, _, _)| key), ON_SITE)?;
    held::wait(store, &job.name, prepared.protected.iter(), Protection::REASON)?;
    let parked = parked(store, job)?;
    let requests = context.client.requests() - requests_before;
    Ok(report(job, prepared, &drained, parked, requests))
}

/// Works out what a run would do, once it is known what became of what an earlier process left behind; stores what was
/// learned of the service on the way.
pub(super) async fn settled(
    context: &Context<'_>,
    job: &Job,
    push: &Push<'_>,
    mirror: &mut Mirror,
    narrow: &Narrow,
) -> Result<Prepared, Error> {
    let store = context.store;
    let unknown = left_unknown(store, job)?;
    let unclear = if unknown.is_empty() { Vec::new() } else { push.settle(mirror, unknown).await? };
    let mut adoption = Adoption::new(job, store);
    let mapping = rows::mapping(job);
    let mut prepared = prepare(context, job, &mapping, mirror, narrow, &mut |key, known| adoption.take(key, known))?;
    prepared.hold_unclear(unclear);
    adoption.flush()?;
    mirror.save(store)?;
    Ok(prepared)
}

/// The mirror, pulled once for all jobs of a command.
pub(super) async fn pulled<'a>(
    context: &Context<'_>,
    job: &Job,
    mirror: &'a mut Option<Mirror>,
    through: bool,
) -> Result<&'a mut Mirror, Error> {
    if mirror.is_none() {
        context.watch.stage(&job.name, Stage::Pulling);
        let fields = context.config.jobs.iter().flat_map(Job::fields);
        let doubted = account::is_doubted(context)?;
        let wanted = Wanted { doubted, ..Wanted::new(fields, context.config.state.full_pull) };
        let mut read = Mirror::pull(context.client, context.store, &wanted, context.clock, through).await?;
        if doubted && through {
            account::trust(context, &mut read)?;
        }
        *mirror = Some(read);
    }
    Ok(mirror.as_mut().expect("it was just pulled"))
}

/// Changes that left an earlier process and whose fate nobody knows; everything else of the queue is planned anew.
fn left_unknown(store: &Store, job: &Job) -> Result<Vec<Change>, store::Error> {
    let open = |change: &Change| match &change.state {
        State::Sent { .. } => true,
        // A file of changes says nothing a second time: what waits from an earlier one is sent as it is, so it is looked up.
        State::Waiting => job.mode == Mode::Changes && change.wish.action == Action::Create,
        State::Parked { .. } => false,
    };
    Ok(queue::list(store, &job.name)?.into_iter().filter(open).collect())
}

/// Stores what the plan found and wants, and returns what is to be sent.
fn commit(store: &Store, job: &Job, prepared: &mut Prepared, narrow: &Narrow) -> Result<Vec<Change>, store::Error> {
    let extra = &prepared.new;
    let mut batch = Batch::default();
    for (key, known) in &extra.waiting {
        known.put(&mut batch, &job.name, key);
    }
    for (key, id) in &extra.forgotten {
        Known::remove(&mut batch, &job.name, key);
        Owner::remove(&mut batch, Target::Staff, *id);
    }
    store.commit(batch)?;
    let judged = |key: &Key| extra.judged_all || extra.digests.contains_key(key);
    let mut changes: BTreeMap<Key, Change> =
        prepared.go.iter().map(|(change, approved)| (change.key.clone(), queued(job, change, *approved))).collect();
    let mut carried = Vec::new();
    let unclear = |old: &Change| old.wish.action == Action::Create && matches!(old.state, State::Sent { .. });
    let mut batch = Batch::default();
    for old in queue::list(store, &job.name)? {
        let parked = matches!(old.state, State::Parked { .. });
        // A change that was parked before it was sent costs no write to try again: the person may have been mended.
        let refused = matches!(old.state, State::Parked { status, .. } if status > 0);
        match changes.get(&old.key) {
            // The service refused just this; it would again. An approval is good for one try.
            Some(new) if refused && new.wish == old.wish && (!new.approved || old.approved) => {
                changes.remove(&old.key);
            }
            Some(_) => {}
            // What became of it is not known, and stays so until the next run looks again.
            None if unclear(&old) => {}
            // A person undid a run: that is sent, or parked, whatever the source says of the record.
            None if old.undo.is_some() && (parked || !narrow.has(&old.key) || job.writes == Writes::Off) => {}
            None if old.undo.is_some() => carried.push(old),
            None if job.mode == Mode::Changes && !judged(&old.key) && old.state == State::Waiting => carried.push(old),
            None if judged(&old.key) || (!parked && narrow.has(&old.key)) => {
                queue::remove(&mut batch, &job.name, &old.key);
            }
            None => {}
        }
    }
    changes.extend(carried.into_iter().map(|old| (old.key.clone(), old)));
    changes.values().for_each(|change| queue::put(&mut batch, change));
    store.load(batch)?;
    let mut batch = Batch::default();
    let mut state = JobState::load(store, &job.name)?;
    if !narrow.is_narrow() {
        let keep = |key: &Key| job.mode == Mode::Changes && !judged(key);
        let kept = held::replace(store, &mut batch, &job.name, &prepared.held, keep, &mut state)?;
        prepared.held.extend(kept.into_iter().map(|(key, held)| Held {
            key,
            reason: held.reason,
            change: None,
            other: None,
        }));
        if extra.mapping_settled || state.mapping.is_empty() {
            state.mapping.clone_from(&extra.mapping);
        }
        state.found.clone_from(&extra.found);
    } else {
        held::replace_some(store, &mut batch, &job.name, &narrow.keys, &prepared.held, &mut state)?;
    }
    let held = prepared.held.iter().filter_map(|held| held.change.as_ref());
    let wanted: BTreeMap<Key, u64> = prepared
        .go
        .iter()
        .map(|(change, _)| change)
        .chain(held)
        .chain(&prepared.dropped)
        .map(|change| (change.key.clone(), change.wish.digest()))
        .collect();
    held::prune(&mut batch, &job.name, &extra.verdicts, &wanted, |key| {
        (judged(key) || extra.there.contains(key)) && !extra.standing.contains(key)
    });
    state.put(&mut batch, &job.name);
    store.commit(batch)?;
    Ok(changes.into_values().collect())
}

pub(super) fn queued(job: &Job, change: &crate::plan::Change, approved: bool) -> Change {
    Change {
        job: job.name.clone(),
        key: change.key.clone(),
        target: job.mapping.target,
        wish: change.wish.clone(),
        approved,
        marks: change.marks.clone(),
        undo: None,
        state: State::Waiting,
    }
}

/// Writes the index: a digest for every row that needs nothing any more. `before` are the entities that were seen to have
/// moved when the plan was made; what a look-up during the push saw besides is for the next run.
fn save_index(
    store: &Store,
    job: &Job,
    mirror: &Mirror,
    before: &BTreeSet<RemoteId>,
    prepared: &Prepared,
    drained: &Drained,
) -> Result<(), store::Error> {
    let mut digests: BTreeMap<&str, u128> = prepared.new.digests.keys().map(|key| (key.as_str(), 0)).collect();
    digests.extend(prepared.new.settled.iter().map(|(key, digest)| (key.as_str(), *digest)));
    for (key, _, _) in drained.outcomes.iter().filter(|(_, _, outcome)| *outcome == Outcome::Confirmed) {
        if let Some(digest) = prepared.new.digests.get(key)
            && is_as_wanted(store, job, mirror, &prepared.fields, key)?
        {
            digests.insert(key.as_str(), *digest);
        }
    }
    let index = Index::load(store, &job.name)?;
    let due: BTreeMap<&str, Day> = prepared.new.due.iter().map(|(key, day)| (key.as_str(), *day)).collect();
    let late: BTreeSet<i32> = mirror.changed().difference(before).map(|id| id.get()).collect();
    let entries = (0..index.len()).map(|at| {
        let entry = index.entry(at);
        let (digest, due) = match digests.get(entry.key) {
            Some(digest) => (*digest, due.get(entry.key).copied()),
            None => (entry.digest, entry.due),
        };
        Entry { digest: if late.contains(&entry.id) { 0 } else { digest }, due, ..entry }
    });
    Index::save(store, &job.name, entries)
}

/// Whether the service holds all that was last sent, or what it makes of that.
fn is_as_wanted(store: &Store, job: &Job, mirror: &Mirror, fields: &[Field], key: &Key) -> Result<bool, store::Error> {
    let Some(known) = Known::get(store, &job.name, key)? else { return Ok(true) };
    let Some(entity) = mirror.get(store, known.id)? else { return Ok(false) };
    let owned = fields.iter().filter(|field| !job.seed_only.contains(&field.name));
    Ok(owned.filter(|field| job.mapping.fields.contains_key(&field.name)).all(|field| {
        let wanted = known.sent.get(&field.name).unwrap_or(&Value::Empty);
        known.settled(&field.name, field.kind, wanted, entity.value(&field.name))
    }))
}

pub(super) fn parked(store: &Store, job: &Job) -> Result<Vec<(Key, Action, String)>, store::Error> {
    let parked = |change: Change| match change.state {
        State::Parked { status: 0, words } => Some((change.key, change.wish.action, words)),
        State::Parked { status, words } => Some((change.key, change.wish.action, format!("{status}: {words}"))),
        State::Waiting | State::Sent { .. } => None,
    };
    Ok(queue::list(store, &job.name)?.into_iter().filter_map(parked).collect())
}

pub(super) fn report(
    job: &Job,
    prepared: Prepared,
    drained: &Drained,
    parked: Vec<(Key, Action, String)>,
    requests: u64,
) -> Report {
    let count = |action: Action| {
        drained.outcomes.iter().filter(|(_, done, outcome)| *done == action && *outcome == Outcome::Confirmed).count()
            as u64
    };
    let mut held: Vec<(Key, String)> =
        prepared.held.iter().map(|held| (held.key.clone(), held.reason.clone())).collect();
    let waits = held.len() as u64 + u64::from(prepared.hold.is_some());
    let on_site = drained.outcomes.iter().filter(|(_, _, outcome)| *outcome == Outcome::OnSite);
    held.extend(on_site.map(|(key, _, _)| (key.clone(), ON_SITE.to_owned())));
    held.extend(prepared.protected.iter().map(|key| (key.clone(), Protection::REASON.to_owned())));
    let undelivered: Vec<&str> = drained
        .outcomes
        .iter()
        .filter_map(|(_, _, outcome)| match outcome {
            Outcome::Undelivered(reason) => Some(reason.as_str()),
            _ => None,
        })
        .collect();
    let mut reasons = Vec::new();
    if let Some(reason) = undelivered.first() {
        let why = drained.stopped.as_deref().unwrap_or(reason);
        let what = counted(undelivered.len(), "change could not be delivered", "changes could not be delivered");
        reasons.push(format!("{what} and will be tried again: {why}"));
    } else if let Some(reason) = &drained.stopped {
        reasons.push(reason.clone());
    }
    reasons.extend(prepared.hold.clone());
    reasons.extend(some(prepared.held.iter().map(|held| held.reason.as_str()).collect()));
    reasons.extend(
        prepared.incomplete.iter().map(|reason| format!("incomplete read, so nobody leaves by absence: {reason}")),
    );
    if !prepared.rejected.is_empty() {
        reasons.push(counted(prepared.rejected.len(), "row was rejected", "rows were rejected"));
    }
    if !parked.is_empty() {
        let (one, many) = ("change is parked: the service refused it", "changes are parked: the service refused them");
        let words = some(parked.iter().map(|(_, _, words)| words.as_str()).collect());
        reasons.push(format!("{} ({})", counted(parked.len(), one, many), words.join("; ")));
    }
    let status = if !undelivered.is_empty() || drained.stopped.is_some() {
        Status::Failed
    } else if waits > 0 {
        Status::Held
    } else if !reasons.is_empty() {
        Status::Partial
    } else {
        Status::Done
    };
    let confirmed = drained.outcomes.iter().filter(|(_, _, outcome)| *outcome == Outcome::Confirmed);
    let details = Details {
        rows: prepared.rows,
        confirmed: confirmed.map(|(key, action, _)| (key.clone(), *action)).collect(),
        dropped: prepared.dropped.iter().map(|change| change.key.clone()).collect(),
        nothing_taken: false,
    };
    reasons.extend(prepared.notes);
    reasons.extend(drained.notes.iter().cloned());
    Report {
        name: job.name.clone(),
        status,
        complete: prepared.complete,
        counts: Counts {
            records: prepared.records,
            rejected: prepared.rejected.len() as u64,
            created: count(Action::Create),
            updated: count(Action::Update),
            deleted: count(Action::Delete),
            unchanged: prepared.unchanged,
            parked: parked.len() as u64,
            held: held.len() as u64,
            requests,
        },
        reasons,
        rejections: prepared.rejected,
        held,
        parked,
        drift: prepared.drift.into_iter().collect(),
        details,
    }
}

/// Some of many different reasons.
fn some(reasons: BTreeSet<&str>) -> Vec<String> {
    let more = reasons.len().saturating_sub(REASONS_MAX);
    let mut some: Vec<String> = reasons.into_iter().take(REASONS_MAX).map(str::to_owned).collect();
    if more > 0 {
        some.push(format!("and {more} other reasons"));
    }
    some
}

pub(in crate::run) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Remembers how a run ended. Where the audit file can't be written, the run stands all the same (fault 10).
pub(super) fn record(
    context: &Context<'_>,
    job: &Job,
    report: &Report,
    run: u64,
    started: Timestamp,
) -> Result<(), Error> {
    let line = ended(context, job, report, run, started);
    let ended = line.at;
    if let Err(error) = Audit::new(context.store.dir()).append(ended, &Line::Run(&line)) {
        tracing::warn!(run, %error, "the end of the run could not be written to the audit file");
    }
    let mut state = JobState::load(context.store, &job.name)?;
    state.fresh.get_or_insert(started);
    state.last = Some(LastRun {
        run,
        started,
        ended,
        status: report.status,
        complete: report.complete,
        counts: report.counts,
        reason: report.reason(),
    });
    let mut batch = Batch::default();
    state.put(&mut batch, &job.name);
    Ok(context.store.commit(batch)?)
}

/// The end of a run, which is now.
pub(super) fn ended(context: &Context<'_>, job: &Job, report: &Report, run: u64, started: Timestamp) -> Ended {
    Ended {
        at: context.clock.now(),
        run,
        job: job.name.clone(),
        started,
        status: report.status.name().to_owned(),
        complete: report.complete,
        counts: report.counts.by_name(),
        reason: report.reason(),
        reverts: None,
        by: None,
    }
}

/// How many different reasons of held and of parked changes a report names.
const REASONS_MAX: usize = 3;

/// How many people at the service belong to no record of the job.
fn foreign(store: &Store, mirror: &Mirror, job: &Job, matched: &[RemoteId]) -> Result<u64, Error> {
    let index = Index::load(store, &job.name)?;
    let mine: BTreeSet<i32> =
        (0..index.len()).map(|at| index.entry(at).id).chain(matched.iter().map(|id| id.get())).collect();
    let mut foreign = 0;
    mirror.each(store, |entity| foreign += u64::from(!mine.contains(&entity.id.get())))?;
    Ok(foreign)
}

/// Writes the audit file and passes on what happens.
pub(super) struct Recorder<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) audit: Audit,
    pub(super) run: u64,
    pub(super) job: &'a JobName,
    pub(super) fields: &'a [Field],
}

impl Witness for Recorder<'_> {
    fn confirmed(&self, change: &Change, before: Option<&Entity>, after: Option<&Entity>) -> std::io::Result<()> {
        let value = |entity: Option<&'_ Entity>, field: &str| -> Value {
            entity.map_or(Value::Empty, |entity| entity.value(field).clone())
        };
        let moved: Vec<(&str, Value, Value)> = self
            .fields
            .iter()
            .map(|field| (field.name.as_str(), value(before, &field.name), value(after, &field.name)))
            .filter(|(_, before, after)| before != after)
            .collect();
        if moved.is_empty() && change.wish.action == Action::Update {
            // It was found as wanted, and nothing was sent.
            return Ok(());
        }
        let at = self.context.clock.now();
        let line = Line::Change {
            at,
            run: self.run,
            job: &change.job,
            key: &change.key,
            action: change.wish.action,
            id: after.or(before).map(|entity| entity.id).or(change.wish.id),
            fields: moved.iter().map(|(field, before, after)| (*field, [before, after])).collect(),
        };
        self.audit.append(at, &line)
    }

    fn outcome(&self, change: &Change, outcome: &Outcome) {
        self.context.watch.outcome(change, outcome);
    }

    fn halted(&self) -> Option<String> {
        let interrupted = self.context.watch.interrupted().then(|| "interrupted".to_owned());
        interrupted.or_else(|| pause::reason(self.context.store.dir(), self.job))
    }

    fn alarm(&self, reason: &str) -> std::io::Result<()> {
        pause::alarm(self.context.store.dir(), self.context.clock, reason)
    }
}
