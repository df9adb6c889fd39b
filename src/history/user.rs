//! Who decides.

use std::fs;
use std::sync::OnceLock;

/// The user of this machine on whose behalf the program runs: by name where it has one, and with the user who called
/// `sudo`, where one did. It names who used the program in good faith; it is no proof against who did not. It stays whoever
/// first asked, also where the process becomes another user later.
pub fn acting_user() -> String {
    static USER: OnceLock<String> = OnceLock::new();
    let user = USER.get_or_init(|| {
        let uid = rustix::process::getuid().as_raw();
        let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
        named(uid, &accounts, std::env::var("SUDO_USER").ok().as_deref())
    });
    user.clone()
}

fn named(uid: u32, accounts: &str, caller: Option<&str>) -> String {
    let name = accounts.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    });
    let name = name.unwrap_or_else(|| format!("uid {uid}"));
    match caller.filter(|caller| !caller.is_empty() && *caller != name) {
        Some(caller) => format!("{name} (sudo by {caller})"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
