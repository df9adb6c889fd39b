//! `rosterd run` and `rosterd reload`.

use std::sync::Arc;

use serde_json::json;

use crate::cli::backend::{Backend, interrupt, session, startup_failure};
use crate::cli::ui::{Exit, Failure, Message, Ui};
use crate::clock::Clock;
use crate::config::Needs;
use crate::daemon::{self, Commands, ReloadRefusal, StartError};

pub(crate) async fn run(host: &Backend, commands: Arc<dyn Commands>) -> Result<Exit, Failure> {
    let config = match session::daemons_configuration(host) {
        Ok(config) => config,
        Err(failure) => {
            startup_failure::tell_of_configuration(host, &failure).await;
            return Err(failure);
        }
    };
    let config = Arc::try_unwrap(config).unwrap_or_else(|config| (*config).clone());
    let (home, notify, socket) = (config.state.home.clone(), config.notify.clone(), config.control.socket.clone());
    // The daemon does, as the first thing of all.
    interrupt::are_heard();
    let served = daemon::serve(config, &Clock::system(), commands).await;
    if let Err(error) = &served {
        startup_failure::tell(&home, &notify, socket.as_deref(), error).await;
    }
    served.map_err(|error| match error {
        StartError::Store(error) => Failure::from(error),
        StartError::Client(error) => error.into(),
        error @ StartError::Notify(_) => Failure::usage(error),
        error @ StartError::Socket { .. } => Failure::usage(error)
            .hint("set control.socket to a path in a folder that this user may write to; \"\" does without"),
        error => Failure::failed(error),
    })?;
    Ok(Exit::Done)
}

pub(crate) async fn reload(ui: &Ui, host: &Backend) -> Result<Exit, Failure> {
    let Backend::Daemon(lent) = host else {
        // What is wrong with the file may be what keeps the daemon from being found.
        host.config(Needs::Jobs)?;
        let words = Message("no daemon is running that could take a configuration".to_owned());
        return Err(
            Failure::failed(words).hint("start it with `rosterd run`, or as a service: systemctl start rosterd")
        );
    };
    let path = lent.engine.setup().config.source_path.clone();
    let warnings = lent.engine.reload().await.map_err(|refusal| {
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
