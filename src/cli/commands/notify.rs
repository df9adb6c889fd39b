//! `rosterd notify test`.

use serde_json::json;

use crate::cli::args::{NotifyArgs, NotifyCommand};
use crate::cli::backend::{Backend, session};
use crate::cli::ui::{Exit, Failure, Paint, Ui, sanitize};
use crate::clock::Clock;
use crate::config::Needs;
use crate::notify::{self, ChannelTest};

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &NotifyArgs) -> Result<Exit, Failure> {
    match args.command {
        NotifyCommand::Test => test(ui, host).await,
    }
}

async fn test(ui: &Ui, host: &Backend) -> Result<Exit, Failure> {
    let config = session::configuration_for(ui, host, Needs::Account)?;
    let trials = notify::test(&config.notify, &config.jobs, Clock::system().now()).await;
    if trials.is_empty() {
        return Err(Failure::usage("no notices are configured").hint("set notify.webhook or notify.mail"));
    }
    if ui.json {
        let document = |trial: &ChannelTest| {
            let (Ok(text) | Err(text)) = &trial.result;
            json!({"what": trial.what, "ok": trial.result.is_ok(), "message": text})
        };
        ui.document(&json!({"version": 1, "sent": trials.iter().map(document).collect::<Vec<_>>()}));
    } else {
        for ChannelTest { what, result } in &trials {
            let (label, text) = match result {
                Ok(text) => (ui.paint(Paint::Green, "ok"), text),
                Err(text) => (ui.paint(Paint::Red, "wrong"), text),
            };
            ui.line(format!("{what}: {label}: {}", sanitize(text)));
        }
    }
    Ok(if trials.iter().all(|trial| trial.result.is_ok()) { Exit::Done } else { Exit::Failed })
}
