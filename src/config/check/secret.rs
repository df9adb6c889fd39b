//! Finds a secret: given in place, in a file of its own, or in systemd's folder of credentials.

use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

use super::Environment;
use super::section::Section;
use crate::config::credentials::Stored;
use crate::config::permissions::{self, SECRET_SIZE_MAX};
use crate::secret::{SecretSource, Unusable};

/// What was found.
pub(super) enum FoundSecret {
    Secret(SecretSource),
    Nothing,
    /// Something that can't be used; the report says why.
    Bad,
}

/// Why a secret that was found can't be used.
struct Bad {
    path: PathBuf,
    message: String,
    hint: String,
}

/// What becomes of a file that every user of the machine may read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Refused,
    /// systemd closes the folder around it.
    Fine,
}

impl Section<'_> {
    /// Finds the secret of that name; systemd's credential may have any of the names in `credentials`. What is written in
    /// the environment wins over what the file says.
    pub(super) fn secret(&self, name: &str, credentials: &[&str]) -> FoundSecret {
        let file_key = format!("{name}_file");
        if self.is_bad(name) || self.is_bad(&file_key) {
            return FoundSecret::Bad;
        }
        let in_environment = |key: &str| self.report.in_environment(&self.at(key));
        let (inline, file) = match (self.text(name), self.text(&file_key)) {
            (Some(inline), Some(file)) => match (in_environment(name), in_environment(&file_key)) {
                (true, false) => (Some(inline), None),
                (false, true) => (None, Some(file)),
                _ => {
                    self.problem(&file_key, format!("{name} and {file_key} are both given"), Some("keep one of them"));
                    return FoundSecret::Bad;
                }
            },
            one => one,
        };
        let missing =
            |path: PathBuf, problem: String| FoundSecret::Secret(SecretSource::Missing(Unusable { path, problem }));
        let ground = self.ground;
        let (key, found) = match (inline, file) {
            (Some(text), _) => return self.secret_in_place(name, text),
            (None, Some(written)) => (file_key.as_str(), in_file(&ground.path(written), Open::Refused)),
            (None, None) => match credentials.iter().find_map(|name| ground.credentials.find(name)) {
                Some(Stored::Handed(path)) => (name, in_file(&path, Open::Fine)),
                Some(Stored::Plain(path)) => (name, in_file(&path, Open::Refused)),
                Some(Stored::Encrypted { path, name: stored }) => (name, encrypted(path, &stored, ground)),
                None if ground.wants_secrets || credentials.is_empty() => return FoundSecret::Nothing,
                None => {
                    let places = ground.credentials.places(name);
                    return missing(PathBuf::from(self.at(name)), format!("is missing{places}"));
                }
            },
        };
        match found {
            Ok(secret) => FoundSecret::Secret(secret),
            Err(Bad { path, message, .. }) if !ground.wants_secrets => {
                missing(path, format!("can't be used: {message}"))
            }
            Err(Bad { message, hint, .. }) => {
                self.problem(key, message, Some(&hint));
                FoundSecret::Bad
            }
        }
    }

    /// The file of a private key: closed to others, unless there is no need to look.
    pub(super) fn private_key(&self, key: &str) -> Option<PathBuf> {
        let path = self.path(key)?;
        if !self.ground.wants_secrets {
            return Some(path);
        }
        let shown = path.display();
        match permissions::read(&path, SECRET_SIZE_MAX) {
            Ok(content) if content.open_to_others() => {
                let message =
                    format!("every user of this machine may read or change {shown} (mode {:04o})", content.mode);
                self.wrong(key, message, Some(&permissions::chmod("600", &path)))
            }
            Ok(_) => Some(path),
            Err(message) => self.wrong(key, format!("{shown}: {message}"), None),
        }
    }

    /// The secret that is the value of the key.
    pub(super) fn secret_in_place(&self, key: &str, text: &str) -> FoundSecret {
        let text = text.trim_end();
        if text.trim().is_empty() {
            self.problem(key, "is empty", None);
            return FoundSecret::Bad;
        }
        FoundSecret::Secret(SecretSource::Text(SecretString::from(text)))
    }
}

/// A file must be closed to others. Its first line is what counts, without white space at its end.
fn in_file(path: &Path, open: Open) -> Result<SecretSource, Bad> {
    let shown = path.display();
    let bad = |message: String| {
        let hint = "write the secret to it and nothing else".to_owned();
        Bad { path: path.to_owned(), message, hint }
    };
    let content = permissions::read(path, SECRET_SIZE_MAX).map_err(|message| bad(format!("{shown}: {message}")))?;
    if content.open_to_others() && open == Open::Refused {
        let message = format!("every user of this machine may read or change {shown} (mode {:04o})", content.mode);
        return Err(Bad { hint: permissions::chmod("600", path), ..bad(message) });
    }
    if content.text.lines().next().is_none_or(|line| line.trim().is_empty()) {
        return Err(bad(format!("{shown} has nothing in its first line")));
    }
    Ok(SecretSource::File(path.to_owned()))
}

fn encrypted(path: PathBuf, name: &str, ground: &Environment) -> Result<SecretSource, Bad> {
    let decrypted = ground.credentials.decrypt(&path, name);
    let usable = decrypted.and_then(|secret| {
        if secret.expose_secret().is_empty() { Err("has nothing in its first line".to_owned()) } else { Ok(secret) }
    });
    usable.map(SecretSource::Text).map_err(|problem| Bad {
        message: format!("{} {problem}", path.display()),
        hint: format!("make it with systemd-creds encrypt --name={name}"),
        path,
    })
}
