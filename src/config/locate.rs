//! Finds the daemon of a configuration without checking it.
//!
//! Who may talk to the daemon need not be allowed to read its secrets, or the configuration at all. So nothing here is a
//! mistake: what can't be read is left to whoever loads the configuration as a whole.

use std::path::{Path, PathBuf};

use toml::Table;

use super::instance::Instance;
use super::options::{Control, State};
use super::permissions::{self, CONFIG_SIZE_MAX};

/// Where the daemon of a configuration is to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The configuration file, as an absolute path.
    pub config: PathBuf,
    /// The daemon's socket; `None` where the configuration turns it off.
    pub socket: Option<PathBuf>,
    /// The state folder; `None` where the file could not be read.
    pub state_dir: Option<PathBuf>,
}

/// What the file at `path` and the variables of `environment` say of the daemon.
pub fn locate(path: &Path, environment: impl Iterator<Item = (String, String)>) -> Option<Located> {
    let config = std::path::absolute(path).ok()?;
    let folder = config.parent().unwrap_or(Path::new("/")).to_owned();
    let table: Option<Table> =
        permissions::read(path, CONFIG_SIZE_MAX).ok().and_then(|content| toml::from_str(&content.text).ok());
    let (mut socket, mut state_dir) = (None, None);
    for (name, value) in environment {
        match name.to_ascii_lowercase().as_str() {
            "rosterd__control__socket" => socket = Some(value),
            "rosterd__state__dir" => state_dir = Some(value),
            _ => {}
        }
    }
    let written = |section: &str, key: &str| Some(table.as_ref()?.get(section)?.get(key)?.as_str()?.to_owned());
    let instance = Instance::of(&config);
    let socket = match socket.or_else(|| written("control", "socket")) {
        Some(written) => (!written.trim().is_empty()).then(|| folder.join(written)),
        None => Some(instance.as_ref().map_or_else(|| Control::SOCKET.into(), Instance::socket)),
    };
    let standard = || instance.as_ref().map_or_else(|| State::DIR.into(), Instance::state_dir);
    let state_dir = state_dir.or_else(|| written("state", "dir")).map(|written| folder.join(written));
    Some(Located { socket, state_dir: state_dir.or_else(|| table.as_ref().map(|_| standard())), config })
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
        let (standard, state) = (PathBuf::from(Control::SOCKET), PathBuf::from(State::DIR));
        let here = |name: &str| Some(dir.path().join(name));
        for (text, variables, expected) in [
            ("nonsense = 1", vec![], (Some(standard.clone()), Some(state.clone()))),
            ("[control]\nsocket = \"s\"\n[state]\ndir = \"d\"", vec![], (here("s"), here("d"))),
            ("[control]\nsocket = \"\"", vec![], (None, Some(state.clone()))),
            ("[control]\nsocket = \"s\"", vec![("ROSTERD__CONTROL__SOCKET", "/t")], (Some("/t".into()), Some(state))),
            ("no toml", vec![], (Some(standard), None)),
        ] {
            assert_eq!(find(text, &variables), expected, "{text}");
        }
    }
}
