//! Sends mails.

use std::path::Path;
use std::time::Duration;

use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Message, SmtpTransport, Transport as _};
use secrecy::ExposeSecret as _;

use super::notice::Notice;
use super::web::Failure;
use crate::config::{Mail, Protection};
use crate::fault::chain;

/// The longest wait for one answer of the server.
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// Sends a notice on a thread of its own, which nobody waits for where the process ends: a server may be silent for long.
pub(super) async fn send(mail: &Mail, ca_file: Option<&Path>, host: &str, notice: &Notice) -> Result<(), Failure> {
    let (mail, ca_file) = (mail.clone(), ca_file.map(Path::to_owned));
    let (host, notice) = (host.to_owned(), notice.clone());
    let (told, result) = tokio::sync::oneshot::channel();
    let begun = std::thread::Builder::new().name("mail".to_owned()).spawn(move || {
        // Nobody listens any more where the process ends.
        let _ = told.send(deliver(&mail, ca_file.as_deref(), &host, &notice));
    });
    if let Err(error) = begun {
        return Err(Failure { reason: error.to_string(), is_general: true });
    }
    result.await.unwrap_or_else(|_| Err(Failure { reason: "the mail broke off".to_owned(), is_general: true }))
}

fn deliver(mail: &Mail, ca_file: Option<&Path>, host: &str, notice: &Notice) -> Result<(), Failure> {
    let failure = |reason: String, is_general| Failure { reason: format!("{}: {reason}", mail.relay.host), is_general };
    let message = message(mail, host, notice).map_err(|reason| failure(reason, false))?;
    let transport = transport(mail, ca_file, host).map_err(|reason| failure(reason, true))?;
    match transport.send(&message) {
        Ok(_) => Ok(()),
        // What a server says may quote an address: its code is enough.
        Err(error) => match error.status() {
            Some(code) => Err(failure(format!("the mail server answered {code}"), error.is_transient())),
            None => Err(failure(chain(&error), true)),
        },
    }
}

fn message(mail: &Mail, host: &str, notice: &Notice) -> Result<Message, String> {
    let wrong = |error: &dyn std::error::Error| format!("the mail can't be written: {error}");
    let mut builder = Message::builder()
        .from(mail.from.parse().map_err(|error| wrong(&error))?)
        .message_id(Some(format!("<{}@{host}>", notice.id)))
        .subject(format!("rosterd on {host}: {}", notice.text.split(" until ").next().unwrap_or_default()))
        .header(ContentType::TEXT_PLAIN);
    for to in &mail.to {
        builder = builder.to(to.parse().map_err(|error| wrong(&error))?);
    }
    let body = format!("{}\n\nNoticed {:.0} on {host}.\n`rosterd status` says more.\n", notice.lines(), notice.at);
    builder.body(body).map_err(|error| wrong(&error))
}

fn transport(mail: &Mail, ca_file: Option<&Path>, host: &str) -> Result<SmtpTransport, String> {
    let relay = &mail.relay;
    let parameters = || {
        let mut builder = TlsParameters::builder(relay.host.clone());
        if let Some(path) = ca_file {
            let pem = std::fs::read(path).map_err(|error| format!("ca_file {}: {error}", path.display()))?;
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
