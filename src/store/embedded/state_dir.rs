//! The state folder: made, checked and held open, so that it stays the one that was checked.
//!
//! What this process writes there is written with its rights. Any other user's folder is refused. For root that is not
//! enough: who may write to a folder above could put a link to one of root's own in its place. So root goes down from
//! `/` one folder at a time, without following links, and only through folders that no other user may change. Links
//! that root made there itself lead on.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, accessat, mkdirat, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::store::{Error, ErrorKind};

/// Links that are followed before there is no end to them.
const LINKS_MAX: usize = 40;
const GROUP_AND_OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;
/// Who may write may not replace what belongs to others.
const STICKY: u32 = 0o1000;

/// What an error calls a state folder.
pub(in crate::store) fn place(dir: &Path) -> String {
    format!("state folder {}", dir.display())
}

/// The state folder, open.
#[derive(Debug)]
pub(super) struct StateDir {
    path: PathBuf,
    open: File,
}

/// Makes the state folder where there is none; one that is there must be this user's, and is closed to others (law 11).
pub(in crate::store) fn create_state_dir(dir: &Path) -> Result<(), Error> {
    StateDir::create(dir).map(drop)
}

/// Whether this user may work on the state folder, as far as it is there. Changes nothing.
pub(in crate::store) fn check_state_dir(dir: &Path) -> Result<(), Error> {
    let looked = if is_root() { as_root(dir, false).map(drop) } else { seen_by_user(dir) };
    match looked {
        Err(ErrorKind::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        looked => looked.map_err(|kind| Error { place: place(dir), kind }),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl StateDir {
    pub(super) fn create(dir: &Path) -> Result<Self, Error> {
        let opened = if is_root() { as_root(dir, true) } else { as_user(dir) };
        let closed = opened.and_then(|open| {
            let found = open.metadata().map_err(ErrorKind::from_io)?;
            if found.uid() != rustix::process::geteuid().as_raw() {
                return Err(ErrorKind::Owner { uid: found.uid() });
            }
            if found.mode() & GROUP_AND_OTHERS != 0 {
                open.set_permissions(Permissions::from_mode(0o700)).map_err(ErrorKind::from_io)?;
            }
            Ok(open)
        });
        match closed {
            Ok(open) => Ok(Self { path: dir.to_owned(), open }),
            Err(kind) => Err(Error { place: place(dir), kind }),
        }
    }

    /// Takes the lock and writes this process's number into it.
    pub(super) fn lock(&self) -> Result<Arc<FolderLock>, Error> {
        let fail = |error: io::Error| Error { place: place(&self.path), kind: ErrorKind::from_io(error) };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = openat(&self.open, "lock", flags, Mode::RUSR | Mode::WUSR);
        let mut file = File::from(opened.map_err(|error| fail(error.into()))?);
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let kind = ErrorKind::InUse { holder: holder.trim().parse().ok() };
                return Err(Error { place: place(&self.path), kind });
            }
            Err(fs::TryLockError::Error(error)) => return Err(fail(error)),
        }
        match file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(ErrorKind::from_io) {
            // The lock holds without the number too, and what is kept in reserve is given up only behind it.
            Ok(()) | Err(ErrorKind::Full) => Ok(Arc::new(FolderLock(file))),
            Err(kind) => Err(Error { place: place(&self.path), kind }),
        }
    }
}

/// Whether a process has the store of a folder now. For a moment this one keeps others out, so it is asked seldom.
pub(in crate::store) fn is_locked(dir: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat(CWD, dir.join("lock"), flags, Mode::empty()).map(File::from);
    opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

/// Keeps other processes from the store of a folder.
#[derive(Debug)]
pub(in crate::store) struct FolderLock(File);

impl Drop for FolderLock {
    /// A process that this one is just starting has the file too, for a moment: closing it here would not let it go.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Follows links: this user reaches nothing by them that it may not change anyway.
fn as_user(dir: &Path) -> Result<File, ErrorKind> {
    if fs::metadata(dir).is_ok_and(|found| !found.is_dir()) {
        return Err(ErrorKind::NoFolder);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir).and_then(|()| File::open(dir)).map_err(ErrorKind::from_io)
}

/// What a command of this user would meet. Makes nothing.
fn seen_by_user(dir: &Path) -> Result<(), ErrorKind> {
    let may = |dir: &Path, rights: Access| {
        accessat(CWD, dir, rights, AtFlags::EACCESS).map_err(|error| ErrorKind::from_io(error.into()))
    };
    match fs::metadata(dir) {
        Ok(found) if !found.is_dir() => Err(ErrorKind::NoFolder),
        Ok(found) if found.uid() != rustix::process::geteuid().as_raw() => Err(ErrorKind::Owner { uid: found.uid() }),
        Ok(_) => may(dir, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let dir = std::path::absolute(dir).map_err(ErrorKind::from_io)?;
            // The folder in which it will be made.
            let above = dir.ancestors().find(|above| above.exists());
            above.map_or(Ok(()), |above| may(above, Access::WRITE_OK | Access::EXEC_OK))
        }
        Err(error) => Err(ErrorKind::from_io(error)),
    }
}

/// A folder that only root may change, with all above it.
fn as_root(dir: &Path, make: bool) -> Result<File, ErrorKind> {
    let dir = std::path::absolute(dir).map_err(ErrorKind::from_io)?;
    let mut at = WalkedFolder::root()?;
    let mut names: VecDeque<OsString> = names(&dir).collect();
    let mut turns = 0;
    while let Some(name) = names.pop_front() {
        match at.enter(&name) {
            Ok(next) => at = next?,
            Err(Errno::NOENT) if make && turns < LINKS_MAX => {
                turns += 1;
                match mkdirat(&at.open, &name, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => names.push_front(name),
                    Err(error) => return Err(ErrorKind::from_io(error.into())),
                }
            }
            Err(Errno::LOOP | Errno::NOTDIR) if turns < LINKS_MAX => {
                turns += 1;
                let target = at.link(&name)?;
                if target.is_absolute() {
                    at = WalkedFolder::root()?;
                }
                self::names(&target).collect::<Vec<_>>().into_iter().rev().for_each(|name| names.push_front(name));
            }
            Err(error) => return Err(ErrorKind::from_io(error.into())),
        }
    }
    let found = rustix::fs::fstat(&at.open).map_err(|error| ErrorKind::from_io(error.into()))?;
    // A folder such as /tmp is fit to hold one for the state, not to be it.
    if found.st_mode & OTHERS_WRITE != 0 {
        return Err(ErrorKind::Exposed { path: at.path, uid: None });
    }
    Ok(File::from(at.open))
}

/// The names on a way; `..` leads up from where the folders before it led.
fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
}

/// A folder on the way, which only root may change.
struct WalkedFolder {
    open: OwnedFd,
    path: PathBuf,
}

impl WalkedFolder {
    const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    fn root() -> Result<Self, ErrorKind> {
        let open =
            rustix::fs::open("/", Self::FLAGS, Mode::empty()).map_err(|error| ErrorKind::from_io(error.into()))?;
        Self { open, path: "/".into() }.checked()
    }

    /// The folder of that name in this one. The outer error says that it can't be opened.
    fn enter(&self, name: &OsString) -> Result<Result<Self, ErrorKind>, Errno> {
        let open = openat(&self.open, name, Self::FLAGS, Mode::empty())?;
        Ok(Self { open, path: self.path.join(name) }.checked())
    }

    fn checked(self) -> Result<Self, ErrorKind> {
        let found = rustix::fs::fstat(&self.open).map_err(|error| ErrorKind::from_io(error.into()))?;
        if found.st_uid != 0 {
            return Err(ErrorKind::Exposed { path: self.path, uid: Some(found.st_uid) });
        }
        if found.st_mode & OTHERS_WRITE != 0 && found.st_mode & STICKY == 0 {
            return Err(ErrorKind::Exposed { path: self.path, uid: None });
        }
        Ok(self)
    }

    /// Where a link of root's leads.
    fn link(&self, name: &OsString) -> Result<PathBuf, ErrorKind> {
        let fail = |error: Errno| ErrorKind::from_io(error.into());
        let found = statat(&self.open, name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
            return Err(ErrorKind::NoFolder);
        }
        if found.st_uid != 0 {
            return Err(ErrorKind::Exposed { path: self.path.join(name), uid: Some(found.st_uid) });
        }
        let target = readlinkat(&self.open, name, Vec::new()).map_err(fail)?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    const OTHER: u32 = 65_534;

    /// The contents of a folder: mode, owner and names, at any depth.
    fn picture(path: &Path) -> Vec<(PathBuf, u32, u32)> {
        let found = fs::symlink_metadata(path).unwrap();
        let mut all = vec![(path.to_owned(), found.mode(), found.uid())];
        if found.is_dir() {
            let mut below: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
            below.sort();
            all.extend(below.iter().flat_map(|path| picture(path)));
        }
        all
    }

    #[test]
    fn a_lock_that_is_no_file_of_the_folder_holds_nothing_up_and_says_nothing() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for name in ["held", "linked", "pipe", "free"] {
            fs::create_dir(at(name)).unwrap();
        }
        let held = File::create(at("held/lock")).unwrap();
        held.lock().unwrap();
        symlink(at("held/lock"), at("linked/lock")).unwrap();
        rustix::fs::mkfifoat(CWD, at("pipe/lock"), Mode::RUSR).unwrap();
        File::create(at("free/lock")).unwrap();
        for (name, expected) in [("held", true), ("linked", false), ("pipe", false), ("free", false), ("none", false)] {
            assert_eq!(is_locked(&at(name)), expected, "{name}");
        }
    }

    #[test]
    fn a_command_of_another_user_is_told_what_it_would_meet() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("own")).unwrap();
        fs::write(at("file"), "").unwrap();
        let mut cases = vec![
            (at("own"), None),
            (at("own/new/newer"), None),
            (at("file"), Some("NoFolder")),
            (at("file/below"), Some("Io")),
        ];
        if is_root() {
            fs::create_dir(at("theirs")).unwrap();
            chown(at("theirs"), Some(OTHER), Some(OTHER)).unwrap();
            cases.push((at("theirs"), Some("Owner")));
        }
        for (path, expected) in cases {
            let found = seen_by_user(&path).err().map(|kind| format!("{kind:?}"));
            assert_eq!(found.is_some(), expected.is_some(), "{path:?} {found:?}");
            assert!(found.is_none_or(|kind| kind.starts_with(expected.unwrap_or_default())), "{path:?}");
        }
    }

    #[test]
    fn root_touches_nothing_where_another_user_could_have_put_a_link() {
        if !is_root() {
            return;
        }
        type Lay = fn(&Path);
        let theirs = |path: &Path| std::os::unix::fs::lchown(path, Some(OTHER), Some(OTHER)).unwrap();
        let cases: &[(&str, Lay)] = &[
            ("the folder is theirs", |at| fs::create_dir_all(at.join("a/state")).unwrap()),
            ("the one above is theirs, the folder is missing", |at| fs::create_dir(at.join("a")).unwrap()),
            ("a link of theirs in their folder", |at| {
                fs::create_dir(at.join("a")).unwrap();
                symlink(at.join("roots"), at.join("a/state")).unwrap();
            }),
            ("a link of theirs higher up", |at| symlink(at.join("roots"), at.join("a")).unwrap()),
        ];
        for (case, lay) in cases {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir_all(dir.path().join("roots/state")).unwrap();
            lay(dir.path());
            theirs(&dir.path().join("a"));
            if dir.path().join("a/state").symlink_metadata().is_ok() {
                theirs(&dir.path().join("a/state"));
            }
            let before = picture(dir.path());
            let state = dir.path().join("a/state");
            for result in [create_state_dir(&state), check_state_dir(&state)] {
                let kind = result.map_err(|error| error.kind);
                assert!(matches!(kind, Err(ErrorKind::Exposed { uid: Some(OTHER), .. })), "{case}: {kind:?}");
            }
            assert_eq!(picture(dir.path()), before, "{case}");
        }
    }

    #[test]
    fn root_works_in_folders_of_its_own_and_by_its_own_links() {
        if !is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("shared")).unwrap();
        fs::set_permissions(at("shared"), Permissions::from_mode(0o1777)).unwrap();
        symlink("shared/../kept", at("link")).unwrap();
        for (name, made) in [("new/state", "new/state"), ("shared/state", "shared/state"), ("link/state", "kept/state")]
        {
            check_state_dir(&at(name)).unwrap();
            assert!(name == "link/state" || !at(made).exists(), "looking makes nothing");
            create_state_dir(&at(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(fs::metadata(at(made)).unwrap().mode() & 0o7777, 0o700, "{name}");
            StateDir::create(&at(name)).unwrap().lock().unwrap();
        }
        for (mode, fits) in [(0o755, true), (0o1777, false), (0o777, false), (0o770, false)] {
            fs::set_permissions(at("new/state"), Permissions::from_mode(mode)).unwrap();
            let result = create_state_dir(&at("new/state"));
            assert_eq!(result.is_ok(), fits, "{mode:o}: {result:?}");
        }
        symlink("loop", at("loop")).unwrap();
        assert!(create_state_dir(&at("loop/state")).is_err());
        fs::write(at("file"), "").unwrap();
        assert!(matches!(create_state_dir(&at("file")).unwrap_err().kind, ErrorKind::NoFolder));
    }

    #[test]
    fn the_lock_is_never_another_file() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("kept");
        fs::write(&kept, "kept").unwrap();
        let state = dir.path().join("state");
        let folder = StateDir::create(&state).unwrap();
        symlink(&kept, state.join("lock")).unwrap();
        folder.lock().unwrap_err();
        assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
        // Another folder under the same name is not the one that was checked.
        fs::rename(&state, dir.path().join("moved")).unwrap();
        fs::remove_file(dir.path().join("moved/lock")).unwrap();
        fs::create_dir(&state).unwrap();
        let _lock = folder.lock().unwrap();
        assert!(!state.join("lock").exists() && dir.path().join("moved/lock").exists());
        if is_root() {
            chown(&state, Some(OTHER), Some(OTHER)).unwrap();
            assert!(StateDir::create(&state).is_err());
        }
    }
}
