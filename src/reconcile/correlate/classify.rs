//! Classifies candidates: what each is at the service, and what it needs.
//!
//! Each takes four steps: `validate` opens the record and fits it to the service's lists, `correlate` finds what it is,
//! `observe` notes what that says about others, and `plan::decide` says what it needs. What may be about another person
//! than its key is held at the end, when all names were seen.

use std::collections::{BTreeMap, BTreeSet};

use super::correlator::{CorrelationContext, Correlator, READ_AHEAD};
use super::fit::Fitting;
use super::identity_change::People;
use super::in_doubt::{InDoubt, RowsInDoubt, is_approved, strangers};
use super::moved_names::MovedNames;
use super::same_name::SameName;
use crate::plan::{
    Correlation, Decision, Held, HoldReason, Judged as _, OnDrift, Outline, Rules, Subject, Unclear, Verdict, decide,
    is_another_person, named_by,
};
use crate::queue::DECISIONS;
use crate::reconcile::approval::held::HELD;
use crate::reconcile::model::candidate::Candidate;
use crate::reconcile::model::context::KeyFilter;
use crate::reconcile::model::doubtful_rows::Doubt;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::row_segments::RowSegments;
use crate::record::{Action, Entity, Field, JobName, Key, Record, Rejected, RemoteId, RowMetadata, Target, Value};
use crate::snapshot::SyncedRecord;
use crate::store;

/// What the candidates need.
#[derive(Default)]
pub(crate) struct Classified {
    pub(crate) changes: Vec<Outline>,
    pub(crate) held: Vec<Held<Outline>>,
    pub(crate) rejected: Vec<Rejected>,
    /// Values that the service can't take, of records that count all the same.
    pub(crate) bad_values: Vec<Rejected>,
    /// Candidates that need nothing, with the digests of their rows, in order of key.
    pub(crate) settled: Vec<(Key, u128)>,
    /// By field: how many were found by it, the first time.
    pub(crate) matched_by: BTreeMap<String, u64>,
    /// How many of those that were found the first time this job knows under a key that is gone.
    pub(crate) rekeyed: u64,
    /// Entities that were found the first time.
    pub(crate) matched: Vec<RemoteId>,
    /// The same by key, where other parts of the job refer to them.
    pub(crate) found: BTreeMap<Key, RemoteId>,
    pub(crate) segments: RowSegments,
    /// Keys whose rows may be about another person than the one that the job knows by them, and why.
    pub(crate) doubtful: BTreeMap<Key, HoldReason>,
    /// Entities that a record of this read claims, rightly or not: none of them is removed.
    pub(crate) claimed: BTreeSet<RemoteId>,
    /// Those among them who are missing and stay, as a row that is in doubt has their name or email.
    pub(crate) named: BTreeMap<RemoteId, HoldReason>,
    /// People with a change that takes back a run and waits.
    pub(crate) undone: BTreeSet<Key>,
    /// Of them: the wish with which they would be made again by their record as it is now.
    pub(crate) made_again: BTreeMap<Key, u64>,
    /// Fields that were edited at the service and stay so, by key, if the job names them.
    pub(crate) drift: BTreeMap<Key, Vec<String>>,
    /// Known people that another record may be, under a mistyped key.
    pub(crate) mistaken: BTreeSet<Key>,
    /// Those whose photo is gone from the source and stays at the service.
    pub(crate) photos_left: BTreeSet<Key>,
    /// By job and field: how many new records have the value of one of its people, and neither their name nor their email.
    pub(crate) of_others: BTreeMap<(String, String), usize>,
    /// Of organizations that another job owns: what this job would have otherwise, by that job and key.
    pub(crate) lent: BTreeMap<JobName, BTreeMap<Key, Vec<String>>>,
}

impl Classified {
    /// Whether something could not be used: what the service does not have, or a lookup, may be there another time.
    pub(crate) fn waits_for_others(&self) -> bool {
        !(self.rejected.is_empty() && self.bad_values.is_empty())
    }

    /// Notes what stays at the service though the source says otherwise.
    fn note_edits(&mut self, record: &Record, known: &SyncedRecord, entity: &Entity, rules: Rules<'_>) {
        let drifted = match rules.on_drift {
            OnDrift::Report => rules.drifted(&record.fields, known, entity),
            OnDrift::Overwrite | OnDrift::Keep => Vec::new(),
        };
        if !drifted.is_empty() {
            self.drift.insert(record.key.clone(), drifted.into_iter().map(str::to_owned).collect());
        }
        if known.has_stale_photo(&record.fields) {
            self.photos_left.insert(record.key.clone());
        }
    }
}

/// Takes what is to be remembered of a candidate that needs nothing.
pub(crate) type Remember<'a> = dyn FnMut(Key, SyncedRecord) -> Result<(), store::Error> + 'a;

/// Correlates each candidate that is asked for and decides what it needs.
pub(crate) fn classify(
    context: &CorrelationContext<'_>,
    state: &JobState,
    narrow: &KeyFilter,
    remember: &mut Remember<'_>,
) -> Result<Classified, Error> {
    let mut classifier = Classifier::new(context, state)?;
    let is_asked = |key: &Key| narrow.has(key) && !context.queued.contains(key);
    for (at, candidate) in context.candidates.iter().enumerate() {
        if at % READ_AHEAD == 0 {
            let last = context.candidates.len().min(at + READ_AHEAD);
            let (claims, all) = (&classifier.claims, classifier.looks_at_all());
            let asked = || (at..last).filter(|at| all || is_asked(&context.candidates[*at].key));
            context.store.read_ahead(|next| asked().for_each(|at| claims.will_get(next, at, context)))?;
        }
        if is_asked(&candidate.key) {
            classifier.one(at, candidate, remember)?;
        } else if classifier.looks_at_all() {
            // Their names may come from those who are asked for, go to them, or be the same.
            let (record, _) = candidate.open(context.spill)?;
            let found = classifier.found(at)?;
            classifier.names.note(at, &record, &found);
            classifier.people.note(at, &record, &found);
        }
    }
    classifier.finish()
}

/// What the candidates are compared with, and what came of them so far.
struct Classifier<'a> {
    context: &'a CorrelationContext<'a>,
    fitting: Fitting<'a>,
    claims: Correlator,
    same_name: SameName,
    people: People<'a>,
    names: MovedNames,
    /// Keys whose records may be about another person, and why.
    suspects: BTreeMap<Key, HoldReason>,
    /// The names and emails in rows of which it is not sure who they are: a missing person who has one of them may be in
    /// such a row under a mistyped number. With the key of the row, where that is another known person's.
    doubted: BTreeMap<(&'static str, String), Option<Key>>,
    /// Records of which it is asked whether they are the person who is an entity, by position.
    questions: Vec<(usize, RemoteId)>,
    /// The names and emails in rows that can't be used, by field.
    unusable: BTreeSet<(&'static str, String)>,
    result: Classified,
}

/// A record that the service can take.
struct Valid {
    record: Record,
    marks: RowMetadata,
    /// The line of its row, if its source has lines.
    line: Option<u64>,
    /// What it joins, where it is a membership or a holder.
    pair: Option<Value>,
    has_bad_values: bool,
}

impl Valid {
    /// Whether it joins others than an entity does.
    fn is_of_others(&self, entity: &Entity) -> bool {
        self.pair.as_ref().is_some_and(|pair| pair != entity.value(Target::COMPOSITE))
    }
}

impl<'a> Classifier<'a> {
    fn new(context: &'a CorrelationContext<'a>, state: &JobState) -> Result<Self, Error> {
        let claims = Correlator::make(context)?;
        Ok(Self {
            context,
            fitting: Fitting::new(context.job, context.rules.fields, context.mirror)?,
            same_name: SameName::make(state, context, &claims)?,
            people: People::new(&context.job.match_on, context.rules),
            names: MovedNames::new(context.rules),
            suspects: BTreeMap::new(),
            doubted: BTreeMap::new(),
            questions: Vec::new(),
            unusable: context.unusable.clone(),
            result: Classified::default(),
            claims,
        })
    }

    /// Whether the records that are not asked for say something about those that are.
    fn looks_at_all(&self) -> bool {
        self.names.concern() || self.people.concern()
    }

    fn one(&mut self, at: usize, candidate: &Candidate, remember: &mut Remember<'_>) -> Result<(), Error> {
        let Some(valid) = self.validate(candidate)? else { return Ok(()) };
        let correlation = self.correlate(at, &valid)?;
        if !matches!(correlation, Correlation::Mine { .. } | Correlation::Borrowed { .. })
            && let Some(waits) = self.context.waits_for()
        {
            self.result.rejected.push(self.fitting.rejected(&valid.record.key, valid.line, waits));
            return Ok(());
        }
        if let Correlation::Mine { entity, .. } = &correlation
            && valid.is_of_others(entity)
        {
            let reason =
                "it means another holder or certification than before; where the key does not hold both, let it, \
                          and where the name or the email is another's by now, give the row another key"
                    .into();
            let (key, line) = (Some(valid.record.key), valid.line);
            self.result.rejected.push(Rejected { key, line, field: None, value: None, reason });
            return Ok(());
        }
        if self.names.concern() {
            self.names.note(at, &valid.record, &correlation);
        }
        let other = self.people.another_person((at, &valid.record), &correlation, self.context)?;
        let (correlation, other) = match (correlation, other) {
            // Their number may have been given to someone new, who has a key of their own.
            (Correlation::Matched { entity, earlier, .. }, Some(reason @ HoldReason::AnotherPerson)) => {
                (Correlation::Doubtful { reason, entity, earlier }, None)
            }
            found => found,
        };
        self.observe(at, &valid, &correlation)?;
        self.note_made_again(&valid, &correlation);
        let Valid { record, marks, line, has_bad_values, .. } = valid;
        let subject = Subject { record, line, marks };
        let decision = decide(subject, correlation, self.context.rules);
        if let (Decision::Change(change), Some(reason)) = (&decision, other)
            && change.wish.action == Action::Update
        {
            self.suspects.insert(change.key.clone(), reason);
        }
        self.take(decision, candidate, has_bad_values, remember)
    }

    /// The record of a candidate, fitted to what the service has; `None` if it can't be used, which is noted.
    fn validate(&mut self, candidate: &Candidate) -> Result<Option<Valid>, Error> {
        let (mut record, marks) = candidate.open(self.context.spill)?;
        let line = match self.context.job.source.has_lines() {
            true => Some(candidate.line(self.context.spill)?).filter(|line| *line > 0),
            false => None,
        };
        let bad_before = self.result.bad_values.len();
        let fault = match self.fitting.fit(&mut record, line, &mut self.result.bad_values) {
            Some(fault) => Some(fault),
            None => self.context.resolver.resolve(&mut record)?,
        };
        let has_bad_values = self.result.bad_values.len() > bad_before;
        let pair = record.fields.remove(Target::COMPOSITE);
        let doubt = self.context.doubt_of_member(&record).or_else(|| self.context.doubt_of_organization(&record));
        match (doubt, fault) {
            (Some(Doubt::Held(reason)), _) => {
                self.result.held.push(Held { key: record.key, reason, change: None, other: None });
            }
            (Some(Doubt::Rejected(reason)), _) => {
                self.result.rejected.push(Rejected { key: Some(record.key), line, field: None, value: None, reason });
            }
            (None, Some(fault)) => {
                let known = self.context.known(&record.key)?;
                if known.is_none_or(|known| is_another_person(&known.sent, &record.fields)) {
                    self.unusable.extend(named_by(&record.fields));
                }
                self.result.rejected.push(self.fitting.rejected(&record.key, line, fault));
            }
            (None, None) => return Ok(Some(Valid { record, marks, line, pair, has_bad_values })),
        }
        Ok(None)
    }

    /// What a candidate is at the service.
    fn correlate(&self, at: usize, valid: &Valid) -> Result<Correlation, Error> {
        let context = self.context;
        let candidate = &context.candidates[at];
        Ok(match self.found(at)? {
            Correlation::New => self.same_name.of(candidate, context)?,
            // Another entity may show the same person: a copy of this one, or one whose key was wrong until now.
            Correlation::Vanished { known } => match self.same_name.of(candidate, context)? {
                Correlation::New => Correlation::Vanished { known },
                found => found,
            },
            Correlation::Mine { known, entity } if known.borrowed || context.rules.target == Target::Organization => {
                match context.owner(known.id, &candidate.key)?.filter(|owner| context.borrows(owner)) {
                    Some(_) => Correlation::Borrowed { entity },
                    // Its owner is no more: it is this job's as if it were found now.
                    None if known.borrowed => {
                        Correlation::Matched { by: context.job.match_on[0].clone(), entity, earlier: None }
                    }
                    None => Correlation::Mine { known, entity },
                }
            }
            // One of the two was created again, so this membership joins an entity that is gone.
            Correlation::Mine { known, entity }
                if context.rules.target == Target::Membership && valid.is_of_others(&entity) =>
            {
                Correlation::Vanished { known }
            }
            // A certificate of someone who was made again is that of an id that is gone.
            Correlation::Mine { known, entity }
                if context.rules.target == Target::Holder
                    && valid.is_of_others(&entity)
                    && context.resolver.is_orphan(&entity)? =>
            {
                Correlation::Vanished { known }
            }
            found => found,
        })
    }

    /// The entity of a candidate by its key, or else by what it is matched by.
    fn found(&self, at: usize) -> Result<Correlation, Error> {
        let context = self.context;
        let Some(known) = context.known(&context.candidates[at].key)? else {
            return self.claims.correlation(at, context);
        };
        if let Some(entity) = context.mirror.person(context.store, &known)? {
            return Ok(Correlation::Mine { known, entity });
        }
        // They may have been created again there.
        Ok(match self.claims.correlation(at, context)? {
            Correlation::New => Correlation::Vanished { known },
            found => found,
        })
    }

    /// Notes what a record says besides what it needs.
    fn observe(&mut self, at: usize, valid: &Valid, correlation: &Correlation) -> Result<(), Error> {
        let (context, rules, result) = (self.context, self.context.rules, &mut self.result);
        let key = &valid.record.key;
        match correlation {
            Correlation::Doubtful { entity, .. } => self.questions.push((at, entity.id)),
            Correlation::Unclear(unclear) => {
                self.doubted.extend(named_by(&valid.record.fields).map(|named| (named, None)));
                result.mistaken.extend(unclear.owner(context.job.name.as_str()).cloned());
                if let Unclear::Taken { by, id, job, .. } = unclear
                    && let Some(entity) = context.mirror.get(context.store, *id)?
                    && is_another_person(&entity.fields, &valid.record.fields)
                {
                    *result.of_others.entry((job.clone(), by.to_string())).or_default() += 1;
                }
            }
            Correlation::Matched { by, entity, earlier } => {
                *result.matched_by.entry(by.to_string()).or_default() += 1;
                result.matched.push(entity.id);
                result.rekeyed += u64::from(earlier.is_some());
                if matches!(rules.target, Target::Contractor | Target::Organization) {
                    result.found.insert(key.clone(), entity.id);
                }
                if context.job.mapping.segment.is_some() {
                    result.segments.matched.insert(key.clone(), valid.marks.segment.clone());
                }
                if let Some(known) = earlier {
                    result.note_edits(&valid.record, known, entity, rules);
                }
            }
            Correlation::Borrowed { entity } => {
                result.found.insert(key.clone(), entity.id);
                let differs = |field: &&Field| {
                    let wanted = valid.record.fields.get(&field.name);
                    wanted.is_some_and(|wanted| !field.kind.same(wanted, entity.value(&field.name)))
                };
                let fields: Vec<String> = rules.owned().filter(differs).map(|field| field.name.to_string()).collect();
                if let Some(owner) = context.owner(entity.id, key)?.filter(|_| !fields.is_empty()) {
                    result.lent.entry(owner.job.root()).or_default().insert(key.clone(), fields);
                }
            }
            Correlation::Mine { known, entity } => {
                result.note_edits(&valid.record, known, entity, rules);
            }
            Correlation::Vanished { .. } | Correlation::New => {}
        }
        Ok(())
    }

    /// Notes the wish by which the source would make someone again, once what takes back a run has removed them. The row of another
    /// person is none.
    fn note_made_again(&mut self, valid: &Valid, correlation: &Correlation) {
        let Valid { record, marks, line, .. } = valid;
        if self.context.rules.target.has_presence() && self.context.undone.contains(&record.key) {
            let is_other = matches!(
                correlation,
                Correlation::Mine { entity, .. } if is_another_person(&entity.fields, &record.fields)
            );
            let subject = Subject { record: record.clone(), line: *line, marks: marks.clone() };
            if let Decision::Change(made) = decide(subject, Correlation::New, self.context.rules)
                && !is_other
            {
                self.result.made_again.insert(made.key.clone(), made.wish.digest());
            }
        }
    }

    /// Puts aside what a candidate needs.
    fn take(
        &mut self,
        decision: Decision,
        candidate: &Candidate,
        has_bad_values: bool,
        remember: &mut Remember<'_>,
    ) -> Result<(), Error> {
        let (spill, result) = (self.context.spill, &mut self.result);
        let has_segments = self.context.job.mapping.segment.is_some();
        let RowSegments { matched, settled } = &mut result.segments;
        let mut keep = |known: Option<SyncedRecord>| {
            let Some(known) = known else { return Ok(()) };
            if has_segments && !matched.contains_key(&candidate.key) {
                settled.insert(candidate.key.clone(), known.marks.segment.clone());
            }
            remember(candidate.key.clone(), known)
        };
        match decision {
            Decision::Settled { remember } => {
                keep(remember)?;
                // Who is to be named in every run must be looked at in every run.
                let is_told = result.drift.contains_key(&candidate.key)
                    || result.photos_left.contains(&candidate.key)
                    || has_bad_values
                    || result.lent.values().any(|lent| lent.contains_key(&candidate.key));
                let digest = if is_told { 0 } else { candidate.digest(spill)? };
                result.settled.push((candidate.key.clone(), digest));
            }
            Decision::Photo { change, remember } => {
                keep(remember)?;
                result.changes.push(spill.put(change)?);
            }
            Decision::Change(change) => {
                // Where nothing but what the source says becomes of a record, it lies in the spill already.
                let is_as_read =
                    !has_bad_values && self.fitting.checkboxes.is_empty() && !self.context.resolver.resolves();
                result.changes.push(match change.wish.action {
                    Action::Create if is_as_read => spill.made(&change, candidate.place),
                    _ => spill.put(change)?,
                });
            }
            Decision::Held(held) => result.held.push(held.map(&mut |change| spill.put(change))?),
        }
        Ok(())
    }

    /// Holds the changes of records that may be about another person than their key.
    fn finish(self) -> Result<Classified, Error> {
        let Self { context, claims, names, people, questions, unusable, mut suspects, mut doubted, mut result, .. } =
            self;
        let others = others(&result.held, context)?;
        result.claimed.extend(claims.entities(|at| others.contains(&context.candidates[at].key)));
        for (at, id) in questions {
            let candidate = &context.candidates[at];
            if !others.contains(&candidate.key) {
                result.claimed.insert(id);
                doubted.extend(named_by(&candidate.open(context.spill)?.0.fields).map(|named| (named, None)));
                let owner = context.owner(id, &candidate.key)?.filter(|owner| owner.job == context.job.name);
                result.mistaken.extend(owner.map(|owner| owner.key));
            }
        }
        let (moved, alike) = (names.reasons(&claims, context)?, people.alike(&claims, context)?);
        for (key, reason) in moved.into_iter().chain(alike).chain(asked_before(&result.changes, context)?) {
            suspects.entry(key).or_insert(reason);
        }
        for change in result.changes.extract_if(.., |change| suspects.contains_key(&change.key)) {
            let (key, action) = (change.key.clone(), change.action);
            let reason = &suspects[&key];
            let mut held = Held::change(change, reason);
            if action == Action::Update {
                let row = context.candidates.binary_search_by(|candidate| candidate.key.cmp(&key));
                let row = &context.candidates[row.expect("every change is one of a candidate")];
                if !is_approved(&held, context)? {
                    let (record, _) = row.open(context.spill)?;
                    doubted.extend(named_by(&record.fields).map(|named| (named, Some(key.clone()))));
                }
                result.doubtful.insert(key.clone(), reason.clone());
                held.other = Some(Box::new(Held { key, reason: HoldReason::NeedsOwnKey, change: None, other: None }));
            }
            result.held.push(held);
        }
        result.held.sort_by(|one, other| one.key.cmp(&other.key));
        let strangers = strangers(&result.held, context)?;
        let InDoubt { kept, reasons } = RowsInDoubt { doubted, unusable, strangers }.about(context)?;
        result.claimed.extend(kept);
        result.named.extend(reasons);
        Ok(result)
    }
}

/// Why changes wait on that were asked about together with others: those were decided on, or are right by now, while these are as they
/// were, or were rejected.
fn asked_before(changes: &[Outline], context: &CorrelationContext<'_>) -> Result<Vec<(Key, HoldReason)>, store::Error> {
    let (store, job) = (context.store, &context.job.name);
    let mut asked = Vec::new();
    for change in changes.iter().filter(|change| change.action == Action::Update || context.partly_decided) {
        let is_rejected = context.verdicts.get(&change.key) == Some(&Verdict::Rejected(change.wish()));
        let question = match is_rejected {
            true => DECISIONS.get(store, job, &change.key)?.and_then(|decided| decided.question),
            false if context.partly_decided => {
                let held = HELD.get(store, job, &change.key)?;
                held.filter(|held| held.alone && held.wish == change.wish()).map(|held| held.reason)
            }
            false => None,
        };
        let is_open = |reason: &HoldReason| reason.doubts_its_key() || reason.asks_for_two();
        asked.extend(question.filter(is_open).map(|reason| (change.key.clone(), reason)));
    }
    Ok(asked)
}

/// The keys of records of which a person said that they are someone else than the entity that they may be: what they may be does
/// not keep its owner from leaving.
fn others(held: &[Held<Outline>], context: &CorrelationContext<'_>) -> Result<BTreeSet<Key>, store::Error> {
    let mut others = BTreeSet::new();
    for (one, other) in held.iter().filter_map(|one| Some((one, one.other.as_ref()?))) {
        let Some(decided) = DECISIONS.get(context.store, &context.job.name, &one.key)? else { continue };
        // Who was said not to be two people may still be asked whether they are one.
        if decided.question.as_ref().is_some_and(HoldReason::asks_for_two) {
            continue;
        }
        let wish = |held: &Held<Outline>| held.change.as_ref().map(Outline::wish);
        let is_other = match decided.verdict {
            Verdict::Rejected(wanted) => [wish(one), wish(other)].contains(&Some(wanted)),
            Verdict::Approved(wanted) => decided.is_answer && wish(other) == Some(wanted),
        };
        others.extend(is_other.then(|| one.key.clone()));
    }
    Ok(others)
}

/// The keys that the job doesn't know of rows that can't be used for what the service has: any of them may be mistyped.
pub(crate) fn strange(context: &CorrelationContext<'_>) -> Result<BTreeSet<Key>, Error> {
    let fitting = Fitting::new(context.job, context.rules.fields, context.mirror)?;
    let mut strange = BTreeSet::new();
    let all_wait = context.waits_for().is_some();
    for candidate in context.candidates.iter().filter(|one| context.index.by_key(one.key.as_str()).is_none()) {
        let (mut record, _) = candidate.open(context.spill)?;
        let fits = fitting.fit(&mut record, None, &mut Vec::new()).is_none();
        if all_wait || !fits || context.resolver.resolve(&mut record)?.is_some() {
            strange.insert(record.key);
        }
    }
    Ok(strange)
}
