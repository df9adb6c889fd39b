//! Sends mails.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use lettre::message::header::ContentType;
use lettre::transport::smtp;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Message, SmtpTransport, Transport as _};
use secrecy::ExposeSecret as _;

use super::notice::{Notice, NoticeKind};
use super::web::{self, Failure};
use crate::config::{Mail, Notify, Protection};
use crate::fault::chain;
use crate::file;

/// The longest wait for one answer of the server.
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// How much of the file of authorities is read.
const CA_BYTES_MAX: u64 = 1024 * 1024;

/// A notice as a mail.
#[derive(Clone, Debug)]
pub(super) struct Letter {
    /// The server, the sender and who gets it.
    pub(super) mail: Mail,
    /// This machine.
    pub(super) host: String,
    pub(super) notice: Notice,
    /// What stands below the notice, line by line.
    pub(super) more: Vec<String>,
}

/// Sends a notice on a thread of its own. The process does not wait for it at its end: a server may be silent for long.
pub(super) async fn send(letter: Letter, options: &Notify) -> Result<(), Failure> {
    let options = options.clone();
    let (sender, result) = tokio::sync::oneshot::channel();
    let begun = std::thread::Builder::new().name("mail".to_owned()).spawn(move || {
        // The receiver is gone if the process ends.
        let _ = sender.send(deliver(&letter, &options));
    });
    if let Err(error) = begun {
        return Err(Failure::general(error.to_string()));
    }
    result.await.unwrap_or_else(|_| Err(Failure::general("the mail broke off")))
}

fn deliver(letter: &Letter, options: &Notify) -> Result<(), Failure> {
    let Letter { mail, host, .. } = letter;
    let named = |reason: String| format!("{}: {reason}", mail.relay.host);
    let message = message(letter, options).map_err(|reason| Failure { reason: named(reason), is_general: false })?;
    let transport =
        transport(mail, options.ca_file.as_deref(), host).map_err(|reason| Failure::general(named(reason)))?;
    match transport.send(&message) {
        Ok(_) => Ok(()),
        Err(error) => {
            let is_general = error.status().is_none() || is_login(&error) || error.is_transient();
            Err(Failure { reason: named(describe(&error)), is_general })
        }
    }
}

/// Reaches the server as for a mail, TLS and login included, and sends none.
pub(super) fn knock(mail: &Mail, ca_file: Option<&Path>, host: &str) -> Result<(), String> {
    let of_relay = |reason: String| format!("{}: {reason}", mail.relay.host);
    let transport = transport(mail, ca_file, host).map_err(of_relay)?;
    match transport.test_connection() {
        Ok(true) => Ok(()),
        Ok(false) => Err(of_relay("it hung up".to_owned())),
        Err(error) => Err(of_relay(describe(&error))),
    }
}

/// Whether a mail can be written from and to the addresses that are configured.
pub(super) fn is_writable(mail: &Mail, host: &str) -> Result<(), String> {
    let notice = Notice::new(Timestamp::UNIX_EPOCH, NoticeKind::Recovered, "nothing".to_owned());
    message(&Letter { mail: mail.clone(), host: host.to_owned(), notice, more: Vec::new() }, &Notify::default())
        .map(drop)
}

/// What went wrong, and what to do about it.
fn describe(error: &smtp::Error) -> String {
    // What a server says may quote an address: its code is enough.
    match error.status() {
        Some(code) if is_login(error) => {
            format!("the mail server refused the login ({code}); check notify.mail.user and its password")
        }
        Some(code) => format!("the mail server answered {code}"),
        None => {
            let text = chain(error);
            if text.contains("STARTTLS is not supported") {
                return "the mail server offers no STARTTLS, and without TLS nothing is sent; does it take smtps://?"
                    .to_owned();
            }
            if text.contains("No compatible authentication mechanism") {
                return "the mail server takes no login here; leave out notify.mail.user, or name another port"
                    .to_owned();
            }
            web::explained(&text)
        }
    }
}

/// Whether the server refused who rosterd says it is (RFC 4954, section 6).
fn is_login(error: &smtp::Error) -> bool {
    error.status().is_some_and(|code| matches!(code.to_string().as_str(), "530" | "534" | "535" | "538"))
}

fn message(letter: &Letter, options: &Notify) -> Result<Message, String> {
    let Letter { mail, host, notice, more } = letter;
    let wrong = |error: &dyn std::error::Error| format!("the mail can't be written: {error}");
    let account = options.account.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let mut builder = Message::builder()
        .from(mail.from.parse().map_err(|error| wrong(&error))?)
        .message_id(Some(format!("<{}@{host}>", notice.id)))
        .subject(format!("rosterd on {host}{account}: {}", notice.text.split(" until ").next().unwrap_or_default()))
        .header(ContentType::TEXT_PLAIN);
    for to in &mail.to {
        builder = builder.to(to.parse().map_err(|error| wrong(&error))?);
    }
    let links: String = notice.links(options).iter().map(|link| format!("{link}\n")).collect();
    let more: String = more.iter().map(|line| format!("\n{line}")).collect();
    let body = format!(
        "{}{more}\n\nNoticed {:.0} on {host}{account}.\n`rosterd status` says more.\n{links}",
        notice.lines(),
        notice.at
    );
    builder.body(body).map_err(|error| wrong(&error))
}

fn transport(mail: &Mail, ca_file: Option<&Path>, host: &str) -> Result<SmtpTransport, String> {
    let relay = &mail.relay;
    let parameters = || {
        let mut builder = TlsParameters::builder(relay.host.clone());
        if let Some(path) = ca_file {
            let mut pem = Vec::new();
            let read = file::regular(path).and_then(|file| file.take(CA_BYTES_MAX).read_to_end(&mut pem));
            read.map_err(|error| format!("ca_file {}: {error}", path.display()))?;
            let certificate = Certificate::from_pem(&pem);
            builder = builder.add_root_certificate(certificate.map_err(|error| format!("ca_file: {error}"))?);
        }
        builder.build_rustls().map_err(|error| error.to_string())
    };
    let tls = match relay.protection {
        Protection::Tls => Tls::Wrapper(parameters()?),
        Protection::StartTls => Tls::Required(parameters()?),
        Protection::Plain => Tls::None,
    };
    let mut builder = SmtpTransport::builder_dangerous(&relay.host)
        .port(relay.port)
        .tls(tls)
        .hello_name(ClientId::Domain(host.to_owned()))
        .timeout(Some(ANSWER_MAX));
    if let Some((user, password)) = &mail.login {
        let password =
            password.read().map_err(|unusable| format!("{} {}", unusable.path.display(), unusable.problem))?;
        builder = builder.credentials(Credentials::new(user.clone(), password.expose_secret().to_owned()));
    }
    Ok(builder.build())
}
