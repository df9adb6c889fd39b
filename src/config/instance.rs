//! Several accounts on one machine: each has a name, and files of that name.
//!
//! An instance is known by its configuration file alone: `/etc/rosterd/NAME.toml`, or `NAME.toml` in a folder of accounts
//! that share a process. So `--instance NAME` and `--config /etc/rosterd/NAME.toml` mean the same, and a command that
//! lacks one of them can't use an account's configuration with another account's state (law 2). For that a folder of
//! accounts has to be known as one by itself: `/etc/rosterd/accounts` is, and so is any that holds the file [`MARK`].
//!
//! Rejected: to pass the name separately to the code that loads a configuration. File and name could differ then; and a
//! command that does not know that a folder is one of accounts would take the state of the account without a name.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::standard::{ACCOUNTS_DIR, CONFIG_DIR, SOCKET, STATE_DIR};

/// The longest name, in bytes: it is part of a socket's path.
const NAME_MAX: usize = 32;
/// What names in the folders of the one without a name mean already.
const TAKEN: &[&str] = &["audit", "budget", "config", "control", "inbox", "paused", "store"];

/// The file that makes a folder one of accounts, besides the package's.
pub const MARK: &str = ".rosterd-accounts";

/// One of several accounts on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    name: String,
    process: InstanceProcess,
}

/// What runs an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceProcess {
    /// A daemon of its own.
    Own,
    /// The daemon of all accounts in the folder of its configuration.
    Shared,
}

/// Why a name is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceError {
    /// It would not do as the name of a file or of a systemd unit everywhere.
    #[error(
        "an instance's name has 1 to {NAME_MAX} lower-case letters, digits and inner dashes, and begins with a letter"
    )]
    Form,
    /// A file or folder of that name is something else.
    #[error("{0:?} can't be the name of an instance: what rosterd keeps for itself has that name")]
    Taken(String),
}

impl FromStr for Instance {
    type Err = InstanceError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let whole = name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.ends_with('-');
        if name.len() > NAME_MAX || !whole || !name.chars().all(fits) {
            return Err(InstanceError::Form);
        }
        if TAKEN.contains(&name) {
            return Err(InstanceError::Taken(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), process: InstanceProcess::Own })
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Instance {
    /// The instance whose configuration lies at `path`; `None` for any other file.
    pub fn of(path: &Path) -> Option<Self> {
        let path = std::path::absolute(path).ok()?;
        let folder = path.parent()?;
        let process = match folder {
            _ if folder == Path::new(CONFIG_DIR) => InstanceProcess::Own,
            _ if is_of_accounts(folder) => InstanceProcess::Shared,
            _ => return None,
        };
        Self::named_by(&path).map(|instance| Self { process, ..instance })
    }

    /// The instance that a file would have in the folder of all configurations.
    pub fn named_by(path: &Path) -> Option<Self> {
        (path.extension() == Some(OsStr::new("toml"))).then(|| path.file_stem()?.to_str()?.parse().ok()).flatten()
    }

    /// Those whose configuration lies on this machine, in no order; none where this user can't see that.
    pub fn installed() -> impl Iterator<Item = Self> {
        let files = |folder: &str| std::fs::read_dir(folder).into_iter().flatten().flatten();
        files(CONFIG_DIR).chain(files(ACCOUNTS_DIR)).filter_map(|file| Self::named_by(&file.path()))
    }

    /// What runs it.
    pub fn process(&self) -> InstanceProcess {
        self.process
    }

    /// Its configuration file: that of a daemon of its own, unless only that among the accounts is there.
    pub fn file(&self) -> PathBuf {
        let name = format!("{self}.toml");
        let (own, shared) = (Path::new(CONFIG_DIR).join(&name), Path::new(ACCOUNTS_DIR).join(&name));
        if self.process == InstanceProcess::Shared || (!own.exists() && shared.exists()) { shared } else { own }
    }

    /// Its default state folder.
    pub fn state_dir(&self) -> PathBuf {
        Path::new(STATE_DIR).join(&self.name)
    }

    /// The default socket of its daemon.
    pub fn socket(&self) -> PathBuf {
        let standard = Path::new(SOCKET);
        let folder = standard.parent().unwrap_or(standard).join(&self.name);
        folder.join(standard.file_name().unwrap_or_default())
    }
}

/// The folder in which a configuration lies.
pub fn folder_of(config: &Path) -> &Path {
    match config.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Whether a folder holds the accounts of one process.
pub fn is_of_accounts(folder: &Path) -> bool {
    folder == Path::new(ACCOUNTS_DIR) || folder.join(MARK).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_known_by_its_file() {
        for (path, expected) in [
            ("/etc/rosterd/north.toml", Some("north")),
            ("/etc/rosterd/site-2.toml", Some("site-2")),
            ("/etc/rosterd/config.toml", None),
            ("/etc/rosterd/store.toml", None),
            ("/etc/rosterd/North.toml", None),
            ("/etc/rosterd/north.toml.bak", None),
            ("/etc/rosterd/old/north.toml", None),
            ("/etc/rosterd/accounts/north.toml", Some("north")),
            ("/etc/rosterd/accounts/old/north.toml", None),
            ("/srv/north.toml", None),
        ] {
            let found = Instance::of(Path::new(path));
            assert_eq!(found.as_ref().map(ToString::to_string).as_deref(), expected, "{path}");
            if let Some(instance) = found {
                assert_eq!(instance.file(), Path::new(path));
                assert_eq!(instance.process() == InstanceProcess::Shared, path.contains("accounts"), "{path}");
                assert_eq!(instance.state_dir(), Path::new("/var/lib/rosterd").join(expected.unwrap()));
                let socket = format!("/run/rosterd/{}/control.sock", expected.unwrap());
                assert_eq!(instance.socket(), Path::new(&socket));
            }
        }
    }

    #[test]
    fn a_marked_folder_holds_accounts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("north.toml");
        assert_eq!(Instance::of(&path), None);
        std::fs::write(dir.path().join(MARK), "").unwrap();
        let north = Instance::of(&path).unwrap();
        assert_eq!((north.to_string().as_str(), north.process()), ("north", InstanceProcess::Shared));
        assert_eq!(Instance::of(&dir.path().join("config.toml")), None, "what has another meaning is no name");
    }

    #[test]
    fn a_name_can_lead_nowhere_else() {
        for name in ["", "..", "a/b", "-a", "a-", "a.b", "1a", "ä", "a b", "A", &"a".repeat(33)] {
            assert_eq!(name.parse::<Instance>(), Err(InstanceError::Form), "{name}");
        }
        for name in TAKEN {
            assert_eq!(name.parse::<Instance>(), Err(InstanceError::Taken((*name).to_owned())));
        }
        assert!("a".repeat(32).parse::<Instance>().is_ok());
    }
}
