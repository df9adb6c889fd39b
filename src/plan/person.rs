//! Whether two sets of values are of one person (law 6).
//!
//! A key stays one person. Name and email distinguish people: where a change leaves nothing of either, the key was
//! given to another person, or columns were sorted separately. Numbers prove nothing here: they are what slips.
//!
//! Invariants:
//! - Only values that both sides may have are compared: a field that the job does not map says nothing.
//! - A person without an email is known by their name alone, so one word of it that stays is enough.
//!
//! Rejected: how alike two names look. `Ann` and `Anna` are two people as often as one.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_64;

use crate::record::{Entity, Target, Value, Values, normalize};

/// Whether `after` belongs to another person than `before`; fields that `after` does not have are left out.
pub fn is_another_person(before: &Values, after: &Values) -> bool {
    let pair = |field: &str| Some((before.get(field).map(text).unwrap_or_default(), text(after.get(field)?)));
    let email = pair(Target::EMAIL).unwrap_or_default();
    let Some(name) = pair(Target::NAME) else { return false };
    if name == email && name.0.is_empty() && name.1.is_empty() {
        return false;
    }
    if email.0.is_empty() && email.1.is_empty() {
        return words(&name.0).is_disjoint(&words(&name.1));
    }
    email.0 != email.1 && !is_same_name(&name.0, &name.1)
}

/// The name and email by which a record names its person.
pub fn named_by(fields: &Values) -> impl Iterator<Item = (&'static str, String)> {
    let named = |field| Some((field, normalize(fields.get(field)?.as_text()?)));
    Target::IDENTITY.into_iter().filter_map(named).filter(|(_, text)| !text.is_empty())
}

/// Whether an entity has the name of a record, or no other where the record has none.
pub fn is_named_alike(entity: &Entity, fields: &Values) -> bool {
    fields.get(Target::NAME).is_none_or(|name| is_same_name(&text(entity.value(Target::NAME)), &text(name)))
}

/// Whether two records have one name.
pub fn has_same_name(one: &Values, other: &Values) -> bool {
    let name = |values: &Values| values.get(Target::NAME).map(text).unwrap_or_default();
    is_same_name(&name(one), &name(other))
}

/// The form in which a value tells one entity from another: of the name of a person its words in order of the alphabet, whatever the way
/// in which a template puts them. `None` of an empty one.
pub fn identity_form(target: Target, field: &str, value: &Value) -> Option<String> {
    let text = text(value);
    let form = match field {
        Target::NAME if target.has_presence() => words(&text).into_iter().collect::<Vec<_>>().join(" "),
        Target::NAME => text.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => text,
    };
    (!form.is_empty()).then_some(form)
}

/// The digest of that form, of a field among others; of all but names the one by which entities are matched.
pub fn identity_hash(target: Target, fields: &Values, field: &str) -> Option<u64> {
    let form = identity_form(target, field, fields.get(field)?)?;
    Some(xxh3_64(form.as_bytes()).max(1))
}

/// Whether one name is the other, whatever the order of its words, or the other with more words.
fn is_same_name(one: &str, other: &str) -> bool {
    let (one, other) = (words(one), words(other));
    !one.is_empty() && !other.is_empty() && (one.is_subset(&other) || other.is_subset(&one))
}

/// The words of the name of a record.
pub fn name_words(fields: &Values) -> BTreeSet<String> {
    fields.get(Target::NAME).map(|name| words(&text(name)).into_iter().map(str::to_owned).collect()).unwrap_or_default()
}

fn words(name: &str) -> BTreeSet<&str> {
    name.split(|letter: char| letter.is_whitespace() || matches!(letter, ',' | '-'))
        .filter(|word| !word.is_empty())
        .collect()
}

fn text(value: &Value) -> String {
    value.as_text().map(normalize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_stays_one_person() {
        // (name and email before, after, whether that is another person)
        for (before, after, other) in [
            (("Ana Bell", "ana@a.example"), ("Ana Bell", "ana@a.example"), false),
            (("Ana Bell", "ana@a.example"), ("Ana Bell", "ana.bell@b.example"), false),
            (("Ana Bell", "ana@a.example"), ("Ana Cole", "ana@a.example"), false),
            (("Ana Bell", "ana@a.example"), ("Bell, Ana", "bell@a.example"), false),
            (("Ana Bell", "ana@a.example"), ("Ana Bell-Cole", "ana.cole@a.example"), false),
            (("ANA BELL", ""), ("Ana Bell", "ana@a.example"), false),
            (("Ana Bell", "ana@a.example"), ("Ana Bell", ""), false),
            (("Ana Bell", "ana@a.example"), ("Cy Dunn", "cy@a.example"), true),
            (("Ana Bell", "ana@a.example"), ("Ana Cole", "ana.cole@a.example"), true),
            (("Ana Bell", "ana@a.example"), ("Cy Dunn", ""), true),
            (("Ana Bell", ""), ("Cy Dunn", "cy@a.example"), true),
            (("Person 1", "p1@a.example"), ("Person 12", "p12@a.example"), true),
            (("Ana Bell", ""), ("Ana Cole", ""), false),
            (("Ana Bell", ""), ("Cy Dunn", ""), true),
        ] {
            let values = |(name, email): (&str, &str)| -> Values {
                [("name".into(), Value::text(name)), ("email".into(), Value::text(email))].into()
            };
            let (old, new) = (values(before), values(after));
            let found = is_another_person(&old, &new);
            assert_eq!(found, other, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_field_that_is_not_mapped_says_nothing() {
        let before = [("name".into(), Value::text("Ana Bell")), ("email".into(), Value::text("ana@a.example"))].into();
        for (after, other) in
            [(&[("title", "Clerk")][..], false), (&[("name", "Ana Cole")], false), (&[("name", "Cy Dunn")], true)]
        {
            let after: Values = after.iter().map(|(field, text)| ((*field).into(), Value::text(*text))).collect();
            assert_eq!(is_another_person(&before, &after), other);
        }
    }
}
