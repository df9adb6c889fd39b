//! Drops root's privileges: commands of root run as the account of the state.
//!
//! An administrator who types `rosterd status` is root, and what root wrote into the state folder the daemon could not use.
//! So root reads the configuration and its secrets, and then becomes the account that the configuration says works on the
//! state: for good, and before anything of it is touched. What that account may not read is refused here as well.
//!
//! Where there is no such account, root works on a state of its own, and only where no other user could have changed
//! anything.
//!
//! Rejected: to become the owner of the folder. Its owner could have root make, open and close files at a place of
//! theirs; and to hand files over afterwards: a command that dies half way would leave some of them root's.

use std::ffi::CString;
use std::io;

use nix::unistd::{Uid, User, geteuid, initgroups, setgid, setuid};

use crate::cli::ui::{Failure, Message};
use crate::config::{Account, Config, StateOptions};
use crate::history::acting_user;
use crate::secret::Unusable;

/// Becomes the state's account, where this is root and that another.
pub(crate) fn become_owner(config: &mut Config) -> Result<(), Failure> {
    hold_secrets(config).map_err(|unusable| {
        Failure::usage(Message(format!("the secret in {} {}", unusable.path.display(), unusable.problem)))
    })?;
    become_owner_of(&config.state)
}

/// Asks who decides, and reads the secrets of a configuration, while that can be done; nothing where this stays who it is.
pub(crate) fn hold_secrets(config: &mut Config) -> Result<(), Unusable> {
    if matches!(other(&config.state), Ok(Some(_))) {
        acting_user();
        config.hold_secrets()?;
    }
    Ok(())
}

/// The same for a configuration that can't be used.
pub(crate) fn become_owner_of(state: &StateOptions) -> Result<(), Failure> {
    other(state)?.map_or(Ok(()), |user| become_user(&user))
}

/// The number of the account that the daemon has, as far as the configuration says and this machine knows it.
pub(crate) fn number_of(account: &Account) -> Option<u32> {
    user_of(account).ok().flatten().map(|user| user.uid.as_raw())
}

/// The user that root becomes; `None` if this is not root, or if root works on a state of its own.
fn other(state: &StateOptions) -> Result<Option<User>, Failure> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let user = match &state.account {
        None => None,
        Some(account) => match (user_of(account), account.is_named) {
            (Ok(Some(user)), _) => Some(user),
            (Ok(None), false) => None,
            (Ok(None), true) => {
                let words = Message(format!("state.user: this machine has no account {:?}", account.user));
                return Err(Failure::usage(words).hint("name the account that the daemon has"));
            }
            (Err(error), _) => {
                return Err(Failure::failed(Message(format!(
                    "the account {:?} can't be looked up: {error}",
                    account.user
                ))));
            }
        },
    };
    match user {
        Some(user) if !user.uid.is_root() => Ok(Some(user)),
        _ => {
            state.home.check()?;
            Ok(None)
        }
    }
}

fn user_of(account: &Account) -> nix::Result<Option<User>> {
    match account.user.parse() {
        Ok(number) => User::from_uid(Uid::from_raw(number)),
        Err(_) => User::from_name(&account.user),
    }
}

fn become_user(user: &User) -> Result<(), Failure> {
    let become_it = || -> io::Result<()> {
        let name = CString::new(user.name.as_str()).map_err(io::Error::other)?;
        initgroups(&name, user.gid)?;
        setgid(user.gid)?;
        Ok(setuid(user.uid)?)
    };
    become_it().map_err(|error| {
        Failure::usage(Message(format!("root can't become {}, whose the state is: {error}", user.name)))
            .hint("run the command as that user")
    })
}
