//! Carries out what callers on other machines ask of the worker that has the account: the commands of the socket, with an
//! output that leads back by the database.
//!
//! Invariants:
//! - Such a caller has shown that it may use the database, and nothing else. It reaches no file and no secret of this machine:
//!   what a command reads came with the call, what it writes goes back, and its configuration is this worker's own.
//! - Who called is written as `USER@NODE`.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tracing::Instrument as _;

use super::call::{Caller, VERSION};
use super::door::Reached;
use super::elsewhere::{WrittenCall, parts};
use super::frame::FrameKind;
use super::places::CallSlots;
use super::server::{Commands, Running};
use crate::daemon::state::DaemonState;
use crate::fault::chain;
use crate::store::{AnswerPart, Reply, RequestKind, TakeRequest, TakenRequest, TakesRequests};

/// Takes the requests of an account, until it is dropped.
pub(in crate::daemon) struct RemoteCallers {
    takes: Option<TakesRequests>,
    slots: Arc<CallSlots>,
}

impl RemoteCallers {
    /// Takes requests for an account from now on, where other machines can have any.
    pub(in crate::daemon) fn serve(engine: &Arc<DaemonState>, commands: &Arc<dyn Commands>) -> Self {
        let slots = CallSlots::new(&engine.shared().callers);
        let desk = Desk { engine: Arc::clone(engine), commands: Arc::clone(commands), slots: Arc::clone(&slots) };
        let (handle, desk) = (Handle::current(), Arc::new(desk));
        let take: TakeRequest = Arc::new(move |taken| {
            let desk = Arc::clone(&desk);
            let span = desk.engine.span().clone();
            handle.spawn(async move { desk.answer(taken).await }.instrument(span));
        });
        let takes = engine.setup().config.state.home.take_requests(VERSION, take).unwrap_or_else(|error| {
            let error = chain(&error);
            tracing::error!(error, "commands on other machines don't reach this worker: {error}");
            None
        });
        Self { takes, slots }
    }

    /// Takes no more, and waits until each caller has its answer, for as long as that may take.
    pub(in crate::daemon) async fn end(mut self, longest: Duration) {
        self.takes = None;
        self.slots.free(longest).await;
    }
}

/// What answers requests.
struct Desk {
    engine: Arc<DaemonState>,
    commands: Arc<dyn Commands>,
    slots: Arc<CallSlots>,
}

impl Desk {
    async fn answer(&self, taken: TakenRequest) {
        match taken.request.kind {
            RequestKind::Command => self.command(taken).await,
            RequestKind::Page => {
                let answer = match self.engine.pages() {
                    Some(pages) => pages.answer(&taken.request.call).await,
                    None => None,
                };
                let (kind, bytes) = match answer {
                    Some(answer) => (FrameKind::File, answer),
                    None => (FrameKind::Elsewhere, Vec::new()),
                };
                let mut all: Vec<AnswerPart> = parts(kind, &bytes).collect();
                let last = all.pop().expect("a frame has a part at least");
                all.into_iter().for_each(|part| taken.reply.send(part));
                finish(taken.reply, last).await;
            }
        }
    }

    async fn command(&self, taken: TakenRequest) {
        let TakenRequest { request, reply, caller: mark } = taken;
        let refused = |words: String| AnswerPart { kind: FrameKind::Elsewhere.byte(), bytes: words.into_bytes() };
        let (call, caller) = match serde_json::from_slice::<WrittenCall>(&request.call) {
            Ok(WrittenCall { mut call, brought, is_privileged }) if call.version == VERSION => {
                call.brought = brought;
                (call, Caller::Remote { name: request.by, is_privileged })
            }
            _ => {
                let words = "the worker does not understand this program: they are of different versions";
                return finish(reply, refused(words.to_owned())).await;
            }
        };
        if self.commands.asks_to_reload(&call) {
            let words = "a worker takes the configuration of its own machine: say `rosterd reload` there";
            return finish(reply, refused(words.to_owned())).await;
        }
        let _place = match self.slots.take(&caller) {
            Ok(place) => place,
            Err(words) => return finish(reply, refused(words)).await,
        };
        let reached = Reached { engine: Arc::clone(&self.engine), has_begun: false };
        let Running { mut frames, work, stop } = Running::begin(reached, Arc::clone(&self.commands), call, caller);
        let hears = async {
            mark.ended().await;
            stop.send_modify(|askers| *askers += 1);
            std::future::pending::<()>().await;
        };
        let writes = async {
            while let Some((kind, bytes)) = frames.recv().await {
                parts(kind, &bytes).for_each(|part| reply.send(part));
            }
        };
        tokio::select! {
            () = writes => {}
            () = hears => {}
        }
        // A panic is a command that failed; its thread has reported it.
        let code = work.await.unwrap_or(1);
        finish(reply, AnswerPart { kind: FrameKind::Exit.byte(), bytes: vec![code] }).await;
    }
}

/// Sends the last part; its place is free once that is written.
async fn finish(reply: Box<dyn Reply>, part: AnswerPart) {
    // It blocks, and does not panic.
    let _ = tokio::task::spawn_blocking(move || reply.finish(part)).await;
}
