//! Sends all changes of one kind, in rounds: changes of unknown fate are looked up after a round, and perhaps sent
//! again.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};

use super::error::Error;
use super::lanes::Lane;
use super::outcome::Step;
use super::{Outcome, Progress, Push};
use crate::fault::chain;
use crate::mirror::Mirror;
use crate::queue::{self, Change, Ticket};
use crate::record::{Action, Key};

/// How often one change is sent in one run.
const ATTEMPTS_MAX: u32 = 3;
/// The number of rounds without one clear outcome that ends a phase.
const BARREN_MAX: u32 = 3;
/// How long a change of unknown fate waits before it is sent again, by attempt.
const PAUSE: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];
/// The first change goes alone, and the next few together, before as many as are worth it: a service that loses fields,
/// or is down, is noticed early.
const PROBES: [usize; 2] = [1, 8];

/// A change and how often it was sent in this run.
type Tried = (Ticket, u32);

/// What a round left open.
#[derive(Default)]
struct Open {
    later: Vec<Tried>,
    unknown: Vec<(Change, u32, String)>,
    conflicts: Vec<(Change, u16, String)>,
}

impl Push<'_> {
    /// Works through the changes of one kind.
    pub(super) async fn phase(
        &self,
        mirror: &mut Mirror,
        tickets: Vec<Ticket>,
        progress: &mut Progress<'_>,
    ) -> Result<(), Error> {
        let Some(action) = tickets.first().map(|ticket| ticket.action) else { return Ok(()) };
        let mut todo: Vec<Tried> = tickets.into_iter().map(|ticket| (ticket, 0)).collect();
        let mut barren = 0;
        while !todo.is_empty() {
            let clear = progress.clear();
            progress.breaker.release();
            let open = self.round(mirror, todo, progress).await?;
            // First, so that a person made by a create of unknown fate is not taken over by another record.
            todo = self.again(mirror, open.unknown, progress).await?;
            self.adopt(mirror, open.conflicts, progress).await?;
            barren = if progress.clear() > clear { 0 } else { barren + 1 };
            if barren == BARREN_MAX && !open.later.is_empty() {
                progress.breaker.deny(action, "the service failed one request after the other".to_owned());
            }
            if let Some(attempts) = todo.iter().map(|(_, attempts)| *attempts).max() {
                tokio::time::sleep(PAUSE[(attempts as usize).clamp(1, PAUSE.len()) - 1]).await;
            }
            todo.extend(open.later);
        }
        Ok(())
    }

    /// Makes one attempt at each change.
    async fn round(&self, mirror: &Mirror, todo: Vec<Tried>, progress: &mut Progress<'_>) -> Result<Open, Error> {
        let mut open = Open::default();
        let lanes = std::mem::take(&mut progress.lanes);
        let mut shares = lanes.share(todo, |(ticket, _)| &ticket.key);
        let mut of_first = std::mem::take(&mut shares[0].1).into_iter();
        for count in PROBES.into_iter().chain([usize::MAX]) {
            let (job, breaker) = (progress.job, progress.breaker);
            // The first one alone finds out whether the service can do it at all.
            let mut now: Vec<(Option<&Lane<'_>>, Vec<Tried>)> = vec![(None, of_first.by_ref().take(count).collect())];
            if count == usize::MAX {
                now.extend(shares.drain(1..));
            }
            let mut steps = stream::select_all(now.into_iter().map(|(lane, share)| {
                let push = Push { client: lane.map_or(self.client, |lane| &lane.client), ..*self };
                let breaker = lane.map_or(breaker, |lane| &lane.breaker);
                let send = move |(ticket, attempts): Tried| async move {
                    let step = async {
                        // What is queued no more is wanted no more.
                        let Some(change) = queue::get(push.store, job, &ticket.key)? else { return Ok(None) };
                        match lane {
                            Some(lane) if !lane.takes_part(self.client, self.store, mirror).await? => {
                                Ok(Some((change, Step::Later)))
                            }
                            _ => push.one(mirror, change, breaker).await.map(Some),
                        }
                    };
                    (step.await, attempts)
                };
                stream::iter(share).map(send).buffer_unordered(push.client.in_flight().min(count))
            }));
            while let Some((step, attempts)) = steps.next().await {
                let Some((change, step)) = step? else { continue };
                match step {
                    Step::Done(outcome) => progress.note(self, change, outcome),
                    Step::Later => open.later.push((change.ticket(), attempts)),
                    Step::Unknown(reason) => open.unknown.push((change, attempts + 1, reason)),
                    Step::Conflict { status, words } => open.conflicts.push((change, status, words)),
                }
            }
        }
        progress.lanes = lanes;
        Ok(open)
    }

    /// Resolves changes of unknown fate; returns those that are to be sent again.
    async fn again(
        &self,
        mirror: &mut Mirror,
        unknown: Vec<(Change, u32, String)>,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<Tried>, Error> {
        let tried: BTreeMap<Key, (u32, String)> = unknown
            .iter()
            .map(|(change, attempts, reason)| (change.key.clone(), (*attempts, reason.clone())))
            .collect();
        let (creates, mut open): (Vec<Change>, Vec<Change>) =
            unknown.into_iter().map(|(change, ..)| change).partition(|change| change.wish.action == Action::Create);
        match self.look_up(mirror, creates.clone()).await {
            Ok(looked) => {
                looked.found.into_iter().for_each(|change| progress.note(self, change, Outcome::Confirmed));
                for (change, reason) in looked.unclear {
                    progress.note(self, change, Outcome::Undelivered(reason.to_string().into()));
                }
                open.extend(looked.absent);
            }
            // What became of them stays unknown; the next run looks again before anything else.
            Err(Error::Mirror(error)) => {
                progress.breaker.stop(format!("what became of changes could not be looked up: {}", chain(&error)));
                for change in creates {
                    let reason = tried.get(&change.key).map(|(_, reason)| reason.clone()).unwrap_or_default();
                    progress.note(self, change, Outcome::Undelivered(reason.to_string().into()));
                }
            }
            Err(error) => return Err(error),
        }
        let mut again = Vec::new();
        for mut change in open {
            let (attempts, reason) = tried.get(&change.key).cloned().unwrap_or_default();
            if attempts < ATTEMPTS_MAX && progress.breaker.stopped(self.witness).is_none() && self.client.take_retry() {
                again.push((change.ticket(), attempts));
            } else {
                self.count_failure(&mut change)?;
                progress.note(self, change, Outcome::Undelivered(reason.to_string().into()));
            }
        }
        Ok(again)
    }
}
