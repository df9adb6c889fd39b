//! `rosterd keys`: what the completion of a shell offers where a key is wanted.

use serde_json::json;

use crate::cli::args::{KeysArgs, KeysOf};
use crate::cli::backend::{Backend, session};
use crate::cli::ui::{Exit, Failure, Ui, sanitize};
use crate::config::Needs;
use crate::operator;

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &KeysArgs) -> Result<Exit, Failure> {
    let config = session::configuration_for(ui, host, Needs::Local)?;
    let job = session::job_or_only(&config, args.job.as_deref())?;
    let of = match args.of {
        KeysOf::Known => operator::KeysOf::Known,
        KeysOf::Held => operator::KeysOf::Held,
        KeysOf::Queued => operator::KeysOf::Queued,
    };
    let keys = operator::keys(&*host.store(&config).await?, job, of, &args.prefix, args.limit)?;
    if ui.json {
        ui.document(&json!({"version": 1, "job": job.name, "keys": keys}));
    } else {
        keys.iter().for_each(|key| ui.line(sanitize(key.as_str())));
    }
    Ok(Exit::Done)
}
