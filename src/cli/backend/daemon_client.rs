//! Runs a command in the daemon, if there is one.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::unistd::{Gid, Group};

use super::interrupt::Interrupt;
use super::privileges::number_of;
use super::{access, body};
use crate::cli::args::{Arguments, Command};
use crate::cli::ui::screen::Pieces;
use crate::cli::ui::{Exit, Failure, Message, Ui};
use crate::config::{self, CallerConfig, Needs};
use crate::daemon::{self, Answer, Brought, Call, Trusted, Unreachable, VERSION};
use crate::history::user_named;

/// How long the daemon may take to pause: what is to stop at once must not wait for a daemon that hangs.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Where a command was run, or is to be.
pub(crate) enum Placement {
    /// The daemon ran it.
    Done(Exit),
    /// There is no daemon for it, or none that can be reached; with what is worth telling of that.
    Here(Option<Unreached>),
}

/// Why a command does not reach the daemon.
pub(crate) struct Unreached {
    /// The words for it.
    pub(crate) words: String,
    /// Whether the daemon is there and does not run the account.
    pub(crate) is_stopped: bool,
}

impl From<String> for Unreached {
    fn from(words: String) -> Self {
        Self { words, is_stopped: false }
    }
}

/// Has the daemon run a command.
pub(crate) async fn send(ui: &Ui, arguments: &Arguments) -> Result<Placement, Failure> {
    let Some(located) = config::locate(&arguments.config, config::environment()) else {
        return Ok(Placement::Here(None));
    };
    let Some(socket) = located.socket else { return Ok(Placement::Here(None)) };
    // All processes that work with a state folder share the record of requests there.
    if matches!(arguments.command, Command::Api(_)) && located.state_dir.is_some() {
        return Ok(Placement::Here(None));
    }
    match socket.try_exists() {
        Ok(true) => {}
        // Its folder is closed to this user: whether a daemon is there can't even be seen.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return forbidden(arguments, &socket),
        _ => return Ok(Placement::Here(None)),
    }
    let brought = brought(&arguments.command, &arguments.config);
    let trusted = Trusted { account: located.account.as_ref().and_then(number_of) };
    let call = Call { state_dir: located.state_dir, ..call(ui, located.config, brought) };
    let mut printed = Printed::of(ui, &arguments.command);
    let asked = daemon::ask(&socket, trusted, &call, &mut printed, stopped);
    let answer = if matches!(arguments.command, Command::Pause(_)) {
        match tokio::time::timeout(PAUSE_MAX, asked).await {
            Ok(answer) => answer,
            Err(_) => {
                ui.warn("the daemon does not answer; pausing without it");
                return Ok(Placement::Here(None));
            }
        }
    } else {
        asked.await
    };
    match answer {
        Ok(Ok(code)) => printed.end(code),
        Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {
            Err(Failure::new(Exit::Interrupted, Message("interrupted; the daemon may still be at it".to_owned()))
                .hint("`rosterd status` shows what was done"))
        }
        Ok(Err(error)) => Err(Failure::failed(Message(format!("the daemon went away while it ran this: {error}")))
            .hint("`rosterd status` shows what was done")),
        Err(error @ Unreachable::Stopped { is_refused: true, .. })
            if arguments.command.asks_the_service() || matches!(arguments.command, Command::Reload) =>
        {
            Err(Failure::usage(error).hint(daemon::CONFLICT_HINT))
        }
        Err(error @ Unreachable::Stopped { .. }) if matches!(arguments.command, Command::Reload) => {
            // What is wrong with the file is said in full.
            config::load(&arguments.config, config::environment(), Needs::Jobs)?;
            Err(Failure::failed(error))
        }
        Err(error @ Unreachable::Stopped { .. }) => {
            let words = error.to_string();
            ui.warn(&words);
            Ok(Placement::Here(Some(Unreached { words, is_stopped: true })))
        }
        Err(Unreachable::Nobody { .. }) => Ok(Placement::Here(None)),
        Err(Unreachable::Forbidden { socket }) => forbidden(arguments, &socket),
        Err(error @ Unreachable::Untrusted { .. }) => {
            let words = "set state.user to the account that the daemon has, if it is that one";
            unreached(arguments, format!("{error}; {words}"))
        }
        Err(error) => Ok(Placement::Here(Some(crate::fault::chain(&error).into()))),
    }
}

/// What a command reads, with the configuration where it is the caller's that counts.
pub(super) fn brought(command: &Command, config: &Path) -> Brought {
    let given = matches!(command, Command::Plan(_) | Command::Api(_)).then(|| CallerConfig::read(config)).flatten();
    Brought { given, file: file_of(command), same_as: None }
}

/// This command, as it is sent elsewhere.
pub(super) fn call(ui: &Ui, config: PathBuf, brought: Brought) -> Call {
    Call {
        version: VERSION,
        arguments: words(),
        config,
        state_dir: None,
        paints: ui.paints(),
        sudo: std::env::var("SUDO_USER").ok(),
        brings: !brought.is_empty(),
        brought,
    }
}

/// Completes when this process is asked to end.
pub(super) async fn stopped() {
    if Interrupt::wait().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// What the daemon of a configuration answered.
pub(crate) struct Relayed {
    pub(crate) exit: u8,
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
}

impl Answer for Relayed {
    fn out(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn err(&mut self, bytes: &[u8]) {
        self.err.extend_from_slice(bytes);
    }

    fn file(&mut self, _: &[u8]) {}
}

/// Has the daemon of the configuration at `path` run a command that reads nothing of the caller's, and keeps what it prints;
/// `None` where none answers.
pub(crate) async fn relay(ui: &Ui, path: &Path, command: &[&str]) -> Option<Relayed> {
    let located = config::locate(path, config::environment())?;
    let socket = located.socket.filter(|socket| socket.exists())?;
    let trusted = Trusted { account: located.account.as_ref().and_then(number_of) };
    let given = located.config.to_string_lossy().into_owned();
    let call = Call {
        version: VERSION,
        arguments: ["--config".to_owned(), given].into_iter().chain(command.iter().map(ToString::to_string)).collect(),
        config: located.config,
        state_dir: located.state_dir,
        paints: ui.paints(),
        sudo: std::env::var("SUDO_USER").ok(),
        brings: false,
        brought: Brought::default(),
    };
    let mut relayed = Relayed { exit: 0, out: Vec::new(), err: Vec::new() };
    match daemon::ask(&socket, trusted, &call, &mut relayed, std::future::pending::<()>).await {
        Ok(Ok(exit)) => Some(Relayed { exit, ..relayed }),
        Ok(Err(_)) | Err(_) => None,
    }
}

/// This user may not use the daemon's socket.
fn forbidden(arguments: &Arguments, socket: &Path) -> Result<Placement, Failure> {
    unreached(arguments, owner_hint(socket))
}

/// There may be a daemon, and it is out of reach. Most commands may still work on a state of this user's own.
fn unreached(arguments: &Arguments, words: String) -> Result<Placement, Failure> {
    match arguments.command {
        Command::Reload => Err(Failure::usage(Message("this user can't reach the daemon".to_owned())).hint(words)),
        _ => Ok(Placement::Here(Some(words.into()))),
    }
}

/// Who may use a socket that this user may not, and what to do. A closed folder counts as the socket in it.
fn owner_hint(socket: &Path) -> String {
    let found = socket.ancestors().find_map(|path| path.metadata().ok());
    let who = found.map_or("others".to_owned(), |found| {
        let group = Group::from_gid(Gid::from_raw(found.gid())).ok().flatten();
        let group = group.map_or_else(|| format!("gid {}", found.gid()), |group| group.name);
        match found.uid() {
            0 => format!("root and the group {group}"),
            uid => format!("root, {} and the group {group}", user_named(uid, None)),
        }
    });
    format!(
        "the daemon's socket {} is for {who}: run this as one of them, for example with sudo, or join the group",
        socket.display()
    )
}

/// The arguments as they were given.
fn words() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// What is in the file that a command reads.
fn file_of(command: &Command) -> Option<Result<String, String>> {
    let args = match command {
        Command::Apply(args) => args,
        Command::Api(args) => return args.body.as_deref().map(body::brought),
        _ => return None,
    };
    let text = access::read(&args.file).map_err(|failure| failure.error().to_string());
    Some(text.and_then(|bytes| {
        String::from_utf8(bytes).map_err(|_| format!("plan file {}: it is no text", args.file.display()))
    }))
}

/// The file that a command writes.
fn out_of(command: &Command) -> Option<PathBuf> {
    match command {
        Command::Plan(args) => args.out.clone(),
        Command::Api(args) => args.out.clone(),
        _ => None,
    }
}

/// Prints what comes back, as what this process shows itself.
pub(super) struct Printed<'a> {
    ui: &'a Ui,
    /// What came for stdout and stderr, and is not whole yet.
    pieces: (Pieces, Pieces),
    out: Option<PathBuf>,
    unwritten: Option<Failure>,
    has_any: Arc<AtomicBool>,
}

impl<'a> Printed<'a> {
    pub(super) fn of(ui: &'a Ui, command: &Command) -> Self {
        Self { ui, pieces: Default::default(), out: out_of(command), unwritten: None, has_any: Arc::default() }
    }

    /// Becomes true with the first that comes back.
    pub(super) fn has_any(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_any)
    }

    /// How the command ended.
    pub(super) fn end(self, code: u8) -> Result<Placement, Failure> {
        match self.unwritten {
            Some(failure) => Err(failure),
            None => Ok(Placement::Done(Exit::of_code(code))),
        }
    }
}

impl Answer for Printed<'_> {
    fn out(&mut self, bytes: &[u8]) {
        self.has_any.store(true, Ordering::Relaxed);
        self.ui.relay_out(&mut self.pieces.0, bytes);
    }

    fn err(&mut self, bytes: &[u8]) {
        self.has_any.store(true, Ordering::Relaxed);
        self.ui.relay_err(&mut self.pieces.1, bytes);
    }

    fn file(&mut self, bytes: &[u8]) {
        if let Some(path) = &self.out {
            self.unwritten = access::write(path, bytes).err();
        }
    }
}

/// What to say where neither the daemon nor the state could be had.
pub(crate) fn explained(failure: Failure, why: Option<Unreached>, config: &Path) -> Failure {
    match why {
        Some(Unreached { words, .. }) if matches!(failure.exit(), Exit::InUse | Exit::Usage) => {
            failure.hint(format!("{words} ({})", config.display()))
        }
        _ => failure,
    }
}
