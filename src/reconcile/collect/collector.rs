//! Reading the source: which rows are new or changed, which keys are there.

mod earlier;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use jiff::civil::Date;

use super::collected_rows::{CollectedRows, LaterRecords};
use super::duplicates::{Choice, choose};
use super::row_finder::RowFinder;
use super::silent_entries::SilentEntries;
use super::stray_rows::StrayRows;
use super::{fingerprint, rows};
use crate::config::{Job, Mode};
use crate::mapping::{Bound, Mapped, Mapping, Reading};
use crate::plan::{Present, is_another_person, named_by};
use crate::reconcile::model::candidate::{Candidate, Rare, Statement, lines_of};
use crate::reconcile::model::change_spill::ChangeSpill;
use crate::reconcile::model::context::{Context, KeyFilter};
use crate::reconcile::model::due_pairs::DuePairs;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::kept_record::KeptRecord;
use crate::reconcile::restored_state;
use crate::record::{Day, Key, Rejected, RowDefect, Target, Values};
use crate::snapshot::{Index, SyncedRecord};
use crate::source::{Read, Row, SourceState};
use crate::spool::{self, SpillOffset};
use crate::store::{self, Store};

/// No one who is known left more years ago. A year of two digits makes 1999 of the 31.12.9999 by which programs mean no day.
const LAST_DAY_YEARS: i16 = 20;

/// A source as it was read, before rows of one key are held against each other.
pub(crate) struct Collector<'a> {
    job: &'a Job,
    /// Who is asked for.
    narrow: &'a KeyFilter,
    index: &'a Index,
    spill: &'a ChangeSpill,
    candidates: Vec<Candidate>,
    /// What few of them have, by their entries in the spill.
    rare: BTreeMap<SpillOffset, Rare>,
    left: BTreeMap<Key, Statement>,
    /// Further rows that say so of the same keys.
    left_again: Vec<(Key, Statement)>,
    /// Keys whose row does not count yet.
    early: BTreeSet<Key>,
    /// Their rows, with the day from which on each counts.
    early_rows: Vec<(u64, Key, Date)>,
    /// With the lines of their rows, which entries of a directory do not show.
    rejected: Vec<(u64, Rejected)>,
    /// Who those are about, as far as it can be read.
    unusable: Vec<UnusableRow>,
    /// By line: whose membership it is, where its organization can't be read.
    unplaced: BTreeMap<u64, Key>,
    present: Present,
    /// Whose records are those of earlier files.
    earlier: BTreeSet<Key>,
    later: LaterRecords,
    /// Where a file of changes may be an older one: the keys of which something waits that may be newer.
    newer: Option<BTreeSet<Key>>,
    /// The rows of this file that count from a later day on.
    begun: BTreeMap<Key, Vec<(u64, KeptRecord)>>,
    /// What earlier files said of keys of which this one says something else.
    replaced: BTreeMap<Key, KeptRecord>,
    /// Known people of a job of changes who are not at the service any more, with what is known of them.
    lost: BTreeMap<Key, SyncedRecord>,
    /// What the memberships of a job of changes come to, where its records are their members.
    pairs: Option<&'a DuePairs>,
    /// Those with a row that may be about any organization: they keep the memberships that there are.
    unsure: BTreeSet<Key>,
    /// The mapping by which records are kept.
    mapping: String,
    today: Date,
    /// How many copies of the state were laid back so far.
    copies: u64,
    /// By position of the index: the line of the unchanged row; 0 for none.
    lines: Vec<u32>,
    silent: SilentEntries,
    read: Option<Read>,
}

impl<'a> Collector<'a> {
    /// Nothing read yet; records go to `spill`.
    pub(crate) fn new(job: &'a Job, narrow: &'a KeyFilter, index: &'a Index, spill: &'a ChangeSpill) -> Self {
        Self {
            job,
            narrow,
            index,
            spill,
            candidates: Vec::new(),
            rare: BTreeMap::new(),
            left: BTreeMap::new(),
            left_again: Vec::new(),
            early: BTreeSet::new(),
            early_rows: Vec::new(),
            rejected: Vec::new(),
            unusable: Vec::new(),
            unplaced: BTreeMap::new(),
            earlier: BTreeSet::new(),
            later: LaterRecords::default(),
            newer: None,
            begun: BTreeMap::new(),
            replaced: BTreeMap::new(),
            lost: BTreeMap::new(),
            pairs: None,
            unsure: BTreeSet::new(),
            mapping: String::new(),
            today: Date::MIN,
            copies: 0,
            present: Present::none(index),
            lines: vec![0; index.len()],
            silent: SilentEntries::default(),
            read: None,
        }
    }

    /// Whose entities are gone from the service though no file says that they leave, and what the memberships of members come to.
    pub(crate) fn with(self, lost: BTreeMap<Key, SyncedRecord>, pairs: Option<&'a DuePairs>) -> Self {
        Self { lost, pairs, ..self }
    }

    /// Reads the source. `dirty` are positions of the index whose entities the mirror saw change.
    pub(crate) fn read(
        mut self,
        context: &Context<'_>,
        mapping: &Mapping,
        dirty: &BTreeSet<usize>,
        found: Option<&SourceState>,
    ) -> Result<Self, Error> {
        let Self { job, narrow, index, .. } = self;
        let stamp = fingerprint::of_rows(job, mapping);
        self.mapping = fingerprint::of_mapping(job, mapping);
        let today = job.day(context.now_for_leavers());
        self.today = today;
        self.copies = restored_state::copies(context.store)?;
        if job.reads_older_changes() {
            self.newer = Some(self.waiting(context.store)?);
        }
        // Which day counts after that is known once its row is read again.
        let is_dated_again = job.mode == Mode::Changes && self.copies > 0;
        let today_as_day = Day::of(today);
        let mut finder = RowFinder::new(index);
        let mut full = None;
        // A key that is gone has no digest, so none is found; it is asked all the same, for who is back must be looked at.
        let needs_nothing = |at: &usize| {
            let entry = index.entry(*at);
            !narrow.keys.iter().any(|key| key.as_str() == entry.key)
                && !dirty.contains(at)
                && !entry.gone
                && entry.due.is_none_or(|due| !is_dated_again && today_as_day.is_some_and(|today| today < due))
        };
        let mut visit = |row: &Row, bound: &Bound<'_>| {
            let digest = bound.digest(row) ^ stamp;
            if let Some(at) = finder.by_digest(digest).filter(needs_nothing) {
                self.note_unchanged(at, row.line);
                return ControlFlow::Continue(());
            }
            let reading = bound.read(row, Some(today));
            if let Mapped::Record(record) = &reading.mapped
                && let Some(at) = finder.by_key(digest, &record.key).filter(needs_nothing)
            {
                self.note_unchanged(at, row.line);
                return ControlFlow::Continue(());
            }
            let taken = match self.is_silent(context.store, &reading, (row, bound)) {
                Ok(true) => Ok(()),
                Ok(false) => self.take(reading, (row, bound), digest).map_err(Error::from),
                Err(error) => Err(error.into()),
            };
            match taken {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    full = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let read = rows::read(context, job, mapping, found, &mut visit);
        if let Some(error) = full {
            return Err(error);
        }
        let mut read = read?;
        read.notes.extend(self.silent.note());
        self.read = Some(read);
        if job.mode == Mode::Changes {
            self.settle_begun();
        }
        // What an older file says comes after what is known already.
        if self.replaces() {
            self.add_earlier(context.store, today_as_day)?;
        }
        Ok(self)
    }

    /// Whether an entry of a known person that is not included lacks what `include` names and what it had before: that says nothing,
    /// and the person is missing. Notes them.
    fn is_silent(
        &mut self,
        store: &Store,
        reading: &Reading,
        (row, bound): (&Row, &Bound<'_>),
    ) -> Result<bool, store::Error> {
        let (Mapped::Left(key), None) = (&reading.mapped, reading.past) else { return Ok(false) };
        if row.dn().is_none() || self.index.by_key(key.as_str()).is_none() {
            return Ok(false);
        }
        let known = SyncedRecord::get(store, &self.job.name, key)?;
        let lacks: Vec<&str> = bound.lacks(row, known.map_or(0, |known| known.marks.included_by)).collect();
        if lacks.is_empty() {
            return Ok(false);
        }
        self.silent.people += 1;
        self.silent.lack.extend(lacks.into_iter().map(str::to_owned));
        Ok(true)
    }

    fn note_unchanged(&mut self, at: usize, line: u64) {
        self.present.mark(at);
        // No source has that many rows; what a reason says of a line is all that would be wrong.
        self.lines[at] = u32::try_from(line).unwrap_or(u32::MAX);
    }

    fn take(&mut self, reading: Reading, (row, bound): (&Row, &Bound<'_>), digest: u128) -> Result<(), spool::Error> {
        if self.is_overtaken(&reading)
            && let Some(key) = reading.key().or(reading.early.as_ref()).filter(|key| self.narrow.has(key))
        {
            self.reject(key, vec![row.line], &RowDefect::OlderRow);
            return Ok(());
        }
        if self.pairs.is_some_and(|pairs| pairs.unreadable.contains(&row.line)) {
            self.unsure.extend(reading.key().cloned());
        }
        let Reading { mapped, mut marks, early, later, due, past, bad_values, member } = reading;
        if marks.due.is_some() && self.job.mode == Mode::Changes {
            marks.copies = self.copies;
        }
        let line = row.line;
        if let Mapped::Rejected(rejected) = &mapped {
            self.unusable.push(UnusableRow { line, key: rejected.key.clone(), who: bound.identity(row) });
        }
        self.unplaced.extend(member.map(|member| (line, member)));
        if let (Some(key), Some(later)) = (&early, later)
            && self.job.mode == Mode::Changes
            && self.narrow.has(key)
        {
            // No later file says it again.
            match *later {
                Mapped::Record(record) => {
                    let from = due.and_then(Day::of);
                    let record = KeptRecord { from, ..self.kept(record.fields, marks.clone()) };
                    self.begun.entry(key.clone()).or_default().push((line, record));
                }
                Mapped::Rejected(rejected) => {
                    self.rejected.push((line, rejected));
                    return Ok(());
                }
                Mapped::Left(_) | Mapped::Dropped => {}
            }
        }
        if let (Some(key), Some(from)) = (&early, due) {
            self.early_rows.push((line, key.clone(), from));
        }
        self.early.extend(early);
        match mapped {
            // Those who are not asked for are looked at too: one of them may be the same person.
            Mapped::Record(record) => {
                let due = due.and_then(Day::of);
                // A row with values that every run reports is looked at in every run, and so is one that names others, who may be
                // others by now.
                let is_settled = bad_values.is_empty() && self.job.mapping.target != Target::Holder;
                let digest = if is_settled { digest } else { 0 };
                let place = self.spill.put_record(&record.fields, &marks, line, digest)?;
                if due.is_some() || !bad_values.is_empty() {
                    self.rare.insert(place, Rare { due, bad_values });
                }
                self.candidates.push(Candidate { key: record.key, place });
            }
            Mapped::Left(key) if self.narrow.has(&key) => {
                let is_known = self.index.by_key(key.as_str()).is_some();
                // Who left so long ago may be in a list of everybody, and in no other.
                let may_be_never = is_known || self.job.mode == Mode::Changes || self.job.mapping.has_short_years();
                if may_be_never && past.is_some_and(|past| self.today.year() - past.year() > LAST_DAY_YEARS) {
                    let (field, reason) = (Some("active_until".to_owned()), RowDefect::DayLongAgo);
                    let shown = Some(line).filter(|_| self.job.source.has_lines());
                    self.rejected.push((line, Rejected { key: Some(key), line: shown, field, value: None, reason }));
                    return Ok(());
                }
                let who = if is_known { bound.identity(row) } else { Values::new() };
                let statement = Statement { line, is_by_day: past.is_some(), who };
                let before = self.left.insert(key.clone(), statement);
                self.left_again.extend(before.map(|before| (key, before)));
            }
            Mapped::Rejected(rejected) if rejected.key.as_ref().is_none_or(|key| self.narrow.has(key)) => {
                self.rejected.push((line, rejected));
            }
            Mapped::Left(_) | Mapped::Rejected(_) | Mapped::Dropped => {}
        }
        Ok(())
    }

    /// Holds rows of one key against each other (law 8).
    pub(crate) fn resolve_duplicates(mut self, store: &Store) -> Result<CollectedRows, Error> {
        let index = self.index;
        let read = self.read.take().expect("the read has ended");
        self.supersede(&read.superseded)?;
        let statements = self.left.len() as u64;
        let misnamed = self.misnamed(store)?;
        let mut strays = self.strays();
        // The reader counts its own rejected rows among its reasons.
        self.rejected.extend(read.rejected.iter().map(|rejected| (0, rejected.clone())));
        let spoilt: BTreeSet<Key> = self.rejected.iter().filter_map(|(_, rejected)| rejected.key.clone()).collect();
        let kept = self.settle_rows(&spoilt, &mut strays, store)?;
        strays.shared.extend(self.at_odds(&kept, store)?);
        strays.unknown.retain(|key| !strays.shared.contains(key));
        let rejected: BTreeSet<Key> = self.rejected.iter().filter_map(|(_, rejected)| rejected.key.clone()).collect();
        for key in kept.iter().map(|candidate| &candidate.key).chain(&rejected) {
            if let Some(at) = index.by_key(key.as_str()) {
                self.present.mark(at);
            }
            let stated = self.left.remove(key).map(|statement| statement.line);
            // What others' rows say of an organization is right all the same.
            let is_spoilt = rejected.contains(key) && !self.job.is_of_organizations();
            if let Some(line) = stated.filter(|line| *line > 0 && is_spoilt) {
                self.reject(key, vec![line], &RowDefect::OtherRowUnusable);
            }
        }
        if self.replaces() {
            self.later.spoilt.extend(rejected);
        }
        // Who is not to be there yet is not gone; who was there and is gone in between is.
        let early = self.early.iter().filter(|key| !self.left.contains_key(*key));
        for at in early.filter_map(|key| index.by_key(key.as_str())) {
            self.present.mark(at);
        }
        // Any of the memberships of who has a row without an organization may be the one that it means.
        let unplaced: BTreeSet<Key> = std::mem::take(&mut self.unplaced).into_values().collect();
        if !unplaced.is_empty() {
            let member = |at: usize| Key::new(index.entry(at).key)?.member();
            let is_meant = |at: &usize| member(*at).is_some_and(|member| unplaced.contains(&member));
            for at in (0..index.len()).filter(is_meant) {
                self.present.mark(at);
            }
        }
        let unusable = self.named_by_unusable(store)?;
        let lines = &self.lines;
        let unchanged = (0..index.len()).filter(|at| lines[*at] > 0).count() as u64;
        let unsure = &self.unsure;
        self.left.retain(|key, _| !unsure.contains(key) && index.by_key(key.as_str()).is_none_or(|at| lines[at] == 0));
        Ok(CollectedRows {
            read,
            candidates: kept,
            left: self.left,
            misnamed,
            rejected: self.rejected.into_iter().map(|(_, rejected)| rejected).collect(),
            unusable,
            statements,
            present: self.present,
            unchanged,
            strays,
            unplaced,
            lines: self.lines,
            early: self.early_rows,
            earlier: self.earlier,
            later: self.later,
            copies: self.copies,
            rare: self.rare,
        })
    }

    /// The row of each key that counts today; of the keys in `spoilt`, a row can't be used.
    fn settle_rows(
        &mut self,
        spoilt: &BTreeSet<Key>,
        strays: &mut StrayRows,
        store: &Store,
    ) -> Result<Vec<Candidate>, Error> {
        let Self { job, index, spill, .. } = *self;
        self.candidates.sort_unstable_by(|one, other| (&one.key, one.place).cmp(&(&other.key, other.place)));
        self.keep_after_unchanged(store)?;
        let mut kept: Vec<Candidate> = Vec::new();
        let mut rows = std::mem::take(&mut self.candidates).into_iter().peekable();
        while let Some(first) = rows.next() {
            let mut group = vec![first];
            while let Some(next) = rows.next_if(|next| next.key == group[0].key) {
                group.push(next);
            }
            let key = group[0].key.clone();
            let unchanged = index.by_key(key.as_str()).filter(|at| self.lines[*at] > 0);
            // What an earlier file said is in none of its rows, and a row that says what an organization is does so whatever is
            // wrong with the people of others.
            let is_apart = self.earlier.contains(&key) || self.job.is_of_organizations();
            if spoilt.contains(&key) && !is_apart {
                strays.shared.insert(key.clone());
                let mut lines = lines_of(&group, spill)?;
                lines.extend(unchanged.map(|at| u64::from(self.lines[at])));
                self.reject(&key, lines, &RowDefect::OtherRowUnusable);
                self.note_unusable(&group)?;
                self.restore(&key, &mut kept)?;
                unchanged.into_iter().for_each(|at| self.lines[at] = 0);
                continue;
            }
            let known = unchanged.map(|_| SyncedRecord::get(store, &job.name, &key)).transpose()?.flatten();
            let others = self.that_count(&group, known.as_ref())?;
            // What is one row alone is never unclear.
            let all = if group.len() > 1 || unchanged.is_some() { group.clone() } else { Vec::new() };
            let choice = match unchanged {
                None if group.len() == 1 => Choice::Row(group.pop().expect("one row")),
                _ => choose(group, unchanged.map(|at| (self.lines[at].into(), known)), job, spill)?,
            };
            match choice {
                Choice::Unchanged => {
                    self.keep_following(&key, others);
                    continue;
                }
                Choice::Row(row) => {
                    self.keep_following(&key, others);
                    kept.push(row);
                }
                Choice::Unclear(mut lines) => {
                    strays.shared.insert(key.clone());
                    lines.sort_unstable();
                    let reason = differing(job, &lines);
                    self.reject(&key, lines, &reason);
                    self.note_unusable(&all)?;
                    self.take_day_back(&key);
                    self.restore(&key, &mut kept)?;
                }
            }
            unchanged.into_iter().for_each(|at| self.lines[at] = 0);
        }
        Ok(kept)
    }

    /// The rejected rows that may be anybody's, as far as each tells by itself: its key can't be read, is not known to
    /// the job, or is in another row, rejected too or unchanged.
    fn strays(&self) -> StrayRows {
        let mut strays = StrayRows::default();
        let mut met = BTreeSet::new();
        for (line, rejected) in &self.rejected {
            let Some(key) = &rejected.key else {
                strays.unreadable += u64::from(!self.unplaced.contains_key(line));
                continue;
            };
            match self.index.by_key(key.as_str()) {
                None => _ = strays.unknown.insert(key.clone()),
                Some(at) if self.lines[at] > 0 => _ = strays.shared.insert(key.clone()),
                Some(_) => {}
            }
            if !met.insert(key) || self.left.contains_key(key) || self.early.contains(key) {
                strays.shared.insert(key.clone());
            }
        }
        strays
    }

    /// Keys with one row that counts and another that says that the person is gone, the two naming different people. A
    /// person who was hired again has two such rows; so has a person whose number was mistyped as that of a leaver.
    fn at_odds(&self, kept: &[Candidate], store: &Store) -> Result<Vec<Key>, Error> {
        let mut at_odds = Vec::new();
        for (key, statement) in self.left.iter().filter(|(_, statement)| !statement.who.is_empty()) {
            let counted = match kept.binary_search_by(|row| row.key.cmp(key)) {
                Ok(at) => kept[at].open(self.spill)?.0.fields,
                Err(_) if self.is_unchanged(key) => {
                    SyncedRecord::get(store, &self.job.name, key)?.map(|known| known.sent).unwrap_or_default()
                }
                Err(_) => continue,
            };
            if is_another_person(&counted, &statement.who) {
                at_odds.push(key.clone());
            }
        }
        Ok(at_odds)
    }

    /// The lines of rows that say that a known key is gone and name another person. Of several rows of one key such a one counts.
    fn misnamed(&mut self, store: &Store) -> Result<BTreeSet<u64>, store::Error> {
        let again = std::mem::take(&mut self.left_again);
        // Only memberships have several rows of one key that are about different things.
        let counting = self.left.iter().filter(|_| self.job.memberships.is_some());
        let all = again.iter().map(|(key, statement)| (key, statement)).chain(counting);
        let mut misnamed = Vec::new();
        for (key, statement) in all.filter(|(_, statement)| !statement.who.is_empty()) {
            let Some(known) = SyncedRecord::get(store, &self.job.name, key)? else { continue };
            if is_another_person(&known.sent, &statement.who) {
                misnamed.push((key.clone(), statement.clone()));
            }
        }
        let lines = misnamed.iter().map(|(_, statement)| statement.line).collect();
        self.left.extend(misnamed);
        Ok(lines)
    }

    /// Whether a key has an unchanged row.
    fn is_unchanged(&self, key: &Key) -> bool {
        self.index.by_key(key.as_str()).is_some_and(|at| self.lines[at] > 0)
    }

    /// Takes back what rows said that count no more. Who was there is there all the same.
    fn supersede(&mut self, superseded: &[u64]) -> Result<(), spool::Error> {
        if superseded.is_empty() {
            return Ok(());
        }
        let gone: BTreeSet<u64> = superseded.iter().copied().collect();
        let mut lines = lines_of(&self.candidates, self.spill)?.into_iter();
        self.candidates.retain(|_| lines.next().is_none_or(|line| !gone.contains(&line)));
        self.left.retain(|_, statement| !gone.contains(&statement.line));
        self.left_again.retain(|(_, statement)| !gone.contains(&statement.line));
        self.rejected.retain(|(line, _)| !gone.contains(line));
        self.unusable.retain(|row| !gone.contains(&row.line));
        self.unplaced.retain(|line, _| !gone.contains(line));
        self.lines.iter_mut().filter(|line| gone.contains(&u64::from(**line))).for_each(|line| *line = 0);
        Ok(())
    }

    /// Notes who rows are about of which none is used.
    fn note_unusable(&mut self, rows: &[Candidate]) -> Result<(), spool::Error> {
        for row in rows {
            let (record, _) = row.open(self.spill)?;
            let mut who = Values::new();
            for field in Target::IDENTITY {
                record.fields.get(field).into_iter().for_each(|value| _ = who.insert(field.into(), value.clone()));
            }
            self.unusable.push(UnusableRow { line: row.line(self.spill)?, key: Some(record.key), who });
        }
        Ok(())
    }

    /// The names and emails in rows that can't be used, save those of the people whose keys they have: their number may be mistyped.
    fn named_by_unusable(&self, store: &Store) -> Result<BTreeSet<(&'static str, String)>, store::Error> {
        let mut named = BTreeSet::new();
        for UnusableRow { key, who, .. } in &self.unusable {
            let known = key.as_ref().map(|key| SyncedRecord::get(store, &self.job.name, key)).transpose()?.flatten();
            if known.is_none_or(|known| is_another_person(&known.sent, who)) {
                named.extend(named_by(who));
            }
        }
        Ok(named)
    }

    fn reject(&mut self, key: &Key, mut lines: Vec<u64>, reason: &RowDefect) {
        lines.sort_unstable();
        for line in lines {
            let shown = Some(line).filter(|_| self.job.source.has_lines());
            self.rejected.push((line, Rejected::whole(key.clone(), shown, reason.clone())));
        }
    }
}

/// Who a row is about that can't be used.
struct UnusableRow {
    line: u64,
    /// The key that it has, where that can be read.
    key: Option<Key>,
    who: Values,
}

/// Why none of the rows of one key on these lines is used.
fn differing(job: &Job, lines: &[u64]) -> RowDefect {
    if !job.source.has_lines() {
        let entries = lines.len();
        return format!(
            "{entries} entries have this key, with different values; which of them is right? `rosterd explain` shows them"
        )
        .into();
    }
    let listed: Vec<String> = lines.iter().map(u64::to_string).collect();
    RowDefect::RowsDiffer { lines: listed.join(", ") }
}
