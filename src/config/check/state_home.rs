//! Checks where the state lies: in a folder, or in a database.

use std::path::PathBuf;

use super::section::Section;
use crate::config::instance::Instance;
use crate::config::options::StateOptions;
use crate::store::Home;
#[cfg(feature = "postgres")]
use {
    super::secret::FoundSecret,
    crate::config::standard::SPILL_DIR,
    crate::store::{Account, DatabaseOptions},
};

/// Keys that say something of a database.
const OF_A_DATABASE: &[&str] = &["password", "password_file", "ca_file", "spill_dir", "node"];

/// Where the state lies; a folder where that can't be known.
pub(super) fn check(state: &Section<'_>) -> Home {
    let Some(url) = state.filled("url") else {
        for key in OF_A_DATABASE.iter().filter(|key| state.has(key)) {
            state.problem(key, "is for a database, and there is no state.url", Some("remove it, or set state.url"));
        }
        return folder(state);
    };
    if state.has("dir") {
        state.problem("dir", "state.url is given too", Some("keep the one in which the state lies"));
    }
    database(state, url).unwrap_or_else(|| folder(state))
}

fn folder(state: &Section<'_>) -> Home {
    let ground = state.ground;
    let standard = || ground.instance.as_ref().map_or_else(|| StateOptions::DIR.into(), Instance::state_dir);
    Home::Folder(state.filled("dir").map_or_else(standard, |written| ground.path(written)))
}

#[cfg(feature = "postgres")]
fn database(state: &Section<'_>, url: &str) -> Option<Home> {
    if let Some(fault) = DatabaseOptions::fault(url) {
        // Not quoted: it may have a password in it (law 11).
        let hint = "write postgresql://USER@HOST/DATABASE, and the password into the file that password_file names";
        return state.wrong("url", format!("can't be used: {fault}"), Some(hint));
    }
    let password = match state.secret("password", &["state_password"]) {
        FoundSecret::Secret(secret) => Some(secret),
        FoundSecret::Nothing => None,
        FoundSecret::Bad => return None,
    };
    let password =
        password.filter(|secret| !matches!(secret, crate::secret::SecretSource::Missing(_)) || names_one(state));
    let options = DatabaseOptions { url: url.to_owned(), password, ca_file: state.ca_file() };
    let ground = state.ground;
    let spill_dir = || {
        let standard = PathBuf::from(SPILL_DIR);
        ground.instance.as_ref().map_or(standard.clone(), |instance| standard.join(instance.to_string()))
    };
    let spill_dir = state.filled("spill_dir").map_or_else(spill_dir, |written| ground.path(written));
    let name = ground.config.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let account = Account::new(&options, &name, spill_dir);
    Some(Home::Database(match state.filled("node") {
        Some(node) => account.on_node(node),
        None => account,
    }))
}

/// Whether the configuration itself names a password: without one, that of the credentials is not looked for by a command
/// that does without secrets.
#[cfg(feature = "postgres")]
fn names_one(state: &Section<'_>) -> bool {
    state.has("password") || state.has("password_file")
}

#[cfg(not(feature = "postgres"))]
fn database(state: &Section<'_>, _: &str) -> Option<Home> {
    let hint = "install a program that has the feature `postgres`, or set state.dir";
    let _: Option<PathBuf> = state.wrong("url", "this program was built without PostgreSQL", Some(hint));
    None
}
