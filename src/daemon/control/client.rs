//! The caller's side of the socket.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::AsyncRead;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::call::Call;
use super::frame::{self, FrameKind};
use crate::history::user_named;

/// How long a daemon may take to greet a caller, as long as a busy machine needs.
const GREETING_MAX: Duration = Duration::from_secs(15);
/// How long a daemon that runs a command may show no sign of life.
const SILENCE_MAX: Duration = Duration::from_secs(45);

/// What comes back while a command runs in the daemon.
pub trait Answer {
    /// Bytes for stdout.
    fn out(&mut self, bytes: &[u8]);

    /// Bytes for stderr.
    fn err(&mut self, bytes: &[u8]);

    /// What is in the file that the command writes.
    fn file(&mut self, bytes: &[u8]);
}

/// Why a command was not run in the daemon. In each case nothing of it was done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unreachable {
    /// No daemon listens on that socket.
    #[error("no daemon listens on {socket}")]
    Nobody {
        /// The socket.
        socket: String,
    },
    /// This user may not use the socket.
    #[error("this user may not use the daemon's socket {}", socket.display())]
    Forbidden {
        /// The socket.
        socket: PathBuf,
    },
    /// Another user listens there, or could.
    #[error("the daemon's socket {} is not to be trusted: {words}", socket.display())]
    Untrusted {
        /// The socket.
        socket: PathBuf,
        /// Why, as the rest of a sentence about it.
        words: String,
    },
    /// The daemon hangs, or was stopped.
    #[error("the daemon (process {process}) does not answer on {socket}; where it hangs, end it: kill -KILL {process}")]
    Silent {
        /// The socket.
        socket: String,
        /// The daemon's process.
        process: i32,
    },
    /// The socket can't be used.
    #[error("the daemon's socket {socket} can't be used")]
    Refused {
        /// The socket.
        socket: String,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The daemon does not run the account.
    #[error("the daemon does not run this account: {words}")]
    Stopped {
        /// Why.
        words: String,
        /// Whether no one may, as another account has what is its own.
        is_refused: bool,
    },
    /// Another user's daemon listens there.
    #[error("{words}")]
    Elsewhere {
        /// What it said.
        words: String,
    },
}

/// The users whose daemon a caller talks to: root, the caller, and the account that the configuration says the daemon has.
#[derive(Clone, Copy, Debug)]
pub struct Trusted {
    /// That account.
    pub account: Option<u32>,
}

impl Trusted {
    fn has(self, uid: u32) -> bool {
        uid == 0 || uid == rustix::process::geteuid().as_raw() || self.account == Some(uid)
    }

    /// Why the process that listens on a socket is not to be trusted: a user who may write to its folder could have put
    /// their own socket there.
    fn refuses(self, socket: &Path, stream: &UnixStream) -> io::Result<Option<String>> {
        /// Others may write, and remove what is not theirs.
        const OTHERS_WRITE: u32 = 0o002;
        const STICKY: u32 = 0o1000;
        let uid = stream.peer_cred()?.uid();
        if !self.has(uid) {
            return Ok(Some(format!("{} listens there", user_named(uid, None))));
        }
        let folder = fs::metadata(socket.parent().unwrap_or(Path::new("/")))?;
        if !self.has(folder.uid()) {
            return Ok(Some(format!("its folder belongs to {}", user_named(folder.uid(), None))));
        }
        let is_open = folder.mode() & OTHERS_WRITE != 0 && folder.mode() & STICKY == 0;
        Ok(is_open.then(|| "every user of this machine may write to its folder".to_owned()))
    }
}

/// Has the daemon on `socket` run a command, and waits for its exit code. Sends nothing before it is known who listens.
/// When `stop` completes, informs the daemon that the caller was asked to end; the command then has its grace. When it completes
/// a second time, nothing is waited for.
///
/// # Errors
///
/// The outer error says that the command was not run at all; the inner one, that the daemon went away while it ran.
pub async fn ask(
    socket: &Path,
    trusted: Trusted,
    call: &Call,
    answer: &mut impl Answer,
    mut stop: impl AsyncFnMut(),
) -> Result<io::Result<u8>, Unreachable> {
    let shown = || socket.display().to_string();
    let refused = |error| Unreachable::Refused { socket: shown(), error };
    let mut stream = UnixStream::connect(socket).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Unreachable::Nobody { socket: shown() },
        io::ErrorKind::PermissionDenied => Unreachable::Forbidden { socket: socket.to_owned() },
        _ => refused(error),
    })?;
    if let Some(words) = trusted.refuses(socket, &stream).map_err(refused)? {
        return Err(Unreachable::Untrusted { socket: socket.to_owned(), words });
    }
    match timeout(GREETING_MAX, frame::read(&mut stream, 0)).await {
        Ok(Ok(Some((FrameKind::Alive, _)))) => {}
        Ok(Ok(None)) => return Err(refused(io::ErrorKind::UnexpectedEof.into())),
        Ok(Ok(Some(_))) => return Err(refused(io::ErrorKind::InvalidData.into())),
        Ok(Err(error)) => return Err(refused(error)),
        Err(_) => {
            let process = stream.peer_cred().ok().and_then(|peer| peer.pid()).unwrap_or_default();
            return Err(Unreachable::Silent { socket: shown(), process });
        }
    }
    let json = serde_json::to_vec(call).map_err(|error| refused(error.into()))?;
    frame::write(&mut stream, FrameKind::Call, &json).await.map_err(refused)?;
    if call.brings {
        let json = serde_json::to_vec(&call.brought).map_err(|error| refused(error.into()))?;
        // A daemon that wants none of it says so before it goes, and that is read below.
        let _ = frame::write(&mut stream, FrameKind::Brought, &json).await;
    }
    let (mut from, mut to) = stream.into_split();
    let frames = async {
        loop {
            let (kind, bytes) = match next(&mut from).await {
                Ok(Some(read)) => read,
                Ok(None) => return Ok(Err(io::ErrorKind::UnexpectedEof.into())),
                Err(error) => return Ok(Err(error)),
            };
            match kind {
                FrameKind::Out => answer.out(&bytes),
                FrameKind::Err => answer.err(&bytes),
                FrameKind::File => answer.file(&bytes),
                FrameKind::Alive => {}
                FrameKind::Exit => return Ok(bytes.first().copied().ok_or_else(|| io::ErrorKind::InvalidData.into())),
                FrameKind::Elsewhere => {
                    let words = String::from_utf8_lossy(&bytes).into_owned();
                    return Err(Unreachable::Elsewhere { words });
                }
                FrameKind::Stopped => {
                    let (refused, words) = bytes.split_first().unwrap_or((&0, &[]));
                    let words = String::from_utf8_lossy(words).into_owned();
                    return Err(Unreachable::Stopped { words, is_refused: *refused != 0 });
                }
                FrameKind::Call | FrameKind::Brought | FrameKind::Stop | FrameKind::Piece => {
                    return Ok(Err(io::ErrorKind::InvalidData.into()));
                }
            }
        }
    };
    tokio::pin!(frames);
    tokio::select! {
        done = &mut frames => return done,
        () = stop() => {}
    }
    // Where the daemon is gone already, reading tells.
    let _ = frame::write(&mut to, FrameKind::Stop, &[]).await;
    tokio::select! {
        done = frames => done,
        () = stop() => Ok(Err(io::ErrorKind::Interrupted.into())),
    }
}

/// The next frame of a daemon that runs a command.
async fn next(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<(FrameKind, Vec<u8>)>> {
    timeout(SILENCE_MAX, frame::read(from, frame::SIZE_MAX)).await.unwrap_or_else(|_| {
        let words = format!("it showed no sign of life for {} seconds", SILENCE_MAX.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, words))
    })
}
