//! From source and service to what a run would do.

use std::collections::{BTreeMap, BTreeSet};

use jiff::ToSpan as _;
use jiff::civil::Date;

use super::inputs::{Inputs, JobContext};
use super::judge::{Judgement, Leaving, UNSETTLED};
use super::notes;
use super::protected::ProtectedNames;
use crate::config::{Job, Mode};
use crate::mirror::Mirror;
use crate::plan::{Base, Guarded, Held, HoldReason, Judged as _, LeaverAction, Outline, Present, Rules};
use crate::queue::{self, State};
use crate::reconcile::approval::{held, remote_digest};
use crate::reconcile::correlate::classify::{Classified, Remember, classify, strange};
use crate::reconcile::correlate::correlator::{CorrelationContext, RowPresence};
use crate::reconcile::correlate::references::References;
use crate::reconcile::leavers::detect::{LeaverDetector, Leavers, left_lately};
use crate::reconcile::leavers::job_transfers::JobTransfers;
use crate::reconcile::leavers::memberships::{Memberships, PairsRead};
use crate::reconcile::leavers::missing_limit;
use crate::reconcile::leavers::organization_transfers::NewMemberships;
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::doubtful_rows::DoubtfulRows;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_fields::{leaver_set, protection};
use crate::reconcile::model::job_plan::JobPlan;
use crate::reconcile::model::kept_record::LATER;
use crate::reconcile::model::missing_people::Missing;
use crate::reconcile::model::part_draft::{PartDraft, PartResults};
use crate::reconcile::model::state_updates::StateUpdates;
use crate::record::{Action, JobName, Key, Rejected, Target};
use crate::snapshot::{Gone, SyncedRecord};
use crate::source::Complete;
use crate::store::Store;

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
    let mut notes = rest.notes;
    let made = dropped.iter().filter(|change| change.action == Action::Create);
    let made: Vec<Key> = made.map(|change| change.key.clone()).collect();
    notes.extend(notes::left_out_note(&made, rest.target, &rest.job));
    Ok(JobPlan { go, held, dropped, waits, notes, updates: StateUpdates { remote, ..rest.updates }, ..rest })
}

/// Works out what a run of one part of a job would do, before the limits on the whole job; `remember` takes what was
/// found to need nothing.
pub(crate) fn draft_plan(part: JobContext<'_>, remember: &mut Remember<'_>) -> Result<PartDraft, Error> {
    let inputs = Inputs::read(part)?;
    let block = inputs.of_another_target()?.or_else(|| inputs.too_few_records());
    if let Some(block) = block.or_else(|| inputs.nothing_taken_of_people()) {
        let there = inputs.there(true)?;
        let plan = inputs.into_plan(BTreeSet::new())?;
        let updates = StateUpdates { there, ..plan.updates };
        let doubts = doubts(BTreeMap::new(), &[], &plan.rejected);
        return Ok(PartDraft::without_changes(JobPlan { blocked: vec![block], updates, ..plan }, doubts));
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

impl<'a> Inputs<'a> {
    /// Correlates the records, and finds out what they need and who is missing.
    fn correlate(&self, remember: &mut Remember<'_>) -> Result<(Attendance, Classified), Error> {
        let (job, rows) = (self.job(), &self.rows);
        let missed = match job.mode {
            Mode::Changes => Vec::new(),
            Mode::Full => self.unseen(),
        };
        // Who stays in any case is another matter: their namesakes are many in time.
        let stays = job.leavers.action == LeaverAction::Keep;
        let stated = rows.left.keys().filter(|_| !stays).filter_map(|key| self.index.by_key(key.as_str()));
        let mut absent: Vec<usize> = missed.iter().copied().chain(stated).collect();
        absent.sort_unstable();
        let jobs: Vec<JobName> = self.part.context.config.parts().map(|job| job.name.clone()).collect();
        let alike = self.jobs_alike();
        let resolver = References::new(job, self.store(), self.part.mirrors, self.part.earlier)?;
        let undone = held::undone(self.store(), &job.name)?;
        let unsure = |_: &Key| RowPresence::Unknown;
        let own = self.part.people();
        let organizations = self.organizations();
        let (candidates, queued) = self.with_queued()?;
        let identity = CorrelationContext {
            job,
            rules: Rules {
                target: job.mapping.target,
                fields: &self.mapped,
                seed_only: &job.seed_only,
                on_drift: job.on_drift,
            },
            candidates: &candidates,
            queued: &queued,
            jobs: &jobs,
            alike: &alike,
            store: self.store(),
            mirror: self.mirror(),
            index: &self.index,
            spill: &self.spill,
            resolver: &resolver,
            withheld: &self.withheld,
            presence: &unsure,
            doubts: own.map(|own| &own.results.doubts).filter(|_| job.mapping.target == Target::Membership),
            doubted_organizations: organizations.map(|part| &part.results.doubts),
            absent: &absent,
            unusable: &rows.unusable,
            undone: &undone,
            verdicts: &self.decisions.verdicts,
            partly_decided: self.state.partly_decided,
            now: self.part.context.clock.now(),
        };
        let mut strays = rows.strays.clone();
        // Who is sure to be meant has the row to themselves.
        let is_sure = |member: &Key| own.is_some_and(|own| !own.results.doubts.has(member));
        strays.unknown.extend(rows.unplaced.iter().filter(|member| !is_sure(member)).cloned());
        if !missed.is_empty() {
            strays.unknown.extend(strange(&identity)?);
        }
        let complete = rows.read.clone().finish(rows.present.clone(), strays.doubts());
        let proves_absence = complete.is_ok() && job.mode != Mode::Changes;
        let sees_all = proves_absence && self.judges_leavers();
        let presence = |key: &Key| match self.index.by_key(key.as_str()) {
            Some(at) if rows.present.has(at) => RowPresence::Seen,
            // A row says that they are gone.
            Some(_) if job.mode == Mode::Changes && rows.left.contains_key(key) => RowPresence::Absent,
            Some(_) if sees_all || (proves_absence && self.part.looks_ahead) => RowPresence::Absent,
            _ => RowPresence::Unknown,
        };
        let identity = CorrelationContext { presence: &presence, ..identity };
        let classified = classify(&identity, &self.state, self.part.filter, remember)?;
        let classified = Classified { undone, ..classified };
        Ok((Attendance { missed, complete, sees_all }, classified))
    }

    /// The other jobs that keep people of the same kind.
    fn jobs_alike(&self) -> Vec<JobName> {
        let JobContext { context, job, .. } = self.part;
        let target = job.mapping.target;
        let is_alike = |other: &&Job| target.has_presence() && other.mapping.target == target && other.name != job.name;
        context.config.jobs.iter().filter(is_alike).map(|other| other.name.clone()).collect()
    }

    /// Judges those who are gone, or missing.
    fn find_leavers(&self, attendance: &Attendance, classified: &Classified) -> Result<Leaving, Error> {
        let JobContext { context, job, .. } = self.part;
        let (store, index, rows) = (context.store, &self.index, &self.rows);
        let (protection, set, now) = (protection(context)?, leaver_set(job), context.now_for_leavers());
        let mut begun = NewMemberships::of(job, index, &rows.candidates, classified, &self.spill)?;
        begun.doubt(self.members_of_doubtful_organizations());
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
            named: &classified.named,
            taken: &self.taken()?,
            protection: &protection,
            set: &set,
            members: Memberships::of(context, job, self.part.mirrors, self.part.people(), pairs),
        };
        let mut leavers = self.detected(&detector, attendance)?;
        let (base, lately) = left_lately(context, job.mapping.target, &job.name, index)?;
        let matched = (classified.matched.len() as u64).saturating_sub(classified.rekeyed);
        let (base, known) = (Base { matched, ..base }, base.known + matched);
        let verdicts = &self.decisions.verdicts;
        let is_changed = self.has_other_mapping()? || self.has_other_place();
        let limit = missing_limit::judge(&detector, &leavers, known, is_changed, verdicts)?;
        let waits = !limit.since_change.is_empty() || limit.held.is_some();
        let place = self.place_from_now_on(attendance, waits);
        if self.is_whole() && !self.is_complete(attendance) {
            detector.missed_before(&attendance.missed, &mut leavers)?;
        }
        missing_limit::let_stay(&mut leavers.missed, &limit.decided, verdicts);
        let missing = Missing::of(&leavers.missed, known, &detector, &limit);
        let transfers = self.take_transfers(attendance, &detector, &mut leavers)?;
        let absent = attendance.missed.iter().filter_map(|at| self.key(*at)).chain(rows.left.keys().cloned());
        let with_absent = match job.mode {
            Mode::Full => begun.with_absent(store, &job.name, absent)?,
            // A file of changes says of each pair by itself what ends.
            Mode::Changes => leavers.ended.values().cloned().collect(),
        };
        Ok(Leaving { leavers, transfers, begun, with_absent, limit, missing, base, lately, place })
    }

    /// Whether this run says who is gone: a narrowed one does not, nor one whose file another file follows.
    fn judges_leavers(&self) -> bool {
        self.is_whole() && !self.is_superseded()
    }

    /// Who is gone by a row of their own, and who is missing.
    fn detected(&self, detector: &LeaverDetector<'_>, attendance: &Attendance) -> Result<Leavers, Error> {
        let mut leavers = Leavers::default();
        if !self.judges_leavers() {
            return Ok(leavers);
        }
        let (job, left) = (self.job(), &self.rows.left);
        detector.stated_leavers(left, &mut leavers)?;
        let Ok(present) = &attendance.complete else { return Ok(leavers) };
        detector.absent_leavers(present, &self.content(), left, &mut leavers)?;
        let was_missed = |key: &Key| self.index.by_key(key.as_str()).is_some_and(|at| self.index.entry(at).gone);
        if job.mode == Mode::Full && self.older.is_some() {
            // No grace begins with a file that may be an old one.
            leavers.waiting.clear();
            leavers.missed.retain(|missed| was_missed(&missed.key));
        }
        if job.source.is_in_parts() && self.lag.changed {
            // Who moved behind the reader is in none of the parts, and is found by the next read.
            leavers.changes.retain(|change| left.contains_key(&change.key) || was_missed(&change.key));
        }
        Ok(leavers)
    }

    /// The place of the source that later runs compare theirs with; `waits` where a new one still has to be approved.
    fn place_from_now_on(&self, attendance: &Attendance, waits: bool) -> Option<String> {
        let shows_all = self.job().mode == Mode::Changes || (self.is_complete(attendance) && self.says_who_leaves());
        match self.has_other_place() {
            true if waits => Some(UNSETTLED.to_owned()),
            true if !shows_all => None,
            _ => Some(self.place.clone()),
        }
    }

    /// Takes those out of `leavers` who may move to another job, and offers those to other jobs who are gone and stay.
    fn take_transfers(
        &self,
        attendance: &Attendance,
        detector: &LeaverDetector<'_>,
        leavers: &mut Leavers,
    ) -> Result<JobTransfers, Error> {
        let JobContext { context, job, .. } = self.part;
        // No later file of changes says again who left: the job that they were offered to may have lost them.
        if self.judges_leavers() {
            for key in self.offered_before()? {
                leavers.changes.extend(detector.fate(&key)?);
            }
        }
        // What an earlier file of changes said is looked at once more: another list may have them by now.
        let carried = self.carried_removals()?;
        leavers.changes.extend(carried.iter().cloned());
        let mut transfers = JobTransfers::take(context, job, self.mirror(), &mut leavers.changes)?;
        leavers.changes.retain(|change| !carried.iter().any(|carried| carried.key == change.key));
        // Of a job that removes people, only the protected stay.
        let may_stay = job.leavers.action != LeaverAction::Delete || !leavers.protected.is_empty();
        if attendance.complete.is_ok() && self.judges_leavers() && may_stay {
            let is_gone = |key: &Key| match job.leavers.action {
                LeaverAction::Delete => leavers.protected.contains(key),
                LeaverAction::Keep | LeaverAction::Update => !self.is_present(key),
            };
            transfers.offer_staying(context, job, self.mirror(), &is_gone)?;
        }
        Ok(transfers)
    }

    /// Whether the read proves who is absent, and its server can be believed.
    fn is_complete(&self, attendance: &Attendance) -> bool {
        attendance.complete.is_ok() && self.lag.reason.is_none()
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
        (settled, held): (&[(Key, u128)], &[Held<Outline>]),
    ) -> Result<Vec<(Key, SyncedRecord)>, Error> {
        let mut rows = missing;
        rows.extend(self.returned(settled, held)?);
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
    fn notes_of_state(
        &self,
        protected: &ProtectedNames<'_>,
        overtaken: &[(Key, bool)],
        classified: &Classified,
    ) -> Result<Vec<String>, Error> {
        let name = &self.job().name;
        let taken_back = notes::taken_back_note(held::taking_back(self.store(), name)?, name);
        let unprotected = notes::unprotected_note(&protected.unknown);
        let renamed = notes::renamed_note(&protected.former);
        // Who came back is one of the records of this read.
        let mut still_there = self.not_removed()?;
        still_there.retain(|id| !classified.matched.contains(id) && !classified.claimed.contains(id));
        let of_service = [notes::unlisted_note(self.mirror()), notes::not_removed_note(&still_there)];
        let overtaken = notes::overtaken_note(overtaken.iter().filter(|(_, begins)| *begins).count());
        let in_a_year = self.job().day(self.part.context.now_for_leavers()).saturating_add(1.year());
        let far: Vec<(&Key, Date)> = self.rows.early_days().filter(|(_, day)| *day > in_a_year).collect();
        let far = notes::far_note(&far, self.job().mapping.target);
        let left_out = notes::left_out_note(&self.left_out_before()?, self.job().mapping.target, name);
        let of_state = [taken_back, unprotected, renamed, far, left_out];
        Ok(of_state.into_iter().chain(of_service).flatten().chain(overtaken).collect())
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

    /// Those who are looked at in every run.
    fn always(&self, classified: &Classified) -> BTreeSet<Key> {
        let bad_values = classified.bad_values.iter().chain(self.asked().flat_map(|one| self.rows.bad_values(one)));
        let bad_keys = bad_values.filter_map(|bad| bad.key.clone());
        bad_keys.chain(classified.photos_left.iter().cloned()).collect()
    }

    /// The part of the organizations of a part of memberships.
    fn organizations(&self) -> Option<&PartDraft> {
        let is_of_members = self.job().mapping.target == Target::Membership;
        self.part.earlier.iter().find(|part| is_of_members && part.target() == Target::Organization)
    }

    /// The members with a row in this read that names an organization whose rows can't be trusted: it may mean another one.
    fn members_of_doubtful_organizations(&self) -> Vec<Key> {
        let Some(part) = self.organizations() else { return Vec::new() };
        let doubts = &part.results.doubts;
        if doubts.keys().next().is_none() {
            return Vec::new();
        }
        let present = (0..self.index.len()).filter(|at| self.rows.present.has(*at)).filter_map(|at| self.key(at));
        let named = present.chain(self.rows.candidates.iter().map(|one| one.key.clone()));
        let halves = named.filter_map(|pair| pair.split_membership());
        halves.filter(|(_, organization)| doubts.has(organization)).map(|(member, _)| member).collect()
    }

    /// Of which records of files of changes something could not be used that may be mended elsewhere, or waits for what takes back a run.
    fn to_mend(&self, classified: &Classified, put_off: BTreeSet<Key>) -> BTreeSet<Key> {
        if self.job().mode != Mode::Changes {
            return BTreeSet::new();
        }
        // What names an organization of which the rows differ is said again once they agree.
        let doubts = self.organizations().map(|part| &part.results.doubts.rejected);
        let is_doubted = |pair: &Key| {
            let named = doubts.zip(pair.split_membership());
            named.is_some_and(|(rejected, (_, organization))| rejected.contains_key(&organization))
        };
        let bad = classified.rejected.iter().chain(&classified.bad_values).filter_map(|row| row.key.clone());
        bad.filter(|key| !is_doubted(key)).chain(put_off).collect()
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
        let Judgement { guarded: changes, in_force, updated, mapping_settled, key_settled, copies, notes, put_off } =
            judgement;
        let (copies, overtaken) = copies;
        let Leaving { leavers, transfers, limit, missing, base, place, .. } = leaving;
        let missing_rows = self.with_offers(leavers.waiting, &transfers.offered)?;
        let waiting = self.rows_besides(missing_rows, copies, overtaken, (&classified.settled, &changes.held))?;
        let stated = self.rows.left.keys().cloned().collect();
        let misnamed = self.rows.misnamed.clone();
        let gone = attendance.sees_all.then(|| self.gone());
        let complete = self.is_complete(&attendance);
        let of_read: Vec<String> = self.rows.read.notes.iter().cloned().chain(self.lag.note.clone()).collect();
        let always = self.always(&classified);
        let protected = self.protected()?;
        let there = self.there(!attendance.sees_all)?;
        let overtaken = if attendance.sees_all { self.overtaken()? } else { Vec::new() };
        let of_state = self.notes_of_state(&protected, &overtaken, &classified)?;
        let void = self.void_takeovers()?;
        let on_both_sides = self.on_both_sides()?;
        let of_rows = notes_of_rows(&classified).into_iter().chain(notes::both_sides_notes(&on_both_sides));
        let of_rows: Vec<String> = of_rows.chain(self.second_organizations(&changes)?).collect();
        let is_put_off = !put_off.is_empty();
        let to_mend = self.to_mend(&classified, put_off);
        let read = self.into_plan(always)?;
        let records = read.records.saturating_sub(classified.rejected.len() as u64);
        let unfinished = read.unfinished || classified.waits_for_others() || is_put_off;
        let rejected = by_line(read.rejected, classified.rejected);
        let doubts = doubts(classified.doubtful, &changes.go, &rejected);
        let notes = [read.notes, of_read, notes].into_iter().flatten().chain(limit.note).chain(transfers.notes);
        let notes = notes.chain(of_state).chain(of_rows).collect();
        let handed_over = transfers.offered.into_keys().collect();
        let claimed = leavers.claimed.into_iter().chain(classified.mistaken).collect();
        let (found, moved) = (classified.found, transfers.moved);
        let results = PartResults { found, gone, stated, misnamed, claimed, handed_over, moved, doubts };
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
                key_settled,
                place,
                copies: Some(copies),
                copies_read: reads_anew.then_some(copies),
                settled: classified.settled,
                waiting,
                forgotten: leavers.forgotten,
                matched: classified.matched,
                made_again: classified.made_again,
                on_both_sides,
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

/// Who was edited at the service, which organizations stay as another job has them, and whose photo stays.
fn notes_of_rows(classified: &Classified) -> Vec<String> {
    let lent = notes::lent_notes(&classified.lent);
    let photos = notes::photos_note(&classified.photos_left);
    let drift = notes::drift_note(&classified.drift);
    let of_others = notes::of_others_notes(&classified.of_others);
    drift.into_iter().chain(lent).chain(of_others).chain(photos).collect()
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
        // What was parked before it was sent, was denied, or was released since, is tried again.
        let is_refused = old.state.is_refused();
        if let State::Parked { words, .. } = old.state
            && is_refused
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
