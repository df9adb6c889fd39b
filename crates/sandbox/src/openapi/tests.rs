//! The description is whole, and refers only to what is in it.

use std::collections::BTreeSet;

use super::*;

/// Every object in the document, with the way to it.
fn each<'a>(value: &'a Value, way: &str, visit: &mut impl FnMut(&str, &'a Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            visit(way, members);
            members.iter().for_each(|(name, value)| each(value, &format!("{way}/{name}"), visit));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| each(item, &format!("{way}/{index}"), visit))
        }
        _ => {}
    }
}

/// (path, method, operation) of every operation.
fn described(document: &Value) -> Vec<(String, String, &Value)> {
    let items = document["paths"].as_object().unwrap().iter();
    let operations = items.flat_map(|(path, item)| {
        let members = item.as_object().unwrap().iter().filter(|(_, member)| member["operationId"].is_string());
        members.map(move |(method, operation)| (path.clone(), method.to_ascii_uppercase(), operation))
    });
    operations.collect()
}

#[test]
fn every_operation_of_the_table_is_there_and_no_other() {
    let document = document();
    let found: Vec<_> = described(&document)
        .iter()
        .map(|(.., operation)| operation["operationId"].as_str().unwrap().to_owned())
        .collect();
    let expected: BTreeSet<_> = operations().iter().map(|operation| operation.name.to_owned()).collect();
    assert_eq!((found.len(), found.into_iter().collect::<BTreeSet<_>>()), (114, expected));
}

#[test]
fn a_row_decides_on_path_method_success_and_errors() {
    let document = document();
    for (path, method, described) in described(&document) {
        let operation = operations().iter().find(|operation| described["operationId"] == operation.name).unwrap();
        assert_eq!((method.as_str(), described["tags"][0].as_str().unwrap()), (operation.method, operation.domain()));
        assert_eq!(described["deprecated"] == true, operation.name.starts_with("qualification."), "{path}");
        let responses = described["responses"].as_object().unwrap();
        assert!(responses.contains_key(&operation.success.to_string()), "{}", operation.name);
        assert_eq!(responses.keys().filter(|status| status.starts_with('2')).count(), 1, "{}", operation.name);
        if !operation.is_token_request() {
            let in_path: BTreeSet<_> = path.split('/').filter(|segment| segment.starts_with('{')).collect();
            let parameters = described["parameters"].as_array().unwrap().iter();
            let own: BTreeSet<_> = parameters
                .filter(|own| own["in"] == "path")
                .map(|own| format!("{{{}}}", own["name"].as_str().unwrap()))
                .collect();
            assert_eq!(own, in_path.into_iter().map(str::to_owned).collect(), "{path}");
            for status in ["400", "401", "403", "404", "405", "413", "415", "429", "500"] {
                assert!(responses.contains_key(status), "{}: {status}", operation.name);
            }
            let conflicts = axum::http::StatusCode::CONFLICT;
            assert_eq!(responses.contains_key("409"), operation.may_answer(conflicts), "{}", operation.name);
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    let mut references = 0;
    each(&document, "", &mut |way, members| {
        if let Some(reference) = members.get("$ref") {
            let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{way}: {pointer}");
            references += 1;
        }
    });
    assert!(references > 500, "{references}");
}

#[test]
fn required_fields_are_described() {
    let document = document();
    each(&document, "", &mut |way, members| {
        let names = members.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in names {
            assert!(members["properties"].get(name.as_str().unwrap()).is_some(), "{way}: {name}");
        }
    });
}
