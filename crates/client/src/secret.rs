//! Secrets and their sources.
//!
//! A secret is shown nowhere: not by `Debug`, not by an error (law 11). A file is read each time the secret is needed, so
//! that a rotated one is found.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

use crate::file;

/// How much of a secret's file is read.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// Where a secret comes from. A file is read again before a token is renewed, so that a rotated secret is found.
#[derive(Clone)]
pub enum SecretSource {
    /// Given as text.
    Text(SecretString),
    /// The first line of a file, without a byte order mark and the white space around it.
    File(PathBuf),
    /// Not available. A command that may do without it continues; one that needs it shows the reason.
    Missing(Unusable),
}

/// Why a secret can't be used.
#[derive(Clone, Debug)]
pub struct Unusable {
    /// Its file, or a name for the configuration file.
    pub path: PathBuf,
    /// What is wrong, as the rest of a sentence about it.
    pub problem: String,
}

impl SecretSource {
    /// Reads the secret: the text, or the first line of the file without a byte order mark and the white space around it.
    pub fn read(&self) -> Result<SecretString, Unusable> {
        match self {
            Self::Text(text) => usable(text.expose_secret(), Path::new("the configuration")),
            Self::File(path) => {
                let unreadable =
                    |error: std::io::Error| Unusable { path: path.clone(), problem: format!("can't be read: {error}") };
                let mut text = String::new();
                file::regular(path)
                    .and_then(|file| file.take(SECRET_BYTES_MAX).read_to_string(&mut text))
                    .map_err(unreadable)?;
                usable(text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default().trim(), path)
            }
            Self::Missing(unusable) => Err(unusable.clone()),
        }
    }
}

impl SecretSource {
    /// Reads the secret now, for a process that may not read its file later. One that is missing stays so.
    pub fn hold(&mut self) -> Result<(), Unusable> {
        if !matches!(self, Self::Missing(_)) {
            *self = Self::Text(self.read()?);
        }
        Ok(())
    }
}

impl fmt::Debug for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text(***)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Missing(unusable) => f.debug_tuple("Missing").field(unusable).finish(),
        }
    }
}

fn usable(text: &str, place: &Path) -> Result<SecretString, Unusable> {
    let problem = if text.is_empty() {
        "is empty"
    } else if text.chars().any(char::is_control) {
        "holds a control character"
    } else {
        return Ok(SecretString::from(text));
    };
    Err(Unusable { path: place.to_owned(), problem: problem.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_107_a_secret_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let check = |content: &[u8], expected: Option<&str>| {
            std::fs::write(&path, content).unwrap();
            let read = SecretSource::File(path.clone()).read().ok();
            assert_eq!(read.as_ref().map(|secret| secret.expose_secret()), expected);
        };
        check(b"abc\n", Some("abc"));
        check(b"abc \r\nmore", Some("abc"));
        check(b"\xef\xbb\xbf abc\r\n", Some("abc"));
        check(b"", None);
        check(b"\nabc", None);
        check(b"a\tb", None);
        check(b"\xff\xfe", None);
        assert!(SecretSource::File(folder.path().join("missing")).read().is_err());
    }
}
