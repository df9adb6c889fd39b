//! How many entries lie in which organizational unit.
//!
//! Nothing reports a unit that the account may not see any more: the server says success and shows the rest. So each
//! whole read remembers where its entries lay, and the next one names the units that are empty now.

use std::collections::{BTreeMap, HashMap};

use crate::record::Sensitive;
use crate::source::dn;
use crate::text::some_of;

/// The most units that are remembered; with more, none are.
const UNITS_MAX: usize = 5_000;
/// The most units that a note names.
const NAMED_MAX: usize = 3;

/// The entries of a read so far, by what they lie in.
#[derive(Default)]
pub(super) struct Units {
    earlier_bases: BTreeMap<String, u64>,
    base: HashMap<String, u64>,
}

impl Units {
    /// Counts an entry by its name.
    pub(super) fn count(&mut self, dn: &str) {
        let parent = dn::parent(dn);
        if let Some(count) = self.base.get_mut(parent) {
            *count += 1;
        } else if self.base.len() <= UNITS_MAX {
            self.base.insert(parent.to_owned(), 1);
        }
    }

    /// The next base begins.
    pub(super) fn next_base(&mut self) {
        for (parent, count) in self.base.drain() {
            *self.earlier_bases.entry(dn::place(&parent)).or_default() += count;
        }
    }

    /// The search in the current base starts again.
    pub(super) fn again(&mut self) {
        self.base.clear();
    }

    /// By unit, as people call it: how many entries lie right in it.
    pub(super) fn finish(mut self) -> BTreeMap<String, u64> {
        self.next_base();
        if self.earlier_bases.len() > UNITS_MAX { BTreeMap::new() } else { self.earlier_bases }
    }
}

/// What to tell of units in which there were entries at the whole read before, and are none now.
pub(super) fn emptied(then: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>) -> Option<String> {
    let mut gone: Vec<_> = then.iter().filter(|(unit, _)| !now.is_empty() && !now.contains_key(*unit)).collect();
    gone.sort_by_key(|(unit, count)| (std::cmp::Reverse(**count), *unit));
    let named = gone.iter().map(|(unit, count)| format!("\"{}\" ({count} before)", Sensitive(unit)));
    let named = some_of(named, NAMED_MAX);
    (!gone.is_empty())
        .then(|| format!("no entry is left in the organizational unit {named}: may the account still see it?"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::reveal;

    fn units(dns: &[&str]) -> BTreeMap<String, u64> {
        let mut units = Units::default();
        dns.iter().for_each(|dn| units.count(dn));
        units.finish()
    }

    #[test]
    fn entries_are_counted_by_where_they_lie() {
        let mut counted = Units::default();
        counted.count("cn=a,ou=lost,dc=x");
        counted.again();
        ["cn=a,ou=Sales,dc=x", r"cn=a\,b,ou=Sales,dc=x", "cn=c,dc=x"].iter().for_each(|dn| counted.count(dn));
        counted.next_base();
        counted.count("cn=a,ou=Sales,dc=y");
        assert_eq!(counted.finish(), BTreeMap::from([(String::new(), 1), ("Sales".to_owned(), 3)]));
    }

    #[test]
    fn a_unit_that_is_empty_now_is_named() {
        let then = units(&["cn=a,ou=Sales,dc=x", "cn=b,ou=Sales,dc=x", "cn=c,ou=IT,dc=x", "cn=d,ou=HR,dc=x"]);
        for (now, expected) in [
            (&["cn=a,ou=Sales,dc=x", "cn=c,ou=IT,dc=x", "cn=d,ou=HR,dc=x"][..], None),
            (&["cn=c,ou=IT,dc=x", "cn=d,ou=HR,dc=x", "cn=e,ou=New,dc=x"], Some("\"Sales\" (2 before):")),
            (&["cn=e,ou=New,dc=x"], Some("\"Sales\" (2 before), \"HR\" (1 before), \"IT\" (1 before):")),
            (&[], None),
        ] {
            let note = emptied(&then, &units(now));
            match expected {
                Some(expected) => assert!(reveal(&note.unwrap()).contains(expected), "{expected}"),
                None => assert_eq!(note, None),
            }
        }
    }
}
