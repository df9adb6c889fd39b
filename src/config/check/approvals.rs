//! Checks `[approvals]`: where people decide, how they log in, and who may do what.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use reqwest::Url;
use reqwest::header::{HOST, HeaderName};

use super::secret::FoundSecret;
use super::section::Section;
use super::{api, url};
use crate::config::approvals::{Approvals, Login, Provider, Proxy, Right, Rule, Who};
use crate::config::monitoring::Status;
use crate::config::nearest::nearest;
use crate::config::options::Job;
use crate::record::JobName;

const URL_HINT: &str = "write it like \"https://roster.example.com\"";
const LISTEN_HINT: &str = "write it like \"127.0.0.1:9465\" or \"[::1]:9465\"";
const HEADER_HINT: &str = "write it like \"X-Remote-User\"";
/// Keys that go with a proxy that logs people in.
const OF_PROXY: [&str; 4] = ["socket", "proxy_user", "user_header", "groups_header"];
const RIGHTS: [(&str, Right); 4] =
    [("see", Right::See), ("approve", Right::Approve), ("reject", Right::Reject), ("pause", Right::Pause)];

/// The pages of decisions; `None` where there are none, or where they are wrong.
pub(super) fn check(section: &Section<'_>, status: &Status, jobs: &[Option<Job>]) -> Option<Approvals> {
    // Tables without a key are as none.
    if section.keys().all(|key| key == "oidc") && !has_provider(section) {
        return None;
    }
    let url = address(section);
    let login = login(section, status);
    let rules = section.sections("allow");
    if rules.is_empty() && !section.is_bad("allow") {
        let hint = "add [[approvals.allow]] with group or user, jobs and may";
        section.problem("allow", "no one may do anything", Some(hint));
    }
    let rules: Vec<Option<Rule>> = rules.iter().map(|allow| rule(allow, jobs)).collect();
    let fresh = section.number("fresh_login_leavers", (0, 1_000_000));
    if section.has("fresh_login_leavers") && matches!(login, Some(Login::Proxy(_))) {
        let hint = "leave it out, and let the proxy ask for a login; people = 2 is another way";
        section.problem("fresh_login_leavers", "a proxy does not say when people logged in", Some(hint));
    }
    let people = section.number("people", (1, 2));
    Some(Approvals {
        url: url?,
        login: login?,
        rules: rules.into_iter().collect::<Option<_>>()?,
        fresh_login_leavers: fresh.unwrap_or(Approvals::FRESH_LOGIN_LEAVERS),
        people: people.unwrap_or(1),
    })
}

/// A whole host: cookies of the session are good for all of it.
fn address(section: &Section<'_>) -> Option<Url> {
    let text = section.required("url", URL_HINT)?;
    let address = section.taken("url", url::service(text))?;
    if address.path() != "/" {
        let hint = "give it a host of its own, such as https://roster.example.com";
        return section.wrong("url", "has a path, and the session's cookie is good for the whole host", Some(hint));
    }
    Some(address)
}

/// Whether it says anything of a provider; a table without a key does not.
fn has_provider(section: &Section<'_>) -> bool {
    section.section("oidc").keys().next().is_some() || section.is_bad("oidc")
}

fn login(section: &Section<'_>, status: &Status) -> Option<Login> {
    let of_proxy = OF_PROXY.into_iter().find(|key| section.has(key) || section.is_bad(key));
    let listens = section.has("listen") || section.is_bad("listen");
    let is_asked = has_provider(section);
    match (listens || is_asked, of_proxy) {
        (true, Some(key)) => {
            let hint = "keep either listen and oidc, or socket, proxy_user and user_header";
            section.wrong(key, "goes with a proxy, and there is oidc", Some(hint))
        }
        (_, None) => {
            let listen = listen(section, status);
            if !is_asked {
                let hint = "add oidc = { issuer = …, client_id = …, client_secret_file = … }, or socket, proxy_user and user_header";
                return section.wrong("oidc", "there is no way to log in", Some(hint));
            }
            let mut provider = provider(&section.section("oidc"))?;
            provider.listen = listen?;
            Some(Login::Provider(provider))
        }
        (false, Some(_)) => proxy(section).map(Login::Proxy),
    }
}

/// Without TLS of its own it answers this machine only.
fn listen(section: &Section<'_>, status: &Status) -> Option<SocketAddr> {
    let address = match section.text("listen") {
        None => Approvals::LISTEN,
        Some(text) => section.taken(
            "listen",
            text.trim().parse().map_err(|_| (format!("{text:?} is no address with a port"), LISTEN_HINT)),
        )?,
    };
    if !address.ip().is_loopback() {
        let hint = "use 127.0.0.1, and put a proxy with TLS before it";
        return section.wrong("listen", "can be reached from other machines, without TLS", Some(hint));
    }
    if status.listen == Some(address) && address.port() != 0 {
        return section.wrong("listen", "is the address of the status page", Some("give it a port of its own"));
    }
    Some(address)
}

fn provider(oidc: &Section<'_>) -> Option<Provider> {
    let issuer = oidc.required("issuer", "name the provider, such as https://login.example.com").and_then(|text| {
        oidc.taken("issuer", url::service(text))?;
        // It is compared to the letter: a slash at its end counts.
        Some(text.trim().to_owned())
    });
    let client_id = oidc.required("client_id", "say who asks, as the provider knows it").map(str::to_owned);
    let secret = match oidc.secret("client_secret", &["oidc_secret"]) {
        FoundSecret::Secret(secret) => Some(secret),
        FoundSecret::Bad => None,
        FoundSecret::Nothing => {
            let places = oidc.ground.credentials.places("oidc_secret");
            let hint = format!("put it into a file of its own and name that file as client_secret_file{places}");
            oidc.wrong("client_secret_file", "the client's secret is missing", Some(&hint))
        }
    };
    let scopes: Vec<String> = oidc.list("scopes");
    for scope in scopes.iter().filter(|scope| scope.is_empty() || scope.contains(char::is_whitespace)) {
        oidc.problem("scopes", format!("{scope:?} is no scope"), Some("write them like \"groups\""));
    }
    let usual = || Provider::SCOPES.map(str::to_owned).to_vec();
    Some(Provider {
        listen: Approvals::LISTEN,
        user_claim: oidc.filled("user_claim").unwrap_or(Provider::USER_CLAIM).to_owned(),
        groups_claim: oidc.filled("groups_claim").unwrap_or(Provider::GROUPS_CLAIM).to_owned(),
        scopes: if oidc.has("scopes") { scopes } else { usual() },
        ca_file: oidc.ca_file(),
        proxy: api::proxy(oidc),
        issuer: issuer?,
        client_id: client_id?,
        secret: secret?,
    })
}

fn proxy(section: &Section<'_>) -> Option<Proxy> {
    let socket = section.required("socket", "name the socket, such as \"/run/rosterd-web/approvals.sock\"");
    let account = section.required("proxy_user", "name the account of the proxy, such as \"www-data\"");
    let user_header =
        section.required("user_header", HEADER_HINT).and_then(|text| header(section, "user_header", text));
    let groups_header = section.filled("groups_header").map(|text| header(section, "groups_header", text));
    if user_header.is_some() && groups_header.as_ref() == Some(&user_header) {
        section.problem("groups_header", "is the header of the user", None);
    }
    Some(Proxy {
        socket: section.ground.path(socket?),
        account: account?.to_owned(),
        user_header: user_header?,
        groups_header: match groups_header {
            None => None,
            Some(header) => Some(header?),
        },
    })
}

fn header(section: &Section<'_>, key: &str, text: &str) -> Option<String> {
    let name = HeaderName::from_bytes(text.trim().as_bytes()).ok().filter(|name| *name != HOST);
    let Some(name) = name else { return section.wrong(key, "is no name of a header", Some(HEADER_HINT)) };
    Some(name.as_str().to_owned())
}

fn rule(allow: &Section<'_>, jobs: &[Option<Job>]) -> Option<Rule> {
    let who = match (allow.filled("group"), allow.filled("user")) {
        (Some(group), None) => Some(Who::Group(group.to_owned())),
        (None, Some(user)) => Some(Who::User(user.to_owned())),
        (Some(_), Some(_)) => allow.wrong("user", "stands beside group", Some("write a rule for each")),
        (None, None) => allow.wrong("", "names neither group nor user", Some("add one of them")),
    };
    let may: Vec<String> = allow.list("may");
    let words = RIGHTS.map(|(word, _)| word);
    let rights = may.iter().map(|given| {
        let right = RIGHTS.iter().find(|(word, _)| word == given);
        right
            .map(|(_, right)| *right)
            .or_else(|| allow.wrong("may", format!("{given:?} is none of {}", words.join(", ")), None))
    });
    let may: Option<BTreeSet<Right>> = rights.collect();
    if may.as_ref().is_some_and(BTreeSet::is_empty) {
        allow.problem("may", "allows nothing", Some("write it like [\"see\", \"approve\", \"reject\"]"));
    }
    Some(Rule { who: who?, jobs: named(allow, jobs)?, may: may? })
}

/// The jobs of a rule; the inner `None` where it is about all of them.
fn named(allow: &Section<'_>, jobs: &[Option<Job>]) -> Option<Option<BTreeSet<JobName>>> {
    let written: Vec<String> = allow.list("jobs");
    if written.is_empty() {
        return allow.wrong("jobs", "names no job", Some("name them, or write [\"*\"] for all of them"));
    }
    if written == ["*"] {
        return Some(None);
    }
    let known: Vec<&JobName> = jobs.iter().flatten().map(|job| &job.name).collect();
    // Where a job is wrong its name is not known; and some commands do without jobs.
    let is_whole = known.len() == jobs.len() && !jobs.is_empty();
    let mut named = BTreeSet::new();
    for text in &written {
        let name = JobName::new(text).filter(|name| !name.is_part());
        match name.filter(|name| !is_whole || known.contains(&name)) {
            Some(name) => {
                named.insert(name);
            }
            None => {
                let hint =
                    nearest(text, known.iter().map(|name| name.as_str())).map(|job| format!("did you mean {job}?"));
                return allow.wrong("jobs", format!("there is no job {text:?}"), hint.as_deref());
            }
        }
    }
    Some(Some(named))
}
