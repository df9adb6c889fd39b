//! `rosterd demo`: the whole way on this machine, from nothing.
//!
//! ```text
//! fixture a folder with a configuration and HR's file, and the stand-in beside it
//! story   plans and syncs, each with an expected result
//! serve   --serve: the daemon, its inbox and its status page, until someone ends it
//! ```
//!
//! Invariants:
//! - Everything lies in one folder that only its owner may read, and goes when the demonstration ends, however it ends.
//! - It works with what the other commands work with; nothing here knows a way around them.

mod fixture;
mod serve;
mod story;

use std::fs;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook_tokio::Signals;
use tempfile::TempDir;

use crate::cli::args::DemoArgs;
use crate::cli::backend::interrupt::Flags;
use crate::cli::ui::{Exit, Failure, Ui};
use crate::daemon::Commands;
use crate::sandbox::{Options, Sandbox};
use fixture::{DemoEnv, SEEDED};

/// How often the folder is tried to be removed at the end.
const REMOVALS_MAX: u32 = 100;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(20);

pub(super) async fn run(ui: &Ui, args: &DemoArgs, commands: Arc<dyn Commands>) -> Result<Exit, Failure> {
    // The terminal may be closed too, and nothing of this is to outlive it.
    let ends = [SIGINT, SIGTERM, SIGHUP];
    let mut signals = Signals::new(ends).map_err(Failure::failed)?;
    let asked = Arc::new(AtomicBool::new(false));
    let _flags = Flags::set(&asked, &ends).map_err(Failure::failed)?;
    let folder = tempfile::Builder::new().prefix("rosterd-demo-").tempdir().map_err(Failure::failed)?;
    let options = Options { seed_staff: SEEDED, ..Options::default() };
    let sandbox = Sandbox::start(options).await.map_err(Failure::failed)?;
    let ground = DemoEnv { ui: ui.clone(), dir: folder.path().to_owned(), sandbox };
    let ended = tokio::select! {
        ended = story::tell(&ground) => Some(ended),
        _ = signals.next() => None,
    };
    // A run that was interrupted may have come to its end first, and not to what is said of it.
    let ended = ended.filter(|_| !asked.load(Ordering::SeqCst));
    let interrupted = || Err(Failure::new(Exit::Interrupted, "interrupted; the demonstration is gone"));
    let result = match ended.unwrap_or_else(interrupted) {
        Ok(rows) if args.serve => serve::serve(&ground, rows, &mut signals, commands).await,
        ended => ended.map(|_| story::bow(&ground)),
    };
    ground.sandbox.stop().await;
    if args.keep {
        ui.note(format!("kept: {}", folder.keep().display()));
    } else {
        remove(folder).await;
    }
    result.map(|()| Exit::Done)
}

/// Removes the folder. Threads of the store may write for a moment after it was closed, and a folder that they write in can't
/// be removed.
async fn remove(folder: TempDir) {
    for _ in 0..REMOVALS_MAX {
        match fs::remove_dir_all(folder.path()) {
            Err(error) if error.kind() != ErrorKind::NotFound => tokio::time::sleep(BETWEEN_REMOVALS).await,
            _ => return,
        }
    }
}
