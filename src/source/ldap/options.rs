//! The options of a directory source.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::certificate::ClientCertificate;
use crate::http::is_this_machine;
use crate::secret::SecretSource;

/// What a job says about its directory.
#[derive(Clone, Debug)]
pub struct Options {
    /// The servers, tried in this order; never empty.
    pub servers: Vec<Server>,
    /// Whether a connection that begins in the clear is turned into TLS before anything else is said.
    pub start_tls: bool,
    /// Certificates (PEM) trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether a server's certificate is verified.
    pub tls_verify: bool,
    /// What is shown to a server that asks who this is, in TLS.
    pub certificate: Option<Box<ClientCertificate>>,
    /// Who asks.
    pub bind: Bind,
    /// Where entries are looked for; never empty.
    pub bases: Vec<String>,
    /// How deep.
    pub scope: SearchScope,
    /// Which of them count.
    pub filter: String,
    /// How many entries are asked for at once; 0 asks for all of them in one answer.
    pub page_size: i32,
    /// The longest wait for one answer.
    pub timeout: Duration,
    /// The longest that a whole read may take.
    pub total_timeout: Duration,
    /// Beginnings of referrals that are known to lie outside.
    pub ignore_referrals: Vec<String>,
    /// Attributes that no entry need have.
    pub optional: Vec<String>,
    /// Attributes that hold no text besides those that are known.
    pub binary: Vec<String>,
}

impl Options {
    /// How many entries are asked for at once by default.
    pub const PAGE_SIZE: i32 = 500;
    /// The longest wait for one answer by default.
    pub const TIMEOUT: Duration = Duration::from_secs(30);
    /// The longest duration of a whole read by default.
    pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(15 * 60);
    /// The default filter.
    pub const FILTER: &'static str = "(objectClass=person)";

    /// The defaults for servers and bases.
    pub fn at(servers: Vec<Server>, bases: Vec<String>) -> Self {
        Self {
            servers,
            start_tls: false,
            ca_file: None,
            tls_verify: true,
            certificate: None,
            bind: Bind::Anonymous,
            bases,
            scope: SearchScope::Subtree,
            filter: Self::FILTER.to_owned(),
            page_size: Self::PAGE_SIZE,
            timeout: Self::TIMEOUT,
            total_timeout: Self::TOTAL_TIMEOUT,
            ignore_referrals: Vec::new(),
            optional: Vec::new(),
            binary: Vec::new(),
        }
    }

    /// What a server knows the account by that asks; a text to be digested.
    pub(in crate::source) fn account(&self) -> String {
        match (&self.bind, &self.certificate) {
            (Bind::Simple { dn, .. }, _) => dn.clone(),
            (Bind::External, Some(certificate)) => format!("external {}", certificate.subject()),
            (Bind::Anonymous | Bind::External, _) => String::new(),
        }
    }

    /// Its secret, where it has one.
    pub fn secret(&mut self) -> Option<&mut SecretSource> {
        match &mut self.bind {
            Bind::Simple { password, .. } => Some(password),
            Bind::Anonymous | Bind::External => None,
        }
    }

    /// Reads the private key now, for a process that may not read its file later.
    pub fn hold_certificate(&mut self) {
        if let Some(certificate) = &mut self.certificate {
            certificate.hold();
        }
    }
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The address, without anything behind the port.
    pub url: String,
    /// The host, without the brackets of an IPv6 address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether the connection begins with TLS.
    pub tls: bool,
}

impl Server {
    /// Reads an address: `ldap://` or `ldaps://`, host and maybe port. The rest of it is given back, for those who take it.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as the rest of a sentence about it.
    pub fn parse(text: &str) -> Result<(Self, String), String> {
        let url = reqwest::Url::parse(text.trim()).map_err(|_| "is no address".to_owned())?;
        let (tls, usual) = match url.scheme() {
            "ldap" => (false, 389),
            "ldaps" => (true, 636),
            _ => return Err("begins with neither ldap:// nor ldaps://".to_owned()),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("holds a user, which belongs into bind_dn".to_owned());
        }
        let written = url.host_str().filter(|host| !host.is_empty()).ok_or("names no host")?;
        let host = written.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = url.port().unwrap_or(usual);
        let at = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let server = Self { url: format!("{}://{written}{at}", url.scheme()), host, port, tls };
        let mut rest = url.path().trim_start_matches('/').to_owned();
        if let Some(query) = url.query() {
            rest = format!("{rest}?{query}");
        }
        Ok((server, rest))
    }

    /// Whether it is this machine.
    pub fn is_loopback(&self) -> bool {
        is_this_machine(&self.host)
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// How a server learns who asks.
#[derive(Clone, Debug)]
pub enum Bind {
    /// Not at all.
    Anonymous,
    /// By a name and a password.
    Simple {
        /// The name, or for Active Directory `user@domain`.
        dn: String,
        /// The password.
        password: SecretSource,
    },
    /// By the client certificate (SASL EXTERNAL, RFC 4513, 5.2.3).
    External,
}

/// How deep a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchScope {
    /// The base and everything below it.
    Subtree,
    /// What is right below the base.
    One,
    /// The base alone.
    Base,
}

impl SearchScope {
    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Subtree => "sub",
            Self::One => "one",
            Self::Base => "base",
        }
    }

    pub(super) fn asked(self) -> ldap3::Scope {
        match self {
            Self::Subtree => ldap3::Scope::Subtree,
            Self::One => ldap3::Scope::OneLevel,
            Self::Base => ldap3::Scope::Base,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_address_has_a_scheme_a_host_and_maybe_a_port() {
        for (text, server, rest) in [
            ("ldap://a.example", Some(("a.example", 389, false)), ""),
            ("ldaps://a.example:3269/", Some(("a.example", 3269, true)), ""),
            ("ldaps://[::1]/dc=example,dc=org", Some(("::1", 636, true)), "dc=example,dc=org"),
            ("http://a.example", None, ""),
            ("ldap://", None, ""),
            ("a.example", None, ""),
            ("ldap://ana:hunter2@a.example", None, ""),
        ] {
            let parsed = Server::parse(text);
            let seen = parsed.as_ref().ok().map(|(server, _)| (server.host.as_str(), server.port, server.tls));
            assert_eq!(seen, server, "{text}");
            assert_eq!(parsed.map(|(_, rest)| rest).unwrap_or_default(), rest, "{text}");
        }
    }

    #[test]
    fn law_7_another_certificate_is_another_account() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/certificates");
        let by = |name: &str, key: &str| Options {
            bind: Bind::External,
            certificate: Some(Box::new(ClientCertificate::of(folder.join(name), folder.join(key)))),
            ..Options::at(Vec::new(), Vec::new())
        };
        let one = by("client.pem", "client.key").account();
        for (other, same) in [
            (by("client.pem", "moved.key"), true),
            (by("other.pem", "other.key"), false),
            (by("none.pem", "client.key"), false),
            (Options { bind: Bind::Anonymous, ..by("client.pem", "client.key") }, false),
        ] {
            assert_eq!(other.account() == one, same, "{other:?}");
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for (text, loopback) in [
            ("ldap://127.0.0.1:3890", true),
            ("ldap://localhost", true),
            ("ldap://[::1]", true),
            ("ldap://127.0.0.1.example.org", false),
            ("ldap://10.0.0.1", false),
        ] {
            assert_eq!(Server::parse(text).unwrap().0.is_loopback(), loopback, "{text}");
        }
    }
}
