//! `rosterd init`: a first configuration, from what a file, a web server or a directory shows, or for a tenant.

mod common;
mod directory;
mod file;
mod tenant;
mod web;

use crate::cli::args::InitArgs;
use crate::cli::ui::{Exit, Failure, Ui};

pub(crate) async fn run(ui: &Ui, args: &InitArgs) -> Result<Exit, Failure> {
    let text = args.source.to_string_lossy();
    if text.starts_with("ldap://") || text.starts_with("ldaps://") {
        directory::run(ui, args, &text).await
    } else if text.starts_with("https://") || text.starts_with("http://") {
        web::run(ui, args, &text)
    } else if text == "entra" {
        Ok(tenant::run(ui))
    } else {
        file::run(ui, args)
    }
}
