//! ID tokens: a signature of RS256 or ES256 that a key of the provider verifies, and claims to the letter.
//!
//! Rejected: to take a token unverified since it came from the provider over TLS, which the standard allows. A proxy that
//! ends TLS on the way is then believed too.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use ring::signature::{ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::{Map, Value};

/// How much the provider's clock may differ from this machine's.
const SKEW: SignedDuration = SignedDuration::from_secs(60);
/// The longest token that is looked at, in bytes.
const TOKEN_MAX: usize = 64 * 1024;
/// The most keys of a provider that are looked at.
const KEYS_MAX: usize = 64;

/// The keys of a provider.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Keys {
    keys: Vec<Value>,
}

/// A key, as far as it is of a kind that is used.
#[derive(Deserialize)]
struct Key {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

#[derive(Deserialize)]
struct TokenHead {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

/// Why a token is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("the ID token has not the form of one")]
    Malformed,
    #[error("the ID token is signed in a way that is not taken: RS256 or ES256 are")]
    Algorithm,
    #[error("the ID token is signed by a key that the provider does not show")]
    UnknownKey,
    #[error("the signature of the ID token is wrong")]
    Signature,
    #[error("the ID token is another issuer's")]
    Issuer,
    #[error("the ID token is for another client")]
    Audience,
    #[error("the ID token has expired, or is not valid yet; are the clocks right?")]
    Time,
    #[error("the ID token belongs to another login")]
    Nonce,
    #[error("the ID token does not say who logged in")]
    Subject,
    #[error("the provider does not say that the login was just now")]
    Stale,
    #[error("the provider says that the login was over eight hours ago, and was asked for a newer one: log out there")]
    Old,
}

/// What a token has to say.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    /// How old the login may be, where the provider has to say when that was.
    pub(super) age_max: Option<SignedDuration>,
    /// The same where it says so unasked.
    pub(super) any_age_max: SignedDuration,
    pub(super) now: Timestamp,
}

/// The claims of a token whose signature was verified.
#[derive(Debug)]
pub(super) struct Claims(pub(super) Map<String, Value>);

/// Verifies the signature of a token.
pub(super) fn verified(token: &str, keys: &Keys) -> Result<Claims, Refusal> {
    let mut parts = token.split('.');
    let (Some(head), Some(body), Some(signature), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Refusal::Malformed);
    };
    if token.len() > TOKEN_MAX {
        return Err(Refusal::Malformed);
    }
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| Refusal::Malformed);
    let head: TokenHead = serde_json::from_slice(&bytes(head)?).map_err(|_| Refusal::Malformed)?;
    if head.crit.is_some() || !matches!(head.alg.as_str(), "RS256" | "ES256") {
        return Err(Refusal::Algorithm);
    }
    let signature = bytes(signature)?;
    let signed = &token.as_bytes()[..token.rfind('.').unwrap_or_default()];
    let known: Vec<Key> =
        keys.keys.iter().take(KEYS_MAX).filter_map(|key| serde_json::from_value(key.clone()).ok()).collect();
    let fits = |key: &&Key| key.fits(&head);
    let mut fitting = known.iter().filter(fits).peekable();
    if fitting.peek().is_none() {
        return Err(Refusal::UnknownKey);
    }
    if !fitting.any(|key| key.verifies(signed, &signature) == Some(true)) {
        return Err(Refusal::Signature);
    }
    serde_json::from_slice(&bytes(body)?).map(Claims).map_err(|_| Refusal::Malformed)
}

impl Key {
    /// Whether a token with that head may be signed by it.
    fn fits(&self, head: &TokenHead) -> bool {
        let kind = match head.alg.as_str() {
            "RS256" => self.kty == "RSA",
            _ => self.kty == "EC" && self.crv.as_deref() == Some("P-256"),
        };
        kind && self.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && self.alg.as_deref().is_none_or(|alg| alg == head.alg)
            && (head.kid.is_none() || self.kid == head.kid)
    }

    fn verifies(&self, signed: &[u8], signature: &[u8]) -> Option<bool> {
        let part = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
        if self.kty == "RSA" {
            let (n, e) = (part(&self.n)?, part(&self.e)?);
            let key = RsaPublicKeyComponents { n: strip(&n), e: strip(&e) };
            return Some(key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok());
        }
        let (x, y) = (part(&self.x)?, part(&self.y)?);
        let point = [&[4][..], &x, &y].concat();
        Some(UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature).is_ok())
    }
}

/// A number without zeros before it, which some providers write.
fn strip(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

impl Claims {
    /// Whether they are what was expected; the subject, and when they logged in.
    pub(super) fn check(&self, expected: &Expected<'_>) -> Result<(String, Option<Timestamp>), Refusal> {
        if self.text("iss") != Some(expected.issuer) {
            return Err(Refusal::Issuer);
        }
        let audience = match self.0.get("aud") {
            Some(Value::String(one)) => Some(one.as_str()),
            Some(Value::Array(list)) => match list.as_slice() {
                [Value::String(one)] => Some(one.as_str()),
                // Another audience could use the token as well.
                _ => None,
            },
            _ => None,
        };
        let is_ours = |party: &str| party == expected.client_id;
        if !audience.is_some_and(is_ours) || self.0.contains_key("azp") && !self.text("azp").is_some_and(is_ours) {
            return Err(Refusal::Audience);
        }
        let time =
            |name: &str| self.0.get(name)?.as_f64().and_then(|seconds| Timestamp::from_second(seconds as i64).ok());
        let too_late = expected.now.checked_add(SKEW).map_err(|_| Refusal::Time)?;
        let too_early = expected.now.checked_sub(SKEW).map_err(|_| Refusal::Time)?;
        let is_new = |name: &str| self.0.get(name).is_none() || time(name).is_some_and(|at| at <= too_late);
        let is_valid = time("exp").is_some_and(|end| end > too_early);
        if !is_valid || time("iat").is_none() || !is_new("iat") || !is_new("nbf") {
            return Err(Refusal::Time);
        }
        if self.text("nonce") != Some(expected.nonce) {
            return Err(Refusal::Nonce);
        }
        let logged_in = time("auth_time").filter(|at| *at <= too_late);
        let earliest = |age: SignedDuration| too_early.checked_sub(age).map_err(|_| Refusal::Time);
        if let Some(earliest) = expected.age_max.map(earliest).transpose()?
            && logged_in.is_none_or(|at| at < earliest)
        {
            return Err(Refusal::Stale);
        }
        // Not every provider says it, but what it says counts (OpenID Connect Core 1.0, 3.1.3.7, 13).
        if logged_in.is_some_and(|at| earliest(expected.any_age_max).is_ok_and(|earliest| at < earliest)) {
            return Err(Refusal::Old);
        }
        let subject = self.text("sub").filter(|subject| is_plain(subject)).ok_or(Refusal::Subject)?;
        Ok((subject.to_owned(), logged_in))
    }

    /// A claim that is a text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }
}

/// Whether a name can be shown and written down as it is.
pub(super) fn is_plain(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= 256 && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests;
