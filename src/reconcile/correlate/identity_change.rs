//! Updates that may turn one person into another (law 6).
//!
//! One key stays one person. An update waits for a person where it leaves nothing of both name and email, or gives
//! someone a name, an email or a number that another person at the service has, or gets in the same read; and a new row waits that
//! has the email, the number, or both name and email that an update brings. Columns that were sorted separately, shifted or filled
//! down look like that, and so does a number that was given to a new person. Names are compared by their words: where a template puts
//! them in another order, people who were exchanged in the same read are found all the same.
//!
//! Only changes of the source are questioned: an edit made at the service is set back to what the source says.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use super::correlator::{CorrelationContext, Correlator};
use crate::config::Job;
use crate::plan::{Correlation, HoldReason, Rules, identity_form, identity_hash, is_another_person};
use crate::reconcile::model::error::Error;
use crate::record::{Entity, Field, FieldKind, Key, Record, RemoteId, Target, Value, Values, normalize};
use crate::snapshot::Owner;

/// Who has which name, email and number at the service.
pub(crate) struct People<'a> {
    rules: Rules<'a>,
    /// The fields in which two entities must not become one.
    fields: Vec<SmolStr>,
    /// Who has what, in order, for each field; made when the first update asks for it.
    holders: Option<Vec<Holders>>,
    /// What updates bring.
    brought: Vec<Brought>,
}

/// The digests of the values of a field, and who has them.
type Holders = Vec<(u64, RemoteId)>;

/// A value that an update brings.
struct Brought {
    /// The place of the field.
    place: usize,
    hash: u64,
    /// The position of the candidate.
    at: usize,
    /// The hash of what the entity has there now.
    before: Option<u64>,
}

impl<'a> People<'a> {
    pub(crate) fn new(match_on: &[SmolStr], rules: Rules<'a>) -> Self {
        let names = |field: &&Field| match_on.contains(&field.name) || Target::IDENTITY.contains(&field.name.as_str());
        let plain = |field: &&Field| !matches!(field.kind, FieldKind::Link | FieldKind::Photo);
        let fields = rules.owned().filter(names).filter(plain).map(|field| field.name.clone()).collect();
        Self { rules, fields, holders: None, brought: Vec::new() }
    }

    /// Why an update of the entity that the candidate at a position has may turn it into another person; `None` if nothing
    /// suggests that so far.
    pub(crate) fn another_person(
        &mut self,
        (at, record): (usize, &Record),
        correlation: &Correlation,
        context: &CorrelationContext<'_>,
    ) -> Result<Option<HoldReason>, Error> {
        let Some(update) = Update::of(record, correlation) else { return Ok(None) };
        let brought = self.note_brought(at, &update);
        if self.replaces(&update, context.job) {
            return Ok(Some(HoldReason::AnotherPerson));
        }
        for (place, wanted) in brought {
            if let Some(id) = self.other_holder((place, &wanted), &update, context)? {
                let field = self.fields[place].to_string();
                return Ok(Some(value_of(context.owner(id, &record.key)?, context.job, field, id)));
            }
        }
        Ok(None)
    }

    /// Notes what an update brings that is not asked for: another one may bring the same.
    pub(crate) fn note(&mut self, at: usize, record: &Record, correlation: &Correlation) {
        if let Some(update) = Update::of(record, correlation) {
            self.note_brought(at, &update);
        }
    }

    /// Whether the job may change what tells one person from another.
    pub(crate) fn concern(&self) -> bool {
        !self.fields.is_empty()
    }

    fn replaces(&self, update: &Update<'_>, job: &Job) -> bool {
        self.rules.target.has_presence() && (update.replaces() || update.replaces_besides_key(job))
    }

    /// Notes what an update brings, and returns it: the place of each field and the folded value.
    fn note_brought(&mut self, at: usize, update: &Update<'_>) -> Vec<(usize, String)> {
        let target = self.rules.target;
        let brought = |(place, field): (usize, &SmolStr)| Some((place, update.brings(target, field)?));
        let brought: Vec<(usize, String)> = self.fields.iter().enumerate().filter_map(brought).collect();
        for (place, _) in &brought {
            let (place, field) = (*place, &self.fields[*place]);
            let before = identity_hash(target, &update.entity.fields, field);
            let hash = identity_hash(target, &update.record.fields, field);
            self.brought.extend(hash.map(|hash| Brought { place, hash, at, before }));
        }
        brought
    }

    /// Why updates wait that bring a value into two people at once, or into one while someone new comes with it; and so do
    /// the new ones. People who shared a value before may share another one now; two new ones with one value wait
    /// [anyway](Correlator).
    pub(crate) fn alike(
        mut self,
        claims: &Correlator,
        context: &CorrelationContext<'_>,
    ) -> Result<BTreeMap<Key, HoldReason>, Error> {
        let mut alike = BTreeMap::new();
        if self.brought.is_empty() {
            return Ok(alike);
        }
        self.brought.sort_unstable_by_key(|one| (one.place, one.hash, one.at));
        let key = |at: usize| &context.candidates[at].key;
        let mut wait = |place: usize, one: usize, other: usize| {
            let (field, other) = (self.fields[place].to_string(), key(other).to_string());
            alike.entry(key(one).clone()).or_insert(HoldReason::ValueOfKey { field, key: other });
        };
        for group in self.brought.chunk_by(|one, next| (one.place, one.hash) == (next.place, next.hash)) {
            for one in group {
                let shared = |other: &&Brought| one.before.is_some() && other.before == one.before;
                if let Some(other) = group.iter().find(|other| other.at != one.at && !shared(other)) {
                    wait(one.place, one.at, other.at);
                }
            }
        }
        let place_of = |field: &str| self.fields.iter().position(|one| one == field);
        let places: Vec<Option<usize>> = context.job.match_on.iter().map(|field| place_of(field)).collect();
        let [name, email] = Target::IDENTITY.map(place_of);
        let whole = name.zip(email).filter(|(_, email)| !places.contains(&Some(*email)));
        for at in claims.new_at() {
            let candidate = &context.candidates[at];
            let marks = places.iter().zip(context.marks(candidate)?);
            // A name is matched by as it is, and looked for here by its words.
            let marks = marks.filter(|(place, _)| place.is_none() || **place != name);
            let mut same: Vec<&Brought> =
                marks.filter_map(|(place, hash)| place.zip(hash)).flat_map(|sought| self.who_brings(sought)).collect();
            let matched_name = name.filter(|_| places.contains(&name));
            if matched_name.is_some() || whole.is_some() {
                let (record, _) = candidate.open(context.spill)?;
                let bring = |place: usize| {
                    let hash = identity_hash(self.rules.target, &record.fields, &self.fields[place]);
                    hash.map(|hash| self.who_brings((place, hash))).unwrap_or_default()
                };
                same.extend(matched_name.map(bring).unwrap_or_default());
                // A name alone, or an email that no one is matched by, several may have.
                if let Some((name, email)) = whole {
                    let names = bring(name);
                    same.extend(bring(email).iter().filter(|one| names.iter().any(|other| other.at == one.at)));
                }
            }
            for known in same {
                wait(known.place, at, known.at);
                wait(known.place, known.at, at);
            }
        }
        Ok(alike)
    }

    /// The updates that bring a value, by the place of the field and the hash; once what they bring is in order.
    fn who_brings(&self, sought: (usize, u64)) -> &[Brought] {
        let first = self.brought.partition_point(|one| (one.place, one.hash) < sought);
        let behind = self.brought.partition_point(|one| (one.place, one.hash) <= sought);
        &self.brought[first..behind]
    }

    /// Another entity that has the value that an update would bring into a field.
    fn other_holder(
        &mut self,
        (place, wanted): (usize, &str),
        update: &Update<'_>,
        context: &CorrelationContext<'_>,
    ) -> Result<Option<RemoteId>, Error> {
        let (target, field) = (self.rules.target, self.fields[place].clone());
        let Some(sought) = identity_hash(target, &update.record.fields, &field) else { return Ok(None) };
        let holders = &self.holders(context)?[place];
        let first = holders.partition_point(|(hash, _)| *hash < sought);
        let others = holders[first..].iter().take_while(|(hash, _)| *hash == sought).map(|(_, id)| *id);
        for id in others.filter(|id| *id != update.entity.id) {
            let other = context.mirror.get(context.store, id)?;
            if other.is_some_and(|other| identity_form(target, &field, other.value(&field)).as_deref() == Some(wanted))
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    fn holders(&mut self, context: &CorrelationContext<'_>) -> Result<&[Holders], Error> {
        if self.holders.is_none() {
            let mut all = vec![Vec::new(); self.fields.len()];
            let (target, fields) = (self.rules.target, &self.fields);
            context.mirror.each(context.store, |entity| {
                for (field, holders) in fields.iter().zip(&mut all) {
                    let hash = identity_hash(target, &entity.fields, field);
                    holders.extend(hash.map(|hash| (hash, entity.id)));
                }
            })?;
            all.iter_mut().for_each(|holders| holders.sort_unstable());
            self.holders = Some(all);
        }
        Ok(self.holders.as_deref().expect("they were just made"))
    }
}

/// An update as the source wants it.
struct Update<'u> {
    record: &'u Record,
    entity: &'u Entity,
    /// What was last sent, where that is known.
    sent: Option<&'u Values>,
}

impl<'u> Update<'u> {
    /// What a record updates, if it updates an entity.
    fn of(record: &'u Record, correlation: &'u Correlation) -> Option<Self> {
        match correlation {
            Correlation::Mine { known, entity } => {
                let sent = Some(&known.sent).filter(|sent| !sent.is_empty());
                Some(Self { record, entity, sent })
            }
            Correlation::Matched { entity, .. } => Some(Self { record, entity, sent: None }),
            _ => None,
        }
    }

    /// Whether it leaves nothing of who the source said it is, or of who its entity is where the source said nothing yet. An
    /// edit at the service that shows one of the new values already proves nothing; one that shows all of them leaves
    /// nothing to be replaced.
    fn replaces(&self) -> bool {
        let wanted = &self.record.fields;
        match self.sent {
            None => is_another_person(&self.entity.fields, wanted),
            Some(sent) => {
                let is_there =
                    |field: &str| wanted.get(field).is_none_or(|to| text(self.entity.value(field)) == text(to));
                !Target::IDENTITY.into_iter().all(is_there) && is_another_person(sent, wanted)
            }
        }
    }

    /// Whether it leaves nothing of the name, or the email, where the other one is the key: that one can't become another.
    fn replaces_besides_key(&self, job: &Job) -> bool {
        let other = match Target::IDENTITY.map(|field| job.mapping.is_key(field)) {
            [true, false] => Target::EMAIL,
            [false, true] => Target::NAME,
            _ => return false,
        };
        self.brings(job.mapping.target, other).is_some()
    }

    /// What it brings into a field that was neither there nor sent before.
    fn brings(&self, target: Target, field: &str) -> Option<String> {
        let wanted = self.record.fields.get(field)?;
        let sent = self.sent.and_then(|sent| sent.get(field));
        if wanted == self.entity.value(field) || sent == Some(wanted) {
            return None;
        }
        let wanted = identity_form(target, field, wanted)?;
        let is_there = |value: &Value| identity_form(target, field, value).as_ref() == Some(&wanted);
        (!is_there(self.entity.value(field)) && !sent.is_some_and(is_there)).then_some(wanted)
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_text().map(normalize).filter(|text| !text.is_empty())
}

/// Why a record waits that would get the `field` of the entity of this id, which a record owns or none.
pub(crate) fn value_of(owner: Option<Owner>, job: &Job, field: String, id: RemoteId) -> HoldReason {
    match owner {
        Some(owner) if owner.job == job.name => HoldReason::ValueOfKey { field, key: owner.key.to_string() },
        Some(owner) => HoldReason::ValueOfJob { field, key: owner.key.to_string(), job: owner.job.to_string() },
        None => HoldReason::ValueOfEntity { field, one: job.mapping.target.noun().to_owned(), id },
    }
}
