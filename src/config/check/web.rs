//! Checks the file of a web server in `[job.source]` of type "csv".

use std::collections::BTreeMap;

use jiff::SignedDuration;
use reqwest::header::HeaderMap;

use super::secret::FoundSecret;
use super::section::Section;
use super::url;
use crate::config::options::Job;
use crate::record::{JobName, Target};
use crate::secret::SecretSource;
use crate::source::Source;
use crate::source::https::{Address, Login, Options, TokenClient, header};

const HINT: &str = "write it like \"https://hr.example.com/report.csv\"";

/// Checks the download of the job of that name; how its content is read is not looked at.
pub(super) fn check(source: &Section<'_>, job: Option<&str>) -> Option<Options> {
    let address = match source.list::<String>("url").as_slice() {
        [one] => address(source, "url", one),
        _ => source.wrong("url", "of a file is one address", Some(HINT)),
    };
    let login = login(source, job);
    let headers = headers(source);
    let ca_file = source.ca_file();
    let proxy = source.unless_empty("proxy").map(|text| source.taken("proxy", url::proxy(text)));
    let timeout = source.positive_duration("timeout");
    let usual = Options::at(address?);
    Some(Options {
        login: login?,
        headers,
        ca_file,
        proxy: proxy.flatten(),
        timeout: timeout.map_or(usual.timeout, SignedDuration::unsigned_abs),
        ..usual
    })
}

/// An address may hold a secret and is never quoted (law 11).
fn address(section: &Section<'_>, key: &str, text: &str) -> Option<Address> {
    section.taken(key, Address::parse(text).map_err(|reason| (reason.to_owned(), HINT)))
}

/// Who asks; the inner `None` is an anonymous request.
fn login(source: &Section<'_>, job: Option<&str>) -> Option<Option<Login>> {
    let given = |keys: &[&'static str]| keys.iter().copied().find(|key| source.has(key) || source.is_bad(key));
    let basic = given(&["user", "password", "password_file"]);
    let bearer = given(&["token", "token_file"]);
    let client = given(&["oauth"]);
    match (basic, bearer, client) {
        (None, None, None) => Some(None),
        (Some(_), None, None) => self::basic(source, job).map(Some),
        (None, Some(_), None) => secret(source, "token", job).map(|token| Some(Login::Bearer(token))),
        (None, None, Some(_)) => self::client(&source.section("oauth"), job).map(|client| Some(Login::Client(client))),
        (one, other, last) => {
            let key = last.or(other).or(one).unwrap_or_default();
            let hint = "keep either user and password_file, or token_file, or oauth";
            source.wrong(key, "two kinds of credential are given", Some(hint))
        }
    }
}

fn basic(source: &Section<'_>, job: Option<&str>) -> Option<Login> {
    let user = source.required("user", "a password is there; say whose it is").map(str::to_owned);
    if user.as_ref().is_some_and(|user| user.contains(':')) {
        return source.wrong("user", "holds a colon, which HTTP Basic can't send", None);
    }
    let password = secret(source, "password", job);
    Some(Login::Basic { user: user?, password: password? })
}

fn client(oauth: &Section<'_>, job: Option<&str>) -> Option<TokenClient> {
    let token_url = oauth.required("token_url", "give the address that issues tokens").map(str::to_owned);
    let token_url = token_url.and_then(|text| address(oauth, "token_url", &text));
    let client_id = oauth.required("client_id", "say who asks for tokens").map(str::to_owned);
    let secret = secret(oauth, "client_secret", job);
    let scopes: Vec<String> = oauth.list("scopes");
    for scope in scopes.iter().filter(|scope| scope.is_empty() || scope.contains(char::is_whitespace)) {
        oauth.problem("scopes", format!("{scope:?} is no scope"), Some("write them like \"reports:read\""));
    }
    Some(TokenClient { token_url: token_url?, client_id: client_id?, secret: secret?, scopes })
}

/// The secret of that name: in place, in its file, or handed over by systemd for this very job.
pub(super) fn secret(section: &Section<'_>, name: &str, job: Option<&str>) -> Option<SecretSource> {
    let credential = if name == "client_secret" { "oauth_secret" } else { name };
    let own = format!("{}.{credential}", job.unwrap_or_default());
    match section.secret(name, &[&own]) {
        FoundSecret::Secret(secret) => Some(secret),
        FoundSecret::Nothing => {
            let file = format!("{name}_file");
            let hint = format!("put it into a file of its own and name that file as {file}");
            section.wrong(&file, "is missing", Some(&hint))
        }
        FoundSecret::Bad => None,
    }
}

/// The values are neither quoted nor shown.
fn headers(source: &Section<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in source.texts("headers") {
        match header(&name, &value) {
            Ok((name, value)) => {
                headers.insert(name, value);
            }
            Err((reason, hint)) => source.problem("headers", format!("{name:?} {reason}"), Some(hint)),
        }
    }
    headers
}

/// Two jobs that read one file would own the same people (law 6).
pub(super) fn check_all(jobs: &[Option<Job>], top: &Section<'_>) {
    let mut seen: BTreeMap<(Target, String), &JobName> = BTreeMap::new();
    for (number, job) in jobs.iter().enumerate() {
        let Some(job) = job else { continue };
        let Source::Web(source) = &job.source else { continue };
        let same = (job.mapping.target, source.selection());
        if let Some(other) = seen.insert(same, &job.name).filter(|_| job.mapping.include.is_none()) {
            let message = format!("job {other} reads this file for the same target");
            top.problem(&format!("job[{number}].source.url"), message, Some("merge the two jobs"));
        }
    }
}
