//! `rosterd state export` and `rosterd state import`.

use std::io;
use std::path::Path;

use serde_json::json;

use crate::cli::backend::{Backend, session};
use crate::cli::state_args::{StateArgs, StateCommand};
use crate::cli::ui::{Exit, Failure, Message, Ui, sanitize};
use crate::config::Needs;
use crate::operator;
use crate::store::{Contents, TransferError};

pub(crate) fn run(ui: &Ui, host: &Backend, args: &StateArgs) -> Result<Exit, Failure> {
    let config = session::configuration_for(ui, host, Needs::State)?;
    let (file, is_import) = match &args.command {
        StateCommand::Export { file } => (file, false),
        StateCommand::Import { file } => (file, true),
    };
    let moved = if is_import { operator::import(&config, file) } else { operator::export(&config, file) };
    let contents = moved.map_err(|error| failure(error, file))?;
    if ui.json {
        ui.document(&json!({
            "version": 1,
            "file": file,
            "rows": contents.rows,
            "documents": contents.documents,
            "lines": contents.lines,
            "files": contents.files,
        }));
        return Ok(Exit::Done);
    }
    let shown = sanitize(&file.display().to_string()).to_string();
    if is_import {
        ui.line(format!("imported {shown}: {}", counted(contents)));
        ui.line("the next `rosterd sync` begins after a minute, and lists the service as a whole");
        ui.line("approvals that were not sent yet are asked for again, and each grace begins again; rejections count");
    } else {
        ui.line(format!("exported to {shown}: {}", counted(contents)));
        ui.line("it has people's data: keep it as closed as the state itself, and remove it when it was imported");
    }
    Ok(Exit::Done)
}

fn counted(contents: Contents) -> String {
    let Contents { documents, lines, files, rows } = contents;
    format!("{rows} rows, {lines} lines of the audit files, {documents} documents, {files} files of inboxes")
}

fn failure(error: TransferError, file: &Path) -> Failure {
    match error {
        TransferError::Store(error) => error.into(),
        TransferError::File(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let words = format!("{} is there already", file.display());
            Failure::usage(Message(words)).hint("name a file that is not there yet; nothing is written over")
        }
        TransferError::File(error) => {
            let words = format!("{}: {error}", file.display());
            match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Failure::failed(Message(words)),
                _ => Failure::usage(Message(words))
                    .hint("the file and its folder must be open to the owner of the state"),
            }
        }
        error @ TransferError::NotEmpty { .. } => Failure::usage(error).hint(
            "a state is imported into an empty one, in which nothing was even paused: name another state.dir, or a database or account \
             that is new",
        ),
        error @ TransferError::OtherAccount { .. } => Failure::usage(error)
            .hint("what is remembered belongs to one account: import it with the configuration of that one"),
        error @ (TransferError::Foreign | TransferError::Broken { .. }) => {
            Failure::usage(error).hint("nothing was changed; export the state again, or take another copy of the file")
        }
        error @ TransferError::Form { .. } => {
            Failure::usage(error).hint("install the version that wrote it, or a later one")
        }
        error => Failure::failed(error),
    }
}
