//! Naming the edits at the service that stay.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{JobName, Key};
use crate::text::counted;

/// How many people a note names; the rest is counted.
const NAMED_MAX: usize = 5;

/// Who was edited at the service, and in which fields; never to what (law 11).
pub(crate) fn note(drift: &BTreeMap<Key, Vec<String>>) -> Option<String> {
    if drift.is_empty() {
        return None;
    }
    let who = counted(drift.len(), "person was", "people were");
    let named = drift.iter().take(NAMED_MAX).map(|(key, fields)| format!("{key}: {}", fields.join(", ")));
    let named: Vec<String> = named.collect();
    let more = match drift.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named = named.join("; ");
    Some(format!("on_drift: {who} edited at the service ({named}{more}), which stays until the source changes"))
}

/// Which organizations stay as the job has them that owns them, by that job.
pub(crate) fn lent_notes(lent: &BTreeMap<JobName, BTreeMap<Key, Vec<String>>>) -> Vec<String> {
    let note = |(job, lent): (&JobName, &BTreeMap<Key, Vec<String>>)| {
        let named: Vec<String> =
            lent.iter().take(NAMED_MAX).map(|(key, fields)| format!("{key}: {}", fields.join(", "))).collect();
        let more = match lent.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let (what, stay) = match lent.len() {
            1 => ("1 organization belongs".to_owned(), "stays"),
            many => (format!("{many} organizations belong"), "stay"),
        };
        let named = named.join("; ");
        format!(
            "{what} to job {job} and {stay} as that job has it, though other values are wanted here ({named}{more})"
        )
    };
    lent.iter().map(note).collect()
}

/// Whose photo is gone from the source and stays at the service.
pub(crate) fn photos_note(keys: &BTreeSet<Key>) -> Option<String> {
    let what = match keys.len() {
        0 => return None,
        1 => "1 photo is".to_owned(),
        many => format!("{many} photos are"),
    };
    let named: Vec<String> = keys.iter().take(NAMED_MAX).map(Key::to_string).collect();
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
    use crate::record::reveal;

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
        assert_eq!(reveal(&note(&drift(1)).unwrap()), one);
        let many = note(&drift(7)).unwrap();
        let many = reveal(&many);
        assert!(many.contains("7 people were") && many.contains("4: name, title; and 2 more)"), "{many}");
    }
}
