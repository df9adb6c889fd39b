//! `rosterd apply`.

use std::path::Path;

use serde_json::{Value, json};

use super::sync;
use crate::cli::args::ApplyArgs;
use crate::cli::backend::Backend;
use crate::cli::backend::session::{self, Session, Work};
use crate::cli::ui::{Exit, Failure, Ui, sanitize};
use crate::operator::{self, Applied, PlanFile};

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &ApplyArgs) -> Result<Exit, Failure> {
    let config = session::configuration(ui, host)?;
    let file = read(host, &args.file)?;
    let session = Session::open(ui, host, &config, Work::of(&config.jobs)).await?;
    let applied = session.guard(operator::apply(&session.context(), &file)).await.map_err(|failure| {
        let what = format!("plan file {}", args.file.display());
        if failure.is_plan() { failure.about(&what).hint("make a new plan") } else { failure }
    })?;
    host.ran(applied.iter().map(|one| &one.report));
    show(ui, &applied);
    let (_, held) = file.counts();
    if held > 0 {
        ui.note(format!(
            "{held} more changes were held when the plan was made; the next `rosterd sync` holds them for `rosterd approve`"
        ));
    }
    if session.is_interrupted() {
        return Err(Failure::new(Exit::Interrupted, "interrupted; what was not sent stays queued"));
    }
    Ok(Exit::of_runs(applied.iter().map(|one| one.report.status)))
}

fn read(host: &Backend, path: &Path) -> Result<PlanFile, Failure> {
    PlanFile::decode(&host.read(path)?)
        .map_err(|error| Failure::usage(error).about(&format!("plan file {}", path.display())).hint("make a new plan"))
}

fn show(ui: &Ui, applied: &[Applied]) {
    if ui.json {
        let jobs: Vec<Value> = applied.iter().map(document).collect();
        ui.document(&json!({"version": 1, "jobs": jobs}));
        return;
    }
    for one in applied {
        sync::lines(ui, &one.report);
        for skipped in &one.skipped {
            let (key, action, reason) = (skipped.key.as_str(), skipped.action.name(), &skipped.reason);
            ui.line(format!("  skipped   {} ({action}): {}", sanitize(key), sanitize(reason)));
        }
    }
}

fn document(applied: &Applied) -> Value {
    let mut document = sync::document(&applied.report);
    let skipped = applied.skipped.iter();
    document["skipped"] =
        skipped.map(|one| json!({"key": one.key, "action": one.action, "reason": one.reason})).collect();
    document
}
