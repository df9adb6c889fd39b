//! The way to the worker that has an account, for what only that worker can do.
//!
//! ```text
//! caller ──ask──▶ request ──taken, once──▶ worker with the lease
//!    └──look── ◀── answer, in parts ◀──────────┘
//! ```
//!
//! Invariants:
//! - A request is taken once, by the worker that has the lease in that moment. It is never given to another one: what a
//!   worker that lost the account did of it is not known.
//! - A caller that gives no sign of life for [`SILENT_MAX`] has asked to end. So has one that says so.
//! - What was asked and answered goes from the database once the caller has heard it; of a caller that vanished, within minutes.
//!
//! Rejected: connections between workers. Each would need an address, a certificate and a hole in a firewall, and all of them
//! reach the database already. `listen` and `notify`: a pooler in transaction mode loses them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use super::Error;

/// After so long without a sign of life a caller counts as gone. The statements have the same number.
pub const SILENT_MAX: Duration = Duration::from_secs(15);
/// How much of an answer is one part.
pub const PART_BYTES: usize = 512 * 1024;

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// A command.
    Command,
    /// A page for a browser.
    Page,
}

/// Something that is asked of the worker that has an account.
#[derive(Clone)]
pub struct HolderRequest {
    /// What it is about.
    pub kind: RequestKind,
    /// What is asked, in the caller's form.
    pub call: Vec<u8>,
    /// Who asks: a user of a machine.
    pub by: String,
}

/// The worker that has an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Where it runs.
    pub node: String,
    /// Since when it has the account.
    pub since: Option<Timestamp>,
    /// The form in which it takes requests; `None` where it takes none.
    pub form: Option<u32>,
}

/// A part of an answer.
#[derive(Debug)]
pub struct AnswerPart {
    /// What it is, in the worker's form.
    pub kind: u8,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// What became of a request so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It waits for the worker.
    Waits,
    /// It waits, and no worker has the account any more.
    Free,
    /// The worker is at it, or done.
    Taken,
    /// Who took it may have lost the account.
    Doubtful,
    /// Who took it has lost the account, or forgot this caller.
    Lost,
}

/// What a look at a request shows.
#[derive(Debug)]
pub struct RequestProgress {
    /// How far it is.
    pub stage: Stage,
    /// Parts of the answer that were not seen before, in order.
    pub parts: Vec<AnswerPart>,
}

/// How a caller looks.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// How many parts it has seen.
    pub seen: u32,
    /// Whether it was asked to end.
    pub stops: bool,
}

/// The caller's side. Every call blocks until the database answers.
pub trait Relay: Send + Sync {
    /// What this machine is called.
    fn node(&self) -> &str;

    /// The worker that has the account; `None` where none has.
    fn holder(&self) -> Result<Option<Holder>, Error>;

    /// Asks something, and returns its number.
    fn ask(&self, request: &HolderRequest) -> Result<i64, Error>;

    /// Gives a sign of life, and shows what came.
    fn look(&self, number: i64, look: Look) -> Result<RequestProgress, Error>;

    /// Takes a request back that no worker has taken; false where one has.
    fn take_back(&self, number: i64) -> Result<bool, Error>;

    /// Removes a request with its answer: all of it was heard.
    fn end(&self, number: i64) -> Result<(), Error>;
}

/// A request that this process took.
pub struct TakenRequest {
    /// What is asked.
    pub request: HolderRequest,
    /// The way back.
    pub reply: Box<dyn Reply>,
    /// Whether its caller was asked to end, or is gone.
    pub caller: Arc<CallerMark>,
}

/// What is known of a caller.
#[derive(Debug, Default)]
pub struct CallerMark {
    ends: AtomicBool,
    heard: tokio::sync::Notify,
}

impl CallerMark {
    /// The caller was asked to end.
    #[cfg(feature = "postgres")]
    pub(super) fn end(&self) {
        self.ends.store(true, Ordering::SeqCst);
        self.heard.notify_one();
    }

    /// Waits until the caller was asked to end; for one waiter.
    pub async fn ended(&self) {
        while !self.ends.load(Ordering::SeqCst) {
            self.heard.notified().await;
        }
    }
}

/// The way back to a caller.
pub trait Reply: Send + Sync {
    /// Sends a part, soon.
    fn send(&self, part: AnswerPart);

    /// Sends the last part, and waits until it is in the database, or can't be brought there.
    fn finish(self: Box<Self>, part: AnswerPart);
}

/// Does what is asked of the account; called on a thread that must not be held up.
pub type TakeRequest = Arc<dyn Fn(TakenRequest) + Send + Sync>;

/// Takes the requests of an account, until it is dropped.
pub struct TakesRequests {
    /// Ends it.
    pub(super) _end: Box<dyn Send + Sync>,
}
