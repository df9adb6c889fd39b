//! The daemon's side of the socket.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc};

use super::call::{Call, Caller};
use super::frame::{self, Kind};
use crate::daemon::ending::{Asker, Ending};
use crate::daemon::engine::Engine;

/// Who may use the socket: its owner and its group.
const MODE: u32 = 0o660;
/// The folder of the socket, where there is none: others of the machine find nothing in it.
const FOLDER_MODE: u32 = 0o750;
/// Callers at a time; more wait.
const CALLERS_MAX: usize = 32;
/// How long a caller may take to say what it wants.
const CALL_MAX: Duration = Duration::from_secs(60);

/// Runs commands for callers. It lies below this module, which only lends it what it works on.
pub trait Commands: Send + Sync + 'static {
    /// Runs a command to its end and returns its exit code. May block: it is called on a thread of its own.
    fn carry_out(&self, engine: &Arc<Engine>, call: Call, caller: Caller, back: Back) -> u8;
}

/// The way back to a caller.
#[derive(Clone)]
pub struct Back {
    frames: mpsc::UnboundedSender<(Kind, Vec<u8>)>,
    ending: Ending,
}

impl Back {
    /// Writes to the caller's stdout.
    pub fn out(&self, bytes: &[u8]) {
        self.send(Kind::Out, bytes);
    }

    /// Writes to the caller's stderr.
    pub fn err(&self, bytes: &[u8]) {
        self.send(Kind::Err, bytes);
    }

    /// Has the caller write the file that the command makes.
    pub fn file(&self, bytes: &[u8]) {
        self.send(Kind::File, bytes);
    }

    /// Whether the command was asked to end: by its caller, or because the daemon ends.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// A caller that went away needs no answer.
    fn send(&self, kind: Kind, bytes: &[u8]) {
        let _ = self.frames.send((kind, bytes.to_vec()));
    }
}

/// The daemon's socket; its file is removed when this is dropped.
#[derive(Debug)]
pub(in crate::daemon) struct Listener {
    socket: UnixListener,
    path: PathBuf,
    room: Arc<Semaphore>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The callers that are served.
pub(in crate::daemon) struct Callers(Arc<Semaphore>);

impl Callers {
    /// Waits until each has its answer, for as long as that may take.
    pub(in crate::daemon) async fn gone(&self, longest: Duration) {
        let all = u32::try_from(CALLERS_MAX).expect("a small number");
        // Who is late is told that the daemon went away.
        let _ = tokio::time::timeout(longest, self.0.acquire_many(all)).await;
    }
}

impl Listener {
    /// Listens on `path`. A socket that nobody listens on any more is replaced: its daemon was killed.
    pub(in crate::daemon) fn bind(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
        }
        match fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is no socket"));
            }
            Ok(_) if std::os::unix::net::UnixStream::connect(path).is_ok() => {
                return Err(io::Error::new(io::ErrorKind::AddrInUse, "another daemon listens there"));
            }
            Ok(_) => fs::remove_file(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // The umask lets nobody else in until the mode says who may.
        let socket = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(MODE))?;
        Ok(Self { socket, path: path.to_owned(), room: Arc::new(Semaphore::new(CALLERS_MAX)) })
    }

    /// The callers that are served.
    pub(in crate::daemon) fn callers(&self) -> Callers {
        Callers(Arc::clone(&self.room))
    }

    /// Serves callers for as long as it is polled.
    pub(in crate::daemon) async fn serve(&self, engine: &Arc<Engine>, commands: &Arc<dyn Commands>) {
        loop {
            let place = Arc::clone(&self.room).acquire_owned().await.expect("the semaphore is never closed");
            let stream = match self.socket.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a caller of the socket could not be heard: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (engine, commands) = (Arc::clone(engine), Arc::clone(commands));
            tokio::spawn(async move {
                if let Err(error) = answer(stream, engine, commands).await {
                    tracing::debug!(%error, "a caller of the socket went away: {error}");
                }
                drop(place);
            });
        }
    }
}

async fn answer(mut stream: UnixStream, engine: Arc<Engine>, commands: Arc<dyn Commands>) -> io::Result<()> {
    let caller = Caller { uid: stream.peer_cred()?.uid() };
    let first = tokio::time::timeout(CALL_MAX, frame::read(&mut stream)).await??;
    let Some((Kind::Call, json)) = first else { return Err(io::ErrorKind::InvalidData.into()) };
    let call: Call = match serde_json::from_slice(&json) {
        Ok(call) => call,
        Err(_) => {
            let words = "the daemon does not understand this program: they are of different versions";
            return frame::write(&mut stream, Kind::Elsewhere, words.as_bytes()).await;
        }
    };
    drop(json);
    if let Some(words) = engine.disowns(&call) {
        return frame::write(&mut stream, Kind::Elsewhere, words.as_bytes()).await;
    }
    let (mut from, mut to) = stream.into_split();
    let stop = Asker::new(0);
    let (frames, mut written) = mpsc::unbounded_channel();
    let back = Back { frames, ending: Ending::by([&stop, engine.stopping()]) };
    let work = tokio::task::spawn_blocking(move || commands.carry_out(&engine, call, caller, back));
    let hears = async {
        // Whatever comes means the same: the caller was asked to end, or is gone.
        let _ = frame::read(&mut from).await;
        stop.send_modify(|askers| *askers += 1);
        std::future::pending::<()>().await;
    };
    let writes = async {
        while let Some((kind, bytes)) = written.recv().await {
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
    // A panic is a command that failed; its thread has told of it.
    let code = work.await.unwrap_or(1);
    frame::write(&mut to, Kind::Exit, &[code]).await
}
