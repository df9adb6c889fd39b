//! Root works as the state's owner.
//!
//! An administrator who types `rosterd status` is root, and what root wrote into the state folder the daemon could not use.
//! So root reads the configuration and its secrets, and then becomes the account to which the folder belongs: for good, and
//! before anything is written. What the daemon may not read is refused here as well.
//!
//! Rejected: to hand files over afterwards. A command that dies half way would leave some of them root's.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use nix::unistd::{Gid, Uid, User, geteuid, initgroups, setgid, setgroups, setuid};

use super::failure::{Failure, Words};
use crate::config::Config;
use crate::history::acting_user;

/// Becomes the owner of the state folder, where this is root and the folder is there and another's.
pub(super) fn become_owner(config: &mut Config) -> Result<(), Failure> {
    let dir = config.state.dir.clone();
    let Ok(found) = fs::metadata(&dir) else { return Ok(()) };
    if !geteuid().is_root() || found.uid() == 0 || !found.is_dir() {
        return Ok(());
    }
    // Who decides is asked, and secrets are read, while it can be done.
    acting_user();
    config.hold_secrets().map_err(|unusable| {
        Failure::usage(Words(format!("the secret in {} {}", unusable.path.display(), unusable.problem)))
    })?;
    become_account(Uid::from_raw(found.uid()), Gid::from_raw(found.gid())).map_err(|error| {
        let (dir, uid) = (dir.display(), found.uid());
        Failure::usage(Words(format!("state folder {dir}: root can't become user {uid}, to whom it belongs: {error}")))
            .hint("run the command as that user")
    })
}

fn become_account(uid: Uid, group: Gid) -> io::Result<()> {
    match User::from_uid(uid)? {
        Some(user) => {
            let name = CString::new(user.name).map_err(io::Error::other)?;
            initgroups(&name, user.gid)?;
            setgid(user.gid)?;
        }
        None => {
            setgroups(&[])?;
            setgid(group)?;
        }
    }
    Ok(setuid(uid)?)
}
