//! What the program logs, and where to.
//!
//! Commands log warnings to stderr. The daemon tells of its runs: to systemd's journal, with fields, where systemd started
//! it, else as lines on stderr. `-v` and `-q` ask for more or less, and `ROSTERD_LOG` names a level; at `debug` each change
//! has a line. No value of a person is ever in a log (law 11).

use std::os::unix::fs::MetadataExt as _;

use tracing::Level;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::args::{Arguments, Command, LogForm};
use super::ui::Ui;
use super::ui::screen::Logged;
use crate::reconcile::REPORT_LOG;

/// Sends what is logged from now on where it belongs.
pub(super) fn begin(ui: &Ui, arguments: &Arguments) {
    let level = std::env::var("ROSTERD_LOG").ok().and_then(|level| level.parse::<Level>().ok());
    let is_daemon = matches!(arguments.command, Command::Run(_));
    let asked = match (arguments.quiet, arguments.verbose, is_daemon) {
        (true, _, _) => Level::ERROR,
        (_, 0, false) => Level::WARN,
        (_, 0, true) | (_, 1, false) => Level::INFO,
        _ => Level::DEBUG,
    };
    let level = LevelFilter::from_level(level.unwrap_or(asked));
    // What libraries say of their work is for `trace` alone.
    let others = if level == LevelFilter::TRACE { level } else { level.min(LevelFilter::WARN) };
    let level = Targets::new().with_default(others).with_target("rosterd", level);
    let lines = tracing_subscriber::fmt::layer().with_writer(|| Logged { json: false }).with_ansi(ui.paints().1);
    if is_daemon && arguments.log == LogForm::Json {
        let json = tracing_subscriber::fmt::layer().json().with_writer(|| Logged { json: true });
        let _ = tracing_subscriber::registry().with(json.with_filter(level)).try_init();
    } else if is_daemon
        && is_journal()
        && let Ok(journal) = tracing_journald::layer()
    {
        // JOB, RUN, STATUS and the like, by which `journalctl JOB=…` finds an entry.
        let journal = journal.with_field_prefix(None);
        let _ = tracing_subscriber::registry().with(journal.with_filter(level)).try_init();
    } else if is_daemon {
        let _ = tracing_subscriber::registry().with(lines.with_filter(level)).try_init();
    } else {
        // A command prints the results of its runs.
        let level = level.with_target(REPORT_LOG, LevelFilter::OFF);
        let _ = tracing_subscriber::registry().with(lines.without_time().with_filter(level)).try_init();
    }
}

/// Whether stderr leads to the journal: systemd names the device and inode that identify it.
fn is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Some((device, inode)) = stream.split_once(':') else { return false };
    let stderr = std::fs::metadata("/proc/self/fd/2");
    stderr.is_ok_and(|found| device.parse() == Ok(found.dev()) && inode.parse() == Ok(found.ino()))
}
