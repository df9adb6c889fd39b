//! `rosterd init`: a first configuration, from what a file, a web server or a directory shows, or for a tenant.

mod columns;
mod common;
mod directory;
mod file;
mod tenant;
mod web;

use std::path::Path;

use crate::cli::args::InitArgs;
use crate::cli::ui::{Exit, Failure, Ui};

/// How the names of files end that may hold people.
const TABLES: [&str; 7] = ["csv", "tsv", "txt", "xlsx", "xls", "xlsb", "ods"];

/// What is named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    File,
    Web,
    Directory,
    Tenant,
}

pub(crate) async fn run(ui: &Ui, args: &InitArgs) -> Result<Exit, Failure> {
    let text = args.source.to_string_lossy();
    let named = named(&text)?;
    refuse_foreign(args, named)?;
    match named {
        Named::Directory => directory::run(ui, args, &text).await,
        Named::Web => web::run(ui, args, &text),
        Named::Tenant => Ok(tenant::run(ui)),
        Named::File => file::run(ui, args).map_err(|failure| match hint(&args.source) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }),
    }
}

fn named(text: &str) -> Result<Named, Failure> {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_lowercase());
    match scheme.as_deref() {
        Some("ldap" | "ldaps") => Ok(Named::Directory),
        Some("http" | "https") => Ok(Named::Web),
        Some(other) => Err(Failure::usage(format!("rosterd reads nothing by {other}:// itself"))
            .hint("a program of yours can fetch it into an inbox: see rosterd-fetch@.service in the documentation")),
        None if text.eq_ignore_ascii_case("entra") => Ok(Named::Tenant),
        None => Ok(Named::File),
    }
}

/// Refuses options that say nothing about what is named.
fn refuse_foreign(args: &InitArgs, named: Named) -> Result<(), Failure> {
    let (web, directory): (&[Named], &[Named]) = (&[Named::Web], &[Named::Directory]);
    let given = [
        ("--user", args.user.is_some(), web),
        ("--token-file", args.token_file.is_some(), web),
        ("--bind-dn", args.bind_dn.is_some(), directory),
        ("--client-cert-file", args.client_cert_file.is_some(), directory),
        ("--start-tls", args.start_tls, directory),
        ("--sheet", args.sheet.is_some(), &[Named::File, Named::Web]),
        ("--ca-file", args.ca_file.is_some(), &[Named::Web, Named::Directory]),
    ];
    match given.iter().find(|(_, is_given, kinds)| *is_given && !kinds.contains(&named)) {
        None => Ok(()),
        Some((option, _, kinds)) => {
            let of = match kinds {
                [Named::Web] => "an https:// address",
                [Named::Directory] => "an ldaps:// address",
                [Named::File, Named::Web] => "a workbook",
                _ => "an https:// or ldaps:// address",
            };
            Err(Failure::usage(format!("{option} goes with {of}")))
        }
    }
}

/// What may be meant by a name that is no file.
fn hint(path: &Path) -> Option<String> {
    let text = path.to_string_lossy().to_lowercase();
    if path.is_dir() {
        return Some(
            "name one of the files that are dropped there, then make the folder the `path` of the job".to_owned(),
        );
    }
    if path.exists() {
        return None;
    }
    if ["entr", "azure", "graph", "aad", "microsoft"].iter().any(|word| text.contains(word)) {
        return Some("for Microsoft Entra ID: `rosterd init entra`".to_owned());
    }
    let is_host = text.contains('.')
        && !text.contains('/')
        && path.extension().is_some_and(|end| !TABLES.iter().any(|table| end == *table));
    if text.starts_with("ldap") || is_host {
        return Some(format!(
            "for a directory: `rosterd init ldaps://{text}`; for a report of a web server: `rosterd init https://…`"
        ));
    }
    Some("besides files there are https:// and ldaps:// addresses, and `entra` for Microsoft Entra ID".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_known_by_how_it_is_written() {
        for (text, is) in [
            ("LDAPS://dc1.example.com", Some(Named::Directory)),
            ("https://hr.example.com/staff.csv", Some(Named::Web)),
            ("Entra", Some(Named::Tenant)),
            ("entra.csv", Some(Named::File)),
            ("sftp://hr.example.com/staff.csv", None),
            ("postgresql://db/hr", None),
        ] {
            assert!(named(text).ok() == is, "{text}");
        }
    }

    #[test]
    fn a_name_that_is_no_file_gets_the_hint_that_fits() {
        for (name, word) in [
            ("azure", "init entra"),
            ("entra-id", "init entra"),
            ("ldap.example.com", "ldaps://ldap.example.com"),
            ("dc1.example.local", "ldaps://dc1"),
            ("none.csv", "besides files"),
            ("/", "the `path` of the job"),
        ] {
            assert!(hint(Path::new(name)).is_some_and(|hint| hint.contains(word)), "{name}");
        }
    }
}
