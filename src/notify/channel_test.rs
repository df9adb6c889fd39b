//! Tests the channels of notices without sending a notice.

use jiff::Timestamp;

use super::channel::Channel;
use super::digest::Recipients;
use super::mail::Letter;
use super::notice::{Notice, NoticeKind};
use super::{mail, web};
use crate::config::{Endpoint, Job, Mail, Notify, Protection};
use crate::status::host_name;

/// What was found out about one way to tell people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelTest {
    /// The key of the configuration.
    pub what: String,
    /// What was seen, or what is wrong.
    pub result: Result<String, String>,
}

/// Looks at every way to tell people that is configured. Nothing is sent to an address that would take it for news; the mail
/// server is reached, where `online` says so, up to the login.
pub async fn trials(options: &Notify, online: bool) -> Vec<ChannelTest> {
    let mut trials = Vec::new();
    let client = web::client(options).map(drop).map_err(|error| error.to_string());
    for (what, hook) in [("notify.webhook", &options.webhook), ("notify.heartbeat", &options.heartbeat)] {
        if let Some(hook) = hook {
            trials.push(ChannelTest { what: what.to_owned(), result: client.clone().map(|()| called(hook, options)) });
        }
    }
    if let Some(mail) = options.mail.clone() {
        let ca_file = options.ca_file.clone();
        let looked = client.and(
            tokio::task::spawn_blocking(move || look(&mail, ca_file.as_deref(), online))
                .await
                .unwrap_or_else(|_| Err("looking at it broke off".to_owned())),
        );
        trials.push(ChannelTest { what: "notify.mail".to_owned(), result: looked });
    }
    trials
}

/// Sends a notice that says that it is a test over every channel, and tells what came of each. Nothing is written down.
pub async fn test(options: &Notify, jobs: &[Job], at: Timestamp) -> Vec<ChannelTest> {
    let host = host_name();
    let text = format!("this is a test of rosterd on {host}: notices arrive here");
    let notice = Notice { id: format!("{:x}-test", at.as_millisecond()), ..Notice::new(at, NoticeKind::Test, text) };
    let mut trials = Vec::new();
    if let Some(hook) = &options.webhook {
        let result = match web::client(options) {
            Ok(client) => {
                let document = notice.document(&host, options);
                web::call(&client, hook, Some(&document)).await.map_err(|failure| failure.reason)
            }
            Err(error) => Err(error.to_string()),
        };
        trials.push(ChannelTest {
            what: "notify.webhook".to_owned(),
            result: result.map(|()| format!("sent to {}", hook.origin)),
        });
    }
    if let Some(mail) = &options.mail {
        let of_jobs = Recipients::all(jobs).into_iter().map(|own| (Channel::JobMail(own.job), own.options.mail_to));
        for (channel, to) in std::iter::once((Channel::Mail, mail.to.clone())).chain(of_jobs) {
            let sent = format!("{} took it for {} recipients", mail.relay.host, to.len());
            let mail = Mail { to, ..mail.clone() };
            let letter = Letter { mail, host: host.clone(), notice: notice.clone(), more: Vec::new() };
            let result = mail::send(letter, options).await.map_err(|failure| failure.reason);
            let what = if channel == Channel::Mail { "notify.mail".to_owned() } else { channel.to_string() };
            trials.push(ChannelTest { what, result: result.map(|()| sent) });
        }
    }
    trials
}

/// How an address is called; it says nothing of the path, which may be a key to it (law 11).
fn called(hook: &Endpoint, options: &Notify) -> String {
    let proxy =
        options.proxy.as_ref().map(|proxy| format!(" through {}", proxy.trim_end_matches('/'))).unwrap_or_default();
    format!("{}{proxy}; it was not called, so that no one takes this for news", hook.origin)
}

fn look(mail: &Mail, ca_file: Option<&std::path::Path>, online: bool) -> Result<String, String> {
    let host = host_name();
    mail::is_writable(mail, &host)?;
    let relay = &mail.relay;
    let way = match relay.protection {
        Protection::Tls => "TLS",
        Protection::StartTls => "STARTTLS",
        Protection::Plain => "no TLS, on this machine",
    };
    let server = format!("{} port {} with {way}", relay.host, relay.port);
    if !online {
        mail.login.as_ref().map_or(Ok(()), |(_, password)| {
            password.read().map(drop).map_err(|unusable| format!("{} {}", unusable.path.display(), unusable.problem))
        })?;
        return Ok(server);
    }
    mail::knock(mail, ca_file, &host)?;
    let login = if mail.login.is_some() { " and takes the login" } else { "" };
    Ok(format!("{server} answers{login}; no mail was sent"))
}
