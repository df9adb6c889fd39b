//! Checks the status page and the notices.

use std::net::SocketAddr;

use lettre::message::Mailbox;
use reqwest::Url;
use secrecy::SecretString;

use super::secret::FoundSecret;
use super::section::Section;
use super::{api, url};
use crate::config::instance::InstanceProcess;
use crate::config::monitoring::{Endpoint, HrReportOptions, JobNotify, Mail, Notify, Protection, Relay, Status};
use crate::config::options::Job;
use crate::config::schedule::Schedule;
use crate::hr_report::Language;
use crate::secret::SecretSource;

const LISTEN_HINT: &str = "write it like \"127.0.0.1:9464\" or \"[::1]:9464\"; \"\" turns the page off";
const HOOK_HINT: &str = "write it like https://chat.example.com/hook; plain http is for this machine itself only";
const RELAY_HINT: &str = "write it like smtps://mail.example.com, or smtp://mail.example.com for STARTTLS";
const MAIL_HINT: &str = "write it like it@example.com";

/// An empty text turns the page off. An instance with a daemon of its own has none by default: two can't share an address.
pub(super) fn status(status: &Section<'_>) -> Status {
    let url = page(status);
    let hosts = hosts(status, url.as_deref());
    if !status.has("listen") {
        let has_own = status.ground.instance.as_ref().is_some_and(|one| one.process() == InstanceProcess::Own);
        return Status { listen: (!has_own).then_some(Status::LISTEN), url, hosts };
    }
    let listen = status.unless_empty("listen").and_then(|text| {
        let address = text.trim().parse::<SocketAddr>();
        status.taken("listen", address.map_err(|_| (format!("{text:?} is no address with a port"), LISTEN_HINT)))
    });
    if let Some(address) = listen.filter(|address| !address.ip().is_loopback()) {
        let message = format!("{address} can be reached from other machines, and the page has no login");
        status.warning("listen", message, Some("put a proxy that does before it, or use 127.0.0.1"));
    }
    let seen = listen.filter(|address| !address.ip().is_loopback() && !address.ip().is_unspecified());
    Status { listen, hosts, url: url.or_else(|| seen.map(|address| format!("http://{address}/"))) }
}

/// The page's address as people see it.
fn page(status: &Section<'_>) -> Option<String> {
    let written = status.unless_empty("url")?;
    let url = with_host(written).filter(|url| matches!(url.scheme(), "http" | "https")).map(|url| url.to_string());
    url.or_else(|| {
        let hint = "write it like \"https://roster.example.com/\"";
        status.wrong("url", "is no address of a web page", Some(hint))
    })
}

/// An address that names a host.
fn with_host(written: &str) -> Option<Url> {
    Url::parse(written.trim()).ok().filter(|url| url.host_str().is_some_and(|host| !host.is_empty()))
}

/// Names of this machine, without scheme, port or path; that of the page's address is one.
fn hosts(status: &Section<'_>, url: Option<&str>) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let given: Vec<String> = status.list("hosts");
    for name in given.iter().filter(|name| name.is_empty() || !name.chars().all(is_name)) {
        let message = format!("{name:?} is no name of a machine");
        status.problem("hosts", message, Some("write it like \"roster.example.com\", without scheme and port"));
    }
    let seen = url.and_then(|url| Some(Url::parse(url).ok()?.host_str()?.to_owned()));
    given.into_iter().chain(seen).collect()
}

/// Who receives notices; a part with a mistake is left out, and the report says why. Where it names no authority or
/// proxy of its own, those of the service count; an empty text disables them.
pub(super) fn notify(notify: &Section<'_>, service: &Section<'_>) -> Notify {
    let ca_file = if notify.has("ca_file") { notify.ca_file() } else { service.path("ca_file") };
    let proxy = if notify.has("proxy") {
        api::proxy(notify)
    } else {
        service.unless_empty("proxy").and_then(|text| url::proxy(text).ok())
    };
    let webhook = hook(notify, "webhook");
    let mail = mail(&notify.section("mail"));
    let (heartbeat, account) = (hook(notify, "heartbeat"), notify.ground.instance.as_ref().map(ToString::to_string));
    Notify { webhook, mail, heartbeat, page: None, account, approvals: None, ca_file, proxy }
}

/// How reports are written, of any job.
pub(super) fn hr_reports(report: &Section<'_>, notify: &Section<'_>) -> HrReportOptions {
    let languages: Vec<(&str, Language)> = Language::all().map(|language| (language.code(), language)).collect();
    let language = report.choice("language", &languages);
    let contact = notify.unless_empty("contact").map(str::to_owned);
    HrReportOptions { language: language.unwrap_or_default(), contact, decide_at: None }
}

/// Who is notified of one job; a part with a mistake is left out, and the report says why.
pub(super) fn job_notify(notify: &Section<'_>) -> JobNotify {
    let mail_to: Vec<String> = notify.list("mail_to");
    let mail_to: Vec<String> = mail_to.iter().filter_map(|to| address(notify, "mail_to", to)).collect();
    let digest = notify.unless_empty("digest").and_then(|text| {
        notify.taken("digest", text.parse::<Schedule>().map_err(|error| (error.to_string(), Schedule::HINT)))
    });
    let digest_names = notify.flag("digest_names").unwrap_or_default();
    let nobody = Some("add mail_to, or leave it out");
    if mail_to.is_empty() && !notify.is_bad("mail_to") {
        if digest.is_some() {
            notify.problem("digest", "no one would get the summary", nobody);
        }
    } else if digest_names && digest.is_none() && !notify.is_bad("digest") {
        notify.warning("digest_names", "there is no summary", Some("add digest, such as \"0 8 * * 1\""));
    }
    JobNotify { mail_to, digest, digest_names }
}

/// Sees that there is a mail server for the recipients of jobs.
pub(super) fn check_all(jobs: &[Option<Job>], notify: &Notify, top: &Section<'_>) {
    let tables = top.sections("job");
    for (job, table) in jobs.iter().zip(&tables) {
        let wants_mail = job.as_ref().is_some_and(|job| !job.notify.mail_to.is_empty());
        if wants_mail && notify.mail.is_none() && !top.is_bad("notify") {
            let hint = "say which server takes mails: [notify] mail = { to = [...], from = \"...\", smtp = \"...\" }";
            table.section("notify").problem("mail_to", "no mail server is configured", Some(hint));
        }
    }
}

fn address(section: &Section<'_>, key: &str, text: &str) -> Option<String> {
    match text.trim().parse::<Mailbox>() {
        Ok(mailbox) => Some(mailbox.to_string()),
        Err(_) => section.wrong(key, format!("{text:?} is no mail address"), Some(MAIL_HINT)),
    }
}

/// The address may hold a key to the place, so that no message quotes it (law 11).
fn hook(notify: &Section<'_>, key: &str) -> Option<Endpoint> {
    let fits = |url: &Url| url.scheme() == "https" || (url.scheme() == "http" && url::is_loopback(url));
    let Some(url) = with_host(notify.unless_empty(key)?).filter(fits) else {
        return notify.wrong(key, "is no https address", Some(HOOK_HINT));
    };
    let origin = url.origin().ascii_serialization();
    Some(Endpoint { url: SecretString::from(url.as_str()), origin })
}

/// An empty table turns mail off.
fn mail(mail: &Section<'_>) -> Option<Mail> {
    let recipients: Vec<String> = mail.list("to");
    if recipients.is_empty() && mail.keys().all(|key| key == "to") {
        return None;
    }
    let address = |key: &str, text: &str| address(mail, key, text);
    if recipients.is_empty() {
        mail.problem("to", "no address is given", Some(MAIL_HINT));
    }
    let to: Option<Vec<String>> = recipients.iter().map(|to| address("to", to)).collect();
    let from = mail.present("from", MAIL_HINT).and_then(|from| address("from", from));
    let relay = mail.present("smtp", RELAY_HINT).and_then(|smtp| relay(mail, smtp));
    let login = login(mail, relay.as_ref());
    Some(Mail { to: to.filter(|to| !to.is_empty())?, from: from?, relay: relay?, login: login? })
}

/// Beyond this machine itself a mail is never sent unprotected, whatever `start_tls` says.
fn relay(mail: &Section<'_>, written: &str) -> Option<Relay> {
    const UNKNOWN: &str = "is no address of a mail server";
    let Some(url) = with_host(written) else { return mail.wrong("smtp", UNKNOWN, Some(RELAY_HINT)) };
    if !url.username().is_empty() || url.password().is_some() {
        return mail.wrong("smtp", "holds a name or password", Some("write them as user and password_file"));
    }
    let start_tls = mail.flag("start_tls");
    let (protection, port) = match url.scheme() {
        "smtps" => (Protection::Tls, 465),
        "smtp" if url::is_loopback(&url) && start_tls != Some(true) => (Protection::Plain, 25),
        "smtp" => (Protection::StartTls, 587),
        _ => return mail.wrong("smtp", UNKNOWN, Some(RELAY_HINT)),
    };
    let contradicts = match (protection, start_tls) {
        (Protection::StartTls, Some(false)) => Some("mails would go unprotected"),
        (Protection::Tls, Some(true)) => Some("smtps:// speaks TLS from the first byte"),
        _ => None,
    };
    if let Some(why) = contradicts {
        return mail.wrong("start_tls", why, Some("leave it out"));
    }
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    Some(Relay { host, port: url.port().unwrap_or(port), protection })
}

/// The login, where there is one; `None` where it is wrong.
fn login(mail: &Section<'_>, relay: Option<&Relay>) -> Option<Option<(String, SecretSource)>> {
    let Some(user) = mail.filled("user") else {
        for key in ["password", "password_file"].into_iter().filter(|key| mail.has(key)) {
            mail.problem(key, "is given without user", Some("add user, or leave it out"));
        }
        return Some(None);
    };
    match mail.secret("password", &["smtp_password"]) {
        FoundSecret::Secret(password) => {
            if relay.is_some_and(|relay| relay.protection == Protection::Plain) {
                mail.warning("smtp", "the password goes unprotected, though to this machine only", None);
            }
            Some(Some((user.to_owned(), password)))
        }
        FoundSecret::Nothing => {
            let hint = format!("add password_file{}", mail.ground.credentials.places("smtp_password"));
            mail.wrong("user", "there is no password for it", Some(&hint))
        }
        FoundSecret::Bad => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::check::Environment;
    use crate::config::credentials::Credentials;
    use crate::config::instance::Instance;
    use crate::config::report::Report;

    #[test]
    fn one_of_several_instances_has_a_page_only_where_it_is_configured() {
        for (instance, listen, expected) in [
            (None, None, Some("127.0.0.1:9464")),
            (Some("/etc/rosterd/north.toml"), None, None),
            (Some("/etc/rosterd/north.toml"), Some("127.0.0.1:9465"), Some("127.0.0.1:9465")),
            (Some("/etc/rosterd/north.toml"), Some(""), None),
            (Some("/etc/rosterd/accounts/north.toml"), None, Some("127.0.0.1:9464")),
        ] {
            let ground = Environment {
                config: "/etc/rosterd/config.toml".into(),
                dir: "/etc/rosterd".into(),
                instance: instance.map(|path| Instance::of(Path::new(path)).unwrap()),
                credentials: Credentials::default(),
                wants_secrets: true,
                passwords: Vec::new(),
            };
            let table = listen.map(|listen| ("listen".to_owned(), listen.into())).into_iter().collect();
            let table = [("status".to_owned(), config::Value::new(None, config::ValueKind::Table(table)))].into();
            let report = Report::new("config.toml".into());
            let found = status(&Section::top(&table, &ground, &report).section("status"));
            assert_eq!(found.listen, expected.map(|address| address.parse().unwrap()), "{instance:?} {listen:?}");
        }
    }
}
