//! What can be asked of the list of a resource: `q` and `order`, with the fields that they may name.

use serde_json::{Value, json};

use super::super::resource::{Field, FieldKind, Resource, Visibility};
use super::super::view::Comparison;

const NUMBER: &str = "(-?[0-9]+|true|false)";
const TIME: &str = "[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})?)?";

/// How many terms more than one a filter may have.
const MORE_TERMS: usize = 49;

/// The schema of `order`.
pub(super) fn order(resource: &Resource, only: Option<&[&str]>) -> Value {
    let names = fields(resource, only, &[Comparison::Number, Comparison::Time, Comparison::Text]);
    let both: Vec<String> = names.iter().flat_map(|name| [(*name).to_owned(), format!("-{name}")]).collect();
    json!({ "type": "string", "enum": both })
}

/// The schema of `q`.
pub(super) fn filter(resource: &Resource, only: Option<&[&str]>) -> Value {
    let mut terms = Vec::new();
    let forms = [
        (&[Comparison::Number][..], format!("(:{NUMBER}?|[<>]{NUMBER})")),
        (&[Comparison::Time], format!("(:({TIME})?|[<>]{TIME})")),
        (&[Comparison::Text, Comparison::Texts], "[:%~][^,]*".to_owned()),
    ];
    for (comparisons, form) in forms {
        let names = fields(resource, only, comparisons);
        if !names.is_empty() {
            terms.push(format!("({}){form}", names.join("|")));
        }
    }
    if resource.fields.iter().any(|field| matches!(field.kind, FieldKind::Tokens)) {
        terms.push("token:[^,]*".to_owned());
    }
    let term = format!("({})", terms.join("|"));
    json!({ "type": "string", "pattern": format!("^{term}(,{term}){{0,{MORE_TERMS}}}$"), "examples": ["id>0"] })
}

/// The names of the fields in answers that compare in one of these ways.
fn fields(resource: &Resource, only: Option<&[&str]>, comparisons: &[Comparison]) -> Vec<&'static str> {
    let is_known = |field: &&Field| {
        !matches!(field.shown, Visibility::Never | Visibility::Roaming)
            && only.is_none_or(|only| only.contains(&field.name))
            && comparisons.contains(&Comparison::of(field.kind))
    };
    resource.fields.iter().filter(is_known).map(|field| field.name).collect()
}
