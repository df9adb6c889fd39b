//! The caller's side of the socket.

use std::io;
use std::path::{Path, PathBuf};

use tokio::net::UnixStream;

use super::call::Call;
use super::frame::{self, Kind};

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
    /// The socket can't be used.
    #[error("the daemon's socket {socket} can't be used")]
    Refused {
        /// The socket.
        socket: String,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Somebody else's daemon listens there.
    #[error("{words}")]
    Elsewhere {
        /// What it said.
        words: String,
    },
}

/// Has the daemon on `socket` run a command, and waits for its exit code. When `stop` comes to its end, the daemon is told
/// that the caller was asked to end; the command then has its grace.
///
/// # Errors
///
/// The outer error says that the command was not run at all; the inner one, that the daemon went away while it ran.
pub async fn ask(
    socket: &Path,
    call: &Call,
    answer: &mut impl Answer,
    stop: impl Future<Output = ()>,
) -> Result<io::Result<u8>, Unreachable> {
    let shown = || socket.display().to_string();
    let refused = |error| Unreachable::Refused { socket: shown(), error };
    let mut stream = UnixStream::connect(socket).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Unreachable::Nobody { socket: shown() },
        io::ErrorKind::PermissionDenied => Unreachable::Forbidden { socket: socket.to_owned() },
        _ => refused(error),
    })?;
    let json = serde_json::to_vec(call).map_err(|error| refused(error.into()))?;
    frame::write(&mut stream, Kind::Call, &json).await.map_err(refused)?;
    let (mut from, mut to) = stream.into_split();
    let frames = async {
        loop {
            let (kind, bytes) = match frame::read(&mut from).await {
                Ok(Some(read)) => read,
                Ok(None) => return Ok(Err(io::ErrorKind::UnexpectedEof.into())),
                Err(error) => return Ok(Err(error)),
            };
            match kind {
                Kind::Out => answer.out(&bytes),
                Kind::Err => answer.err(&bytes),
                Kind::File => answer.file(&bytes),
                Kind::Exit => return Ok(bytes.first().copied().ok_or_else(|| io::ErrorKind::InvalidData.into())),
                Kind::Elsewhere => {
                    let words = String::from_utf8_lossy(&bytes).into_owned();
                    return Err(Unreachable::Elsewhere { words });
                }
                Kind::Call | Kind::Stop => return Ok(Err(io::ErrorKind::InvalidData.into())),
            }
        }
    };
    tokio::pin!(frames);
    tokio::select! {
        done = &mut frames => return done,
        () = stop => {}
    }
    // Where the daemon is gone already, reading tells.
    let _ = frame::write(&mut to, Kind::Stop, &[]).await;
    frames.await
}
