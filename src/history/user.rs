//! The user who makes a decision.

use std::fs;
use std::sync::OnceLock;

tokio::task_local! {
    /// The user on whose behalf the present work is done, if that is not the user of this process.
    static ACTING: Acting;
}

/// Who asked for something, and by which way where it was not a command.
#[derive(Clone)]
struct Acting {
    user: String,
    via: Option<&'static str>,
}

/// The way of a decision that was made in a browser.
const PAGE: &str = "page";

/// What this machine is called among those that share a state; not set where none does.
static NODE: OnceLock<String> = OnceLock::new();

/// The user of this machine on whose behalf the program runs: by name where it has one, and with the user who called
/// `sudo`, where one did. It names who used the program in good faith; it is no proof against who did not. It stays the
/// user of the first call, even if the process becomes another user later. Where several machines share a state, that user
/// is named with this machine, as `USER@NODE`.
pub fn acting_user() -> String {
    static USER: OnceLock<String> = OnceLock::new();
    let own = || user_named(rustix::process::getuid().as_raw(), std::env::var("SUDO_USER").ok().as_deref());
    let named = || match NODE.get() {
        Some(node) => user_at(USER.get_or_init(own), node),
        None => USER.get_or_init(own).clone(),
    };
    ACTING.try_with(|acting| acting.user.clone()).unwrap_or_else(|_| named())
}

/// From now on [`acting_user`] names the user of this process with this machine.
pub fn set_node(node: &str) {
    NODE.get_or_init(|| node.to_owned());
}

/// A user of one of several machines.
pub fn user_at(user: &str, node: &str) -> String {
    format!("{user}@{node}")
}

/// Does `work` for another user than that of this process: one who asked for it over a socket. Decisions are taken deep
/// inside runs; that every step on the way there hands a name on would hide what the steps are about.
pub async fn on_behalf_of<T>(user: String, work: impl Future<Output = T>) -> T {
    ACTING.scope(Acting { user, via: None }, work).await
}

/// Does `work` for a person who asked for it on a page.
pub fn on_page_for<T>(user: String, work: impl FnOnce() -> T) -> T {
    ACTING.sync_scope(Acting { user, via: Some(PAGE) }, work)
}

/// The way by which the present work was asked for; `None` for a command.
pub(super) fn acting_via() -> Option<String> {
    ACTING.try_with(|acting| acting.via.map(str::to_owned)).ok().flatten()
}

/// A user of this machine by name, where there is one, with the user who called `sudo`, where it is said that one did.
pub fn user_named(uid: u32, sudo: Option<&str>) -> String {
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    named(uid, &accounts, sudo)
}

/// The name of a user of this machine.
pub fn user_of(uid: u32) -> Option<String> {
    name_of(uid, &fs::read_to_string("/etc/passwd").unwrap_or_default())
}

fn name_of(uid: u32, accounts: &str) -> Option<String> {
    accounts.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

fn named(uid: u32, accounts: &str, caller: Option<&str>) -> String {
    let name = name_of(uid, accounts).unwrap_or_else(|| format!("uid {uid}"));
    match caller.filter(|caller| !caller.is_empty() && *caller != name) {
        Some(caller) => format!("{name} (sudo by {caller})"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_done_for_another_is_recorded_under_their_name() {
        assert_eq!(on_behalf_of("ana".to_owned(), async { acting_user() }).await, "ana");
        let decided = on_page_for("ana".to_owned(), || (acting_user(), acting_via()));
        assert_eq!(decided, ("ana".to_owned(), Some("page".to_owned())));
        assert_eq!(acting_via(), None);
        assert_eq!(
            acting_user(),
            user_named(rustix::process::getuid().as_raw(), std::env::var("SUDO_USER").ok().as_deref())
        );
    }

    #[test]
    fn a_user_is_named_and_so_is_who_called_sudo() {
        let accounts = "root:x:0:0:root:/root:/bin/sh\nrosterd:x:998:998::/:/usr/sbin/nologin\n";
        for (uid, caller, expected) in [
            (998, None, "rosterd"),
            (998, Some("ana"), "rosterd (sudo by ana)"),
            (0, Some("root"), "root"),
            (0, Some(""), "root"),
            (1234, None, "uid 1234"),
        ] {
            assert_eq!(named(uid, accounts, caller), expected);
        }
    }
}
