//! TLS as a client: version 1.2 and up with the ring provider, whatever provider the process may have.
//!
//! Rejected: the roots of `ca_file` alone. A private root is added to the system's, so that one file serves a service inside
//! and outside.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::Verifier;

use crate::clock::Clock;
use crate::file;

/// The verifier of the system's roots alone, and when it was made: clients that are made about the same time share it. With
/// hundreds of accounts the roots would take more memory than all the rest.
static SYSTEM: Mutex<Option<(Instant, Weak<Verifier>)>> = Mutex::new(None);
/// How long it is shared: what the system trusts may have been replaced since.
const SHARED_MAX: Duration = Duration::from_secs(60);

/// A client that verifies servers against the system's roots and those of `ca_file`.
///
/// # Errors
///
/// Why it can't be made, as a sentence.
pub fn verified(ca_file: Option<&Path>) -> Result<ClientConfig, String> {
    let verifier = verifier(ca_file)?;
    Ok(builder().dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// A client that has no roots; it can't speak TLS to anybody. `ca_file` is looked at all the same.
pub fn without_roots(ca_file: Option<&Path>) -> Result<ClientConfig, String> {
    extra(ca_file)?;
    Ok(builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

/// The cryptography that is used.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The beginning of every client.
pub fn builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("ring speaks TLS 1.2 and 1.3")
}

/// Verifies against the system's roots and those of `ca_file`.
///
/// # Errors
///
/// Why it can't, as a sentence.
pub fn verifier(ca_file: Option<&Path>) -> Result<Arc<Verifier>, String> {
    if ca_file.is_some() {
        return made(ca_file);
    }
    let mut shared = SYSTEM.lock().unwrap_or_else(PoisonError::into_inner);
    let fresh = shared.as_ref().filter(|(made, _)| made.elapsed() < SHARED_MAX);
    if let Some(verifier) = fresh.and_then(|(_, verifier)| verifier.upgrade()) {
        return Ok(verifier);
    }
    let verifier = made(None)?;
    *shared = Some((Instant::now(), Arc::downgrade(&verifier)));
    Ok(verifier)
}

fn made(ca_file: Option<&Path>) -> Result<Arc<Verifier>, String> {
    let verifier = Verifier::new_with_extra_roots(extra(ca_file)?, provider()).map_err(|error| {
        format!("no authority can be trusted: {error}; install the system's certificates, or name some by ca_file")
    })?;
    Ok(Arc::new(verifier))
}

/// What to do about a fault of TLS that `text` describes, as the end of a sentence; nothing where it describes none.
/// `ca_file` is the setting that names further authorities.
pub fn hint(text: &str, ca_file: &str) -> String {
    let hint = if text.contains("UnknownIssuer") {
        format!("; set {ca_file} to the certificate of the authority that signed the server's")
    } else if text.contains("not valid for any names") {
        "; the certificate names no host in its subjectAltName, and a name elsewhere does not count: have it issued with \
         one"
            .to_owned()
    } else if text.contains("not valid for") {
        "; name the server as its certificate does".to_owned()
    } else if text.contains("CaUsedAsEndEntity") {
        "; the server's own certificate is one of a certificate authority; give it another".to_owned()
    } else if text.contains("InvalidContentType") || text.contains("corrupt message") {
        "; does this port speak TLS?".to_owned()
    } else {
        String::new()
    };
    hint + &clock_hint(text)
}

/// What else may be wrong where a certificate has expired or is not valid yet. A machine without a battery starts in 1970.
fn clock_hint(text: &str) -> String {
    let dated = ["certificate expired", "certificate not valid yet", "NotValidYet", "Expired"];
    match dated.iter().any(|word| text.contains(word)) {
        true => format!("; is this machine's clock right? it says {:.0}", Clock::system().now()),
        false => String::new(),
    }
}

/// The certificates of a PEM file.
fn extra(ca_file: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, String> {
    let Some(path) = ca_file else { return Ok(Vec::new()) };
    let unusable = |()| format!("ca_file {} holds no readable PEM certificates", path.display());
    let file = file::regular(path).map_err(|_| unusable(()))?;
    let certificates: Result<_, pem::Error> = CertificateDer::pem_reader_iter(file).collect();
    let extra: Vec<_> = certificates.map_err(|_| unusable(()))?;
    if extra.is_empty() {
        return Err(format!("ca_file {} holds no certificate", path.display()));
    }
    Ok(extra)
}
