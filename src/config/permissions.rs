//! Reads files that matter to safety, and says who else may.

use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::file;

/// The largest configuration file, in bytes.
pub(super) const CONFIG_SIZE_MAX: u64 = 1024 * 1024;
/// The largest secret, in bytes.
pub(super) const SECRET_SIZE_MAX: u64 = 64 * 1024;

const OTHERS_READ: u32 = 0o004;
const OTHERS_WRITE: u32 = 0o002;
const GROUP_AND_OTHERS: u32 = 0o066;

/// A file's text and permission bits, from one and the same open file.
pub(super) struct Content {
    pub(super) text: String,
    pub(super) mode: u32,
}

/// Reads a whole regular file of at most `size_max` bytes of UTF-8.
pub(super) fn read(path: &Path, size_max: u64) -> Result<Content, String> {
    let reason = |error: &io::Error| match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "this user may not read it".to_owned(),
        io::ErrorKind::InvalidInput => "is not a file".to_owned(),
        _ => format!("can't be read: {error}"),
    };
    let file = file::regular(path).map_err(|error| reason(&error))?;
    let metadata = file.metadata().map_err(|error| reason(&error))?;
    let mut bytes = Vec::new();
    file.take(size_max + 1).read_to_end(&mut bytes).map_err(|error| reason(&error))?;
    if bytes.len() as u64 > size_max {
        return Err(format!("is larger than {} KiB", size_max / 1024));
    }
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
    Ok(Content { text, mode: metadata.permissions().mode() & 0o7777 })
}

impl Content {
    /// Whether everyone on the machine may read or change the file.
    pub(super) fn open_to_others(&self) -> bool {
        self.mode & (OTHERS_READ | OTHERS_WRITE) != 0
    }

    /// Whether everyone on the machine may change the file.
    pub(super) fn others_may_write(&self) -> bool {
        self.mode & OTHERS_WRITE != 0
    }

    /// Whether only its owner may read or change the file.
    pub(super) fn owner_only(&self) -> bool {
        self.mode & GROUP_AND_OTHERS == 0
    }
}

/// The command that sets a file's permissions, fit to be pasted into a shell.
pub(super) fn chmod(change: &str, path: &Path) -> String {
    let path = path.display().to_string();
    let plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@".contains(c)) && !path.starts_with('-');
    if plain {
        format!("chmod {change} {path}")
    } else {
        format!("chmod {change} -- '{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_can_be_pasted() {
        for (path, expected) in [
            ("/etc/rosterd/secret", "chmod 600 /etc/rosterd/secret"),
            ("/srv/o'neil/my secret", r"chmod 600 -- '/srv/o'\''neil/my secret'"),
            ("-rf", "chmod 600 -- '-rf'"),
        ] {
            assert_eq!(chmod("600", Path::new(path)), expected);
        }
    }

    #[test]
    fn a_file_beyond_the_limit_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large");
        std::fs::write(&path, vec![b'x'; 1025]).unwrap();
        assert_eq!(read(&path, 1024).err().as_deref(), Some("is larger than 1 KiB"));
        assert!(read(&path, 1025).is_ok());
        assert_eq!(read(dir.path(), 1024).err().as_deref(), Some("is not a file"));
    }
}
