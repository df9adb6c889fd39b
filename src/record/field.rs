//! A field of a target, and how two of its values are compared.

use smol_str::SmolStr;

use super::normal::digits;
use super::value::Value;

/// What a field holds; decides how it is mapped, compared and sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Plain text.
    Text,
    /// The name of a person: text with a letter in it.
    PersonName,
    /// An email address: case and outer spaces don't matter, and the service may change them.
    Email,
    /// A phone number: compared by its digits, since the service rewrites it (`64 298385771`).
    Phone,
    /// The name of a location that must exist exactly once at the service.
    Location,
    /// A flag: 1 or 0 on the wire.
    Flag,
    /// A list of names, in any order.
    Names,
    /// A list of ids, in any order.
    Ids,
    /// A day as `YYYY-MM-DD`; the service may write a time behind it.
    Date,
    /// The names of locations that must each exist exactly once at the service, in any order.
    Places,
    /// The key of another record, and its entity's id at the service. What it says is part of what the record is, so it
    /// never differs.
    Link,
    /// A photo: at a source its bytes as base64, in a record its mark ([`photo_mark`](super::photo_mark)). No list shows
    /// it, and an operation of its own sends it.
    Photo,
    /// A custom field, by title; text on the wire, a checkbox as "1" or "0".
    Custom,
}

impl FieldKind {
    /// Whether `ours` and `theirs` mean the same for a field of this kind.
    pub fn same(self, ours: &Value, theirs: &Value) -> bool {
        if ours == theirs {
            return true;
        }
        match (self, ours, theirs) {
            (Self::Phone, Value::Text(ours), Value::Text(theirs)) => {
                let digits = (digits(ours), digits(theirs));
                !digits.0.is_empty() && digits.0 == digits.1
            }
            (Self::Email, Value::Text(ours), Value::Text(theirs)) => {
                ours.trim().to_lowercase() == theirs.trim().to_lowercase()
            }
            (Self::Flag, ours, theirs) => truth(ours) == truth(theirs),
            (Self::Date, Value::Text(ours), Value::Text(theirs)) => {
                theirs.strip_prefix(ours.as_str()).is_some_and(|rest| rest.starts_with(['T', ' ']))
            }
            (Self::Link, _, _) => true,
            (Self::Names | Self::Places, Value::List(ours), Value::List(theirs)) => sorted(ours) == sorted(theirs),
            (Self::Ids, Value::Ids(ours), Value::Ids(theirs)) => sorted(ours) == sorted(theirs),
            _ => false,
        }
    }
}

fn sorted<T: Ord>(items: &[T]) -> Vec<&T> {
    let mut items: Vec<&T> = items.iter().collect();
    items.sort();
    items
}

/// A flag that is missing is off.
fn truth(value: &Value) -> bool {
    match value {
        Value::Flag(flag) => *flag,
        Value::Text(text) => matches!(text.as_str(), "1" | "true"),
        _ => false,
    }
}

/// One row of a target's field table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in a job's `[job.map]`; the input name at the service unless `kind` is [`FieldKind::Custom`].
    pub name: SmolStr,
    /// Its name in the service's answers.
    pub response: &'static str,
    /// What it holds.
    pub kind: FieldKind,
    /// Whether a record without a value in it is rejected.
    pub required: bool,
    /// Whether a plan shows `***` instead of its values.
    pub sensitive: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_by_what_they_mean() {
        let list = |names: &[&str]| Value::list(names.iter().map(|name| (*name).to_owned()).collect());
        for (kind, ours, theirs, same) in [
            (FieldKind::Text, Value::text("Ana"), Value::text("ana"), false),
            (FieldKind::Phone, Value::text("+64 29 838 5771"), Value::text("64 298385771"), true),
            (FieldKind::Phone, Value::text("n/a"), Value::text("none"), false),
            (FieldKind::Phone, Value::text("+64"), Value::Empty, false),
            (FieldKind::Flag, Value::Flag(false), Value::Empty, true),
            (FieldKind::Flag, Value::Flag(true), Value::text("1"), true),
            (FieldKind::Names, list(&["a", "b"]), list(&["b", "a"]), true),
            (FieldKind::Names, list(&["a"]), list(&["a", "a"]), false),
            (FieldKind::Custom, Value::text("1"), Value::text("1"), true),
            (FieldKind::Custom, Value::text("true"), Value::text("1"), false),
            (FieldKind::Email, Value::text("Ana@Example.com "), Value::text("ana@example.com"), true),
            (FieldKind::Email, Value::text("ana@example.com"), Value::text("bo@example.com"), false),
            (FieldKind::Date, Value::text("2026-03-01"), Value::text("2026-03-01T00:00:00+13:00"), true),
            (FieldKind::Date, Value::text("2026-03-01"), Value::text("2026-03-11"), false),
            (FieldKind::Date, Value::Empty, Value::text("2026-03-11"), false),
            (FieldKind::Places, list(&["a", "b"]), list(&["b", "a"]), true),
            (FieldKind::Link, Value::text("0042"), Value::text("7"), true),
            (FieldKind::Ids, Value::ids(vec![2, 1]), Value::ids(vec![1, 2]), true),
        ] {
            assert_eq!(kind.same(&ours, &theirs), same, "{kind:?}");
        }
    }
}
