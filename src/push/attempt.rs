//! Sends one change.

use std::time::Duration;

use jiff::Timestamp;

use super::circuit_breaker::CircuitBreaker;
use super::commit::Written;
use super::error::Error;
use super::identity::another_person;
use super::outcome::Step;
use super::request::body::{self, RequestBody, lost};
use super::taken::not_taken;
use super::{Outcome, Push};
use crate::api::{self, Deleted, Fate};
use crate::crash::term;
use crate::fault::chain;
use crate::mirror::{Elements, EntityRef, Mirror, Remote};
use crate::plan::HoldReason;
use crate::queue::{Change, Holdings, State};
use crate::record::{Action, Entity, Field, FieldKind, RemoteId, Values};
use crate::snapshot::SyncedRecord;
use crate::store::Batch;

/// How often it is looked whether the push is to end, while another worker's last writes may still be on their way.
const SETTLE_LOOK: Duration = Duration::from_secs(1);
/// The status under which a change stays parked that the service took and did not carry out.
const NOT_TAKEN: u16 = 200;
/// In so many runs a change is tried that is denied, as all of its kind may be. Then it is parked.
const DENIED_MAX: u32 = 3;

impl Push<'_> {
    /// Makes one attempt at a change.
    pub(super) async fn one(
        &self,
        mirror: &Mirror,
        mut change: Change,
        breaker: &CircuitBreaker<'_>,
    ) -> Result<(Change, Step), Error> {
        let action = change.wish.action;
        loop {
            if let Some(reason) = breaker.stopped(self.witness) {
                return Ok((change, Step::Done(Outcome::Undelivered(reason))));
            }
            match self.store.before_sending()? {
                Duration::ZERO => break,
                // What the worker before this one had on its way arrives first.
                wait => tokio::time::sleep(wait.min(term(SETTLE_LOOK))).await,
            }
        }
        if let Some(reason) = breaker.denied(action) {
            return Ok((change, Step::Done(Outcome::Undelivered(reason.into()))));
        }
        if breaker.holds() || breaker.leaves_it_to_others() {
            return Ok((change, Step::Later));
        }
        let step = match action {
            Action::Create => self.create(mirror, &mut change, breaker).await?,
            Action::Update => match change.only_photo().map(str::to_owned) {
                Some(mark) => self.photo(mirror, &mut change, &mark, breaker).await?,
                None => self.update(mirror, &mut change, breaker).await?,
            },
            Action::Delete => self.delete(mirror, &mut change, breaker).await?,
        };
        breaker.note(!matches!(step, Step::Unknown(_)));
        let step = match step {
            // Nothing came of it.
            Step::Done(Outcome::Undelivered(_)) if breaker.leaves_it_to_others() => Step::Later,
            step => step,
        };
        Ok((change, step))
    }

    async fn create(&self, mirror: &Mirror, change: &mut Change, breaker: &CircuitBreaker<'_>) -> Result<Step, Error> {
        let fields = match self.linked(change)? {
            Ok(fields) => fields,
            Err(reason) => {
                self.wait(change)?;
                return Ok(Step::Done(Outcome::Waits(reason)));
            }
        };
        let input = match RequestBody::new(self.target, &fields, mirror) {
            Ok(input) => input,
            Err(reason) => return Ok(Step::Done(self.park(change, 0, &reason)?)),
        };
        self.intend(change, None, Batch::default())?;
        match input.create(self.client).await {
            Ok(answered) => match answered.value {
                Some(shown) => {
                    let after = shown.entity(mirror.elements());
                    if let Some(who) = self.overwritten(mirror, change, after.id)? {
                        let words = format!("the service answered it with id {}, which is {who}", after.id);
                        self.stop_for_loss(
                            &format!("the service wrote a new person over another one: {words}"),
                            breaker,
                        )?;
                        return Ok(Step::Done(self.park(change, NOT_TAKEN, &words)?));
                    }
                    if self.is_of_another(change, &after)? {
                        let (one, id) = (self.target.noun(), after.id);
                        let words = format!("the service answered a new {one} with another one, id {id}");
                        self.stop_for_loss(&words, breaker)?;
                        return Ok(Step::Unknown(words));
                    }
                    Ok(Step::Done(self.confirm(mirror, change, Written::answered(None, after))?))
                }
                None => {
                    let one = self.target.noun();
                    Ok(Step::Unknown(format!("the service confirmed the {one} without showing what it made")))
                }
            },
            Err(error) if error.code() == Some(409) => {
                Ok(Step::Conflict { status: 409, words: error.words().unwrap_or_default().to_owned() })
            }
            Err(error) => self.failed(change, &error, breaker),
        }
    }

    /// The fields that an entity still has otherwise than a change wants them; its photo is none of them.
    fn unset_fields(&self, change: &Change, known: Option<&SyncedRecord>, before: &Entity) -> Vec<&str> {
        let is_unset = |field: &&Field| {
            let Some(wanted) = change.wish.fields.get(&field.name).filter(|_| field.kind != FieldKind::Photo) else {
                return false;
            };
            let value = before.value(&field.name);
            if change.undo.as_ref().is_some_and(|undo| !undo.is_left(&field.name, field.kind, value)) {
                return false;
            }
            match known {
                Some(known) => !known.is_in_sync(&field.name, field.kind, wanted, value),
                None => !field.kind.same(wanted, value),
            }
        };
        self.fields.iter().filter(is_unset).map(|field| field.name.as_str()).collect()
    }

    async fn update(&self, mirror: &Mirror, change: &mut Change, breaker: &CircuitBreaker<'_>) -> Result<Step, Error> {
        let id = change.wish.id.expect("an update names its entity");
        if let Some(outcome) = self.drop_moot(change, id)? {
            return Ok(Step::Done(outcome));
        }
        let mut room = match self.presence.room(id, || breaker.stopped(self.witness)).await {
            Ok(room) => room,
            Err(reason) => return Ok(Step::Done(Outcome::Undelivered(reason))),
        };
        let mut batch = Batch::default();
        room.intend(&mut batch, mirror.watermark());
        let Some(at) = mirror.at(self.store, id)? else { return Ok(Step::Done(self.vanished(change, id)?)) };
        let (fresh, date) = match self.look(mirror, at).await {
            Ok(fresh) => fresh,
            Err(error) => return self.unread(change, &error, breaker),
        };
        let Some(fresh) = fresh else { return Ok(Step::Done(self.vanished(change, id)?)) };
        let (before, held) = (fresh.entity(mirror.elements()), Holdings::of(&fresh.shown()));
        let known = SyncedRecord::get(self.store, &change.job, &change.key)?;
        if let Some(words) = another_person(known.as_ref(), &before) {
            return Ok(Step::Done(self.park(change, 0, &words)?));
        }
        // By an earlier try whose answer was lost.
        if let State::Sent { held: earlier, .. } = &change.state {
            self.compare((earlier, &fresh), change, mirror, breaker)?;
        }
        let moved = self.unset_fields(change, known.as_ref(), &before);
        if moved.is_empty() {
            // Perhaps by an earlier try whose answer was lost.
            let earlier = earlier(change).unwrap_or_else(|| before.clone());
            return Ok(Step::Done(self.confirm(mirror, change, Written::answered(Some(&earlier), before))?));
        }
        let none = Values::new();
        let sent = known.as_ref().map_or(&none, |known| &known.sent);
        let input = match RequestBody::changed(&fresh, (&change.wish.fields, sent), &moved, at, mirror) {
            Ok(input) => input,
            Err(reason) => return Ok(Step::Done(self.park(change, 0, &reason)?)),
        };
        self.intend(change, Some((mirror.kept(before.clone()), held.clone())), batch)?;
        room.send(date, fresh.is_onsite());
        match input.replace(&self.client.urgent(), id).await {
            Ok(answered) => {
                let is_whole = |shown: &Remote| {
                    shown.unshown().iter().all(|name| fresh.unshown().contains(name))
                        && lost(&held, shown, &change.wish.fields, mirror.elements()).is_none()
                };
                let shown = match self.written(mirror, at, answered.value.filter(is_whole)).await {
                    Ok(Some(shown)) => shown,
                    Ok(None) => return Ok(Step::Done(self.vanished(change, id)?)),
                    Err(error) => {
                        let what = "the service took the change, and what it made of it could not be read";
                        return Ok(Step::Unknown(format!("{what}: {}", chain(&error))));
                    }
                };
                self.compare((&held, &shown), change, mirror, breaker)?;
                let after = shown.entity(mirror.elements());
                // An earlier try may have moved it already.
                let first = earlier(change).unwrap_or_else(|| before.clone());
                if let Some(field) = not_taken(self.fields, &change.wish.fields, &moved, &first, &after) {
                    let words = format!("it answered with success and did not take the new {field}");
                    return Ok(Step::Done(self.park(change, NOT_TAKEN, &words)?));
                }
                Ok(Step::Done(self.confirm(mirror, change, Written::answered(Some(&before), after))?))
            }
            Err(error) if error.code() == Some(404) => self.not_found(mirror, change, &error, breaker).await,
            // Someone else wrote at the same time: once more, on a fresh copy.
            Err(error) if is_contended(&error) && is_first(change) => Ok(Step::Unknown(chain(&error))),
            Err(error) => {
                // Where it was done all the same, it is seen now what it took away, before the others are sent.
                if error.fate() == Fate::Unknown
                    && let Ok((Some(now), _)) = self.look(mirror, at).await
                {
                    self.compare((&held, &now), change, mirror, breaker)?;
                }
                self.failed(change, &error, breaker)
            }
        }
    }

    /// How a write left an entity: as its answer showed it, or else as it is read, since the service's spelling of what was written
    /// would look like an edit.
    async fn written(
        &self,
        mirror: &Mirror,
        at: EntityRef,
        shown: Option<Remote>,
    ) -> Result<Option<Remote>, api::Error> {
        match shown {
            Some(shown) => Ok(Some(shown)),
            None => self.look(mirror, at).await.map(|(shown, _)| shown),
        }
    }

    /// What it means that a write of someone found nothing: they are gone, or what it names is not there.
    pub(super) async fn not_found(
        &self,
        mirror: &Mirror,
        change: &mut Change,
        error: &api::Error,
        breaker: &CircuitBreaker<'_>,
    ) -> Result<Step, Error> {
        let id = change.wish.id.expect("what is written has an entity");
        let Some(at) = mirror.at(self.store, id)? else { return Ok(Step::Done(self.vanished(change, id)?)) };
        match self.look(mirror, at).await {
            Ok((None, _)) => Ok(Step::Done(self.vanished(change, id)?)),
            Ok((Some(_), _)) => self.failed(change, error, breaker),
            Err(error) => self.unread(change, &error, breaker),
        }
    }

    /// Stops this push and later ones where the service took away what a change does not touch (law 2). `held` is what there was
    /// before the change was sent.
    fn compare(
        &self,
        (held, now): (&Holdings, &Remote),
        change: &Change,
        mirror: &Mirror,
        breaker: &CircuitBreaker<'_>,
    ) -> Result<(), Error> {
        match lost(held, now, &change.wish.fields, mirror.elements()) {
            Some(what) => self.stop_for_loss(&loss(&what, now.id()), breaker),
            None => Ok(()),
        }
    }

    /// Stops this push and later ones.
    fn stop_for_loss(&self, reason: &str, breaker: &CircuitBreaker<'_>) -> Result<(), Error> {
        breaker
            .stop(format!("{reason}; nothing more is sent until someone has looked at it and said `rosterd resume`"));
        self.witness.alarm(reason).map_err(Error::Audit)
    }

    async fn delete(&self, mirror: &Mirror, change: &mut Change, breaker: &CircuitBreaker<'_>) -> Result<Step, Error> {
        let id = change.wish.id.expect("a removal names its entity");
        // It may have waited long: the person may have another key by now, or be in another list (law 6).
        if let Some(outcome) = self.drop_moot(change, id)? {
            return Ok(Step::Done(outcome));
        }
        let Some(at) = mirror.at(self.store, id)? else {
            return Ok(Step::Done(self.confirm_removed(change, id, earlier(change).as_ref())?));
        };
        let (fresh, _) = match self.look(mirror, at).await {
            Ok(fresh) => fresh,
            Err(error) => return self.unread(change, &error, breaker),
        };
        let Some(fresh) = fresh else {
            // By an earlier try whose answer was lost, or by someone else: then the list does not show them either.
            let is_sent = matches!(change.state, State::Sent { .. });
            if !is_sent {
                match Remote::is_unlisted(self.client, at).await {
                    Ok(true) => {}
                    Ok(false) => {
                        self.fall_back(change)?;
                        let reason = format!("the service answers 404 to id {id}, and does not show that it is gone");
                        return Ok(Step::Done(Outcome::Undelivered(reason.into())));
                    }
                    Err(error) => return self.unread(change, &error, breaker),
                }
            }
            return Ok(Step::Done(self.confirm_removed(change, id, earlier(change).as_ref())?));
        };
        let before = fresh.entity(mirror.elements());
        let known = SyncedRecord::get(self.store, &change.job, &change.key)?;
        let member = match self.member(&fresh).await {
            Ok(member) => member,
            Err(error) => return self.unread(change, &error, breaker),
        };
        if member.as_ref().unwrap_or(&fresh).is_onsite() {
            self.wait(change)?;
            return Ok(Step::Done(Outcome::OnSite));
        }
        if let Some(words) = self.no_leaver(known.as_ref(), &before) {
            return Ok(Step::Done(self.park(change, 0, &words)?));
        }
        if fresh.is_administrator() {
            self.wait(change)?;
            return Ok(Step::Done(Outcome::Waits(HoldReason::Administrator)));
        }
        // Independent of who released it, and when: the list may have grown since, or the person got that email.
        let is_protected = match &member {
            Some(member) => self.covers_member(change, known.as_ref(), &member.entity(&Elements::default()))?,
            None => {
                self.target.has_presence() && self.protection.covers(self.target, &change.key, known.as_ref(), &before)
            }
        };
        if is_protected {
            self.wait(change)?;
            return Ok(Step::Done(Outcome::Waits(HoldReason::Protected)));
        }
        self.intend(change, Some((mirror.kept(before.clone()), Holdings::default())), Batch::default())?;
        match body::delete(self.client, at).await {
            None => Ok(Step::Done(self.park(change, 0, "the API has no operation that removes it")?)),
            Some(Ok(Deleted::Now)) => Ok(Step::Done(self.confirm_removed(change, id, Some(&before))?)),
            // They were there just now, so the 404 may be that of a gateway.
            Some(Ok(Deleted::Already)) => match self.look(mirror, at).await {
                Ok((None, _)) => Ok(Step::Done(self.confirm_removed(change, id, Some(&before))?)),
                Ok((Some(_), _)) => {
                    self.fall_back(change)?;
                    let reason =
                        format!("the service answers 404 to the removal of id {id}, and shows that it is there");
                    Ok(Step::Done(Outcome::Undelivered(reason.into())))
                }
                Err(error) => self.unread(change, &error, breaker),
            },
            Some(Err(error)) if is_contended(&error) && is_first(change) => Ok(Step::Unknown(chain(&error))),
            Some(Err(error)) => self.failed(change, &error, breaker),
        }
    }

    /// A fresh copy of an entity, and the date of the answer; one that seems to be gone is asked for once more after 3
    /// seconds. What it lacks though lists show it is taken from the list.
    pub(super) async fn look(
        &self,
        mirror: &Mirror,
        at: EntityRef,
    ) -> Result<(Option<Remote>, Option<Timestamp>), api::Error> {
        let mut answered = Remote::look(self.client, at).await?;
        let lacks = |shown: &Remote| shown.unshown().iter().any(|name| mirror.shows_in_lists(name));
        if let Some(shown) = answered.value.as_mut().filter(|shown| lacks(shown)) {
            shown.complete(self.client).await?;
        }
        Ok((answered.value, answered.date))
    }

    /// What a failed read before a write means: nothing was changed.
    pub(super) fn unread(
        &self,
        change: &mut Change,
        error: &api::Error,
        breaker: &CircuitBreaker<'_>,
    ) -> Result<Step, Error> {
        self.fall_back(change)?;
        self.slow_down(change, error, breaker);
        Ok(Step::Done(Outcome::Undelivered(chain(error).into())))
    }

    /// What a failed write means.
    pub(super) fn failed(
        &self,
        change: &mut Change,
        error: &api::Error,
        breaker: &CircuitBreaker<'_>,
    ) -> Result<Step, Error> {
        match error.fate() {
            Fate::Unknown => Ok(Step::Unknown(chain(error))),
            // Perhaps of this one alone, which must not hold up the others for ever (law 8).
            Fate::Refused
                if !error.permission() || (error.code() == Some(State::DENIED) && change.failures >= DENIED_MAX) =>
            {
                breaker.refused();
                let words = error.words().map_or_else(|| chain(error), str::to_owned);
                Ok(Step::Done(self.park(change, error.code().unwrap_or(0), &words)?))
            }
            Fate::Refused | Fate::NotSent => {
                if is_first(change) {
                    change.before = None;
                }
                self.fall_back(change)?;
                self.slow_down(change, error, breaker);
                Ok(Step::Done(Outcome::Undelivered(chain(error).into())))
            }
        }
    }

    /// A missing permission ends its kind of change, as do people of that kind who can't be read one after the other; a service
    /// that can't be reached ends the push.
    fn slow_down(&self, change: &Change, error: &api::Error, breaker: &CircuitBreaker<'_>) {
        match Outlook::of(error.permission(), error.code(), error.fate()) {
            Outlook::KindDenied => {
                let what = change.wish.action.name();
                breaker.deny(
                    change.wish.action,
                    format!("{} may not {what} {}: {}", self.client.credential(), self.target.plural(), chain(error)),
                );
            }
            Outlook::ServiceAway => breaker.give_up(chain(error)),
            Outlook::OneInTrouble => breaker.trouble(change.wish.action, chain(error)),
        }
    }
}

/// What a request that changed nothing says of those that would follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outlook {
    /// All of its kind are refused.
    KindDenied,
    /// None arrives.
    ServiceAway,
    /// Others may do better.
    OneInTrouble,
}

impl Outlook {
    fn of(permission: bool, code: Option<u16>, fate: Fate) -> Self {
        match code {
            Some(_) if permission => Self::KindDenied,
            Some(503) => Self::ServiceAway,
            _ if fate == Fate::NotSent => Self::ServiceAway,
            _ => Self::OneInTrouble,
        }
    }
}

/// What the entity was before a request for the change left whose outcome is unknown.
pub(super) fn earlier(change: &Change) -> Option<Entity> {
    change.before.as_deref().cloned()
}

/// Why nothing more is sent.
pub(super) fn loss(what: &str, id: RemoteId) -> String {
    format!("the service cleared {what} of id {id}, which this change does not touch")
}

/// Whether a write was refused since another one came between.
fn is_contended(error: &api::Error) -> bool {
    matches!(error.code(), Some(409 | 412 | 428))
}

/// Whether a change was sent once.
fn is_first(change: &Change) -> bool {
    matches!(change.state, State::Sent { attempts: 1, .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_failure_says_of_the_requests_that_would_follow() {
        use Fate::{NotSent, Refused, Unknown};
        use Outlook::{KindDenied, OneInTrouble, ServiceAway};
        for (permission, code, fate, expected) in [
            (true, Some(403), Refused, KindDenied),
            (true, Some(401), NotSent, KindDenied),
            // No credential could be had, so no kind is denied.
            (true, None, NotSent, ServiceAway),
            (false, None, NotSent, ServiceAway),
            (false, Some(503), Unknown, ServiceAway),
            (false, Some(503), Refused, ServiceAway),
            (false, Some(429), NotSent, ServiceAway),
            (false, Some(500), Unknown, OneInTrouble),
            (false, Some(400), Refused, OneInTrouble),
            (false, None, Unknown, OneInTrouble),
        ] {
            assert_eq!(Outlook::of(permission, code, fate), expected, "{permission} {code:?} {fate:?}");
        }
    }
}
