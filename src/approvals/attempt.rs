//! A login that is under way, in a cookie of the browser that began it.
//!
//! Nothing of it is kept here, so that no one who only asks for the page of the login takes up memory. The cookie is sealed
//! by a key of this process: what comes back was written here, within ten minutes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use ring::hmac;
use ring::rand::SystemRandom;
use serde::{Deserialize, Serialize};

use super::random;
use crate::record::JobName;

/// How long a login may take.
pub(super) const LOGIN_MAX: SignedDuration = SignedDuration::from_mins(10);

/// What a login needs when the browser comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attempt {
    pub(super) state: String,
    pub(super) nonce: String,
    /// Of PKCE: only who has it can use the code.
    pub(super) verifier: String,
    /// Whether the login has to be a new one.
    pub(super) is_fresh: bool,
    /// The job whose page was asked for.
    pub(super) job: Option<JobName>,
    began: Timestamp,
}

/// Seals logins that are under way.
pub(super) struct Seal(hmac::Key);

impl Attempt {
    pub(super) fn new(is_fresh: bool, job: Option<JobName>, now: Timestamp) -> Self {
        let [state, nonce, verifier] = [(); 3].map(|()| random::text());
        Self { state, nonce, verifier, is_fresh, job, began: now }
    }
}

impl Seal {
    /// A seal of this process.
    pub(super) fn new() -> Self {
        Self(hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).expect("the system gives random numbers"))
    }

    /// The text of a cookie.
    pub(super) fn close(&self, attempt: &Attempt) -> String {
        let text = URL_SAFE_NO_PAD.encode(serde_json::to_vec(attempt).expect("plain values"));
        let mark = URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, text.as_bytes()));
        format!("{text}.{mark}")
    }

    /// What such a text holds; `None` where it is none, or too old.
    pub(super) fn open(&self, text: &str, now: Timestamp) -> Option<Attempt> {
        let (text, mark) = text.split_once('.')?;
        hmac::verify(&self.0, text.as_bytes(), &URL_SAFE_NO_PAD.decode(mark).ok()?).ok()?;
        let attempt: Attempt = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let age = now.duration_since(attempt.began);
        (age >= SignedDuration::ZERO && age < LOGIN_MAX).then_some(attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sealed_here_within_ten_minutes_is_opened() {
        let (seal, other) = (Seal::new(), Seal::new());
        let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let attempt = Attempt::new(true, JobName::new("employees"), start);
        let text = seal.close(&attempt);
        assert_eq!(seal.open(&text, start), Some(attempt.clone()));
        assert_eq!(seal.open(&text, start + SignedDuration::from_secs(599)), Some(attempt.clone()));
        assert_eq!(seal.open(&text, start + LOGIN_MAX), None);
        assert_eq!(other.open(&text, start), None);
        let (body, mark) = text.split_once('.').unwrap();
        let forged = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&Attempt { is_fresh: false, ..attempt }).unwrap());
        for wrong in
            [body.to_owned(), format!("{forged}.{mark}"), format!("{body}."), String::new(), "a.b.c".to_owned()]
        {
            assert_eq!(seal.open(&wrong, start), None, "{wrong}");
        }
    }
}
