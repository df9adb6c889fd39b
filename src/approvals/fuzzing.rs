//! Made-up tokens, and what must hold of each.

use jiff::{SignedDuration, Timestamp};

use super::handed;
use super::jwt::{Claims, Expected, Keys, is_plain, verified};

/// The keys of a provider on the first line, a token on the second, claims on the third. Or the answer
/// of another worker to a request.
pub(crate) fn logins(bytes: &[u8]) {
    _ = handed::read(bytes);
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let keys: Keys = lines.next().and_then(|line| serde_json::from_slice(line).ok()).unwrap_or_default();
    let token = lines.next().and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default();
    if let Ok(claims) = verified(token, &keys) {
        assert!(token.split('.').count() == 3, "a token has three parts");
        check(&claims);
        assert!(verified(token, &Keys::default()).is_err(), "a token counts under a key that is shown");
    }
    if let Some(claims) = lines.next().and_then(|line| serde_json::from_slice(line).ok()) {
        check(&Claims(claims));
    }
}

fn check(claims: &Claims) {
    let now = Timestamp::from_second(1_800_000_000).expect("it is a time");
    let (issuer, any_age_max) = ("https://login.example.com", SignedDuration::from_hours(8));
    let of = |age_max| Expected { issuer, client_id: "rosterd", nonce: "n1", age_max, any_age_max, now };
    let (any, fresh) = (claims.check(&of(None)), claims.check(&of(Some(SignedDuration::from_mins(15)))));
    if let Ok((subject, _)) = &any {
        assert!(is_plain(subject), "who logs in can be shown");
        assert_eq!(claims.text("nonce"), Some("n1"), "it is this login");
    }
    if let Ok(fresh) = fresh {
        assert!(any.is_ok_and(|any| any == fresh), "who logged in just now is logged in");
        assert!(fresh.1.is_some(), "when somebody logged in is known");
    }
}
