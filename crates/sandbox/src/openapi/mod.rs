//! The sandbox describes itself: OpenAPI 3.1, made from the operation table and the tables of resources.
//!
//! Nothing of it is written by hand, so that it can't say what the sandbox doesn't do: an operation's parameters, answers
//! and errors are those of its row, its bodies those of its resource. A field added to a table is in the description.
//!
//! The two token requests share a method and a path; OpenAPI has one operation for both, so that the second has a
//! fragment behind its path, which no request carries.

mod body;
mod listing;
mod operation;
mod parameter;
mod schema;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::operation::{Operation, operations, scopes};

/// The description, as a document.
pub(super) fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Workplace presence (stand-in)",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What the sandbox of rosterd does. An error is {\"error\": \"…\"}; a request without Accept is answered in XML.",
        },
        "servers": [{ "url": "/v1", "description": "the API root" }],
        "security": [{ "key": [] }, { "basic": [] }, { "oauth2": [] }],
        "tags": tags(),
        "paths": paths(),
        "components": {
            "securitySchemes": security_schemes(),
            "schemas": schema::all(),
            "parameters": parameter::shared(),
            "responses": body::errors(),
        },
    })
}

/// One tag for each domain of scopes.
fn tags() -> Vec<Value> {
    let domains: BTreeMap<&str, ()> = operations().iter().map(|operation| (operation.domain(), ())).collect();
    domains.keys().map(|domain| json!({ "name": domain })).collect()
}

fn paths() -> Value {
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for own in operations() {
        let item = paths.entry(path(own)).or_default();
        if own.is_token_request() {
            item.insert("servers".to_owned(), json!([{ "url": "/", "description": "the token host" }]));
            item.insert("post".to_owned(), operation::token(own));
        } else {
            item.insert(own.method.to_ascii_lowercase(), operation::described(own));
        }
    }
    json!(paths)
}

fn path(operation: &Operation) -> String {
    match operation.name {
        "oauth2.token-client-credentials" => "/oauth2/token".to_owned(),
        "oauth2.token-refresh" => "/oauth2/token#refresh".to_owned(),
        _ => operation.template(),
    }
}

fn security_schemes() -> Value {
    let meaning = |scope: &String| {
        let (domain, access) = scope.split_once(':').unwrap_or((scope, ""));
        (scope.clone(), json!(format!("{access} what belongs to {domain}")))
    };
    json!({
        "key": {
            "type": "apiKey", "in": "header", "name": "Authorization",
            "description": "APIKEY, a space, and the key",
        },
        "basic": { "type": "http", "scheme": "basic", "description": "the key as user name, no password" },
        "oauth2": {
            "type": "oauth2",
            "description": "a bearer token; the client authenticates with HTTP Basic",
            "flows": { "clientCredentials": {
                "tokenUrl": "/oauth2/token",
                "scopes": scopes().iter().map(meaning).collect::<Map<String, Value>>(),
            } },
        },
    })
}
