//! How far the server that is read has come, so that a server that is behind is recognized.
//!
//! Invariant: a person that a server does not show counts as gone only if that server had seen, before it was asked,
//! everything that the read which showed this person had seen at its end ([`ReplicaPosition::covers`]). A number that is
//! counted by one server alone is compared only with earlier numbers of the same server. A server that shows nothing,
//! where it or another one of the directory showed something before, has seen nothing: it may be in the middle of an
//! import.
//!
//! What is compared, the best that the server shows:
//!
//! | server | changes, by who wrote them |
//! | --- | --- |
//! | OpenLDAP | `contextCSN` of the suffix |
//! | Active Directory | `replUpToDateVector` of the naming context, with the server's own `invocationId` and `highestCommittedUSN` |
//! | 389 Directory Server | `nsds50ruv` of the suffix, else `lastUSN` with the server's address |
//! | any other | nothing: only the same server is believed |

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How far a server has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaPosition {
    /// Which server it is: its `invocationId` where it has one, else its address.
    pub server: String,
    /// What it calls itself, where it says so: a copy of its disk counts under the same identity.
    #[serde(default)]
    pub name: String,
    /// Its address, for messages.
    pub address: String,
    /// What it counts by itself, where it does.
    #[serde(default)]
    pub count: Option<u64>,
    /// By writer and suffix: the last change of theirs that it has seen. Later ones sort after earlier ones.
    #[serde(default)]
    pub changes: BTreeMap<String, String>,
    /// Whether it had come at least so far, and how far is not known.
    #[serde(default)]
    pub at_least: bool,
}

/// A server before it was asked for its entries, and after it gave the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// It had seen at least this before.
    pub began: ReplicaPosition,
    /// It had seen at most this when it gave its last entry.
    pub ended: ReplicaPosition,
}

impl ReplicaPosition {
    /// The last change of a server on which none was written since an import, which may not have ended: it covers nothing. Who is
    /// removed is removed by a write.
    pub const UNWRITTEN: &str = "";

    /// Whether a server that is so far has seen everything that one at `other` had.
    pub fn covers(&self, other: &Self) -> bool {
        if self.server == other.server && self.name != other.name {
            return false;
        }
        if other.at_least && self.server != other.server || self.changes.is_empty() != other.changes.is_empty() {
            return false;
        }
        if self.changes.is_empty() {
            return self.server == other.server && self.count >= other.count;
        }
        let has_seen = |own: &String, change: &String| own != Self::UNWRITTEN && own >= change;
        other.changes.iter().all(|(writer, change)| self.changes.get(writer).is_some_and(|own| has_seen(own, change)))
    }

    /// Whether it has certainly seen less of something than one at `other` had.
    pub fn is_behind(&self, other: &Self) -> bool {
        if self.changes.is_empty() || other.changes.is_empty() {
            return self.server == other.server && self.count < other.count;
        }
        other.changes.iter().any(|(writer, change)| self.changes.get(writer).is_some_and(|own| own < change))
    }

    /// What it takes to have seen both. A server's own name stays that of `self`.
    pub fn joined(mut self, other: &Self) -> Self {
        for (writer, change) in &other.changes {
            let own = self.changes.entry(writer.clone()).or_default();
            if *own < *change {
                own.clone_from(change);
            }
        }
        if self.server == other.server {
            self.count = self.count.max(other.count);
        }
        self
    }

    /// The same server, at an unknown position: only this server itself covers it.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self { at_least: true, ..self.clone() }
    }

    /// What no server covers.
    pub fn beyond() -> Self {
        Self { count: Some(u64::MAX), ..Self::default() }
    }

    /// Whether it shows a position, so that a server that is behind can be recognized.
    pub fn tells(&self) -> bool {
        self.count.is_some() || !self.changes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(server: &str, count: Option<u64>, changes: &[(&str, &str)]) -> ReplicaPosition {
        let changes = changes.iter().map(|(writer, change)| ((*writer).to_owned(), (*change).to_owned())).collect();
        ReplicaPosition { server: server.into(), address: server.into(), count, changes, ..ReplicaPosition::default() }
    }

    #[test]
    fn law_1_a_server_covers_only_what_it_has_seen() {
        let of = standing;
        for (name, now, other, covers, behind) in [
            ("the same", of("a", None, &[("w", "5")]), of("a", None, &[("w", "5")]), true, false),
            ("none written since an import", of("a", None, &[("w", "")]), of("a", None, &[("w", "")]), false, false),
            ("the first written", of("a", None, &[("w", "0")]), of("a", None, &[("w", "")]), true, false),
            ("ahead", of("b", None, &[("w", "6")]), of("a", None, &[("w", "5")]), true, false),
            ("behind", of("b", None, &[("w", "4")]), of("a", None, &[("w", "5")]), false, true),
            ("a writer more", of("b", None, &[("v", "1"), ("w", "5")]), of("a", None, &[("w", "5")]), true, false),
            ("a writer less", of("b", None, &[("w", "5")]), of("a", None, &[("v", "1"), ("w", "5")]), false, false),
            (
                "ahead and behind",
                of("b", None, &[("v", "9"), ("w", "4")]),
                of("a", None, &[("v", "1"), ("w", "5")]),
                false,
                true,
            ),
            ("its own later count", of("a", Some(6), &[]), of("a", Some(5), &[]), true, false),
            ("its own earlier count", of("a", Some(4), &[]), of("a", Some(5), &[]), false, true),
            ("another's count says nothing", of("b", Some(900), &[]), of("a", Some(5), &[]), false, false),
            ("another that shows nothing", of("b", None, &[]), of("a", None, &[]), false, false),
            ("the same that shows nothing", of("a", None, &[]), of("a", None, &[]), true, false),
            ("it does not count any more", of("a", None, &[]), of("a", Some(5), &[]), false, true),
            ("it shows no more how far it is", of("a", None, &[]), of("a", None, &[("w", "5")]), false, false),
            ("it did not show how far it was", of("a", None, &[("w", "5")]), of("a", None, &[]), false, false),
            ("itself since then", of("a", None, &[("w", "5")]), of("a", None, &[("w", "5")]).alone(), true, false),
            ("its copy of before", of("a", None, &[("w", "4")]), of("a", None, &[("w", "5")]).alone(), false, true),
            (
                "how far it was is not known",
                of("b", Some(9), &[("a", "9")]),
                of("a", Some(5), &[("a", "5")]).alone(),
                false,
                false,
            ),
            ("beyond all", of("", Some(9), &[]), ReplicaPosition::beyond(), false, true),
        ] {
            assert_eq!((now.covers(&other), now.is_behind(&other)), (covers, behind), "{name}");
        }
    }

    #[test]
    fn law_1_a_copy_of_a_server_is_another_server() {
        let one = ReplicaPosition { name: "dc1".into(), ..standing("a", Some(5), &[("a", "5")]) };
        let copy = ReplicaPosition { name: "dc2".into(), ..standing("a", Some(9), &[("a", "9")]) };
        assert!(!copy.covers(&one) && one.covers(&one));
    }

    #[test]
    fn what_was_seen_of_two_takes_both() {
        let (one, other) =
            (standing("a", None, &[("v", "1"), ("w", "5")]), standing("b", None, &[("v", "2"), ("w", "4")]));
        let both = one.clone().joined(&other);
        assert_eq!(both.changes, standing("", None, &[("v", "2"), ("w", "5")]).changes);
        assert!(!one.covers(&both) && !other.covers(&both) && both.covers(&one));
        assert_eq!(standing("a", Some(9), &[]).joined(&standing("a", Some(4), &[])).count, Some(9));
    }
}
