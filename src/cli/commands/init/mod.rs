//! `rosterd init`: a first configuration, from what a file or a directory shows.

mod common;
mod directory;
mod file;

use crate::cli::args::InitArgs;
use crate::cli::ui::{Exit, Failure, Ui};

pub(crate) async fn run(ui: &Ui, args: &InitArgs) -> Result<Exit, Failure> {
    let text = args.source.to_string_lossy();
    if text.starts_with("ldap://") || text.starts_with("ldaps://") {
        directory::run(ui, args, &text).await
    } else {
        file::run(ui, args)
    }
}
