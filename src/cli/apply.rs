//! `rosterd apply`, and the file that `rosterd plan --out` writes.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::ApplyArgs;
use super::failure::{Exit, Failure, Words};
use super::open::{self, Session};
use super::sync;
use super::ui::{Ui, tame};
use crate::run::{self, Applied, PlanFile};

pub(super) async fn run(ui: &Ui, config: &Path, args: &ApplyArgs) -> Result<Exit, Failure> {
    let config = open::configuration(ui, config)?;
    let file = read(&args.file)?;
    let session = Session::open(ui, &config)?;
    let applied = session.guard(run::apply(&session.context(), &file)).await.map_err(|failure| {
        let what = format!("plan file {}", args.file.display());
        if failure.is_plan() { failure.about(&what).hint("make a new plan") } else { failure }
    })?;
    show(ui, &applied);
    let (_, held) = file.counts();
    if held > 0 {
        ui.note(format!(
            "{held} more changes were held when the plan was made; they are approved with `rosterd approve`"
        ));
    }
    if session.is_interrupted() {
        return Err(Failure::new(Exit::Interrupted, "interrupted; what was not sent stays queued"));
    }
    Ok(Exit::of_runs(applied.iter().map(|one| one.report.status)))
}

/// Writes a plan file, whole or not at all, for its owner only.
pub(super) fn write(path: &Path, file: &PlanFile) -> Result<(), Failure> {
    let absolute = std::path::absolute(path);
    let folder = absolute.map(|path| path.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned));
    let written = folder.and_then(|folder| {
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.write_all(file.encode().as_bytes())?;
        temporary.as_file().sync_all()?;
        temporary.persist(path)?;
        Ok(())
    });
    written.map_err(|error| Failure::failed(Words(format!("{} could not be written: {error}", path.display()))))
}

fn read(path: &Path) -> Result<PlanFile, Failure> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(PlanFile::SIZE_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| Failure::usage(Words(format!("{} can't be read: {error}", path.display()))))?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= PlanFile::SIZE_MAX);
    if !fits {
        return Err(Failure::usage(Words(format!("{} is too large for a plan file", path.display()))));
    }
    PlanFile::decode(&bytes)
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
            ui.line(format!("  skipped   {} ({action}): {}", tame(key), tame(reason)));
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
