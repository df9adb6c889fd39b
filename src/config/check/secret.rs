//! Finds a secret: given in place, in a file of its own, or in systemd's folder of credentials.

use std::path::Path;

use secrecy::SecretString;

use super::Ground;
use crate::config::permissions::{self, SECRET_SIZE_MAX};
use crate::config::report::Report;
use crate::secret::SecretSource;

/// What was found.
pub(super) enum Found {
    Secret(SecretSource),
    Nothing,
    /// Something that can't be used; the report says why.
    Bad,
}

/// Whether systemd brings a credential of that name.
pub(super) fn has_credential(name: &str, ground: &Ground) -> bool {
    ground.credentials.as_ref().is_some_and(|dir| dir.join(name).exists())
}

/// Finds the secret of that name in the table at `place`; systemd's credential may have any of the names in `credentials`.
/// What is written in the environment wins over what the file says.
pub(super) fn check(
    (place, name): (&str, &str),
    credentials: &[&str],
    inline: Option<&str>,
    file: Option<&str>,
    ground: &Ground,
    report: &mut Report,
) -> Found {
    let inline_place = format!("{place}.{name}");
    let file_place = format!("{place}.{name}_file");
    if report.is_bad(&inline_place) || report.is_bad(&file_place) {
        return Found::Bad;
    }
    let (inline, file) = match (inline, file) {
        (Some(inline), Some(file)) => {
            match (report.in_environment(&inline_place), report.in_environment(&file_place)) {
                (true, false) => (Some(inline), None),
                (false, true) => (None, Some(file)),
                _ => {
                    let message = format!("{name} and {name}_file are both given");
                    report.problem(&file_place, message, Some("keep one of them"));
                    return Found::Bad;
                }
            }
        }
        one => one,
    };
    match (inline, file) {
        (Some(text), _) => in_place(&inline_place, text, report),
        (None, Some(written)) => in_file(&file_place, &ground.path(written), false, report),
        (None, None) => {
            let there = credentials.iter().find(|name| has_credential(name, ground));
            match (&ground.credentials, there) {
                (Some(dir), Some(name)) => in_file(&inline_place, &dir.join(name), true, report),
                _ => Found::Nothing,
            }
        }
    }
}

pub(super) fn in_place(place: &str, text: &str, report: &mut Report) -> Found {
    let text = text.trim_end();
    if text.trim().is_empty() {
        report.problem(place, "is empty", None);
        return Found::Bad;
    }
    Found::Secret(SecretSource::Text(SecretString::from(text)))
}

/// A file must be closed to others. systemd's own are, in a folder that is.
fn in_file(place: &str, path: &Path, from_systemd: bool, report: &mut Report) -> Found {
    let shown = path.display();
    let content = match permissions::read(path, SECRET_SIZE_MAX) {
        Ok(content) => content,
        Err(message) => {
            report.problem(place, format!("{shown}: {message}"), Some("write the secret to it and nothing else"));
            return Found::Bad;
        }
    };
    if content.open_to_others() && !from_systemd {
        let message = format!("every user of this machine may read or change {shown} (mode {:04o})", content.mode);
        report.problem(place, message, Some(&permissions::chmod("600", path)));
        return Found::Bad;
    }
    // The client takes the first line, without white space at its end.
    if content.text.lines().next().is_none_or(|line| line.trim().is_empty()) {
        let message = format!("{shown} has nothing in its first line");
        report.problem(place, message, Some("write the secret to it and nothing else"));
        return Found::Bad;
    }
    Found::Secret(SecretSource::File(path.to_owned()))
}
