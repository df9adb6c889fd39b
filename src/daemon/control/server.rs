//! The daemon's side of the socket.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::call::{Call, Caller};
use super::client::Answer;
use super::door::{Door, Entered, NotEntered, Reached, Stopped};
use super::elsewhere::{self, Unanswered};
use super::frame::{self, FrameKind};
use super::places::{CallSlots, CallerPlaces, PLACES};
use crate::admission::{Admission, Silence};
use crate::daemon::shutdown::{CancelHandle, CancelToken};
use crate::fault::chain;
use crate::store::Relay;
use crate::web::{Listener as _, Socket, SocketModes};

/// Its owner and its group may use the socket; others of the machine find nothing in its folder.
const MODES: SocketModes = SocketModes { file: 0o660, folder: 0o750 };
/// Connections at a time: those whose commands run, and as many that have not said yet what they want.
const CONNECTIONS_MAX: usize = 2 * PLACES;
/// How long a caller may take to say what it wants, and to read that it can't have it.
const CALL_MAX: Duration = Duration::from_secs(5);
/// How often a caller sees that this process lives while its command runs.
const ALIVE_EVERY: Duration = Duration::from_secs(5);
/// How long it may take to send what it brings along.
const BROUGHT_MAX: Duration = Duration::from_secs(60);

/// Runs commands for callers. It lies below this module, which only lends it what it works on.
pub trait Commands: Send + Sync + 'static {
    /// How many bytes a caller may bring along for a command.
    fn brings_at_most(&self, call: &Call) -> u32;

    /// Whether it asks for a new configuration to be taken: that may begin an account that does not run.
    fn asks_to_reload(&self, call: &Call) -> bool;

    /// Runs a command to its end and returns its exit code. May block: it is called on a thread of its own.
    fn carry_out(&self, reached: Reached, call: Call, caller: Caller, back: ReplyStream) -> u8;
}

/// The way back to a caller.
#[derive(Clone)]
pub struct ReplyStream {
    frames: mpsc::UnboundedSender<(FrameKind, Vec<u8>)>,
    ending: CancelToken,
}

impl ReplyStream {
    /// The most that goes one way at a time.
    pub const BYTES_MAX: u32 = frame::SIZE_MAX;

    /// Writes to the caller's stdout.
    pub fn out(&self, bytes: &[u8]) {
        self.send(FrameKind::Out, bytes);
    }

    /// Writes to the caller's stderr.
    pub fn err(&self, bytes: &[u8]) {
        self.send(FrameKind::Err, bytes);
    }

    /// Has the caller write the file that the command makes.
    pub fn file(&self, bytes: &[u8]) {
        self.send(FrameKind::File, bytes);
    }

    /// Whether the command was asked to end: by its caller, or because the daemon ends.
    pub fn ending(&self) -> &CancelToken {
        &self.ending
    }

    /// A caller that went away needs no answer.
    fn send(&self, kind: FrameKind, bytes: &[u8]) {
        let _ = self.frames.send((kind, bytes.to_vec()));
    }
}

/// The daemon's socket; its file is removed when this is dropped.
#[derive(Debug)]
pub(in crate::daemon) struct Listener {
    socket: Socket,
    places: Arc<CallSlots>,
}

/// The callers that are served.
pub(in crate::daemon) struct Callers(Arc<CallSlots>);

impl Callers {
    /// Waits until each has its answer, for as long as that may take.
    pub(in crate::daemon) async fn gone(&self, longest: Duration) {
        self.0.free(longest).await;
    }
}

impl Listener {
    /// Listens on `path`. Replaces a socket without a listener: its daemon was killed.
    pub(in crate::daemon) fn bind(path: &Path, places: &Arc<CallerPlaces>) -> io::Result<Self> {
        Ok(Self { socket: Socket::bind(path, MODES)?, places: CallSlots::new(places) })
    }

    /// Where it listens.
    pub(in crate::daemon) fn path(&self) -> &Path {
        self.socket.path()
    }

    /// The callers that are served.
    pub(in crate::daemon) fn callers(&self) -> Callers {
        Callers(Arc::clone(&self.places))
    }

    /// Serves callers for as long as it is polled.
    pub(in crate::daemon) async fn serve(&self, door: &Arc<Door>, commands: &Arc<dyn Commands>) {
        let mut admission = Admission::new(CONNECTIONS_MAX);
        loop {
            let stream = match self.socket.next().await {
                Ok(stream) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a caller of the socket could not be heard: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            // Where all have said what they want they are no more than there are places, and none is closed.
            admission.make_room().await;
            let (door, commands, places) = (Arc::clone(door), Arc::clone(commands), Arc::clone(&self.places));
            admission.admit(|silence| async move {
                if let Err(error) = heard(stream, &door, commands, &places, &silence).await {
                    tracing::debug!(%error, "a caller of the socket went away: {error}");
                }
            });
        }
    }
}

/// Hears what a caller wants, and does it.
async fn heard(
    mut stream: UnixStream,
    door: &Door,
    commands: Arc<dyn Commands>,
    places: &CallSlots,
    silence: &Silence,
) -> io::Result<()> {
    let caller = Caller::User(stream.peer_cred()?.uid());
    frame::write(&mut stream, FrameKind::Alive, &[]).await?;
    let first = timeout(CALL_MAX, frame::read(&mut stream, frame::CALL_SIZE_MAX)).await??;
    let Some((FrameKind::Call, json)) = first else { return Err(io::ErrorKind::InvalidData.into()) };
    let place = if silence.end() { places.take(&caller) } else { return Ok(()) };
    let refused = async |mut stream: UnixStream, kind: FrameKind, bytes: &[u8]| {
        // A client that does not read this does not need it.
        timeout(CALL_MAX, frame::write(&mut stream, kind, bytes)).await?
    };
    let elsewhere = async |stream, words: &str| refused(stream, FrameKind::Elsewhere, words.as_bytes()).await;
    let Ok(mut call) = serde_json::from_slice::<Call>(&json) else {
        return elsewhere(stream, "the daemon does not understand this program: they are of different versions").await;
    };
    drop(json);
    let entered = match alive(&mut stream, door.enter(&call, commands.asks_to_reload(&call))).await {
        Ok(entered) => entered,
        Err(NotEntered::Elsewhere(words)) => return elsewhere(stream, &words).await,
        Err(NotEntered::Stopped(Stopped { reason, is_refused })) => {
            let bytes = [&[u8::from(is_refused)], reason.as_bytes()].concat();
            return refused(stream, FrameKind::Stopped, &bytes).await;
        }
    };
    let _place = match place {
        Ok(place) => place,
        Err(words) => return elsewhere(stream, &words).await,
    };
    if call.brings {
        let size_max = commands.brings_at_most(&call);
        let next = timeout(BROUGHT_MAX, frame::read(&mut stream, size_max)).await??;
        let Some((FrameKind::Brought, json)) = next else { return Err(io::ErrorKind::InvalidData.into()) };
        call.brought = serde_json::from_slice(&json)?;
    }
    match entered {
        Entered::Here(reached) => answer(stream, reached, commands, call, caller).await,
        Entered::Elsewhere(relay) => hand_on(stream, relay, call, caller).await,
    }
}

/// Shows that this process lives for as long as it works on something.
async fn alive<T>(to: &mut (impl AsyncWrite + Unpin), work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        match timeout(ALIVE_EVERY, &mut work).await {
            Ok(done) => return done,
            // A caller that is gone is noticed where it is answered.
            Err(_) => drop(frame::write(to, FrameKind::Alive, &[]).await),
        }
    }
}

/// A command under way.
pub(super) struct Running {
    /// What it prints.
    pub(super) frames: mpsc::UnboundedReceiver<(FrameKind, Vec<u8>)>,
    /// Its exit code.
    pub(super) work: JoinHandle<u8>,
    /// Asks it to end.
    pub(super) stop: CancelHandle,
}

impl Running {
    pub(super) fn begin(reached: Reached, commands: Arc<dyn Commands>, call: Call, caller: Caller) -> Self {
        let stop = CancelHandle::new(0);
        let (sent, frames) = mpsc::unbounded_channel();
        let back = ReplyStream { frames: sent, ending: CancelToken::by([&stop, reached.engine.stopping()]) };
        let work = tokio::task::spawn_blocking(move || {
            let span = reached.engine.span().clone();
            span.in_scope(|| commands.carry_out(reached, call, caller, back))
        });
        Self { frames, work, stop }
    }
}

/// Has the worker that has the account run a command, and sends back what it prints.
async fn hand_on(mut stream: UnixStream, relay: Arc<dyn Relay>, call: Call, caller: Caller) -> io::Result<()> {
    let (frames, mut written) = mpsc::unbounded_channel();
    let (mut from, mut to) = stream.split();
    let hears = async {
        // Whatever comes means the same: the caller was asked to end, or is gone.
        let _ = frame::read(&mut from, 0).await;
    };
    let asks = async move {
        // It is received for as long as this runs.
        let send = |kind, bytes: Vec<u8>| _ = frames.send((kind, bytes));
        let answered = elsewhere::command_elsewhere(&relay, (&call, &caller), &mut Passed(&send), hears).await;
        match answered {
            Ok(Ok(code)) => send(FrameKind::Exit, vec![code]),
            Ok(Err(words)) => send(FrameKind::Elsewhere, words.into_bytes()),
            // What was begun has failed; what was not may be tried in another way.
            Err(unheard @ (Unanswered::Lost { .. } | Unanswered::Unheard(_))) => {
                send(FrameKind::Err, format!("error: {}\n", chain(&unheard)).into_bytes());
                send(FrameKind::Exit, vec![1]);
            }
            Err(unanswered) => send(FrameKind::Elsewhere, chain(&unanswered).into_bytes()),
        }
    };
    let writes = async {
        let mut result = Ok(());
        while let Some((kind, bytes)) = alive(&mut to, written.recv()).await {
            if result.is_ok() {
                result = frame::write(&mut to, kind, &bytes).await;
            }
        }
        result
    };
    tokio::join!(asks, writes).1
}

/// Passes an answer on as frames.
struct Passed<'a, F>(&'a F);

impl<F: Fn(FrameKind, Vec<u8>)> Answer for Passed<'_, F> {
    fn out(&mut self, bytes: &[u8]) {
        self.0(FrameKind::Out, bytes.to_vec());
    }

    fn err(&mut self, bytes: &[u8]) {
        self.0(FrameKind::Err, bytes.to_vec());
    }

    fn file(&mut self, bytes: &[u8]) {
        self.0(FrameKind::File, bytes.to_vec());
    }
}

/// Runs a command and sends back what it prints.
async fn answer(
    stream: UnixStream,
    reached: Reached,
    commands: Arc<dyn Commands>,
    call: Call,
    caller: Caller,
) -> io::Result<()> {
    let (mut from, mut to) = stream.into_split();
    let Running { frames: mut written, work, stop } = Running::begin(reached, commands, call, caller);
    let hears = async {
        // Whatever comes means the same: the caller was asked to end, or is gone.
        let _ = frame::read(&mut from, 0).await;
        stop.send_modify(|askers| *askers += 1);
        std::future::pending::<()>().await;
    };
    let writes = async {
        while let Some((kind, bytes)) = alive(&mut to, written.recv()).await {
            frame::write(&mut to, kind, &bytes).await?;
        }
        io::Result::Ok(())
    };
    let result = tokio::select! {
        result = writes => result,
        () = hears => Ok(()),
    };
    if let Err(error) = result {
        stop.send_modify(|askers| *askers += 1);
        let _ = work.await;
        return Err(error);
    }
    // A panic is a command that failed; its thread has reported it.
    let code = work.await.unwrap_or(1);
    frame::write(&mut to, FrameKind::Exit, &[code]).await
}
