//! `rosterd demo --serve`: the daemon, its inbox and its status page, until someone ends it.
//!
//! The daemon is the one of `rosterd run`, in this process beside the stand-in. What is to be typed is printed so that it can
//! be copied as it stands, whatever the program is called and wherever it lies.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::SIGHUP;
use signal_hook_tokio::Signals;
use tokio::net::TcpStream;

use super::fixture::{DemoEnv, DemoPerson};
use crate::cli::args::RunArgs;
use crate::cli::commands::run;
use crate::cli::ui::Failure;
use crate::daemon::Commands;

/// How often it looks what has become of things.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Runs the daemon until someone ends it. `rows` are HR's, as the service has them by now.
pub(super) async fn serve(
    ground: &DemoEnv,
    rows: Vec<DemoPerson>,
    signals: &mut Signals,
    commands: Arc<dyn Commands>,
) -> Result<(), Failure> {
    let page = free_address()?;
    ground.reconfigure(&[
        // Users of the demo are not expected to rename files into place.
        ("settle = \"0s\"", "settle = \"1s\""),
        ("[[job]]", &format!("[control]\nsocket = \"control.sock\"\n\n[status]\nlisten = \"{page}\"\n\n[[job]]")),
    ])?;
    ground.heading("It goes on by itself: the daemon");
    lay_out(ground, rows)?;
    let host = ground.host();
    let mut daemon = pin!(run::run(&host, RunArgs::default(), commands));
    let mut shows = pin!(show(ground, page));
    loop {
        tokio::select! {
            ended = &mut daemon => return ended.map(drop),
            never = &mut shows => match never {},
            signal = signals.next() => {
                // The daemon hears the others itself; this one would only make it read its configuration again.
                if signal == Some(SIGHUP) {
                    let _ = kill_process(getpid(), Signal::TERM);
                }
            }
        }
    }
}

/// An address of this machine that is unused at the moment.
fn free_address() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    listener.and_then(|listener| listener.local_addr()).map_err(Failure::failed)
}

/// Lays down files to be dropped.
fn lay_out(ground: &DemoEnv, mut rows: Vec<DemoPerson>) -> Result<(), Failure> {
    let folder = ground.dir.join("try");
    fs::create_dir(&folder).map_err(Failure::failed)?;
    rows.push(DemoPerson::new("E09004", "Dora", "Dropped", "Gardener", &rows[0].site));
    "Master of Files".clone_into(&mut rows[2].title);
    ground.write(&folder.join(JOINER), &rows)?;
    ground.write(&folder.join(LEAVERS), &rows[4..])
}

const JOINER: &str = "joiner.csv";
const LEAVERS: &str = "leavers.csv";

/// Says where everything is as soon as it is there, and from then on what became of files, and how many people there are.
async fn show(ground: &DemoEnv, page: SocketAddr) -> std::convert::Infallible {
    while TcpStream::connect(page).await.is_err() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    explain(ground, page);
    let mut seen = filed(&ground.inbox());
    let mut people = ground.people();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = filed(&ground.inbox());
        for file in now.difference(&seen) {
            ground.ui.line(format!("filed     {}", file.strip_prefix(&ground.dir).unwrap_or(file).display()));
        }
        seen = now;
        if ground.people() != people {
            people = ground.people();
            ground.ui.line(format!("people at the service: {people}"));
        }
    }
}

fn explain(ground: &DemoEnv, page: SocketAddr) {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("rosterd"));
    let rosterd = format!("{} -c {}", quoted(&program), quoted(&ground.config()));
    let inbox = ground.inbox();
    let drop = |name: &str| format!("cp {} {}/", quoted(&ground.dir.join("try").join(name)), quoted(&inbox));
    let ui = &ground.ui;
    ui.line(format!("inbox     {}", inbox.display()));
    ui.line(format!("page      http://{page}/"));
    ui.line("");
    ui.line("To try in another terminal, while the page is open:");
    for (why, command) in [
        ("HR drops a file: one person joins, another gets a new title", drop(JOINER)),
        ("who is at the service now", format!("{rosterd} api staff.list q=name%Dropped")),
        ("HR drops one in which four people are missing: that is held", drop(LEAVERS)),
        ("what is held, and why", format!("{rosterd} plan")),
        ("a person decides, and the daemon sends it at once", format!("{rosterd} approve employees")),
        ("how things are", format!("{rosterd} status")),
    ] {
        ui.line(format!("# {why}"));
        ui.line(format!("  {command}"));
    }
    ui.line("");
    ui.line("Ctrl-C ends it, and nothing of it stays.");
}

/// The files that were done with, without their reports.
fn filed(inbox: &Path) -> BTreeSet<PathBuf> {
    let folders = ["processed", "failed"].map(|name| fs::read_dir(inbox.join(name)));
    let entries = folders.into_iter().flatten().flatten().flatten();
    let is_report = |path: &PathBuf| path.to_string_lossy().contains(".report.");
    entries.map(|entry| entry.path()).filter(|path| !is_report(path)).collect()
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_to_a_shell() {
        for path in ["/tmp/rosterd-demo-x/config.toml", "/tmp/a b", "/tmp/it's $HOME", "/tmp/ü;x"] {
            let script = format!("printf %s {}", quoted(Path::new(path)));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), path);
        }
    }
}
