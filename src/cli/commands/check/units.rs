//! What `check` shows of where the entries of a directory lie, now and at the last run.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Verdict;
use crate::cli::ui::sanitize;
use crate::source::{SourceState, ldap};
use crate::text::some_of;

/// The most units that are listed.
const LISTED_MAX: usize = 12;

/// The entries by organizational unit, those first whose number changed most. Doubtful where a unit lost all of them.
pub(crate) fn compared(now: &ldap::DirectoryState, then: Option<&SourceState>) -> Option<(Verdict, String)> {
    let then = match then {
        Some(SourceState::Ldap(then)) => Some(&then.units),
        _ => None,
    };
    let names: BTreeSet<&String> = now.units.keys().chain(then.into_iter().flat_map(BTreeMap::keys)).collect();
    let count = |units: &BTreeMap<String, u64>, name: &String| units.get(name).copied().unwrap_or(0);
    let mut units: Vec<(&String, u64, u64)> = names
        .into_iter()
        .map(|name| (name, count(&now.units, name), count(then.unwrap_or(&now.units), name)))
        .collect();
    units.sort_by_key(|(_, now, then)| std::cmp::Reverse((now.abs_diff(*then), *now)));
    let line = |(name, now, then): &(&String, u64, u64)| {
        let name = if name.is_empty() { "(in none)".to_owned() } else { sanitize(name) };
        if now == then { format!("{name} {now}") } else { format!("{name} {now} ({then} at the last run)") }
    };
    let listed = some_of(units.iter().map(line), LISTED_MAX);
    let is_emptied = units.iter().any(|(_, now, then)| *now == 0 && *then > 0);
    let verdict = if is_emptied { Verdict::Doubtful } else { Verdict::Good };
    (!units.is_empty()).then_some((verdict, listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(units: &[(&str, u64)]) -> ldap::DirectoryState {
        let units = units.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        ldap::DirectoryState { units, ..ldap::DirectoryState::default() }
    }

    #[test]
    fn what_changed_most_stands_first() {
        let now = found(&[("Sales", 4), ("IT", 9), ("", 1)]);
        let then = SourceState::Ldap(found(&[("Sales", 5), ("HR", 7), ("IT", 9), ("", 1)]));
        let text = |compared: Option<(Verdict, String)>| compared.map(|(verdict, text)| (verdict.name(), text));
        let all = "HR 0 (7 at the last run), Sales 4 (5 at the last run), IT 9, (in none) 1".to_owned();
        assert_eq!(text(compared(&now, Some(&then))), Some((Verdict::Doubtful.name(), all)));
        let alone = "IT 9, Sales 4, (in none) 1".to_owned();
        assert_eq!(text(compared(&now, None)), Some((Verdict::Good.name(), alone)));
        assert!(compared(&found(&[]), None).is_none());
    }
}
