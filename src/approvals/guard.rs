//! Whether a request may be one of a person on these pages.
//!
//! Another site's page, open in the same browser, may have its name point here (DNS rebinding) or have the browser send a form
//! here. The browser says where it believes to be (`Host`), and from where a form comes (`Sec-Fetch-Site`, `Origin`).

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Uri};
use reqwest::Url;

pub(super) const FETCH_SITE: &str = "sec-fetch-site";

/// Whether a request is for the host of these pages: `Host` is there, once, and names it; so does an address in the
/// request's line.
pub(super) fn is_for(url: &Url, uri: &Uri, headers: &HeaderMap) -> bool {
    let mut named = headers.get_all(HOST).iter();
    let (Some(host), None) = (named.next(), named.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    let is_ours = |host: &str| {
        // Only a name and a port make a host; anything else would be another part of the address.
        let is_plain = host.chars().all(|c| c.is_ascii_alphanumeric() || ".-_:[]".contains(c));
        let asked = Url::parse(&format!("{}://{host}/", url.scheme()));
        is_plain && asked.is_ok_and(|asked| asked.origin() == url.origin() && asked.has_host())
    };
    is_ours(host) && uri.authority().is_none_or(|authority| is_ours(authority.as_str()))
}

/// Whether a form comes from these pages.
pub(super) fn is_from(url: &Url, headers: &HeaderMap) -> bool {
    let one = |name: &str| {
        let mut all = headers.get_all(name).iter();
        match (all.next(), all.next()) {
            (None, _) => Ok(None),
            (Some(one), None) => one.to_str().map(Some).map_err(|_| ()),
            _ => Err(()),
        }
    };
    match (one(FETCH_SITE), one(ORIGIN.as_str())) {
        (Ok(Some(site)), Ok(_)) => site == "same-origin",
        // An older browser says at least its origin.
        (Ok(None), Ok(Some(origin))) => origin == url.origin().ascii_serialization(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn headers(list: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_the_host_of_the_pages_is_answered() {
        let plain: Url = "https://roster.example.com".parse().unwrap();
        for (hosts, expected) in [
            (&["roster.example.com"][..], true),
            (&["Roster.Example.COM"], true),
            (&["roster.example.com:443"], true),
            (&["roster.example.com:8443"], false),
            (&["roster.example.com.evil.example.net"], false),
            (&["evil.example.net"], false),
            (&["127.0.0.1:9465"], false),
            (&["localhost"], false),
            (&["ana@roster.example.com"], false),
            (&["roster.example.com/x"], false),
            (&["roster.example.com?"], false),
            (&[""], false),
            (&[], false),
            (&["roster.example.com", "roster.example.com"], false),
            (&["roster.example.com", "evil.example.net"], false),
        ] {
            let list: Vec<(&str, &str)> = hosts.iter().map(|host| ("host", *host)).collect();
            assert_eq!(is_for(&plain, &Uri::from_static("/"), &headers(&list)), expected, "{hosts:?}");
        }
        let with_port: Url = "http://127.0.0.1:9465".parse().unwrap();
        let of = |host: &str| is_for(&with_port, &Uri::from_static("/"), &headers(&[("host", host)]));
        assert!(of("127.0.0.1:9465") && !of("127.0.0.1") && !of("localhost:9465") && !of("127.0.0.1:9464"));
        let absolute = Uri::from_static("http://evil.example.net/");
        assert!(!is_for(&plain, &absolute, &headers(&[("host", "roster.example.com")])));
    }

    #[test]
    fn a_form_counts_only_from_these_pages() {
        let url: Url = "https://roster.example.com".parse().unwrap();
        let own = ("origin", "https://roster.example.com");
        for (list, expected) in [
            (&[("sec-fetch-site", "same-origin")][..], true),
            (&[("sec-fetch-site", "same-origin"), own], true),
            (&[("sec-fetch-site", "cross-site"), own], false),
            (&[("sec-fetch-site", "same-site"), own], false),
            (&[("sec-fetch-site", "none"), own], false),
            (&[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")], false),
            (&[own], true),
            (&[own, own], false),
            (&[("origin", "https://roster.example.com.evil.example.net")], false),
            (&[("origin", "http://roster.example.com")], false),
            (&[("origin", "https://roster.example.com:8443")], false),
            (&[("origin", "null")], false),
            (&[], false),
        ] {
            assert_eq!(is_from(&url, &headers(list)), expected, "{list:?}");
        }
    }
}
