//! A push must not change anyone's presence (law 10).
//!
//! A PUT of an employee carries their presence, copied from a read just before it. That undoes the movement of a person
//! who signs in or out between the two. So this copy (the echo) is on disk before each PUT, and soon after the PUT one
//! listing shows the movements since the read, for many people at once.
//!
//! Invariants:
//! - Between the read and the PUT there is one commit, of the request with its echo, and nothing else, so that a movement between the
//!   two is rare, and undone only for seconds.
//! - An echo is forgotten only when the movements since show that the person's presence is what they signed, or after
//!   what they signed was put back and read. A process that dies leaves its echoes to the next run.
//! - A movement that does not name its place is repeated at the only place that it can have been. Where there is none,
//!   that person alone stays noted, every run says so, and it ends when the service and the latest movement agree
//!   again: a person with a wrong entry on an evacuation list is signed in or out by hand.
//! - Looks go on beside the updates, at least every [`LOOK_AFTER`], and an update is begun only if the rate limit
//!   leaves requests for the look that follows it.
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

use super::write::{Again, Astray, ECHOES, Echo, KnownPlace, Moved, Stand};
use crate::api::{self, Api, Client, Location, MemberMovement, Query, StaffMovement, Walked, walk};
use crate::clock::Clock;
use crate::crash::term;
use crate::fault::chain;
use crate::mirror::{self, EntityRef, Locations, Remote};
use crate::push::StopReason;
use crate::record::{RemoteId, Target};
use crate::store::{self, Batch, Store};
use crate::text::counted;

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
/// The most rounds of checking and restoring, since people may move again in each.
const ROUNDS_MAX: usize = 6;
/// Up to this number, people are read one by one; more of them by one listing, which takes two requests.
const READ_ALONE_MAX: usize = 2;
/// Where an answer bears no date, the movements of so long a time are looked at.
const UNDATED: SignedDuration = SignedDuration::from_hours(24);

/// Watches over the presence of the people that a push updates.
pub struct Presence<'a> {
    client: Client,
    store: &'a Store,
    clock: &'a Clock,
    target: Target,
    state: Mutex<PresenceState>,
    wake: Notify,
}

#[derive(Default)]
struct PresenceState {
    open: BTreeMap<RemoteId, Open>,
    /// Movements that this process made, as they were answered.
    own: BTreeMap<RemoteId, Stand>,
    /// Sign-ins that another movement repeated. If the service ends them because of that, no person signed out.
    over: BTreeSet<RemoteId>,
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
pub(crate) struct Room<'a> {
    presence: &'a Presence<'a>,
    id: RemoteId,
    began: Instant,
    to_send: u32,
}

/// Echoes with the numbers of the updates that noted them last.
type Echoes = BTreeMap<RemoteId, (Echo, u64)>;

/// Why a person's presence is still wrong after a look.
enum Why {
    /// Their movement can't be repeated.
    Astray(Astray),
    /// It could not be.
    Failure(PresenceFailure),
}

/// Why a look, or what it asked for, did not end well.
struct PresenceFailure {
    reason: String,
    denied: bool,
}

impl<'a> Presence<'a> {
    /// Begins with the echoes that an earlier process left.
    pub fn open(client: &Client, store: &'a Store, clock: &'a Clock, target: Target) -> Result<Self, store::Error> {
        let mut state = PresenceState::default();
        for (id, echo) in ECHOES.list::<Vec<_>>(store, &target)? {
            state.open.insert(id, Open { echo, serial: 0, sent: Instant::now(), is_done: true });
        }
        Ok(Self { client: client.urgent(), store, clock, target, state: Mutex::new(state), wake: Notify::new() })
    }

    /// Waits until an update of this person can be sent together with the look that follows it. Returns why
    /// no more are begun if `stopped` says so.
    pub(crate) async fn room(
        &self,
        id: RemoteId,
        stopped: impl Fn() -> Option<StopReason>,
    ) -> Result<Room<'_>, StopReason> {
        loop {
            if let Some(reason) = stopped() {
                return Err(reason);
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
                return Ok(room);
            }
            drop(room);
            self.state().waiting += 1;
            sleep(TICK).await;
            self.state().waiting -= 1;
        }
    }

    /// Looks at the movements until the push is closed, and once more then. Returns what is worth telling.
    pub(crate) async fn watch(&self) -> Result<Vec<String>, store::Error> {
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
        let note = (put_back > 0).then(|| {
            format!(
                "{} in or out during their update; their presence was restored",
                counted(put_back, "person signed", "people signed")
            )
        });
        Ok(note.into_iter().chain(fault).collect())
    }

    /// Allows another [`Presence::watch`].
    pub(crate) fn reopen(&self) {
        self.state().closing = false;
    }

    /// Ends [`Presence::watch`].
    pub(crate) fn close(&self) {
        self.state().closing = true;
        self.wake.notify_one();
    }

    /// Looks once at the movements since the PUTs that have ended, and puts right what they undid. Returns why that could
    /// not be done.
    pub async fn look(&self) -> Result<Option<String>, store::Error> {
        let echoes: Echoes = {
            let state = self.state();
            let done = state.open.iter().filter(|(_, open)| open.is_done);
            done.map(|(id, open)| (*id, (open.echo, open.serial))).collect()
        };
        if echoes.is_empty() {
            return Ok(None);
        }
        let people = echoes.iter().map(|(id, (echo, _))| (*id, *echo)).collect();
        let wrong = match self.put_right(&people).await {
            Ok(wrong) => wrong,
            Err(trouble) => return Ok(Some(self.postpone(echoes.len(), trouble))),
        };
        let (left, right): (Echoes, Echoes) = echoes.into_iter().partition(|(id, _)| wrong.contains_key(id));
        self.forget(&right)?;
        let mut troubles = Vec::new();
        for (id, why) in wrong {
            match why {
                Why::Astray(astray) => self.mark(id, left[&id].1, astray)?,
                Why::Failure(trouble) => troubles.push(trouble),
            }
        }
        let count = troubles.len();
        let worst = troubles.into_iter().reduce(|one, other| if other.denied { other } else { one });
        Ok(worst.map(|trouble| self.postpone(count, trouble)))
    }

    /// Looks again later, and says why.
    fn postpone(&self, count: usize, trouble: PresenceFailure) -> String {
        let reason = trouble.reason.as_str();
        let people = if count == 1 { "1 person" } else { &format!("{count} people") };
        tracing::warn!(people = count, reason, "presence of {people} could not be verified: {reason}");
        let mut state = self.state();
        state.not_before = Some(Instant::now() + LOOK_AGAIN);
        state.denied |= trouble.denied;
        format!(
            "whether {people} who were updated signed in or out meanwhile could not be verified; the next run does \
             it: {reason}"
        )
    }

    /// Remembers a person whose presence can't be restored, until a look finds it right. Does nothing if another echo
    /// of them was noted meanwhile.
    fn mark(&self, person: RemoteId, serial: u64, astray: Astray) -> Result<(), store::Error> {
        let mut state = self.state();
        let Some(open) = state.open.get_mut(&person).filter(|open| open.serial == serial) else { return Ok(()) };
        if open.echo.astray.replace(astray) == Some(astray) {
            return Ok(());
        }
        let mut batch = Batch::default();
        open.echo.put(&mut batch, self.target, person);
        let id = person.get();
        tracing::warn!(id, "id {id} {astray}");
        self.store.commit(batch)
    }

    /// Forgets echoes that were compared, and those whose PUT was never sent. Keeps an echo if another one of the same
    /// person was noted meanwhile.
    fn forget(&self, echoes: &Echoes) -> Result<(), store::Error> {
        let mut state = self.state();
        let mut batch = Batch::default();
        for id in std::mem::take(&mut state.unsent) {
            if !state.open.contains_key(&id) {
                ECHOES.remove(&mut batch, &self.target, &id);
            }
        }
        for (id, (_, serial)) in echoes {
            if state.open.get(id).is_some_and(|open| open.serial == *serial) {
                state.open.remove(id);
                ECHOES.remove(&mut batch, &self.target, id);
            }
        }
        self.store.commit(batch)
    }

    /// In each round, everything that this process sent lies before the first listing. A person who moved after it has
    /// the right presence, so only the others are restored. Returns the failures by person; one failure does not affect
    /// the others.
    async fn put_right(&self, people: &BTreeMap<RemoteId, Echo>) -> Result<BTreeMap<RemoteId, Why>, PresenceFailure> {
        let mut people = people.clone();
        let mut wrong = BTreeMap::new();
        for round in 0..ROUNDS_MAX {
            let moved = self.moved(&people).await?;
            let differs = |id: &&RemoteId| moved.get(*id).is_some_and(|stand| people[*id].onsite != Some(stand.onsite));
            // What was put back is read whatever the listing says.
            let asked: BTreeSet<RemoteId> = people.keys().filter(|id| round > 0 || differs(id)).copied().collect();
            if asked.is_empty() {
                return Ok(wrong);
            }
            let (onsite_now, unread) = self.onsite_now(&people, &asked).await?;
            for (id, failure) in unread {
                people.remove(&id);
                wrong.insert(id, Why::Failure(failure));
            }
            let is_wrong = |id: &RemoteId| match (moved.get(id), onsite_now.get(id)) {
                (Some(stand), Some((onsite, _))) => stand.onsite != *onsite,
                // They have not moved, or are gone.
                _ => false,
            };
            people.retain(|id, _| is_wrong(id));
            if people.is_empty() {
                return Ok(wrong);
            }
            let again = self.moved(&people).await?;
            people.retain(|id, _| again.get(id) == moved.get(id));
            let stands = people.keys().filter_map(|id| Some((*id, again.get(id)?, &onsite_now.get(id)?.1)));
            for (person, why) in self.repeat(stands.collect()).await {
                people.remove(&person);
                wrong.insert(person, why);
            }
            if people.is_empty() {
                return Ok(wrong);
            }
        }
        let reason = "presence changes too often to be restored";
        wrong.extend(
            people
                .into_keys()
                .map(|id| (id, Why::Failure(PresenceFailure { reason: reason.to_owned(), denied: false }))),
        );
        Ok(wrong)
    }

    /// Where the latest movement since its echo leaves each person who moved; those of this process apart.
    async fn moved(&self, people: &BTreeMap<RemoteId, Echo>) -> Result<BTreeMap<RemoteId, Stand>, PresenceFailure> {
        let since = people.values().map(|echo| echo.since).min().unwrap_or(Timestamp::MIN);
        let (own, over) = {
            let state = self.state();
            (state.own.clone(), state.over.clone())
        };
        let mut moved: BTreeMap<RemoteId, Stand> = BTreeMap::new();
        let mut take = |page: Vec<Moved>| {
            for movement in page {
                let Some(person) = movement.person else { continue };
                let Some(echo) = people.get(&person) else { continue };
                let counts =
                    |stand: &Stand| stand.counts(echo.since) && (stand.onsite || !over.contains(&stand.movement));
                let stand = Stand::of(&movement).filter(counts);
                let Some(stand) = stand.filter(|stand| own.get(&stand.movement) != Some(stand)) else { continue };
                if moved.get(&person).is_none_or(|other| other.order() < stand.order()) {
                    moved.insert(person, stand);
                }
            }
        };
        // A 404 may be that of a gateway before the service: after a while it is another answer, or no one is shown at all.
        if self.movements(since, &mut take).await?.ended_by_404 {
            sleep(term(mirror::LOOK_AGAIN)).await;
            let again = self.movements(since, &mut take).await?;
            if again.ended_by_404 && !Remote::shows_anyone(&self.client, self.target).await? {
                let reason = "the service answers 404 to lists that are there".to_owned();
                return Err(PresenceFailure { reason, denied: false });
            }
        }
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

    /// Who of them is on site, and where, according to the service, and why others can't be read, who keep no one else from being
    /// looked at (law 8); people who are gone are in neither.
    async fn onsite_now(
        &self,
        people: &BTreeMap<RemoteId, Echo>,
        asked: &BTreeSet<RemoteId>,
    ) -> Result<(BTreeMap<RemoteId, (bool, KnownPlace)>, BTreeMap<RemoteId, PresenceFailure>), PresenceFailure> {
        let shown = |person: &Remote| (person.id(), (person.is_onsite(), KnownPlace::of(person)));
        let (mut onsite_now, mut unread) = (BTreeMap::new(), BTreeMap::new());
        if asked.len() > READ_ALONE_MAX {
            // Everybody who was sent has changed since.
            let since = people.values().map(|echo| echo.since).min();
            Remote::walk(&self.client, self.target, (since, false), |page| {
                onsite_now.extend(page.iter().filter(|person| asked.contains(&person.id())).map(shown));
            })
            .await?;
        }
        for id in asked {
            if onsite_now.contains_key(id) {
                continue;
            }
            match Remote::get(&self.client, self.at(*id)).await {
                Ok(answered) => onsite_now.extend(answered.value.as_ref().map(shown)),
                // Nothing of it arrived, so the others would not either.
                Err(error) if error.fate() == api::Fate::NotSent => return Err(error.into()),
                Err(error) => drop(unread.insert(*id, error.into())),
            }
        }
        Ok((onsite_now, unread))
    }

    /// Signs people in or out as they did themselves. Returns the failures by person.
    async fn repeat(&self, stands: Vec<(RemoteId, &Stand, &KnownPlace)>) -> Vec<(RemoteId, Why)> {
        let sent = stream::iter(stands)
            .map(|(person, stand, place)| async move { (person, self.repeat_one(person, stand, place).await) })
            .buffer_unordered(self.client.in_flight());
        sent.filter_map(|(person, result)| async move { Some((person, result.err()?)) }).collect().await
    }

    async fn repeat_one(&self, person: RemoteId, stand: &Stand, place: &KnownPlace) -> Result<(), Why> {
        let again = match stand.again(self.target, person, place) {
            Err(_) => stand.again(self.target, person, &self.located(place).await.map_err(Why::from)?),
            again => again,
        };
        let again = again.map_err(Why::Astray)?;
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
        if shown.is_some() && stand.onsite {
            state.over.insert(stand.movement);
        }
        state.own.extend(shown.map(|shown| (shown.movement, shown)));
        Ok(())
    }

    /// A place of which only the name is shown, with its id where one location alone has that name.
    async fn located(&self, place: &KnownPlace) -> Result<KnownPlace, api::Error> {
        let Some(name) = place.name.as_deref().filter(|_| place.location.is_none()) else { return Ok(place.clone()) };
        let listed = self.client.send(Api::<Location>::root().list(&Query::default())).await?.value;
        let locations = Locations::of(&listed);
        Ok(KnownPlace { location: locations.id(name).map(|id| id.get().into()), ..place.clone() })
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

    fn at(&self, id: RemoteId) -> EntityRef {
        EntityRef { target: self.target, id, below: None }
    }

    fn is_due(&self) -> bool {
        let wait = self.client.free_in(REQUESTS + RESERVE);
        let state = self.state();
        let now = Instant::now();
        let Some(first) =
            state.open.values().filter(|open| open.is_done && open.echo.astray.is_none()).map(|open| open.sent).min()
        else {
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

    fn state(&self) -> MutexGuard<'_, PresenceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room<'_> {
    /// Puts on disk that a copy and a PUT are about to be made, in the batch that makes the change known. `before` is a
    /// time of the service's that is past.
    pub(crate) fn intend(&mut self, batch: &mut Batch, before: Option<Timestamp>) {
        let presence = self.presence;
        let before = before.unwrap_or_else(|| presence.clock.now().saturating_sub(UNDATED).unwrap_or(Timestamp::MIN));
        if presence.target.has_presence() && !presence.state().open.contains_key(&self.id) {
            Echo::ahead(before).put(batch, presence.target, self.id);
        }
        self.began = Instant::now();
    }

    /// The copy has come, its answer bears `date`, and the PUT is about to say `onsite`.
    pub(crate) fn send(&mut self, date: Option<Timestamp>, onsite: bool) {
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

impl From<api::Error> for Why {
    fn from(error: api::Error) -> Self {
        Self::Failure(error.into())
    }
}

impl From<api::Error> for PresenceFailure {
    fn from(error: api::Error) -> Self {
        Self { reason: chain(&error), denied: error.permission() }
    }
}

#[cfg(test)]
mod tests;
