//! Checks `[job.source]` of type "ldap".

use std::collections::BTreeMap;

use jiff::SignedDuration;
use secrecy::ExposeSecret as _;

use super::secret::FoundSecret;
use super::section::Section;
use crate::config::keys::SourceKind;
use crate::config::options::Job;
use crate::record::{JobName, Target};
use crate::source::Source;
use crate::source::ldap::{self, Bind, Options, SearchScope, Server};

/// What identifies an entry for ever, whatever the server.
pub(super) const KEY: &str = "{% if entryUUID %}{{ entryUUID }}{% elif objectGUID %}{{ objectGUID | guid }}{% else %}{{ nsUniqueId }}{% endif %}";

/// The attributes of [`KEY`], of which a server has one or two.
pub(super) const KEY_NAMES: [&str; 3] = ["entryUUID", "objectGUID", "nsUniqueId"];

/// The most entries that can be asked for at once.
const PAGE_SIZE_MAX: i64 = 10_000;

/// Checks the directory of the job of that name.
pub(super) fn check(source: &Section<'_>, job: Option<&str>) -> Option<Options> {
    source.refuse_foreign(SourceKind::Directory);
    if source.text("mode").is_some_and(|mode| mode != "full") {
        source.problem("mode", "a directory is always read whole", Some("leave it out"));
    }
    let servers = servers(source);
    let bases = bases(source);
    let start_tls = source.flag("start_tls").unwrap_or(false);
    let ca_file = source.ca_file();
    let tls_verify = source.flag("tls_verify").unwrap_or(true);
    if !tls_verify {
        let hint = "give the server's authority as ca_file instead";
        source.warning("tls_verify", "anyone can pose as the server and hand out other people", Some(hint));
    }
    let bind = bind(source, job);
    for server in servers.iter().flatten().filter(|server| !server.tls && !start_tls && !server.is_loopback()) {
        let hint = Some("use ldaps://, or start_tls = true");
        if let Some(None) = bind {
            source.warning("url", format!("{} sends people in clear text", server.url), hint);
        } else {
            source.problem("url", format!("{} sends the password in clear text", server.url), hint);
        }
    }
    let scopes = [("sub", SearchScope::Subtree), ("one", SearchScope::One), ("base", SearchScope::Base)];
    let scope = source.choice("scope", &scopes);
    let filter = filter(source);
    let page_size = source.number("page_size", (0, PAGE_SIZE_MAX));
    let timeout = source.positive_duration("timeout");
    let total_timeout = source.positive_duration("total_timeout");
    let usual = Options::at(servers?, bases?);
    Some(Options {
        start_tls,
        ca_file,
        tls_verify,
        bind: bind?,
        scope: scope.unwrap_or(usual.scope),
        filter: filter.unwrap_or(usual.filter),
        page_size: page_size.unwrap_or(usual.page_size),
        timeout: timeout.map_or(usual.timeout, SignedDuration::unsigned_abs),
        total_timeout: total_timeout.map_or(usual.total_timeout, SignedDuration::unsigned_abs),
        ignore_referrals: source.list("ignore_referrals"),
        optional: source.list("optional"),
        binary: source.list("binary"),
        servers: usual.servers,
        bases: usual.bases,
    })
}

fn servers(source: &Section<'_>) -> Option<Vec<Server>> {
    const HINT: &str = "write it like \"ldaps://dc1.example.com\"";
    let given: Vec<String> = source.list("url");
    if given.is_empty() {
        return source.wrong("url", "is missing", Some(HINT));
    }
    let server = |text: &String| match Server::parse(text) {
        Ok((server, rest)) if rest.is_empty() => Some(server),
        Ok((server, _)) => {
            let message = format!("{} has something behind it", server.url);
            source.wrong("url", message, Some("the base goes into `base`"))
        }
        // An address with a password in it is not quoted (law 11).
        Err(reason) if text.contains('@') => source.wrong("url", format!("an address {reason}"), Some(HINT)),
        Err(reason) => source.wrong("url", format!("{text:?} {reason}"), Some(HINT)),
    };
    given.iter().map(server).collect()
}

fn bases(source: &Section<'_>) -> Option<Vec<String>> {
    const HINT: &str = "say where people are, such as \"ou=people,dc=example,dc=com\"";
    let given: Vec<String> = source.list("base");
    if given.is_empty() || given.iter().any(|base| base.trim().is_empty()) {
        return source.wrong("base", if given.is_empty() { "is missing" } else { "is empty" }, Some(HINT));
    }
    for base in given.iter().filter(|base| !base.contains('=')) {
        source.problem("base", format!("{base:?} is no name of an entry"), Some(HINT));
    }
    Some(given.iter().map(|base| base.trim().to_owned()).collect())
}

fn filter(source: &Section<'_>) -> Option<String> {
    const HINT: &str =
        "it is in brackets, as (objectClass=person); \\28, \\29, \\2a and \\5c mean ( ) * \\ within a value";
    let filter = source.filled("filter")?;
    let checked = ldap::check_filter(filter).map_err(|reason| (format!("{filter:?} {reason}"), HINT));
    source.taken("filter", checked)?;
    Some(filter.to_owned())
}

/// The account that asks; the inner `None` is an anonymous bind.
fn bind(source: &Section<'_>, job: Option<&str>) -> Option<Option<Bind>> {
    let ground = source.ground;
    let dn = source.unless_empty("bind_dn");
    let variable = job.and_then(|job| ground.passwords.iter().find(|(_, of, _)| *of == spelled(job)));
    let found = match variable {
        Some((_, _, password)) => source.secret_in_place("bind_password", password.expose_secret()),
        None => {
            let own = format!("{}.bind_password", job.unwrap_or_default());
            let names = [own.as_str(), "bind_password"];
            // Without a name, a credential that serves another job is none of this one's.
            source.secret("bind_password", if dn.is_some() { &names } else { &[] })
        }
    };
    match (dn, found) {
        (Some(dn), FoundSecret::Secret(password)) => Some(Some(Bind { dn: dn.to_owned(), password })),
        (None, FoundSecret::Nothing) => Some(None),
        (Some(_), FoundSecret::Nothing) => {
            let places = ground.credentials.places("bind_password");
            let hint = format!("put it into a file of its own and name that file as bind_password_file{places}");
            source.wrong("bind_dn", "its password is missing", Some(&hint))
        }
        (None, FoundSecret::Secret(_)) => {
            source.wrong("bind_dn", "is missing, and a password is there", Some("say whose it is"))
        }
        (_, FoundSecret::Bad) => None,
    }
}

/// A job's name as a variable of the environment spells it.
fn spelled(job: &str) -> String {
    job.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// What no single job can see: two that read the same people (law 6), and passwords for no job.
pub(super) fn check_all(jobs: &[Option<Job>], top: &Section<'_>) {
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
            top.problem(&format!("job[{number}].source.filter"), message, Some("merge the two jobs"));
        }
        seen.insert(same, &job.name);
    }
    for (variable, of, _) in &top.ground.passwords {
        let is_its = |job: &&Job| spelled(job.name.as_str()) == *of && matches!(job.source, Source::Ldap(_));
        if !jobs.iter().flatten().any(|job| is_its(&job)) && jobs.iter().all(Option::is_some) {
            top.report.problem_of_variable(variable, "is the password of no job with a directory", None);
        }
    }
}
