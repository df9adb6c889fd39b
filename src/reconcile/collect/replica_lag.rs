//! Which server showed the people that a job knows, and whether the server that is read now can prove that they are
//! gone (law 1).
//!
//! Invariants:
//! - For each person that the job knows, the position of the server that showed them last is remembered: in `last` for
//!   nearly all, in `others` for the rest. Any read that shows a person counts, a broken or narrowed one too, with the
//!   position of its server at the end.
//! - A person who is missing, or whose row says that they are gone, has left only if the server that is read had seen
//!   all of that before it was asked. Otherwise they stay as they are, neither leaving nor coming back.
//! - What was proven stays proven: who was missing where that could be believed is not doubted because another server is
//!   read next.
//! - A server that is behind takes nothing back: what it takes to be believed stays as high as it was, until a server
//!   reaches it or a person says that the directory is right as it is.
//!
//! Rejected: to doubt the whole read. If a name leads to many servers that show nothing of each other, the present one
//! always lacks someone that another one showed, and there would never be a leaver.

use super::collected_rows::CollectedRows;
use crate::reconcile::model::replicas::Replicas;
use crate::record::{JobName, Key};
use crate::snapshot::Index;
use crate::source::ReplicaPosition;
use crate::text::counted;

/// How many people a reason names.
const NAMED: usize = 3;

/// What a read says in the light of those before it.
#[derive(Default)]
pub(crate) struct ReplicaLag {
    /// Why some who are missing stay.
    pub(crate) reason: Option<String>,
    /// What to think of the values that it gives.
    pub(crate) note: Option<String>,
    /// Whether the directory changed while it was read.
    pub(crate) changed: bool,
    /// What is to be remembered.
    pub(crate) next: Replicas,
}

impl Replicas {
    /// Judges a read: people that it can't prove to be gone count as present from here on.
    pub(crate) fn judge(&self, job: &JobName, gathered: &mut CollectedRows, index: &Index) -> ReplicaLag {
        let Some(span) = gathered.read.span.clone() else {
            return ReplicaLag { next: self.clone(), ..ReplicaLag::default() };
        };
        let missing: Vec<usize> =
            (0..index.len()).filter(|at| !gathered.present.has(*at) && !index.entry(*at).gone).collect();
        let mut doubted: Vec<Key> = Vec::new();
        let mut said_so = false;
        for at in &missing {
            let Some(key) = Key::new(index.entry(*at).key) else { continue };
            if !self.is_covered(&key, &span.began) {
                said_so |= gathered.left.remove(&key).is_some();
                gathered.present.mark(*at);
                doubted.push(key);
            }
        }
        let next = self.after(&span, &missing, index, !doubted.is_empty());
        let is_whole = gathered.read.incomplete().is_empty();
        let before = self.last.as_ref().filter(|last| !span.began.covers(last));
        let reason = doubted.first().filter(|_| is_whole || said_so).and_then(|one| self.of(one));
        ReplicaLag {
            reason: reason.map(|shown| reason_of(job, &span.began, shown, &doubted)),
            note: before.filter(|_| !gathered.candidates.is_empty()).map(|last| note(&span.began, last)),
            changed: !span.began.covers(&span.ended),
            next,
        }
    }
}

fn reason_of(job: &JobName, now: &ReplicaPosition, shown: &ReplicaPosition, doubted: &[Key]) -> String {
    let mut named: Vec<String> = doubted.iter().take(NAMED).map(Key::to_string).collect();
    if doubted.len() > NAMED {
        named.push("…".to_owned());
    }
    let who = counted(doubted.len(), "known person is missing there", "known people are missing there");
    let (named, job) = (named.join(", "), job.root());
    let stay = if doubted.len() == 1 { "stays" } else { "stay" };
    let how = if now.is_behind(shown) {
        format!(
            "the server {} is behind what was read before: a replica that lags, or a directory from a backup; {who} \
             ({named}) and {stay} until it has caught up",
            now.address
        )
    } else {
        format!(
            "the server {} does not show that it has seen all that was read before; {who} ({named}) and {stay} until it shows \
             them, or until {}, which showed people last, is read without them",
            now.address, shown.address
        )
    };
    format!("{how}; if the directory is right as it is: `rosterd approve {job} --server`")
}

fn note(now: &ReplicaPosition, last: &ReplicaPosition) -> String {
    let what = if now.is_behind(last) { "is behind" } else { "may be behind" };
    format!(
        "the server {} {what} what was read before from {}: some values and joiners may be old",
        now.address, last.address
    )
}
