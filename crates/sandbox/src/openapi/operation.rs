//! One operation of the table, described.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::super::binding::{Action, binding};
use super::super::operation::Operation;
use super::{body, parameter, schema};

/// The description of an operation below the API root.
pub(super) fn described(operation: &Operation) -> Value {
    let binding = binding(operation.name);
    let is_head = operation.method == "HEAD";
    let named = |status| StatusCode::from_u16(status).is_ok_and(|status| operation.may_answer(status));
    let mut responses = body::errors_of(named, is_head);
    responses.insert(operation.success.to_string(), success(operation, is_head));
    let mut described = json!({
        "operationId": operation.name,
        "tags": [operation.domain()],
        "description": operation.note,
        "parameters": parameter::of(operation),
        "responses": responses,
        "security": [{ "key": [] }, { "basic": [] }, { "oauth2": [operation.scope] }],
    });
    if operation.is_deprecated() {
        described["deprecated"] = true.into();
    }
    if let Some(request) = body::request(&binding) {
        described["requestBody"] = request;
    }
    described
}

fn success(operation: &Operation, is_head: bool) -> Value {
    let mut response = json!({ "description": "done" });
    let content = body::success(&binding(operation.name));
    if let Some(content) = content.filter(|_| !is_head && operation.success != StatusCode::NO_CONTENT.as_u16()) {
        response["content"] = content;
    }
    // With an id in the query the list is that one record.
    if operation.takes("id") {
        let binding = binding(operation.name);
        debug_assert_eq!(binding.action, Action::List);
        let one = schema::answer(binding.resource, binding.only);
        response["content"] = body::either(&json!({ "oneOf": [schema::list(one.clone()), one] }));
    }
    response
}

/// The description of a token request; its errors are those of RFC 6749.
pub(super) fn token(operation: &Operation) -> Value {
    let (grant, needed) = if operation.name == "oauth2.token-refresh" {
        ("refresh_token", vec!["grant_type", "refresh_token"])
    } else {
        ("client_credentials", vec!["grant_type"])
    };
    let form = json!({
        "type": "object",
        "properties": {
            "grant_type": { "const": grant }, "scope": { "type": "string" }, "refresh_token": { "type": "string" },
        },
        "required": needed,
    });
    let answer = |description: &str, name: &str| json!({ "description": description, "content": { "application/json": { "schema": schema::reference(name) } } });
    let responses = [
        ("200", answer("the token", "token")),
        ("400", answer("the request is wrong", "token.error")),
        ("401", answer("the client is unknown, disabled, or has another secret", "token.error")),
    ]
    .map(|(status, response)| (status.to_owned(), response));
    json!({
        "operationId": operation.name,
        "tags": [operation.domain()],
        "description": operation.note,
        "requestBody": { "required": true, "content": { "application/x-www-form-urlencoded": { "schema": form } } },
        "responses": Map::from_iter(responses),
        "security": [{ "basic": [] }],
    })
}
