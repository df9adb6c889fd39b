//! Polls inboxes, so that dropped files are taken soon.
//!
//! A look may hang, on a network share that is gone; so each has a thread of its own, and a job's next look waits for its
//! last one. A file that still lies in front after a run is not asked for again at once: that run could not take it, and the
//! next would fail as soon. How the run ended says nothing about it: one that held all its changes has filed its file, and
//! what is dropped afterwards is taken as soon as ever.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use super::event::Event;
use super::state::DaemonState;
use crate::fault::chain;
use crate::reconcile::{Front, Poll};
use crate::record::JobName;

/// How often a folder is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The parts of that time at which accounts begin.
const SHARES: u32 = 100;
/// How long a file that a run could not take is left alone, at first and at most.
const REST: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(15 * 60));

/// What a look found in front, or why it could not look.
type Looked = (JobName, Poll, Result<Option<Front>, String>);

/// What is known of a job's inbox.
#[derive(Default)]
struct Inbox {
    /// None while a look is under way.
    poll: Option<Poll>,
    /// What a run was asked for last.
    asked: Option<Asked>,
    /// The last trouble, logged once.
    trouble: Option<String>,
}

/// What a run was asked for.
struct Asked {
    front: Front,
    /// Once a run has ended: until when the same is not asked for again, and for how long.
    rest: Option<(Instant, Duration)>,
}

impl Inbox {
    /// Whether a run is to be asked for, this being in front.
    fn finds(&mut self, front: Option<Front>, now: Instant) -> bool {
        let Some(front) = front else {
            self.asked = None;
            return false;
        };
        match &self.asked {
            Some(asked) if asked.front == front => asked.rest.is_none_or(|(until, _)| until <= now),
            _ => {
                self.asked = Some(Asked { front, rest: None });
                true
            }
        }
    }

    /// A run has ended: what is still in front afterwards, it could not take.
    fn ended(&mut self, now: Instant) {
        if let Some(Asked { rest, .. }) = &mut self.asked {
            let length = rest.map_or(REST.0, |(_, length)| (length * 2).min(REST.1));
            *rest = Some((now + length, length));
        }
    }
}

/// Looks at the inboxes of all jobs, for as long as it is polled.
pub(super) async fn watch(engine: Arc<DaemonState>) {
    let mut inboxes: BTreeMap<JobName, Inbox> = BTreeMap::new();
    let mut looks: JoinSet<Looked> = JoinSet::new();
    let mut events = engine.events();
    // Accounts of one process look one after the other: together they would take a thread each.
    let share = u32::try_from(engine.number() % u64::from(SHARES)).expect("it is less than SHARES");
    let begin = LOOK_EVERY * share / SHARES;
    let mut tick = tokio::time::interval_at(tokio::time::Instant::now() + begin, LOOK_EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = tick.tick() => look(&engine, &mut inboxes, &mut looks),
            event = events.recv() => match event {
                Ok(Event::Ended { report }) => ended(&mut inboxes, &report.name),
                Ok(Event::Broken { job, .. }) => ended(&mut inboxes, &job),
                Err(RecvError::Closed) => return,
                Ok(_) | Err(RecvError::Lagged(_)) => {}
            },
            Some(Ok((job, poll, found))) = looks.join_next() => {
                let inbox = inboxes.entry(job.clone()).or_default();
                inbox.poll = Some(poll);
                let trouble = found.as_ref().err().cloned();
                if let Some(reason) = trouble.as_ref().filter(|_| inbox.trouble != trouble) {
                    let job = job.as_str();
                    tracing::warn!(job, reason, "{job}: the inbox can't be looked at: {reason}");
                }
                inbox.trouble = trouble;
                // While a run is under way, what is in front may be what it is reading.
                if let Ok(front) = found
                    && engine.runs().of(&job).is_none()
                    && inbox.finds(front, Instant::now())
                {
                    engine.ask([job]);
                }
            }
        }
    }
}

fn ended(inboxes: &mut BTreeMap<JobName, Inbox>, job: &JobName) {
    if let Some(inbox) = inboxes.get_mut(job) {
        inbox.ended(Instant::now());
    }
}

fn look(engine: &Arc<DaemonState>, inboxes: &mut BTreeMap<JobName, Inbox>, looks: &mut JoinSet<Looked>) {
    let setup = engine.setup();
    let jobs = setup.config.jobs.iter().filter(|job| job.inbox.is_some());
    for job in jobs.cloned() {
        let inbox = inboxes
            .entry(job.name.clone())
            .or_insert_with(|| Inbox { poll: Some(Poll::default()), ..Inbox::default() });
        let Some(mut poll) = inbox.poll.take() else { continue };
        let (home, clock) = (setup.config.state.home.clone(), engine.clock().clone());
        looks.spawn_blocking(move || {
            let found = poll.front(&job, &home, &clock).map_err(|error| chain(&error));
            (job.name, poll, found)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_taken_is_left_alone_for_longer_and_longer() {
        let mut inbox = Inbox::default();
        let mut now = Instant::now();
        let front = Front::of("a.csv", 1);
        assert!(inbox.finds(Some(front.clone()), now));
        let mut rests = Vec::new();
        for _ in 0..7 {
            inbox.ended(now);
            assert!(!inbox.finds(Some(front.clone()), now));
            let (until, length) = inbox.asked.as_ref().unwrap().rest.unwrap();
            rests.push(length.as_secs());
            now = until;
            assert!(inbox.finds(Some(front.clone()), now));
        }
        assert_eq!(rests, [30, 60, 120, 240, 480, 900, 900]);
    }

    #[test]
    fn what_no_run_has_met_is_asked_for_at_once_however_the_last_run_ended() {
        let (mut inbox, now) = (Inbox::default(), Instant::now());
        assert!(inbox.finds(Some(Front::of("a.csv", 1)), now));
        inbox.ended(now);
        assert!(inbox.finds(Some(Front::of("b.csv", 1)), now), "another file is in front, so the run took the first");
        inbox.ended(now);
        assert!(!inbox.finds(None, now));
        let again = Front::of("b.csv", 2);
        assert!(inbox.finds(Some(again.clone()), now), "a file of the same name is another one");
        assert!(inbox.finds(Some(again), now), "until a run has ended, it is wanted");
    }
}
