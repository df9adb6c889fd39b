//! Checks `[job.source]` of type "entra".

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::section::Section;
use super::{url, web};
use crate::config::keys::SourceKind;
use crate::config::options::Job;
use crate::record::{JobName, Target};
use crate::source::Source;
use crate::source::entra::{Credential, Options};
use crate::source::https::Address;

/// What identifies a user for ever.
pub(super) const KEY: &str = "{{ id }}";

/// What means any tenant, where a person signs in. An app needs one of its own.
const ANY_TENANT: [&str; 3] = ["common", "organizations", "consumers"];

/// Checks the tenant of the job of that name.
pub(super) fn check(source: &Section<'_>, job: Option<&str>) -> Option<Options> {
    source.refuse_foreign(SourceKind::Tenant);
    if source.text("mode").is_some_and(|mode| mode != "full") {
        source.problem("mode", "a tenant is always read whole", Some("leave it out"));
    }
    let tenant = tenant(source);
    let client_id = source.required("client_id", "give the application (client) id of the app registration");
    let credential = credential(source, job);
    let filter = source.unless_empty("filter").map(str::to_owned);
    let groups = groups(source);
    let select = select(source);
    let graph = address(source, "graph_url", Options::GRAPH);
    let login = address(source, "login_url", Options::LOGIN);
    let ca_file = source.ca_file();
    let proxy = source.unless_empty("proxy").map(|text| source.taken("proxy", url::proxy(text)));
    let timeout = source.positive_duration("timeout");
    Some(Options {
        tenant: tenant?,
        client_id: client_id?.trim().to_owned(),
        credential: credential?,
        filter,
        groups,
        select,
        optional: source.list("optional"),
        graph: graph?,
        login: login?,
        ca_file,
        proxy: proxy.flatten(),
        timeout: timeout.map_or(Options::TIMEOUT, SignedDuration::unsigned_abs),
    })
}

/// It becomes a part of an address.
fn tenant(source: &Section<'_>) -> Option<String> {
    const HINT: &str = "give the id of the tenant, or one of its domains such as \"example.onmicrosoft.com\"";
    let tenant = source.required("tenant", HINT)?.trim();
    let is_name = tenant.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-');
    if !is_name || tenant.starts_with('.') || ANY_TENANT.iter().any(|any| any.eq_ignore_ascii_case(tenant)) {
        return source.wrong("tenant", format!("{tenant:?} is no tenant"), Some(HINT));
    }
    Some(tenant.to_owned())
}

fn credential(source: &Section<'_>, job: Option<&str>) -> Option<Credential> {
    let given = |keys: &[&'static str]| keys.iter().copied().find(|key| source.has(key) || source.is_bad(key));
    let secret = given(&["client_secret", "client_secret_file"]);
    let certificate = given(&["certificate_file", "key_file"]);
    match (secret, certificate) {
        (Some(_), Some(key)) => {
            let hint = "keep either client_secret_file, or certificate_file and key_file";
            source.wrong(key, "two kinds of credential are given", Some(hint))
        }
        (_, None) => web::secret(source, "client_secret", job).map(Credential::Secret),
        (None, Some(_)) => {
            let name = |key: &str, hint: &str| source.required(key, hint).and_then(|_| source.path(key));
            let certificate = name("certificate_file", "name the certificate that the app registration knows");
            let key = source.required("key_file", "name the private key of certificate_file");
            let key = key.and_then(|_| source.private_key("key_file"));
            let certificate = certificate.filter(|file| {
                let is_there = file.is_file();
                if !is_there {
                    source.problem("certificate_file", format!("there is no file {}", file.display()), None);
                }
                is_there
            });
            Some(Credential::Certificate { certificate: certificate?, key: key? })
        }
    }
}

fn groups(source: &Section<'_>) -> Vec<String> {
    let groups: Vec<String> = source.list("groups");
    if groups.iter().any(|group| group.trim().is_empty()) {
        source.problem("groups", "holds an empty name", Some("give ids or display names"));
    }
    groups.iter().map(|group| group.trim().to_owned()).collect()
}

fn select(source: &Section<'_>) -> Vec<String> {
    let select: Vec<String> = source.list("select");
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    for name in &select {
        if !is_name(name) {
            source.problem(
                "select",
                format!("{name:?} is no name of a property"),
                Some("write it like \"employeeId\""),
            );
        } else if ["photo", "manager"].iter().any(|other| other.eq_ignore_ascii_case(name)) {
            source.problem("select", format!("{name:?} is no property that can be selected"), Some("leave it out"));
        }
    }
    select
}

fn address(source: &Section<'_>, key: &str, usual: &str) -> Option<Address> {
    let written = source.filled(key).map(|text| source.taken(key, url::service(text)));
    let text = match written {
        Some(url) => url::trimmed(&url?),
        None if source.is_bad(key) => return None,
        None => usual.to_owned(),
    };
    let hint = "leave it out, save for a national cloud";
    source.taken(key, Address::parse(&text).map_err(|reason| (reason.to_owned(), hint)))
}

/// What no single section can see: two jobs that read the same people (law 6).
pub(super) fn check_all(jobs: &[Option<Job>], top: &Section<'_>) {
    let mut seen: BTreeMap<(Target, String), &JobName> = BTreeMap::new();
    for (number, job) in jobs.iter().enumerate() {
        let Some(job) = job else { continue };
        let Source::Entra(source) = &job.source else { continue };
        let target = job.mapping.target;
        let same = (target, source.selection());
        if let Some(other) = seen.insert(same, &job.name).filter(|_| job.mapping.include.is_none()) {
            let message = format!("job {other} reads the same people for the same target");
            top.problem(&format!("job[{number}].source.tenant"), message, Some("merge the two jobs"));
        }
    }
}
