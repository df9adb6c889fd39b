//! Where systemd's credentials are found.
//!
//! The service gets them in a folder of its own. A command that root types has no such folder: it looks where the unit has
//! systemd look, in the credential store, and at what was handed to the service that runs now. Only the configurations that
//! belong to a unit are served so: a trial configuration elsewhere never gets the account's credential by chance.
//!
//! Rejected: to ask systemd for the unit's settings. What a drop-in adds is found while the service runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::unistd::geteuid;
use secrecy::SecretString;

use super::instance::{Instance, InstanceProcess};

/// Where systemd tells the folder of a service's credentials.
const DIRECTORY: &str = "CREDENTIALS_DIRECTORY";
/// The configuration of the one account; an instance's is known by its name.
const CONFIG: &str = "/etc/rosterd/config.toml";
/// The folders of the store, in systemd's order; the encrypted ones have the same names and an ending.
const STORE: [&str; 4] = ["/etc/credstore", "/run/credstore", "/usr/local/lib/credstore", "/usr/lib/credstore"];
/// Where systemd hands them to running services.
const HANDED: &str = "/run/credentials";
/// The folder of the store with those of the accounts that share a process, and what systemd puts before their names: the unit
/// takes the folder as a whole.
const ACCOUNTS: &str = "rosterd-accounts";
const ACCOUNTS_PREFIX: &str = "accounts_";
/// What the units take from the store.
const TAKEN: [&str; 6] =
    ["client_secret", "api_key", "state_password", "bind_password", "smtp_password", "oidc_secret"];
/// What decrypts a credential.
const DECRYPTS: &str = "systemd-creds";

/// Where credentials are looked for.
#[derive(Clone, Debug, Default)]
pub(super) enum Credentials {
    /// systemd handed them to this process, in this folder; by what their names begin with.
    Handed(PathBuf, String),
    /// Root looks where systemd does.
    Store(CredentialStore),
    /// They are in the store, which this user may not read; by the name that their files begin with.
    Closed(String),
    /// Nowhere: no unit has this configuration.
    #[default]
    Nowhere,
}

/// The credential store as the unit of one account sees it.
#[derive(Clone, Debug)]
pub(super) struct CredentialStore {
    folders: Vec<PathBuf>,
    /// What systemd handed to the service while it runs, and what the names there begin with.
    handed: (PathBuf, String),
    /// What the names of its files begin with.
    prefix: String,
    decrypts: PathBuf,
}

/// A credential that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// By systemd, in a folder that is closed to others.
    Handed(PathBuf),
    /// As a file of the store.
    Plain(PathBuf),
    /// Encrypted for this machine, under this name.
    Encrypted { path: PathBuf, name: String },
}

/// Whether the daemon gets the secret in a file from systemd, be it open to others or not.
pub(super) fn is_handed_over(path: &Path) -> bool {
    STORE.iter().chain(&[HANDED]).any(|folder| path.starts_with(folder))
}

impl Credentials {
    /// Where those for the configuration at `path` are.
    pub(super) fn of(path: &Path, variables: &[(String, String)]) -> Self {
        let instance = Instance::of(path);
        let shared = instance.as_ref().filter(|instance| instance.process() == InstanceProcess::Shared);
        let own_names = shared.map(|instance| format!("{ACCOUNTS_PREFIX}{instance}.")).unwrap_or_default();
        if let Some((_, dir)) = variables.iter().find(|(name, dir)| name == DIRECTORY && !dir.is_empty()) {
            return Self::Handed(PathBuf::from(dir), own_names);
        }
        let (prefix, unit) = match (&instance, shared) {
            (_, Some(instance)) => (format!("{ACCOUNTS}/{instance}."), "rosterd-accounts.service".to_owned()),
            (Some(instance), None) => (format!("rosterd.{instance}."), format!("rosterd@{instance}.service")),
            (None, None) if path == Path::new(CONFIG) => ("rosterd.".to_owned(), "rosterd.service".to_owned()),
            (None, None) => return Self::Nowhere,
        };
        if !geteuid().is_root() {
            return Self::Closed(prefix);
        }
        Self::Store(CredentialStore {
            folders: STORE.iter().map(PathBuf::from).collect(),
            handed: (Path::new(HANDED).join(unit), own_names),
            prefix,
            decrypts: DECRYPTS.into(),
        })
    }

    /// Finds the credential of that name.
    pub(super) fn find(&self, name: &str) -> Option<Stored> {
        match self {
            Self::Handed(dir, prefix) => handed(dir, &format!("{prefix}{name}")),
            Self::Store(store) => store.find(name),
            Self::Closed(_) | Self::Nowhere => None,
        }
    }

    /// Where else a credential of that name may be put, as the end of a sentence; empty where there is no such place.
    pub(super) fn places(&self, name: &str) -> String {
        let prefix = match self {
            Self::Store(store) => &store.prefix,
            Self::Closed(prefix) => prefix,
            Self::Handed(..) | Self::Nowhere => return String::new(),
        };
        let [folder, ..] = STORE;
        let closed = if matches!(self, Self::Closed(_)) { "; only root can read it there" } else { "" };
        format!("; systemd takes it from {folder}/{prefix}{name}{closed}")
    }

    /// Decrypts a credential; `Err` says why it can't be.
    pub(super) fn decrypt(&self, path: &Path, name: &str) -> Result<SecretString, String> {
        let Self::Store(store) = self else { return Err("is encrypted".to_owned()) };
        let mut command = Command::new(&store.decrypts);
        command.arg("decrypt").arg(format!("--name={name}")).arg(path).arg("-").stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("{} can't be run: {error}", store.decrypts.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("can't be decrypted: {}", said.lines().next_back().unwrap_or("systemd-creds failed")));
        }
        let text = String::from_utf8(output.stdout).map_err(|_| "is not UTF-8".to_owned())?;
        Ok(SecretString::from(text.lines().next().unwrap_or_default().trim_end()))
    }
}

impl CredentialStore {
    fn find(&self, name: &str) -> Option<Stored> {
        let (folder, own_names) = &self.handed;
        let handed = || handed(folder, &format!("{own_names}{name}"));
        if !TAKEN.contains(&name) {
            return handed();
        }
        let file = format!("{}{name}", self.prefix);
        let plain = self.folders.iter().map(|folder| folder.join(&file)).find(|path| path.exists());
        let encrypted = || {
            let folders = self.folders.iter().map(|folder| folder.with_extension("encrypted").join(&file));
            let path = folders.into_iter().find(|path| path.exists())?;
            Some(Stored::Encrypted { path, name: name.to_owned() })
        };
        // The store goes first: what the service was handed may have been replaced there since.
        plain.map(Stored::Plain).or_else(encrypted).or_else(handed)
    }
}

/// What systemd handed to the service under that name. The units have it hand over an empty line for what is not there.
fn handed(dir: &Path, name: &str) -> Option<Stored> {
    let path = dir.join(name);
    let is_empty = std::fs::read(&path).is_ok_and(|bytes| bytes.iter().all(u8::is_ascii_whitespace));
    (path.exists() && !is_empty).then_some(Stored::Handed(path))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use secrecy::ExposeSecret as _;

    use super::*;

    /// A store below a folder, for the account of that prefix.
    fn store(root: &Path, prefix: &str) -> Credentials {
        let folders = [root.join("etc/credstore"), root.join("run/credstore")];
        for folder in &folders {
            fs::create_dir_all(folder).unwrap();
            fs::create_dir_all(folder.with_extension("encrypted")).unwrap();
        }
        let handed = root.join("handed");
        fs::create_dir_all(&handed).unwrap();
        let decrypts = root.join("systemd-creds");
        let handed = (handed, String::new());
        Credentials::Store(CredentialStore { folders: folders.into(), handed, prefix: prefix.to_owned(), decrypts })
    }

    #[test]
    fn root_finds_a_credential_where_systemd_does() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        let encrypted = |path: &str| Some(Stored::Encrypted { path: at(path), name: "client_secret".to_owned() });
        // From what is found last to what is found first: each goes before all above it.
        for (file, expected) in [
            ("etc/credstore/rosterd.other.client_secret", None),
            ("handed/client_secret", Some(Stored::Handed(at("handed/client_secret")))),
            (
                "run/credstore.encrypted/rosterd.client_secret",
                encrypted("run/credstore.encrypted/rosterd.client_secret"),
            ),
            (
                "etc/credstore.encrypted/rosterd.client_secret",
                encrypted("etc/credstore.encrypted/rosterd.client_secret"),
            ),
            ("run/credstore/rosterd.client_secret", Some(Stored::Plain(at("run/credstore/rosterd.client_secret")))),
            ("etc/credstore/rosterd.client_secret", Some(Stored::Plain(at("etc/credstore/rosterd.client_secret")))),
        ] {
            let credentials = store(root.path(), "rosterd.");
            fs::write(at(file), "sesame").unwrap();
            assert_eq!(credentials.find("client_secret"), expected, "{file}");
        }
    }

    #[test]
    fn one_account_never_gets_the_credential_of_another() {
        let root = tempfile::tempdir().unwrap();
        let north = store(root.path(), "rosterd.north.");
        let one = store(root.path(), "rosterd.");
        let file = root.path().join("etc/credstore/rosterd.north.bind_password");
        fs::write(&file, "sesame").unwrap();
        assert_eq!(north.find("bind_password"), Some(Stored::Plain(file)));
        // A job of the account without a name that is called as the other account is.
        assert_eq!(one.find("north.bind_password"), None);
        for path in ["/etc/rosterd/new.toml.trial", "/srv/config.toml", "/etc/rosterd/old/config.toml"] {
            assert!(matches!(Credentials::of(Path::new(path), &[]), Credentials::Nowhere), "{path}");
        }
        let handed = [("CREDENTIALS_DIRECTORY".to_owned(), "/run/mine".to_owned())];
        assert!(matches!(Credentials::of(Path::new(CONFIG), &handed), Credentials::Handed(..)));
    }

    #[test]
    fn accounts_of_one_process_get_their_own_out_of_what_it_was_handed() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("accounts_north.api_key"), "sesame\n").unwrap();
        fs::write(dir.path().join("api_key"), "another\n").unwrap();
        let variables = [("CREDENTIALS_DIRECTORY".to_owned(), dir.path().display().to_string())];
        for (name, expected) in [("north", Some("accounts_north.api_key")), ("south", None)] {
            let path = format!("/etc/rosterd/accounts/{name}.toml");
            let found = Credentials::of(Path::new(&path), &variables).find("api_key");
            assert_eq!(found, expected.map(|file| Stored::Handed(dir.path().join(file))), "{name}");
        }
    }

    #[test]
    fn what_the_units_hand_over_for_want_of_a_credential_counts_as_missing() {
        let dir = tempfile::tempdir().unwrap();
        let handed = Credentials::Handed(dir.path().to_owned(), String::new());
        for (content, expected) in [("", false), ("\n", false), ("sesame\n", true)] {
            fs::write(dir.path().join("api_key"), content).unwrap();
            assert_eq!(handed.find("api_key").is_some(), expected, "{content:?}");
        }
        assert_eq!(handed.find("client_secret"), None);
    }

    #[test]
    fn an_encrypted_credential_is_decrypted_under_its_name() {
        let root = tempfile::tempdir().unwrap();
        let credentials = store(root.path(), "rosterd.");
        let path = root.path().join("secret");
        fs::write(&path, "sealed").unwrap();
        let decrypted = |script: &str| {
            let program = root.path().join("systemd-creds");
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
            credentials.decrypt(&path, "api_key").map(|secret| secret.expose_secret().to_owned())
        };
        assert_eq!(decrypted("echo \"$1 $2 $(cat $3) $4\"").as_deref(), Ok("decrypt --name=api_key sealed -"));
        let error = decrypted("echo one >&2; echo 'the key is another' >&2; exit 1").unwrap_err();
        assert_eq!(error, "can't be decrypted: the key is another");
    }

    #[test]
    fn what_is_looked_for_in_the_store_is_what_the_units_take_from_it() {
        for (unit, prefix) in [
            (include_str!("../../systemd/rosterd.service"), "rosterd."),
            (include_str!("../../systemd/rosterd@.service"), "rosterd.%i."),
        ] {
            let taken: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix("LoadCredential=")).collect();
            let expected: Vec<String> = TAKEN.iter().map(|name| format!("{name}:{prefix}{name}")).collect();
            assert_eq!(taken, expected);
            let set: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix("SetCredential=")).collect();
            assert_eq!(set, TAKEN.map(|name| format!("{name}:\\n")));
        }
        let accounts = include_str!("../../systemd/rosterd-accounts.service");
        let taken: Vec<&str> = accounts.lines().filter_map(|line| line.strip_prefix("LoadCredential=")).collect();
        assert_eq!(taken, [format!("{}:{}/{ACCOUNTS}", ACCOUNTS_PREFIX.trim_end_matches('_'), STORE[0])]);
    }
}
