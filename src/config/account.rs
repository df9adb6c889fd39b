//! The account that works on a state.
//!
//! Root's commands become that account before they touch the state, so it is never taken from what lies on disk: a user
//! who may write there would decide what root does. It is the one that the configuration names. Where it names none,
//! the package's configurations and states belong to the package's account.

use std::path::Path;

use super::standard::{ACCOUNTS_DIR, CONFIG_DIR, STATE_DIR};

/// The package's account.
const PACKAGED: &str = "rosterd";

/// The account that works on a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name or number.
    pub user: String,
    /// Whether the configuration names it; the package's may not be there.
    pub is_named: bool,
}

impl Account {
    /// The account for a state: `given` by the configuration, or the package's. `None` means the user who runs the
    /// program.
    pub fn of(given: Option<&str>, config: &Path, state_dir: Option<&Path>) -> Option<Self> {
        if let Some(user) = given.map(str::trim).filter(|user| !user.is_empty()) {
            return Some(Self { user: user.to_owned(), is_named: true });
        }
        let folder = config.parent();
        let is_packaged = [CONFIG_DIR, ACCOUNTS_DIR].iter().any(|packaged| folder == Some(Path::new(packaged)))
            || state_dir.is_some_and(|dir| dir.components().as_path().starts_with(STATE_DIR));
        is_packaged.then(|| Self { user: PACKAGED.to_owned(), is_named: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_comes_from_the_configuration_or_is_that_of_the_package() {
        for (given, config, dir, expected) in [
            (Some("hr"), "/etc/rosterd/config.toml", "/var/lib/rosterd", Some(("hr", true))),
            (Some("root"), "/etc/rosterd/config.toml", "/var/lib/rosterd", Some(("root", true))),
            (None, "/etc/rosterd/config.toml", "/srv/state", Some(("rosterd", false))),
            (Some(" "), "/etc/rosterd/north.toml", "/srv/state", Some(("rosterd", false))),
            (None, "/etc/rosterd/accounts/north.toml", "/srv/state", Some(("rosterd", false))),
            (None, "/root/try.toml", "/var/lib/rosterd/north", Some(("rosterd", false))),
            (None, "/root/try.toml", "/var/lib/./rosterd//", Some(("rosterd", false))),
            (None, "/root/try.toml", "/root/state", None),
            (None, "/etc/rosterd/old/config.toml", "/var/lib/rosterd-old", None),
        ] {
            let found = Account::of(given, Path::new(config), Some(Path::new(dir)));
            let expected = expected.map(|(user, is_named)| Account { user: user.to_owned(), is_named });
            assert_eq!(found, expected, "{given:?} {config} {dir}");
        }
    }
}
