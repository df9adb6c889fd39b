//! `rosterd forget`.

use serde_json::json;

use crate::cli::args::ForgetArgs;
use crate::cli::backend::{Backend, session};
use crate::cli::ui::{Exit, Failure, Message, Ui, sanitize};
use crate::clock::Clock;
use crate::config::Needs;
use crate::notify;
use crate::operator::{self, ForgetError};
use crate::record::Key;
use crate::text::counted;

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &ForgetArgs) -> Result<Exit, Failure> {
    let config = session::configuration_for(ui, host, Needs::State)?;
    let key = Key::new(&args.key).ok_or_else(|| Failure::usage("a key can't be empty"))?;
    let mut sole = host.alone(&config).await;
    let forgotten =
        operator::forget(sole.take()?, &Clock::system(), &config.jobs, &key).map_err(|error| match error {
            ForgetError::Store(error) => Failure::from(error),
            error => Failure::failed(error),
        })?;
    // Also where nothing else is left of them: a call before this one may have ended here.
    let notices = notify::forget(&config.state.home);
    drop(sole);
    let Some(forgotten) = forgotten else {
        return Err(Failure::failed(Message(format!("nothing here is about key {key}")))
            .hint("`rosterd explain JOB KEY` tells of a record; keys are case-sensitive"));
    };
    notices.map_err(|error| {
        Failure::failed(Message(format!("notices of rejected rows could not be forgotten: {error}")))
    })?;
    for job in &forgotten.dropped_reports {
        ui.warn(format!(
            "what keeps the report on the last file of job {job} up to date was damaged, and went with it, as it may have named \
             {}; `rosterd status {job}` shows what still waits",
            sanitize(key.as_str())
        ));
    }
    if ui.json {
        ui.document(&json!({
            "version": 1,
            "key": key,
            "jobs": forgotten.jobs,
            "ids": forgotten.ids,
            "rows": forgotten.rows,
            "lines": forgotten.lines,
            "files": forgotten.files,
        }));
        return Ok(Exit::Done);
    }
    let (rows, lines) = (forgotten.rows, forgotten.lines);
    let (rows, lines) = (counted(rows, "row", "rows"), counted(lines, "line", "lines"));
    ui.line(format!("forgot {}: {rows} of the state, {lines} of the audit files", sanitize(key.as_str())));
    if forgotten.files > 0 {
        ui.line(format!("{} files of inboxes were rewritten without them, or removed", forgotten.files));
    }
    for id in &forgotten.ids {
        ui.line(format!("id {id} is still at the service, and belongs to no record any more"));
    }
    if !forgotten.certificates.is_empty() {
        ui.line("their certificates are records of their own, and name them; to forget these too:");
        forgotten.certificates.iter().for_each(|key| ui.line(format!("  rosterd forget {:?}", sanitize(key.as_str()))));
    }
    if !forgotten.others.is_empty() {
        ui.line("the audit files have the same id under other keys too; where that was the same person, forget these as well:");
        forgotten.others.iter().for_each(|key| ui.line(format!("  rosterd forget {:?}", sanitize(key.as_str()))));
    }
    ui.line("who is still in the source is matched again by the next `rosterd sync`, as if seen for the first time");
    Ok(Exit::Done)
}
