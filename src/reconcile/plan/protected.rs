//! Who has the names in a job's `protect`.
//!
//! A person may get another number or another email, and is protected all the same: the one who had a name last is remembered, and
//! each run says that the name is no one's any more. Where someone else has it by now, that person is protected instead.
//!
//! Rejected: to say so and no more. The run that says it may be the one that removes the person.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::inputs::Inputs;
use crate::mirror::Mirror;
use crate::plan::{ProtectedPerson, Protection};
use crate::reconcile::model::error::Error;
use crate::record::{Entity, Key, RemoteId, Target, normalize};
use crate::snapshot::{Index, Owner, SyncedRecord};

/// Who has the names in `protect`.
#[derive(Default)]
pub(super) struct ProtectedNames<'a> {
    /// By name, those who have it, or had it last.
    pub(super) people: BTreeMap<String, ProtectedPerson>,
    /// Names that no one has any more, with those who had them last, by what they are called now.
    pub(super) former: Vec<(&'a str, String)>,
    /// Names that no one has, and no one is known to have had.
    pub(super) unknown: Vec<&'a str>,
}

/// Who has a name.
enum Holder {
    Person(ProtectedPerson),
    /// Someone who is not at the service yet.
    Coming,
    None,
    /// It is not known of everybody who has which email.
    Unknown,
}

impl<'a> Inputs<'a> {
    /// Finds out who has the names in the job's `protect`. Before the first run no one is known.
    pub(super) fn protected(&self) -> Result<ProtectedNames<'a>, Error> {
        let (job, mut names) = (self.job(), ProtectedNames::default());
        if self.index.is_empty() || job.name.is_part() {
            return Ok(names);
        }
        for name in job.protect.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            let folded = normalize(name);
            let before = self.state.protects.get(&folded);
            let before = before.map(|person| Ok::<_, Error>((person, self.shown(person)?))).transpose()?;
            let last = before.as_ref().and_then(|(person, shown)| Some((*person, shown.as_ref()?)));
            if let Some((person, shown)) = last
                && self.has_name(person, shown, &folded)?
            {
                names.people.insert(folded, person.clone());
                continue;
            }
            match (self.holder(name, &folded)?, last) {
                (Holder::Person(person), _) => _ = names.people.insert(folded, person),
                (Holder::Coming | Holder::Unknown, None) => {}
                (Holder::None, None) => names.unknown.push(name),
                (_, Some((person, _))) => {
                    let owner = Owner::of(self.store(), person.target, person.id)?;
                    let now = owner.map_or_else(|| format!("id {}", person.id), |owner| format!("key {}", owner.key));
                    names.former.push((name, now));
                    names.people.insert(folded, person.clone());
                }
            }
        }
        Ok(names)
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

    fn holder(&self, name: &str, folded: &str) -> Result<Holder, Error> {
        if let Some(key) = Key::new(name) {
            if self.index.by_key(name).is_none() && self.rows.candidates.iter().any(|one| one.key == key) {
                return Ok(Holder::Coming);
            }
            for part in self.part.context.config.parts().filter(|part| part.mapping.target.has_presence()) {
                let id = match part.name == self.job().name {
                    true => id_of(&self.index, name, folded),
                    false => id_of(&Index::load(self.store(), &part.name)?, name, folded),
                };
                if let Some(id) = id {
                    return self.person(part.mapping.target, id);
                }
            }
        }
        if !name.contains('@') {
            return Ok(Holder::None);
        }
        let mut is_known = true;
        for target in [Target::Staff, Target::Contractor] {
            let Some(mirror) = self.people_of(target)? else { continue };
            is_known &= mirror.keeps(Protection::FIELD);
            let mut found = None;
            mirror.each(self.store(), |shown| {
                let has_it = shown.value(Protection::FIELD).as_text().is_some_and(|email| normalize(email) == folded);
                found = found.take().or(has_it.then_some(shown.id));
            })?;
            if let Some(id) = found {
                return self.person(target, id);
            }
        }
        Ok(if is_known { Holder::None } else { Holder::Unknown })
    }

    fn person(&self, target: Target, id: RemoteId) -> Result<Holder, Error> {
        let shown = self.people_of(target)?.map(|mirror| mirror.get(self.store(), id)).transpose()?.flatten();
        let created = shown.map(|shown| shown.created).unwrap_or_default();
        Ok(Holder::Person(ProtectedPerson { target, id, created }))
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
