//! The commits of a push: intent before, outcome after.

use super::error::Error;
use super::{Outcome, Push};
use crate::mirror::{self, Mirror, Removal};
use crate::plan::{Decided, Verdict};
use crate::queue::{self, Change, Holdings, State};
use crate::record::{Action, Entity, Key, RemoteId, Target, Value, normalize};
use crate::snapshot::{Gone, Left, OWNERS, Owner, SYNCED, SyncedRecord};
use crate::store::Batch;

/// An entity before a write and after it.
pub(super) struct Written<'a> {
    before: Option<&'a Entity>,
    after: Entity,
    seen: Seen,
}

/// By what it is known how a write left an entity.
#[derive(Clone, Copy)]
enum Seen {
    /// By its answer: where that differs from the wish, it is what the service makes of such a wish (law 4).
    Answered,
    /// By a later look, since the write's own fate was unknown. Only another spelling counts as what the service made of
    /// the wish: the rest may be an edit made at the service.
    Found,
}

impl<'a> Written<'a> {
    pub(super) fn answered(before: Option<&'a Entity>, after: Entity) -> Self {
        Self { before, after, seen: Seen::Answered }
    }

    pub(super) fn found(before: Option<&'a Entity>, after: Entity) -> Self {
        Self { before, after, seen: Seen::Found }
    }
}

impl Seen {
    /// Whether a value is what the service made of the one that was wanted.
    fn is_echo(self, wanted: &Value, value: &Value) -> bool {
        match self {
            // A value that came back empty was not taken. Ids are an exception: no answer shows them.
            Self::Answered => wanted.is_empty() || !value.is_empty() || matches!(wanted, Value::Ids(_)),
            Self::Found => match (wanted.as_text(), value.as_text()) {
                (Some(wanted), Some(value)) => normalize(wanted) == normalize(value),
                _ => false,
            },
        }
    }
}

impl Push<'_> {
    /// Puts on disk that a request is about to leave, and what the entity was before, together with `batch`.
    pub(super) fn intend(
        &self,
        change: &mut Change,
        before: Option<(Entity, Holdings)>,
        mut batch: Batch,
    ) -> Result<(), Error> {
        let (before, held) = before.map_or_else(Default::default, |(before, held)| (Some(Box::new(before)), held));
        let (attempts, held) = match &mut change.state {
            State::Sent { attempts, held } => (*attempts, std::mem::take(held)),
            State::Waiting | State::Parked { .. } => (0, held),
        };
        change.before = change.before.take().or(before);
        change.state = State::Sent { attempts: attempts + 1, held };
        queue::put(&mut batch, change);
        overrule(&mut batch, change);
        Ok(self.store.commit(batch)?)
    }

    /// Stores the change as [`State::Waiting`] again, for a reason of its own: in the next run it goes last of its kind.
    pub(super) fn fall_back(&self, change: &mut Change) -> Result<(), Error> {
        change.state = State::Waiting;
        self.count_failure(change)
    }

    /// Notes that a change could not be delivered in this run.
    pub(super) fn count_failure(&self, change: &mut Change) -> Result<(), Error> {
        change.failures = change.failures.saturating_add(1);
        self.keep(change)
    }

    /// Stores the change as [`State::Waiting`] again.
    pub(super) fn wait(&self, change: &mut Change) -> Result<(), Error> {
        if change.state != State::Waiting {
            change.state = State::Waiting;
            self.keep(change)?;
        }
        Ok(())
    }

    /// Puts on disk that the service refused a change for good.
    pub(super) fn park(&self, change: &mut Change, status: u16, words: &str) -> Result<Outcome, Error> {
        let photo = if change.only_photo().is_some() { "the photo: " } else { "" };
        change.state = State::Parked { status, words: format!("{photo}{words}") };
        change.before = None;
        self.keep(change)?;
        Ok(Outcome::Parked)
    }

    pub(super) fn keep(&self, change: &Change) -> Result<(), Error> {
        let mut batch = Batch::default();
        queue::put(&mut batch, change);
        Ok(self.store.commit(batch)?)
    }

    /// Puts on disk what became of a write: snapshot, owner, mirror and queue in one commit (law 5).
    pub(super) fn confirm(&self, mirror: &Mirror, change: &Change, written: Written<'_>) -> Result<Outcome, Error> {
        let Written { before, after, seen } = written;
        let mut batch = Batch::default();
        self.witness.confirmed(change, before, Some(&after), &mut batch).map_err(Error::Audit)?;
        let was = before;
        let before = SyncedRecord::get(self.store, &change.job, &change.key)?;
        if let Some(before) = before.as_ref().filter(|before| before.id != after.id) {
            // The earlier entity is gone, and was created again under another id.
            Owner::release(&mut batch, self.store, &change.job, change.target, before.id)?;
        }
        let edited = before.as_ref().zip(was).is_some_and(|(known, was)| self.was_edited(change, known, was));
        let other = Owner::besides(self.store, change.target, after.id, (&change.job, &change.key))?;
        let is_theirs = |known: &SyncedRecord| known.id == after.id;
        let before = match (before.filter(is_theirs), &other) {
            // What is known of them under the key that they had in the same job still holds.
            (None, Some(other)) if other.job == change.job => {
                SyncedRecord::get(self.store, &other.job, &other.key)?.filter(is_theirs)
            }
            (before, _) => before,
        };
        let known = self.remembered(change, before, &after, seen);
        let known = SyncedRecord { edits: if edited { known.edits + 1 } else { 0 }, ..known };
        if let Some(other) = other {
            // The person has a new key, or belonged to a job that is no more.
            SyncedRecord::remove(&mut batch, &other.job, &other.key);
            if other.job == change.job && change.target == Target::Contractor {
                self.take_over_memberships(&mut batch, change, &other.key)?;
            }
        }
        if change.wish.action == Action::Create && change.target == Target::Contractor {
            self.retry_memberships(change, &mut batch)?;
        }
        if let Some(was) = was {
            self.retry_freed(was, Some(&after), &mut batch)?;
        }
        let rest = self.photo_after(change, &known, after.id);
        known.put(&mut batch, &change.job, &change.key);
        Owner { job: change.job.clone(), key: change.key.clone() }.put(&mut batch, change.target, after.id);
        mirror::put(&mut batch, change.target, &mirror.kept(after));
        self.use_up(&mut batch, change)?;
        overrule(&mut batch, change);
        leave(&mut batch, change, rest.as_ref());
        self.store.commit(batch)?;
        Ok(Outcome::Confirmed)
    }

    /// An approval is good for what was just done, and for no other time that the same is wanted.
    fn use_up(&self, batch: &mut Batch, change: &Change) -> Result<(), Error> {
        let decided = queue::DECISIONS.get(self.store, &change.job, &change.key)?.filter(|_| change.approved);
        if decided.is_some_and(|decided| matches!(decided.verdict, Verdict::Approved(_))) {
            queue::DECISIONS.remove(batch, &change.job, &change.key);
        }
        Ok(())
    }

    /// Gives the memberships of a member who had another key to the one that they have now: no file of changes names them again. Those
    /// about which something is queued stay.
    fn take_over_memberships(&self, batch: &mut Batch, change: &Change, before: &Key) -> Result<(), Error> {
        let memberships = change.job.part(Target::Membership);
        let mut own = Vec::new();
        SYNCED.each(self.store, &memberships, |pair, known| {
            own.extend(pair.is_about(&memberships, before).then_some((pair, known)));
        })?;
        for (pair, mut known) in own {
            let Some((_, organization)) = pair.split_membership() else { continue };
            let key = Key::joined(&change.key, &organization);
            let is_open = |key: &Key| queue::get(self.store, &memberships, key).map(|open| open.is_some());
            if is_open(&pair)? || is_open(&key)? || SyncedRecord::get(self.store, &memberships, &key)?.is_some() {
                continue;
            }
            known.sent.insert(Target::MEMBER.into(), Value::text(change.key.as_str()));
            SyncedRecord::remove(batch, &memberships, &pair);
            let id = known.id;
            known.put(batch, &memberships, &key);
            Owner { job: memberships.clone(), key }.put(batch, Target::Membership, id);
        }
        Ok(())
    }

    /// Whether a write reverted an edit made at the service: what is wanted is what was last sent, and the service no
    /// longer held it.
    fn was_edited(&self, change: &Change, known: &SyncedRecord, was: &Entity) -> bool {
        !change.wish.leaver
            && change.undo.is_none()
            && !known.unsent
            && self.fields.iter().filter(|field| !self.seed_only.contains(&field.name)).any(|field| {
                let wanted = change.wish.fields.get(&field.name);
                let settled = |wanted| known.is_in_sync(&field.name, field.kind, wanted, was.value(&field.name));
                wanted.is_some_and(|wanted| known.sent.get(&field.name) == Some(wanted) && !settled(wanted))
            })
    }

    /// What is known after a confirmed write: of the fields that it did not set, what was known before.
    fn remembered(&self, change: &Change, before: Option<SyncedRecord>, after: &Entity, seen: Seen) -> SyncedRecord {
        let mut known = before.unwrap_or_else(|| SyncedRecord::of(after.id, after.created.clone()));
        if change.undo.is_some() {
            // The source did not say so: what was last sent for it stays known.
            known.echo.retain(|field, _| !change.wish.fields.contains_key(field));
            return known;
        }
        if change.wish.leaver {
            known.gone.get_or_insert_with(|| Gone::since(self.client.late(self.clock.now())));
            known.left = Some(Left { at: self.client.cautious_now(self.clock), approved: change.approved });
            return known;
        }
        let mapped = |field: &str| self.fields.iter().any(|known| known.name == *field);
        known.sent.retain(|field, _| mapped(field));
        // Of a photo is known what was confirmed of it by itself.
        let is_photo = |field: &str| field == Target::PHOTO;
        known.echo.retain(|field, _| mapped(field) && (is_photo(field) || !change.wish.fields.contains_key(field)));
        for (field, wanted) in change.wish.fields.iter().filter(|(field, _)| !is_photo(field)) {
            let value = after.value(field);
            known.sent.insert(field.clone(), wanted.clone());
            if wanted != value && seen.is_echo(wanted, value) {
                known.echo.insert(field.clone(), value.clone());
            }
        }
        let marks = change.marks.clone();
        let created = after.created.clone();
        SyncedRecord { created, gone: None, left: None, marks, overtaken: false, unsent: false, ..known }
    }

    /// Puts on disk that the service no longer holds the entity of a leaver.
    pub(super) fn confirm_removed(
        &self,
        change: &Change,
        id: RemoteId,
        before: Option<&Entity>,
    ) -> Result<Outcome, Error> {
        let mut batch = Batch::default();
        self.witness.confirmed(change, before, None, &mut batch).map_err(Error::Audit)?;
        let gone = SyncedRecord::get(self.store, &change.job, &change.key)?.and_then(|known| known.gone);
        SyncedRecord::remove(&mut batch, &change.job, &change.key);
        OWNERS.remove(&mut batch, &change.target, &id);
        let removal = Removal {
            at: self.client.cautious_now(self.clock),
            job: change.job.clone(),
            counts: !change.approved && gone.is_none_or(|gone| gone.successor.is_none()),
            segment: change.marks.segment.clone(),
        };
        removal.put(&mut batch, change.target, id);
        if let Some(before) = before {
            self.retry_freed(before, None, &mut batch)?;
        }
        self.use_up(&mut batch, change)?;
        overrule(&mut batch, change);
        queue::remove(&mut batch, &change.job, &change.key);
        self.store.commit(batch)?;
        Ok(Outcome::Confirmed)
    }

    /// Takes a change out of the queue where its entity is another record's by now than when it was planned (law 6).
    pub(super) fn drop_moot(&self, change: &Change, id: RemoteId) -> Result<Option<Outcome>, Error> {
        let owner = Owner::besides(self.store, change.target, id, (&change.job, &change.key))?;
        let Some(Owner { job, key }) = owner.filter(|owner| change.from.as_ref() != Some(owner)) else {
            return Ok(None);
        };
        let mut batch = Batch::default();
        queue::remove(&mut batch, &change.job, &change.key);
        self.store.commit(batch)?;
        let reason = format!("id {id} is key {key} of job {job} by now, so nothing is done");
        Ok(Some(Outcome::Undelivered(reason.into())))
    }

    /// Puts on disk that the entity of a mover is gone, and what was wanted of it: no file of changes says that again. The next plan
    /// creates it again, under the guard, if a whole listing lacks it too.
    pub(super) fn vanished(&self, change: &Change, id: RemoteId) -> Result<Outcome, Error> {
        let mut batch = Batch::default();
        mirror::drop_gone(&mut batch, change.target, id);
        mirror::force_full_listing(&mut batch, self.store, change.target)?;
        queue::remove(&mut batch, &change.job, &change.key);
        if change.undo.is_none() && !change.wish.leaver {
            // A record that was to have the entity from now on was not it before.
            let known = SyncedRecord::get(self.store, &change.job, &change.key)?;
            let mut known = known.unwrap_or_else(|| SyncedRecord::of(id, String::new()));
            // It was not sent, so what the service made of an earlier wish says nothing of it.
            known.echo.retain(|field, _| !change.wish.fields.contains_key(field));
            known.sent.extend(change.wish.fields.clone());
            known.unsent = true;
            known.marks.clone_from(&change.marks);
            known.put(&mut batch, &change.job, &change.key);
        }
        self.store.commit(batch)?;
        Ok(Outcome::Undelivered(format!("id {id} is gone from the service; the next run creates it again").into()))
    }
}

/// When a change is undone, the wish with which the source would repeat it counts as rejected: from the intent on,
/// since the service may carry out the undo even if no answer arrives.
fn overrule(batch: &mut Batch, change: &Change) {
    if let Some(again) = change.undo.as_ref().and_then(|undo| undo.again) {
        queue::DECISIONS.put(batch, &change.job, &change.key, &Decided::rejected(again));
    }
}

/// Puts the second half of a change in place of the first, or takes the change out.
fn leave(batch: &mut Batch, change: &Change, rest: Option<&Change>) {
    match rest {
        Some(rest) => queue::put(batch, rest),
        None => queue::remove(batch, &change.job, &change.key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_4_an_answer_shows_what_the_service_makes_of_a_wish_and_a_later_look_another_spelling_at_most() {
        let text = |text: &str| if text.is_empty() { Value::Empty } else { Value::text(text) };
        // (wanted, shown, in the answer, found later)
        for (wanted, shown, answered, found) in [
            ("Ana", "ANA", true, true),
            ("Ana", "Anna", true, false),
            ("Ana", "", false, false),
            ("", "Ana", true, false),
        ] {
            let is_echo = |seen: Seen| seen.is_echo(&text(wanted), &text(shown));
            assert_eq!((is_echo(Seen::Answered), is_echo(Seen::Found)), (answered, found), "{wanted:?} {shown:?}");
        }
        assert!(Seen::Answered.is_echo(&Value::Ids(vec![1]), &Value::Empty));
        assert!(!Seen::Found.is_echo(&Value::Ids(vec![1]), &Value::Empty));
    }
}
