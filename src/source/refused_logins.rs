//! Names and passwords that a server refused, a directory or a web server, remembered so that no run tries them again.
//!
//! Invariants:
//! - A name and a password that were refused are not sent again by a run before one of them changes, or a person's own
//!   attempt with them (`rosterd check`) was taken: a directory locks an account after a few wrong attempts.
//! - What is kept is a slow digest of both with a salt, never the password.
//! - It is stored next to the store, since a check does not open the store; where it can't be read, nothing is known.

use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ring::pbkdf2;
use ring::rand::{SecureRandom as _, SystemRandom};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use crate::disk;

/// How many are remembered; the oldest go first.
const REFUSALS_MAX: usize = 16;
const FILE: &str = "refused-logins.json";
const ROUNDS: NonZeroU32 = NonZeroU32::new(100_000).expect("it is not 0");

/// Names with passwords that were refused: which are tried, and where refused ones are remembered.
#[derive(Clone, Debug)]
pub struct RefusedLogins {
    file: Option<PathBuf>,
    heeds: bool,
}

/// A name and a password that were refused.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::source) struct LoginRefusal {
    /// When.
    pub(in crate::source) at: Timestamp,
    /// What the server said.
    pub(in crate::source) said: String,
    salt: [u8; 16],
    digest: [u8; 32],
}

impl RefusedLogins {
    /// A run's: what was refused before is not tried.
    pub fn of_a_run(dir: &Path) -> Self {
        Self { file: Some(dir.join(FILE)), heeds: true }
    }

    /// A person's own attempt: tried whatever was refused before.
    pub fn of_a_person(dir: &Path) -> Self {
        Self { file: Some(dir.join(FILE)), heeds: false }
    }

    /// Nothing is remembered.
    pub fn unremembered() -> Self {
        Self { file: None, heeds: false }
    }

    /// Why a name and a password are not to be tried.
    pub(in crate::source) fn refused(&self, dn: &str, password: &SecretString) -> Option<LoginRefusal> {
        self.load().into_iter().filter(|_| self.heeds).find(|refusal| refusal.is_of(dn, password))
    }

    /// Remembers that they were refused.
    pub(in crate::source) fn refuse(&self, dn: &str, password: &SecretString, said: &str, at: Timestamp) {
        let mut all = self.load();
        all.retain(|refusal| !refusal.is_of(dn, password));
        let mut salt = [0; 16];
        if self.file.is_none() || SystemRandom::new().fill(&mut salt).is_err() {
            return;
        }
        let mut digest = [0; 32];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ROUNDS, &salt, &secret(dn, password), &mut digest);
        all.push(LoginRefusal { at, said: said.to_owned(), salt, digest });
        all.drain(..all.len().saturating_sub(REFUSALS_MAX));
        self.save(&all);
    }

    /// They were taken: they are tried again from now on.
    pub(in crate::source) fn taken(&self, dn: &str, password: &SecretString) {
        let before = self.load();
        let after: Vec<LoginRefusal> = before.iter().filter(|refusal| !refusal.is_of(dn, password)).cloned().collect();
        if after.len() < before.len() {
            self.save(&after);
        }
    }

    fn load(&self) -> Vec<LoginRefusal> {
        let Some(file) = &self.file else { return Vec::new() };
        let read = fs::read(file).and_then(|bytes| Ok(serde_json::from_slice(&bytes)?));
        read.unwrap_or_else(|error: io::Error| {
            if error.kind() != io::ErrorKind::NotFound {
                let file = file.display();
                tracing::warn!(%file, %error, "{file}: the logins that were refused can't be read: {error}");
            }
            Vec::new()
        })
    }

    fn save(&self, all: &[LoginRefusal]) {
        let Some(file) = &self.file else { return };
        let bytes = serde_json::to_vec(all).map_err(io::Error::from);
        if let Err(error) = bytes.and_then(|bytes| disk::replace(file, &bytes)) {
            let file = file.display();
            tracing::warn!(%file, %error, "{file}: the logins that were refused can't be written: {error}");
        }
    }
}

impl LoginRefusal {
    fn is_of(&self, dn: &str, password: &SecretString) -> bool {
        let secret = secret(dn, password);
        pbkdf2::verify(pbkdf2::PBKDF2_HMAC_SHA256, ROUNDS, &self.salt, &secret, &self.digest).is_ok()
    }
}

fn secret(dn: &str, password: &SecretString) -> Vec<u8> {
    [dn.as_bytes(), b"\0", password.expose_secret().as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_78_what_was_refused_is_known_again_and_never_the_password() {
        let dir = tempfile::tempdir().unwrap();
        let at: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let word = |text: &str| SecretString::from(text);
        let (run, person) = (RefusedLogins::of_a_run(dir.path()), RefusedLogins::of_a_person(dir.path()));
        assert!(run.refused("cn=a", &word("canary-1")).is_none());
        run.refuse("cn=a", &word("canary-1"), "invalid", at);
        run.refuse("cn=a", &word("canary-1"), "invalid", at);
        for (dn, password, refused) in
            [("cn=a", "canary-1", true), ("cn=a", "canary-2", false), ("cn=b", "canary-1", false)]
        {
            assert_eq!(run.refused(dn, &word(password)).is_some(), refused, "{dn} {password}");
            assert!(person.refused(dn, &word(password)).is_none());
        }
        let file = fs::read_to_string(dir.path().join(FILE)).unwrap();
        assert!(!file.contains("canary") && !file.contains("cn=a"), "{file}");
        person.taken("cn=a", &word("canary-1"));
        assert!(run.refused("cn=a", &word("canary-1")).is_none());
        fs::write(dir.path().join(FILE), "no JSON").unwrap();
        assert!(run.refused("cn=a", &word("canary-1")).is_none());
        run.refuse("cn=a", &word("canary-1"), "invalid", at);
        assert!(run.refused("cn=a", &word("canary-1")).is_some());
    }
}
