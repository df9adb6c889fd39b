//! Asks the worker that has an account, where that is another one: by a row of the database instead of the socket.
//!
//! Invariants:
//! - What is asked is done once, or not at all, or it is said that what was done is not known. It is never asked again by itself.
//! - A configuration is not handed over: there may be secrets in it, and the worker would open what it names. Its digest is, and
//!   where the worker's own file has the same, that one is used.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::call::{Brought, Call, Caller, VERSION};
use super::client::Answer;
use super::frame::FrameKind;
use crate::config::CallerConfig;
use crate::daemon::shutdown::GRACE;
use crate::history::user_at;
use crate::store::{self, AnswerPart, Holder, HolderRequest, Look, PART_BYTES, Relay, RequestKind, SILENT_MAX, Stage};

/// How long a worker may take to begin what it is asked.
const BEGIN_MAX: Duration = Duration::from_secs(15);
/// How long the account may have no worker before who took the request counts as gone.
const DOUBT_MAX: Duration = Duration::from_secs(10);
/// How often it is looked for an answer.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long a worker may take from its claim until it takes requests.
const READY_MAX: Duration = Duration::from_secs(3);
/// What is asked is no larger.
const ASKED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A call as a row has it.
#[derive(Serialize, Deserialize)]
pub(super) struct WrittenCall {
    pub(super) call: Call,
    pub(super) brought: Brought,
    pub(super) is_privileged: bool,
}

/// Why the worker that has the account did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unanswered {
    /// No worker has the account: it can be had.
    #[error("no worker has the account")]
    Free,
    /// Nothing was done: the worker takes no requests.
    #[error("{} has the account and takes no requests of other machines", holder.node)]
    Silent {
        /// The worker.
        holder: Holder,
    },
    /// Nothing was done: they are of different versions.
    #[error("{} has the account, and is of another version than this program", holder.node)]
    Version {
        /// The worker.
        holder: Holder,
    },
    /// Nothing was done: it is too large.
    #[error("what the command reads is too large to be handed to {}", holder.node)]
    TooLarge {
        /// The worker.
        holder: Holder,
    },
    /// Nothing was done: the caller was asked to end before the worker began.
    #[error("interrupted; nothing was done")]
    Interrupted,
    /// The worker went away. What it did is not known.
    #[error("{} was at it and lost the account, or went away: what it did is not known", holder.node)]
    Lost {
        /// The worker.
        holder: Holder,
    },
    /// Nothing was done: the database can't be reached, or takes no requests.
    #[error(transparent)]
    Unreachable(store::Error),
    /// The database can't be reached any more. What was done is not known.
    #[error("what was done is not known: {0}")]
    Unheard(#[from] store::Error),
}

/// A frame as parts of an answer.
pub(super) fn parts(kind: FrameKind, bytes: &[u8]) -> impl Iterator<Item = AnswerPart> {
    let count = bytes.len().div_ceil(PART_BYTES).max(1);
    (0..count).map(move |number| {
        let piece = &bytes[number * PART_BYTES..bytes.len().min((number + 1) * PART_BYTES)];
        let kind = if kind == FrameKind::File && number + 1 < count { FrameKind::Piece } else { kind };
        AnswerPart { kind: kind.byte(), bytes: piece.to_vec() }
    })
}

/// Makes frames of parts.
#[derive(Default)]
pub(super) struct Frames {
    pieces: Vec<u8>,
}

impl Frames {
    /// The frame that a part ends.
    pub(super) fn whole(&mut self, part: AnswerPart) -> Option<(FrameKind, Vec<u8>)> {
        match FrameKind::of(part.kind)? {
            FrameKind::Piece => {
                self.pieces.extend_from_slice(&part.bytes);
                None
            }
            FrameKind::File => {
                let mut whole = std::mem::take(&mut self.pieces);
                whole.extend_from_slice(&part.bytes);
                Some((FrameKind::File, whole))
            }
            kind => Some((kind, part.bytes)),
        }
    }
}

/// A call as a request of a user of this machine.
fn request(call: &Call, caller: &Caller, relay: &dyn Relay) -> HolderRequest {
    let Brought { given, file, same_as } = call.brought.clone();
    let brought = Brought { same_as: given.as_ref().map(CallerConfig::digest).or(same_as), given: None, file };
    let (by, is_privileged) = (caller.name(call), caller.is_privileged());
    let written = WrittenCall { call: call.clone(), brought, is_privileged };
    let call = serde_json::to_vec(&written).expect("a call has a form as JSON");
    HolderRequest { kind: RequestKind::Command, call, by: user_at(&by, relay.node()) }
}

/// Whether the database did not take a request, so that no worker can have seen it.
fn is_refused(error: &store::Error) -> bool {
    matches!(error.kind, store::ErrorKind::ReadOnly | store::ErrorKind::Newer { .. } | store::ErrorKind::Full)
}

/// The worker that has the account. One that has it as of late says only a little later that it takes requests.
async fn holder_of(relay: &Arc<dyn Relay>) -> Result<Holder, Unanswered> {
    let begun = Instant::now();
    loop {
        let holder = blocking(relay, |relay| relay.holder()).await.map_err(Unanswered::Unreachable)?;
        let holder = holder.ok_or(Unanswered::Free)?;
        if holder.form.is_some() || begun.elapsed() >= READY_MAX {
            return Ok(holder);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Asks the worker that has the account, and hands each part of the answer to `part` until that has what it wants. When `stop`
/// completes, the worker hears that the caller was asked to end.
///
/// # Errors
///
/// Why there is no answer, and whether something was done.
pub(super) async fn ask_holder<T>(
    relay: &Arc<dyn Relay>,
    request: HolderRequest,
    stop: impl Future<Output = ()>,
    mut part: impl FnMut(AnswerPart) -> Option<T>,
) -> Result<(T, Holder), Unanswered> {
    let holder = holder_of(relay).await?;
    match holder.form {
        None => return Err(Unanswered::Silent { holder }),
        Some(VERSION) => {}
        Some(_) => return Err(Unanswered::Version { holder }),
    }
    if request.call.len() > ASKED_BYTES_MAX {
        return Err(Unanswered::TooLarge { holder });
    }
    let number = match blocking(relay, move |relay| relay.ask(&request)).await {
        Err(error) if is_refused(&error) => return Err(Unanswered::Unreachable(error)),
        asked => asked?,
    };
    let now = Instant::now();
    let (stage, doubted, stopped) = (Stage::Waits, None, None);
    let mut asked = OpenRequest { relay, number, holder, begun: now, heard: now, seen: 0, stage, doubted, stopped };
    tokio::pin!(stop);
    loop {
        let parts = asked.look().await?;
        let is_more = !parts.is_empty();
        for one in parts {
            asked.seen += 1;
            if let Some(done) = part(one) {
                // It is swept where this fails.
                let _ = blocking(relay, move |relay| relay.end(number)).await;
                return Ok((done, asked.holder));
            }
        }
        if !is_more {
            asked.judge().await?;
            tokio::select! {
                () = &mut stop, if asked.stopped.is_none() => asked.stopped = Some(Instant::now()),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }
}

/// Has the worker that has the account run a command of a user of this machine, and waits for its exit code; the error in it is what that
/// worker said instead.
///
/// # Errors
///
/// Why there is no answer, and whether something was done.
pub async fn command_elsewhere(
    relay: &Arc<dyn Relay>,
    (call, caller): (&Call, &Caller),
    answer: &mut impl Answer,
    stop: impl Future<Output = ()>,
) -> Result<Result<u8, String>, Unanswered> {
    let mut frames = Frames::default();
    let asked = ask_holder(relay, request(call, caller, &**relay), stop, |part| {
        let (kind, bytes) = frames.whole(part)?;
        match kind {
            FrameKind::Out => answer.out(&bytes),
            FrameKind::Err => answer.err(&bytes),
            FrameKind::File => answer.file(&bytes),
            FrameKind::Exit => return Some(Ok(bytes.first().copied().unwrap_or(1))),
            FrameKind::Elsewhere => return Some(Err(String::from_utf8_lossy(&bytes).into_owned())),
            FrameKind::Call
            | FrameKind::Brought
            | FrameKind::Stop
            | FrameKind::Piece
            | FrameKind::Alive
            | FrameKind::Stopped => {}
        }
        None
    });
    Ok(asked.await?.0)
}

/// Asks the worker that has the account for a page.
///
/// # Errors
///
/// Why there is no answer.
pub(in crate::daemon) async fn ask_for_page(relay: &Arc<dyn Relay>, call: Vec<u8>) -> Result<Vec<u8>, Unanswered> {
    let request = HolderRequest { kind: RequestKind::Page, call, by: relay.node().to_owned() };
    let mut pieces = Frames::default();
    let answered = ask_holder(relay, request, std::future::pending(), |part| match pieces.whole(part)? {
        (FrameKind::File, page) => Some(Some(page)),
        _ => Some(None),
    });
    let (page, holder) = answered.await?;
    page.ok_or(Unanswered::Silent { holder })
}

/// A request under way.
struct OpenRequest<'a> {
    relay: &'a Arc<dyn Relay>,
    number: i64,
    holder: Holder,
    begun: Instant,
    /// When the database answered last.
    heard: Instant,
    seen: u32,
    stage: Stage,
    /// Since when it is not known whether the worker is there.
    doubted: Option<Instant>,
    stopped: Option<Instant>,
}

impl OpenRequest<'_> {
    /// What is new. A database that does not answer for a while is asked again.
    async fn look(&mut self) -> Result<Vec<AnswerPart>, Unanswered> {
        let (number, look) = (self.number, Look { seen: self.seen, stops: self.stopped.is_some() });
        match blocking(self.relay, move |relay| relay.look(number, look)).await {
            Ok(progress) => {
                (self.heard, self.stage) = (Instant::now(), progress.stage);
                Ok(progress.parts)
            }
            Err(_) if self.heard.elapsed() < SILENT_MAX => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether it is worth waiting.
    async fn judge(&mut self) -> Result<(), Unanswered> {
        let holder = || self.holder.clone();
        let is_late = self.stopped.is_some_and(|at| at.elapsed() > GRACE + DOUBT_MAX);
        match self.stage {
            Stage::Taken if !is_late => self.doubted = None,
            Stage::Doubtful if !is_late => {
                let since = *self.doubted.get_or_insert_with(Instant::now);
                if since.elapsed() > DOUBT_MAX {
                    return Err(Unanswered::Lost { holder: holder() });
                }
            }
            Stage::Taken | Stage::Doubtful | Stage::Lost => return Err(Unanswered::Lost { holder: holder() }),
            Stage::Waits if self.stopped.is_none() && self.begun.elapsed() < BEGIN_MAX => {}
            stage @ (Stage::Waits | Stage::Free) => {
                let number = self.number;
                let why = match stage {
                    _ if self.stopped.is_some() => Unanswered::Interrupted,
                    Stage::Free => Unanswered::Free,
                    _ => Unanswered::Silent { holder: holder() },
                };
                // Where a worker took it meanwhile, it goes on.
                if blocking(self.relay, move |relay| relay.take_back(number)).await? {
                    return Err(why);
                }
            }
        }
        Ok(())
    }
}

async fn blocking<T: Send + 'static>(
    relay: &Arc<dyn Relay>,
    work: impl FnOnce(&dyn Relay) -> Result<T, store::Error> + Send + 'static,
) -> Result<T, store::Error> {
    let relay = Arc::clone(relay);
    tokio::task::spawn_blocking(move || work(&*relay)).await.expect("asking a database does not panic")
}
