//! Who may change what lies in an inbox.
//!
//! People who drop files need to write into the inbox, and nowhere else. So the best mode of an inbox is 3770: a
//! dropped file gets its group (setgid), and people can't rename or remove files of others (sticky), `processed/` and
//! `failed/` included. Those two have mode 2750: filed files can be read there, and only rosterd changes them.

use std::io;
use std::os::fd::AsFd;

use nix::unistd::Group;
use rustix::fs::{Access, Gid, Mode, access, fchmod, fstat};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid, getgroups};

use super::destination::Destination;
use super::filing::SETGID;
use super::folder::Folder;

/// The bits of a folder by which others than its owner may change what lies in it.
const WRITE: u32 = 0o022;
/// The bit of a folder whose files only their owners may rename.
const STICKY: u32 = 0o1000;

impl Folder {
    /// Makes both folders where they are missing, and closes them and the inbox to those who need not change them.
    pub fn lay_down(&self) -> io::Result<()> {
        Destination::ALL.iter().try_for_each(|shelf| self.shelf(*shelf).map(drop))?;
        self.close()
    }

    /// Removes the access of others to this process's own folders, as far as it may; [`Self::open_to_others`] names
    /// what stays open.
    fn close(&self) -> io::Result<()> {
        for shelf in Destination::ALL {
            let dir = self.shelf(shelf)?;
            let mode = mode_of_own(&dir)?.filter(|mode| mode & WRITE != 0);
            // A service may be kept from setting this bit; a folder for what is done can do without.
            mode.map_or(Ok(()), |mode| change(&dir, &[mode & !WRITE, mode & !WRITE & !SETGID]))?;
        }
        let mode = mode_of_own(self)?.filter(|mode| mode & WRITE != 0 && mode & STICKY == 0);
        mode.map_or(Ok(()), |mode| change(self, &[mode | STICKY]))
    }

    /// Which of its folders others may change more of than they need to, and the mode that mends it.
    pub fn open_to_others(&self) -> Vec<String> {
        let mode = |dir: &dyn AsFd| fstat(dir.as_fd()).map_or(0, |stat| stat.st_mode);
        let path = self.path().display();
        let mut open = Vec::new();
        let own = mode(self);
        if own & WRITE != 0 && own & STICKY == 0 {
            open.push(format!(
                "who may drop files in {path} may also rename and remove what others dropped and what is filed there; \
                 let it belong to rosterd's account, and `chmod 3770 {path}`"
            ));
        }
        for shelf in Destination::ALL {
            let is_open = self.existing(shelf).is_ok_and(|dir| mode(&dir) & WRITE != 0);
            if is_open {
                let name = shelf.name();
                open.push(format!(
                    "others than rosterd may change what is filed in {path}/{name}; `chmod 2750 {path}/{name}`"
                ));
            }
        }
        open
    }
}

impl Folder {
    /// Whether this process may not change what lies in it: no file can be filed then, and no one gets a report.
    pub fn is_closed_to_own_account(&self) -> bool {
        access(self.path(), Access::WRITE_OK | Access::EXEC_OK).is_err()
    }

    /// The group that uses it, where this process is not in it: what only that group may read is refused, and it may not read the
    /// reports.
    pub fn strange_group(&self) -> Option<String> {
        let stat = fstat(self).ok()?;
        let is_for_group = stat.st_mode & 0o070 != 0 && !geteuid().is_root();
        let group = Gid::from_raw(stat.st_gid);
        let is_own = getegid() == group || getgroups().is_ok_and(|groups| groups.contains(&group));
        let name = || Group::from_gid(group.as_raw().into()).ok().flatten();
        (is_for_group && !is_own).then(|| name().map_or_else(|| group.as_raw().to_string(), |group| group.name))
    }
}

/// The mode of a folder that belongs to the account of this process.
fn mode_of_own(dir: &impl AsFd) -> io::Result<Option<u32>> {
    let stat = fstat(dir)?;
    Ok((stat.st_uid == geteuid().as_raw()).then_some(stat.st_mode & 0o7777))
}

/// Sets the first of these modes that this process may set; none on shares that have permissions of their own.
fn change(dir: &impl AsFd, modes: &[u32]) -> io::Result<()> {
    for mode in modes {
        match fchmod(dir, Mode::from_raw_mode(*mode)) {
            Err(Errno::PERM | Errno::NOTSUP) => {}
            set => return Ok(set?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_its_owner_changes_what_is_filed() {
        for (before, after, expected) in [
            (0o2770, [0o3770, 0o2750, 0o2750], 1),
            (0o3770, [0o3770, 0o2750, 0o2750], 0),
            (0o770, [0o1770, 0o750, 0o750], 1),
            (0o2777, [0o3777, 0o2750, 0o2750], 1),
            (0o750, [0o750, 0o750, 0o750], 0),
            (0o700, [0o700, 0o700, 0o700], 0),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let place = |name: &str| dir.path().join(name);
            let mode = |name: &str| fs::metadata(place(name)).unwrap().permissions().mode() & 0o7777;
            let set =
                |name: &str, mode: u32| fs::set_permissions(place(name), fs::Permissions::from_mode(mode)).unwrap();
            set("", before);
            let folder = Folder::open(dir.path()).unwrap();
            assert_eq!(folder.open_to_others().len(), expected, "{before:o}");
            folder.lay_down().unwrap();
            let modes = || ["", "processed", "failed"].map(mode);
            assert_eq!(modes(), after, "made from {before:o}");
            assert_eq!(folder.open_to_others(), [] as [String; 0], "{before:o}");
            set("processed", 0o2770);
            set("failed", 0o777);
            assert_eq!(folder.open_to_others().len(), 2, "{before:o}");
            folder.lay_down().unwrap();
            assert_eq!(modes()[1..], [0o2750, 0o755], "kept from {before:o}");
        }
    }
}
