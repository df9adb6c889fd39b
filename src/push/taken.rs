//! Whether the service took what was written, in its own spelling.
//!
//! Rejected: to compare with the wish alone. A service that rewrites numbers would look as if it took none of them (law 4).

use std::ops::RangeInclusive;

use crate::record::{Entity, Field, FieldKind, Value, Values, digits, normalize};

/// A field that the service left as it was, or emptied, though it was to change. Another spelling is a change.
pub(super) fn not_taken<'f>(
    fields: &[Field],
    wanted: &Values,
    moved: &[&'f str],
    before: &Entity,
    after: &Entity,
) -> Option<&'f str> {
    moved.iter().copied().find(|name| {
        let is_wanted_empty = wanted.get(*name).is_none_or(Value::is_empty);
        let (old, new) = (before.value(name), after.value(name));
        let is_as_before = old == new || new.is_empty() != is_wanted_empty;
        is_as_before && !has_taken(fields, wanted, name, before, after)
    })
}

/// Whether a field of an entity is as it was wanted, in the service's spelling.
pub(super) fn has_taken(fields: &[Field], wanted: &Values, name: &str, before: &Entity, after: &Entity) -> bool {
    let wanted = wanted.get(name).unwrap_or(&Value::Empty);
    let (old, new) = (before.value(name), after.value(name));
    let kind = fields.iter().find(|field| field.name == *name).map(|field| field.kind);
    let spelt = match (wanted.as_text(), new.as_text()) {
        (Some(wanted), Some(new)) => squeezed(wanted) == squeezed(new),
        _ => false,
    };
    let is_same = |kind: FieldKind| kind.same(wanted, new) || kind == FieldKind::Phone && rewritten(wanted, new);
    // Where people may roam is in no answer (specification, Employee).
    let unseen = kind == Some(FieldKind::Ids) && old.is_empty() && new.is_empty();
    spelt || unseen || kind.is_some_and(is_same)
}

/// Whether two telephone numbers differ in what comes before the subscriber's digits only: the service puts a country code
/// there. The last six digits tell lines apart; of a shorter number, all of them do.
pub(super) fn rewritten(wanted: &Value, new: &Value) -> bool {
    const TOLD_APART_BY: usize = 6;
    const SHORTEST: usize = 2;
    const CODES: RangeInclusive<usize> = 1..=3;
    let (Some(wanted), Some(new)) = (wanted.as_text().map(digits), new.as_text().map(digits)) else { return false };
    let own = &wanted[wanted.len().saturating_sub(TOLD_APART_BY)..];
    let has_code =
        wanted.len() >= TOLD_APART_BY || new.len().checked_sub(wanted.len()).is_some_and(|more| CODES.contains(&more));
    own.len() >= SHORTEST && has_code && new.ends_with(own)
}

/// A text under which spellings that a service may change count as one.
fn squeezed(text: &str) -> String {
    normalize(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RemoteId;

    #[test]
    fn a_field_is_not_taken_where_it_stayed_or_became_empty_and_not_where_it_is_spelt_otherwise() {
        let fields: Vec<Field> = crate::record::Target::Staff.fields().collect();
        let text = |text: &str| Value::text(text);
        let ids = |ids: &[i32]| if ids.is_empty() { Value::Empty } else { Value::Ids(ids.to_vec()) };
        // The field, what was there, what was wanted, what is there; whether it was not taken.
        for (field, old, wanted, new, expected) in [
            ("title", text("Cook"), text("Chef"), text("Chef"), false),
            ("title", text("Cook"), text("Chef"), text("Cook"), true),
            ("title", text("Cook"), text("Chef"), Value::Empty, true),
            ("title", Value::Empty, text("Chef"), Value::Empty, true),
            ("title", text("Cook"), Value::Empty, text("Cook"), true),
            ("title", text("Cook"), Value::Empty, text("Chef"), true),
            ("title", text("Cook"), Value::Empty, Value::Empty, false),
            // Other spellings, and what the service makes of a text.
            ("title", text("Cook"), text("Head  Chef"), text("head chef"), false),
            ("title", text("head chef"), text("Head  Chef"), text("head chef"), false),
            ("title", text("Cook"), text("Chef"), text("Che"), false),
            ("mobile", text("64 298385771"), text("029 838 5771"), text("64 298385771"), false),
            ("title", text("64 298385771"), text("029 838 5771"), text("64 298385771"), true),
            // In no answer, whether or not it was taken.
            ("globalroaming_locations", ids(&[]), ids(&[1, 2]), ids(&[]), false),
            ("globalroaming_locations", ids(&[1]), ids(&[1, 2]), ids(&[]), true),
            ("globalroaming_locations", ids(&[1]), ids(&[1, 2]), ids(&[1]), true),
            ("globalroaming_locations", ids(&[]), ids(&[1, 2]), ids(&[1, 2]), false),
        ] {
            let entity = |value: &Value| Entity {
                id: RemoteId::new(1).unwrap(),
                created: String::new(),
                fields: Values::from_iter([(field.into(), value.clone())]),
            };
            let wish = Values::from_iter([(field.into(), wanted.clone())]);
            let found = not_taken(&fields, &wish, &[field], &entity(&old), &entity(&new));
            assert_eq!(found, expected.then_some(field), "{field}: {old:?}, {wanted:?}, {new:?}");
            assert_eq!(not_taken(&fields, &wish, &[], &entity(&old), &entity(&new)), None, "it was not to change");
        }
    }

    #[test]
    fn a_telephone_number_with_another_country_code_is_the_same_line() {
        for (wanted, new, expected) in [
            ("029 838 5771", "64 298385771", true),
            ("029 838 5771", "64 298385772", false),
            ("5771", "5771", false),
            ("09 200", "64 9200", true),
            ("200", "61 2 9200", false),
            ("09 200", "64 9201", false),
            ("64 9200", "09 200", false),
            ("092", "64 92", true),
            ("2", "64 2", false),
            ("", "64 298385771", false),
        ] {
            assert_eq!(rewritten(&Value::text(wanted), &Value::text(new)), expected, "{wanted} {new}");
        }
        assert!(!rewritten(&Value::Empty, &Value::text("64 298385771")));
        assert!(!rewritten(&Value::Empty, &Value::Empty));
    }
}
