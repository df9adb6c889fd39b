//! The status page and the notices of the daemon.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use secrecy::SecretString;

use super::approvals::Approvals;
use super::schedule::Schedule;
use crate::hr_report::Language;
use crate::secret::SecretSource;

/// The status page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Where it answers; `None` where it is turned off.
    pub listen: Option<SocketAddr>,
    /// Its address as people see it, for notices: as it is written, or where it answers other machines too.
    pub url: Option<String>,
    /// Names under which it answers, besides this machine's own.
    pub hosts: Vec<String>,
}

impl Status {
    /// Its default address.
    pub const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);
}

/// Who is notified when something needs a person.
#[derive(Clone, Debug, Default)]
pub struct Notify {
    /// Takes each notice as JSON.
    pub webhook: Option<Endpoint>,
    /// Takes each notice as a mail.
    pub mail: Option<Mail>,
    /// Called while all is well.
    pub heartbeat: Option<Endpoint>,
    /// Certificates of authorities that are trusted besides the system's; those of the service unless others are named.
    pub ca_file: Option<PathBuf>,
    /// The status page as people see it; each notice ends with it.
    pub page: Option<String>,
    /// Which of several accounts it is about.
    pub account: Option<String>,
    /// Where people decide in a browser; a notice of what is held leads there.
    pub approvals: Option<Approvals>,
    /// The proxy for webhook and heartbeat; that of the service unless another is named. Mails go straight to their server.
    pub proxy: Option<String>,
}

impl Notify {
    /// Whether there are no notices at all.
    pub fn is_off(&self) -> bool {
        self.webhook.is_none() && self.mail.is_none() && self.heartbeat.is_none()
    }
}

/// How the reports beside a dropped file are written.
#[derive(Clone, Debug, Default)]
pub struct HrReportOptions {
    /// Their language.
    pub language: Language,
    /// Who answers questions; each report names it.
    pub contact: Option<String>,
    /// The page where people decide on what the job holds.
    pub decide_at: Option<String>,
}

/// Who is notified of one job, besides those of [`Notify`].
#[derive(Clone, Debug, Default)]
pub struct JobNotify {
    /// Who gets the notices of the job as mails, and its digest.
    pub mail_to: Vec<String>,
    /// When a summary is sent to them; its times are in the job's zone.
    pub digest: Option<Schedule>,
    /// Whether that names people.
    pub digest_names: bool,
}

/// An address that is called. Anyone who knows all of it may call it too, so it is shown without its path (law 11).
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The whole of it.
    pub url: SecretString,
    /// Scheme and host, for messages.
    pub origin: String,
}

/// Mails and the server that takes them.
#[derive(Clone, Debug)]
pub struct Mail {
    /// Who gets them; at least one.
    pub to: Vec<String>,
    /// Who sends them.
    pub from: String,
    /// The server.
    pub relay: Relay,
    /// Name and password at the server, where it wants them.
    pub login: Option<(String, SecretSource)>,
}

/// A server that takes mails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How the connection is protected.
    pub protection: Protection,
}

/// How the connection to a mail server is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// TLS from the first byte (`smtps://`).
    Tls,
    /// TLS after STARTTLS, without which nothing is sent (`smtp://`).
    StartTls,
    /// None: to this machine itself only, where STARTTLS is not asked for.
    Plain,
}
