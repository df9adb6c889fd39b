//! Naming the edits at the service that stay.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::Key;

/// How many people a note names; the rest is counted.
const NAMED_MAX: usize = 5;

/// Who was edited at the service, and in which fields; never to what (law 11).
pub(super) fn note(drift: &BTreeMap<Key, Vec<String>>) -> Option<String> {
    let who = match drift.len() {
        0 => return None,
        1 => "1 person was".to_owned(),
        many => format!("{many} people were"),
    };
    let named = drift.iter().take(NAMED_MAX).map(|(key, fields)| format!("{key}: {}", fields.join(", ")));
    let named: Vec<String> = named.collect();
    let more = match drift.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named = named.join("; ");
    Some(format!("on_drift: {who} edited at the service ({named}{more}), which stays until the source changes"))
}

/// Whose photo is gone from the source and stays at the service.
pub(super) fn photos_note(keys: &BTreeSet<Key>) -> Option<String> {
    let what = match keys.len() {
        0 => return None,
        1 => "1 photo is".to_owned(),
        many => format!("{many} photos are"),
    };
    let named: Vec<&str> = keys.iter().take(NAMED_MAX).map(Key::as_str).collect();
    let more = match keys.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named = named.join(", ");
    Some(format!(
        "photo: {what} gone from the source and stays at the service, since the API has no operation that removes one \
         ({named}{more}); remove it there by hand"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_named_and_the_rest_is_counted() {
        let drift = |count: usize| {
            let key = |number: usize| Key::new(&number.to_string()).unwrap();
            (0..count)
                .map(|number| (key(number), vec!["name".to_owned(), "title".to_owned()]))
                .collect::<BTreeMap<_, _>>()
        };
        assert_eq!(note(&drift(0)), None);
        let one = "on_drift: 1 person was edited at the service (0: name, title), which stays until the source changes";
        assert_eq!(note(&drift(1)).as_deref(), Some(one));
        let many = note(&drift(7)).unwrap();
        assert!(many.contains("7 people were") && many.contains("4: name, title; and 2 more)"), "{many}");
    }
}
