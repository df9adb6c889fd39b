//! How the database is reached.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use rustls::ClientConfig;
use secrecy::{ExposeSecret as _, SecretString};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::secret::{SecretSource, Unusable};
use crate::tls;

/// How the database is reached. `Debug` and `Display` name no password.
#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    /// `postgresql://USER@HOST[:PORT]/DATABASE`, without a password.
    pub url: String,
    /// The password, where one is needed.
    pub password: Option<SecretSource>,
    /// Certificates added to the system's roots (PEM).
    pub ca_file: Option<PathBuf>,
}

/// The options of a connection, with the password where it was read early.
pub(super) struct ConnectionOptions {
    options: DatabaseOptions,
    held: OnceLock<SecretString>,
}

impl DatabaseOptions {
    /// Why a URL can't be used; a password in it is one reason, for the URL is shown.
    pub fn fault(url: &str) -> Option<String> {
        let config: Config = match url.parse() {
            Ok(config) => config,
            Err(error) => return Some(crate::fault::chain(&error)),
        };
        match () {
            () if config.get_password().is_some() => Some("it has a password in it".to_owned()),
            () if config.get_hosts().is_empty() => Some("it names no host".to_owned()),
            () if config.get_user().is_none() => Some("it names no user".to_owned()),
            () if config.get_dbname().is_none() => Some("it names no database".to_owned()),
            () => None,
        }
    }
}

impl ConnectionOptions {
    pub(super) fn new(options: &DatabaseOptions) -> Self {
        Self { options: options.clone(), held: OnceLock::new() }
    }

    /// What was given.
    #[cfg(test)]
    pub(super) fn given(&self) -> &DatabaseOptions {
        &self.options
    }

    pub(super) fn url(&self) -> &str {
        &self.options.url
    }

    pub(super) fn hold_password(&self) -> Result<(), Unusable> {
        if let Some(password) = &self.options.password {
            // It is held already where this fails.
            let _ = self.held.set(password.read()?);
        }
        Ok(())
    }

    pub(super) fn config(&self) -> Result<Config, String> {
        let mut config = self.parsed()?;
        let read = || {
            let password = self.options.password.as_ref().map(SecretSource::read).transpose();
            password.map_err(|unusable| format!("the password in {} {}", unusable.path.display(), unusable.problem))
        };
        if let Some(password) = self.held.get().cloned().map_or_else(read, |held| Ok(Some(held)))? {
            config.password(password.expose_secret());
        }
        let is_local = is_local(&config);
        config
            .application_name("rosterd")
            .keepalives_idle(Duration::from_secs(10))
            .tcp_user_timeout(Duration::from_secs(20))
            .ssl_mode(if is_local { SslMode::Disable } else { SslMode::Require });
        Ok(config)
    }

    fn parsed(&self) -> Result<Config, String> {
        self.options.url.parse().map_err(|error| crate::fault::chain(&error))
    }

    /// TLS that verifies certificate and name; `None` where no packet leaves the machine.
    pub(super) fn tls(&self) -> Result<Option<ClientConfig>, String> {
        let config = self.parsed()?;
        if is_local(&config) { Ok(None) } else { tls::verified(self.options.ca_file.as_deref()).map(Some) }
    }
}

/// Whether the database is reached by a socket or a loopback address only.
fn is_local(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback()),
        Host::Unix(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_can_t_be_used_says_why() {
        for (url, expected) in [
            ("postgresql://rosterd@db.example.com/rosterd", None),
            ("postgresql://rosterd@%2Frun%2Fpostgresql/rosterd", None),
            ("postgresql://rosterd:canary@db.example.com/rosterd", Some("it has a password in it")),
            ("postgresql://db.example.com/rosterd", Some("it names no user")),
            ("postgresql://rosterd@db.example.com", Some("it names no database")),
            ("postgresql:///rosterd?user=rosterd", Some("it names no host")),
        ] {
            assert_eq!(DatabaseOptions::fault(url).as_deref(), expected, "{url}");
        }
        assert!(DatabaseOptions::fault("https://db.example.com/rosterd").is_some());
    }

    #[test]
    fn only_what_leaves_the_machine_is_encrypted() {
        for (host, local) in [
            ("127.0.0.1", true),
            ("[::1]", true),
            ("localhost", true),
            ("%2Frun%2Fpg", true),
            ("10.0.0.1", false),
            ("db.example.com", false),
        ] {
            let options = DatabaseOptions { url: format!("postgresql://r@{host}/r"), password: None, ca_file: None };
            let config = ConnectionOptions::new(&options).config().unwrap();
            assert_eq!(is_local(&config), local, "{host}");
            assert_eq!(config.get_ssl_mode(), if local { SslMode::Disable } else { SslMode::Require }, "{host}");
        }
    }
}
