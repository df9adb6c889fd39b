//! Whether an entity is the person, or the thing, of a record right before a write and after it (law 6).
//!
//! Invariants:
//! - An answer to a create is believed only where it may be about what was sent: an id that another record has, or values of someone
//!   else, make no entity of this one.
//! - An id that the service gave to an entity that was made at another time is another person's.
//! - A leaver is removed only as long as something of their entity is what is known of them: an edit of all of it made it another
//!   person's. An update sets an edit back, so it is not asked about there.
//!
//! Rejected: to compare names and emails before an update, too. What people change at the service is set back, as the job says.

use smol_str::SmolStr;

use super::Push;
use super::error::Error;
use crate::mirror::Mirror;
use crate::plan::is_another_person;
use crate::queue::Change;
use crate::record::{Entity, RemoteId, Target, Value, normalize};
use crate::snapshot::{Owner, SyncedRecord};

impl Push<'_> {
    /// Who an entity was before the service answered a create with it, where that is another person: it may update people where
    /// it is to create them (specification, Common behaviour). What two jobs have of anything else may be one.
    pub(super) fn overwritten(&self, mirror: &Mirror, change: &Change, id: RemoteId) -> Result<Option<String>, Error> {
        let has_presence = self.target.has_presence();
        let owner = Owner::besides(self.store, change.target, id, (&change.job, &change.key))?;
        if let Some(Owner { job, key }) = owner.filter(|owner| has_presence || owner.job == change.job) {
            return Ok(Some(format!("key {key} of job {job}")));
        }
        if !has_presence {
            return Ok(None);
        }
        let before = mirror.get(self.store, id)?;
        let is_another = |before: &Entity| is_another_person(&before.fields, &change.wish.fields);
        Ok(before.filter(is_another).map(|_| format!("another {}", self.target.noun())))
    }

    /// Whether the service answered a create with an entity of someone else, or one that joins others: nothing says then that this one was
    /// made.
    pub(super) fn is_of_another(&self, change: &Change, after: &Entity) -> Result<bool, Error> {
        let is_shown = |field: &str| !after.value(field).is_empty();
        if self.target.has_presence() {
            let is_identified = Target::IDENTITY.into_iter().all(is_shown);
            return Ok(is_identified && is_another_person(&after.fields, &change.wish.fields));
        }
        let wanted = self.findable(change)?;
        let joins = wanted.get(Target::COMPOSITE).filter(|pair| !pair.is_empty() && is_shown(Target::COMPOSITE));
        Ok(joins.is_some_and(|pair| pair != after.value(Target::COMPOSITE)))
    }

    /// Why an entity is not the one of a leaver.
    pub(super) fn no_leaver(&self, known: Option<&SyncedRecord>, now: &Entity) -> Option<String> {
        let id = now.id;
        let words =
            |_| format!("id {id} has another person's name and email by now: if it is who left, remove it there");
        let replaced = || known.filter(|known| self.is_replaced(known, now)).map(words);
        another_person(known, now).or_else(replaced)
    }

    /// Whether nothing by which a leaver is known is left of their entity: it was made another person's at the service (law 6).
    fn is_replaced(&self, known: &SyncedRecord, now: &Entity) -> bool {
        let mut last = known.sent.clone();
        known.echo.iter().for_each(|(field, value)| _ = last.insert(field.clone(), value.clone()));
        let stays = |field: &SmolStr| match (last.get(field).and_then(Value::as_text), now.value(field).as_text()) {
            (Some(last), Some(now)) => normalize(last) == normalize(now),
            _ => false,
        };
        let is_shown = |field: &str| !now.value(field).is_empty() && known.sent.contains_key(field);
        self.target.has_presence()
            && Target::IDENTITY.into_iter().all(is_shown)
            && is_another_person(&last, &now.fields)
            && !self.match_on.iter().any(stays)
    }
}

/// Why an entity is not the one that the record was: the service made it at another time.
pub(super) fn another_person(known: Option<&SyncedRecord>, now: &Entity) -> Option<String> {
    // An entity that was created again at the service, and matched again, has another id.
    let other = known.is_some_and(|known| known.id == now.id && known.is_of_another(&now.created));
    other.then(|| {
        format!("id {} was made at another time than the person of this record: they are different people", now.id)
    })
}
