//! An employee as sent.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use thiserror::Error;

use super::{ElementError, Elements, Staff};
use crate::record::{Target, Value};

/// An employee as created or replaced (specification, Employee). All of it is sent: what is `None` becomes empty at the
/// service, knowingly. The deprecated list `customfields` is never sent.
#[derive(Clone, Default, PartialEq, Serialize)]
pub struct StaffInput {
    /// The name.
    pub name: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// Another name.
    pub altname: Option<String>,
    /// The email address.
    pub email: Option<String>,
    /// The phone number.
    pub phone: Option<String>,
    /// The mobile number.
    pub mobile: Option<String>,
    /// The emergency contact number.
    pub ice: Option<String>,
    /// The employee id; sent as a number where that loses nothing, else as text.
    #[serde(serialize_with = "employee_id")]
    pub employee_id: Option<String>,
    /// `onsite` or `offsite`: echoed, never decided here (law 10).
    pub onsite_status: Option<String>,
    /// The home location's name.
    pub location: Option<String>,
    /// The names of role types.
    pub roletype: Vec<String>,
    /// Custom fields by element id, the whole map.
    pub cf: BTreeMap<String, Json>,
    /// Whether they may enter other locations.
    #[serde(serialize_with = "flag")]
    pub globalroaming: Option<bool>,
    /// The ids of those locations.
    pub globalroaming_locations: Vec<i32>,
    /// Fields that the specification does not name, as they were read (law 2).
    #[serde(flatten)]
    pub extra: BTreeMap<String, Json>,
}

/// The names of the inputs; an unknown field that is called so is not carried over.
const INPUTS: [&str; 16] = [
    "id",
    "name",
    "title",
    "altname",
    "email",
    "phone",
    "mobile",
    "ice",
    "employee_id",
    "onsite_status",
    "location",
    "roletype",
    "customfields",
    "cf",
    "globalroaming",
    "globalroaming_locations",
];

/// Inputs by the name of the answer's field that they are rebuilt from.
const REBUILT: [(&str, &str); 14] = [
    ("name", "name"),
    ("title", "title"),
    ("altname", "altname"),
    ("email", "email"),
    ("phone", "phone"),
    ("mobile", "mobile"),
    ("ice", "ice"),
    ("employee_id", "employee_id"),
    ("onsite_status", "onsite_status"),
    ("location", "location"),
    ("role_types", "roletype"),
    ("customfields", "cf"),
    ("globalroaming", "globalroaming"),
    ("globalroaming_locations", "globalroaming_locations"),
];

/// Why a whole input can't be rebuilt from an answer; such a record is not sent, or the PUT would wipe the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CarryError {
    /// The service does not show where someone may roam.
    #[error(
        "the service does not show globalroaming_locations; a PUT would clear them: map that field, or change the person at the service"
    )]
    RoamingUnknown,
    /// A field holds something other than the specification says.
    #[error("the service shows {field} in a form that can't be sent back; a PUT would clear it")]
    Unreadable {
        /// The answer's field.
        field: &'static str,
    },
}

/// Why a field can't be set. Holds no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetError {
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
    /// Rebuilds the whole input from an answer, where every field that the caller does not own could be read.
    pub fn carried(staff: &Staff, owned: impl Fn(&str) -> bool) -> Result<Self, CarryError> {
        for field in &staff.unreadable {
            let input = REBUILT.iter().find(|(response, _)| response == field).map(|(_, input)| *input);
            if input.is_some_and(|input| !owned(input)) {
                return Err(CarryError::Unreadable { field });
            }
        }
        let unknown = staff.globalroaming_locations.is_none() && !owned("globalroaming_locations");
        if unknown && staff.globalroaming == Some(true) {
            return Err(CarryError::RoamingUnknown);
        }
        let extra = staff.extra.iter().filter(|(name, _)| !INPUTS.contains(&name.as_str()));
        Ok(Self {
            name: staff.name.clone(),
            title: staff.title.clone(),
            altname: staff.altname.clone(),
            email: staff.email.clone(),
            phone: staff.phone.clone(),
            mobile: staff.mobile.clone(),
            ice: staff.ice.clone(),
            employee_id: staff.employee_id.clone(),
            onsite_status: staff.onsite_status.clone(),
            location: staff.location.clone(),
            roletype: staff.role_types.clone(),
            cf: staff.customfields.clone(),
            globalroaming: staff.globalroaming,
            globalroaming_locations: staff.globalroaming_locations.clone().unwrap_or_default(),
            extra: extra.map(|(name, value)| (name.clone(), value.clone())).collect(),
        })
    }

    /// Sets one field of [`Target::Staff`]; presence can't be set.
    pub fn set(&mut self, field: &str, value: &Value, elements: &Elements) -> Result<(), SetError> {
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
                    Value::Empty => Vec::new(),
                    Value::Ids(ids) => ids.clone(),
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

/// Rebuilds the whole input where nothing is owned.
impl TryFrom<&Staff> for StaffInput {
    type Error = CarryError;

    fn try_from(staff: &Staff) -> Result<Self, CarryError> {
        Self::carried(staff, |_| false)
    }
}

/// Shows nothing of the person (law 11).
impl fmt::Debug for StaffInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaffInput").finish_non_exhaustive()
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

/// The specification's requests show an integer, its answers text: `00123` must not become 123.
fn employee_id<S: Serializer>(id: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    match id {
        None => serializer.serialize_none(),
        Some(id) => match id.parse::<i32>() {
            Ok(number) if number.to_string() == *id => serializer.serialize_i32(number),
            _ => serializer.serialize_str(id),
        },
    }
}

fn flag<S: Serializer>(flag: &Option<bool>, serializer: S) -> Result<S::Ok, S::Error> {
    flag.map(i32::from).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Element, Wire};
    use super::*;

    fn staff(json: Json) -> Staff {
        match json {
            Json::Object(object) => Staff::read(object).unwrap(),
            _ => unreachable!("the tests give objects"),
        }
    }

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
    fn law_2_an_answer_becomes_the_whole_input() {
        let staff = staff(json!({
            "id": 9, "created": "x", "modified": "x", "name": "Ada", "title": "Dr", "altname": "A", "email": "a@b.c",
            "phone": "1", "mobile": "2", "ice": "3", "employee_id": "77", "onsite_status": "onsite",
            "location": "Quay", "role_types": [["Warden"], ["Nurse"]], "customfields": {"4": "B7", "8": "{\"a\":[1]}"},
            "globalroaming": 1, "globalroaming_locations": [{"id": 3, "name": "Quay"}], "department": "D",
            "roles": [["Admin"]], "tokens": [{"type": "card"}], "remote": 1, "account_status": "active",
            "last_login": null, "setup_method": "m", "cur_location": "Quay", "badge": {"b": 1, "a": [2]},
        }));
        let input = serde_json::to_value(StaffInput::try_from(&staff).unwrap()).unwrap();
        assert_eq!(
            input,
            json!({
                "name": "Ada", "title": "Dr", "altname": "A", "email": "a@b.c", "phone": "1", "mobile": "2", "ice": "3",
                "employee_id": 77, "onsite_status": "onsite", "location": "Quay", "roletype": ["Warden", "Nurse"],
                "cf": {"4": "B7", "8": "{\"a\":[1]}"}, "globalroaming": 1, "globalroaming_locations": [3],
                "badge": {"b": 1, "a": [2]},
            })
        );
    }

    #[test]
    fn law_2_all_inputs_are_named_even_when_empty() {
        let json = serde_json::to_value(StaffInput::default()).unwrap();
        let mut names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected: Vec<&str> = INPUTS.into_iter().filter(|n| !matches!(*n, "id" | "customfields")).collect();
        names.sort_unstable();
        expected.sort_unstable();
        assert_eq!(names, expected);
        assert_eq!(json["title"], Json::Null);
    }

    #[test]
    fn an_employee_id_keeps_its_digits() {
        let check = |id: &str, expected: Json| {
            let input = StaffInput { employee_id: Some(id.to_owned()), ..StaffInput::default() };
            assert_eq!(serde_json::to_value(input).unwrap()["employee_id"], expected, "{id}");
        };
        check("123", json!(123));
        check("0", json!(0));
        check("00123", json!("00123"));
        check("+5", json!("+5"));
        check("2147483647", json!(2_147_483_647));
        check("2147483648", json!("2147483648"));
        check("A12", json!("A12"));
        check("1 2", json!("1 2"));
    }

    #[test]
    fn law_2_what_can_t_be_rebuilt_is_not_sent() {
        let roaming = staff(json!({"id": 1, "globalroaming": 1}));
        assert_eq!(StaffInput::try_from(&roaming), Err(CarryError::RoamingUnknown));
        assert!(StaffInput::carried(&roaming, |field| field == "globalroaming_locations").is_ok());
        assert!(StaffInput::try_from(&staff(json!({"id": 1, "globalroaming": 0}))).is_ok());
        assert!(
            StaffInput::try_from(&staff(json!({"id": 1, "globalroaming": 1, "globalroaming_locations": []}))).is_ok()
        );
        let odd = staff(json!({"id": 1, "title": ["x"]}));
        assert_eq!(StaffInput::try_from(&odd), Err(CarryError::Unreadable { field: "title" }));
        assert!(StaffInput::carried(&odd, |field| field == "title").is_ok());
        assert!(StaffInput::try_from(&staff(json!({"id": 1, "department": ["x"]}))).is_ok());
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
        assert_eq!(input, StaffInput::default());
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
