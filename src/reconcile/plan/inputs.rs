//! What the plan of one part of a job is made from: its state and the rows of its source, and what those say about who is there.

use std::collections::{BTreeMap, BTreeSet};

use super::notes;
use crate::config::{Job, Mode};
use crate::mirror::{Mirror, Removal};
use crate::plan::{Change, Deltas, Held, Outline, Verdict};
use crate::queue;
use crate::reconcile::approval::{held, outdated};
use crate::reconcile::collect::collected_rows::CollectedRows;
use crate::reconcile::collect::collector::Collector;
use crate::reconcile::collect::replica_lag::ReplicaLag;
use crate::reconcile::collect::{fingerprint, lookups, rows};
use crate::reconcile::correlate::references::orphans;
use crate::reconcile::leavers::memberships::{due_pairs, still_joined};
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::candidate::{Candidate, Digests};
use crate::reconcile::model::change_spill::ChangeSpill;
use crate::reconcile::model::context::{Context, KeyFilter, Stage};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_fields::written;
use crate::reconcile::model::job_plan::{Block, JobPlan};
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::kept_record::LATER;
use crate::reconcile::model::part_draft::PartDraft;
use crate::reconcile::model::read_in_place::ReadInPlace;
use crate::reconcile::model::spoilt_keys::SpoiltKeys;
use crate::reconcile::model::state_updates::{RowIs, StateUpdates};
use crate::record::{Action, Day, Field, Key, RemoteId, Target};
use crate::snapshot::{Index, Owner, SyncedRecord};
use crate::source::inbox::{OlderExport, Reads};
use crate::store::{self, Store};

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

impl<'a> JobContext<'a> {
    /// The part of the people, where it comes before this one.
    pub(crate) fn people(&self) -> Option<&'a PartDraft> {
        self.earlier.iter().find(|part| *part.job() == self.job.name.root())
    }
}

/// The state of a part of a job, and the rows of its source.
pub(super) struct Inputs<'a> {
    pub(super) part: JobContext<'a>,
    pub(super) state: JobState,
    pub(super) index: Index,
    /// The fields that the job maps.
    pub(super) mapped: Vec<Field>,
    /// Those, and the ones that it sets in leavers.
    pub(super) written: Vec<Field>,
    pub(super) fingerprint: String,
    /// Where its files lie.
    pub(super) place: String,
    /// By field: the lookup of which nothing is known in this read.
    pub(super) withheld: BTreeMap<String, String>,
    /// What the run says of them.
    pub(super) lost: Vec<String>,
    pub(super) spill: ChangeSpill,
    pub(super) rows: CollectedRows,
    pub(super) lag: ReplicaLag,
    pub(super) decisions: outdated::Decisions,
    read_in_place: Option<ReadInPlace>,
    /// Why what is read seems to be an older export, where it does.
    pub(super) older: Option<OlderExport>,
}

impl<'a> Inputs<'a> {
    /// Reads the state and the source of a part.
    pub(super) fn read(part: JobContext<'a>) -> Result<Self, Error> {
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
        let pairs = due_pairs(context, job)?;
        let mut rows = Collector::new(job, filter, &index, &spill)
            .with(lost(job, (&index, &dirty), mirror, store)?, pairs.as_ref())
            .read(context, &mapping, &dirty, state.found.as_ref())?
            .resolve_duplicates(store)?;
        let (joined, named) = match pairs {
            Some(pairs) => (pairs.standing, pairs.named),
            None => (still_joined(context, job, &rows.left)?, BTreeSet::new()),
        };
        rows.left.retain(|key, _| !joined.contains(key));
        if job.mapping.target == Target::Membership && job.mode == Mode::Changes {
            let own = part.people();
            // What the service lacks may be there another time.
            let is_for_good = |own: &PartDraft, key: &Key| {
                let updates = &own.rest.updates;
                updates.spoilt.concerns(key) || !updates.to_mend.contains(key)
            };
            let unusable = own
                .into_iter()
                .flat_map(|own| own.results.doubts.rejected.keys().filter(|key| is_for_good(own, key)).cloned());
            let unusable: BTreeSet<Key> = unusable.collect();
            let of_line = |line: u64| {
                let rows = &own?.rest.rows;
                rows.binary_search_by_key(&line, |row| row.0).ok().map(|at| rows[at].1.clone())
            };
            rows.drop_halves(&unusable, of_line, &index, &spill)?;
            if job.reads_older_changes() {
                // It ends no day that a newer file named.
                rows.later.undue.clear();
                rows.later.spoilt = SpoiltKeys::default();
            }
        }
        let lag = state.shown.judge(&job.name, &mut rows, &index);
        let written = written(job, &mapping);
        let read_in_place = ReadInPlace::of(job, &rows.read);
        let last = if job.name.is_part() { JobState::load(store, &job.name.root())?.used } else { state.used.clone() };
        let older = read_in_place.as_ref().zip(last.as_ref()).and_then(|(one, last)| one.older_than(last));
        let older = job.inbox.as_ref().and_then(|inbox| inbox.doubt.clone()).or(older);
        let mut decisions = outdated::decided(job, &written, mirror, (store, rows.copies), (filter, older.is_some()))?;
        // Who was rejected, and is named at another organization now, is asked about again.
        for member in named.iter().filter(|member| index.by_key(member.as_str()).is_none()) {
            if let Some(Verdict::Rejected(_)) = decisions.verdicts.get(member) {
                decisions.verdicts.remove(member);
            }
        }
        let lost = &rows.read.lost;
        let (withheld, lost) = (lookups::withheld(&mapping, lost), lookups::reasons(&mapping, lost));
        let (mapped, fingerprint) = (mapping.fields().cloned().collect(), fingerprint::of_mapping(job, &mapping));
        let whole = part.context.config.part(&job.name.root()).unwrap_or(job);
        let place = fingerprint::of_place(whole, job, &rows.read.found);
        Ok(Self {
            part,
            state,
            index,
            mapped,
            written,
            fingerprint,
            place,
            withheld,
            lost,
            spill,
            rows,
            lag,
            decisions,
            read_in_place,
            older,
        })
    }

    pub(super) fn job(&self) -> &'a Job {
        self.part.job
    }

    pub(super) fn store(&self) -> &'a Store {
        self.part.context.store
    }

    pub(super) fn mirror(&self) -> &'a Mirror {
        self.part.mirrors.of(self.job().mapping.target)
    }

    pub(super) fn is_whole(&self) -> bool {
        !self.part.filter.is_narrow()
    }

    /// The records that are asked for and are new or changed.
    pub(super) fn asked(&self) -> impl Iterator<Item = &Candidate> {
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

    /// Why nothing is taken from the source of a job whose people were of another kind: no job would know of those any more.
    pub(super) fn of_another_target(&self) -> Result<Option<Block>, Error> {
        // What joins people to organizations is of the people of the job.
        let Some(job) = self.part.context.config.part(&self.job().name.root()) else { return Ok(None) };
        let Some(before) = JobState::load(self.store(), &job.name)?.target else { return Ok(None) };
        let (now, people) = (job.mapping.target, Index::counts(self.store(), &job.name)?.0);
        Ok((before != now && people > 0).then_some(Block::OfAnotherTarget { before, now, people }))
    }

    /// Why nothing is taken from a source that is too short.
    pub(super) fn too_few_records(&self) -> Option<Block> {
        // A row of a file of changes that says that its person is gone is what such a file is for, and one that can't be used is no sign
        // of a short one; and no filter that lets no one in makes a last day.
        let left = match self.job().mode {
            Mode::Changes => self.rows.statements + self.rows.rejected.len() as u64,
            Mode::Full => self.rows.left.values().filter(|statement| statement.is_by_day).count() as u64,
        };
        // So is one that has only people who begin later.
        let early = self.rows.early_keys().count() as u64;
        let (records, least) = (self.records() + left + early, self.job().limits.min_records);
        (self.is_whole() && records < least).then_some(Block::TooFewRecords { records, least })
    }

    /// Why nothing is taken of memberships: nothing is taken of the rows of the people who have them.
    pub(super) fn nothing_taken_of_people(&self) -> Option<Block> {
        let mut blocks = self.part.people().into_iter().flat_map(|people| &people.rest.blocked);
        blocks.find(|block| block.is_nothing_taken()).cloned()
    }

    /// Whether the read has a row of a known key.
    pub(super) fn is_present(&self, key: &Key) -> bool {
        self.index.by_key(key.as_str()).is_some_and(|at| self.rows.present.has(at))
    }

    /// Whether another file waits after the one that is read: no one leaves by this one.
    pub(super) fn is_superseded(&self) -> bool {
        self.job().inbox.as_ref().is_some_and(|inbox| inbox.reads == Reads::Earlier)
    }

    /// The digest of the source's content.
    pub(super) fn content(&self) -> String {
        format!("{:032x}", self.rows.read.content)
    }

    /// The positions of the keys that no row has.
    fn without_row(&self) -> impl Iterator<Item = usize> {
        (0..self.index.len()).filter(|at| !self.rows.present.has(*at))
    }

    /// Those of which no row says that they are gone.
    pub(super) fn unseen(&self) -> Vec<usize> {
        let left = &self.rows.left;
        let says_so = |at: usize| !left.is_empty() && self.key(at).is_some_and(|key| left.contains_key(&key));
        self.without_row().filter(|at| !says_so(*at)).collect()
    }

    /// The keys with a verdict that the read has a row of; and likewise those with a change that waits, where `all` are asked for.
    pub(super) fn there(&self, all: bool) -> Result<BTreeMap<Key, RowIs>, Error> {
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
        let is_older = self.job().reads_older_changes();
        let is_there = |key: &Key| {
            let is_early = || self.rows.early_keys().any(|early| early == key);
            // A row that says that a membership is over says nothing of its organization.
            let is_over = || self.rows.left.contains_key(key) && !self.job().is_of_organizations();
            let is_said = self.is_present(key) || is_over() || is_early() || self.rows.later.spoilt.concerns(key);
            is_said && !(is_older && rejected.contains(key))
        };
        let is_unusable = |key: &Key| rejected.contains(key) || self.rows.later.spoilt.concerns(key);
        let row = |key: &Key| if is_unusable(key) { RowIs::Rejected } else { RowIs::Usable };
        Ok(keys.into_iter().filter(is_there).map(|key| (key.clone(), row(&key))).collect())
    }

    /// Known keys that a complete read says are gone.
    pub(super) fn gone(&self) -> BTreeSet<Key> {
        self.without_row().filter_map(|at| self.key(at)).chain(self.rows.left.keys().cloned()).collect()
    }

    pub(super) fn key(&self, at: usize) -> Option<Key> {
        Key::new(self.index.entry(at).key)
    }

    /// Keys that had been absent from complete reads and are in this one: their leaver grace starts over. Records that
    /// need nothing are stored as they are now anyway. Where keys are made of something else by now, the row of a key that
    /// is held as another's is no return.
    pub(super) fn returned(
        &self,
        settled: &[(Key, u128)],
        held: &[Held<Outline>],
    ) -> Result<Vec<(Key, SyncedRecord)>, Error> {
        let has_other_key = self.state.has_other_key(self.job());
        let of_others = held.iter().filter(|held| has_other_key && held.reason.doubts_its_key());
        let of_others: BTreeSet<&Key> = of_others.map(|held| &held.key).collect();
        let is_settled = |key: &Key| settled.binary_search_by(|(settled, _)| settled.cmp(key)).is_ok();
        let is_back = |at: &usize| self.index.entry(*at).gone && self.rows.present.has(*at);
        let mut returned = Vec::new();
        for key in (0..self.index.len()).filter(is_back).filter_map(|at| self.key(at)) {
            if is_settled(&key) || of_others.contains(&key) {
                continue;
            }
            if let Some(known) = SyncedRecord::get(self.store(), &self.job().name, &key)? {
                returned.push((key, SyncedRecord { gone: None, ..known }));
            }
        }
        Ok(returned)
    }

    /// People who are gone by an earlier file of changes and were offered to another job, and who are not in this file.
    pub(super) fn offered_before(&self) -> Result<Vec<Key>, Error> {
        let mut offered = Vec::new();
        if self.job().mode == Mode::Full {
            return Ok(offered);
        }
        for key in (0..self.index.len()).filter(|at| self.index.entry(*at).gone).filter_map(|at| self.key(at)) {
            if self.rows.left.contains_key(&key) || self.is_present(&key) {
                continue;
            }
            let known = SyncedRecord::get(self.store(), &self.job().name, &key)?;
            offered.extend(known.filter(|known| known.offered().is_some()).map(|_| key));
        }
        Ok(offered)
    }

    /// The ids of those that this part of the job removed and that the service still has, though it had time to carry that out.
    pub(super) fn not_removed(&self) -> Result<Vec<RemoteId>, Error> {
        let (store, target) = (self.store(), self.mirror().target());
        let now = self.part.context.now_for_leavers();
        let mut ids = Vec::new();
        for (id, removal) in Removal::list(store, target)? {
            let is_due = removal.job == self.job().name && !removal.lasts(now);
            if is_due && self.mirror().get(store, id)?.is_some() && Owner::of(store, target, id)?.is_none() {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// The removals that wait from earlier files of changes, and of which this one says nothing.
    pub(super) fn carried_removals(&self) -> Result<Vec<Change>, Error> {
        let (job, store) = (self.job(), self.store());
        let mut carried = Vec::new();
        if job.mode == Mode::Full {
            return Ok(carried);
        }
        let mut keys = Vec::new();
        queue::briefs(store, &job.name, |change| {
            let waits = change.action == Action::Delete && !change.undoes && !change.state.is_parked();
            keys.extend(waits.then_some(change.key));
        })?;
        let rows = &self.rows;
        let is_said =
            |key: &Key| rows.left.contains_key(key) || self.is_present(key) || self.rows.later.spoilt.concerns(key);
        keys.retain(|key| !is_said(key) && self.part.filter.has(key));
        for waiting in queue::of(store, &job.name, &keys)? {
            let queue::Change { key, wish, marks, approved, .. } = waiting;
            carried.push(Change { key, wish, fields: Deltas::new(), line: None, known: true, approved, marks });
        }
        Ok(carried)
    }

    /// Those of earlier files of an inbox who were rejected and are not at the service, where this read says nothing of them.
    pub(super) fn left_out_before(&self) -> Result<Vec<Key>, Error> {
        let job = self.job();
        let is_silent = |reads: Reads| job.mode == Mode::Changes || reads == Reads::Nothing;
        if !job.inbox.as_ref().is_some_and(|inbox| is_silent(inbox.reads)) {
            return Ok(Vec::new());
        }
        let mut keys = held::left_out(self.store(), job, self.part.context.now_for_leavers())?;
        keys.retain(|key| self.rows.candidates.binary_search_by(|row| row.key.cmp(key)).is_err());
        Ok(keys)
    }

    /// The keys of which a file of changes says that they are gone, and of which the job has nothing. Where it has nothing of a person,
    /// their memberships are not among them.
    fn unknown_gone(&self) -> Result<Vec<Key>, Error> {
        let (job, store, mut unknown) = (self.job(), self.store(), Vec::new());
        if job.mode == Mode::Full || job.is_of_organizations() {
            return Ok(unknown);
        }
        for (key, _) in self.rows.left.iter().filter(|(_, statement)| statement.line > 0) {
            let is_known = self.index.by_key(key.as_str()).is_some()
                || held::HELD.get(store, &job.name, key)?.is_some()
                || queue::get(store, &job.name, key)?.is_some()
                || LATER.get(store, &job.name, key)?.is_some();
            let person = key.member().filter(|_| job.mapping.target == Target::Membership);
            let is_of_no_one = match person {
                Some(person) => SyncedRecord::get(store, &job.name.root(), &person)?.is_none(),
                None => false,
            };
            unknown.extend((!is_known && !is_of_no_one).then(|| key.clone()));
        }
        Ok(unknown)
    }

    /// What the read alone says; `always` are those who are to be looked at in every run.
    pub(super) fn into_plan(self, always: BTreeSet<Key>) -> Result<JobPlan, Error> {
        let JobContext { job, filter, .. } = self.part;
        let rows = match job.inbox {
            Some(_) => self.rows.rows(&self.index, &self.spill)?,
            None => Vec::new(),
        };
        let unknown = filter.unknown(&self.rows, &self.index);
        let unknown_note =
            |key| format!("no row of the source that is included has key {key}, and the job never knew it");
        let gone = notes::unknown_gone_note(&self.unknown_gone()?, job.mapping.target);
        let unusable = notes::unusable_note(self.rows.later.unusable);
        let withdrawn = notes::withdrawn_note(&self.rows.later.taken_back);
        let updates = StateUpdates {
            content: self.content(),
            read_in_place: self.read_in_place.clone().filter(|_| self.older.is_none()),
            today: Day::of(job.day(self.part.context.now_for_leavers())),
            due: self.rows.candidates.iter().filter_map(|one| Some((one.key.clone(), self.rows.due(one)?))).collect(),
            ..StateUpdates::default()
        };
        Ok(JobPlan {
            incomplete: self.rows.read.incomplete().to_vec(),
            records: self.records(),
            unchanged: self.unchanged(),
            rows,
            bad_values: self.asked().flat_map(|one| self.rows.bad_values(one)).cloned().collect(),
            notes: unknown
                .iter()
                .map(unknown_note)
                .chain(lookups::notes(job))
                .chain([unusable, gone, withdrawn].into_iter().flatten())
                .collect(),
            unfinished: !self.lost.is_empty() || self.rows.early_keys().next().is_some(),
            lost: self.lost,
            updates: StateUpdates {
                mapping: self.fingerprint,
                file: Some(self.rows.read.found),
                shown: self.lag.next,
                lookups: lookups::states(job, &self.state),
                digests: Digests::of(self.rows.candidates, filter, always),
                verdicts: self.decisions.verdicts,
                outdated: self.decisions.outdated,
                void: self.decisions.void,
                unknown,
                later: self.rows.later.begun,
                later_ended: self.rows.later.ended,
                undue: self.rows.later.undue,
                spoilt: self.rows.later.spoilt,
                unplaced: self.rows.unplaced,
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

/// The known people of a job of changes who are gone from the service. No later file says again that they are to be there.
fn lost(
    job: &Job,
    (index, dirty): (&Index, &BTreeSet<usize>),
    mirror: &Mirror,
    store: &Store,
) -> Result<BTreeMap<Key, SyncedRecord>, store::Error> {
    let mut lost = BTreeMap::new();
    let is_of_all = job.inbox.as_ref().is_some_and(|inbox| inbox.reads == Reads::Nothing);
    if job.mode != Mode::Changes || is_of_all || job.mapping.target == Target::Holder {
        return Ok(lost);
    }
    // A key has no digest from the run on in which its entity moved until a row of it needs nothing again.
    let has_moved = |at: &usize| dirty.contains(at) || index.entry(*at).digest == 0;
    for key in (0..index.len()).filter(has_moved).filter_map(|at| Key::new(index.entry(at).key)) {
        let known = SyncedRecord::get(store, &job.name, &key)?.filter(|known| known.stays() && !known.borrowed);
        let Some(known) = known.filter(|known| !known.sent.is_empty()) else { continue };
        if mirror.person(store, &known)?.is_some() {
            continue;
        }
        // What is on its way is newer than what was confirmed.
        if queue::get(store, &job.name, &key)?.is_none_or(|change| change.wish.action != Action::Create) {
            lost.insert(key, known);
        }
    }
    Ok(lost)
}
