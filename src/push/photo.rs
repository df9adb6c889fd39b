//! Photos of employees: each is sent by an operation of its own, after everything else.
//!
//! Invariants:
//! - Of a photo its mark is remembered and nothing else: the queue and the snapshot never hold its bytes. They are read from
//!   the source once more when photos are sent, and one that is another by then waits for the next run.
//! - A change of a person with a photo takes two requests, and the commit that confirms the first leaves the second in
//!   the queue.
//! - Where no photo of a person was confirmed, the service's own is read and compared: one request, and a write only where
//!   the two differ. So a lost state, or a process that ended between a photo and its commit, sends no first photo again. A
//!   later photo whose fate is unknown is sent once more, which changes nothing.
//! - A photo that is edited at the service is not noticed: no list shows photos.
//!
//! Rejected: asking for the head of every photo in every run, which costs a request a person; and comparing heads, since
//! two photos of one size would count as one, and a photo costs no more requests than its head.

use std::collections::BTreeMap;

use super::circuit_breaker::CircuitBreaker;
use super::error::Error;
use super::outcome::Step;
use super::{Outcome, Push};
use crate::api::{Api, Photo, Staff};
use crate::mirror::Mirror;
use crate::queue::{self, Change, State, Ticket};
use crate::record::{Action, DesiredState, Entity, JobName, Key, RemoteId, Target, Value, Values};
use crate::snapshot::SyncedRecord;
use crate::store::Batch;

/// Where photos come from when they are sent.
pub trait Photos: Sync {
    /// How many are made ready at a time.
    fn at_once(&self) -> usize;

    /// Makes these photos ready, by key and mark; an error is a reason for which none of them can be had.
    fn gather(&self, wanted: &BTreeMap<Key, String>) -> Result<(), String>;

    /// One of them; `None` where the source has another by now, or none.
    fn photo(&self, key: &Key) -> Result<Option<Vec<u8>>, String>;
}

impl Push<'_> {
    /// What is left to be done of a change that is confirmed except for the photo.
    pub(super) fn photo_after(&self, change: &Change, known: &SyncedRecord, id: RemoteId) -> Option<Change> {
        let photo = change.wish.fields.get(Target::PHOTO).filter(|photo| !photo.is_empty())?;
        let is_sent = known.sent.get(Target::PHOTO) == Some(photo);
        if change.target != Target::Staff || is_sent || change.wish.leaver || change.undo.is_some() {
            return None;
        }
        let fields = Values::from([(Target::PHOTO.into(), photo.clone())]);
        let wish = DesiredState { action: Action::Update, id: Some(id), fields, leaver: false };
        Some(Change { wish, before: None, state: State::Waiting, ..change.clone() })
    }

    /// The photos that are still to be sent for these people, with their marks.
    pub(super) fn photos_of(&self, job: &JobName, keys: &[Key]) -> Result<Vec<(Ticket, String)>, Error> {
        let mut photos = Vec::new();
        queue::each(self.store, job, |change| {
            if let Some(mark) = change.only_photo()
                && !change.state.is_parked()
                && keys.binary_search(&change.key).is_ok()
            {
                photos.push((change.ticket(), mark.to_owned()));
            }
        })?;
        Ok(photos)
    }

    /// Makes photos ready; returns what is to be sent.
    pub(super) fn gather(&self, photos: &[(Ticket, String)], breaker: &CircuitBreaker<'_>) -> Vec<Ticket> {
        let marks = photos.iter().map(|(ticket, mark)| (ticket.key.clone(), mark.clone())).collect();
        if breaker.stopped(self.witness).is_none()
            && let Err(reason) = self.photos.gather(&marks)
        {
            // Where the run is to end, that is the reason.
            breaker.stopped(self.witness);
            breaker.stop(format!("the photos could not be read from the source: {reason}"));
        }
        photos.iter().map(|(ticket, _)| ticket.clone()).collect()
    }

    /// Makes one attempt at a photo.
    pub(super) async fn photo(
        &self,
        mirror: &Mirror,
        change: &mut Change,
        mark: &str,
        breaker: &CircuitBreaker<'_>,
    ) -> Result<Step, Error> {
        let id = change.wish.id.expect("an update names its entity");
        let bytes = match self.photos.photo(&change.key) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let reason = "the source has another photo by now, or none; the next run sends what it has then";
                return Ok(Step::Done(Outcome::Undelivered(reason.to_owned().into())));
            }
            Err(reason) => return Ok(Step::Done(Outcome::Undelivered(reason.into()))),
        };
        let photo = match Photo::new(bytes) {
            Ok(photo) => photo,
            Err(error) => return Ok(Step::Done(self.park(change, 0, &error.to_string())?)),
        };
        let known = SyncedRecord::get(self.store, &change.job, &change.key)?.filter(|known| known.id == id);
        let was = known.as_ref().and_then(|known| known.sent.get(Target::PHOTO)).cloned();
        if was.is_none() {
            match self.client.send(Api::<Staff>::root().photo(id)).await {
                Ok(answered) if answered.value.as_ref().is_some_and(|held| held.bytes() == photo.bytes()) => {
                    return Ok(Step::Done(self.confirm_photo(change, mark, None)?));
                }
                Ok(_) => {}
                Err(error) => return self.unread(change, &error, breaker),
            }
        }
        self.intend(change, None, Batch::default())?;
        match self.client.send(Api::<Staff>::root().replace_photo(id, &photo)).await {
            Ok(_) => {
                let was = was.unwrap_or_default();
                Ok(Step::Done(self.confirm_photo(change, mark, Some(&was))?))
            }
            Err(error) if error.code() == Some(404) => self.not_found(mirror, change, &error, breaker).await,
            Err(error) => self.failed(change, &error, breaker),
        }
    }

    /// Puts on disk that the service has a photo: the snapshot and the queue in one commit (law 5). `was` is the mark of the
    /// one before, where one was sent now.
    fn confirm_photo(&self, change: &Change, mark: &str, was: Option<&Value>) -> Result<Outcome, Error> {
        let id = change.wish.id.expect("an update names its entity");
        let entity = |photo: &Value| {
            let fields = Values::from([(Target::PHOTO.into(), photo.clone())]);
            Entity { id, created: String::new(), fields }
        };
        let now = Value::text(mark);
        let before = was.map_or_else(|| entity(&now), entity);
        let mut batch = Batch::default();
        self.witness.confirmed(change, Some(&before), Some(&entity(&now)), &mut batch).map_err(Error::Audit)?;
        let known = SyncedRecord::get(self.store, &change.job, &change.key)?.filter(|known| known.id == id);
        if let Some(mut known) = known {
            known.sent.insert(Target::PHOTO.into(), now);
            known.echo.insert(Target::PHOTO.into(), Value::Empty);
            known.put(&mut batch, &change.job, &change.key);
        }
        debug_assert_eq!(change.target, Target::Staff, "only employees have photos");
        queue::remove(&mut batch, &change.job, &change.key);
        self.store.commit(batch)?;
        Ok(Outcome::Confirmed)
    }
}

/// The fields of a wish without the photo, which no input holds.
pub(super) fn without_photo(mut fields: Values) -> Values {
    fields.remove(Target::PHOTO);
    fields
}
