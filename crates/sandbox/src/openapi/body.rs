//! Bodies: of requests, of answers, and of every error.

use serde_json::{Map, Value, json};

use super::super::binding::{Action, Binding};
use super::schema;

/// One status that isn't a success.
struct Error {
    status: u16,
    meaning: &'static str,
    /// A header that goes with it, and what that one says.
    header: Option<(&'static str, &'static str)>,
}

const fn error(status: u16, meaning: &'static str) -> Error {
    Error { status, meaning, header: None }
}

/// The errors that any operation may answer, beside those of its row.
const ERRORS: &[Error] = &[
    error(400, "the request is wrong"),
    error(401, "the credential is missing, unknown or expired"),
    error(403, "the credential may not do this"),
    error(404, "there is no such thing"),
    Error { header: Some(("Allow", "the methods that are")), ..error(405, "the method is not allowed here") },
    error(409, "it conflicts with what is there"),
    error(413, "the body is too large"),
    error(415, "the body is of a media type that isn't taken"),
    Error { header: Some(("Retry-After", "seconds to wait")), ..error(429, "too many requests in a minute") },
    error(500, "the service failed"),
];

/// The statuses that only occur where a row names them.
const ROWS_ONLY: &[u16] = &[409];

/// The shared answers of errors, by status.
pub(super) fn errors() -> Map<String, Value> {
    let response = |error: &Error| {
        let mut response = json!({ "description": error.meaning, "content": either(&schema::reference("error")) });
        if let Some((name, meaning)) = error.header {
            let header = json!({ "description": meaning, "required": true, "schema": { "type": "string" } });
            response["headers"] = json!({ name: header });
        }
        (format!("E{}", error.status), response)
    };
    ERRORS.iter().map(response).collect()
}

/// References to the errors of an operation whose row names some. HEAD has no bodies.
pub(super) fn errors_of(named: impl Fn(u16) -> bool, is_head: bool) -> Map<String, Value> {
    let occurs = |error: &&Error| named(error.status) || !ROWS_ONLY.contains(&error.status);
    let errors = ERRORS.iter().filter(occurs).map(|error| {
        let reference = json!({ "$ref": format!("#/components/responses/E{}", error.status) });
        (error.status.to_string(), if is_head { json!({ "description": error.meaning }) } else { reference })
    });
    errors.collect()
}

/// The body that an operation takes.
pub(super) fn request(binding: &Binding) -> Option<Value> {
    let entity = || either(&schema::input(binding.resource, binding.action));
    let content = match binding.action {
        Action::List | Action::Get | Action::Delete | Action::ShowPhoto | Action::ListGroups => return None,
        Action::Link | Action::Unlink | Action::Return => return None,
        Action::Create | Action::Replace | Action::Move | Action::Associate | Action::Issue => entity(),
        Action::AddGroups => either(&groups_input()),
        Action::PutPhoto => image(),
        Action::Upload => {
            let mut content = either(&schema::list(schema::reference(schema::ROSTER)));
            content["text/csv"] = json!({ "schema": { "type": "string" } });
            content
        }
    };
    Some(json!({ "required": true, "content": content }))
}

/// The content of an operation's success; `None` where it has no body.
pub(super) fn success(binding: &Binding) -> Option<Value> {
    let one = || schema::answer(binding.resource, binding.only);
    match binding.action {
        Action::Delete | Action::Link | Action::Unlink | Action::PutPhoto => None,
        Action::ShowPhoto => Some(image()),
        Action::List | Action::Upload => Some(either(&schema::list(one()))),
        Action::ListGroups | Action::AddGroups => Some(either(&groups())),
        Action::Create
        | Action::Get
        | Action::Replace
        | Action::Move
        | Action::Associate
        | Action::Issue
        | Action::Return => Some(either(&one())),
    }
}

/// The same value as JSON and as XML.
pub(super) fn either(schema: &Value) -> Value {
    json!({ "application/json": { "schema": schema }, "application/xml": { "schema": schema } })
}

fn image() -> Value {
    json!({ "image/png": {}, "image/jpeg": {} })
}

/// The groups of an organization, as answers have them.
fn groups() -> Value {
    let group = json!({
        "type": "object",
        "properties": {
            "id": { "type": "integer" }, "name": { "type": ["string", "null"] }, "category_id": { "type": ["integer", "null"] },
        },
        "required": ["id", "name", "category_id"],
    });
    json!({ "type": "object", "properties": { "group": schema::list(group) }, "required": ["group"] })
}

/// The groups of an organization, as they are added.
fn groups_input() -> Value {
    let group = json!({ "type": "object", "properties": { "id": { "type": ["integer", "string"] } }, "required": ["id"], "xml": { "name": "item" } });
    json!({
        "type": "object",
        "properties": {
            "groups": { "type": "array", "items": group, "xml": { "wrapped": true } },
            "function": { "enum": ["add"] },
        },
        "required": ["groups", "function"],
    })
}
