//! Looking at inboxes, so that what is dropped there is taken soon.
//!
//! A look may hang, on a network share that is gone; so each has a thread of its own, and a job's next look waits for its
//! last one. What a run could not take is not asked for again at once: it would fail again as soon.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use super::engine::Engine;
use super::event::Event;
use crate::fault::chain;
use crate::record::JobName;
use crate::run::{Poll, Status};

/// How often a folder is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long a job whose run could not take what lies there is left alone, at first and at most.
const REST: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(15 * 60));

/// What is known of a job's inbox.
#[derive(Default)]
struct Inbox {
    /// None while a look is under way.
    poll: Option<Poll>,
    /// Until when it is left alone, and for how long.
    rest: Option<(Instant, Duration)>,
    /// The last trouble, told once.
    trouble: Option<String>,
}

impl Inbox {
    fn ended(&mut self, status: Status, now: Instant) {
        self.rest = match status {
            Status::Done | Status::Partial => None,
            Status::Held | Status::Failed => {
                let length = self.rest.map_or(REST.0, |(_, length)| (length * 2).min(REST.1));
                Some((now + length, length))
            }
        };
    }

    fn rests(&self, now: Instant) -> bool {
        self.rest.is_some_and(|(until, _)| now < until)
    }
}

/// Looks at the inboxes of all jobs, for as long as it is polled.
pub(super) async fn watch(engine: Arc<Engine>) {
    let mut inboxes: BTreeMap<JobName, Inbox> = BTreeMap::new();
    let mut looks: JoinSet<(JobName, Poll, Result<bool, String>)> = JoinSet::new();
    let mut events = engine.events();
    let mut tick = tokio::time::interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = tick.tick() => look(&engine, &mut inboxes, &mut looks),
            event = events.recv() => match event {
                Ok(Event::Ended { report }) => {
                    if let Some(inbox) = inboxes.get_mut(&report.name) {
                        inbox.ended(report.status, Instant::now());
                    }
                }
                Ok(Event::Broken { job, .. }) => {
                    if let Some(inbox) = inboxes.get_mut(&job) {
                        inbox.ended(Status::Failed, Instant::now());
                    }
                }
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
                if found == Ok(true) && !inbox.rests(Instant::now()) && engine.runs().of(&job).is_none() {
                    engine.ask([job]);
                }
            }
        }
    }
}

fn look(
    engine: &Arc<Engine>,
    inboxes: &mut BTreeMap<JobName, Inbox>,
    looks: &mut JoinSet<(JobName, Poll, Result<bool, String>)>,
) {
    let setup = engine.setup();
    let jobs = setup.config.jobs.iter().filter(|job| job.inbox.is_some());
    for job in jobs.cloned() {
        let inbox = inboxes
            .entry(job.name.clone())
            .or_insert_with(|| Inbox { poll: Some(Poll::default()), ..Inbox::default() });
        let Some(mut poll) = inbox.poll.take() else { continue };
        let (dir, clock) = (setup.config.state.dir.clone(), engine.clock().clone());
        looks.spawn_blocking(move || {
            let found = poll.is_ready(&job, &dir, &clock).map_err(|error| chain(&error));
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
        let mut rests = Vec::new();
        for _ in 0..7 {
            inbox.ended(Status::Failed, now);
            assert!(inbox.rests(now));
            let (until, length) = inbox.rest.unwrap();
            rests.push(length.as_secs());
            now = until;
            assert!(!inbox.rests(now));
        }
        assert_eq!(rests, [30, 60, 120, 240, 480, 900, 900]);
        inbox.ended(Status::Partial, now);
        assert!(!inbox.rests(now));
    }
}
