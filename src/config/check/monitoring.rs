//! Checks the status page and the notices.

use std::net::SocketAddr;

use lettre::message::Mailbox;
use reqwest::Url;
use secrecy::SecretString;

use super::secret::{self, FoundSecret};
use super::{Environment, text, url};
use crate::config::monitoring::{Endpoint, Mail, Notify, Protection, Relay, Status};
use crate::config::raw::{RawApi, RawMail, RawNotify, RawStatus};
use crate::config::report::Report;

const HOOK_HINT: &str = "write it like https://chat.example.com/hook; plain http is for this machine itself only";
const RELAY_HINT: &str = "write it like smtps://mail.example.com, or smtp://mail.example.com for STARTTLS";
const MAIL_HINT: &str = "write it like it@example.com";

/// An empty text turns the page off. An instance of several has none by default: they can't share an address.
pub(super) fn status(raw: &RawStatus, ground: &Environment, report: &mut Report) -> Status {
    const HINT: &str = "write it like \"127.0.0.1:9464\" or \"[::1]:9464\"; \"\" turns the page off";
    let url = raw.url.as_deref().and_then(|text| text::unless_empty(Some(text))).and_then(|text| page(text, report));
    let hosts = hosts(raw, url.as_deref(), report);
    let Some(given) = raw.listen.as_deref() else {
        return Status { listen: ground.instance.is_none().then_some(Status::LISTEN), url, hosts };
    };
    let listen = text::parsed("status.listen", text::unless_empty(Some(given)), HINT, report, |text| {
        text.trim().parse::<SocketAddr>().map_err(|_| format!("{text:?} is no address with a port"))
    });
    if let Some(address) = listen.filter(|address| !address.ip().is_loopback()) {
        let message = format!("{address} can be reached from other machines, and the page has no login");
        report.warning("status.listen", message, Some("put a proxy that does before it, or use 127.0.0.1"));
    }
    let seen = listen.filter(|address| !address.ip().is_loopback() && !address.ip().is_unspecified());
    Status { listen, hosts, url: url.or_else(|| seen.map(|address| format!("http://{address}/"))) }
}

/// The page's address as people see it.
fn page(written: &str, report: &mut Report) -> Option<String> {
    let url = Url::parse(written.trim()).ok();
    let fits =
        |url: &Url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|host| !host.is_empty());
    let url = url.filter(fits).map(|url| url.to_string());
    if url.is_none() {
        let hint = "write it like \"https://roster.example.com/\"";
        report.problem("status.url", "is no address of a web page", Some(hint));
    }
    url
}

/// Names of this machine, without scheme, port or path; that of the page's address is one.
fn hosts(raw: &RawStatus, url: Option<&str>, report: &mut Report) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    for name in raw.hosts.iter().filter(|name| name.is_empty() || !name.chars().all(is_name)) {
        let message = format!("{name:?} is no name of a machine");
        report.problem("status.hosts", message, Some("write it like \"roster.example.com\", without scheme and port"));
    }
    let seen = url.and_then(|url| Some(Url::parse(url).ok()?.host_str()?.to_owned()));
    raw.hosts.iter().cloned().chain(seen).collect()
}

/// Who receives notices; a part with a mistake is left out, and the report says why. Where it names no authority or
/// proxy of its own, those of the service count; an empty text disables them.
pub(in crate::config) fn notify(raw: &RawNotify, api: &RawApi, ground: &Environment, report: &mut Report) -> Notify {
    let ca_file = match raw.ca_file.as_deref() {
        None => text::unless_empty(api.ca_file.as_deref()).map(|file| ground.path(file)),
        given => super::api::ca_file("notify.ca_file", given, ground, report),
    };
    let proxy = match raw.proxy.as_deref() {
        None => text::unless_empty(api.proxy.as_deref()).and_then(|text| url::proxy(text).ok()),
        given => super::api::proxy("notify.proxy", given, report),
    };
    Notify {
        webhook: hook("notify.webhook", raw.webhook.as_deref(), report),
        mail: raw.mail.as_ref().filter(|raw| !raw.is_empty()).and_then(|raw| mail(raw, ground, report)),
        heartbeat: hook("notify.heartbeat", raw.heartbeat.as_deref(), report),
        page: None,
        ca_file,
        proxy,
    }
}

/// The address may hold a key to the place, so that no message quotes it (law 11).
fn hook(place: &str, given: Option<&str>, report: &mut Report) -> Option<Endpoint> {
    let written = text::unless_empty(given)?.trim();
    let fits = |url: &Url| {
        url.host_str().is_some_and(|host| !host.is_empty())
            && (url.scheme() == "https" || (url.scheme() == "http" && url::is_loopback(url)))
    };
    let Some(url) = Url::parse(written).ok().filter(fits) else {
        report.problem(place, "is no https address", Some(HOOK_HINT));
        return None;
    };
    let origin = url.origin().ascii_serialization();
    Some(Endpoint { url: SecretString::from(url.as_str()), origin })
}

fn mail(raw: &RawMail, ground: &Environment, report: &mut Report) -> Option<Mail> {
    let address = |place: &str, text: &str, report: &mut Report| match text.trim().parse::<Mailbox>() {
        Ok(mailbox) => Some(mailbox.to_string()),
        Err(_) => {
            report.problem(place, format!("{text:?} is no mail address"), Some(MAIL_HINT));
            None
        }
    };
    if raw.to.is_empty() {
        report.problem("notify.mail.to", "no address is given", Some(MAIL_HINT));
    }
    let to: Option<Vec<String>> = raw.to.iter().map(|to| address("notify.mail.to", to, report)).collect();
    let from = match raw.from.as_deref() {
        Some(from) => address("notify.mail.from", from, report),
        None => {
            report.problem("notify.mail.from", "is missing", Some(MAIL_HINT));
            None
        }
    };
    let relay = match raw.smtp.as_deref() {
        Some(smtp) => relay(smtp, raw.start_tls, report),
        None => {
            report.problem("notify.mail.smtp", "is missing", Some(RELAY_HINT));
            None
        }
    };
    let login = login(raw, relay.as_ref(), ground, report);
    Some(Mail { to: to.filter(|to| !to.is_empty())?, from: from?, relay: relay?, login: login? })
}

/// Beyond this machine itself a mail is never sent unprotected, whatever `start_tls` says.
fn relay(written: &str, start_tls: Option<bool>, report: &mut Report) -> Option<Relay> {
    let place = "notify.mail.smtp";
    let url = Url::parse(written.trim()).ok();
    let Some((url, host)) = url.as_ref().and_then(|url| Some((url, url.host_str().filter(|host| !host.is_empty())?)))
    else {
        report.problem(place, "is no address of a mail server", Some(RELAY_HINT));
        return None;
    };
    if !url.username().is_empty() || url.password().is_some() {
        report.problem(place, "holds a name or password", Some("write them as user and password_file"));
        return None;
    }
    let (protection, port) = match url.scheme() {
        "smtps" => (Protection::Tls, 465),
        "smtp" if url::is_loopback(url) && start_tls != Some(true) => (Protection::Plain, 25),
        "smtp" => (Protection::StartTls, 587),
        _ => {
            report.problem(place, "is no address of a mail server", Some(RELAY_HINT));
            return None;
        }
    };
    let contradicts = match (protection, start_tls) {
        (Protection::StartTls, Some(false)) => Some("mails would go unprotected"),
        (Protection::Tls, Some(true)) => Some("smtps:// speaks TLS from the first byte"),
        _ => None,
    };
    if let Some(why) = contradicts {
        report.problem("notify.mail.start_tls", why, Some("leave it out"));
        return None;
    }
    let host = host.trim_matches(['[', ']']).to_owned();
    Some(Relay { host, port: url.port().unwrap_or(port), protection })
}

/// The login, where there is one; `None` where it is wrong.
fn login(
    raw: &RawMail,
    relay: Option<&Relay>,
    ground: &Environment,
    report: &mut Report,
) -> Option<Option<(String, crate::secret::SecretSource)>> {
    let Some(user) = text::filled("notify.mail.user", raw.user.as_deref(), report) else {
        for (place, given) in [
            ("notify.mail.password", raw.password.is_some()),
            ("notify.mail.password_file", raw.password_file.is_some()),
        ] {
            if given {
                report.problem(place, "is given without user", Some("add user, or leave it out"));
            }
        }
        return Some(None);
    };
    let found = secret::check(
        ("notify.mail", "password"),
        &["smtp_password"],
        raw.password.as_deref(),
        raw.password_file.as_deref(),
        ground,
        report,
    );
    match found {
        FoundSecret::Secret(password) => {
            if relay.is_some_and(|relay| relay.protection == Protection::Plain) {
                let message = "the password goes unprotected, though to this machine only";
                report.warning("notify.mail.smtp", message, None);
            }
            Some(Some((user.to_owned(), password)))
        }
        FoundSecret::Nothing => {
            let hint = format!("add password_file{}", ground.credentials.places("smtp_password"));
            report.problem("notify.mail.user", "there is no password for it", Some(&hint));
            None
        }
        FoundSecret::Bad => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::credentials::Credentials;

    #[test]
    fn one_of_several_instances_has_a_page_only_where_it_is_configured() {
        for (instance, listen, expected) in [
            (None, None, Some("127.0.0.1:9464")),
            (Some("north"), None, None),
            (Some("north"), Some("127.0.0.1:9465"), Some("127.0.0.1:9465")),
            (Some("north"), Some(""), None),
        ] {
            let ground = Environment {
                config: "/etc/rosterd/config.toml".into(),
                dir: "/etc/rosterd".into(),
                instance: instance.map(|name| name.parse().unwrap()),
                credentials: Credentials::default(),
                wants_secrets: true,
                passwords: Vec::new(),
            };
            let raw = RawStatus { listen: listen.map(str::to_owned), ..RawStatus::default() };
            let found = status(&raw, &ground, &mut Report::new("config.toml".into()));
            assert_eq!(found.listen, expected.map(|address| address.parse().unwrap()), "{instance:?} {listen:?}");
        }
    }
}
