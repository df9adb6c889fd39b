//! What a proxy says in headers.
//!
//! They are read only where the kernel has shown that the account of the proxy is at the other end: see `socket`.

use std::collections::BTreeSet;

use axum::http::HeaderMap;

use super::access::{Person, Proof};
use super::jwt::is_plain;
use crate::config::Proxy;

/// Who the proxy says it is; `None` where it says nothing, or more than one thing.
pub(super) fn person(proxy: &Proxy, headers: &HeaderMap) -> Option<Person> {
    let name = one(headers, &proxy.user_header)?.filter(|name| is_plain(name))?;
    let groups = match &proxy.groups_header {
        None => None,
        Some(header) => one(headers, header)?,
    };
    let groups: BTreeSet<String> = groups
        .unwrap_or_default()
        .split(',')
        .map(|group| group.trim().to_owned())
        .filter(|group| !group.is_empty())
        .collect();
    Some(Person { name: Some(name.trim().to_owned()), groups, proof: Proof::Proxy })
}

/// The one header of that name; the outer `None` where there are several, or it is no text.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<Option<&'a str>> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Some(None),
        (Some(one), None) => std::str::from_utf8(one.as_bytes()).ok().map(Some),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;
    use crate::approvals::access::tests::pages;
    use crate::config::Login;

    #[test]
    fn a_header_counts_once_and_as_a_text() {
        let Login::Proxy(proxy) = pages(&[]).login else { panic!("they are behind a proxy") };
        for (list, expected) in [
            (&[("X-Remote-User", "ana"), ("X-Remote-Groups", "hr, it,,")][..], Some("ana: hr it")),
            (&[("x-remote-user", " ana ")], Some("ana: ")),
            (&[("X-Remote-User", "ana"), ("X-REMOTE-USER", "ana")], None),
            (&[("X-Remote-User", "ana"), ("x-remote-user", "bo")], None),
            (&[("X-Remote-User", "ana"), ("X-Remote-Groups", "a"), ("x-remote-groups", "hr")], None),
            (&[("X_Remote_User", "ana")], None),
            (&[("X-Remote-User", "")], None),
            (&[("X-Remote-User", " ")], None),
            (&[("X-Remote-Groups", "hr")], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in list {
                headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
            }
            let found = person(&proxy, &headers);
            let found = found
                .map(|one| format!("{}: {}", one.called(), one.groups.iter().cloned().collect::<Vec<_>>().join(" ")));
            assert_eq!(found.as_deref(), expected, "{list:?}");
        }
        let mut headers = HeaderMap::new();
        headers.insert("x-remote-user", HeaderValue::from_bytes(b"\xff\xfe").unwrap());
        assert_eq!(person(&proxy, &headers), None);
    }
}
