//! Whether a server is as far as those read before.
//!
//! A server with `contextCSN` (OpenLDAP) shows up to which change of which writer it is contained: compared with what was
//! remembered, that tells a replica that lags, and a directory that was laid back from a backup. Active Directory counts
//! changes by server (`highestCommittedUSN`), so only a server's own numbers can be compared; one that was never read before
//! shows nothing, and its first read is doubted.
//!
//! Rejected: to doubt every change of server. A name that stands for all domain controllers leads to another one each time,
//! and nobody would ever be a leaver.

use std::collections::BTreeMap;

use super::found::Position;

/// How many servers are remembered.
const SERVERS_MAX: usize = 16;

/// What one server says of itself, before its entries are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// As it calls itself, else its address.
    pub(super) server: String,
    /// Its own last change number; 0 where it tells none.
    pub(super) usn: u64,
    /// By suffix: its `contextCSN`s.
    pub(super) changes: BTreeMap<String, Vec<String>>,
}

impl Standing {
    /// The change numbers by their writers. A change number is time, count, writer and part, put apart by `#`.
    fn by_writer(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let writer = |csn: &String| csn.split('#').nth(2).unwrap_or_default().to_owned();
        let of_suffix = |csns: &Vec<String>| csns.iter().map(|csn| (writer(csn), csn.clone())).collect();
        self.changes.iter().map(|(suffix, csns)| (suffix.clone(), of_suffix(csns))).collect()
    }
}

/// Compares a server with what is remembered: why its entries prove nothing about who is absent, if so, and what is to be
/// remembered from now on.
pub(super) fn compare(known: Option<&Position>, now: &Standing) -> (Option<String>, Position) {
    let mut position = known.cloned().unwrap_or_default();
    let changes = now.by_writer();
    let comparable = changes.keys().any(|suffix| position.changes.contains_key(suffix));
    let behind = changes.iter().any(|(suffix, csns)| {
        let remembered = position.changes.get(suffix);
        remembered.is_some_and(|remembered| {
            remembered.iter().any(|(writer, csn)| csns.get(writer).is_none_or(|now| now < csn))
        })
    });
    if behind {
        let reason = format!(
            "the server {} is behind what was read before (contextCSN): a replica that lags, or a directory from a backup",
            now.server
        );
        return (Some(reason), position);
    }
    position.changes.extend(changes);
    let before = position.servers.insert(now.server.clone(), now.usn);
    while position.servers.len() > SERVERS_MAX {
        let other = position.servers.keys().find(|server| **server != now.server).cloned();
        other.and_then(|server| position.servers.remove(&server));
    }
    let is_first = known.is_none_or(|known| known.servers.is_empty());
    let doubt = match before {
        Some(usn) if now.usn < usn => Some(format!(
            "the server {} is behind what it was (highestCommittedUSN): was it laid back from a backup?",
            now.server
        )),
        None if !is_first && !comparable => Some(format!(
            "the server {} was not read before and does not show how far it is; leavers wait for its next read",
            now.server
        )),
        _ => None,
    };
    (doubt, position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csn(time: &str, writer: &str) -> String {
        format!("{time}.000000Z#000000#{writer}#000000")
    }

    fn standing(server: &str, usn: u64, csns: &[&str]) -> Standing {
        let changes = if csns.is_empty() {
            BTreeMap::new()
        } else {
            [("dc=x".to_owned(), csns.iter().map(|csn| (*csn).to_owned()).collect())].into()
        };
        Standing { server: server.into(), usn, changes }
    }

    #[test]
    fn fault_79_a_server_that_is_behind_proves_nothing() {
        let (early, late) = (csn("20260101000000", "000"), csn("20260102000000", "000"));
        let other = csn("20250101000000", "001");
        for (name, reads) in [
            ("the same", vec![(standing("a", 0, &[&early]), false), (standing("a", 0, &[&early]), false)]),
            ("ahead", vec![(standing("a", 0, &[&early]), false), (standing("b", 0, &[&late]), false)]),
            (
                "behind, and then no more",
                vec![
                    (standing("a", 0, &[&late]), false),
                    (standing("b", 0, &[&early]), true),
                    (standing("b", 0, &[&early]), true),
                    (standing("b", 0, &[&late]), false),
                ],
            ),
            (
                "a writer is missing",
                vec![(standing("a", 0, &[&late, &other]), false), (standing("b", 0, &[&late]), true)],
            ),
            ("counted back", vec![(standing("a", 9, &[]), false), (standing("a", 8, &[]), true)]),
            (
                "a new server without change numbers is doubted once",
                vec![
                    (standing("a", 9, &[]), false),
                    (standing("b", 5, &[]), true),
                    (standing("b", 6, &[]), false),
                    (standing("a", 9, &[]), false),
                ],
            ),
        ] {
            let mut position = None;
            for (at, (now, doubted)) in reads.into_iter().enumerate() {
                let (doubt, next) = compare(position.as_ref(), &now);
                assert_eq!(doubt.is_some(), doubted, "{name}, read {at}: {doubt:?}");
                position = Some(next);
            }
        }
    }
}
