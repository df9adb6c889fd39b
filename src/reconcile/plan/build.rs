//! From source and service to what a run would do.

use std::collections::{BTreeMap, BTreeSet};

use super::{notes, segments};
use crate::config::{Job, Mode};
use crate::mirror::Mirror;
use crate::plan::{Base, Change, Deltas, Guarded, Held, HoldReason, Judged as _, Outline, Present, Rules, guard};
use crate::queue::{self, State};
use crate::reconcile::approval::{held, outdated, remote_digest};
use crate::reconcile::collect::collector::{CollectedRows, Collector};
use crate::reconcile::collect::replica_lag::ReplicaLag;
use crate::reconcile::collect::{fingerprint, lookups, rows};
use crate::reconcile::correlate::classify::{Classified, Remember, classify, strange};
use crate::reconcile::correlate::correlator::{CorrelationContext, RowPresence};
use crate::reconcile::correlate::references::{References, orphans};
use crate::reconcile::leavers::detect::{LeaverDetector, Leavers, left_lately};
use crate::reconcile::leavers::job_transfers::JobTransfers;
use crate::reconcile::leavers::memberships::{Memberships, still_joined};
use crate::reconcile::leavers::missing_limit::LimitResult;
use crate::reconcile::leavers::organization_transfers::NewMemberships;
use crate::reconcile::leavers::{job_limit, missing_limit};
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::candidate::{Candidate, Digests};
use crate::reconcile::model::change_spill::ChangeSpill;
use crate::reconcile::model::context::{Context, KeyFilter, Stage};
use crate::reconcile::model::doubtful_rows::DoubtfulRows;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_fields::{leaver_set, protection, written};
use crate::reconcile::model::job_plan::{Block, JobPlan};
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::missing_people::Missing;
use crate::reconcile::model::part_draft::{PartDraft, PartResults};
use crate::reconcile::model::state_updates::{RowIs, StateUpdates};
use crate::reconcile::restored_state;
use crate::record::{Action, Field, JobName, Key, Rejected, RowMetadata, Target};
use crate::snapshot::{Index, SyncedRecord};
use crate::source::Complete;
use crate::source::inbox::Reads;
use crate::store::Store;

/// What a run says whose mapping is another one.
const MAPPING_CHANGED: &str = "the job's mapping, key, match_on, lookups or what its source is asked for (address, account, tenant, groups, base, filter) \
     changed since its last run";
/// Why a person stays although an entry of a directory, or a user of a tenant, says that they are gone.
const DOUBTFUL_ENTRY: &str = "the entry that says that this key is gone names another person than the one it belongs to, or no one; may the \
                              account still read who it is? approve it if they are gone";

/// What the plan of one part of a job is made from.
#[derive(Clone, Copy)]
pub(crate) struct JobContext<'a> {
    pub(crate) context: &'a Context<'a>,
    /// The part.
    pub(crate) job: &'a Job,
    pub(crate) mirrors: &'a Mirrors,
    /// The keys that are asked for.
    pub(crate) filter: &'a KeyFilter,
    /// What the parts before it came to.
    pub(crate) earlier: &'a [PartDraft],
    /// Whether a narrowed look says what the next whole run would do: then it believes absences as that would. A narrowed
    /// run believes none (law 7).
    pub(crate) looks_ahead: bool,
}

/// Of what a plan digests what the service holds, so that a later run sees whether it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digested {
    Nothing,
    /// Of those whose changes are held.
    Held,
    /// Of all people that it changes.
    All,
}

/// The plan of a part alone, to look at.
pub(crate) fn preview_plan(part: JobContext<'_>) -> Result<JobPlan, Error> {
    let draft = draft_plan(part, &mut |_, _| Ok(()))?;
    finish_plan(draft, part.mirrors, part.context.store, Digested::Nothing)
}

/// The plan of a part on which all limits were put.
pub(crate) fn finish_plan(
    draft: PartDraft,
    mirrors: &Mirrors,
    store: &Store,
    digested: Digested,
) -> Result<JobPlan, Error> {
    let PartDraft { changes: Guarded { go, held, rejected: dropped }, rest, .. } = draft;
    let mirror = mirrors.of(rest.target);
    let waits = waits(&go, &rest.job, mirror, store)?;
    let to_digest: Vec<&Outline> = match digested {
        Digested::Nothing => Vec::new(),
        Digested::Held => held.iter().filter_map(|held| held.change.as_ref()).collect(),
        Digested::All => held.iter().filter_map(|held| held.change.as_ref()).chain(&go).collect(),
    };
    let remote = remote_digest::remotes(&rest.fields, to_digest, mirror, store)?;
    Ok(JobPlan { go, held, dropped, waits, updates: StateUpdates { remote, ..rest.updates }, ..rest })
}

/// Works out what a run of one part of a job would do, before the limits on the whole job; `remember` takes what was
/// found to need nothing.
pub(crate) fn draft_plan(part: JobContext<'_>, remember: &mut Remember<'_>) -> Result<PartDraft, Error> {
    let inputs = Inputs::read(part)?;
    if let Some(block) = inputs.too_few_records() {
        let plan = inputs.into_plan(BTreeSet::new())?;
        return Ok(PartDraft::without_changes(JobPlan { blocked: vec![block], ..plan }));
    }
    let (attendance, mut classified) = inputs.correlate(remember)?;
    let mut leaving = inputs.find_leavers(&attendance, &classified)?;
    let judgement = inputs.judge(&mut classified, &mut leaving)?;
    inputs.assemble(attendance, classified, leaving, judgement)
}

/// The state of a part of a job, and the rows of its source.
struct Inputs<'a> {
    part: JobContext<'a>,
    state: JobState,
    index: Index,
    /// The fields that the job maps.
    mapped: Vec<Field>,
    /// Those, and the ones that it sets in leavers.
    written: Vec<Field>,
    fingerprint: String,
    /// By field: the lookup of which nothing is known in this read.
    withheld: BTreeMap<String, String>,
    /// What the run says of them.
    lost: Vec<String>,
    spill: ChangeSpill,
    rows: CollectedRows,
    /// How many rows say that someone, or one of their memberships, is gone.
    statements: u64,
    lag: ReplicaLag,
    decisions: outdated::Decisions,
}

/// What a read proves of those who are not in it.
struct Attendance {
    /// Positions of known keys that no row has, and of which no row says that they are gone; none in a file of changes.
    missed: Vec<usize>,
    /// Who is there, where that proves the rest absent; or why it does not.
    complete: Result<Complete<Present>, Vec<String>>,
    /// Whether everybody is judged: a narrowed run and a file of changes say nothing about those who are not in them
    /// (law 7).
    sees_all: bool,
}

/// Who leaves, and the limits on that.
struct Leaving {
    leavers: Leavers,
    transfers: JobTransfers,
    /// Memberships that begin, and the members of those who lose another one.
    begun: NewMemberships,
    with_absent: BTreeSet<Key>,
    limit: LimitResult,
    missing: Option<Missing>,
    base: Base,
    /// Those who left in the last 24 hours.
    lately: Vec<RowMetadata>,
}

/// What became of all changes under the limits.
struct Judgement {
    guarded: Guarded<Outline>,
    /// Keys with a verdict that counts though another change is held now.
    in_force: BTreeSet<Key>,
    /// People that the part would change and that no person decided on.
    updated: BTreeSet<Key>,
    mapping_settled: bool,
    /// How many copies of the state were laid back so far, and for the last one the people for which the service held something newer.
    copies: (u64, BTreeMap<Key, SyncedRecord>),
    notes: Vec<String>,
}

impl<'a> Inputs<'a> {
    /// Reads the state and the source of a part.
    fn read(part: JobContext<'a>) -> Result<Self, Error> {
        let JobContext { context, job, filter, .. } = part;
        let store = context.store;
        let mapping = rows::mapping(job);
        let state = JobState::load(store, &job.name)?;
        let index = Index::load(store, &job.name)?;
        let mirror = part.mirrors.of(job.mapping.target);
        let mut dirty: BTreeSet<usize> = index.by_ids(mirror.changed()).into_iter().collect();
        dirty.extend(index.by_ids(&orphans(part.mirrors, store, job.mapping.target)?));
        context.watch.stage(&job.name, Stage::Reading);
        let spill = ChangeSpill::new(store.home().spill_dir(), &job.match_on, job.source.has_lines());
        let mut rows = Collector::new(job, filter, &index, &spill)
            .read(context, &mapping, &dirty, state.found.as_ref())?
            .resolve_duplicates(store)?;
        let statements = rows.left.len() as u64;
        let joined = still_joined(context, job, &rows.left)?;
        rows.left.retain(|key, _| !joined.contains(key));
        let lag = state.shown.judge(&mut rows, &index);
        let written = written(job, &mapping);
        let decisions = outdated::decided(job, &written, mirror, store, filter)?;
        let lost = &rows.read.lost;
        let (withheld, lost) = (lookups::withheld(&mapping, lost), lookups::reasons(&mapping, lost));
        let (mapped, fingerprint) = (mapping.fields().cloned().collect(), fingerprint::of_mapping(job, &mapping));
        Ok(Self {
            part,
            state,
            index,
            mapped,
            written,
            fingerprint,
            withheld,
            lost,
            spill,
            rows,
            statements,
            lag,
            decisions,
        })
    }

    fn job(&self) -> &'a Job {
        self.part.job
    }

    fn store(&self) -> &'a Store {
        self.part.context.store
    }

    fn mirror(&self) -> &'a Mirror {
        self.part.mirrors.of(self.job().mapping.target)
    }

    fn is_whole(&self) -> bool {
        !self.part.filter.is_narrow()
    }

    /// The records that are asked for and are new or changed.
    fn asked(&self) -> impl Iterator<Item = &Candidate> {
        self.rows.candidates.iter().filter(|one| self.part.filter.has(&one.key))
    }

    /// The records whose rows did not change.
    fn unchanged(&self) -> u64 {
        if self.is_whole() { self.rows.unchanged } else { 0 }
    }

    fn records(&self) -> u64 {
        let is_read = |one: &&Candidate| !self.rows.earlier.contains(&one.key);
        self.unchanged() + self.asked().filter(is_read).count() as u64
    }

    /// Why nothing is taken from a source that is too short.
    fn too_few_records(&self) -> Option<Block> {
        // A row of a file of changes that says that its person is gone is what such a file is for.
        let left = if self.job().mode == Mode::Changes { self.statements } else { 0 };
        let (records, least) = (self.records() + left, self.job().limits.min_records);
        (self.is_whole() && records < least).then_some(Block::TooFewRecords { records, least })
    }

    /// Correlates the records, and finds out what they need and who is missing.
    fn correlate(&self, remember: &mut Remember<'_>) -> Result<(Attendance, Classified), Error> {
        let (job, rows) = (self.job(), &self.rows);
        let missed = match job.mode {
            Mode::Changes => Vec::new(),
            Mode::Full => self.unseen(),
        };
        let jobs: Vec<JobName> = self.part.context.config.parts().map(|job| job.name.clone()).collect();
        let resolver = References::new(job, self.store(), self.part.mirrors, self.part.earlier)?;
        let unsure = |_: &Key| RowPresence::Unknown;
        let own = self.part.earlier.iter().find(|part| *part.job() == job.name.root());
        let is_of_members = job.mapping.target == Target::Membership;
        let organizations =
            self.part.earlier.iter().find(|part| is_of_members && part.target() == Target::Organization);
        let identity = CorrelationContext {
            job,
            rules: Rules {
                target: job.mapping.target,
                fields: &self.mapped,
                seed_only: &job.seed_only,
                on_drift: job.on_drift,
            },
            candidates: &rows.candidates,
            jobs: &jobs,
            store: self.store(),
            mirror: self.mirror(),
            index: &self.index,
            spill: &self.spill,
            resolver: &resolver,
            withheld: &self.withheld,
            presence: &unsure,
            doubts: own.map(|own| &own.results.doubts).filter(|_| job.mapping.target == Target::Membership),
            doubted_organizations: organizations.map(|part| &part.results.doubts),
            missed: &missed,
            now: self.part.context.clock.now(),
        };
        let mut strays = rows.strays.clone();
        if !missed.is_empty() {
            strays.unknown.extend(strange(&identity)?);
        }
        let complete = rows.read.clone().finish(rows.present.clone(), strays.doubts());
        let proves_absence = complete.is_ok() && job.mode != Mode::Changes;
        let sees_all = proves_absence && self.is_whole() && !self.is_superseded();
        let presence = |key: &Key| match self.index.by_key(key.as_str()) {
            Some(at) if rows.present.has(at) => RowPresence::Seen,
            Some(_) if sees_all || (proves_absence && self.part.looks_ahead) => RowPresence::Absent,
            _ => RowPresence::Unknown,
        };
        let identity = CorrelationContext { presence: &presence, ..identity };
        let classified = classify(&identity, &self.state, self.part.filter, remember)?;
        Ok((Attendance { missed, complete, sees_all }, classified))
    }

    /// Judges those who are gone, or missing.
    fn find_leavers(&self, attendance: &Attendance, classified: &Classified) -> Result<Leaving, Error> {
        let JobContext { context, job, .. } = self.part;
        let (store, index, rows) = (context.store, &self.index, &self.rows);
        let mut leavers = Leavers::default();
        let (protection, set, now) = (protection(context), leaver_set(job), context.now_for_leavers());
        let begun = NewMemberships::of(job, index, &rows.candidates, classified, &self.spill)?;
        let detector = LeaverDetector {
            job,
            store,
            mirror: self.mirror(),
            index,
            now,
            claimed: &classified.claimed,
            protection: &protection,
            set: &set,
            members: Memberships::of(
                context,
                job,
                self.part.mirrors,
                self.part.earlier,
                &begun,
                (index, &rows.present),
            ),
        };
        let judges = self.is_whole() && !self.is_superseded();
        if judges {
            detector.stated_leavers(&rows.left, &mut leavers)?;
        }
        if let Some(present) = attendance.complete.as_ref().ok().filter(|_| judges) {
            detector.absent_leavers(present, &self.content(), &rows.left, &mut leavers)?;
        }
        let (base, lately) = left_lately(store, job.mapping.target, &job.name, index, now)?;
        let matched = (classified.matched.len() as u64).saturating_sub(classified.rekeyed);
        let (base, known) = (Base { matched, ..base }, base.known + matched);
        let verdicts = &self.decisions.verdicts;
        let limit = missing_limit::judge(&detector, &leavers, &job.limits, known, verdicts)?;
        if self.is_whole() && !self.is_complete(attendance) {
            detector.missed_before(&attendance.missed, &mut leavers)?;
        }
        missing_limit::let_stay(&mut leavers.missed, &limit.decided, verdicts);
        let missing = Missing::of(&leavers.missed, known, &detector, &limit);
        // What an earlier file of changes said is looked at once more: another list may have them by now.
        let carried = self.carried_removals()?;
        leavers.changes.extend(carried.iter().cloned());
        let mut transfers = JobTransfers::take(context, job, self.mirror(), &mut leavers.changes)?;
        leavers.changes.retain(|change| !carried.iter().any(|carried| carried.key == change.key));
        if judges && attendance.complete.is_ok() {
            transfers.let_go(context, job, self.mirror(), &|key| !self.is_present(key))?;
        }
        leavers.forgotten.extend(transfers.handed_over.iter().cloned());
        let absent = attendance.missed.iter().filter_map(|at| self.key(*at)).chain(rows.left.keys().cloned());
        let with_absent = begun.with_absent(store, &job.name, absent)?;
        Ok(Leaving { leavers, transfers, begun, with_absent, limit, missing, base, lately })
    }

    /// The removals that wait from earlier files of changes, and of which this one says nothing.
    fn carried_removals(&self) -> Result<Vec<Change>, Error> {
        let (job, store) = (self.job(), self.store());
        let mut carried = Vec::new();
        if job.mode == Mode::Full {
            return Ok(carried);
        }
        let mut keys = Vec::new();
        queue::briefs(store, &job.name, |change| {
            let waits = change.action == Action::Delete && !change.undoes && change.state == State::Waiting;
            keys.extend(waits.then_some(change.key));
        })?;
        let rows = &self.rows;
        keys.retain(|key| !rows.left.contains_key(key) && !self.is_present(key) && self.part.filter.has(key));
        for waiting in queue::of(store, &job.name, &keys)? {
            let queue::Change { key, wish, marks, approved, .. } = waiting;
            carried.push(Change { key, wish, fields: Deltas::new(), line: None, known: true, approved, marks });
        }
        Ok(carried)
    }

    /// Whether the read has a row of a known key.
    fn is_present(&self, key: &Key) -> bool {
        self.index.by_key(key.as_str()).is_some_and(|at| self.rows.present.has(at))
    }

    /// Whether another file waits after the one that is read: no one leaves by this one.
    fn is_superseded(&self) -> bool {
        self.job().inbox.as_ref().is_some_and(|inbox| inbox.reads == Reads::Earlier)
    }

    /// Whether the read proves who is absent, and its server can be believed.
    fn is_complete(&self, attendance: &Attendance) -> bool {
        attendance.complete.is_ok() && self.lag.reason.is_none()
    }

    /// The digest of the source's content.
    fn content(&self) -> String {
        format!("{:032x}", self.rows.read.content)
    }

    /// Puts the limits on changes; `released` are those among what was held before that a person approved.
    fn guard(
        &self,
        changes: Vec<Outline>,
        released: Vec<Outline>,
        leaving: &mut Leaving,
        matched_in: &BTreeMap<Key, String>,
    ) -> Result<Guarded<Outline>, Error> {
        let (job, verdicts) = (self.job(), &self.decisions.verdicts);
        let early = leaving.limit.held.take();
        let doubtful = std::mem::take(&mut leaving.leavers.doubtful);
        let reason = if job.source.has_lines() { HoldReason::DoubtfulRow } else { DOUBTFUL_ENTRY.into() };
        let doubtful = self.hold(doubtful, &reason)?;
        let (doubtful, _) = held::decided(doubtful, job.writes, verdicts, &self.decisions.unasked);
        let mut guarded = guard(changes, &job.limits, leaving.base, job.writes, verdicts);
        segments::guard(&mut guarded, job, self.store(), matched_in, &leaving.lately)?;
        if let Some((changes, reason)) = early {
            guarded.hold_leavers(&leaving.limit.due, &reason);
            guarded.held.extend(self.hold(changes, &reason)?);
        }
        guarded.held.extend(doubtful.held);
        guarded.go.extend(released);
        guarded.go.extend(doubtful.go);
        guarded.rejected.extend(doubtful.rejected);
        Ok(guarded)
    }

    /// Changes that wait for a reason of their own.
    fn hold(&self, changes: Vec<Change>, reason: &HoldReason) -> Result<Vec<Held<Outline>>, Error> {
        changes.into_iter().map(|change| Ok(Held::change(self.spill.put(change)?, reason))).collect()
    }

    /// Holds what is not to be believed though it passed the limits: a mapping that changed, a state that was laid back, a
    /// file that may be old.
    fn suspect(&self, judgement: &mut Judgement) -> Result<(), Error> {
        let (job, Judgement { guarded, mapping_settled, copies: (copies, overtaken), notes, .. }) =
            (self.job(), judgement);
        if !self.state.mapping.is_empty() && self.state.mapping != self.fingerprint {
            let altered = guarded.go.iter().filter(|change| !change.is_approved()).count() + guarded.held.len();
            held::hold_all(guarded, &HoldReason::MappingChanged { people: altered });
            // A read that says of no one that they leave does not show who the mapping would remove.
            let reads = job.inbox.as_ref().map(|inbox| inbox.reads).unwrap_or_default();
            *mapping_settled = altered == 0 && reads == Reads::Last;
            notes.push(MAPPING_CHANGED.to_owned());
        }
        let found = restored_state::copies(self.store())?;
        let (store, mirror) = (self.store(), self.mirror());
        if found > self.state.copies {
            *overtaken = restored_state::overtaken(&self.index, job, store, mirror, &self.mapped)?;
        }
        *copies = found;
        let undoing = match found {
            0 => 0,
            _ => restored_state::hold(guarded, overtaken, job, store, mirror, &self.mapped)?,
        };
        notes.extend((undoing > 0).then(|| restored_state::LAID_BACK.to_owned()));
        if let Some(doubt) = job.inbox.as_ref().and_then(|inbox| inbox.doubt.as_ref()) {
            held::hold_all(guarded, &HoldReason::OlderExport(doubt.clone()));
            // What is held says why.
            notes.extend(guarded.held.is_empty().then(|| doubt.to_string()));
        }
        Ok(())
    }

    /// Puts the limits and what people decided on what the records need and on who leaves.
    fn judge(&self, classified: &mut Classified, leaving: &mut Leaving) -> Result<Judgement, Error> {
        let (job, verdicts) = (self.job(), &self.decisions.verdicts);
        // There are many changes on a first run, and few who leave.
        let mut changes = std::mem::take(&mut classified.changes);
        let leaving_now = std::mem::take(&mut leaving.leavers.changes).into_iter();
        let leaving_now = leaving_now.map(|change| self.spill.put(change)).collect::<Result<Vec<_>, _>>()?;
        changes.splice(0..0, leaving_now);
        leaving.begun.note(&mut changes, &leaving.leavers.ended, &leaving.with_absent);
        let updated = job_limit::updated(job, &changes, verdicts);
        let held = std::mem::take(&mut classified.held);
        let (undecided, mut in_force) = held::decided(held, job.writes, verdicts, &self.decisions.unasked);
        // Who they are is known now, which those who are joined to them need.
        if matches!(job.mapping.target, Target::Contractor | Target::Organization) {
            let released = undecided.go.iter().filter_map(|change| Some((change.key.clone(), change.id?)));
            classified.found.extend(released);
        }
        in_force.append(&mut leaving.limit.decided);
        let guarded = self.guard(changes, undecided.go, leaving, &classified.matched_in)?;
        let (mapping_settled, copies, notes) = (true, <_>::default(), Vec::new());
        let mut judgement = Judgement { guarded, in_force, updated, mapping_settled, copies, notes };
        self.suspect(&mut judgement)?;
        let guarded = &mut judgement.guarded;
        guarded.held.splice(0..0, undecided.held);
        outdated::hold_outdated(guarded, &self.decisions.outdated);
        let unset = std::mem::take(&mut leaving.leavers.held).into_iter();
        guarded.held.extend(unset.map(|held| Held { key: held.key, reason: held.reason, change: None, other: None }));
        guarded.rejected.extend(undecided.rejected);
        Ok(judgement)
    }

    /// The positions of the keys that no row has.
    fn without_row(&self) -> impl Iterator<Item = usize> {
        (0..self.index.len()).filter(|at| !self.rows.present.has(*at))
    }

    /// Those of which no row says that they are gone.
    fn unseen(&self) -> Vec<usize> {
        let left = &self.rows.left;
        let says_so = |at: usize| !left.is_empty() && self.key(at).is_some_and(|key| left.contains_key(&key));
        self.without_row().filter(|at| !says_so(*at)).collect()
    }

    /// The keys with a verdict that the read has a row of; and likewise those with a change that waits, where `all` are asked for.
    fn there(&self, all: bool) -> Result<BTreeMap<Key, RowIs>, Error> {
        let (store, name) = (self.store(), &self.job().name);
        let mut keys: BTreeSet<Key> = self.decisions.verdicts.keys().cloned().collect();
        if all {
            let mut note = |key| {
                keys.insert(key);
                Ok(())
            };
            held::HELD.each_id(store, name, &mut note)?;
            queue::QUEUE.each_id(store, name, &mut note)?;
        }
        let rejected: BTreeSet<&Key> = self.rows.rejected.iter().filter_map(|row| row.key.as_ref()).collect();
        let is_there = |key: &Key| {
            let is_early = || self.rows.early_keys().any(|early| early == key);
            self.is_present(key) || self.rows.left.contains_key(key) || is_early()
        };
        let row = |key: &Key| if rejected.contains(key) { RowIs::Rejected } else { RowIs::Usable };
        Ok(keys.into_iter().filter(is_there).map(|key| (key.clone(), row(&key))).collect())
    }

    /// Known keys that a complete read says are gone.
    fn gone(&self) -> BTreeSet<Key> {
        self.without_row().filter_map(|at| self.key(at)).chain(self.rows.left.keys().cloned()).collect()
    }

    fn key(&self, at: usize) -> Option<Key> {
        Key::new(self.index.entry(at).key)
    }

    /// Keys that had been absent from complete reads and are in this one: their leaver grace starts over. Records that
    /// need nothing are stored as they are now anyway.
    fn returned(&self, settled: &[(Key, u128)]) -> Result<Vec<(Key, SyncedRecord)>, Error> {
        let is_settled = |key: &Key| settled.binary_search_by(|(settled, _)| settled.cmp(key)).is_ok();
        let is_back = |at: &usize| self.index.entry(*at).gone && self.rows.present.has(*at);
        let mut returned = Vec::new();
        for key in (0..self.index.len()).filter(is_back).filter_map(|at| self.key(at)).filter(|key| !is_settled(key)) {
            if let Some(known) = SyncedRecord::get(self.store(), &self.job().name, &key)? {
                returned.push((key, SyncedRecord { gone: None, ..known }));
            }
        }
        Ok(returned)
    }

    /// Puts the plan together.
    fn assemble(
        self,
        attendance: Attendance,
        classified: Classified,
        leaving: Leaving,
        judgement: Judgement,
    ) -> Result<PartDraft, Error> {
        let Judgement { guarded: changes, in_force, updated, mapping_settled, copies, notes } = judgement;
        let (copies, mut overtaken) = copies;
        let Leaving { leavers, transfers, limit, missing, base, .. } = leaving;
        let returned = self.returned(&classified.settled)?;
        let stated = self.rows.left.keys().cloned().collect();
        let gone = attendance.sees_all.then(|| self.gone());
        let complete = self.is_complete(&attendance);
        let of_read: Vec<String> = self.rows.read.notes.iter().cloned().chain(self.lag.note.clone()).collect();
        let bad_values = classified.bad_values.iter().chain(self.asked().flat_map(|one| self.rows.bad_values(one)));
        let bad_keys = bad_values.filter_map(|bad| bad.key.clone());
        let always = bad_keys.chain(classified.photos_left.iter().cloned()).collect();
        let taken_back = held::taking_back(self.store(), &self.job().name)?;
        let taken_back = notes::taken_back_note(taken_back, &self.job().name);
        let there = self.there(!attendance.sees_all)?;
        let (store, name) = (self.store(), self.job().name.clone());
        let read = self.into_plan(always)?;
        let records = read.records.saturating_sub(classified.rejected.len() as u64);
        let rejected = by_line(read.rejected, classified.rejected);
        // Who was approved to be the same person is doubted no more.
        let mut doubtful = classified.doubtful;
        changes.go.iter().for_each(|change| drop(doubtful.remove(&change.key)));
        let doubts = DoubtfulRows {
            held: doubtful,
            rejected: rejected.iter().filter_map(|row| Some((row.key.clone()?, row.reason.clone()))).collect(),
        };
        let notes = [read.notes, of_read, notes].into_iter().flatten().chain(limit.note).chain(transfers.notes);
        let notes = notes.chain(notes::note(&classified.drift)).chain(notes::lent_notes(&classified.lent));
        let notes = notes.chain(notes::photos_note(&classified.photos_left));
        let notes = notes.chain(taken_back).collect();
        let handed_over = transfers.handed_over.into_iter().map(|(key, _)| key).collect();
        let mut waiting: Vec<_> = leavers.waiting.into_iter().chain(returned).collect();
        if copies > 0 {
            // Who is as the source wants them is overtaken no more.
            for (key, _) in &classified.settled {
                overtaken.remove(key);
                let known = SyncedRecord::get(store, &name, key)?.filter(|known| known.overtaken);
                waiting.extend(known.map(|known| (key.clone(), SyncedRecord { overtaken: false, ..known })));
            }
        }
        for (key, known) in &mut waiting {
            known.overtaken |= overtaken.remove(key).is_some();
        }
        waiting.extend(overtaken);
        let claimed = leavers.claimed.into_iter().chain(classified.mistaken).collect();
        let results = PartResults { found: classified.found, gone, stated, claimed, handed_over, doubts };
        let rest = JobPlan {
            complete,
            incomplete: attendance.complete.err().unwrap_or_default(),
            records,
            unchanged: read.unchanged + classified.settled.len() as u64,
            matched_by: classified.matched_by,
            rejected,
            bad_values: by_line(read.bad_values, classified.bad_values),
            missed: leavers.missed,
            missing,
            names: leavers.names,
            protected: leavers.protected,
            moving: transfers.waits,
            notes,
            drift: classified.drift,
            updates: StateUpdates {
                mapping_settled,
                copies: Some(copies),
                settled: classified.settled,
                waiting,
                forgotten: leavers.forgotten,
                matched: classified.matched,
                in_force,
                judged_all: attendance.sees_all,
                there,
                ..read.updates
            },
            ..read
        };
        Ok(PartDraft { changes, rest, base, updated, results })
    }

    /// What the read alone says; `always` are those who are to be looked at in every run.
    fn into_plan(self, always: BTreeSet<Key>) -> Result<JobPlan, Error> {
        let JobContext { job, filter, .. } = self.part;
        let rows = match job.inbox {
            Some(_) => self.rows.rows(&self.index, &self.spill)?,
            None => Vec::new(),
        };
        let unknown = filter.unknown(&self.rows, &self.index);
        let unknown_note =
            |key| format!("no row of the source that is included has key {key}, and the job never knew it");
        let updates = StateUpdates {
            content: self.content(),
            due: self.rows.candidates.iter().filter_map(|one| Some((one.key.clone(), self.rows.due(one)?))).collect(),
            ..StateUpdates::default()
        };
        Ok(JobPlan {
            incomplete: self.rows.read.incomplete().to_vec(),
            records: self.records(),
            unchanged: self.unchanged(),
            rows,
            bad_values: self.asked().flat_map(|one| self.rows.bad_values(one)).cloned().collect(),
            notes: unknown.iter().map(unknown_note).chain(lookups::notes(job)).collect(),
            lost: self.lost,
            updates: StateUpdates {
                mapping: self.fingerprint,
                file: Some(self.rows.read.found),
                shown: self.lag.next,
                lookups: lookups::states(job, &self.state),
                digests: Digests::of(self.rows.candidates, filter, always),
                verdicts: self.decisions.verdicts,
                outdated: self.decisions.outdated,
                unknown,
                ..updates
            },
            doubt: self.lag.reason,
            rejected: self.rows.rejected,
            fields: self.written,
            spill: self.spill,
            ..JobPlan::nothing(job, self.part.context.store)
        })
    }
}

/// Rows that can't be used, in order of line.
fn by_line(mut rows: Vec<Rejected>, more: Vec<Rejected>) -> Vec<Rejected> {
    rows.extend(more);
    rows.sort_by_key(|row| row.line);
    rows
}

/// What waits for something else than an approval.
fn waits(go: &[Outline], job: &JobName, mirror: &Mirror, store: &Store) -> Result<BTreeMap<Key, HoldReason>, Error> {
    let mut waits = BTreeMap::new();
    for change in go.iter().filter(|change| change.action == Action::Delete) {
        let entity = change.id.map(|id| mirror.get(store, id)).transpose()?.flatten();
        if entity.is_some_and(|entity| entity.value("onsite_status").as_text() == Some("onsite")) {
            waits.insert(change.key.clone(), HoldReason::OnSite);
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
    for change in go.iter().filter(|_| !refused.is_empty()) {
        if let Some(words) = refused.get(&change.key)
            && let Some(old) = queue::get(store, job, &change.key)?
            && old.wish.digest() == change.wish()
            && (!change.is_approved() || old.approved)
        {
            waits.insert(change.key.clone(), format!("parked, since the service refused it: {words}").into());
        }
    }
    Ok(waits)
}
