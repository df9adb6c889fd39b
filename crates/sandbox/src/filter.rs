//! The filter `q` (specification, Common behaviour): terms `field<operator>value`, separated by commas, which all apply.
//!
//! There is no escaping: a comma always ends a term. Text is compared without regard to case, as the databases behind
//! such services do.

use std::cmp::Ordering;

use jiff::Timestamp;
use serde_json::Value;

use crate::answer::Rejection;
use crate::resource::{FieldKind, Resource};
use crate::row::EntityRow;
use crate::view::{Comparison, View};
use crate::zone;

/// How many terms one filter may have.
const TERMS_MAX: usize = 50;

/// One term of a filter.
#[derive(Debug)]
pub(crate) struct Term {
    /// The position of its field.
    pub(crate) position: usize,
    pub(crate) test: Test,
}

/// What a term asks of its field.
#[derive(Debug, PartialEq)]
pub(crate) enum Test {
    /// A number equal to, below or above another; without one: there is none.
    Number(Ordering, Option<f64>),
    /// A time equal to, before or after another; without one: there is none.
    Time(Ordering, Option<Timestamp>),
    /// Text; the value is in lower case.
    Text(Manner, String),
    /// A token's number, in decimal or hexadecimal digits.
    Token(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Equals,
    StartsWith,
    Like,
}

/// Reads a filter; 400 names the term's field that can't be used.
pub(crate) fn read(view: &View<'_>, text: &str) -> Result<Vec<Term>, Rejection> {
    let terms: Vec<&str> = text.split(',').collect();
    if terms.len() > TERMS_MAX {
        return Err(Rejection::bad(format!("q has more than {TERMS_MAX} terms")));
    }
    terms.into_iter().map(|term| read_term(view, term)).collect()
}

fn read_term(view: &View<'_>, term: &str) -> Result<Term, Rejection> {
    let end = term.find([':', '%', '>', '<', '~']).ok_or_else(|| Rejection::bad("q has a term without an operator"))?;
    let (name, operator, value) = (&term[..end], &term[end..=end], &term[end + 1..]);
    if let Some(position) = tokens(view.resource).filter(|_| name == "token") {
        return match operator {
            ":" => Ok(Term { position, test: Test::Token(value.to_lowercase()) }),
            _ => Err(Rejection::bad("q: token takes : only")),
        };
    }
    let unusable = || Rejection::bad(format!("q: {} can't be filtered by", printable(name)));
    let position = view.position(name).ok_or_else(unusable)?;
    let wrong = |what: &str| Rejection::bad(format!("q: {name}{operator} takes {what}"));
    let ordering = match operator {
        ":" => Some(Ordering::Equal),
        "<" => Some(Ordering::Less),
        ">" => Some(Ordering::Greater),
        _ => None,
    };
    let test = match (view.comparison(position), ordering) {
        (Comparison::Number, Some(Ordering::Equal)) if value.is_empty() => Test::Number(Ordering::Equal, None),
        (Comparison::Number, Some(ordering)) => {
            Test::Number(ordering, Some(number(value).ok_or_else(|| wrong("a number"))?))
        }
        (Comparison::Time, Some(Ordering::Equal)) if value.is_empty() => Test::Time(Ordering::Equal, None),
        (Comparison::Time, Some(ordering)) => {
            Test::Time(ordering, Some(zone::read(value).ok_or_else(|| wrong("a date or a time"))?))
        }
        (Comparison::Text | Comparison::Texts, _) => {
            let manner = match operator {
                ":" => Manner::Equals,
                "%" => Manner::StartsWith,
                "~" => Manner::Like,
                _ => return Err(wrong("numbers and dates only")),
            };
            Test::Text(manner, value.to_lowercase())
        }
        (Comparison::Number | Comparison::Time, None) => return Err(wrong("text only")),
        (Comparison::Never, _) => return Err(unusable()),
    };
    Ok(Term { position, test })
}

impl Term {
    /// Whether an entity fits.
    pub(crate) fn fits(&self, view: &View<'_>, row: &EntityRow) -> bool {
        match &self.test {
            Test::Number(ordering, Some(wanted)) => {
                view.number(row, self.position).is_some_and(|own| own.total_cmp(wanted) == *ordering)
            }
            Test::Number(_, None) => view.number(row, self.position).is_none(),
            Test::Time(ordering, Some(wanted)) => {
                view.time(row, self.position).is_some_and(|own| own.cmp(wanted) == *ordering)
            }
            Test::Time(_, None) => view.time(row, self.position).is_none(),
            Test::Text(manner, wanted) => {
                let is_name = view.is_name(self.position);
                any_text(&view.value(row, self.position), |own| is_match(own, *manner, wanted, is_name))
            }
            Test::Token(wanted) => {
                row.value(self.position).as_array().into_iter().flatten().any(|token| is_token(token, wanted))
            }
        }
    }
}

fn any_text(value: &Value, test: impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => test(text),
        Value::Array(lists) => lists.iter().any(|list| match list {
            Value::Array(texts) => texts.iter().filter_map(Value::as_str).any(&test),
            Value::String(text) => test(text),
            _ => false,
        }),
        _ => test(""),
    }
}

fn is_match(own: &str, manner: Manner, wanted: &str, is_name: bool) -> bool {
    if manner == Manner::Equals && own.is_ascii() && wanted.is_ascii() {
        return own.eq_ignore_ascii_case(wanted);
    }
    let own = own.to_lowercase();
    match manner {
        Manner::Equals => own == wanted,
        Manner::StartsWith => {
            // The last name is what follows the first blank, or the last one.
            own.starts_with(wanted)
                || is_name
                    && [own.split_once(' '), own.rsplit_once(' ')]
                        .into_iter()
                        .flatten()
                        .any(|(_, last)| last.starts_with(wanted))
        }
        Manner::Like => is_like(&own, wanted),
    }
}

/// Whether the whole text matches a pattern in which `%` means any number of characters or none.
fn is_like(text: &str, pattern: &str) -> bool {
    let Some((beginning, rest)) = pattern.split_once('%') else { return text == pattern };
    let Some(mut left) = text.strip_prefix(beginning) else { return false };
    let mut parts: Vec<&str> = rest.split('%').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(end)
}

fn is_token(token: &Value, wanted: &str) -> bool {
    match token.get("number") {
        Some(Value::Number(number)) => {
            number.to_string() == wanted
                || number.as_u64().is_some_and(|number| format!("{number:x}") == wanted.trim_start_matches('0'))
        }
        Some(Value::String(text)) => text.to_lowercase() == wanted,
        _ => false,
    }
}

fn tokens(resource: &Resource) -> Option<usize> {
    resource.fields.iter().position(|field| matches!(field.kind, FieldKind::Tokens))
}

fn number(text: &str) -> Option<f64> {
    match text {
        "true" => Some(1.0),
        "false" => Some(0.0),
        _ => text.parse().ok().filter(|number: &f64| number.is_finite()),
    }
}

/// A field's name as it can stand in a message; it may be anything that a caller sent.
fn printable(name: &str) -> String {
    let is_name =
        !name.is_empty() && name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_name { name.to_owned() } else { "that".to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::store::Store;
    use crate::tables::STAFF;
    use crate::view::Sight;

    fn person() -> EntityRow {
        let mut row = EntityRow::new(&STAFF, 7, "2026-01-02T03:04:05Z".parse().unwrap());
        let Value::Object(fields) = json!({
            "name": "Ana Maria van Dyk", "email": "Ana@Example.com", "employee_id": "E00007", "globalroaming": 1,
            "last_login": null, "roles": [["Warden", "First Aider"]], "tokens": [{ "type": "card", "number": 12_696_447 }],
        }) else {
            unreachable!()
        };
        row.merge(&STAFF, fields);
        row
    }

    fn check(query: &str, expected: Option<bool>) {
        let store = Store::open(None).unwrap();
        let entities = store.read();
        let view = View::new(&STAFF, &entities, Sight::plain());
        let found = read(&view, query).ok().map(|terms| terms.iter().all(|term| term.fits(&view, &person())));
        assert_eq!(found, expected, "{query}");
    }

    #[test]
    fn a_term_compares_by_its_operator() {
        for (query, expected) in [
            ("id:7", true),
            ("id:8", false),
            ("id>6", true),
            ("id>7", false),
            ("id<8", true),
            ("id<7", false),
            ("email:ana@example.COM", true),
            ("email:ana", false),
            ("email%ana@", true),
            ("email%example", false),
            ("email~%@example.com", true),
            ("email~%example", false),
            ("email~a%@%.c%m", true),
            ("employee_id:E00007", true),
            ("employee_id:7", false),
            ("phone:", true),
            ("email:", false),
            ("globalroaming:1", true),
            ("globalroaming:false", false),
            ("modified>2026-01-02T03:04:04", true),
            ("modified>2026-01-02T03:04:05+00:00", false),
            ("created<2026-01-03", true),
            ("created:2026-01-02T16:04:05+13:00", true),
            ("last_login:", true),
            ("last_login>2020-01-01", false),
            ("roles:warden", true),
            ("roles%first", true),
            ("roles:aider", false),
            ("id>6,email%ana", true),
            ("id>6,email%bo", false),
        ] {
            check(query, Some(expected));
        }
    }

    #[test]
    fn a_name_begins_with_its_first_and_its_last_name() {
        for (query, expected) in [
            ("name%ana", true),
            ("name%Ana Mar", true),
            ("name%dyk", true),
            ("name%maria", true),
            ("name%an Dyk", false),
        ] {
            check(query, Some(expected));
        }
    }

    #[test]
    fn a_token_is_found_by_its_decimal_or_hexadecimal_number() {
        for (query, expected) in
            [("token:12696447", true), ("token:C1BB7F", true), ("token:0c1bb7f", true), ("token:7", false)]
        {
            check(query, Some(expected));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_filter_or_refused(text in "[a-zé_,:%<>~0-9]{0,30}", field in "(name|id|modified|token)[:%<>~]") {
            let store = Store::open(None).unwrap();
            let entities = store.read();
            let view = View::new(&STAFF, &entities, Sight::plain());
            for query in [text.clone(), field + &text] {
                for term in read(&view, &query).unwrap_or_default() {
                    term.fits(&view, &person());
                }
            }
        }
    }

    #[test]
    fn a_bad_filter_is_refused() {
        for query in [
            "",
            "id",
            "id>",
            "id>x",
            "id>nan",
            "id%7",
            "id~7",
            "shoe:9",
            ":7",
            "name>a",
            "modified:soon",
            "modified%2026",
            "token%1",
            "tokens:1",
            "customfields:1",
            "globalroaming_locations:1",
            "id>1,",
            "id>1,,id<9",
        ] {
            check(query, None);
        }
        check(&vec!["id>1"; 51].join(","), None);
    }
}
