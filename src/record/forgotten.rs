//! Removes the name of a forgotten person from a text (law 11).

use super::key::Key;
use super::sensitive::{Sensitive, replaced};

/// What is put in place of a key that was forgotten.
const FORGOTTEN: &str = "(forgotten)";

/// A text without the name of one person: `None` where it does not name them by their key. A name that may be that of a
/// membership of theirs is left out too: a text about others then loses a name, but no person loses a row.
pub fn erase_key(text: &str, key: &Key) -> Option<String> {
    let mut found = false;
    let told = replaced(text, |own| {
        let joined = || Key::new(own)?.split_membership();
        let is_about = own == key.as_str() || joined().is_some_and(|(member, _)| member == *key);
        found |= is_about;
        if is_about { Sensitive(FORGOTTEN).to_string() } else { Sensitive(own).to_string() }
    });
    found.then_some(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::reveal;

    fn key(text: &str) -> Key {
        Key::new(text).unwrap()
    }

    #[test]
    fn law_11_a_person_who_is_forgotten_is_named_no_more() {
        let text = format!("{}: name; {}: title; {} @ x", key("A"), key("AB"), key("C"));
        assert_eq!(reveal(&erase_key(&text, &key("A")).unwrap()), "(forgotten): name; AB: title; C @ x");
        assert_eq!(erase_key(&text, &key("B")), None);
        let membership = format!("of key {}", Key::joined(&key("A"), &key("Org")));
        assert_eq!(reveal(&erase_key(&membership, &key("A")).unwrap()), "of key (forgotten)");
        let damaged = format!("{} and \u{fdd0}A\u{fdd0}", key("A"));
        assert_eq!(reveal(&erase_key(&damaged, &key("A")).unwrap()), "(forgotten) and (forgotten)", "at the first go");
    }
}
