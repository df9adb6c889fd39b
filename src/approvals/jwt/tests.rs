//! Tokens that are taken and tokens that are not.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

use super::*;

/// A key of a provider.
struct Signer(EcdsaKeyPair);

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap())
    }

    /// As the provider shows it.
    fn shown(&self, id: &str) -> Value {
        let point = self.0.public_key().as_ref();
        let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({"kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "x": part(&point[1..33]), "y": part(&point[33..])})
    }

    fn sign(&self, head: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(head), part(claims));
        let signature = self.0.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn keys(list: &[Value]) -> Keys {
    Keys { keys: list.to_vec() }
}

#[test]
fn a_token_counts_only_under_a_key_that_the_provider_shows() {
    let (signer, other) = (Signer::new(), Signer::new());
    let known = keys(&[json!({"kty": "OKP"}), json!(7), other.shown("b"), signer.shown("a")]);
    let claims = json!({"sub": "ana"});
    let token = |head: Value| signer.sign(&head, &claims);
    let whole = token(json!({"alg": "ES256", "kid": "a"}));
    let unsigned = whole.rsplit_once('.').unwrap().0.to_owned();
    let changed = {
        let parts: Vec<&str> = whole.split('.').collect();
        format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(json!({"sub": "bo"}).to_string()), parts[2])
    };
    for (token, expected) in [
        (whole.clone(), Ok(())),
        (token(json!({"alg": "ES256"})), Ok(())),
        (token(json!({"alg": "ES256", "kid": "c"})), Err(Refusal::UnknownKey)),
        (token(json!({"alg": "ES256", "kid": "b"})), Err(Refusal::Signature)),
        (token(json!({"alg": "RS256", "kid": "a"})), Err(Refusal::UnknownKey)),
        (token(json!({"alg": "none", "kid": "a"})), Err(Refusal::Algorithm)),
        (token(json!({"alg": "None"})), Err(Refusal::Algorithm)),
        (token(json!({"alg": "HS256", "kid": "a"})), Err(Refusal::Algorithm)),
        (token(json!({"alg": "ES256", "kid": "a", "crit": ["x"]})), Err(Refusal::Algorithm)),
        (token(json!({"kid": "a"})), Err(Refusal::Malformed)),
        (changed, Err(Refusal::Signature)),
        (format!("{unsigned}."), Err(Refusal::Signature)),
        (unsigned, Err(Refusal::Malformed)),
        (format!("{whole}.x"), Err(Refusal::Malformed)),
        (format!("{whole}="), Err(Refusal::Malformed)),
        (String::new(), Err(Refusal::Malformed)),
        ("a".repeat(TOKEN_MAX) + "..", Err(Refusal::Malformed)),
    ] {
        assert_eq!(verified(&token, &known).map(drop), expected, "{token}");
    }
    for (name, value) in [("use", "enc"), ("alg", "RS256"), ("crv", "P-384"), ("kty", "RSA")] {
        let mut key = signer.shown("a");
        key[name] = value.into();
        assert_eq!(verified(&whole, &keys(&[key])).map(drop), Err(Refusal::UnknownKey), "{name} = {value}");
    }
    assert_eq!(verified(&whole, &keys(&[])).map(drop), Err(Refusal::UnknownKey));
}

#[test]
fn a_signature_of_rsa_is_that_of_rfc_7515() {
    let n = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1\
             W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4\
             uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
    let token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
                 cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZ\
                 cAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-e\
                 OkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    let known = keys(&[json!({"kty": "RSA", "n": n, "e": "AQAB"})]);
    assert_eq!(verified(token, &known).unwrap().text("iss"), Some("joe"));
    let forged = token.replace("cC4hiU", "cC4hiV");
    assert_eq!(verified(&forged, &known).map(drop), Err(Refusal::Signature));
}

#[test]
fn claims_are_those_of_this_login_to_the_letter() {
    let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    let at = |seconds: i64| now.as_second() + seconds;
    let whole = json!({
        "iss": "https://login.example.com", "aud": "rosterd", "sub": "ana", "nonce": "n1",
        "exp": at(300), "iat": at(0), "auth_time": at(-10),
    });
    let check = |claims: &Value, age_max: Option<i64>| {
        let Value::Object(claims) = claims else { panic!("claims are an object") };
        let expected = Expected {
            issuer: "https://login.example.com",
            client_id: "rosterd",
            nonce: "n1",
            age_max: age_max.map(SignedDuration::from_secs),
            any_age_max: SignedDuration::from_hours(8),
            now,
        };
        Claims(claims.clone()).check(&expected)
    };
    assert_eq!(check(&whole, Some(900)), Ok(("ana".to_owned(), Some(Timestamp::from_second(at(-10)).unwrap()))));
    for (name, value, expected) in [
        ("aud", json!(["rosterd"]), None),
        ("azp", json!("rosterd"), None),
        ("exp", json!(at(-59)), None),
        ("nbf", json!(at(59)), None),
        ("iat", json!(at(59)), None),
        ("auth_time", json!(at(-950)), None),
        ("iss", json!("https://login.example.com/"), Some(Refusal::Issuer)),
        ("iss", json!("https://evil.example.net"), Some(Refusal::Issuer)),
        ("iss", Value::Null, Some(Refusal::Issuer)),
        ("aud", json!("other"), Some(Refusal::Audience)),
        ("aud", json!(["rosterd", "other"]), Some(Refusal::Audience)),
        ("aud", json!([]), Some(Refusal::Audience)),
        ("aud", Value::Null, Some(Refusal::Audience)),
        ("azp", json!("other"), Some(Refusal::Audience)),
        ("azp", json!(7), Some(Refusal::Audience)),
        ("exp", json!(at(-61)), Some(Refusal::Time)),
        ("exp", json!("soon"), Some(Refusal::Time)),
        ("exp", Value::Null, Some(Refusal::Time)),
        ("iat", json!(at(61)), Some(Refusal::Time)),
        ("iat", Value::Null, Some(Refusal::Time)),
        ("nbf", json!(at(61)), Some(Refusal::Time)),
        ("nonce", json!("n2"), Some(Refusal::Nonce)),
        ("nonce", Value::Null, Some(Refusal::Nonce)),
        ("sub", json!(""), Some(Refusal::Subject)),
        ("sub", json!("a\nb"), Some(Refusal::Subject)),
        ("sub", Value::Null, Some(Refusal::Subject)),
        ("auth_time", json!(at(-961)), Some(Refusal::Stale)),
        ("auth_time", json!(at(61)), Some(Refusal::Stale)),
        ("auth_time", Value::Null, Some(Refusal::Stale)),
    ] {
        let mut claims = whole.clone();
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            ref value => claims[name] = value.clone(),
        }
        assert_eq!(check(&claims, Some(900)).err(), expected, "{name} = {value}");
    }
    let mut claims = whole;
    claims["auth_time"] = json!(at(-3600));
    assert!(check(&claims, None).is_ok(), "where no new login was asked for");
    claims["auth_time"] = json!(at(-9 * 3600));
    assert_eq!(check(&claims, None).err(), Some(Refusal::Old));
}
