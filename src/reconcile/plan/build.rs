//! From source and service to what a run would do.

use std::collections::{BTreeMap, BTreeSet};

use super::{notes, segments};
use crate::config::{Job, Mode};
use crate::mapping::Mapping;
use crate::mirror::Mirror;
use crate::plan::{Base, Change, Guarded, Held, Judged as _, Outline, Present, Rules, guard};
use crate::queue::{self, State};
use crate::reconcile::approval::{held, outdated};
use crate::reconcile::collect::collector::Collector;
use crate::reconcile::collect::fingerprint;
use crate::reconcile::correlate::classify::{Remember, classify, strange};
use crate::reconcile::correlate::correlator::{CorrelationContext, Presence};
use crate::reconcile::correlate::references::References;
use crate::reconcile::leavers::detect::{LeaverPolicy, Leavers, left_lately};
use crate::reconcile::leavers::job_transfers::JobTransfers;
use crate::reconcile::leavers::memberships::Memberships;
use crate::reconcile::leavers::organization_transfers::NewMemberships;
use crate::reconcile::leavers::{job_limit, missing_limit};
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::candidate::{Candidate, Digests, Statement};
use crate::reconcile::model::change_spill::ChangeSpill;
use crate::reconcile::model::context::{Context, KeyFilter, Stage};
use crate::reconcile::model::doubtful_rows::DoubtfulRows;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_fields::{leaver_set, protection, written};
use crate::reconcile::model::job_plan::{JobPlan, ON_SITE};
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::missing_people::Missing;
use crate::reconcile::model::state_updates::StateUpdates;
use crate::reconcile::restored_state;
use crate::record::{Action, Field, JobName, Key, Target};
use crate::snapshot::{Index, SyncedRecord};
use crate::store::Store;
use crate::text::thousands;

/// Why a person stays although a row says that they are gone.
const DOUBTFUL: &str = "the row that says that this key is gone names another person than the one it belongs to; were columns sorted \
                        apart, or is the key mistyped? approve it if they are gone";

/// Works out what a run of one part of a job would do, `earlier` being the parts that were worked out before. `remember`
/// takes what was found to need nothing.
pub(crate) fn build_plan(
    context: &Context<'_>,
    job: &Job,
    mapping: &Mapping,
    mirrors: &Mirrors,
    narrow: &KeyFilter,
    earlier: &[JobPlan],
    remember: &mut Remember<'_>,
) -> Result<JobPlan, Error> {
    let store = context.store;
    let target = job.mapping.target;
    let mirror = mirrors.of(target);
    let state = JobState::load(store, &job.name)?;
    let index = Index::load(store, &job.name)?;
    let dirty: BTreeSet<usize> = index.by_ids(mirror.changed()).into_iter().collect();
    context.watch.stage(&job.name, Stage::Reading);
    let pile = ChangeSpill::new(store.dir(), &job.match_on, job.source.has_lines());
    let mut gathered = Collector::new(&index, &pile)
        .read(context, job, mapping, &dirty, state.found.as_ref(), narrow)?
        .settle(job, store)?;
    let doubt = state.shown.judge(&mut gathered, &index);
    let mapped: Vec<Field> = mapping.fields().cloned().collect();
    let set = leaver_set(job);
    let stamp = fingerprint::of_mapping(job, mapping);
    let mapping_changed = !state.mapping.is_empty() && state.mapping != stamp;
    let asked = gathered.candidates.iter().filter(|one| narrow.has(&one.key)).count() as u64;
    let records = if narrow.is_narrow() { asked } else { gathered.unchanged + asked };
    let asked_for = gathered.candidates.iter().filter(|one| narrow.has(&one.key));
    let bad_values = asked_for.flat_map(Candidate::bad_values).cloned().collect();
    let outdated::Decisions { verdicts, outdated } =
        outdated::decided(job, &written(job, mapping), mirror, store, narrow)?;
    let there = |key: &Key| index.by_key(key.as_str()).is_some_and(|at| gathered.present.has(at));
    let mut prepared = JobPlan {
        job: job.name.clone(),
        target,
        complete: false,
        incomplete: gathered.read.incomplete().to_vec(),
        doubt: doubt.reason,
        records,
        unchanged: if narrow.is_narrow() { 0 } else { gathered.unchanged },
        matched_by: BTreeMap::new(),
        rows: if job.inbox.is_some() { gathered.rows(&index) } else { Vec::new() },
        inbox: None,
        rejected: gathered.rejected.clone(),
        bad_values,
        missed: Vec::new(),
        missing: None,
        names: BTreeMap::new(),
        go: Vec::new(),
        held: Vec::new(),
        waits: BTreeMap::new(),
        dropped: Vec::new(),
        pile,
        hold: None,
        protected: Vec::new(),
        moving: Vec::new(),
        drift: BTreeMap::new(),
        notes: Vec::new(),
        fields: written(job, mapping),
        updates: StateUpdates {
            mapping: stamp,
            mapping_settled: true,
            copies: None,
            file: Some(gathered.read.found.clone()),
            shown: doubt.next,
            content: format!("{:032x}", gathered.read.content),
            found: BTreeMap::new(),
            settled: Vec::new(),
            digests: Digests::default(),
            due: gathered.candidates.iter().filter_map(|one| Some((one.key.clone(), one.due()?))).collect(),
            gone: None,
            waiting: Vec::new(),
            forgotten: Vec::new(),
            matched: Vec::new(),
            standing: BTreeSet::new(),
            there: verdicts.keys().filter(|key| there(key)).cloned().collect(),
            verdicts,
            remote: BTreeMap::new(),
            outdated,
            judged_all: false,
            unknown: BTreeSet::new(),
            base: Base::default(),
            updated: BTreeSet::new(),
            claimed: BTreeSet::new(),
            doubts: DoubtfulRows::default(),
        },
    };
    prepared.updates.unknown = narrow.unknown(&gathered, &index);
    prepared.notes.extend(
        prepared
            .updates
            .unknown
            .iter()
            .map(|key| format!("no row of the source that is included has key {key}, and the job never knew it")),
    );
    if records < job.limits.min_records && !narrow.is_narrow() {
        let least = job.limits.min_records;
        let hold = format!(
            "min_records: the source holds {records} records and at least {least} are expected; nothing is taken from it"
        );
        prepared.hold = Some(hold.into());
        return Ok(prepared);
    }
    prepared.notes.extend(gathered.read.notes.iter().cloned().chain(doubt.note));
    let content = prepared.updates.content.clone();
    let seen = gathered.present.clone();
    let jobs: Vec<JobName> = context.config.parts().map(|job| job.name.clone()).collect();
    let resolver = References::new(job, store, mirrors, earlier)?;
    let resolver = &resolver;
    let pile = &prepared.pile;
    let missed: Vec<usize> = match job.mode {
        Mode::Changes => Vec::new(),
        Mode::Full => unseen(&index, &seen, &gathered.left),
    };
    let mut strays = gathered.strays;
    let unsure = |_: &Key| Presence::Unknown;
    let mut identity = CorrelationContext {
        job: &job.name,
        jobs: &jobs,
        store,
        mirror,
        index: &index,
        pile,
        resolver,
        presence: &unsure,
        doubts: (target == Target::Membership)
            .then(|| earlier.iter().find(|part| part.job == job.name.root()).map(|own| &own.updates.doubts))
            .flatten(),
        missed: &missed,
    };
    if !missed.is_empty() {
        strays.unknown.extend(strange(job, &mapped, &gathered.candidates, &identity)?);
    }
    let complete = gathered.read.finish(gathered.present, strays.doubts());
    // A narrowed run and a file of changes say nothing about those who are not in them (law 7).
    let sees_all = complete.is_ok() && !narrow.is_narrow() && job.mode != Mode::Changes;
    let presence = |key: &Key| match index.by_key(key.as_str()) {
        Some(at) if seen.has(at) => Presence::Seen,
        Some(_) if sees_all => Presence::Absent,
        _ => Presence::Unknown,
    };
    identity.presence = &presence;
    let rules = Rules { target, fields: &mapped, seed_only: &job.seed_only, on_drift: job.on_drift };
    let stood = classify(job, &state, rules, &gathered.candidates, narrow, &identity, remember)?;
    let mut departed = Leavers::default();
    let protection = protection(context);
    let now = context.clock.now();
    let is_whole = !narrow.is_narrow();
    let begun = if is_whole {
        NewMemberships::of(job, &index, &gathered.candidates, &stood, pile)?
    } else {
        NewMemberships::default()
    };
    let members = Memberships::of(context.config, job, earlier, &begun, (&index, &seen));
    let judge =
        LeaverPolicy { job, store, mirror, now, claimed: &stood.claimed, protection: &protection, set: &set, members };
    if is_whole {
        judge.stated_leavers(&gathered.left, &mut departed)?;
    }
    let returned = returned(job, &index, &seen, &stood.settled, store)?;
    match &complete {
        Ok(present) => {
            prepared.complete = prepared.doubt.is_none();
            prepared.updates.judged_all = sees_all;
            prepared.updates.gone = sees_all.then(|| gone(&index, &seen, &gathered.left));
            if is_whole {
                judge.absent_leavers(&index, present, &content, &gathered.left, &mut departed)?;
            }
        }
        Err(reasons) => prepared.incomplete.clone_from(reasons),
    }
    let (lately, staying) = left_lately(store, target, &job.name, &index, now)?;
    let known = (index.len() as u64).saturating_sub(staying);
    let matched = (stood.matched.len() as u64).saturating_sub(stood.rekeyed);
    let base = Base { known, matched, removed: lately.len() as u64 };
    let mut too_many = missing_limit::judge(&judge, &departed, &job.limits, known, &prepared.updates.verdicts)?;
    if !prepared.complete && is_whole {
        judge.missed_before(&index, &missed, &mut departed)?;
    }
    missing_limit::let_stay(&mut departed.missed, &too_many.decided, &prepared.updates.verdicts);
    let summary = Missing::of(&departed.missed, known, &judge, &too_many);
    let moving = JobTransfers::take(context, job, mirror, &mut departed.changes)?;
    let leavers = departed.changes.into_iter().map(|change| pile.put(change)).collect::<Result<Vec<_>, _>>()?;
    let mut changes = stood.changes;
    changes.splice(0..0, leavers);
    let absent = begun.with_absent(job, &index, &missed, &gathered.left, store)?;
    begun.note(&mut changes, &departed.ended, &absent);
    prepared.updates.updated = job_limit::updated(job, &changes, &prepared.updates.verdicts);
    prepared.updates.base = base;
    let (undecided, standing) = held::decided(stood.held, job.writes, &prepared.updates.verdicts);
    prepared.updates.standing = standing;
    prepared.updates.standing.extend(too_many.decided);
    let early = too_many.held.take();
    let early_reason = early.as_ref().map(|(_, reason)| reason.clone());
    let mut held_before = hold(early, pile)?;
    let doubtful =
        (!departed.doubtful.is_empty()).then(|| (std::mem::take(&mut departed.doubtful), DOUBTFUL.to_owned()));
    let (doubtful, _) = held::decided(hold(doubtful, pile)?, job.writes, &prepared.updates.verdicts);
    held_before.extend(doubtful.held);
    let mut guarded = guard(changes, &job.limits, base, job.writes, &prepared.updates.verdicts);
    segments::guard(&mut guarded, job, store, &stood.matched_in, &lately)?;
    if let Some(reason) = early_reason {
        missing_limit::hold_due(&mut guarded, &too_many.due, &reason);
    }
    guarded.go.extend(undecided.go);
    guarded.go.extend(doubtful.go);
    guarded.rejected.extend(doubtful.rejected);
    guarded.held.extend(held_before);
    if mapping_changed {
        let altered = guarded.go.iter().filter(|change| !change.is_approved()).count() + guarded.held.len();
        let people = if altered == 1 { "1 person".to_owned() } else { format!("{} people", thousands(altered)) };
        held::hold_all(&mut guarded, &format!("the mapping change alters {people}"));
        prepared.updates.mapping_settled = altered == 0;
        prepared.notes.push(
            "the job's mapping, key, match_on or directory (bind_dn, base, filter) changed since its last run"
                .to_owned(),
        );
    }
    let copies = restored_state::copies(store)?;
    let undoing =
        if copies > state.copies { restored_state::hold(&mut guarded, job, store, mirror, &mapped)? } else { 0 };
    prepared.updates.copies = (undoing == 0).then_some(copies);
    prepared.notes.extend((undoing > 0).then(|| restored_state::LAID_BACK.to_owned()));
    if let Some(doubt) = job.inbox.as_ref().and_then(|inbox| inbox.doubt.as_ref()) {
        held::hold_all(&mut guarded, doubt);
        // What is held says why.
        prepared.notes.extend(guarded.held.is_empty().then(|| doubt.clone()));
    }
    guarded.held.splice(0..0, undecided.held);
    outdated::hold_outdated(&mut guarded, &prepared.updates.outdated);
    let Guarded { go, held, rejected } = guarded;
    prepared.unchanged += stood.settled.len() as u64;
    prepared.matched_by = stood.matched_by;
    prepared.rejected.extend(stood.rejected.iter().cloned());
    prepared.bad_values.extend(stood.bad_values);
    prepared.bad_values.sort_by_key(|bad| bad.line);
    prepared.rejected.sort_by_key(|rejected| rejected.line);
    prepared.records = prepared.records.saturating_sub(stood.rejected.len() as u64);
    prepared.go = go;
    let no_change = |held: Held| Held { key: held.key, reason: held.reason, change: None, other: None };
    prepared.held = held;
    prepared.held.extend(departed.held.into_iter().map(no_change));
    prepared.protected = departed.protected;
    prepared.missing = summary;
    prepared.missed = departed.missed;
    prepared.names = departed.names;
    prepared.updates.claimed = departed.claimed;
    let unusable = prepared.rejected.iter().filter_map(|row| Some((row.key.clone()?, row.reason.clone())));
    // Who was approved to be the same person is doubted no more.
    let approved: BTreeSet<&Key> = prepared.go.iter().map(|change| &change.key).collect();
    let held = stood.doubtful.into_iter().filter(|(key, _)| !approved.contains(key)).collect();
    prepared.updates.doubts = DoubtfulRows { held, rejected: unusable.collect() };
    prepared.notes.extend(too_many.note);
    prepared.moving = moving.waits;
    prepared.notes.extend(moving.notes);
    prepared.notes.extend(notes::note(&stood.drift));
    prepared.notes.extend(notes::lent_notes(&stood.lent));
    prepared.notes.extend(notes::photos_note(&stood.photos_left));
    let always = prepared.bad_values.iter().filter_map(|bad| bad.key.clone()).chain(stood.photos_left).collect();
    prepared.updates.digests = Digests::of(gathered.candidates, narrow, always);
    prepared.drift = stood.drift;
    prepared.dropped = rejected;
    prepared.dropped.extend(undecided.rejected);
    prepared.updates.settled = stood.settled;
    prepared.updates.waiting = departed.waiting;
    prepared.updates.waiting.extend(returned);
    prepared.updates.forgotten = departed.forgotten;
    prepared.updates.matched = stood.matched;
    prepared.updates.found = stood.found;
    prepared.waits = waits(&prepared, &job.name, mirror, store)?;
    Ok(prepared)
}

/// Changes that wait for a reason of their own.
fn hold(changes: Option<(Vec<Change>, String)>, pile: &ChangeSpill) -> Result<Vec<Held<Outline>>, Error> {
    let Some((changes, reason)) = changes else { return Ok(Vec::new()) };
    let reason = reason.into();
    changes.into_iter().map(|change| Ok(Held::change(pile.put(change)?, &reason))).collect()
}

/// The positions of the keys that no row has, and of which no row says that they are gone.
fn unseen(index: &Index, seen: &Present, left: &BTreeMap<Key, Statement>) -> Vec<usize> {
    let says_so =
        |at: usize| !left.is_empty() && Key::new(index.entry(at).key).is_some_and(|key| left.contains_key(&key));
    (0..index.len()).filter(|at| !seen.has(*at) && !says_so(*at)).collect()
}

/// The known keys that a complete read says are gone.
fn gone(index: &Index, seen: &Present, left: &BTreeMap<Key, Statement>) -> BTreeSet<Key> {
    let missing = (0..index.len()).filter(|at| !seen.has(*at)).filter_map(|at| Key::new(index.entry(at).key));
    missing.chain(left.keys().cloned()).collect()
}

/// Keys that had been absent from complete reads and are in this one: their leaver grace starts over. Records that need
/// nothing are stored as they are now anyway.
fn returned(
    job: &Job,
    index: &Index,
    seen: &Present,
    settled: &[(Key, u128)],
    store: &Store,
) -> Result<Vec<(Key, SyncedRecord)>, Error> {
    let is_settled = |key: &Key| settled.binary_search_by(|(settled, _)| settled.cmp(key)).is_ok();
    let mut returned = Vec::new();
    for at in (0..index.len()).filter(|at| index.entry(*at).gone && seen.has(*at)) {
        let Some(key) = Key::new(index.entry(at).key).filter(|key| !is_settled(key)) else { continue };
        if let Some(known) = SyncedRecord::get(store, &job.name, &key)? {
            returned.push((key, SyncedRecord { gone: None, ..known }));
        }
    }
    Ok(returned)
}

/// What waits for something else than an approval.
fn waits(prepared: &JobPlan, job: &JobName, mirror: &Mirror, store: &Store) -> Result<BTreeMap<Key, String>, Error> {
    let mut waits = BTreeMap::new();
    for change in prepared.go.iter().filter(|change| change.action == Action::Delete) {
        let entity = change.id.map(|id| mirror.get(store, id)).transpose()?.flatten();
        if entity.is_some_and(|entity| entity.value("onsite_status").as_text() == Some("onsite")) {
            waits.insert(change.key.clone(), ON_SITE.to_owned());
        }
    }
    let mut refused = BTreeMap::new();
    queue::briefs_but_waiting(store, job, |old| {
        // What was parked before it was sent, and what was released since, is tried again.
        if let State::Parked { status, words } = old.state
            && status > 0
        {
            refused.insert(old.key, words);
        }
    })?;
    for change in prepared.go.iter().filter(|_| !refused.is_empty()) {
        if let Some(words) = refused.get(&change.key)
            && let Some(old) = queue::get(store, job, &change.key)?
            && old.wish.digest() == change.wish()
            && (!change.is_approved() || old.approved)
        {
            waits.insert(change.key.clone(), format!("parked, since the service refused it: {words}"));
        }
    }
    Ok(waits)
}
