//! Checks `[job.source]` of type "ldap".

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::ExposeSecret as _;

use super::secret::{self, FoundSecret};
use super::{Environment, text};
use crate::config::options::Job;
use crate::config::raw::RawSource;
use crate::config::report::Report;
use crate::config::units;
use crate::record::{JobName, Target};
use crate::source::Source;
use crate::source::ldap::{self, Bind, Options, SearchScope, Server};

/// Keys that a directory has and a file has not.
pub(super) const KEYS: &[&str] = &[
    "url",
    "start_tls",
    "ca_file",
    "tls_verify",
    "bind_dn",
    "bind_password",
    "bind_password_file",
    "base",
    "scope",
    "filter",
    "page_size",
    "timeout",
    "total_timeout",
    "ignore_referrals",
    "binary",
];

/// Keys that a file has and a directory has not.
const FILE_KEYS: &[&str] = &[
    "path",
    "pattern",
    "settle",
    "final_newline",
    "size_max",
    "order",
    "encoding",
    "delimiter",
    "header",
    "expect_every",
];

/// What identifies an entry for ever, whatever the server.
pub(super) const KEY: &str = "{% if entryUUID %}{{ entryUUID }}{% elif objectGUID %}{{ objectGUID | guid }}{% else %}{{ nsUniqueId }}{% endif %}";

/// The attributes of [`KEY`], of which a server has one or two.
pub(super) const KEY_NAMES: [&str; 3] = ["entryUUID", "objectGUID", "nsUniqueId"];

/// The most entries that can be asked for at once.
const PAGE_SIZE_MAX: i64 = 10_000;

/// Checks the directory at `place` of the job of that name.
pub(super) fn check(
    place: &str,
    job: Option<&str>,
    raw: &RawSource,
    ground: &Environment,
    report: &mut Report,
) -> Option<Options> {
    let at = |key: &str| format!("{place}.{key}");
    for key in FILE_KEYS {
        if report.in_file(&at(key)) {
            report.problem(&at(key), "goes with a file, and a directory is none", Some("leave it out"));
        }
    }
    if raw.mode.as_deref().is_some_and(|mode| mode != "full") {
        report.problem(&at("mode"), "a directory is always read whole", Some("leave it out"));
    }
    let servers = servers(&at("url"), &raw.url, report);
    let bases = bases(&at("base"), &raw.base, report);
    let start_tls = raw.start_tls.unwrap_or(false);
    let ca_file = text::unless_empty(raw.ca_file.as_deref()).map(|file| ground.path(file));
    if let Some(file) = ca_file.as_deref().filter(|file| !file.is_file()) {
        report.problem(&at("ca_file"), format!("there is no file {}", file.display()), None);
    }
    let tls_verify = raw.tls_verify.unwrap_or(true);
    if !tls_verify {
        let hint = "give the server's authority as ca_file instead";
        report.warning(&at("tls_verify"), "anyone can pose as the server and hand out other people", Some(hint));
    }
    let bind = bind(place, job, raw, ground, report);
    for server in servers.iter().flatten().filter(|server| !server.tls && !start_tls && !server.is_loopback()) {
        let message =
            format!("{} sends {} in clear text", server.url, if bind.is_some() { "the password" } else { "people" });
        if bind.is_some() {
            report.problem(&at("url"), message, Some("use ldaps://, or start_tls = true"));
        } else {
            report.warning(&at("url"), message, Some("use ldaps://, or start_tls = true"));
        }
    }
    let scopes = [("sub", SearchScope::Subtree), ("one", SearchScope::One), ("base", SearchScope::Base)];
    let scope = text::choice(&at("scope"), raw.scope.as_deref(), &scopes, report);
    let filter = filter(&at("filter"), raw.filter.as_deref(), report);
    let page_size = text::number(&at("page_size"), raw.page_size, (0, PAGE_SIZE_MAX), report);
    let mut duration = |key: &str, given: Option<&str>| -> Option<Duration> {
        text::parsed(&at(key), given, text::DURATION_HINT, report, |text| {
            let duration = units::duration(text).and_then(text::more_than_nothing)?;
            Ok(duration.unsigned_abs())
        })
    };
    let timeout = duration("timeout", raw.timeout.as_deref());
    let total_timeout = duration("total_timeout", raw.total_timeout.as_deref());
    let usual = Options::at(servers?, bases?);
    Some(Options {
        start_tls,
        ca_file,
        tls_verify,
        bind: bind?,
        scope: scope.unwrap_or(usual.scope),
        filter: filter.unwrap_or(usual.filter),
        page_size: page_size.unwrap_or(usual.page_size),
        timeout: timeout.unwrap_or(usual.timeout),
        total_timeout: total_timeout.unwrap_or(usual.total_timeout),
        ignore_referrals: raw.ignore_referrals.clone(),
        optional: raw.optional.clone(),
        binary: raw.binary.clone(),
        servers: usual.servers,
        bases: usual.bases,
    })
}

fn servers(place: &str, given: &[String], report: &mut Report) -> Option<Vec<Server>> {
    const HINT: &str = "write it like \"ldaps://dc1.example.com\"";
    if given.is_empty() {
        report.problem(place, "is missing", Some(HINT));
        return None;
    }
    let mut servers = Vec::new();
    for text in given {
        match Server::parse(text) {
            Ok((server, rest)) if rest.is_empty() => servers.push(server),
            Ok((server, _)) => {
                report.problem(
                    place,
                    format!("{} has something behind it", server.url),
                    Some("the base goes into `base`"),
                );
            }
            // An address with a password in it is not quoted (law 11).
            Err(reason) if text.contains('@') => report.problem(place, format!("an address {reason}"), Some(HINT)),
            Err(reason) => report.problem(place, format!("{text:?} {reason}"), Some(HINT)),
        }
    }
    (servers.len() == given.len()).then_some(servers)
}

fn bases(place: &str, given: &[String], report: &mut Report) -> Option<Vec<String>> {
    const HINT: &str = "say where people are, such as \"ou=people,dc=example,dc=com\"";
    if given.is_empty() || given.iter().any(|base| base.trim().is_empty()) {
        report.problem(place, if given.is_empty() { "is missing" } else { "is empty" }, Some(HINT));
        return None;
    }
    for base in given.iter().filter(|base| !base.contains('=')) {
        report.problem(place, format!("{base:?} is no name of an entry"), Some(HINT));
    }
    Some(given.iter().map(|base| base.trim().to_owned()).collect())
}

fn filter(place: &str, given: Option<&str>, report: &mut Report) -> Option<String> {
    let filter = text::filled(place, given, report)?;
    if let Err(reason) = ldap::check_filter(filter) {
        let hint = "it is in brackets, as (objectClass=person); \\28, \\29, \\2a and \\5c mean ( ) * \\ within a value";
        report.problem(place, format!("{filter:?} {reason}"), Some(hint));
        return None;
    }
    Some(filter.to_owned())
}

/// The account that asks; the inner `None` is an anonymous bind.
fn bind(
    place: &str,
    job: Option<&str>,
    raw: &RawSource,
    ground: &Environment,
    report: &mut Report,
) -> Option<Option<Bind>> {
    let at = |key: &str| format!("{place}.{key}");
    let dn = text::unless_empty(raw.bind_dn.as_deref());
    let variable = job.and_then(|job| ground.passwords.iter().find(|(_, of, _)| *of == spelled(job)));
    let found = match variable {
        Some((_, _, password)) => secret::in_place(&at("bind_password"), password.expose_secret(), report),
        None => {
            let own = format!("{}.bind_password", job.unwrap_or_default());
            let names = [own.as_str(), "bind_password"];
            let (inline, file) = (raw.bind_password.as_deref(), raw.bind_password_file.as_deref());
            // Without a name, a credential that serves another job is none of this one's.
            let names = if dn.is_some() { &names[..] } else { &[] };
            secret::check((place, "bind_password"), names, inline, file, ground, report)
        }
    };
    match (dn, found) {
        (Some(dn), FoundSecret::Secret(password)) => Some(Some(Bind { dn: dn.to_owned(), password })),
        (None, FoundSecret::Nothing) => Some(None),
        (Some(_), FoundSecret::Nothing) => {
            let places = ground.credentials.places("bind_password");
            let hint = format!("put it into a file of its own and name that file as bind_password_file{places}");
            report.problem(&at("bind_dn"), "its password is missing", Some(&hint));
            None
        }
        (None, FoundSecret::Secret(_)) => {
            report.problem(&at("bind_dn"), "is missing, and a password is there", Some("say whose it is"));
            None
        }
        (_, FoundSecret::Bad) => None,
    }
}

/// A job's name as a variable of the environment spells it.
fn spelled(job: &str) -> String {
    job.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// What no single job can see: two that read the same people (law 6), and passwords for no job.
pub(super) fn check_all(jobs: &[Option<Job>], ground: &Environment, report: &mut Report) {
    let mut seen: BTreeMap<(Target, Vec<String>, &str), &JobName> = BTreeMap::new();
    for (number, job) in jobs.iter().enumerate() {
        let Some(job) = job else { continue };
        let Source::Ldap(source) = &job.source else { continue };
        let mut bases: Vec<String> = source.bases.iter().map(|base| base.to_lowercase()).collect();
        bases.sort();
        let include = job.mapping.include.as_deref().unwrap_or_default();
        let same = (job.mapping.target, bases, source.filter.as_str());
        if let Some(other) = seen.get(&same).filter(|_| include.is_empty()) {
            let message = format!("job {other} reads the same people for the same target");
            report.problem(&format!("job[{number}].source.filter"), message, Some("merge the two jobs"));
        }
        seen.insert(same, &job.name);
    }
    for (variable, of, _) in &ground.passwords {
        let is_its = |job: &&Job| spelled(job.name.as_str()) == *of && matches!(job.source, Source::Ldap(_));
        if !jobs.iter().flatten().any(|job| is_its(&job)) && jobs.iter().all(Option::is_some) {
            report.problem_of_variable(variable, "is the password of no job with a directory", None);
        }
    }
}
