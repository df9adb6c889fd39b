//! A proxy between a worker and the database that knows messages, and cuts the connection at one of them.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Who sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum From {
    /// The database does not get it.
    Worker,
    /// The database has done what was asked, and the worker does not hear of it.
    Database,
}

/// The connection is cut instead of this message, which has that number among those of its sender.
pub(crate) type Cut = (From, usize);

#[derive(Default)]
struct Shared {
    cut: Option<Cut>,
    sent: [AtomicUsize; 2],
    was_cut: AtomicBool,
    /// Whether new connections are ended at once.
    refuses: AtomicBool,
    /// Whether what comes from a sender is kept, as a network does that drops each packet.
    holds: [AtomicBool; 2],
    /// The text of a message that is lost, with all that follows on its connection.
    loses: Mutex<Option<&'static str>>,
    open: Mutex<Vec<UnixStream>>,
}

/// A proxy; it listens in a folder, as a server does.
pub(crate) struct Proxy {
    dir: PathBuf,
    server: Arc<Mutex<PathBuf>>,
    shared: Arc<Shared>,
}

/// The socket of a server in a folder.
const SOCKET: &str = ".s.PGSQL.5432";

impl Proxy {
    /// Starts one before the server whose socket is in `server`.
    pub(crate) fn start(dir: PathBuf, server: &Path, cut: Option<Cut>) -> Self {
        std::fs::create_dir_all(&dir).unwrap();
        let listener = UnixListener::bind(dir.join(SOCKET)).unwrap();
        let shared = Arc::new(Shared { cut, ..Shared::default() });
        let server = Arc::new(Mutex::new(server.to_owned()));
        let (state, leads_to) = (Arc::clone(&shared), Arc::clone(&server));
        thread::spawn(move || {
            for worker in listener.incoming() {
                let Ok(worker) = worker else { return };
                if state.refuses.load(Ordering::SeqCst) {
                    continue;
                }
                let socket = leads_to.lock().unwrap().join(SOCKET);
                let Ok(database) = UnixStream::connect(socket) else { continue };
                let ends = || [worker.try_clone().unwrap(), database.try_clone().unwrap()];
                state.open.lock().unwrap().extend(ends());
                for from in [From::Worker, From::Database] {
                    let ([worker, database], state) = (ends(), Arc::clone(&state));
                    thread::spawn(move || {
                        let _ = match from {
                            From::Worker => state.pass(from, &worker, &database),
                            From::Database => state.pass(from, &database, &worker),
                        };
                        end(&[worker, database]);
                    });
                }
            }
        });
        Self { dir, server, shared }
    }

    /// Connects to the server whose socket is in `server` from now on, and ends all connections that there are.
    pub(crate) fn leads_to(&self, server: &Path) {
        server.clone_into(&mut self.server.lock().unwrap());
        self.cut_all();
    }

    /// The address of a database behind it.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgresql://postgres@{}/{database}", self.dir.display().to_string().replace('/', "%2F"))
    }

    /// Whether the cut came to pass.
    pub(crate) fn was_cut(&self) -> bool {
        self.shared.was_cut.load(Ordering::SeqCst)
    }

    /// How many messages were passed on, by sender.
    pub(crate) fn passed(&self, from: From) -> usize {
        self.shared.sent[from as usize].load(Ordering::SeqCst)
    }

    /// Ends all connections that there are.
    pub(crate) fn cut_all(&self) {
        end(&std::mem::take(&mut *self.shared.open.lock().unwrap()));
    }

    /// Keeps what comes from a sender from now on, and ends nothing; or lets it through.
    pub(crate) fn hold(&self, from: From, holds: bool) {
        self.shared.holds[from as usize].store(holds, Ordering::SeqCst);
    }

    /// Loses the next message of a worker that has this text in it, and all that follows on its connection, and ends nothing: a
    /// connection that is dead without a sign.
    pub(crate) fn lose(&self, text: &'static str) {
        *self.shared.loses.lock().unwrap() = Some(text);
    }

    /// Whether that message has come.
    pub(crate) fn has_lost(&self) -> bool {
        self.shared.loses.lock().unwrap().is_none()
    }

    /// Ends new connections at once from now on, or no longer.
    pub(crate) fn refuse(&self, refuses: bool) {
        self.shared.refuses.store(refuses, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        [From::Worker, From::Database].into_iter().for_each(|from| self.hold(from, false));
        self.refuse(true);
        self.cut_all();
        let _ = UnixStream::connect(self.dir.join(SOCKET));
    }
}

fn end(streams: &[UnixStream]) {
    streams.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
}

impl Shared {
    /// Passes messages on, one by one, until one is to be cut or an end is reached.
    fn pass(&self, sender: From, mut from: &UnixStream, mut to: &UnixStream) -> io::Result<()> {
        // The first message of a worker has no type.
        let mut head = if sender == From::Worker { 4 } else { 5 };
        loop {
            let mut message = vec![0; head];
            from.read_exact(&mut message)?;
            let length = u32::from_be_bytes(message[head - 4..].try_into().unwrap()) as usize;
            message.resize(head - 4 + length, 0);
            from.read_exact(&mut message[head..])?;
            head = 5;
            let number = self.sent[sender as usize].fetch_add(1, Ordering::SeqCst) + 1;
            if self.cut == Some((sender, number)) {
                self.was_cut.store(true, Ordering::SeqCst);
                return Ok(());
            }
            if sender == From::Worker && self.takes_away(&message) {
                io::copy(&mut from, &mut io::sink())?;
                return Ok(());
            }
            while self.holds[sender as usize].load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(10));
            }
            to.write_all(&message)?;
        }
    }

    /// Whether this is the message that is lost.
    fn takes_away(&self, message: &[u8]) -> bool {
        let mut loses = self.loses.lock().unwrap();
        let is_it = loses.is_some_and(|text| message.windows(text.len()).any(|part| part == text.as_bytes()));
        if is_it {
            *loses = None;
        }
        is_it
    }
}
