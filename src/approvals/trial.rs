//! What can be tried of the pages without a person: for `rosterd check`.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use nix::unistd::{Group, User};

use super::provider::Provider;
use super::socket::account;
use crate::config::{Approvals, Login};
use crate::fault::chain;

/// Tries whatever can be; each with what was seen, or what is wrong.
pub async fn trials(approvals: &Approvals, online: bool) -> Vec<Result<String, String>> {
    let rules = match approvals.rules.len() {
        1 => "1 rule".to_owned(),
        many => format!("{many} rules"),
    };
    let mut trials = vec![Ok(format!("people decide at {} ({rules})", approvals.url))];
    match &approvals.login {
        Login::Provider(options) => {
            let callback = approvals.callback();
            let provider = Provider::new(options, callback.clone());
            trials.push(match (provider, online) {
                (Err(reason), _) => Err(reason),
                (Ok(_), false) => {
                    Ok(format!("{} was not asked; it has to know {callback} as redirect address", options.issuer))
                }
                (Ok(provider), true) => match provider.keys(Duration::ZERO).await {
                    Ok(_) => Ok(format!(
                        "{} describes itself and shows its keys; register {callback} as redirect address there",
                        options.issuer
                    )),
                    Err(error) => Err(chain(&error)),
                },
            });
        }
        Login::Proxy(proxy) => {
            let reached = account(&proxy.account).and_then(|_| reachable(&proxy.socket, &proxy.account));
            trials.push(reached.map(|()| format!("{} is for {} alone", proxy.socket.display(), proxy.account)));
        }
    }
    trials
}

/// Whether an account can pass through the folders of a socket. One that is not there yet is made when the daemon starts.
fn reachable(socket: &Path, name: &str) -> Result<(), String> {
    let Ok(Some(user)) = User::from_name(name) else { return Ok(()) };
    let mut folders: Vec<&Path> = socket.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()).collect();
    folders.reverse();
    for folder in folders {
        let Ok(found) = folder.metadata() else {
            return match folder.parent().filter(|parent| parent.exists()) {
                Some(_) => Ok(()),
                None => Err(format!("there is no folder {}", folder.display())),
            };
        };
        let is_member = || {
            let group = Group::from_gid(nix::unistd::Gid::from_raw(found.gid())).ok().flatten();
            user.gid.as_raw() == found.gid() || group.is_some_and(|group| group.mem.iter().any(|member| member == name))
        };
        let bit = match () {
            () if user.uid.is_root() => 0,
            () if found.uid() == user.uid.as_raw() => 0o100,
            () if is_member() => 0o010,
            () => 0o001,
        };
        if found.mode() & bit != bit {
            return Err(format!(
                "{name} can't pass through {} (mode {:04o}): put the socket into a folder that others may enter",
                folder.display(),
                found.mode() & 0o7777
            ));
        }
    }
    Ok(())
}
