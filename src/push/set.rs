//! Setting the fields of an employee by the program's own names.

use serde_json::Value as Json;
use thiserror::Error;

use crate::api::StaffInput;
use crate::mirror::{ElementError, Elements};
use crate::record::{Target, Value};

/// Why a field can't be set. Holds no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum SetError {
    /// No such field can be mapped.
    #[error("staff has no field {field:?}")]
    Field {
        /// The name asked for.
        field: String,
    },
    /// The value has the wrong kind.
    #[error("{field} takes {expected}")]
    Kind {
        /// The field.
        field: String,
        /// What it takes.
        expected: &'static str,
    },
    /// The title can't be resolved.
    #[error("the custom field can't be found")]
    Element(#[from] ElementError),
}

impl StaffInput {
    /// Sets one field of [`Target::Staff`]; presence can't be set.
    pub(super) fn set(&mut self, field: &str, value: &Value, elements: &Elements) -> Result<(), SetError> {
        if let Some(title) = field.strip_prefix(Target::CUSTOM) {
            return self.set_custom(title, field, value, elements);
        }
        match field {
            "name" => self.name = text(field, value)?,
            "title" => self.title = text(field, value)?,
            "altname" => self.altname = text(field, value)?,
            "email" => self.email = text(field, value)?,
            "phone" => self.phone = text(field, value)?,
            "mobile" => self.mobile = text(field, value)?,
            "ice" => self.ice = text(field, value)?,
            "employee_id" => self.employee_id = text(field, value)?,
            "location" => self.location = text(field, value)?,
            "roletype" => {
                self.roletype = match value {
                    Value::Empty => Vec::new(),
                    Value::Text(name) => vec![name.clone()],
                    Value::List(names) => names.clone(),
                    _ => return Err(wrong(field, "names")),
                }
            }
            "globalroaming" => {
                self.globalroaming = match value {
                    Value::Empty => None,
                    value => Some(truth(value).ok_or_else(|| wrong(field, "1 or 0"))?),
                }
            }
            "globalroaming_locations" => {
                self.globalroaming_locations = match value {
                    Value::Empty => Some(Vec::new()),
                    Value::Ids(ids) => Some(ids.clone()),
                    _ => return Err(wrong(field, "ids of locations")),
                }
            }
            _ => return Err(SetError::Field { field: field.to_owned() }),
        }
        Ok(())
    }

    /// Nothing is sent as null, so that a service that merges the map clears it too.
    fn set_custom(&mut self, title: &str, field: &str, value: &Value, elements: &Elements) -> Result<(), SetError> {
        let (id, checkbox) = elements.resolve(title)?;
        let json = match value {
            Value::Empty => Json::Null,
            value if checkbox => i32::from(truth(value).ok_or_else(|| wrong(field, "1 or 0"))?).into(),
            value => Json::String(value.shown()),
        };
        self.cf.insert(id.to_string(), json);
        Ok(())
    }
}

fn text(field: &str, value: &Value) -> Result<Option<String>, SetError> {
    match value {
        Value::Empty => Ok(None),
        Value::Text(text) => Ok(Some(text.clone())),
        _ => Err(wrong(field, "text")),
    }
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Flag(flag) => Some(*flag),
        Value::Text(text) => match text.as_str() {
            "1" | "true" => Some(true),
            "0" | "false" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn wrong(field: &str, expected: &'static str) -> SetError {
    SetError::Kind { field: field.to_owned(), expected }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::{Element, Wire as _};

    fn elements() -> Elements {
        let element = |json: Json| Element::read(json.as_object().unwrap().clone()).unwrap();
        Elements::new(vec![
            element(json!({"id": 4, "title": "Locker", "element_type": "text"})),
            element(json!({"id": 5, "title": "First aider", "element_type": "checkbox"})),
            element(json!({"id": 6, "title": "Desk"})),
            element(json!({"id": 7, "title": "Desk"})),
        ])
    }

    #[test]
    fn every_field_of_the_target_can_be_set() {
        let mut input = StaffInput::default();
        let elements = elements();
        for field in Target::Staff.fields() {
            let value = match field.kind {
                crate::record::Kind::Flag => Value::Flag(true),
                crate::record::Kind::Names => Value::List(vec!["a".into()]),
                crate::record::Kind::Ids => Value::Ids(vec![1]),
                _ => Value::text("x"),
            };
            input.set(&field.name, &value, &elements).unwrap();
            let json = serde_json::to_value(&input).unwrap();
            let sent = &json[&field.name];
            assert!(!sent.is_null() && *sent != json!([]), "{} is not sent", field.name);
            input.set(&field.name, &Value::Empty, &elements).unwrap();
        }
        assert_eq!(input, StaffInput { globalroaming_locations: Some(Vec::new()), ..StaffInput::default() });
    }

    #[test]
    fn custom_fields_are_set_by_title() {
        let mut input = StaffInput::default();
        input.set("cf.Locker", &Value::text("B7"), &elements()).unwrap();
        input.set("cf.First aider", &Value::text("1"), &elements()).unwrap();
        assert_eq!(serde_json::to_value(&input.cf).unwrap(), json!({"4": "B7", "5": 1}));
        input.set("cf.Locker", &Value::Empty, &elements()).unwrap();
        assert_eq!(serde_json::to_value(&input.cf).unwrap(), json!({"4": null, "5": 1}));
    }

    #[test]
    fn what_can_t_be_set_is_refused_without_its_value() {
        let check = |field: &str, value: Value, part: &str| {
            let error = StaffInput::default().set(field, &value, &elements()).unwrap_err();
            let chain = format!("{error} {:?}", std::error::Error::source(&error).map(ToString::to_string));
            assert!(chain.contains(part), "{field}: {chain}");
            assert!(!chain.contains("Canary"), "{chain}");
        };
        check("onsite_status", Value::text("onsite"), "no field");
        check("nonsense", Value::text("Canary"), "no field");
        check("globalroaming", Value::text("Canary"), "1 or 0");
        check("globalroaming_locations", Value::text("Canary"), "ids");
        check("name", Value::Flag(true), "takes text");
        check("cf.First aider", Value::text("Canary"), "1 or 0");
        check("cf.Desk", Value::text("Canary"), "several");
        check("cf.Lockers", Value::text("Canary"), "did you mean");
    }
}
