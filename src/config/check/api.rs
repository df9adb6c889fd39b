//! Checks `[api]`.

use std::path::{Path, PathBuf};

use super::{Environment, credential, text, url};
use crate::api::{Options, Paths};
use crate::config::raw::RawApi;
use crate::config::report::Report;
use crate::config::units;

/// What the service grants in a minute (specification, Limits).
const REQUESTS_PER_MINUTE: u32 = 100;
/// The most that can be asked for; far above what any service grants.
const REQUESTS_PER_MINUTE_MAX: i64 = 1_000_000;
/// The largest page that any list of the service gives (specification, Limits).
const PAGE_SIZE_MAX: i64 = 10_000;
/// The file under `state.dir` that keeps the times of sent requests.
const BUDGET_FILE: &str = "budget";

pub(super) fn check(raw: &RawApi, state_dir: &Path, ground: &Environment, report: &mut Report) -> Option<Options> {
    let base_url = base_url(raw, report);
    let credential = credential::check(raw, ground, report);
    let requests_per_minute = requests_per_minute(raw, report);
    let timeout = text::parsed("api.timeout", raw.timeout.as_deref(), text::DURATION_HINT, report, |text| {
        let duration = units::duration(text).and_then(text::more_than_nothing)?;
        Ok(duration.unsigned_abs())
    });
    let page_size = text::number("api.page_size", raw.page_size, (1, PAGE_SIZE_MAX), report);
    let ca_file = ca_file("api.ca_file", raw.ca_file.as_deref(), ground, report);
    let proxy = proxy("api.proxy", raw.proxy.as_deref(), report);
    let paths = Paths {
        bulk: path("api.bulk_path", raw.bulk_path.as_deref(), "/staff", report),
        issue: path("api.issue_path", raw.issue_path.as_deref(), "/asset/{id}/issue", report),
        org_groups: path("api.org_groups_path", raw.org_groups_path.as_deref(), "/sp/org/{id}/groups", report),
    };
    let usual = Options::new(base_url?, credential?);
    Some(Options {
        paths,
        requests_per_minute: requests_per_minute.unwrap_or(usual.requests_per_minute),
        timeout: timeout.unwrap_or(usual.timeout),
        page_size: page_size.unwrap_or(usual.page_size),
        ca_file,
        proxy,
        budget_file: Some(state_dir.join(BUDGET_FILE)),
        ..usual
    })
}

/// A file with certificates of authorities; an empty text does without.
pub(super) fn ca_file(place: &str, given: Option<&str>, ground: &Environment, report: &mut Report) -> Option<PathBuf> {
    let file = ground.path(text::unless_empty(given)?);
    if !file.is_file() {
        report.problem(place, format!("there is no file {}", file.display()), None);
    }
    Some(file)
}

/// The address of a proxy; an empty text does without.
pub(super) fn proxy(place: &str, given: Option<&str>, report: &mut Report) -> Option<String> {
    match url::proxy(text::unless_empty(given)?) {
        Ok(proxy) => Some(proxy),
        Err((message, hint)) => {
            report.problem(place, message, Some(hint));
            None
        }
    }
}

fn base_url(raw: &RawApi, report: &mut Report) -> Option<String> {
    const PLACE: &str = "api.base_url";
    let Some(text) = raw.base_url.as_deref() else {
        report.problem(PLACE, "is missing", Some("give the service's address, such as https://api.example.com/v1"));
        return None;
    };
    let text = text::filled(PLACE, Some(text), report)?;
    match url::service(text) {
        Ok(url) => {
            if !url::ends_in_version(&url) {
                let hint = "it is usually the address with /v1";
                report.warning(PLACE, "the address does not end in a version", Some(hint));
            }
            Some(url::trimmed(&url))
        }
        Err((message, hint)) => {
            report.problem(PLACE, message, Some(hint));
            None
        }
    }
}

/// A path below `base_url` that asks for the same values as the usual one.
fn path(place: &str, given: Option<&str>, usual: &str, report: &mut Report) -> Option<String> {
    let given = text::unless_empty(given)?;
    let asks = |path: &str| path.matches("{id}").count();
    let plain = given.replace("{id}", "");
    if given.starts_with('/') && asks(given) == asks(usual) && !plain.contains(['{', '}', '?', '#', ' ']) {
        return Some(given.to_owned());
    }
    report.problem(place, "is no path of this operation", Some(&format!("write it like {usual:?}")));
    None
}

fn requests_per_minute(raw: &RawApi, report: &mut Report) -> Option<u32> {
    const PLACE: &str = "api.requests_per_minute";
    let requests = text::number(PLACE, raw.requests_per_minute, (1, REQUESTS_PER_MINUTE_MAX), report)?;
    if requests > REQUESTS_PER_MINUTE {
        let message = format!("the service grants {REQUESTS_PER_MINUTE} a minute unless agreed otherwise");
        report.warning(PLACE, message, None);
    }
    Some(requests)
}
