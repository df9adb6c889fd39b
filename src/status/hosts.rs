//! The names that the page answers to.
//!
//! Another site's page, open in a browser that reaches this machine, may have its own name point here (DNS rebinding)
//! and then read what is answered. The browser sends that name along: so only requests to a name of this machine are
//! answered. An address is one: no site can make it point elsewhere.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, PoisonError, RwLock};

use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};

/// This machine's name, as it may stand in an address.
pub fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let name: String = name.trim().chars().filter(fits).collect();
    if name.is_empty() { "localhost".to_owned() } else { name }
}

/// The names that the page answers to, besides addresses; clones share them.
#[derive(Clone, Debug)]
pub struct Hosts(Arc<RwLock<BTreeSet<String>>>);

impl Hosts {
    /// The names of this machine, and those that the configuration gives.
    pub(super) fn new(configured: &[String]) -> Self {
        let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let hosts = Self(Arc::default());
        hosts.add(&["localhost".to_owned(), own]);
        hosts.add(configured);
        hosts
    }

    /// Adds the names that another account's configuration gives.
    pub fn add(&self, configured: &[String]) {
        let names = configured.iter().map(|name| plain(name)).filter(|name| !name.is_empty());
        self.0.write().unwrap_or_else(PoisonError::into_inner).extend(names);
    }

    /// Whether a request is for one of them. One that names none comes from no browser.
    pub(super) fn take(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let named = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
        uri.authority().map(Authority::as_str).into_iter().chain(named).all(|host| self.has(host))
    }

    fn has(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = plain(authority.host());
        let v6 = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let is_address = v6.is_some_and(|v6| v6.parse::<Ipv6Addr>().is_ok()) || name.parse::<IpAddr>().is_ok();
        is_address || self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&name)
    }
}

/// A name as it is compared.
fn plain(name: &str) -> String {
    name.trim().trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_answered() {
        let hosts = Hosts::new(&["Roster.Example.com".to_owned()]);
        let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
        for (host, expected) in [
            ("127.0.0.1:9464", true),
            ("[::1]:9464", true),
            ("192.0.2.7", true),
            ("localhost", true),
            ("LOCALHOST.:9464", true),
            (own.as_str(), true),
            ("roster.example.com:443", true),
            ("evil.example.net", false),
            ("127.0.0.1.evil.example.net", false),
            ("localhost.evil.example.net", false),
            ("evil.example.net:9464", false),
            ("localhost@evil.example.net", false),
            ("[evil]", false),
            ("a b", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            assert_eq!(hosts.take(&Uri::from_static("/"), &headers), expected, "{host:?}");
            headers.append(HOST, "evil.example.net".parse().unwrap());
            assert!(!hosts.take(&Uri::from_static("/"), &headers), "a second one after {host:?}");
        }
        assert!(hosts.take(&Uri::from_static("/"), &HeaderMap::new()), "no browser");
        assert!(!hosts.take(&Uri::from_static("http://evil.example.net/"), &HeaderMap::new()));
    }
}
