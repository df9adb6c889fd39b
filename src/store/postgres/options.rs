//! How the database is reached.

use std::net::IpAddr;
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
    /// Which of the hosts is meant; all of them without it.
    host: Option<usize>,
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
        Self { options: options.clone(), held: OnceLock::new(), host: None }
    }

    /// Whether the URL names more than one host.
    pub(super) fn has_several_hosts(&self) -> bool {
        self.parsed().is_ok_and(|config| config.get_hosts().len() > 1)
    }

    /// The hosts by name, and what reaches each alone, whatever it takes.
    pub(super) fn each_host(&self) -> Vec<(String, Self)> {
        let Ok(config) = self.parsed() else { return Vec::new() };
        let name = |at: usize| match &config.get_hosts()[at] {
            Host::Tcp(name) => format!("{name}:{}", port(&config, at)),
            Host::Unix(path) => format!("{}:{}", path.display(), port(&config, at)),
        };
        let one = |at: usize| Self { options: self.options.clone(), held: self.held.clone(), host: Some(at) };
        (0..config.get_hosts().len()).map(|at| (name(at), one(at))).collect()
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
        let given = self.parsed()?;
        // For all hosts alike: what one of them is asked goes as everything else does.
        let is_local = is_local(&given);
        let mut config = match self.host {
            Some(at) => of_host(&given, at),
            None => given,
        };
        let read = || {
            let password = self.options.password.as_ref().map(SecretSource::read).transpose();
            password.map_err(|unusable| format!("the password in {} {}", unusable.path.display(), unusable.problem))
        };
        if let Some(password) = self.held.get().cloned().map_or_else(read, |held| Ok(Some(held)))? {
            config.password(password.expose_secret());
        }
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

/// The port of a host: one may count for all of them.
fn port(config: &Config, at: usize) -> u16 {
    let ports = config.get_ports();
    ports.get(at).or(ports.first()).copied().unwrap_or(5432)
}

/// The same for one of its hosts.
fn of_host(config: &Config, at: usize) -> Config {
    let mut one = Config::new();
    config.get_user().map(|user| one.user(user));
    config.get_dbname().map(|name| one.dbname(name));
    config.get_options().map(|options| one.options(options));
    match &config.get_hosts()[at] {
        Host::Tcp(name) => one.host(name),
        Host::Unix(path) => one.host_path(path),
    };
    config.get_hostaddrs().get(at).map(|address| one.hostaddr(*address));
    one.port(port(config, at)).channel_binding(config.get_channel_binding());
    one
}

/// Whether the database is reached by a socket or a loopback address only. Where addresses are given too, those are reached.
fn is_local(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(is_local) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
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
    fn each_host_of_a_url_is_reached_alone() {
        let names = |url: &str| -> Vec<(String, Vec<Host>, Vec<u16>)> {
            let options = DatabaseOptions { url: url.to_owned(), password: None, ca_file: None };
            let each = ConnectionOptions::new(&options).each_host().into_iter();
            each.map(|(name, one)| {
                let config = one.config().unwrap();
                assert_eq!((config.get_user(), config.get_dbname()), (Some("r"), Some("d")));
                (name, config.get_hosts().to_vec(), config.get_ports().to_vec())
            })
            .collect()
        };
        let tcp = |name: &str| vec![Host::Tcp(name.to_owned())];
        assert_eq!(names("postgresql://r@a/d"), [("a:5432".to_owned(), tcp("a"), vec![5432])]);
        assert_eq!(
            names("postgresql://r@a:1,b:2/d?target_session_attrs=read-write"),
            [("a:1".to_owned(), tcp("a"), vec![1]), ("b:2".to_owned(), tcp("b"), vec![2])]
        );
        let sockets = names("postgresql://r@%2Frun%2Fone:7,b:7/d");
        assert_eq!(sockets[0].0, "/run/one:7");
        assert_eq!(sockets[1], ("b:7".to_owned(), tcp("b"), vec![7]));
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
            ("localhost/r?hostaddr=10.0.0.1", false),
            ("localhost/r?hostaddr=127.0.0.2", true),
            ("db.example.com/r?hostaddr=127.0.0.1", false),
        ] {
            let url =
                if host.contains('/') { format!("postgresql://r@{host}") } else { format!("postgresql://r@{host}/r") };
            let options = DatabaseOptions { url, password: None, ca_file: None };
            let config = ConnectionOptions::new(&options).config().unwrap();
            assert_eq!(is_local(&config), local, "{host}");
            assert_eq!(config.get_ssl_mode(), if local { SslMode::Disable } else { SslMode::Require }, "{host}");
        }
    }
}
