//! Takes a private copy of a file.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use rustix::io::Errno;

use super::destination::Destination;
use super::folder::{Folder, InboxEntry, What};
use super::stamp::Stamp;
use crate::disk;

/// How much is copied at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// A private copy of a file.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Where the copy is.
    pub path: PathBuf,
    /// The digest of its bytes.
    pub content: String,
    /// What the file looked like.
    pub stamp: Stamp,
    /// Its permissions.
    pub mode: u32,
}

/// Why no copy was taken.
#[derive(Debug)]
pub enum TakeRefusal {
    /// The file changed, or went away, while it was copied.
    Changed,
    /// It is something that is never read, as the end of a sentence that begins with "it is".
    Unfit(&'static str),
    /// This process may not read it.
    Barred,
    /// It can't be read.
    Unreadable(io::Error),
    /// The copy can't be written.
    Unwritable(io::Error),
}

/// Copies a file to `into`, and proves that it was one and the same file from beginning to end.
pub fn take(folder: &Folder, entry: &InboxEntry, size_max: u64, into: &Path) -> Result<Taken, TakeRefusal> {
    take_while(folder, entry, size_max, into, || ())
}

/// The same while others do what `meanwhile` does.
fn take_while(
    folder: &Folder,
    entry: &InboxEntry,
    size_max: u64,
    into: &Path,
    meanwhile: impl FnOnce(),
) -> Result<Taken, TakeRefusal> {
    let mut file =
        folder.read(&entry.name).map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOENT) => TakeRefusal::Changed,
            Some(Errno::LOOP) => TakeRefusal::Unfit("a link to something else; drop the file itself"),
            Some(Errno::NXIO) => TakeRefusal::Unfit("a socket, not a file"),
            Some(Errno::ACCESS | Errno::PERM) => TakeRefusal::Barred,
            _ => TakeRefusal::Unreadable(error),
        })?;
    let before = checked(&file)?;
    if before.size > size_max || !before.same_file(&entry.stamp) {
        return Err(TakeRefusal::Changed);
    }
    let mode = file.metadata().map_err(TakeRefusal::Unreadable)?.mode();
    meanwhile();
    let content = copy(&mut file, before.size, into)?;
    let after = checked(&file)?;
    if content.1 != before.size || after != before || !folder.stamp(&entry.name).is_some_and(|now| now == before) {
        return Err(TakeRefusal::Changed);
    }
    Ok(Taken { path: into.to_owned(), content: content.0, stamp: before, mode })
}

/// Copies what was filed to `into`, and returns the digest of its bytes; none where it is no regular file. A file of more
/// than `size_max` bytes is [`io::ErrorKind::FileTooLarge`].
pub fn take_filed(
    folder: &Folder,
    shelf: Destination,
    name: &str,
    size_max: u64,
    into: &Path,
) -> io::Result<Option<String>> {
    let Some(mut file) = folder.open_filed(shelf, name)? else { return Ok(None) };
    if file.metadata()?.len() > size_max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    match copy(&mut file, size_max, into) {
        Ok((_, size)) if size > size_max => Err(io::ErrorKind::FileTooLarge.into()),
        Ok((content, _)) => Ok(Some(content)),
        Err(TakeRefusal::Unreadable(error) | TakeRefusal::Unwritable(error)) => Err(error),
        Err(TakeRefusal::Changed | TakeRefusal::Barred | TakeRefusal::Unfit(_)) => {
            Err(io::ErrorKind::InvalidData.into())
        }
    }
}

/// The stamp of an open file that may be read.
fn checked(file: &File) -> Result<Stamp, TakeRefusal> {
    let stat = rustix::fs::fstat(file).map_err(|error| TakeRefusal::Unreadable(error.into()))?;
    match What::of(&stat) {
        What::File => Ok(Stamp::of_stat(&stat)),
        What::Folder => Err(TakeRefusal::Unfit("a folder, not a file")),
        What::OpenToAll => Err(TakeRefusal::Unfit("a file that every user of this machine may change")),
        What::Refused(what) => Err(TakeRefusal::Unfit(what)),
    }
}

/// Copies at most one byte more than `size`, whatever size the file claims to have, and returns the digest of what was copied, and how much that was.
fn copy(file: &mut File, size: u64, into: &Path) -> Result<(String, u64), TakeRefusal> {
    match fs::remove_file(into) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(TakeRefusal::Unwritable(error)),
        _ => {}
    }
    let mut copy =
        File::options().write(true).create_new(true).mode(0o600).open(into).map_err(TakeRefusal::Unwritable)?;
    let mut digest = Context::new(&SHA256);
    let mut limited = file.take(size.saturating_add(1));
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut total = 0;
    loop {
        match limited.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                digest.update(&buffer[..read]);
                copy.write_all(&buffer[..read]).map_err(TakeRefusal::Unwritable)?;
                total += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(TakeRefusal::Unreadable(error)),
        }
    }
    disk::sync(&copy).map_err(TakeRefusal::Unwritable)?;
    let hex = digest.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((hex, total))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn write(path: &Path, text: &str, seconds: u64) {
        let mut file = File::options().write(true).create(true).truncate(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    }

    /// What becomes of a file to which this is done while it is copied.
    fn taken(meanwhile: impl FnOnce(&Path)) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let (path, into) = (dir.path().join("staff.csv"), dir.path().join("copy"));
        write(&path, "No,Name\n1,Ana\n", 1_000);
        let folder = Folder::open(dir.path()).unwrap();
        let entry = folder.list().unwrap().remove(0);
        match take_while(&folder, &entry, 1_000, &into, || meanwhile(&path)) {
            Ok(taken) => Some(fs::read_to_string(taken.path).unwrap()),
            Err(TakeRefusal::Changed) => None,
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn law_1_a_file_that_changes_while_it_is_copied_is_not_taken() {
        assert_eq!(taken(|_| ()).as_deref(), Some("No,Name\n1,Ana\n"));
        assert_eq!(taken(|path| write(path, "No,Name\n1,Ana\n2,Bo\n", 1_000)), None, "it grew");
        assert_eq!(taken(|path| write(path, "No,Name\n", 1_000)), None, "it shrank");
        assert_eq!(taken(|path| write(path, "No,Name\n1,Bob\n", 1_001)), None, "it was written over");
        assert_eq!(taken(|path| fs::remove_file(path).unwrap()), None, "it was removed");
        let replaced = taken(|path| {
            write(&path.with_extension("new"), "No,Name\n1,Ana\n", 1_000);
            fs::rename(path.with_extension("new"), path).unwrap();
        });
        assert_eq!(replaced, None, "another took its name");
    }
}
