//! Finds the daemon of a configuration without checking it.
//!
//! Who may talk to the daemon need not be allowed to read its secrets, or the configuration at all. So nothing here is
//! a mistake: errors of reading are left to the code that loads the whole configuration.

use std::path::{Path, PathBuf};

use super::account::Account;
use super::instance::Instance;
use super::options::{Control, StateOptions};
use super::permissions::{self, CONFIG_SIZE_MAX};
use super::report::Report;
use super::syntax;

/// Where the daemon of a configuration is to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The configuration file, as an absolute path.
    pub config: PathBuf,
    /// The daemon's socket; `None` where the configuration turns it off.
    pub socket: Option<PathBuf>,
    /// The state folder; `None` where the state lies in a database, or the file could not be read as a whole and does not
    /// name one.
    pub state_dir: Option<PathBuf>,
    /// The account that the daemon has, as far as the configuration says.
    pub account: Option<Account>,
}

/// What the file at `path` and the variables of `environment` say of the daemon.
pub fn locate(path: &Path, environment: impl Iterator<Item = (String, String)>) -> Option<Located> {
    let config = std::path::absolute(path).ok()?;
    let folder = config.parent().unwrap_or(Path::new("/")).to_owned();
    let variables: Vec<(String, String)> = environment.collect();
    // Also of a file that is half written: its daemon runs, and says what is wrong with it.
    let file = permissions::read(path, CONFIG_SIZE_MAX).ok();
    let is_whole = file.as_ref().is_some_and(|content| toml::from_str::<toml::Table>(&content.text).is_ok());
    let table = file.map(|content| syntax::recovered(&content.text, &mut Report::new(String::new())));
    let written = |section: &str, key: &str| {
        let variable = format!("rosterd__{section}__{key}");
        let given = variables.iter().find(|(name, _)| name.to_ascii_lowercase() == variable);
        given.map(|(_, value)| value.clone()).or_else(|| {
            let section = table.as_ref()?.get(section)?.clone().into_table().ok()?;
            section.get(key)?.clone().into_string().ok()
        })
    };
    let instance = Instance::of(&config);
    let socket = match written("control", "socket") {
        Some(written) => (!written.trim().is_empty()).then(|| folder.join(written)),
        None => Some(instance.as_ref().map_or_else(|| Control::SOCKET.into(), Instance::socket)),
    };
    let standard = || instance.as_ref().map_or_else(|| StateOptions::DIR.into(), Instance::state_dir);
    let state_dir = written("state", "dir").map(|written| folder.join(written));
    // What can't be read may name another.
    let state_dir = state_dir.or_else(|| is_whole.then(standard)).filter(|_| written("state", "url").is_none());
    let account = Account::of(written("state", "user").as_deref(), &config, state_dir.as_deref());
    Some(Located { config, socket, state_dir, account })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemon_is_found_by_a_file_that_does_not_check() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let find = |text: &str, variables: &[(&str, &str)]| {
            std::fs::write(&path, text).unwrap();
            let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let found = locate(&path, variables).unwrap();
            (found.socket, found.state_dir)
        };
        let (standard, state) = (PathBuf::from(Control::SOCKET), PathBuf::from(StateOptions::DIR));
        let here = |name: &str| Some(dir.path().join(name));
        for (text, variables, expected) in [
            ("nonsense = 1", vec![], (Some(standard.clone()), Some(state.clone()))),
            ("[control]\nsocket = \"s\"\n[state]\ndir = \"d\"", vec![], (here("s"), here("d"))),
            ("[control]\nsocket = \"\"", vec![], (None, Some(state.clone()))),
            ("[control]\nsocket = \"s\"", vec![("ROSTERD__CONTROL__SOCKET", "/t")], (Some("/t".into()), Some(state))),
            ("no toml", vec![], (Some(standard), None)),
            ("[control]\nsocket = \"s\"\n[job.map\nname = \"{{\"", vec![], (here("s"), None)),
        ] {
            assert_eq!(find(text, &variables), expected, "{text}");
        }
    }
}
