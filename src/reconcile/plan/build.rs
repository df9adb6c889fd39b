//! From source and service to what a run would do.

use std::collections::{BTreeMap, BTreeSet};

use super::inputs::{Inputs, JobContext};
use super::protected::ProtectedNames;
use super::{notes, segments};
use crate::config::Mode;
use crate::mirror::Mirror;
use crate::plan::{Base, Change, Guarded, Held, HoldReason, Judged as _, Outline, Present, Rules, guard};
use crate::queue::{self, State};
use crate::reconcile::approval::held::HELD;
use crate::reconcile::approval::{held, outdated, remote_digest};
use crate::reconcile::correlate::classify::{Classified, Remember, classify, strange};
use crate::reconcile::correlate::correlator::{CorrelationContext, RowPresence};
use crate::reconcile::correlate::references::References;
use crate::reconcile::leavers::detect::{LeaverDetector, Leavers, left_lately};
use crate::reconcile::leavers::job_transfers::JobTransfers;
use crate::reconcile::leavers::memberships::{Memberships, PairsRead};
use crate::reconcile::leavers::missing_limit::LimitResult;
use crate::reconcile::leavers::organization_transfers::NewMemberships;
use crate::reconcile::leavers::{job_limit, missing_limit};
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::doubtful_rows::DoubtfulRows;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_fields::{leaver_set, protection};
use crate::reconcile::model::job_plan::JobPlan;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::kept_record::LATER;
use crate::reconcile::model::missing_people::Missing;
use crate::reconcile::model::part_draft::{PartDraft, PartResults};
use crate::reconcile::model::state_updates::StateUpdates;
use crate::reconcile::restored_state;
use crate::record::{Action, JobName, Key, Rejected, RowMetadata, Target};
use crate::snapshot::{Gone, SyncedRecord};
use crate::source::Complete;
use crate::source::inbox::Reads;
use crate::store::Store;

/// What a run says whose mapping is another one.
const MAPPING_CHANGED: &str = "the job's mapping, key, match_on, lookups or what its source is asked for (address, account, tenant, groups, base, filter) \
     changed since its last run";
/// Why a person stays although an entry of a directory, or a user of a tenant, says that they are gone.
const DOUBTFUL_ENTRY: &str = "the entry that says that this key is gone names another person than the one it belongs to, or no one; may the \
                              account still read who it is? approve it if they are gone";

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
    if let Some(block) = inputs.of_another_target()?.or_else(|| inputs.too_few_records()) {
        let there = inputs.there(true)?;
        let plan = inputs.into_plan(BTreeSet::new())?;
        let updates = StateUpdates { there, ..plan.updates };
        return Ok(PartDraft::without_changes(JobPlan { blocked: vec![block], updates, ..plan }));
    }
    let (attendance, mut classified) = inputs.correlate(remember)?;
    let mut leaving = inputs.find_leavers(&attendance, &classified)?;
    let judgement = inputs.judge(&mut classified, &mut leaving)?;
    inputs.assemble(attendance, classified, leaving, judgement)
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
            // A row says that they are gone.
            Some(_) if job.mode == Mode::Changes && rows.left.contains_key(key) => RowPresence::Absent,
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
        let (protection, set, now) = (protection(context)?, leaver_set(job), context.now_for_leavers());
        let begun = NewMemberships::of(job, index, &rows.candidates, classified, &self.spill)?;
        let pairs = PairsRead { begun: &begun, index, seen: &rows.present };
        let detector = LeaverDetector {
            job,
            store,
            mirror: self.mirror(),
            index,
            now,
            first: context.missed_since(now),
            copies: rows.copies,
            claimed: &classified.claimed,
            taken: &self.taken()?,
            protection: &protection,
            set: &set,
            members: Memberships::of(context, job, self.part.mirrors, self.part.earlier, pairs),
        };
        let judges = self.is_whole() && !self.is_superseded();
        if judges {
            detector.stated_leavers(&rows.left, &mut leavers)?;
        }
        if let Some(present) = attendance.complete.as_ref().ok().filter(|_| judges) {
            detector.absent_leavers(present, &self.content(), &rows.left, &mut leavers)?;
        }
        let (base, lately) = left_lately(context, job.mapping.target, &job.name, index)?;
        let matched = (classified.matched.len() as u64).saturating_sub(classified.rekeyed);
        let (base, known) = (Base { matched, ..base }, base.known + matched);
        let verdicts = &self.decisions.verdicts;
        let limit = missing_limit::judge(&detector, &leavers, &job.limits, known, verdicts)?;
        if self.is_whole() && !self.is_complete(attendance) {
            detector.missed_before(&attendance.missed, &mut leavers)?;
        }
        missing_limit::let_stay(&mut leavers.missed, &limit.decided, verdicts);
        let missing = Missing::of(&leavers.missed, known, &detector, &limit);
        // No later file of changes says again who left: the job that they were offered to may have lost them.
        if judges {
            for key in self.offered_before()? {
                leavers.changes.extend(detector.fate(&key)?);
            }
        }
        // What an earlier file of changes said is looked at once more: another list may have them by now.
        let carried = self.carried_removals()?;
        leavers.changes.extend(carried.iter().cloned());
        let mut transfers = JobTransfers::take(context, job, self.mirror(), &mut leavers.changes)?;
        leavers.changes.retain(|change| !carried.iter().any(|carried| carried.key == change.key));
        if judges && attendance.complete.is_ok() {
            transfers.offer_staying(context, job, self.mirror(), &|key| !self.is_present(key))?;
        }
        let absent = attendance.missed.iter().filter_map(|at| self.key(*at)).chain(rows.left.keys().cloned());
        let with_absent = match job.mode {
            Mode::Full => begun.with_absent(store, &job.name, absent)?,
            // A file of changes says of each pair by itself what ends.
            Mode::Changes => leavers.ended.values().cloned().collect(),
        };
        Ok(Leaving { leavers, transfers, begun, with_absent, limit, missing, base, lately })
    }

    /// Whether the read proves who is absent, and its server can be believed.
    fn is_complete(&self, attendance: &Attendance) -> bool {
        attendance.complete.is_ok() && self.lag.reason.is_none()
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

    /// Takes out of `changes` what earlier files of changes said and what only a decision releases.
    fn held_before(&self, changes: &mut Vec<Outline>) -> Result<Vec<Held<Outline>>, Error> {
        let mut lasting = BTreeMap::new();
        if self.job().mode == Mode::Changes {
            let left = self.rows.left.iter().filter(|(_, statement)| statement.line == 0).map(|(key, _)| key);
            for key in self.rows.earlier.iter().chain(left) {
                let held = HELD.get(self.store(), &self.job().name, key)?;
                lasting.extend(held.filter(|held| held.reason.lasts()).map(|held| (key, held)));
            }
        }
        // A limit on updates holds no leaver.
        let is_held = |change: &mut Outline| {
            let wish = lasting.get(&change.key).map(|held| held.change.as_ref());
            wish.is_some_and(|wish| wish.is_none_or(|wish| wish.leaves() == change.leaves()))
        };
        let before = changes.extract_if(.., is_held);
        let held = |change: Outline| {
            let reason = &lasting[&change.key].reason;
            Held::change(change, reason)
        };
        Ok(before.map(held).collect())
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
        if self.has_other_mapping()? {
            let altered = guarded.go.iter().filter(|change| !change.is_approved()).count() + guarded.held.len();
            held::hold_all(guarded, &HoldReason::MappingChanged { people: altered });
            // A read that says of no one that they leave does not show who the mapping would remove.
            let reads = job.inbox.as_ref().map(|inbox| inbox.reads).unwrap_or_default();
            *mapping_settled = altered == 0 && reads == Reads::Last;
            notes.push(MAPPING_CHANGED.to_owned());
        }
        let found = self.rows.copies;
        let comparison =
            restored_state::Comparison { job, store: self.store(), mirror: self.mirror(), mapped: &self.mapped };
        if found > self.state.copies {
            *overtaken = comparison.overtaken(&self.index)?;
        }
        *copies = found;
        let mut undoing = match found {
            0 => 0,
            _ => comparison.hold(guarded, overtaken)?,
        };
        // A later file, which the state does not know any more, may have said that they stay.
        let old = self.old_statements(found)?;
        let held = guarded.held.len();
        guarded.hold_leavers(&old, &HoldReason::OldStatement);
        undoing += guarded.held.len() - held;
        notes.extend((undoing > 0).then(|| restored_state::LAID_BACK.to_owned()));
        if let Some(doubt) = job.inbox.as_ref().and_then(|inbox| inbox.doubt.as_ref()) {
            held::hold_all(guarded, &HoldReason::OlderExport(doubt.clone()));
            // What is held says why.
            let is_silent = guarded.held.is_empty() && job.name == job.name.root();
            notes.extend(is_silent.then(|| doubt.to_string()));
        }
        Ok(())
    }

    /// Whether the job ran with another mapping before. One that is new to organizations or memberships ran without any.
    fn has_other_mapping(&self) -> Result<bool, Error> {
        let (before, name) = (&self.state.mapping, &self.job().name);
        if before.is_empty() && name.is_part() {
            return Ok(!JobState::load(self.store(), &name.root())?.mapping.is_empty());
        }
        Ok(!before.is_empty() && *before != self.fingerprint)
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
        let mut held = std::mem::take(&mut classified.held);
        held.extend(self.held_before(&mut changes)?);
        let updated = job_limit::updated(job, &changes, verdicts);
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

    /// The rows of those who are missing, with the jobs that may take them over.
    fn with_offers(
        &self,
        missing: Vec<(Key, SyncedRecord)>,
        offered: &BTreeMap<Key, JobName>,
    ) -> Result<Vec<(Key, SyncedRecord)>, Error> {
        let context = self.part.context;
        let first = context.missed_since(context.now_for_leavers());
        let mut rows: BTreeMap<Key, SyncedRecord> = missing.into_iter().collect();
        for (key, job) in offered {
            let known = match rows.remove(key) {
                Some(known) => Some(known),
                None => SyncedRecord::get(self.store(), &self.job().name, key)?,
            };
            let Some(mut known) = known else { continue };
            known.gone.get_or_insert_with(|| Gone::since(first)).offered = Some(job.clone());
            rows.insert(key.clone(), known);
        }
        Ok(rows.into_iter().collect())
    }

    /// What is known from now on of people about whose records nothing is sent: of who is `missing`, of who is back, and of those
    /// who are newer at the service than in a state that was laid back.
    fn rows_besides(
        &self,
        missing: Vec<(Key, SyncedRecord)>,
        copies: u64,
        mut overtaken: BTreeMap<Key, SyncedRecord>,
        settled: &[(Key, u128)],
    ) -> Result<Vec<(Key, SyncedRecord)>, Error> {
        let mut rows = missing;
        rows.extend(self.returned(settled)?);
        // Who is as the source wants them is overtaken no more.
        for (key, _) in settled.iter().filter(|_| copies > 0) {
            overtaken.remove(key);
            let known = SyncedRecord::get(self.store(), &self.job().name, key)?.filter(|known| known.overtaken);
            rows.extend(known.map(|known| (key.clone(), SyncedRecord { overtaken: false, ..known })));
        }
        for (key, known) in &mut rows {
            known.overtaken |= overtaken.remove(key).is_some();
        }
        rows.extend(overtaken);
        Ok(rows)
    }

    /// What a run says of what it found in the state, and at the service.
    fn notes_of_state(&self, protected: &ProtectedNames<'_>) -> Result<Vec<String>, Error> {
        let name = &self.job().name;
        let taken_back = notes::taken_back_note(held::taking_back(self.store(), name)?, name);
        let unprotected = notes::unprotected_note(&protected.unknown);
        let renamed = notes::renamed_note(&protected.former);
        let of_service = [notes::unlisted_note(self.mirror()), notes::not_removed_note(&self.not_removed()?)];
        Ok([taken_back, unprotected, renamed].into_iter().chain(of_service).flatten().collect())
    }

    /// Who leaves by what was read before the state was laid back for the last time, of `copies`: a file of everybody that is read
    /// again, or a day that an earlier file of changes named.
    fn old_statements(&self, copies: u64) -> Result<BTreeSet<Key>, Error> {
        let left = &self.rows.left;
        let mut old = BTreeSet::new();
        match self.job().mode {
            Mode::Full if copies > self.state.copies_read && !self.reads_anew() => old.extend(left.keys().cloned()),
            Mode::Changes if copies > 0 => {
                for (key, _) in left.iter().filter(|(_, statement)| statement.line == 0) {
                    let known = SyncedRecord::get(self.store(), &self.job().name, key)?;
                    old.extend(known.is_some_and(|known| known.marks.copies != copies).then(|| key.clone()));
                }
            }
            Mode::Full | Mode::Changes => {}
        }
        Ok(old)
    }

    /// What files of changes kept for later and a list of everyone does not say, too; and whether it was to count from a later day on.
    fn overtaken(&self) -> Result<Vec<(Key, bool)>, Error> {
        let mut overtaken = Vec::new();
        if self.job().mode == Mode::Full {
            let early: BTreeSet<&Key> = self.rows.early_keys().collect();
            LATER.each(self.store(), &self.job().name, |key, record| {
                overtaken.extend((!early.contains(&key)).then_some((key, record.from.is_some())));
            })?;
        }
        Ok(overtaken)
    }

    /// Whether what it reads was not read before.
    fn reads_anew(&self) -> bool {
        self.job().inbox.as_ref().is_none_or(|inbox| !inbox.repeats)
    }

    /// Those who are looked at in every run.
    fn always(&self, classified: &Classified) -> BTreeSet<Key> {
        let bad_values = classified.bad_values.iter().chain(self.asked().flat_map(|one| self.rows.bad_values(one)));
        let bad_keys = bad_values.filter_map(|bad| bad.key.clone());
        bad_keys.chain(classified.photos_left.iter().cloned()).collect()
    }

    /// Puts the plan together.
    fn assemble(
        self,
        attendance: Attendance,
        classified: Classified,
        leaving: Leaving,
        judgement: Judgement,
    ) -> Result<PartDraft, Error> {
        let reads_anew = self.reads_anew();
        let Judgement { guarded: changes, in_force, updated, mapping_settled, copies: (copies, overtaken), notes } =
            judgement;
        let Leaving { leavers, transfers, limit, missing, base, .. } = leaving;
        let missing_rows = self.with_offers(leavers.waiting, &transfers.offered)?;
        let waiting = self.rows_besides(missing_rows, copies, overtaken, &classified.settled)?;
        let stated = self.rows.left.keys().cloned().collect();
        let gone = attendance.sees_all.then(|| self.gone());
        let complete = self.is_complete(&attendance);
        let of_read: Vec<String> = self.rows.read.notes.iter().cloned().chain(self.lag.note.clone()).collect();
        let always = self.always(&classified);
        let protected = self.protected()?;
        let of_state = self.notes_of_state(&protected)?;
        let there = self.there(!attendance.sees_all)?;
        let mode = self.job().mode;
        let overtaken = if attendance.sees_all { self.overtaken()? } else { Vec::new() };
        let void = self.void_takeovers()?;
        let read = self.into_plan(always)?;
        let records = read.records.saturating_sub(classified.rejected.len() as u64);
        // What the service does not have, or a lookup, may be there another time.
        let waits_for_others = !(classified.rejected.is_empty() && classified.bad_values.is_empty());
        let bad = classified.rejected.iter().chain(&classified.bad_values).filter_map(|row| row.key.clone());
        let to_mend: BTreeSet<Key> = if mode == Mode::Changes { bad.collect() } else { BTreeSet::new() };
        let unfinished = read.unfinished || waits_for_others;
        let rejected = by_line(read.rejected, classified.rejected);
        let doubts = doubts(classified.doubtful, &changes.go, &rejected);
        let notes = [read.notes, of_read, notes].into_iter().flatten().chain(limit.note).chain(transfers.notes);
        let notes = notes.chain(notes::note(&classified.drift)).chain(notes::lent_notes(&classified.lent));
        let begun = overtaken.iter().filter(|(_, begins)| *begins).count();
        let of_state = of_state.into_iter().chain(notes::overtaken_note(begun));
        let notes = notes.chain(notes::photos_note(&classified.photos_left)).chain(of_state).collect();
        let handed_over = transfers.offered.into_keys().collect();
        let claimed = leavers.claimed.into_iter().chain(classified.mistaken).collect();
        let results = PartResults { found: classified.found, gone, stated, claimed, handed_over, doubts };
        let mut updates = read.updates;
        updates.due.extend(leavers.dated);
        updates.later_ended.extend(overtaken.into_iter().map(|(key, _)| key));
        updates.outdated.extend(void);
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
            unfinished,
            updates: StateUpdates {
                mapping_settled,
                copies: Some(copies),
                copies_read: reads_anew.then_some(copies),
                settled: classified.settled,
                waiting,
                forgotten: leavers.forgotten,
                matched: classified.matched,
                in_force,
                judged_all: attendance.sees_all,
                to_mend,
                protects: protected.people,
                there,
                ..updates
            },
            ..read
        };
        Ok(PartDraft { changes, rest, base, updated, results })
    }
}

/// The rows of which it is not sure who they are. Who was approved to be the same person is doubted no more.
fn doubts(mut held: BTreeMap<Key, HoldReason>, go: &[Outline], rejected: &[Rejected]) -> DoubtfulRows {
    go.iter().for_each(|change| drop(held.remove(&change.key)));
    let rejected = rejected.iter().filter_map(|row| Some((row.key.clone()?, row.reason.clone()))).collect();
    DoubtfulRows { held, rejected }
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
