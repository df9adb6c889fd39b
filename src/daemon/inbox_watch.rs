//! Looks into inboxes, so that dropped files are taken soon: at once where the folder tells of a file, when a file that is not
//! still yet will be, and every now and then anyway. Where a folder tells nothing, as on a network share, it is polled.
//!
//! A look may hang, on a network share that is gone; so each has a thread of its own, and a job's next look waits for its
//! last one. A file that still lies in front after a run is not asked for again at once: that run could not take it, and the
//! next would fail as soon. How the run ended says nothing about it: one that held all its changes has filed its file, and
//! what is dropped afterwards is taken as soon as ever.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use super::event::Event;
use super::state::DaemonState;
use crate::fault::chain;
use crate::reconcile::{Front, Poll};
use crate::record::JobName;

/// How often a folder is looked at that tells nothing.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often one is looked at that tells of files: an event may have been lost.
const LOOK_ANYWAY_EVERY: Duration = Duration::from_secs(10);
/// The parts of the time between two looks at which accounts begin.
const SHARES: u32 = 100;
/// Events that come in this time are one: a look lists the whole folder.
const TOGETHER: Duration = Duration::from_millis(10);
/// How long a file that a run could not take is left alone, at first and at most.
const REST: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(15 * 60));

/// What a look found in front, or why it could not look.
struct Looked {
    job: JobName,
    poll: Poll,
    found: Result<Option<Front>, String>,
    /// Whether the folder tells of files.
    tells: bool,
}

/// What is known of a job's inbox.
#[derive(Default)]
struct Inbox {
    /// None while a look is under way.
    poll: Option<Poll>,
    /// What a run was asked for last.
    asked: Option<Asked>,
    /// When it is looked at next.
    due: Option<Instant>,
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
    let told = Arc::new(Notify::new());
    // Accounts of one process look one after the other: together they would take a thread each.
    let share = u32::try_from(engine.number() % u64::from(SHARES)).expect("it is less than SHARES");
    let begin = Instant::now() + LOOK_EVERY * share / SHARES;
    loop {
        let next = look(&engine, &mut inboxes, (&mut looks, &told), begin);
        tokio::select! {
            () = tokio::time::sleep_until(next.into()) => {}
            () = told.notified() => {
                let soon = Instant::now() + TOGETHER;
                inboxes.values_mut().for_each(|inbox| inbox.due = Some(soon));
            }
            event = events.recv() => match event {
                Ok(Event::Ended { report }) => ended(&mut inboxes, &report.name),
                Ok(Event::Broken { job, .. }) => ended(&mut inboxes, &job),
                Err(RecvError::Closed) => return,
                Ok(_) | Err(RecvError::Lagged(_)) => {}
            },
            Some(Ok(looked)) = looks.join_next() => judge(&engine, &mut inboxes, looked),
        }
    }
}

/// Has a run made where something is in front.
fn judge(engine: &Arc<DaemonState>, inboxes: &mut BTreeMap<JobName, Inbox>, looked: Looked) {
    let Looked { job, poll, found, tells } = looked;
    let inbox = inboxes.entry(job.clone()).or_default();
    let often = if tells && found.is_ok() { LOOK_ANYWAY_EVERY } else { LOOK_EVERY };
    let wait = poll.settles_in().map_or(often, |settles| settles.min(often));
    // What happened meanwhile is looked at as soon as that says.
    let due = Instant::now() + wait;
    inbox.due = Some(inbox.due.map_or(due, |before| before.min(due)));
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

fn ended(inboxes: &mut BTreeMap<JobName, Inbox>, job: &JobName) {
    if let Some(inbox) = inboxes.get_mut(job) {
        inbox.ended(Instant::now());
        // What it did not take, or what came meanwhile.
        inbox.due = Some(Instant::now() + TOGETHER);
    }
}

/// Looks at those that are due; returns when the next one is.
fn look(
    engine: &Arc<DaemonState>,
    inboxes: &mut BTreeMap<JobName, Inbox>,
    (looks, told): (&mut JoinSet<Looked>, &Arc<Notify>),
    begin: Instant,
) -> Instant {
    let (setup, now) = (engine.setup(), Instant::now());
    let mut next = now + LOOK_ANYWAY_EVERY;
    let jobs = setup.config.jobs.iter().filter_map(|job| Some((job, job.inbox.as_ref()?)));
    for (job, options) in jobs {
        let inbox = inboxes.entry(job.name.clone()).or_insert_with(|| Inbox {
            poll: Some(Poll::default()),
            due: Some(begin),
            ..Inbox::default()
        });
        // One that is being looked at is due when that is done.
        let Some(due) = inbox.due.filter(|_| inbox.poll.is_some()) else { continue };
        if due > now {
            next = next.min(due);
            continue;
        }
        let Some(mut poll) = inbox.poll.take() else { continue };
        inbox.due = None;
        let (home, clock) = (setup.config.state.home.clone(), engine.clock().clone());
        let (job, folder, told, shared) =
            (job.clone(), options.dir.clone(), Arc::clone(told), Arc::clone(engine.shared()));
        looks.spawn_blocking(move || {
            // Before the look: what comes after it makes an event.
            let tells = shared.folders.watch(&folder, &told);
            let found = poll.front(&job, &home, &clock).map_err(|error| chain(&error));
            Looked { job: job.name, poll, found, tells }
        });
    }
    next
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
