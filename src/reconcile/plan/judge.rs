//! The limits of a part's plan: which of its changes go, and which wait for a person.
//!
//! Invariants:
//! - Each change, of the records and of those who leave, passes all limits once, in one place; what a person decided is put on it
//!   there, too.
//! - A limit holds and never drops: what does not go is held with its reason, or rejected since a person said so.
//!
//! Rejected: limits where each change is found. Those on shares need all of them, and the strictest reason is to win.

use std::collections::{BTreeMap, BTreeSet};

use super::inputs::Inputs;
use super::segments;
use crate::config::Mode;
use crate::plan::{
    Base, Change, Deltas, Guarded, Held, HoldReason, Judged as _, Outline, Verdict, guard, is_another_person,
};
use crate::reconcile::approval::held::HELD;
use crate::reconcile::approval::{held, outdated};
use crate::reconcile::correlate::classify::Classified;
use crate::reconcile::leavers::detect::Leavers;
use crate::reconcile::leavers::job_limit;
use crate::reconcile::leavers::job_transfers::JobTransfers;
use crate::reconcile::leavers::missing_limit::{LimitResult, is_since_change};
use crate::reconcile::leavers::organization_transfers::NewMemberships;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::missing_people::Missing;
use crate::reconcile::model::row_segments::RowSegments;
use crate::reconcile::restored_state;
use crate::record::{Action, Key, RowMetadata, Target, Value, Values};
use crate::snapshot::SyncedRecord;
use crate::source::inbox::Reads;

/// What a run says whose mapping is another one.
const MAPPING_CHANGED: &str = "the job's mapping, key, match_on, lookups or what its source is asked for (address, sheet, account, tenant, \
     groups, base, filter) changed since its last run";
/// What a run says besides whose keys are made of something else.
const KEY_CHANGED: &str = "the job's key changed since its last run: who has a key that was another person's before is compared with that \
                           person, and is not to be approved then";
/// What a run says besides where the state was laid back.
const GIVEN_ON: &str = "and the key of someone who is newer at the service may be another person's by now: who is asked about is not to be approved then";
/// What helps, where a list of everyone is read.
const FIND_AGAIN: &str = "; `rosterd rebuild` has everyone found by match_on again";
/// What a run says that holds who is missing from another place.
const PLACE_CHANGED: &str = "the job reads another file, folder or group than before, or has another segment or other parts, and who is missing \
     since then waits for a decision";
/// The place of files that every place differs from: someone waits who is missing since a job was pointed at another one, and goes
/// on to wait where it is pointed back.
pub(super) const UNSETTLED: &str = "unsettled";
/// Why a person stays although an entry of a directory, or a user of a tenant, says that they are gone.
const DOUBTFUL_ENTRY: &str = "the entry that says that this key is gone names another person than the one it belongs to, or no one; may the \
                              account still read who it is? approve it if they are gone";

/// Who leaves, and the limits on that.
pub(super) struct Leaving {
    pub(super) leavers: Leavers,
    pub(super) transfers: JobTransfers,
    /// Memberships that begin, and the members of those who lose another one.
    pub(super) begun: NewMemberships,
    pub(super) with_absent: BTreeSet<Key>,
    pub(super) limit: LimitResult,
    pub(super) missing: Option<Missing>,
    pub(super) base: Base,
    /// Those who left in the last 24 hours.
    pub(super) lately: Vec<RowMetadata>,
    /// The place of the files to compare the next with; none where that stays as it is.
    pub(super) place: Option<String>,
}

/// What became of all changes under the limits.
pub(super) struct Judgement {
    pub(super) guarded: Guarded<Outline>,
    /// Keys with a verdict that counts though another change is held now.
    pub(super) in_force: BTreeSet<Key>,
    /// People that the part would change and that no person decided on.
    pub(super) updated: BTreeSet<Key>,
    pub(super) mapping_settled: bool,
    pub(super) key_settled: bool,
    /// How many copies of the state were laid back so far, and for the last one the people for which the service held something newer.
    pub(super) copies: (u64, BTreeMap<Key, SyncedRecord>),
    pub(super) notes: Vec<String>,
    /// The keys of which what the source wants waits behind what takes back a run, and is to be looked at again.
    pub(super) put_off: BTreeSet<Key>,
}

/// Leaves nothing to approve of those who are asked about, as far as `is_meant`; returns how many they are.
fn doubt_keys(held: &mut [Held<Outline>], is_meant: impl Fn(&Key) -> Result<bool, Error>) -> Result<usize, Error> {
    let mut count = 0;
    for held in held.iter_mut().filter(|held| held.reason.doubts_its_key()) {
        if is_meant(&held.key)? {
            *held = Held { key: held.key.clone(), reason: HoldReason::OtherKeys, change: None, other: None };
            count += 1;
        }
    }
    Ok(count)
}

impl Inputs<'_> {
    /// Puts the limits and what people decided on what the records need and on who leaves.
    pub(super) fn judge(&self, classified: &mut Classified, leaving: &mut Leaving) -> Result<Judgement, Error> {
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
        let (undecided, mut in_force) = self.decided(held);
        // Who they are is known now, which those who are joined to them need.
        if matches!(job.mapping.target, Target::Contractor | Target::Organization) {
            let released = undecided.go.iter().filter_map(|change| Some((change.key.clone(), change.id?)));
            classified.found.extend(released);
        }
        in_force.append(&mut leaving.limit.decided);
        let mut guarded = self.guard(changes, undecided.go, leaving, &classified.segments)?;
        self.doubt_slipped(&mut guarded, &undecided.held)?;
        let waits = guarded.held.iter().any(|held| matches!(held.reason, HoldReason::MappingChanged { .. }));
        if waits {
            leaving.place = Some(UNSETTLED.to_owned());
        }
        let notes = waits.then(|| PLACE_CHANGED.to_owned()).into_iter().collect();
        let (mapping_settled, key_settled, copies) = (true, true, <_>::default());
        let put_off = BTreeSet::new();
        let mut judgement =
            Judgement { guarded, in_force, updated, mapping_settled, key_settled, copies, notes, put_off };
        self.suspect(&mut judgement, &leaving.leavers)?;
        judgement.guarded.held.splice(0..0, undecided.held);
        self.settle_key(&mut judgement)?;
        self.doubt_laid_back(&mut judgement)?;
        let guarded = &mut judgement.guarded;
        // What takes back a run comes first, unless its person leaves or a membership of theirs ends for another one: the source wants
        // the same then.
        let undone = &classified.undone;
        if !undone.is_empty() {
            let ends = |change: &Outline| change.leaves() || change.action == Action::Delete;
            let mut waits = |change: Option<&Outline>, key: &Key| {
                let waits = undone.contains(key) && !change.is_some_and(ends);
                judgement.put_off.extend(waits.then(|| key.clone()));
                waits
            };
            guarded.go.retain(|change| !waits(Some(change), &change.key));
            guarded.held.retain(|held| !waits(held.change.as_ref(), &held.key));
        }
        outdated::hold_outdated(guarded, &self.decisions.outdated);
        let unset = std::mem::take(&mut leaving.leavers.held).into_iter();
        guarded.held.extend(unset.map(|held| Held { key: held.key, reason: held.reason, change: None, other: None }));
        for (key, reason) in self.sent_by_others(guarded)? {
            guarded.hold_record(key, reason);
        }
        guarded.rejected.extend(undecided.rejected);
        for key in self.rejected_exchanges(guarded)? {
            guarded.hold_record(key, HoldReason::NeedsOwnKey);
        }
        Ok(judgement)
    }

    /// The keys of updates that were rejected, be it by taking back a run, and would make another person of their entity: the one in
    /// the row is not at the service.
    fn rejected_exchanges(&self, guarded: &Guarded<Outline>) -> Result<Vec<Key>, Error> {
        let mut keys = Vec::new();
        if !self.job().mapping.target.has_presence() {
            return Ok(keys);
        }
        for outline in guarded.rejected.iter().filter(|outline| outline.action == Action::Update) {
            let change = self.spill.change(outline)?;
            let mut now = change.wish.fields.clone();
            change.fields.iter().for_each(|(field, delta)| _ = now.insert(field.clone(), delta.from.clone()));
            keys.extend(is_another_person(&now, &change.wish.fields).then_some(change.key));
        }
        Ok(keys)
    }

    /// Puts a person's verdicts on what is held, and returns the keys whose verdict counts though another change is held.
    fn decided(&self, held: Vec<Held<Outline>>) -> (Guarded<Outline>, BTreeSet<Key>) {
        let is_void = |held: &Held<Outline>, verdict: &Verdict| self.decisions.is_void(held, verdict);
        held::decided(held, self.job().writes, &self.decisions.verdicts, is_void)
    }

    /// Puts the limits on changes; `released` are those among what was held before that a person approved.
    fn guard(
        &self,
        changes: Vec<Outline>,
        released: Vec<Outline>,
        leaving: &mut Leaving,
        rows_in: &RowSegments,
    ) -> Result<Guarded<Outline>, Error> {
        let (job, verdicts) = (self.job(), &self.decisions.verdicts);
        let early = leaving.limit.held.take();
        let doubtful = std::mem::take(&mut leaving.leavers.doubtful);
        let reason = if job.source.has_lines() { HoldReason::DoubtfulRow } else { DOUBTFUL_ENTRY.into() };
        let doubtful = self.hold(doubtful, &reason)?;
        let (doubtful, _) = self.decided(doubtful);
        let mut guarded = guard(changes, &job.limits, leaving.base, job.writes, verdicts);
        segments::guard(&mut guarded, job, self.store(), rows_in, &leaving.lately)?;
        if let Some((changes, reason)) = early {
            guarded.hold_leavers(&leaving.limit.due, &reason);
            guarded.held.extend(self.hold(changes, &reason)?);
        }
        let since_change = std::mem::take(&mut leaving.limit.since_change);
        if self.has_other_mapping()? {
            // They wait with all that the change of the job alters.
            for change in since_change {
                guarded.go.push(self.spill.put(change)?);
            }
        } else {
            let due = self.due_since_change(&guarded, leaving)?;
            leaving.missing.iter_mut().for_each(|missing| missing.waiting += due.len() as u64);
            let reason = HoldReason::MappingChanged { people: since_change.len() + due.len() };
            guarded.hold(|change| due.contains(&change.key).then(|| reason.clone()));
            guarded.held.extend(self.hold(since_change, &reason)?);
        }
        guarded.held.extend(doubtful.held);
        guarded.go.extend(released);
        guarded.go.extend(doubtful.go);
        guarded.rejected.extend(doubtful.rejected);
        Ok(guarded)
    }

    /// Holds new records, leavers and who gets another name or email where the rows of known people have slipped: what a row says, or
    /// its key, may be that of the row next to it.
    fn doubt_slipped(&self, guarded: &mut Guarded<Outline>, held: &[Held<Outline>]) -> Result<(), Error> {
        let (mut moved, mut new) = (Vec::new(), Vec::new());
        for held in held.iter().filter(|held| held.reason.doubts_its_key()) {
            match &held.change {
                Some(change) if change.is_known() => moved.push(self.spill.change(change)?.fields),
                Some(change) if change.joins() => new.push(self.spill.change(change)?.wish.fields),
                _ => {}
            }
        }
        let slipped: Vec<&str> =
            Target::IDENTITY.into_iter().filter(|field| has_slipped(&moved, &new, field)).collect();
        if slipped.is_empty() {
            return Ok(());
        }
        let mut renamed = BTreeSet::new();
        for change in guarded.go.iter().filter(|change| change.action == Action::Update) {
            let fields = self.spill.change(change)?.fields;
            renamed.extend(slipped.iter().any(|field| fields.contains_key(*field)).then(|| change.key.clone()));
        }
        let reason = HoldReason::SlippedRows { people: moved.len() as u64 };
        let is_meant = |change: &Outline| change.joins() || change.leaves() || renamed.contains(&change.key);
        guarded.hold(|change| (is_meant(change) && !change.is_approved()).then(|| reason.clone()));
        Ok(())
    }

    /// Who is due to leave and is missing since the files of the job lie elsewhere, as far as no one decided on it.
    fn due_since_change(&self, guarded: &Guarded<Outline>, leaving: &Leaving) -> Result<BTreeSet<Key>, Error> {
        let mut due = BTreeSet::new();
        if !self.has_other_place() {
            return Ok(due);
        }
        for change in guarded.go.iter().filter(|change| change.leaves()) {
            let key = &change.key;
            let is_decided = self.decisions.verdicts.get(key) == Some(&Verdict::Approved(change.wish()));
            let is_missed = leaving.leavers.missed.binary_search_by(|one| one.key.cmp(key)).is_ok();
            if is_missed && !is_decided && is_since_change(self.store(), &self.job().name, &self.index, key)? {
                due.insert(key.clone());
            }
        }
        Ok(due)
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
    fn suspect(&self, judgement: &mut Judgement, leavers: &Leavers) -> Result<(), Error> {
        let (job, Judgement { guarded, mapping_settled, copies: (copies, overtaken), notes, .. }) =
            (self.job(), judgement);
        if self.has_other_mapping()? {
            let altered = guarded.go.iter().filter(|change| !change.is_approved()).count() + guarded.held.len();
            held::hold_all(guarded, &HoldReason::MappingChanged { people: altered });
            *mapping_settled = altered == 0 && self.says_who_leaves();
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
        let old = self.old_statements(found, leavers)?;
        let held = guarded.held.len();
        guarded.hold_leavers(&old, &HoldReason::OldStatement);
        undoing += guarded.held.len() - held;
        notes.extend((undoing > 0).then(|| restored_state::LAID_BACK.to_owned()));
        if let Some(doubt) = &self.older {
            held::hold_all(guarded, &HoldReason::OlderExport(doubt.clone()));
            // What is held says why.
            let is_silent = guarded.held.is_empty() && job.name == job.name.root();
            notes.extend(is_silent.then(|| doubt.to_string()));
        }
        Ok(())
    }

    /// Says so where keys are made of something else than before, for as long as it is asked whose they are.
    fn settle_key(&self, judgement: &mut Judgement) -> Result<(), Error> {
        let asks = judgement.guarded.held.iter().any(|held| held.reason.doubts_its_key());
        // What the mapping alters is not seen while it is asked whose keys are.
        judgement.mapping_settled &= !(asks && self.state.has_other_key(self.job()));
        judgement.key_settled = judgement.mapping_settled && !asks;
        if self.state.has_other_key(self.job()) && (asks || self.has_other_mapping()?) {
            let hint = if self.job().mode == Mode::Full { FIND_AGAIN } else { "" };
            judgement.notes.push(format!("{KEY_CHANGED}{hint}"));
            if self.job().mode == Mode::Full {
                doubt_keys(&mut judgement.guarded.held, |_| Ok(true))?;
            }
        }
        Ok(())
    }

    /// Says so where the state was laid back and it is asked whose keys are: they may be others' by now, as the service has them.
    fn doubt_laid_back(&self, judgement: &mut Judgement) -> Result<(), Error> {
        let Judgement { copies: (copies, overtaken), guarded, notes, .. } = judgement;
        if *copies > 0 && self.job().mode == Mode::Full {
            let is_newer_there = |key: &Key| {
                let known = || SyncedRecord::get(self.store(), &self.job().name, key);
                Ok(overtaken.contains_key(key) || known()?.is_some_and(|known| known.overtaken))
            };
            if doubt_keys(&mut guarded.held, is_newer_there)? > 0 {
                notes.push(format!("{}, {GIVEN_ON}{FIND_AGAIN}", restored_state::LAID_BACK));
            }
        }
        Ok(())
    }

    /// Whether the job ran with another mapping before. One that is new to organizations or memberships ran without any.
    pub(super) fn has_other_mapping(&self) -> Result<bool, Error> {
        let (before, name) = (&self.state.mapping, &self.job().name);
        if before.is_empty() && name.is_part() {
            return Ok(!JobState::load(self.store(), &name.root())?.mapping.is_empty());
        }
        Ok(!before.is_empty() && *before != self.fingerprint)
    }

    /// Whether the files of the job lie elsewhere than before, or its groups are others of the same name.
    pub(super) fn has_other_place(&self) -> bool {
        !self.state.place.is_empty() && self.state.place != self.place
    }

    /// Whether what is read shows who leaves: a file before the last one does not, nor do rows that wait.
    pub(super) fn says_who_leaves(&self) -> bool {
        self.job().inbox.as_ref().is_none_or(|inbox| inbox.reads == Reads::Last)
    }

    /// Who leaves by what was read before the state was laid back for the last time, of `copies`: by a file of everybody that is read
    /// again, which says so or misses them, or by a day that an earlier file of changes named.
    fn old_statements(&self, copies: u64, leavers: &Leavers) -> Result<BTreeSet<Key>, Error> {
        let left = &self.rows.left;
        let mut old = BTreeSet::new();
        match self.job().mode {
            Mode::Full if copies > self.state.copies_read && !self.reads_anew() => {
                old.extend(left.keys().chain(leavers.missed.iter().map(|missed| &missed.key)).cloned());
            }
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

    /// Whether what it reads was not read before.
    pub(super) fn reads_anew(&self) -> bool {
        self.job().inbox.as_ref().is_none_or(|inbox| !inbox.repeats)
    }
}

/// Whether a value goes from one of some known people to another, who does not get that of the other; or from one of several to someone
/// new.
fn has_slipped(moved: &[Deltas], new: &[Values], field: &str) -> bool {
    let text = |value: &Value| value.as_text().map(str::to_lowercase);
    let moves = moved.iter().filter_map(|fields| fields.get(field));
    let moves: BTreeSet<(String, String)> =
        moves.filter_map(|delta| Some((text(&delta.from)?, text(&delta.to)?))).collect();
    let lost: BTreeSet<&String> = moves.iter().map(|(from, _)| from).collect();
    let is_exchanged = |(from, to): &(String, String)| moves.contains(&(to.clone(), from.clone()));
    let goes_to_new = |fields: &Values| fields.get(field).and_then(text).is_some_and(|text| lost.contains(&text));
    let is_one_of_several = moves.len() > 1 && new.iter().any(goes_to_new);
    is_one_of_several || moves.iter().any(|step| step.0 != step.1 && lost.contains(&step.1) && !is_exchanged(step))
}
