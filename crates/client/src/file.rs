//! Opens files whose paths people give.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file for reading. Anything else is refused: a pipe would be waited for without end.
///
/// # Errors
///
/// It can't be opened, or is no regular file.
pub fn regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a file"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for path in [pipe.as_path(), dir.path(), Path::new("/dev/null")] {
            assert_eq!(regular(path).unwrap_err().to_string(), "is not a file", "{}", path.display());
        }
        let file = dir.path().join("file");
        std::fs::write(&file, "text").unwrap();
        let mut text = String::new();
        regular(&file).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
    }
}
