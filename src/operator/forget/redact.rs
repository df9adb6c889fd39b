//! Taking the name of a person out of what a report says of others.

use crate::hr_report::Language;
use crate::record::Key;

/// The placeholder for a key that was forgotten.
const FORGOTTEN: &str = "(forgotten)";
/// The words before the name of a record, in reasons for administrators.
const NAMED: [&str; 3] = ["key", "member", "membership"];

/// A reason that names a record by its key, without that name; `None` where it does not. A report is for people, so that
/// nothing in it tells where a key ends: what may be the key goes.
pub(crate) fn without(reason: &str, key: &Key) -> Option<String> {
    let mut told = String::with_capacity(reason.len());
    let mut rest = reason;
    let mut found = false;
    let words: Vec<&str> = NAMED.into_iter().chain(Language::all().map(Language::key_word)).collect();
    while let Some(at) = rest.find(key.as_str()) {
        let (before, after) = (&rest[..at], &rest[at + key.as_str().len()..]);
        let begins = words.iter().any(|word| {
            let lead = before.strip_suffix(' ').and_then(|before| before.strip_suffix(word));
            lead.is_some_and(|lead| !lead.ends_with(char::is_alphanumeric))
        });
        let ends = !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '@' | '/'));
        told.push_str(before);
        if begins && ends {
            found = true;
            told.push_str(FORGOTTEN);
            rest = after;
        } else {
            // The key may begin again inside of what only looked like it.
            let next = rest[at..].chars().next().map_or(0, char::len_utf8);
            told.push_str(&rest[at..at + next]);
            rest = &rest[at + next..];
        }
    }
    told.push_str(rest);
    found.then_some(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_loses_the_name_of_one_key_only() {
        for (key, reason, expected) in [
            (
                "E7",
                "email fits id 3, who belongs to key E7 of job staff",
                Some("email fits id 3, who belongs to key (forgotten) of job staff"),
            ),
            ("E7", "this new record and that of key E7", Some("this new record and that of key (forgotten)")),
            ("E7", "that of key E77 and key E7, both", Some("that of key E77 and key (forgotten), both")),
            ("E7", "waits until member E7 is at the service", Some("waits until member (forgotten) is at the service")),
            ("E7 @ Q", "that of key E7 @ Q, too", Some("that of key (forgotten), too")),
            ("key E7", "that of key key E7", Some("that of key (forgotten)")),
            ("E7", "wie der Schlüssel E7, der", Some("wie der Schlüssel (forgotten), der")),
            ("E7", "ki tō te kī E7, kei", Some("ki tō te kī (forgotten), kei")),
            ("E7", "that of key E77", None),
            ("E7", "monkey E7", None),
            ("E7", "E7 people", None),
        ] {
            assert_eq!(without(reason, &Key::new(key).unwrap()).as_deref(), expected, "{reason}");
        }
    }
}
