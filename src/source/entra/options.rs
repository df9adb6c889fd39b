//! The options of a tenant.

use std::path::PathBuf;
use std::time::Duration;

use crate::secret::SecretSource;
use crate::source::https::Address;

/// What a job says about a tenant.
#[derive(Clone, Debug)]
pub struct Options {
    /// The tenant: its id, or one of its domains.
    pub tenant: String,
    /// The id of the app registration.
    pub client_id: String,
    /// What proves that it is the app.
    pub credential: Credential,
    /// Who is read; everybody without it.
    pub filter: Option<String>,
    /// The groups whose members are read, by id or display name; nested ones included. Empty for no choice by groups.
    pub groups: Vec<String>,
    /// Properties that are asked for besides those that the mapping names.
    pub select: Vec<String>,
    /// Properties that no user may have, and that are empty then.
    pub optional: Vec<String>,
    /// Where Microsoft Graph answers, with its version.
    pub graph: Address,
    /// Where tokens are issued.
    pub login: Address,
    /// Certificates (PEM) trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// The proxy that is asked; no proxy is asked for what this machine itself has.
    pub proxy: Option<String>,
    /// The longest that the whole read may take, waits included.
    pub timeout: Duration,
}

/// What proves that it is the app.
#[derive(Clone, Debug)]
pub enum Credential {
    /// A client secret.
    Secret(SecretSource),
    /// A certificate that the app registration knows, and its key; both PEM.
    Certificate {
        /// The certificate.
        certificate: PathBuf,
        /// Its private key (RSA).
        key: PathBuf,
    },
}

impl Options {
    /// The longest duration of a read by default.
    pub const TIMEOUT: Duration = Duration::from_secs(30 * 60);
    /// Where Microsoft Graph answers, save for national clouds.
    pub const GRAPH: &str = "https://graph.microsoft.com/v1.0";
    /// Where tokens are issued, save for national clouds.
    pub const LOGIN: &str = "https://login.microsoftonline.com";

    /// What selects the people of a read. Another app registration of the tenant sees the same people.
    pub fn selection(&self) -> String {
        let mut groups: Vec<String> = self.groups.iter().map(|group| group.to_lowercase()).collect();
        groups.sort();
        let (tenant, filter) = (self.tenant.to_lowercase(), self.filter.as_deref().unwrap_or_default());
        format!("{tenant}\n{filter}\n{}", groups.join("\n"))
    }

    /// Its secret, where it has one.
    pub fn secret(&mut self) -> Option<&mut SecretSource> {
        match &mut self.credential {
            Credential::Secret(secret) => Some(secret),
            Credential::Certificate { .. } => None,
        }
    }
}

#[cfg(any(test, fuzzing))]
impl Options {
    /// Those of a test.
    pub(super) fn of_test() -> Self {
        Self {
            tenant: "example.com".into(),
            client_id: "app".into(),
            credential: Credential::Secret(SecretSource::Text("s3cret".into())),
            filter: None,
            groups: Vec::new(),
            select: Vec::new(),
            optional: Vec::new(),
            graph: Address::parse(Self::GRAPH).expect("it is an address"),
            login: Address::parse(Self::LOGIN).expect("it is an address"),
            ca_file: None,
            proxy: None,
            timeout: Self::TIMEOUT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_7_another_tenant_filter_or_group_may_show_other_people() {
        let one = Options { groups: vec!["Staff".into(), "Guests".into()], ..Options::of_test() };
        for (other, same) in [
            (Options { tenant: "EXAMPLE.com".into(), ..one.clone() }, true),
            (Options { groups: vec!["guests".into(), "staff".into()], ..one.clone() }, true),
            (Options { client_id: "another".into(), ..one.clone() }, true),
            (Options { select: vec!["city".into()], ..one.clone() }, true),
            (Options { tenant: "example.org".into(), ..one.clone() }, false),
            (Options { filter: Some("accountEnabled eq true".into()), ..one.clone() }, false),
            (Options { groups: vec!["Staff".into()], ..one.clone() }, false),
        ] {
            assert_eq!(one.selection() == other.selection(), same, "{other:?}");
        }
    }
}
