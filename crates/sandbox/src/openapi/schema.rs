//! JSON schemas of resources: what answers hold, and what can be sent.
//!
//! What can be sent is described as it is read, not as it is best sent: a number may come as text, since XML has
//! nothing else, and an empty text means no value. A caller who keeps to the first of the types of a field does right.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::binding::Action;
use super::super::resource::{Derived, Field, FieldKind, Resource, Sent, Visibility};
use super::super::tables::{CERTIFICATION, QUALIFICATION, RESOURCES, STAFF, resource};
use super::parameter;

/// How a qualification is called beside its certification.
const QUALIFICATION_NAME: &str = "qualification";

/// How a row of an uploaded roster is called.
pub(super) const ROSTER: &str = "staff.upload";

const INT_MAX: i64 = i32::MAX as i64;

/// All schemas, by name.
pub(super) fn all() -> Value {
    let mut schemas: BTreeMap<String, Value> = BTreeMap::new();
    for resource in RESOURCES {
        schemas.insert(resource.name.to_owned(), answered(resource, None));
        for (action, verb) in [(Action::Create, "create"), (Action::Replace, "replace")] {
            schemas.insert(format!("{}.{verb}", resource.name), taken(resource, action));
        }
    }
    schemas.insert(QUALIFICATION_NAME.to_owned(), answered(&CERTIFICATION, Some(QUALIFICATION)));
    schemas.insert(ROSTER.to_owned(), roster());
    schemas.insert("error".to_owned(), error());
    schemas.insert("token.error".to_owned(), token_error());
    schemas.insert("token".to_owned(), token());
    json!(schemas)
}

/// A reference to the schema of an answer with one entity.
pub(super) fn answer(resource: &Resource, only: Option<&[&str]>) -> Value {
    reference(if only.is_some() { QUALIFICATION_NAME } else { resource.name })
}

/// A reference to the schema of an entity that is sent.
pub(super) fn input(resource: &Resource, action: Action) -> Value {
    let verb = if action == Action::Replace { "replace" } else { "create" };
    reference(&format!("{}.{verb}", resource.name))
}

pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// A list; in XML its items lie in one element.
pub(super) fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn answered(resource: &Resource, only: Option<&[&str]>) -> Value {
    let is_shown =
        |field: &&Field| field.shown != Visibility::Never && only.is_none_or(|only| only.contains(&field.name));
    let shown: Vec<&Field> = resource.fields.iter().filter(is_shown).collect();
    let required = shown.iter().filter(|field| field.shown != Visibility::Roaming).map(|field| field.name);
    json!({
        "type": "object",
        "properties": properties(shown.iter().map(|field| (field.name, answered_field(field.kind)))),
        "required": required.collect::<Vec<_>>(),
        "xml": { "name": element(resource) },
    })
}

/// What the element of an entity is called in XML.
fn element(resource: &Resource) -> &'static str {
    resource.name.rsplit('.').next().unwrap_or(resource.name)
}

fn taken(resource: &Resource, action: Action) -> Value {
    let other = if action == Action::Replace { Sent::OnCreate } else { Sent::OnUpdate };
    let inputs = resource.fields.iter().filter(|field| field.sent != other);
    let inputs = inputs.flat_map(|field| field.inputs.iter().map(|name| (*name, taken_field(field.kind))));
    let inputs: Vec<(&str, Value)> = inputs.collect();
    // What only answers have is taken and ignored, whatever it is.
    let ignored = resource.fields.iter().filter(|field| field.shown != Visibility::Never).map(|field| field.name);
    let ignored: Vec<_> =
        ignored.filter(|name| inputs.iter().all(|(input, _)| input != name)).map(|name| (name, json!({}))).collect();
    let in_body = resource.required.iter().filter(|name| !parameter::may_stand_for(resource, name));
    let required = in_body.filter_map(|name| {
        let field = resource.fields.iter().find(|field| field.name == *name)?;
        field.inputs.first()
    });
    json!({
        "type": "object",
        "properties": properties(inputs.into_iter().chain(ignored)),
        "required": required.collect::<Vec<_>>(),
        "additionalProperties": false,
        "xml": { "name": element(resource) },
    })
}

/// An employee in a roster, who may bring tokens as numbered columns (specification, Employee).
fn roster() -> Value {
    let mut row = taken(&STAFF, Action::Create);
    row["patternProperties"] = json!({ "^token[0-9]+(type|number|issued|expires)$": {} });
    row
}

fn properties<'a>(fields: impl Iterator<Item = (&'a str, Value)>) -> Map<String, Value> {
    fields.map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// What a field of that kind holds in answers.
fn answered_field(kind: FieldKind) -> Value {
    match kind {
        FieldKind::Id => json!({ "type": "integer", "format": "int32" }),
        FieldKind::Created | FieldKind::Modified => json!({ "type": "string", "format": "date-time" }),
        FieldKind::LocalCreated => json!({ "type": "string", "pattern": LOCAL }),
        FieldKind::Timestamp => json!({ "type": ["string", "null"], "format": "date-time" }),
        FieldKind::LocalTime => json!({ "type": ["string", "null"], "pattern": LOCAL }),
        FieldKind::Date => json!({ "type": ["string", "null"], "format": "date" }),
        FieldKind::Integer | FieldKind::IdOf(_) | FieldKind::AccessPoint => {
            json!({ "type": ["integer", "null"], "format": "int32" })
        }
        FieldKind::Decimal => json!({ "type": ["number", "null"] }),
        FieldKind::Text
        | FieldKind::Name
        | FieldKind::Email
        | FieldKind::Phone
        | FieldKind::Number
        | FieldKind::Loose
        | FieldKind::NameOf(_) => text(),
        FieldKind::Choice(words) => {
            json!({ "enum": words.iter().map(|word| json!(word)).chain([Value::Null]).collect::<Vec<_>>() })
        }
        FieldKind::IdsOf(_) => list(named(&[])),
        FieldKind::Places(_) => list(named(&[("start", day()), ("expires", day())])),
        FieldKind::Flag => json!({ "enum": [0, 1] }),
        FieldKind::Bool | FieldKind::Minutes => json!({ "type": "boolean" }),
        FieldKind::NestedNames => list(list(json!({ "type": "string" }))),
        FieldKind::Custom(_) => json!({ "type": "object", "additionalProperties": text() }),
        FieldKind::Tokens => list(json!({ "type": "object" })),
        FieldKind::List(_) => json!({ "type": "array" }),
        FieldKind::Any => json!({}),
        FieldKind::Parts(fields) => list(json!({
            "type": "object",
            "properties": properties(fields.iter().map(|field| (field.name, answered_field(field.kind)))),
        })),
        FieldKind::Derived(derived) => followed(derived),
    }
}

/// What a field shows that follows from elsewhere.
fn followed(derived: Derived) -> Value {
    match derived {
        Derived::Count(..) => json!({ "type": "integer", "minimum": 0 }),
        Derived::SameAsOrganization => json!({ "type": "boolean" }),
        Derived::Members => list(named(&[])),
        Derived::Organizations => list(named(&[
            ("roles", list(named(&[]))),
            ("locations", list(named(&[]))),
            ("locations_same_as_org", json!({ "type": "boolean" })),
        ])),
        Derived::Of(references, field) => {
            let kinds = references
                .iter()
                .filter_map(|(_, other)| Some(resource(other)?.fields[resource(other)?.position(field)?].kind));
            kinds.map(answered_field).find(|schema| *schema != text()).unwrap_or_else(text)
        }
        Derived::OfRecord(_)
        | Derived::AccessPointName(_)
        | Derived::Joined(_)
        | Derived::Duration
        | Derived::LearnerFrom => text(),
    }
}

/// What can be sent in a field of that kind.
fn taken_field(kind: FieldKind) -> Value {
    match kind {
        FieldKind::Integer => json!({
            "type": ["integer", "string", "null"], "format": "int32", "minimum": -INT_MAX - 1, "maximum": INT_MAX,
            "pattern": "^(0|-?[1-9][0-9]*)?$",
        }),
        FieldKind::IdOf(other) => known(id(&["integer", "string", "null"]), other),
        FieldKind::AccessPoint => id(&["integer", "string", "null"]),
        FieldKind::Timestamp | FieldKind::LocalTime => {
            json!({ "anyOf": [{ "type": "string", "format": "date-time" }, day_text(), nothing()] })
        }
        FieldKind::Date => json!({ "anyOf": [day_text(), nothing()] }),
        FieldKind::Email => json!({ "type": ["string", "null"], "pattern": "^$|@" }),
        FieldKind::Number => json!({ "type": ["string", "integer", "null"] }),
        FieldKind::Loose => json!({ "type": ["string", "number", "boolean", "null"] }),
        FieldKind::Choice(words) => {
            json!({ "enum": words.iter().map(|word| json!(word)).chain([json!(""), Value::Null]).collect::<Vec<_>>() })
        }
        FieldKind::Flag => json!({ "enum": [1, 0, true, false, "1", "0", "true", "false", null] }),
        FieldKind::Bool => json!({ "enum": [true, false, 1, 0, "true", "false", "1", "0", null] }),
        FieldKind::Minutes => json!({
            "type": ["integer", "boolean", "string", "null"], "minimum": 0, "maximum": INT_MAX,
            "pattern": "^(true|false|0|[1-9][0-9]*)$",
        }),
        FieldKind::NestedNames => sent_list(json!({ "type": "string", "minLength": 1 })),
        FieldKind::IdsOf(other) => sent_list(known(id(&["integer", "string"]), other)),
        FieldKind::Places(_) => sent_list(json!({
            "type": "object",
            "properties": {
                "id": id(&["integer", "string"]), "name": {},
                "start": taken_field(FieldKind::Date), "expires": taken_field(FieldKind::Date),
            },
            "required": ["id"], "additionalProperties": false,
        })),
        FieldKind::Custom(_) => custom(),
        FieldKind::Parts(fields) => sent_list(json!({
            "type": "object",
            "properties": properties(fields.iter().map(|field| (field.name, taken_field(field.kind)))),
            "additionalProperties": false,
        })),
        FieldKind::Text | FieldKind::Name | FieldKind::Phone | FieldKind::NameOf(_) | FieldKind::Derived(_) => text(),
        // The service alone decides on these.
        FieldKind::Id
        | FieldKind::Created
        | FieldKind::LocalCreated
        | FieldKind::Modified
        | FieldKind::Decimal
        | FieldKind::Tokens
        | FieldKind::List(_)
        | FieldKind::Any => {
            json!({})
        }
    }
}

const LOCAL: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$";

fn text() -> Value {
    json!({ "type": ["string", "null"] })
}

fn day() -> Value {
    json!({ "type": ["string", "null"], "format": "date" })
}

fn day_text() -> Value {
    json!({ "type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" })
}

/// An empty text or null, where neither would be a value.
fn nothing() -> Value {
    json!({ "enum": ["", null] })
}

fn id(types: &[&str]) -> Value {
    json!({ "type": types, "format": "int32", "minimum": 0, "maximum": INT_MAX, "pattern": "^(0|[1-9][0-9]*)$" })
}

/// The same with the id of an entity that is there where entities were made up.
fn known(mut schema: Value, other: &str) -> Value {
    if let Some(other) = resource(other) {
        schema["examples"] = json!([other.first_id]);
    }
    schema
}

/// An object of id and name, and what else there is.
fn named(more: &[(&str, Value)]) -> Value {
    let own = [("id", json!({ "type": "integer", "format": "int32" })), ("name", text())];
    json!({ "type": "object", "properties": properties(own.into_iter().chain(more.iter().cloned())) })
}

fn sent_list(items: Value) -> Value {
    let mut items = items;
    items["xml"] = json!({ "name": "item" });
    json!({ "type": ["array", "null"], "items": items, "xml": { "wrapped": true } })
}

/// Custom fields by element id, or the deprecated list of id and value.
fn custom() -> Value {
    let value = json!({ "type": ["string", "number", "boolean", "null"] });
    json!({
        "anyOf": [
            { "type": "object", "propertyNames": { "pattern": "^[0-9]+$" }, "additionalProperties": value },
            { "type": "array", "items": { "type": "object", "properties": { "id": id(&["integer", "string"]), "value": value }, "required": ["id"] } },
            { "type": "null" },
        ],
    })
}

fn error() -> Value {
    json!({ "type": "object", "properties": { "error": { "type": "string" } }, "required": ["error"] })
}

fn token_error() -> Value {
    json!({
        "type": "object",
        "properties": { "error": { "type": "string" }, "error_description": { "type": "string" } },
        "required": ["error"],
    })
}

fn token() -> Value {
    json!({
        "type": "object",
        "properties": {
            "access_token": { "type": "string" }, "token_type": { "const": "Bearer" },
            "expires_in": { "type": "integer" }, "refresh_token": { "type": "string" }, "scope": { "type": "string" },
        },
        "required": ["access_token", "token_type", "expires_in", "refresh_token", "scope"],
    })
}
