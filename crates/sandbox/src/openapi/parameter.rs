//! Parameters: those of the path, the query, and the one header.

use serde_json::{Map, Value, json};

use super::super::binding::{Action, Binding, binding};
use super::super::operation::{Operation, operations};
use super::super::resource::Resource;
use super::super::tables::{self, ORG_GROUP};
use super::super::zone::ZONES;
use super::listing;

/// Parameters that many operations have: (the name in a row, the description of it).
fn known() -> [(&'static str, Value); 5] {
    let query = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "query", "description": description, "schema": schema });
    [
        ("limit", query("limit", "the most entities to answer with", json!({ "type": "integer", "minimum": 1 }))),
        ("page", query("page", "which page, from 1", json!({ "type": "integer", "minimum": 1 }))),
        ("id", query("id", "the one record to answer with", json!({ "type": "integer", "format": "int32" }))),
        (
            "time_zone",
            query("time_zone", "the zone of times in the answer", json!({ "type": "string", "enum": ZONES })),
        ),
        (
            "If-Modified-Since",
            json!({
                "name": "If-Modified-Since", "in": "header",
                "description": "only what was created or modified since then, in UTC",
                "schema": {
                    "type": "string",
                    "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}$",
                    "examples": ["2026-01-02T03:04:05"],
                },
            }),
        ),
    ]
}

/// Parameters of one operation alone, which its row doesn't have as a word.
const OWN: &[(&str, &str, &str)] = &[
    ("staff.bulk", "group", "the department that the upload is the whole of"),
    ("staff.bulk", "location", "the location of everybody in the upload"),
    ("sp.member.movement.put", "sp_member_id", "the member, where the body doesn't say"),
];

/// The shared parameters, by their keys in the components.
pub(super) fn shared() -> Map<String, Value> {
    known().into_iter().map(|(name, parameter)| (name.to_owned(), parameter)).collect()
}

/// The parameters of an operation.
pub(super) fn of(operation: &Operation) -> Vec<Value> {
    let names = known().map(|(name, _)| name);
    let taken = names.iter().filter(|name| **name == "time_zone" || operation.takes(name));
    let shared = taken.map(|name| json!({ "$ref": format!("#/components/parameters/{name}") }));
    let listing = listing(operation);
    let own = OWN.iter().filter(|(of, ..)| *of == operation.name).map(|(_, name, description)| {
        json!({ "name": name, "in": "query", "description": description, "schema": { "type": "string" } })
    });
    path(operation).into_iter().chain(listing).chain(shared).chain(own).collect()
}

/// What a list is filtered and ordered by: every resource has fields of its own.
fn listing(operation: &Operation) -> Vec<Value> {
    let Binding { action, resource, only, .. } = binding(operation.name);
    // The groups of an organization are a list within a document.
    let resource = if action == Action::ListGroups { &ORG_GROUP } else { resource };
    let parameters = [
        ("q", "comma-separated terms of a field, one of : % > < ~, and a value", listing::filter(resource, only)),
        ("order", "a field to sort by; - before it turns the order round", listing::order(resource, only)),
    ];
    let taken = parameters.into_iter().filter(|(name, ..)| operation.takes(name));
    let described = taken.map(|(name, description, schema)| {
        json!({ "name": name, "in": "query", "description": description, "schema": schema })
    });
    described.collect()
}

/// Whether a parameter of the query may be sent instead of a field of the body.
pub(super) fn may_stand_for(resource: &Resource, field: &str) -> bool {
    OWN.iter().any(|(operation, name, _)| {
        *name == field && operation.rsplit_once('.').is_some_and(|(stem, _)| stem == resource.name)
    })
}

fn path(operation: &Operation) -> Vec<Value> {
    let template = operation.template();
    let mut before = String::new();
    let mut parameters = Vec::new();
    for segment in template.split('/').skip(1) {
        before = format!("{before}/{segment}");
        let Some(name) = segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) else { continue };
        let mut schema = json!({ "type": "integer", "format": "int32" });
        if let Some(resource) = named_by(operation, &before) {
            schema["examples"] = json!([resource.first_id]);
        }
        parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
    parameters
}

/// The resource whose id ends a path: that of the operation which gets it, or the parent of what lies below it.
fn named_by(operation: &Operation, path: &str) -> Option<&'static Resource> {
    let ends = |other: &&Operation| other.method == "GET" && same_path(&other.template(), path);
    match operations().iter().find(ends) {
        Some(get) => Some(binding(get.name).resource),
        None => binding(operation.name).resource.parent.and_then(|(_, parent)| tables::resource(parent)),
    }
}

fn same_path(one: &str, other: &str) -> bool {
    let name = |segment: &str| if segment.starts_with('{') { "{}".to_owned() } else { segment.to_owned() };
    one.split('/').map(name).eq(other.split('/').map(name))
}
