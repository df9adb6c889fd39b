//! Which entities the candidates that have none yet, or none any more, lay claim to.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use smol_str::SmolStr;

use super::references::References;
use crate::config::Job;
use crate::mirror::Mirror;
use crate::plan::{
    Correlation, HoldReason, Match, Matcher, Rules, Unclear, Verdict, contradicted, is_named_alike, match_hash,
};
use crate::queue::DECISIONS;
use crate::reconcile::model::candidate::Candidate;
use crate::reconcile::model::change_spill::ChangeSpill;
use crate::reconcile::model::doubtful_rows::{Doubt, DoubtfulRows};
use crate::reconcile::model::error::Error;
use crate::record::{Field, JobName, Key, Record, RemoteId, RowDefect, Target};
use crate::snapshot::{Index, OWNERS, Owner, SYNCED, SyncedRecord};
use crate::store::{self, NextReads, Store};

/// What decides whose an entity is.
pub(crate) struct CorrelationContext<'a> {
    pub(crate) job: &'a Job,
    pub(crate) rules: Rules<'a>,
    /// The jobs of the configuration: an entity of another job counts as free.
    pub(crate) jobs: &'a [JobName],
    /// The others among them that keep people of the same kind.
    pub(crate) alike: &'a [JobName],
    pub(crate) store: &'a Store,
    pub(crate) mirror: &'a Mirror,
    /// What the job knows.
    pub(crate) index: &'a Index,
    /// What is to be looked at, in order of key.
    pub(crate) candidates: &'a [Candidate],
    /// Those among them that are queued already: others are compared with them.
    pub(crate) queued: &'a BTreeSet<Key>,
    /// Where the records lie.
    pub(crate) spill: &'a ChangeSpill,
    /// Finds the entities that records refer to.
    pub(crate) resolver: &'a References<'a>,
    /// By field: the lookup of which nothing is known in this read.
    pub(crate) withheld: &'a BTreeMap<String, String>,
    /// What the read says of a key of this job.
    pub(crate) presence: &'a dyn Fn(&Key) -> RowPresence,
    /// For memberships: the members whose rows can't be trusted.
    pub(crate) doubts: Option<&'a DoubtfulRows>,
    /// For memberships: the organizations whose rows may be about another one.
    pub(crate) doubted_organizations: Option<&'a DoubtfulRows>,
    /// The positions of the index that no row has, save in a file of changes, which misses nearly everybody; and those of which a
    /// row says that they are gone, where the job does not keep them all. In order.
    pub(crate) absent: &'a [usize],
    /// The names and emails in rows that can't be used, by field.
    pub(crate) unusable: &'a BTreeSet<(&'static str, String)>,
    /// People with a change that takes back a run and waits.
    pub(crate) undone: &'a BTreeSet<Key>,
    /// What a person decided.
    pub(crate) verdicts: &'a BTreeMap<Key, Verdict>,
    /// Whether people decided on some of what was held, and not on the rest.
    pub(crate) partly_decided: bool,
    /// The time of the run.
    pub(crate) now: Timestamp,
}

fn place(field: usize) -> u32 {
    u32::try_from(field).expect("they are few")
}

/// What a read says of a key that the job knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowPresence {
    /// A row has it.
    Seen,
    /// No row has it, and the read proves that it is absent (law 1).
    Absent,
    /// No row has it, and the read proves nothing.
    Unknown,
}

/// For how many candidates rows are read at once.
pub(crate) const READ_AHEAD: usize = 1000;

/// The field that several people may share, and that alone does not hand an entity from one key to another (law 6).
const SHARED: &str = "email";

/// What a candidate is found by whose key means its person in every job.
const KEY: &str = "key";

/// Which entities the candidates that have none lay claim to.
#[derive(Default)]
pub(crate) struct Correlator {
    /// Of the candidates that one entity fits, in order of their positions: the field, by its place in `match_on` (behind its end
    /// where it is the key), and the entity. A first run over people who are there has one for everybody.
    one: Vec<(usize, u32, RemoteId)>,
    /// The same as entity and position, in order.
    by_entity: Vec<(RemoteId, usize)>,
    /// Of the candidates that several fit: the field, and the entities.
    many: BTreeMap<usize, (SmolStr, Vec<RemoteId>)>,
    /// By position of a candidate that the service does not have: the field, and another such candidate with its value.
    twins: BTreeMap<usize, (SmolStr, usize)>,
    /// Candidates with nothing in the fields that people are matched by.
    unfindable: BTreeSet<usize>,
    has_new: bool,
    /// The positions of candidates that `match_on` does not find at the service, if the service has any people.
    new: Vec<usize>,
    match_on: Vec<SmolStr>,
    /// Whether the records join other entities.
    links: bool,
}

impl Correlator {
    pub(crate) fn make(context: &CorrelationContext<'_>) -> Result<Self, Error> {
        let CorrelationContext { candidates, job, .. } = *context;
        let match_on = &job.match_on;
        let mut unknown = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            if at % READ_AHEAD == 0 {
                let known = || candidates[at..].iter().take(READ_AHEAD).filter_map(|one| context.known_id(&one.key));
                context.store.read_ahead(|next| known().for_each(|id| context.mirror.will_get(next, id)))?;
            }
            if !context.is_there(&candidate.key)? {
                unknown.push(at);
            }
        }
        let links = context.mirror.target() == Target::Membership;
        let mut claims = Self { match_on: match_on.clone(), links, ..Self::default() };
        if unknown.is_empty() {
            return Ok(claims);
        }
        let mut matcher = Matcher::empty(match_on);
        context.mirror.each(context.store, |entity| matcher.add(entity))?;
        let matcher = matcher.finish();
        let mut new: Vec<Vec<(u64, usize)>> = vec![Vec::new(); match_on.len()];
        for at in unknown {
            let marks = context.marks(&candidates[at])?;
            match matcher.find_by(marks.iter().copied()) {
                Match::None => match context.of_another_job(&candidates[at].key)? {
                    Some(id) => claims.one.push((at, place(match_on.len()), id)),
                    None => claims.claim_nothing(at, &marks, &matcher, &mut new),
                },
                Match::One { by, id } => {
                    let field = match_on.iter().position(|field| *field == by).expect("it is one of them");
                    claims.one.push((at, place(field), id));
                }
                Match::Many { by, ids } => _ = claims.many.insert(at, (by, ids)),
            }
        }
        for (field, marks) in match_on.iter().zip(new) {
            claims.pair_off(field, marks);
        }
        claims.by_entity.extend(claims.one.iter().map(|(at, _, id)| (*id, *at)));
        claims.by_entity.sort_unstable();
        Ok(claims)
    }

    /// Notes whose new records have the same in a field, by what they have in it.
    fn pair_off(&mut self, field: &SmolStr, mut marks: Vec<(u64, usize)>) {
        marks.sort_unstable();
        for pair in marks.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let (one, other) = (pair[0].1, pair[1].1);
            self.twins.entry(other).or_insert_with(|| (field.clone(), one));
            self.twins.entry(one).or_insert_with(|| (field.clone(), other));
        }
    }

    /// Says which rows are read next: those of a candidate, and of its entity.
    pub(crate) fn will_get(&self, next: &mut NextReads, at: usize, context: &CorrelationContext<'_>) {
        let key = &context.candidates[at].key;
        let known = context.known_id(key);
        if known.is_some() {
            SYNCED.will_get(next, &context.job.name, key);
        }
        let found = self.one.binary_search_by_key(&at, |(at, ..)| *at).ok().map(|found| self.one[found].2);
        for id in known.into_iter().chain(found) {
            context.mirror.will_get(next, id);
            OWNERS.will_get(next, &context.mirror.target(), &id);
        }
    }

    /// The candidates that `match_on` does not find at the service; empty if the service has no people.
    pub(crate) fn new_ones<'c>(&'c self, candidates: &'c [Candidate]) -> impl Iterator<Item = &'c Candidate> {
        self.new.iter().map(|at| &candidates[*at])
    }

    /// Their positions.
    pub(crate) fn new_at(&self) -> impl Iterator<Item = usize> {
        self.new.iter().copied()
    }

    /// Whether a candidate may be new.
    pub(crate) fn has_new(&self) -> bool {
        self.has_new
    }

    /// The entities that are claimed, save by candidates that are someone else by what a person said: `is_other` says so of a
    /// position.
    pub(crate) fn entities(&self, is_other: impl Fn(usize) -> bool) -> impl Iterator<Item = RemoteId> {
        let one = self.by_entity.iter().filter(move |(_, at)| !is_other(*at)).map(|(id, _)| *id);
        one.chain(self.many.values().flat_map(|(_, ids)| ids.iter().copied()))
    }

    /// Another candidate that claims an entity.
    fn rival(&self, id: RemoteId, at: usize) -> Option<usize> {
        let first = self.by_entity.partition_point(|(other, _)| *other < id);
        let claims = self.by_entity[first..].iter().take_while(|(other, _)| *other == id);
        claims.map(|(_, other)| *other).find(|other| *other != at)
    }

    fn claim_nothing(&mut self, at: usize, marks: &[Option<u64>], matcher: &Matcher, new: &mut [Vec<(u64, usize)>]) {
        self.has_new = true;
        self.new.extend((!matcher.is_empty()).then_some(at));
        // What joins two that are not there both can't be there.
        if marks.iter().all(Option::is_none) && !self.links {
            self.unfindable.insert(at);
        }
        for (mark, new) in marks.iter().zip(new) {
            new.extend(mark.map(|mark| (mark, at)));
        }
    }

    /// The correlation of a candidate without an entity.
    pub(crate) fn correlation(&self, at: usize, context: &CorrelationContext<'_>) -> Result<Correlation, Error> {
        let candidates = context.candidates;
        if let Some((by, ids)) = self.many.get(&at) {
            return Ok(Correlation::Unclear(Unclear::Ambiguous { by: by.clone(), ids: ids.clone() }));
        }
        let Ok(found) = self.one.binary_search_by_key(&at, |(at, ..)| *at) else {
            return Ok(self.new_one(at, candidates));
        };
        let (_, field, id) = self.one[found];
        let by = self.match_on.get(field as usize).cloned().unwrap_or(KEY.into());
        let owner = context.owner(id, &candidates[at].key)?;
        // What someone has who is there is theirs, however many others have the same value.
        let is_kept = owner
            .as_ref()
            .is_some_and(|owner| owner.job == context.job.name && (context.presence)(&owner.key) == RowPresence::Seen);
        if let Some(other) = self.rival(id, at).filter(|_| !is_kept) {
            return Ok(Correlation::Unclear(Unclear::Contested { id, key: candidates[other].key.clone() }));
        }
        let record = context.record(&candidates[at])?;
        let Some(entity) = context.mirror.get(context.store, id)? else { return Ok(self.new_one(at, candidates)) };
        let is_by_key = by == KEY;
        if !is_by_key && !Matcher::confirmed(&record.fields, &entity, &by) {
            return Ok(self.new_one(at, candidates));
        }
        let contradicted = contradicted(&self.match_on, &by, &record.fields, &entity).filter(|_| !is_by_key);
        let earlier = context.earlier(owner.as_ref(), id)?;
        if let Some(owner) = owner {
            let is_own = owner.job == context.job.name;
            let new_key = || {
                let (field, one) = (by.to_string(), context.mirror.target().noun().to_owned());
                HoldReason::NewKey { field, one, id, key: owner.key.to_string() }
            };
            let presence = if is_own { (context.presence)(&owner.key) } else { RowPresence::Seen };
            let is_weak = by == SHARED || contradicted.is_some();
            // No file of changes says whether the other key is gone.
            let is_open = is_own && presence == RowPresence::Unknown && context.job.reads_changes();
            // It joins the same two, of which one has another key now.
            if is_open && self.links {
                return Ok(Correlation::Matched { by, entity, earlier });
            }
            if is_open && (!is_weak || is_named_alike(&entity, &record.fields)) {
                return Ok(Correlation::Doubtful { reason: new_key(), entity, earlier });
            }
            if is_own && presence != RowPresence::Absent && is_weak {
                return Ok(Correlation::Unclear(Unclear::Shared {
                    by,
                    key: owner.key,
                    seen: presence == RowPresence::Seen,
                }));
            }
            if context.borrows(&owner) && contradicted.is_none() {
                return Ok(Correlation::Borrowed { entity });
            }
            if !is_own || presence != RowPresence::Absent {
                return Ok(Correlation::Unclear(Unclear::Taken { by, id, job: owner.job.to_string(), key: owner.key }));
            }
            if by == SHARED {
                let reason = HoldReason::OnlyShared { field: by.to_string(), id, key: owner.key.to_string() };
                return Ok(Correlation::Doubtful { reason, entity, earlier });
            }
            if context.is_rejected_as(&record.key, id)? {
                return Ok(Correlation::Doubtful { reason: new_key(), entity, earlier });
            }
        }
        if let Some(field) = contradicted {
            let (one, other) = (context.mirror.target().noun().to_owned(), field.to_owned());
            let reason = HoldReason::Contradicted { field: by.to_string(), one, id, other };
            return Ok(Correlation::Doubtful { reason, entity, earlier });
        }
        Ok(Correlation::Matched { by, entity, earlier })
    }

    fn new_one(&self, at: usize, candidates: &[Candidate]) -> Correlation {
        match self.twins.get(&at) {
            Some((by, other)) => {
                Correlation::Unclear(Unclear::Twin { by: by.clone(), key: candidates[*other].key.clone() })
            }
            None if self.unfindable.contains(&at) => Correlation::Unclear(Unclear::Unfindable),
            None => Correlation::New,
        }
    }
}

impl CorrelationContext<'_> {
    /// Why a record must wait unless its entity is known: a field that a new one needs, that it is found by, or that is set
    /// at its creation only, is one of a lookup of which nothing is known.
    pub(crate) fn waits_for(&self) -> Option<(String, RowDefect)> {
        let is_needed = |field: &&Field| {
            field.required || self.job.match_on.contains(&field.name) || self.rules.seed_only.contains(&field.name)
        };
        let mut needed = self.rules.fields.iter().filter(is_needed);
        let (field, lookup) = needed.find_map(|field| Some((field, self.withheld.get(field.name.as_str())?)))?;
        let reason =
            format!("nothing is known of the lookup {lookup}, and a new record needs this field of it; it waits");
        Some((field.name.to_string(), reason.into()))
    }

    /// The record of a candidate with what its entity is found by.
    pub(crate) fn record(&self, candidate: &Candidate) -> Result<Record, Error> {
        let (mut record, _) = candidate.open(self.spill)?;
        // One that can't be resolved is rejected when it is looked at by itself.
        self.resolver.resolve(&mut record)?;
        Ok(record)
    }

    /// The entity that another job has of someone with this key: of who it means in every job, or who is offered to this one.
    fn of_another_job(&self, key: &Key) -> Result<Option<RemoteId>, store::Error> {
        for other in self.alike {
            if let Some(known) = SyncedRecord::get(self.store, other, key)?
                && (key.is_universal() || known.offered() == Some(&self.job.name))
                && self.mirror.person(self.store, &known)?.is_some()
            {
                return Ok(Some(known.id));
            }
        }
        Ok(None)
    }

    /// What the entity of a candidate is found by, for each field of `match_on`.
    pub(crate) fn marks(&self, candidate: &Candidate) -> Result<Vec<Option<u64>>, Error> {
        if !self.resolver.resolves() {
            return Ok(self.spill.marks(candidate.place)?);
        }
        // That is known only when it is known what the record names.
        let fields = self.record(candidate)?.fields;
        Ok(self.job.match_on.iter().map(|field| match_hash(&fields, field)).collect())
    }

    /// What was confirmed of a key of this job.
    pub(crate) fn known(&self, key: &Key) -> Result<Option<SyncedRecord>, store::Error> {
        match self.index.by_key(key.as_str()) {
            Some(_) => SyncedRecord::get(self.store, &self.job.name, key),
            None => Ok(None),
        }
    }

    /// The id under which a key was confirmed.
    fn known_id(&self, key: &Key) -> Option<RemoteId> {
        let at = self.index.by_key(key.as_str())?;
        RemoteId::new(self.index.entry(at).id.into())
    }

    /// Whether a key was confirmed before and the service has its entity.
    fn is_there(&self, key: &Key) -> Result<bool, store::Error> {
        match self.known(key)? {
            Some(known) => Ok(self.mirror.person(self.store, &known)?.is_some()),
            None => Ok(false),
        }
    }

    /// Whether this part of a job uses what another job owns: contractors of two jobs may work for one organization, which
    /// the first of them keeps (law 6).
    pub(crate) fn borrows(&self, owner: &Owner) -> bool {
        self.mirror.target() == Target::Organization && self.job.name.is_part() && owner.job != self.job.name
    }

    /// Whether this job manages organizations themselves, and the owner has one only for the contractors who work for it.
    fn outranks(&self, owner: &Owner) -> bool {
        self.mirror.target() == Target::Organization && !self.job.name.is_part() && owner.job.is_part()
    }

    /// What is wrong with the row of the member of a membership.
    pub(crate) fn doubt_of_member(&self, record: &Record) -> Option<Doubt> {
        let doubts = self.doubts?;
        let member = record.fields.get(Target::MEMBER)?.as_text().and_then(Key::new)?;
        let rejected = doubts.rejected.get(&member).map(|reason| Doubt::Rejected(reason.clone()));
        rejected.or_else(|| doubts.held.get(&member).map(|reason| Doubt::Held(reason.clone())))
    }

    /// What is wrong with the row of the organization of a membership that begins: it may be another one's by its number.
    pub(crate) fn doubt_of_organization(&self, record: &Record) -> Option<Doubt> {
        let organization = record.fields.get(Target::ORGANIZATION)?.as_text().and_then(Key::new)?;
        let doubts = self.doubted_organizations.filter(|_| self.index.by_key(record.key.as_str()).is_none())?;
        let rejected = doubts.rejected.get(&organization).map(|reason| Doubt::Rejected(reason.clone()));
        let waits = || HoldReason::AwaitsDecision { key: organization.to_string() };
        rejected.or_else(|| doubts.held.contains_key(&organization).then(|| Doubt::Held(waits())))
    }

    /// The record that owns an entity, other than `key` of this job, and of a job that still exists and does not offer it.
    pub(crate) fn owner(&self, id: RemoteId, key: &Key) -> Result<Option<Owner>, store::Error> {
        let other = Owner::besides(self.store, self.mirror.target(), id, (&self.job.name, key))?;
        let Some(owner) = other.filter(|owner| self.jobs.contains(&owner.job)) else { return Ok(None) };
        // Whose person is there no more, since the service gave the id to another, owns nothing.
        let known = SyncedRecord::get(self.store, &owner.job, &owner.key)?.filter(|known| known.id == id);
        if let Some(known) = known
            && let Some(now) = self.mirror.get(self.store, id)?
            && known.is_of_another(&now.created)
        {
            return Ok(None);
        }
        if owner.job == self.job.name {
            return Ok(Some(owner));
        }
        let is_offered = owner.offers_to(self.store)?.as_ref() == Some(&self.job.name);
        let is_free = is_offered || self.outranks(&owner) || self.is_of_own_member(id)?;
        Ok(Some(owner).filter(|_| !is_free))
    }

    /// Whether a person said that a record is not that of an entity: that stands, though the key that the entity had is gone by now.
    fn is_rejected_as(&self, key: &Key, id: RemoteId) -> Result<bool, store::Error> {
        let decided = DECISIONS.get(self.store, &self.job.name, key)?;
        Ok(decided.is_some_and(|decided| {
            decided.question.is_some() && decided.id == Some(id) && matches!(decided.verdict, Verdict::Rejected(_))
        }))
    }

    /// What was confirmed of an entity under the key of its owner, where that is one of this job.
    pub(crate) fn earlier(
        &self,
        owner: Option<&Owner>,
        id: RemoteId,
    ) -> Result<Option<Box<SyncedRecord>>, store::Error> {
        let Some(owner) = owner.filter(|owner| owner.job == self.job.name) else { return Ok(None) };
        let known = SyncedRecord::get(self.store, &owner.job, &owner.key)?;
        Ok(known.filter(|known| known.id == id && !known.borrowed).map(Box::new))
    }

    /// Whether an entity is a membership of someone who belongs to this job by now: it came with them.
    fn is_of_own_member(&self, id: RemoteId) -> Result<bool, store::Error> {
        if self.mirror.target() != Target::Membership {
            return Ok(false);
        }
        let Some(entity) = self.mirror.get(self.store, id)? else { return Ok(false) };
        let Some(member) = entity.linked(Target::MEMBER) else { return Ok(false) };
        let owner = Owner::of(self.store, Target::Contractor, member)?;
        Ok(self.resolver.has_found(member) || owner.is_some_and(|owner| owner.job == self.job.name.root()))
    }
}
