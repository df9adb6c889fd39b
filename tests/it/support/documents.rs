//! Whatever the program prints with `--json` fits the schema that the book shows.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

/// The schema of all documents, each under its name in `$defs`.
const SCHEMA: &str = include_str!("../../../docs/documents.schema.json");

static SCHEMAS: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(SCHEMA).unwrap());

/// Sees that the document on stdout, and the error on stderr, are what the schema says of that command.
pub(crate) fn check(arguments: &[&str], out: &str, err: &str) {
    if !arguments.contains(&"--json") {
        return;
    }
    for line in out.lines() {
        if let Some(name) = name(arguments) {
            fits(name, line, arguments);
        }
    }
    for line in err.lines().filter(|line| line.starts_with("{\"error\"")) {
        fits("error", line, arguments);
    }
}

/// What the schema calls the document of a command; none for what the service answered.
fn name(arguments: &[&str]) -> Option<&'static str> {
    let words: Vec<&str> = arguments.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let has = |word: &str| arguments.contains(&word);
    Some(match words.first().copied()? {
        "sync" => "sync",
        "apply" => "apply",
        "plan" => "plan",
        "status" if has("--all") || has("--accounts") => "status-all",
        "status" => "status",
        "history" if words.len() > 1 && !has("--limit") => "history-run",
        "history" => "history",
        "explain" => "explain",
        "preview" => "preview",
        "queue" if words.get(1) == Some(&"list") => "queue-list",
        "queue" => "decision",
        "approve" if has("--server") => "approve-server",
        "approve" | "reject" => "decision",
        "pause" | "resume" => "pause",
        "rebuild" => "rebuild",
        "revert" => "revert",
        "forget" => "forget",
        "state" => "state",
        "check" => "check",
        "init" => "init",
        "notify" => "notify-test",
        "keys" => "keys",
        "reload" => "reload",
        "sandbox" => "sandbox",
        "api" if words.len() == 1 => "api",
        "api" => return None,
        other => panic!("no document is known of {other}"),
    })
}

fn fits(name: &str, line: &str, arguments: &[&str]) {
    let document: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {line}"));
    let faults: Vec<String> =
        of(name).iter_errors(&document).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "{arguments:?} prints what the schema of {name} does not allow: {faults:#?}\n{line}");
}

/// The validator of one kind of document.
fn of(name: &str) -> Validator {
    assert!(SCHEMAS["$defs"][name].is_object(), "docs/documents.schema.json has no {name}");
    let mut schema = SCHEMAS.clone();
    schema["$ref"] = json!(format!("#/$defs/{name}"));
    jsonschema::validator_for(&schema).unwrap()
}
