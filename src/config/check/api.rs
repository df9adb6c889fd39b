//! Checks `[api]`.

use std::sync::Arc;

use jiff::SignedDuration;

use super::section::Section;
use super::{credential, url};
use crate::api::{BudgetPlace, Credential, FurtherCredential, Options, Paths, SendGuard, SharedBudget};
use crate::crash::term;
use crate::store::{Home, Permit, WRITE_MAX};

/// What the service grants in a minute (specification, Limits).
const REQUESTS_PER_MINUTE: u32 = 100;
/// The most that can be asked for; far above what any service grants.
const REQUESTS_PER_MINUTE_MAX: i64 = 1_000_000;
/// The largest page that any list of the service gives (specification, Limits).
const PAGE_SIZE_MAX: i64 = 10_000;
/// The file under `state.dir` that keeps the times of sent requests.
const BUDGET_FILE: &str = "budget";

pub(super) fn check(api: &Section<'_>, home: &Home) -> Option<Options> {
    let base_url = base_url(api);
    let (credential, further) = credential::check(api);
    let requests_per_minute = requests_per_minute(api);
    let timeout = api.positive_duration("timeout");
    let page_size = api.number("page_size", (1, PAGE_SIZE_MAX));
    let ca_file = api.ca_file();
    let proxy = proxy(api);
    let paths = Paths {
        bulk: path(api, "bulk_path", "/staff"),
        issue: path(api, "issue_path", "/asset/{id}/issue"),
        org_groups: path(api, "org_groups_path", "/sp/org/{id}/groups"),
    };
    let usual = Options::new(base_url?, credential?);
    let budget = |credential: &Credential, is_first| budget_of(credential, &usual.base_url, home, is_first);
    let further = further.into_iter().map(|credential| {
        let budget = budget(&credential, false);
        FurtherCredential { credential, budget }
    });
    let further = further.collect();
    Some(Options {
        paths,
        requests_per_minute: requests_per_minute.unwrap_or(usual.requests_per_minute),
        timeout: timeout.map_or(usual.timeout, SignedDuration::unsigned_abs),
        page_size: page_size.unwrap_or(usual.page_size),
        ca_file,
        proxy,
        budget: budget(&usual.credential, true),
        further,
        send_guard: home.send_permit().map(|permit| SendGuard {
            may_send: Arc::new(move |verb| {
                let Permit { wait, sender } = permit()?;
                if wait.is_zero() || verb.is_read() {
                    return Ok(sender);
                }
                Err(format!("another worker may still be writing for {} s", wait.as_secs() + 1))
            }),
            write_timeout: term(WRITE_MAX),
        }),
        ..usual
    })
}

/// Where the times of a credential's requests are remembered: those of a further one in a file of its own, which it keeps
/// when it becomes the first one.
fn budget_of(credential: &Credential, base_url: &str, home: &Home, is_first: bool) -> BudgetPlace {
    let Some(dir) = home.folder() else { return BudgetPlace::Shared(SharedBudget::default()) };
    let own = credential.identity(base_url.as_bytes()).map(|identity| dir.join(format!("{BUDGET_FILE}-{identity}")));
    match own.filter(|own| !is_first || own.exists()) {
        Some(own) => BudgetPlace::File(own),
        None => BudgetPlace::File(dir.join(BUDGET_FILE)),
    }
}

/// The address of a proxy; an empty text does without.
pub(super) fn proxy(section: &Section<'_>) -> Option<String> {
    section.taken("proxy", url::proxy(section.unless_empty("proxy")?))
}

fn base_url(api: &Section<'_>) -> Option<String> {
    const KEY: &str = "base_url";
    let text = api.required(KEY, "give the service's address, such as https://api.example.com/v1")?;
    let url = api.taken(KEY, url::service(text))?;
    if !url::ends_in_version(&url) {
        api.warning(KEY, "the address does not end in a version", Some("it is usually the address with /v1"));
    }
    Some(url::trimmed(&url))
}

/// A path below `base_url` that asks for the same values as the usual one.
fn path(api: &Section<'_>, key: &str, usual: &str) -> Option<String> {
    let given = api.unless_empty(key)?;
    let asks = |path: &str| path.matches("{id}").count();
    let plain = given.replace("{id}", "");
    if given.starts_with('/') && asks(given) == asks(usual) && !plain.contains(['{', '}', '?', '#', ' ']) {
        return Some(given.to_owned());
    }
    api.wrong(key, "is no path of this operation", Some(&format!("write it like {usual:?}")))
}

fn requests_per_minute(api: &Section<'_>) -> Option<u32> {
    const KEY: &str = "requests_per_minute";
    let requests = api.number(KEY, (1, REQUESTS_PER_MINUTE_MAX))?;
    if requests > REQUESTS_PER_MINUTE {
        api.warning(KEY, format!("the service grants {REQUESTS_PER_MINUTE} a minute unless agreed otherwise"), None);
    }
    Some(requests)
}
