//! Who has the names in a job's `protect`.
//!
//! A person may get another number or another email, and is protected all the same: the one who had a name last is remembered, and
//! each run says that it is not theirs any more. Where someone else has it by now, that person is protected, too.
//!
//! Rejected: to say so and no more. The run that says it may be the one that removes the person. Rejected, too: to protect the other
//! person instead. No one was asked whether the one who was meant may leave.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::inputs::Inputs;
use crate::mirror::Mirror;
use crate::plan::{ProtectedPerson, Protection};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::record::{Entity, Key, RemoteId, Target, normalize};
use crate::snapshot::{Index, Owner, SyncedRecord};

/// Who has the names in `protect`.
#[derive(Default)]
pub(super) struct ProtectedNames<'a> {
    /// By name, those who have it, or had it last.
    pub(super) people: BTreeMap<String, Vec<ProtectedPerson>>,
    /// Names that people had last and have no more, with what these are called now.
    pub(super) former: Vec<(&'a str, String)>,
    /// Names that no one has, and no one is known to have had.
    pub(super) unknown: Vec<&'a str>,
}

/// Who has a name.
#[derive(Default)]
struct Holders {
    people: Vec<ProtectedPerson>,
    /// Whether there may be others: someone who is not at the service yet, or whose email no mirror has.
    may_be_more: bool,
}

impl<'a> Inputs<'a> {
    /// Finds out who has the names in the job's `protect`. Before the first run, and after a rebuild, no one is known.
    pub(super) fn protected(&self) -> Result<ProtectedNames<'a>, Error> {
        let (job, mut names) = (self.job(), ProtectedNames::default());
        if self.index.is_empty() || job.name.is_part() {
            names.people.clone_from(&self.state.protects);
            return Ok(names);
        }
        for name in job.protect.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            let folded = normalize(name);
            let (mut people, mut former) = (Vec::new(), Vec::new());
            for person in self.state.protects.get(&folded).into_iter().flatten() {
                if let Some(shown) = self.shown(person)? {
                    let has_it = self.has_name(person, &shown, &folded)?;
                    if has_it { &mut people } else { &mut former }.push(person.clone());
                }
            }
            if people.is_empty() || !former.is_empty() {
                let now = self.holders(name, &folded)?;
                let is_new = |person: &ProtectedPerson| !people.contains(person) && !former.contains(person);
                let gained: Vec<ProtectedPerson> = now.people.into_iter().filter(is_new).collect();
                let is_no_ones = people.is_empty() && former.is_empty() && gained.is_empty() && !now.may_be_more;
                if is_no_ones && !self.protects_elsewhere(&folded)? {
                    names.unknown.push(name);
                }
                for person in former {
                    names.former.push((name, self.called(&person)?));
                    people.push(person);
                }
                people.extend(gained);
            }
            names.people.insert(folded, people);
        }
        Ok(names)
    }

    /// Whether another job remembers who had a name last.
    fn protects_elsewhere(&self, name: &str) -> Result<bool, Error> {
        for job in self.part.context.config.jobs.iter().filter(|job| job.name != self.job().name) {
            let state = JobState::load(self.store(), &job.name)?;
            if state.protects.get(name).is_some_and(|people| !people.is_empty()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What a person is called now.
    fn called(&self, person: &ProtectedPerson) -> Result<String, Error> {
        let owner = Owner::of(self.store(), person.target, person.id)?;
        Ok(owner.map_or_else(|| format!("id {}", person.id), |owner| format!("key {}", owner.key)))
    }

    /// What the service shows of a person, where they are there.
    fn shown(&self, person: &ProtectedPerson) -> Result<Option<Entity>, Error> {
        let Some(mirror) = self.people_of(person.target)? else { return Ok(None) };
        Ok(mirror.get(self.store(), person.id)?.filter(|shown| person.is(person.target, shown)))
    }

    /// Whether a person has a name by now, as key or as email.
    fn has_name(&self, person: &ProtectedPerson, shown: &Entity, name: &str) -> Result<bool, Error> {
        let email = shown.value(Protection::FIELD).as_text().map(normalize);
        let Some(Owner { job, key }) = Owner::of(self.store(), person.target, person.id)? else {
            return Ok(email.as_deref() == Some(name));
        };
        let known = SyncedRecord::get(self.store(), &job, &key)?;
        let sent = known.as_ref().and_then(|known| known.sent.get(Protection::FIELD)?.as_text()).map(normalize);
        Ok([email, sent, Some(normalize(key.as_str()))].iter().flatten().any(|own| own == name))
    }

    /// Everyone who has a name.
    fn holders(&self, name: &str, folded: &str) -> Result<Holders, Error> {
        let mut holders = Holders::default();
        if let Some(key) = Key::new(name) {
            let is_read = |key: &Key| self.rows.candidates.iter().any(|one| one.key == *key);
            holders.may_be_more = self.index.by_key(name).is_none() && is_read(&key);
            for part in self.part.context.config.parts().filter(|part| part.mapping.target.has_presence()) {
                let id = match part.name == self.job().name {
                    true => id_of(&self.index, name, folded),
                    false => id_of(&Index::load(self.store(), &part.name)?, name, folded),
                };
                if let Some(id) = id {
                    self.add(&mut holders, part.mapping.target, id)?;
                }
            }
        }
        for target in [Target::Staff, Target::Contractor].into_iter().filter(|_| name.contains('@')) {
            let Some(mirror) = self.people_of(target)? else { continue };
            holders.may_be_more |= !mirror.keeps(Protection::FIELD);
            let mut found = Vec::new();
            mirror.each(self.store(), |shown| {
                let has_it = shown.value(Protection::FIELD).as_text().is_some_and(|email| normalize(email) == folded);
                found.extend(has_it.then_some(shown.id));
            })?;
            for id in found {
                self.add(&mut holders, target, id)?;
            }
        }
        Ok(holders)
    }

    fn add(&self, holders: &mut Holders, target: Target, id: RemoteId) -> Result<(), Error> {
        let shown = self.people_of(target)?.map(|mirror| mirror.get(self.store(), id)).transpose()?.flatten();
        let person = ProtectedPerson { target, id, created: shown.map(|shown| shown.created).unwrap_or_default() };
        if !holders.people.contains(&person) {
            holders.people.push(person);
        }
        Ok(())
    }

    /// The people of a kind, as they were pulled last.
    fn people_of(&self, target: Target) -> Result<Option<Cow<'a, Mirror>>, Error> {
        if let Some(mirror) = self.part.mirrors.get(target) {
            return Ok(Some(Cow::Borrowed(mirror)));
        }
        Ok(Mirror::stored(self.store(), target)?.map(Cow::Owned))
    }
}

/// The id of the record with a key, whatever its case.
fn id_of(index: &Index, key: &str, folded: &str) -> Option<RemoteId> {
    let is_it = |at: &usize| normalize(index.entry(*at).key) == folded;
    let at = index.by_key(key).or_else(|| (0..index.len()).find(is_it))?;
    RemoteId::new(index.entry(at).id.into())
}
