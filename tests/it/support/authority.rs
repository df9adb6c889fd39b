//! A certificate authority of a test's own.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Makes, in a folder, an authority (`ca.pem`) and a certificate that it signed for these names (`srv.pem`, `srv.key`).
pub(crate) fn certificates(dir: &Path, names: &str) {
    let openssl = |arguments: &[&str]| {
        let made = Command::new("openssl").args(arguments).current_dir(dir).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    };
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let own = ["req", "-x509", "-days", "30", "-subj", "/CN=Test Root CA", "-keyout", "ca.key", "-out", "ca.pem"];
    let rights = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"];
    openssl(&[&own[..], &key, &rights].concat());
    openssl(&[&["req", "-subj", "/CN=localhost", "-keyout", "srv.key", "-out", "srv.csr"][..], &key].concat());
    fs::write(
        dir.join("ext"),
        format!("subjectAltName={names}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"),
    )
    .unwrap();
    let signed = ["x509", "-req", "-in", "srv.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
    openssl(&[&signed[..], &["-days", "30", "-extfile", "ext", "-out", "srv.pem"]].concat());
}

/// The server's side of TLS with the certificate of such a folder.
pub(crate) fn server(dir: &Path) -> Arc<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(dir.join("srv.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(dir.join("srv.key")).unwrap();
    let builder = ServerConfig::builder_with_provider(rosterd::tls::provider());
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(builder.with_single_cert(chain, key).unwrap())
}
