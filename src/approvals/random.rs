//! Random texts that cannot be guessed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};

/// How many random bytes a text holds.
const BYTES: usize = 32;

/// 256 random bits as text.
///
/// # Panics
///
/// Where the system gives none: without them there is no session that is safe.
pub(super) fn text() -> String {
    let mut bytes = [0; BYTES];
    SystemRandom::new().fill(&mut bytes).expect("the system gives random numbers");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The SHA-256 of a text, as a challenge of PKCE has it.
pub(super) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

/// Whether two texts are the same; how long that takes says nothing of where they differ.
pub(super) fn same(one: &str, other: &str) -> bool {
    // Of a digest no one can choose the bytes.
    digest(&SHA256, one.as_bytes()).as_ref() == digest(&SHA256, other.as_bytes()).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_another_each_time_and_its_challenge_is_that_of_rfc_7636() {
        assert_ne!(text(), text());
        assert_eq!(text().len(), 43);
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(same("a", "a") && !same("a", "b") && !same("", "a"));
    }
}
