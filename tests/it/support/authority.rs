//! A certificate authority of a test's own.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What makes a new key.
const KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/// Makes, in a folder, an authority (`ca.pem`) and a certificate that it signed for these names (`srv.pem`, `srv.key`).
pub(crate) fn certificates(dir: &Path, names: &str) {
    let own = ["req", "-x509", "-days", "30", "-subj", "/CN=Test Root CA", "-keyout", "ca.key", "-out", "ca.pem"];
    let rights = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"];
    openssl(dir, &[&own[..], &KEY, &rights].concat());
    sign(dir, "srv", "/CN=localhost", &format!("subjectAltName={names}\nextendedKeyUsage=serverAuth\n"));
}

/// Makes a certificate for a client of that subject (`NAME.pem`, `NAME.key`), signed by the authority of the folder.
pub(crate) fn client(dir: &Path, name: &str, subject: &str) {
    sign(dir, name, subject, "extendedKeyUsage=clientAuth\n");
    fs::set_permissions(dir.join(name).with_extension("key"), Permissions::from_mode(0o600)).unwrap();
}

fn sign(dir: &Path, name: &str, subject: &str, lines: &str) {
    let file = |kind: &str| format!("{name}.{kind}");
    let (key, request, made) = (file("key"), file("csr"), file("pem"));
    openssl(dir, &[&["req", "-subj", subject, "-keyout", &key, "-out", &request][..], &KEY].concat());
    fs::write(dir.join("ext"), format!("basicConstraints=CA:FALSE\n{lines}")).unwrap();
    let signed = ["x509", "-req", "-in", &request, "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
    openssl(dir, &[&signed[..], &["-days", "30", "-extfile", "ext", "-out", &made]].concat());
}

fn openssl(dir: &Path, arguments: &[&str]) {
    let made = Command::new("openssl").args(arguments).current_dir(dir).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// The server's side of TLS with the certificate of such a folder.
pub(crate) fn server(dir: &Path) -> Arc<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(dir.join("srv.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(dir.join("srv.key")).unwrap();
    let builder = ServerConfig::builder_with_provider(rosterd::tls::provider());
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(builder.with_single_cert(chain, key).unwrap())
}
