//! Who stands where must not change by a push (law 10).
//!
//! A PUT of an employee carries their presence, echoed from a copy read just before; whoever signs in or out between the
//! two is undone. So what was echoed is on disk before each PUT, and soon after the PUT the movements since the copy are
//! looked at, for many people by one listing.
//!
//! Invariants:
//! - Nothing is written to disk between the copy and the PUT: whoever moves between the two is undone, if only for seconds.
//! - An echo is forgotten only when the movements since show that the person stands as they signed, or after what they
//!   signed was put back and read. A process that dies leaves its echoes to the next run.
//! - Looks go on beside the updates, at least every [`LOOK_AFTER`], and an update is begun only where the rate limit leaves
//!   requests for the look after it.
//! - Nothing is put back that the service already says, nor on the word of one listing: the person is read, and the
//!   movements are listed again, before and after.
//!
//! Rejected: reading each person after their PUT instead. They show what the PUT said, which is just what may be wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::echo::{Again, Echo, Moved, Stand};
use crate::api::{self, Api, Client, MemberMovement, StaffMovement, Walked, walk};
use crate::clock::Clock;
use crate::fault::chain;
use crate::mirror::{At, Remote};
use crate::record::{RemoteId, Target};
use crate::store::{self, Batch, Store};

/// How long after a PUT the movements are looked at, at the latest. What was undone is put back within 30 s.
const LOOK_AFTER: Duration = Duration::from_secs(15);
/// How long after a look that failed the next one comes, at the earliest.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How long an update may wait for its requests after it was begun.
const PATIENCE: Duration = Duration::from_secs(10);
/// Requests of an update: a copy and a PUT.
const REQUESTS: u32 = 2;
/// Requests that are left for a look: a listing, one person read and put back.
const RESERVE: u32 = 4;
/// How often it is asked whether something is due.
const TICK: Duration = Duration::from_millis(200);
/// People may move faster than they can be looked after: so many rounds.
const ROUNDS_MAX: usize = 6;
/// So many people are read one by one; more of them by one listing, which takes two requests.
const READ_ALONE_MAX: usize = 2;
/// Where an answer bears no date, the movements of so long a time are looked at.
const UNDATED: SignedDuration = SignedDuration::from_hours(24);

/// Watches over the presence of the people whom a push updates.
pub struct Presence<'a> {
    client: Client,
    store: &'a Store,
    clock: &'a Clock,
    target: Target,
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Default)]
struct State {
    open: BTreeMap<RemoteId, Open>,
    /// Movements that this process made, as they were answered.
    own: BTreeMap<RemoteId, Stand>,
    serial: u64,
    /// Updates that were begun and have not ended,
    under_way: u32,
    /// and the requests that they have yet to send.
    to_send: u32,
    /// Updates that wait until the rate limit lets them begin.
    waiting: u32,
    closing: bool,
    /// No look before that.
    not_before: Option<Instant>,
    /// Why the movements can't be read at all.
    denied: bool,
    put_back: usize,
    /// Rows on disk of updates that sent nothing in the end.
    unsent: Vec<RemoteId>,
}

/// An echo that was not compared yet.
struct Open {
    echo: Echo,
    serial: u64,
    sent: Instant,
    /// Whether the PUT has ended, one way or another.
    is_done: bool,
}

/// An update that was begun; it has ended when this is dropped.
pub(super) struct Room<'a> {
    presence: &'a Presence<'a>,
    id: RemoteId,
    began: Instant,
    to_send: u32,
}

/// Why a look did not end well.
struct Trouble {
    reason: String,
    denied: bool,
}

impl<'a> Presence<'a> {
    /// Begins with the echoes that an earlier process left.
    pub fn open(client: &Client, store: &'a Store, clock: &'a Clock, target: Target) -> Result<Self, store::Error> {
        let mut state = State::default();
        for (id, echo) in Echo::list(store, target)? {
            state.open.insert(id, Open { echo, serial: 0, sent: Instant::now(), is_done: true });
        }
        Ok(Self { client: client.urgent(), store, clock, target, state: Mutex::new(state), wake: Notify::new() })
    }

    /// Waits until an update of this person can be sent together with the look after it; `None` where `stopped` says that
    /// none is begun any more.
    pub(super) async fn room(&self, id: RemoteId, stopped: impl Fn() -> bool) -> Option<Room<'_>> {
        loop {
            if stopped() {
                return None;
            }
            let needed = {
                let mut state = self.state();
                state.under_way += 1;
                state.to_send += REQUESTS;
                state.to_send + RESERVE
            };
            let room = Room { presence: self, id, began: Instant::now(), to_send: REQUESTS };
            let wait = self.client.free_in(needed);
            if wait <= PATIENCE || wait == Duration::MAX {
                return Some(room);
            }
            drop(room);
            self.state().waiting += 1;
            sleep(TICK).await;
            self.state().waiting -= 1;
        }
    }

    /// Looks at the movements until the push is closed, and once more then. Returns what is worth telling.
    pub(super) async fn watch(&self) -> Result<Vec<String>, store::Error> {
        let mut fault = None;
        loop {
            let is_closing = self.state().closing;
            if is_closing || self.is_due() {
                fault = self.look().await?;
            }
            if is_closing {
                break;
            }
            tokio::select! {
                () = sleep(TICK) => {}
                () = self.wake.notified() => {}
            }
        }
        self.forget(&BTreeMap::new())?;
        let put_back = std::mem::take(&mut self.state().put_back);
        let told = (put_back > 0).then(|| {
            format!("{put_back} people signed in or out while they were updated; where they stand was put right")
        });
        Ok(told.into_iter().chain(fault).collect())
    }

    /// Lets [`Presence::watch`] begin anew.
    pub(super) fn reopen(&self) {
        self.state().closing = false;
    }

    /// Ends [`Presence::watch`].
    pub(super) fn close(&self) {
        self.state().closing = true;
        self.wake.notify_one();
    }

    /// Looks once at the movements since the PUTs that have ended, and puts right what they undid. Returns why that could
    /// not be done.
    pub async fn look(&self) -> Result<Option<String>, store::Error> {
        let echoes: BTreeMap<RemoteId, (Echo, u64)> = {
            let state = self.state();
            let done = state.open.iter().filter(|(_, open)| open.is_done);
            done.map(|(id, open)| (*id, (open.echo, open.serial))).collect()
        };
        if echoes.is_empty() {
            return Ok(None);
        }
        let count = echoes.len();
        let people = echoes.iter().map(|(id, (echo, _))| (*id, *echo)).collect();
        match self.put_right(&people).await {
            Ok(()) => self.forget(&echoes).map(|()| None),
            Err(trouble) => {
                let reason = trouble.reason.as_str();
                tracing::warn!(
                    people = count,
                    reason,
                    "presence of {count} people could not be looked after: {reason}"
                );
                let mut state = self.state();
                state.not_before = Some(Instant::now() + LOOK_AGAIN);
                state.denied |= trouble.denied;
                let people = if count == 1 { "1 person" } else { &format!("{count} people") };
                Ok(Some(format!(
                    "whether {people} who were updated signed in or out meanwhile could not be looked after, and the next \
                     run does it: {}",
                    trouble.reason
                )))
            }
        }
    }

    /// Forgets echoes that were compared, but for people of whom another was noted meanwhile, and those that were never
    /// sent.
    fn forget(&self, echoes: &BTreeMap<RemoteId, (Echo, u64)>) -> Result<(), store::Error> {
        let mut state = self.state();
        let mut batch = Batch::default();
        for id in std::mem::take(&mut state.unsent) {
            if !state.open.contains_key(&id) {
                Echo::remove(&mut batch, self.target, id);
            }
        }
        for (id, (_, serial)) in echoes {
            if state.open.get(id).is_some_and(|open| open.serial == *serial) {
                state.open.remove(id);
                Echo::remove(&mut batch, self.target, *id);
            }
        }
        self.store.commit(batch)
    }

    /// In each round all that this process sent lies before the first listing. Whoever moved after it stands as they
    /// signed, so only those are put right who have not.
    async fn put_right(&self, people: &BTreeMap<RemoteId, Echo>) -> Result<(), Trouble> {
        let mut people = people.clone();
        for round in 0..ROUNDS_MAX {
            let moved = self.moved(&people).await?;
            let differs = |id: &&RemoteId| moved.get(*id).is_some_and(|stand| people[*id].onsite != Some(stand.onsite));
            // What was put back is read whatever the listing says.
            let asked: BTreeSet<RemoteId> = people.keys().filter(|id| round > 0 || differs(id)).copied().collect();
            if asked.is_empty() {
                return Ok(());
            }
            let standing = self.standing(&people, &asked).await?;
            let is_wrong = |id: &RemoteId| match (moved.get(id), standing.get(id)) {
                (Some(stand), Some(onsite)) => stand.onsite != *onsite,
                // They have not moved, or are gone.
                _ => false,
            };
            people.retain(|id, _| is_wrong(id));
            if people.is_empty() {
                return Ok(());
            }
            let again = self.moved(&people).await?;
            people.retain(|id, _| again.get(id) == moved.get(id));
            if people.is_empty() {
                return Ok(());
            }
            let stands = people.keys().filter_map(|id| Some((*id, again.get(id)?.clone())));
            self.repeat(stands.collect()).await?;
        }
        Err(Trouble { reason: "they move faster than they can be looked after".to_owned(), denied: false })
    }

    /// Where the latest movement since its echo leaves each person who moved; those of this process apart.
    async fn moved(&self, people: &BTreeMap<RemoteId, Echo>) -> Result<BTreeMap<RemoteId, Stand>, Trouble> {
        let since = people.values().map(|echo| echo.since).min().unwrap_or(Timestamp::MIN);
        let own = self.state().own.clone();
        let mut moved: BTreeMap<RemoteId, Stand> = BTreeMap::new();
        self.movements(since, |page| {
            for movement in page {
                let Some(person) = movement.person else { continue };
                let Some(echo) = people.get(&person) else { continue };
                let stand = Stand::of(&movement).filter(|stand| stand.counts(echo.since));
                let Some(stand) = stand.filter(|stand| own.get(&stand.movement) != Some(stand)) else { continue };
                if moved.get(&person).is_none_or(|other| other.order() < stand.order()) {
                    moved.insert(person, stand);
                }
            }
        })
        .await?;
        Ok(moved)
    }

    /// Visits the movements since a time.
    async fn movements(&self, since: Timestamp, mut visit: impl FnMut(Vec<Moved>)) -> Result<Walked, api::Error> {
        let (client, since) = (&self.client, Some(since));
        match self.target {
            Target::Contractor => {
                walk::<MemberMovement>(client, since, |page| visit(page.into_iter().map(Moved::from).collect())).await
            }
            _ => walk::<StaffMovement>(client, since, |page| visit(page.into_iter().map(Moved::from).collect())).await,
        }
    }

    /// Who of them stands inside, by the service's word; those who are gone are not in it.
    async fn standing(
        &self,
        people: &BTreeMap<RemoteId, Echo>,
        asked: &BTreeSet<RemoteId>,
    ) -> Result<BTreeMap<RemoteId, bool>, Trouble> {
        let mut standing = BTreeMap::new();
        if asked.len() > READ_ALONE_MAX {
            // Everybody who was sent has changed since.
            let since = people.values().map(|echo| echo.since).min();
            Remote::walk(&self.client, self.target, since, |page| {
                let asked = page.iter().filter(|person| asked.contains(&person.id()));
                standing.extend(asked.map(|person| (person.id(), person.is_onsite())));
            })
            .await?;
        }
        for id in asked {
            if !standing.contains_key(id)
                && let Some(person) = Remote::get(&self.client, self.at(*id)).await?.value
            {
                standing.insert(*id, person.is_onsite());
            }
        }
        Ok(standing)
    }

    /// Signs people in or out as they did themselves.
    async fn repeat(&self, stands: Vec<(RemoteId, Stand)>) -> Result<(), Trouble> {
        let mut sent = stream::iter(stands)
            .map(|(person, stand)| async move { self.repeat_one(person, &stand).await })
            .buffer_unordered(self.client.in_flight());
        let mut trouble = None;
        while let Some(result) = sent.next().await {
            trouble = trouble.or(result.err());
        }
        trouble.map_or(Ok(()), Err)
    }

    async fn repeat_one(&self, person: RemoteId, stand: &Stand) -> Result<(), Trouble> {
        let Some(again) = stand.again(self.target, person) else {
            let reason = format!("the latest movement of id {person} does not say where it was");
            return Err(Trouble { reason, denied: false });
        };
        let (id, stands) = (person.get(), if stand.onsite { "on site" } else { "off site" });
        tracing::info!(
            id,
            onsite = stand.onsite,
            "id {id} is put {stands} again, as they signed before an update undid it"
        );
        let shown = match self.put(person, &again).await {
            Ok(shown) => shown,
            // What became of it is seen in the next round.
            Err(error) if error.fate() == api::Fate::Unknown => None,
            Err(error) => return Err(error.into()),
        };
        let mut state = self.state();
        state.put_back += 1;
        let shown = shown.as_ref().and_then(Stand::of).filter(|shown| shown.movement != stand.movement);
        state.own.extend(shown.map(|shown| (shown.movement, shown)));
        Ok(())
    }

    async fn put(&self, person: RemoteId, again: &Again) -> Result<Option<Moved>, api::Error> {
        match again {
            Again::Staff(input) => {
                let answered = self.client.send(Api::<StaffMovement>::root().put(input)).await?;
                Ok(answered.value.map(Moved::from))
            }
            Again::Member(input) => {
                let answered = self.client.send(Api::<MemberMovement>::root().put_for(person, input)).await?;
                Ok(answered.value.map(Moved::from))
            }
        }
    }

    fn at(&self, id: RemoteId) -> At {
        At { target: self.target, id, below: None }
    }

    fn is_due(&self) -> bool {
        let wait = self.client.free_in(REQUESTS + RESERVE);
        let state = self.state();
        let now = Instant::now();
        let Some(first) = state.open.values().filter(|open| open.is_done).map(|open| open.sent).min() else {
            return false;
        };
        if state.denied || state.not_before.is_some_and(|before| now < before) {
            return false;
        }
        let age = now.duration_since(first);
        // Where all others wait for the rate limit, there is no better time than now.
        let is_lull = state.waiting > 0 && state.under_way == 0;
        age >= LOOK_AFTER || (is_lull && age.saturating_add(wait) >= LOOK_AFTER)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room<'_> {
    /// Puts on disk that a copy and a PUT are about to be made, in the batch that makes the change known. `before` is a
    /// time of the service's that is past.
    pub(super) fn intend(&mut self, batch: &mut Batch, before: Option<Timestamp>) {
        let presence = self.presence;
        let before = before.unwrap_or_else(|| presence.clock.now().saturating_sub(UNDATED).unwrap_or(Timestamp::MIN));
        if presence.target.has_presence() && !presence.state().open.contains_key(&self.id) {
            Echo::ahead(before).put(batch, presence.target, self.id);
        }
        self.began = Instant::now();
    }

    /// The copy has come, its answer bears `date`, and the PUT is about to say `onsite`.
    pub(super) fn send(&mut self, date: Option<Timestamp>, onsite: bool) {
        let presence = self.presence;
        self.to_send -= 1;
        if !presence.target.has_presence() {
            presence.state().to_send -= 1;
            return;
        }
        let date = date.unwrap_or_else(|| presence.clock.now().saturating_sub(UNDATED).unwrap_or(Timestamp::MIN));
        let took = SignedDuration::try_from(self.began.elapsed()).unwrap_or(SignedDuration::MAX);
        let mut echo = Echo::new(date, took, onsite);
        let mut state = presence.state();
        if let Some(open) = state.open.get(&self.id) {
            // An earlier PUT may have undone what the copy shows undone already.
            echo.since = echo.since.min(open.echo.since);
        }
        state.to_send -= 1;
        state.serial += 1;
        let serial = state.serial;
        state.open.insert(self.id, Open { echo, serial, sent: Instant::now(), is_done: false });
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let mut state = self.presence.state();
        state.under_way -= 1;
        state.to_send -= self.to_send;
        match state.open.get_mut(&self.id) {
            Some(open) => open.is_done = true,
            None if !self.presence.target.has_presence() => {}
            None => state.unsent.push(self.id),
        }
    }
}

impl From<api::Error> for Trouble {
    fn from(error: api::Error) -> Self {
        Self { reason: chain(&error), denied: error.permission() }
    }
}

#[cfg(test)]
mod tests;
