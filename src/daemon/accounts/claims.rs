//! What only one account of a process may have.
//!
//! The lock of a state folder keeps two processes apart, and accounts of one process it would keep apart too; but what it
//! says then is that the folder is in use by this very process. So who has what is written down here, and a second account
//! learns which one has it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::Client;
use crate::config::{Config, Login};
use crate::store::Home;

/// Something that one account has for itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::daemon) enum Claim {
    /// Its state.
    State(String),
    /// Its control socket.
    Socket(PathBuf),
    /// What it is at the service: the address, and what tells credentials apart without saying them.
    Credential(String, String),
    /// A folder into which files are dropped.
    Inbox(PathBuf),
    /// Where people decide.
    Approvals(String),
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State(place) => write!(f, "the state in {place}"),
            Self::Socket(path) => write!(f, "the control socket {}", path.display()),
            Self::Credential(url, _) => write!(f, "the same credential for {url}"),
            Self::Inbox(dir) => write!(f, "the inbox {}", dir.display()),
            Self::Approvals(place) => write!(f, "the place {place} of the pages for decisions"),
        }
    }
}

/// Another account has it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("account {other} has {claim} already, and account {owner} can't have it too")]
pub struct Conflict {
    /// Who wants it.
    pub(in crate::daemon) owner: String,
    /// Who has it.
    pub(in crate::daemon) other: String,
    pub(in crate::daemon) claim: Claim,
}

/// What to do about an account that has what is another's.
pub const CONFLICT_HINT: &str =
    "give it a credential, a state and folders of its own; where it is the same account, give its file the same name";

/// Who has what.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Claims {
    /// By owner, and how many times it took it.
    taken: Mutex<BTreeMap<Claim, (String, usize)>>,
}

/// What was taken; it is free again when this is dropped.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Held {
    claims: Arc<Claims>,
    taken: Vec<Claim>,
}

impl Claims {
    /// Takes all of it, or nothing where another account has some of it.
    pub(in crate::daemon) fn take(self: &Arc<Self>, owner: &str, wanted: Vec<Claim>) -> Result<Held, Conflict> {
        let mut taken = self.lock();
        for claim in &wanted {
            if let Some((other, _)) = taken.get(claim).filter(|(other, _)| other != owner) {
                return Err(Conflict { owner: owner.to_owned(), other: other.clone(), claim: claim.clone() });
            }
        }
        for claim in &wanted {
            taken.entry(claim.clone()).or_insert_with(|| (owner.to_owned(), 0)).1 += 1;
        }
        Ok(Held { claims: Arc::clone(self), taken: wanted })
    }

    /// Whether an account other than this one has that state.
    pub(in crate::daemon) fn is_another_s_state(&self, owner: &str, home: &Home) -> bool {
        self.lock().get(&state_of(home)).is_some_and(|(other, _)| other != owner)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Claim, (String, usize)>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut taken = self.claims.lock();
        for claim in &self.taken {
            let Some((_, times)) = taken.get_mut(claim) else { continue };
            *times -= 1;
            if *times == 0 {
                taken.remove(claim);
            }
        }
    }
}

/// What an account with this configuration has for itself, save what it asks of the service.
pub(in crate::daemon) fn places_of(config: &Config) -> Vec<Claim> {
    let socket = config.control.socket.iter().map(|path| socket_of(path));
    let inboxes = config.jobs.iter().filter_map(|job| Some(Claim::Inbox(real(&job.inbox.as_ref()?.dir))));
    let mut all: Vec<Claim> = std::iter::once(state_of(&config.state.home)).chain(socket).chain(inboxes).collect();
    // One job after the other may read one folder.
    all.dedup();
    all
}

/// The state of an account.
fn state_of(home: &Home) -> Claim {
    Claim::State(home.folder().map_or_else(|| home.to_string(), |dir| real(dir).display().to_string()))
}

/// The socket of an account.
pub(in crate::daemon) fn socket_of(path: &Path) -> Claim {
    Claim::Socket(real(path))
}

/// What an account is at the service.
pub(in crate::daemon) fn credential_of(config: &Config, client: &Client) -> Claim {
    let url = config.api.base_url.trim_end_matches('/').to_owned();
    Claim::Credential(url.clone(), client.identity(url.as_bytes()))
}

/// The same with its further credentials.
pub(in crate::daemon) fn credentials_of(config: &Config, client: &Client) -> Vec<Claim> {
    let all = std::iter::once(client.clone()).chain(client.further());
    all.map(|client| credential_of(config, &client)).collect()
}

/// Where the people of an account decide.
pub(in crate::daemon) fn approvals_of(login: &Login) -> Claim {
    match login {
        Login::Provider(provider) => Claim::Approvals(provider.listen.to_string()),
        Login::Proxy(proxy) => Claim::Approvals(real(&proxy.socket).display().to_string()),
    }
}

/// A path as it is compared: by the folder in which it lies where it is not there itself.
fn real(path: &Path) -> PathBuf {
    let folder = || Some(std::fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    std::fs::canonicalize(path).ok().or_else(folder).unwrap_or_else(|| path.components().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_account_has_no_other_gets_until_it_is_free() {
        let claims = Arc::new(Claims::default());
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("state")).unwrap();
        std::os::unix::fs::symlink("state", dir.path().join("link")).unwrap();
        let state = |name: &str| state_of(&Home::Folder(dir.path().join(name)));
        let socket = |name: &str| Claim::Socket(real(&dir.path().join(name)));
        let north = claims.take("north", vec![state("state"), socket("s")]).unwrap();
        let conflict = claims.take("south", vec![socket("t"), state("link")]).unwrap_err();
        assert!(conflict.to_string().starts_with("account north has the state in "), "{conflict}");
        assert!(conflict.to_string().ends_with(" already, and account south can't have it too"), "{conflict}");
        let south = claims.take("south", vec![socket("t")]).unwrap();
        assert!(claims.is_another_s_state("south", &Home::Folder(dir.path().join("state"))));
        // A new configuration is taken beside the one before.
        let again = claims.take("north", vec![state("state"), socket("u")]).unwrap();
        drop(north);
        assert!(claims.take("south", vec![state("state")]).is_err());
        claims.take("south", vec![socket("s")]).unwrap();
        drop((again, south));
        assert!(claims.lock().is_empty());
    }
}
