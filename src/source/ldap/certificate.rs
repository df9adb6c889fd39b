//! A certificate by which this program proves to a server who it is.
//!
//! Invariants:
//! - Certificate and key are read each time a connection begins, so that renewed ones are found.
//! - Nothing of the key is ever shown (law 11): messages name files.
//! - A certificate out of its time is not shown to any server. What a server says of one differs from program to program,
//!   and some just close the connection.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rustls::client::ResolvesClientCert;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use secrecy::zeroize::Zeroizing;

use super::ber::{self, Flaw};
use crate::file;
use crate::secret::Unusable;
use crate::tls;

/// The longest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How long before its end a certificate is named in every read.
const RENEWAL: SignedDuration = SignedDuration::from_hours(14 * 24);
/// The tag of a certificate's version, which those of the first version lack.
const VERSION: u8 = 0xa0;
/// The tag of a time with two digits of the year; below 50 they mean this century.
const SHORT_TIME: u8 = 0x17;

/// A certificate and its private key, both PEM.
#[derive(Clone)]
pub struct ClientCertificate {
    certificate: PathBuf,
    key: PathBuf,
    /// What was read of them, for a process that may not read them later.
    held: Option<Result<Arc<CertifiedKey>, Unusable>>,
}

/// What a certificate says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct Described {
    /// Whose it is, as it is encoded there.
    subject: Vec<u8>,
    begins: Option<Timestamp>,
    ends: Option<Timestamp>,
}

impl ClientCertificate {
    /// Those of two files, which are not read yet.
    pub fn of(certificate: PathBuf, key: PathBuf) -> Self {
        Self { certificate, key, held: None }
    }

    /// Reads both now, for a process that may not read them later. What is wrong with them is said when they are needed.
    pub fn hold(&mut self) {
        self.held = Some(self.read());
    }

    /// Reads both.
    ///
    /// # Errors
    ///
    /// One of them can't be read or used, or the key is another's.
    pub fn read(&self) -> Result<Arc<CertifiedKey>, Unusable> {
        if let Some(held) = &self.held {
            return held.clone();
        }
        let chain = self.chain()?;
        let bad_key = |problem: String| Unusable { path: self.key.clone(), problem };
        let key = PrivateKeyDer::from_pem_slice(&content(&self.key)?)
            .map_err(|_| bad_key("holds no private key (PEM, without a passphrase)".to_owned()))?;
        let made = CertifiedKey::from_der(chain, key, &tls::provider()).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                bad_key(format!("is not the key of the certificate in {}", self.certificate.display()))
            }
            rustls::Error::InvalidCertificate(_) => self.bad("holds a certificate that can't be used".to_owned()),
            _ => {
                bad_key("holds a key of a kind that can't be used; take RSA from 2048 bits on, ECDSA or Ed25519".into())
            }
        });
        made.map(Arc::new)
    }

    /// What shows it to servers.
    ///
    /// # Errors
    ///
    /// It can't be used, or not now.
    pub(super) fn shown(&self, now: Timestamp) -> Result<Arc<dyn ResolvesClientCert>, Unusable> {
        let key = self.read()?;
        let Described { begins, ends, .. } = described(&key.cert);
        if let Some(ends) = ends.filter(|ends| *ends < now) {
            return Err(self.bad(format!("expired at {ends:.0}; put a renewed one there, and its key")));
        }
        if let Some(begins) = begins.filter(|begins| now < *begins) {
            let problem = format!("is not valid before {begins:.0}; is this machine's clock right? it says {now:.0}");
            return Err(self.bad(problem));
        }
        Ok(Arc::new(SingleCertAndKey::from(key)))
    }

    /// That it expires soon, for a person.
    pub(super) fn expiry(&self, now: Timestamp) -> Option<String> {
        let ends = described(&self.read().ok()?.cert).ends?;
        (now.duration_until(ends) < RENEWAL)
            .then(|| format!("the client certificate {} expires at {ends:.0}; renew it", self.certificate.display()))
    }

    /// Whose it is, as digits; its file where that can't be read.
    pub(super) fn subject(&self) -> String {
        let subject = match &self.held {
            Some(held) => held.as_ref().ok().map(|key| described(&key.cert).subject),
            None => self.chain().ok().map(|chain| described(&chain).subject),
        };
        match subject.filter(|subject| !subject.is_empty()) {
            Some(subject) => subject.iter().map(|byte| format!("{byte:02x}")).collect(),
            None => self.certificate.display().to_string(),
        }
    }

    /// The certificate, and those that lead to its authority.
    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, Unusable> {
        let text = content(&self.certificate)?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty());
        chain.ok_or_else(|| self.bad("holds no readable certificate (PEM)".to_owned()))
    }

    fn bad(&self, problem: String) -> Unusable {
        Unusable { path: self.certificate.clone(), problem }
    }

    /// The file of the key.
    pub fn key(&self) -> &Path {
        &self.key
    }
}

/// Nothing of the key (law 11).
impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate").field("certificate", &self.certificate).field("key", &self.key).finish()
    }
}

fn content(path: &Path) -> Result<Zeroizing<Vec<u8>>, Unusable> {
    let mut content = Zeroizing::new(Vec::new());
    let read = file::regular(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut content));
    read.map_err(|error| Unusable { path: path.to_owned(), problem: format!("can't be read: {error}") })?;
    Ok(content)
}

/// What the first of these certificates says; nothing where it can't be taken apart.
fn described(chain: &[CertificateDer<'_>]) -> Described {
    chain.first().and_then(|first| taken_apart(first).ok()).unwrap_or_default()
}

/// The beginning of a certificate (RFC 5280, 4.1): version, number, algorithm, authority, time, subject.
fn taken_apart(der: &[u8]) -> Result<Described, Flaw> {
    let ((_, certificate), _) = ber::part(der)?;
    let ((_, mut rest), _) = ber::part(certificate)?;
    if let ((VERSION, _), after) = ber::part(rest)? {
        rest = after;
    }
    for _ in ["number", "algorithm", "authority"] {
        (_, rest) = ber::part(rest)?;
    }
    let ((_, validity), rest) = ber::part(rest)?;
    let (begins, after) = ber::part(validity)?;
    let (ends, _) = ber::part(after)?;
    let ((_, subject), _) = ber::part(rest)?;
    Ok(Described { subject: subject.to_owned(), begins: time(begins), ends: time(ends) })
}

/// A time of a certificate. One that says "never", by the last second of the year 9999, is none.
fn time((tag, text): (u8, &[u8])) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?;
    let century = match tag {
        SHORT_TIME if text < "50" => "20",
        SHORT_TIME => "19",
        _ => "",
    };
    let time = DateTime::strptime("%Y%m%d%H%M%SZ", format!("{century}{text}")).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CERTIFICATE: &str = include_str!("../../../tests/fixtures/certificates/client.pem");
    const KEY: &str = include_str!("../../../tests/fixtures/certificates/client.key");
    const OTHER_KEY: &str = include_str!("../../../tests/fixtures/certificates/other.key");

    /// Files of these contents; the folder goes with the first.
    fn laid(certificate: &str, key: &str) -> (tempfile::TempDir, ClientCertificate) {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("client.pem"), dir.path().join("client.key"));
        fs::write(&one, certificate).unwrap();
        fs::write(&other, key).unwrap();
        (dir, ClientCertificate::of(one, other))
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_certificate_is_shown_in_its_time_alone_and_named_before_its_end() {
        let (_dir, certificate) = laid(CERTIFICATE, KEY);
        for (now, problem, is_named) in [
            ("2023-12-31T23:59:59Z", Some("is not valid before 2024-01-01T00:00:00Z; is this machine's clock"), false),
            ("2024-01-01T00:00:00Z", None, false),
            ("2024-12-17T00:00:00Z", None, false),
            ("2024-12-19T00:00:00Z", None, true),
            ("2025-01-01T00:00:00Z", None, true),
            ("2025-01-01T00:00:01Z", Some("expired at 2025-01-01T00:00:00Z; put a renewed one there"), true),
        ] {
            let shown = certificate.shown(at(now)).map(drop).map_err(|unusable| unusable.problem);
            let fits = shown.as_ref().err().map_or(problem.is_none(), |said| problem.is_some_and(|p| said.contains(p)));
            assert!(fits, "{now}: {shown:?}");
            assert_eq!(certificate.expiry(at(now)).is_some(), is_named, "{now}");
        }
    }

    #[test]
    fn law_11_what_is_wrong_with_a_key_is_said_without_it() {
        let encrypted = KEY.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
        let garbled = KEY.replace("MIGHAgEAMBMG", "MIGHAgEAMBMH");
        let secret = KEY.lines().nth(1).unwrap();
        for (name, certificate, key, file, said) in [
            ("another's key", CERTIFICATE, OTHER_KEY, "client.key", "is not the key of the certificate in"),
            ("a passphrase", CERTIFICATE, &encrypted, "client.key", "without a passphrase"),
            ("no key", CERTIFICATE, "", "client.key", "holds no private key"),
            ("the certificate as key", CERTIFICATE, CERTIFICATE, "client.key", "holds no private key"),
            ("a key of no kind", CERTIFICATE, &garbled, "client.key", "of a kind that can't be used"),
            ("the key as certificate", KEY, KEY, "client.pem", "holds no readable certificate"),
        ] {
            let (_dir, certificate) = laid(certificate, key);
            let Unusable { path, problem } = certificate.read().unwrap_err();
            assert!(path.ends_with(file) && problem.contains(said), "{name}: {path:?} {problem}");
            assert!(!problem.contains(secret) && !format!("{certificate:?}").contains(secret), "{name}");
        }
    }

    #[test]
    fn a_renewed_certificate_is_found_unless_it_is_held() {
        let (dir, mut certificate) = laid(CERTIFICATE, KEY);
        let subject = certificate.subject();
        assert!(subject.contains(&b"rosterd-client".map(|byte| format!("{byte:02x}")).concat()), "{subject}");
        fs::write(dir.path().join("client.key"), OTHER_KEY).unwrap();
        certificate.read().unwrap_err();
        fs::write(dir.path().join("client.key"), KEY).unwrap();
        certificate.hold();
        drop(dir);
        certificate.read().unwrap();
        assert_eq!(certificate.subject(), subject);
        // One that was not there is missed when it is needed.
        let (dir, mut certificate) = laid(CERTIFICATE, KEY);
        drop(dir);
        certificate.hold();
        assert!(certificate.read().unwrap_err().problem.contains("can't be read"));
    }

    #[test]
    fn a_time_has_two_or_four_digits_of_its_year() {
        for (tag, text, expected) in [
            (SHORT_TIME, "240101000000Z", Some("2024-01-01T00:00:00Z")),
            (SHORT_TIME, "991231235959Z", Some("1999-12-31T23:59:59Z")),
            (0x18, "20500101000000Z", Some("2050-01-01T00:00:00Z")),
            (0x18, "soon", None),
        ] {
            assert_eq!(time((tag, text.as_bytes())), expected.map(at), "{text}");
        }
    }
}
