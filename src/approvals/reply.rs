//! Answers, with what keeps a page to itself.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;

/// Nothing is loaded, and no other page may show these.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";

/// The session.
pub(super) const SESSION: &str = "__Host-rosterd";
/// A login that is under way.
pub(super) const LOGIN: &str = "__Host-rosterd-login";

/// A page.
pub(super) fn page(status: StatusCode, html: String) -> Response {
    let mut response = Response::new(Body::from(html));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

/// Leads elsewhere, by GET.
pub(super) fn see_other(to: &str) -> Response {
    let mut response = page(StatusCode::SEE_OTHER, String::new());
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert(LOCATION, to);
    }
    response
}

/// Has the browser keep a text for these pages alone.
pub(super) fn keep(response: &mut Response, name: &str, text: &str, seconds: Option<i64>) {
    let age = seconds.map(|seconds| format!("; Max-Age={seconds}")).unwrap_or_default();
    let cookie = format!("{name}={text}; Path=/; Secure; HttpOnly; SameSite=Lax{age}");
    response.headers_mut().append(SET_COOKIE, HeaderValue::from_str(&cookie).expect("base64 and digits"));
}

/// Has the browser forget it.
pub(super) fn drop_cookie(response: &mut Response, name: &str) {
    keep(response, name, "", Some(0));
}

/// What the browser keeps under that name; `None` where it sends that twice.
pub(super) fn kept<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(axum::http::header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(key, _)| *key == name).map(|(_, text)| text);
    match (found.next(), found.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    }
}

/// Puts on every answer what keeps it to these pages.
pub(super) fn protect(response: &mut Response) {
    let headers: [(HeaderName, &'static str); 7] = [
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        // With none at all a browser would not say from where a form comes.
        (REFERRER_POLICY, "same-origin"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header::COOKIE;

    use super::*;

    #[test]
    fn a_cookie_counts_once_under_its_whole_name() {
        for (lines, expected) in [
            (&["__Host-rosterd=a"][..], Some("a")),
            (&["x=1; __Host-rosterd=a;y=2"], Some("a")),
            (&["x=1", "__Host-rosterd=a"], Some("a")),
            (&["__Host-rosterd=a; __Host-rosterd=b"], None),
            (&["__Host-rosterd=a", "__Host-rosterd=b"], None),
            (&["rosterd=a; __host-rosterd=b; __Host-rosterd-login=c"], None),
            (&["__Host-rosterd"], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, HeaderValue::from_static(line));
            }
            assert_eq!(kept(&headers, SESSION), expected, "{lines:?}");
        }
    }
}
