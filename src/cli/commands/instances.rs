//! `rosterd status --all`: every account on this machine.
//!
//! What a daemon runs is asked by its socket, many at a time. Any other account's status is a process of its own: root becomes
//! the owner of an account's state for good, and two accounts may have two owners. Where states lie in a database, that says which
//! worker has each account.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use futures_util::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};

use crate::cli::backend::daemon_client::{self, Relayed};
use crate::cli::ui::sanitize;
use crate::cli::ui::screen::marked;
use crate::cli::ui::{Exit, Failure, Message, Paint, Ui};
use crate::config::{self, Instance, Needs, is_of_accounts};
use crate::store::AccountHolder;

/// Accounts that are asked at the same time: as many of a user's commands as a daemon runs at least.
const AT_ONCE: usize = 8;
/// The file of the account without a name.
const NAMELESS: &str = "config.toml";
/// The folder of the accounts of one process, beside the other configurations.
const ACCOUNTS: &str = "accounts";

/// An account, and what its status was.
struct InstanceState {
    name: String,
    config: PathBuf,
    exit: u8,
    /// What it wrote: data, and everything else.
    out: String,
    err: String,
    /// The worker that has it, where its state lies in a database.
    holder: Option<AccountHolder>,
}

/// Shows the status of every configuration in a folder.
pub(crate) async fn status(ui: &Ui, folder: &Path) -> Result<Exit, Failure> {
    let files = configurations(folder)
        .map_err(|error| Failure::usage(Message(format!("the configurations in {}: {error}", folder.display()))))?;
    if files.is_empty() {
        let none = Message(format!("there is no configuration in {}", folder.display()));
        return Err(Failure::usage(none).hint("name one of the folder's files with --config"));
    }
    let asked = futures_util::stream::iter(files).map(|(name, config)| async move {
        let state = ask(ui, name, config).await;
        state.map_err(Failure::failed)
    });
    let mut seen: Vec<InstanceState> = asked.buffered(AT_ONCE).try_collect().await?;
    let seen = tokio::task::spawn_blocking(move || {
        add_holders(&mut seen);
        seen
    });
    let seen = seen.await.map_err(Failure::failed)?;
    if ui.json {
        ui.document(&json!({"version": 1, "instances": seen.iter().map(document).collect::<Vec<_>>()}));
    } else {
        seen.iter().enumerate().for_each(|(number, seen)| show(ui, number, seen));
    }
    Ok(worst(seen.iter().map(|seen| seen.exit)))
}

/// The configurations in a folder, by name; the one without a name comes first, and the accounts of one process that lie in a
/// folder below come last.
fn configurations(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = listed(folder)?;
    let below = folder.join(ACCOUNTS);
    if !is_of_accounts(folder) && is_of_accounts(&below) && below.is_dir() {
        // One that this user may not see hides no other.
        found.extend(listed(&below).unwrap_or_default());
    }
    Ok(found)
}

fn listed(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let has_nameless = !is_of_accounts(folder);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if has_nameless && path.file_name().is_some_and(|name| name == NAMELESS) {
            found.push((String::new(), path));
        } else if let Some(instance) = Instance::named_by(&path) {
            found.push((instance.to_string(), path));
        }
    }
    found.sort();
    Ok(found)
}

/// Adds which worker has each account; a database is asked once. One that can't be asked is shown by the status of its accounts.
fn add_holders(seen: &mut [InstanceState]) {
    let mut known: BTreeMap<String, BTreeMap<String, AccountHolder>> = BTreeMap::new();
    for seen in seen {
        let config = config::load(&seen.config, config::environment(), Needs::State).ok();
        let Some(membership) = config.and_then(|config| config.state.home.membership()) else { continue };
        let holders = known.entry(membership.place()).or_insert_with(|| membership.holders().unwrap_or_default());
        let name = seen.config.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        seen.holder = name.and_then(|name| holders.get(&name).cloned());
    }
}

async fn ask(ui: &Ui, name: String, config: PathBuf) -> io::Result<InstanceState> {
    let form = if ui.json { &["status", "--json"][..] } else { &["status"] };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if let Some(Relayed { exit, out, err }) = daemon_client::relay(ui, &config, form).await {
        return Ok(InstanceState { name, config, exit, out: text(&out), err: text(&err), holder: None });
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--config").arg(&config).args(form).stdin(Stdio::null());
    command.args(["--color", if ui.paints().0 { "always" } else { "never" }]);
    let ran = tokio::task::spawn_blocking(move || command.output()).await;
    let Output { status, stdout, stderr } = ran.map_err(io::Error::other)??;
    // Ended by a signal: no code of its own.
    let exit = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(InstanceState { name, config, exit, out: text(&stdout), err: text(&stderr), holder: None })
}

fn document(seen: &InstanceState) -> Value {
    let parsed = |text: &str| text.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let error = parsed(&seen.err).and_then(|said| said.get("error").cloned());
    json!({
        "name": seen.name,
        "config": seen.config,
        "exit": seen.exit,
        "status": parsed(&seen.out),
        "error": error,
        "holder": seen.holder.as_ref().map(|holder| json!({"node": holder.node, "since": holder.since})),
    })
}

fn show(ui: &Ui, number: usize, seen: &InstanceState) {
    if number > 0 {
        ui.line("");
    }
    let path = seen.config.display();
    let title = if seen.name.is_empty() { path.to_string() } else { format!("{} ({path})", seen.name) };
    ui.line(ui.paint(Paint::Bold, &title));
    if let Some(AccountHolder { node, since, .. }) = &seen.holder {
        let since = since.map_or(String::new(), |since| format!(" since {since:.0}"));
        ui.line(format!("at {}{since}", sanitize(node)));
    }
    seen.err.lines().for_each(|line| ui.note(marked(line)));
    seen.out.lines().for_each(|line| ui.line(marked(line)));
}

/// The exit of the account that is worst off.
fn worst(exits: impl Iterator<Item = u8>) -> Exit {
    // From bad to good. What is not in the list is none of this program's codes: it failed.
    let order = [Exit::Failed, Exit::Usage, Exit::InUse, Exit::Held, Exit::Partial, Exit::Done];
    let place = |code: u8| order.iter().position(|exit| exit.code() == code).unwrap_or(0);
    exits.map(place).min().map_or(Exit::Done, |place| order[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_account_decides() {
        for (exits, expected) in [
            (&[][..], Exit::Done),
            (&[0, 0], Exit::Done),
            (&[0, 4, 3], Exit::Held),
            (&[4, 2, 0], Exit::Usage),
            (&[2, 1], Exit::Failed),
            (&[0, 99], Exit::Failed),
            (&[4, 11], Exit::InUse),
        ] {
            assert_eq!(worst(exits.iter().copied()), expected, "{exits:?}");
        }
    }
}
