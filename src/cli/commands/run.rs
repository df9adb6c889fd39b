//! `rosterd run` and `rosterd reload`.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::cli::args::RunArgs;
use crate::cli::backend::startup_failure::{self, of_account};
use crate::cli::backend::{Backend, interrupt, privileges, session};
use crate::cli::ui::{Exit, Failure, Message, Ui, sanitize};
use crate::clock::Clock;
use crate::config::{self, Config, Instance, MARK, Needs, is_of_accounts};
use crate::daemon::{self, Accounts, AccountsFolder, Commands, FolderError, ReloadRefusal, ServeError, StartError};
use crate::secret::Unusable;

/// A reload that takes longer waits for something.
const NOTED_AFTER: Duration = Duration::from_secs(2);

pub(crate) async fn run(host: &Backend, args: RunArgs, commands: Arc<dyn Commands>) -> Result<Exit, Failure> {
    let accounts = match args.accounts {
        Some(dir) => several(&dir)?,
        None => one(host).await?,
    };
    // The daemon does, as the first thing of all.
    interrupt::are_heard();
    daemon::serve(accounts, &Clock::system(), commands).await.map_err(|error| match error {
        ServeError::Account(error) => of_account(error),
        error @ ServeError::None { .. } => Failure::usage(error).hint("`rosterd check -c FILE` says more of each"),
        ServeError::Folder(error) => of_folder(error),
        error => Failure::failed(error),
    })?;
    Ok(Exit::Done)
}

/// The account of the one configuration.
async fn one(host: &Backend) -> Result<Accounts, Failure> {
    let config = match session::daemons_configuration(host) {
        Ok(config) => config,
        Err(failure) => {
            if let Backend::Here(path) = host {
                startup_failure::tell_of_configuration(path, &failure).await;
            }
            return Err(failure);
        }
    };
    let config = Arc::try_unwrap(config).unwrap_or_else(|config| (*config).clone());
    Ok(Accounts::One(Box::new(config)))
}

/// The accounts of a folder. Root becomes the account that their states belong to: the first one that says so is believed, and
/// one whose state is another's can't be used.
fn several(dir: &Path) -> Result<Accounts, Failure> {
    let folder = AccountsFolder::open(dir).map_err(of_folder)?;
    let files = folder.accounts().map_err(of_folder)?;
    let mut loaded: Vec<(Instance, PathBuf, Result<Config, StartError>)> = files
        .into_values()
        .map(|(name, path)| {
            let config = config::load(&path, config::environment(), Needs::Jobs).map_err(StartError::from);
            (name, path, config)
        })
        .collect();
    for config in loaded.iter_mut().map(|(_, _, config)| config) {
        let Ok(usable) = config else { continue };
        usable.warnings.iter().for_each(|warning| tracing::warn!(warning, "{warning}"));
        if let Err(Unusable { path, problem }) = privileges::hold_secrets(usable) {
            *config = Err(StartError::Secret { path, problem });
        }
    }
    let state = loaded.iter().find_map(|(_, _, config)| config.as_ref().ok()).map(|config| config.state.clone());
    let remains = || loaded.iter().find_map(|(_, path, _)| Some(config::remains(path, config::environment())?.state));
    if let Some(state) = state.or_else(remains) {
        privileges::become_owner_of(&state)?;
    }
    Ok(Accounts::Folder(folder, loaded))
}

fn of_folder(error: FolderError) -> Failure {
    let hint = match &error {
        FolderError::Unmarked { dir, .. } => format!("make it one: touch {}", dir.join(MARK).display()),
        FolderError::Empty { .. } => "an account NAME has its configuration in NAME.toml".to_owned(),
        _ => "name a folder with a configuration for each account".to_owned(),
    };
    Failure::usage(error).hint(hint)
}

/// Says what a reload waits for, where it does.
async fn patiently<T>(ui: &Ui, reload: impl Future<Output = T>) -> T {
    let mut reload = pin!(reload);
    match tokio::time::timeout(NOTED_AFTER, &mut reload).await {
        Ok(reloaded) => reloaded,
        Err(_) => {
            ui.note("the configuration is taken when the runs under way have ended");
            reload.await
        }
    }
}

pub(crate) async fn reload(ui: &Ui, host: &Backend) -> Result<Exit, Failure> {
    let Backend::Daemon(lent) = host else {
        // What is wrong with the file may be what keeps the daemon from being found.
        let config = host.config(Needs::Jobs)?;
        if let Some(holder) = config.state.home.relay().and_then(|relay| relay.holder().ok().flatten()) {
            if ui.json {
                ui.document(&json!({"version": 1, "reloaded": null}));
            } else {
                ui.line(format!(
                    "nothing to reload here: {} has the account, by the file there",
                    sanitize(&holder.node)
                ));
                ui.note("a worker that stands by here reads this file when it takes over");
            }
            return Ok(Exit::Done);
        }
        let path = std::path::absolute(&config.source_path).unwrap_or_else(|_| config.source_path.clone());
        let folder = path.parent().filter(|folder| is_of_accounts(folder));
        let Some(folder) = folder.map(Path::display) else {
            let words = Message("no daemon is running that could take a configuration".to_owned());
            let hint = "start it with `rosterd run`, or as a service: systemctl start rosterd";
            return Err(Failure::failed(words).hint(hint));
        };
        let words = Message(format!("no process runs the account of {}", path.display()));
        return Err(Failure::failed(words)
            .hint(
                "where the other accounts run, this file is new to their process: systemctl reload rosterd-accounts, or \
                 send it SIGHUP",
            )
            .hint(format!(
                "else start them: rosterd run --accounts {folder}, or as a service: systemctl start rosterd-accounts"
            )));
    };
    let path = lent.engine.setup().config.source_path.clone();
    // It was loaded just now where this had the account begin.
    let reloaded = if lent.has_begun { Ok(Vec::new()) } else { patiently(ui, lent.engine.reload()).await };
    let warnings = reloaded.map_err(|refusal| {
        let kept = "the configuration before stays in force";
        match refusal {
            ReloadRefusal::Config(errors) => Failure::from(errors).hint(kept),
            ReloadRefusal::Store(error) => error.into(),
            alarming @ ReloadRefusal::Alarming(_) => Failure::new(Exit::Held, alarming).hint(kept).hint(
                "`rosterd plan` shows what it would change; if that is meant, restart the daemon: its first run holds \
                 these changes for `rosterd approve`",
            ),
            broken => Failure::usage(broken).hint(kept),
        }
    })?;
    warnings.iter().for_each(|warning| ui.warn(warning));
    if ui.json {
        ui.document(&json!({"version": 1, "reloaded": path}));
    } else {
        ui.line(format!("{} is in force", path.display()));
    }
    Ok(Exit::Done)
}
