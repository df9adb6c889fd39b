//! Checks `[job.source]` of type "ldap".

use std::collections::BTreeMap;

use jiff::SignedDuration;
use secrecy::{ExposeSecret as _, SecretString};

use super::secret::FoundSecret;
use super::section::Section;
use crate::config::keys::SourceKind;
use crate::config::options::Job;
use crate::record::{JobName, Target};
use crate::secret::Unusable;
use crate::source::Source;
use crate::source::ldap::{self, Bind, ClientCertificate, Options, SearchScope, Server};

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
    let way = source.choice("bind", &[("simple", Way::Simple), ("external", Way::External)]).unwrap_or(Way::Simple);
    let certificate = certificate(source, way);
    let bind = match way {
        Way::Simple => bind(source, job),
        Way::External => external(source, job),
    };
    for server in servers.iter().flatten().filter(|server| !server.tls && !start_tls) {
        let (url, hint) = (&server.url, Some("use ldaps://, or start_tls = true"));
        match (&certificate, &bind) {
            (Some(None), _) if server.is_loopback() => {}
            (Some(None), Some(Bind::Anonymous)) => {
                source.warning("url", format!("{url} sends people in clear text"), hint);
            }
            (Some(None), _) => source.problem("url", format!("{url} sends the password in clear text"), hint),
            _ => {
                source.problem("url", format!("{url} has no TLS, and a client certificate is shown in TLS alone"), hint)
            }
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
        certificate: certificate?,
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

/// How the server learns who asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Simple,
    External,
}

/// The certificate that is shown to the server; the inner `None` is none.
fn certificate(source: &Section<'_>, way: Way) -> Option<Option<Box<ClientCertificate>>> {
    const KEYS: [&str; 2] = ["client_cert_file", "client_key_file"];
    let given = KEYS.map(|key| source.unless_empty(key).is_some() || source.is_bad(key));
    match given {
        [false, false] if way == Way::Simple => return Some(None),
        [false, false] => {
            let hint = "name it and its key as client_cert_file and client_key_file";
            return source.wrong("bind", "is \"external\", and there is no client certificate", Some(hint));
        }
        [true, false] => {
            return source.wrong(KEYS[0], "its key is missing", Some("name the file of its key as client_key_file"));
        }
        [false, true] => {
            return source.wrong(KEYS[1], "is missing its certificate", Some("name that file as client_cert_file"));
        }
        [true, true] => {}
    }
    let key = source.private_key(KEYS[1]);
    let certificate = ClientCertificate::of(source.path(KEYS[0])?, key?);
    if source.ground.wants_secrets
        && let Err(Unusable { path, problem }) = certificate.read()
    {
        let key = if path == certificate.key() { KEYS[1] } else { KEYS[0] };
        return source.wrong(key, format!("{} {problem}", path.display()), None);
    }
    Some(Some(Box::new(certificate)))
}

/// By the client certificate: then there is no name and no password.
fn external(source: &Section<'_>, job: Option<&str>) -> Option<Bind> {
    let others = ["bind_dn", "bind_password", "bind_password_file"];
    let given: Vec<&str> = others.into_iter().filter(|key| source.has(key) || source.is_bad(key)).collect();
    for key in &given {
        source.problem(key, "goes with bind = \"simple\"; the certificate says who asks", Some("leave it out"));
    }
    let variable = variable(source, job);
    if let Some((variable, ..)) = variable {
        let message = "is a password, and the job has bind = \"external\"";
        source.report.problem_of_variable(variable, message, Some("leave it out"));
    }
    (given.is_empty() && variable.is_none()).then_some(Bind::External)
}

/// The password that the environment has for this job, with its variable.
fn variable<'a>(source: &Section<'a>, job: Option<&str>) -> Option<&'a (String, String, SecretString)> {
    job.and_then(|job| source.ground.passwords.iter().find(|(_, of, _)| *of == spelled(job)))
}

/// By a name and a password, or without both.
fn bind(source: &Section<'_>, job: Option<&str>) -> Option<Bind> {
    let ground = source.ground;
    let dn = source.unless_empty("bind_dn");
    let found = match variable(source, job) {
        Some((_, _, password)) => source.secret_in_place("bind_password", password.expose_secret()),
        None => {
            let own = format!("{}.bind_password", job.unwrap_or_default());
            let names = [own.as_str(), "bind_password"];
            // Without a name, a credential that serves another job is none of this one's.
            source.secret("bind_password", if dn.is_some() { &names } else { &[] })
        }
    };
    match (dn, found) {
        (Some(dn), FoundSecret::Secret(password)) => Some(Bind::Simple { dn: dn.to_owned(), password }),
        (None, FoundSecret::Nothing) => Some(Bind::Anonymous),
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
        let reads = |name: &str, source: &Source| spelled(name) == *of && matches!(source, Source::Ldap(_));
        let is_its = |job: &&Job| {
            let mut lookups = job.lookups.iter();
            reads(job.name.as_str(), &job.source)
                || lookups.any(|lookup| reads(&format!("{}.{}", job.name, lookup.name), &lookup.source))
        };
        if !jobs.iter().flatten().any(|job| is_its(&job)) && jobs.iter().all(Option::is_some) {
            top.report.problem_of_variable(variable, "is the password of no job with a directory", None);
        }
    }
}
