//! The signed assertion of an app that shows a certificate (RFC 7523).

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{RSA_PSS_SHA256, RsaKeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::{SecretString, zeroize::Zeroizing};
use serde_json::json;

use crate::file;

/// How long an assertion holds.
const LIFETIME: Duration = Duration::from_secs(300);
/// The longest file that is read, in bytes.
const FILE_MAX: u64 = 1024 * 1024;

/// Signs an assertion of `client_id` for the token endpoint `audience`.
pub(super) fn signed(
    certificate: &Path,
    key: &Path,
    client_id: &str,
    audience: &str,
    now: Timestamp,
) -> Result<SecretString, String> {
    let der = CertificateDer::from_pem_slice(&read(certificate)?)
        .map_err(|_| format!("{} holds no certificate (PEM)", certificate.display()))?;
    let pair = pair(key)?;
    let random = SystemRandom::new();
    let failed = |_| "this machine gives no random numbers".to_owned();
    let mut id = [0; 16];
    random.fill(&mut id).map_err(failed)?;
    let print = URL_SAFE_NO_PAD.encode(digest(&SHA256, &der));
    let begins = now.as_second();
    let head = json!({ "alg": "PS256", "typ": "JWT", "x5t#S256": print });
    let claims = json!({
        "aud": audience, "iss": client_id, "sub": client_id, "jti": URL_SAFE_NO_PAD.encode(id),
        "nbf": begins, "iat": begins, "exp": begins + LIFETIME.as_secs().cast_signed(),
    });
    let encoded = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", encoded(head), encoded(claims));
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PSS_SHA256, &random, text.as_bytes(), &mut signature).map_err(failed)?;
    Ok(SecretString::from(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))))
}

fn pair(path: &Path) -> Result<RsaKeyPair, String> {
    let wrong = || format!("{} holds no RSA key of 2048 to 4096 bits (PEM, without a passphrase)", path.display());
    let key = PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|_| wrong())?;
    let pair = match &key {
        PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
        _ => return Err(wrong()),
    };
    pair.map_err(|_| wrong())
}

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    let mut text = Zeroizing::new(Vec::new());
    let got = file::regular(path).and_then(|file| file.take(FILE_MAX).read_to_end(&mut text));
    got.map_err(|error| format!("{} can't be read: {error}", path.display()))?;
    Ok(text)
}
