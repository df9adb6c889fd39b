//! Setting the fields of an entity by the program's own names.

use serde_json::Value as Json;
use thiserror::Error;

use crate::api::{Fields, HolderInput, MemberInput, MembershipInput, Named, OrganizationInput, Place, StaffInput};
use crate::mirror::{ElementError, Elements, Locations, Mirror};
use crate::record::{Target, Value};

/// Why a field can't be set. Holds no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum SetError {
    /// No such field can be mapped.
    #[error("{target} has no field {field:?}")]
    Field {
        /// What was to be set.
        target: Target,
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
    /// A location can't be found, or there are several of that name.
    #[error("{field} names a location that the service does not have exactly once")]
    Location {
        /// The field.
        field: String,
    },
}

/// The service's ids of the things that names refer to.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    pub(crate) elements: &'a Elements,
    pub(crate) locations: &'a Locations,
}

impl<'a> Names<'a> {
    pub(crate) fn of(mirror: &'a Mirror) -> Self {
        Self { elements: mirror.elements(), locations: mirror.locations() }
    }
}

/// What is sent, field by field; presence can't be set.
pub(crate) trait Settable {
    /// Sets one field of the target.
    fn set(&mut self, field: &str, value: &Value, names: Names<'_>) -> Result<(), SetError>;
}

impl Settable for StaffInput {
    fn set(&mut self, field: &str, value: &Value, names: Names<'_>) -> Result<(), SetError> {
        if let Some(title) = field.strip_prefix(Target::CUSTOM) {
            return set_custom(&mut self.cf, title, field, value, names.elements);
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
            "roletype" => self.roletype = listed(field, value)?,
            "globalroaming" => {
                self.globalroaming = match value {
                    Value::Empty => None,
                    value => Some(truth(value).ok_or_else(|| wrong(field, "1 or 0"))?),
                }
            }
            "globalroaming_locations" => self.globalroaming_locations = Some(ids(field, value)?),
            _ => return Err(strange(Target::Staff, field)),
        }
        Ok(())
    }
}

impl Settable for MemberInput {
    fn set(&mut self, field: &str, value: &Value, names: Names<'_>) -> Result<(), SetError> {
        if let Some(title) = field.strip_prefix(Target::CUSTOM) {
            return set_custom(&mut self.cf, title, field, value, names.elements);
        }
        let place = match field {
            "name" => &mut self.name,
            "title" => &mut self.title,
            "email" => &mut self.email,
            "altemail" => &mut self.altemail,
            "phone" => &mut self.phone,
            "mobile" => &mut self.mobile,
            "ice" => &mut self.ice,
            "extension" => &mut self.extension,
            "valid_from" => &mut self.valid_from,
            "valid_to" => &mut self.valid_to,
            "service_provider_id" => &mut self.service_provider_id,
            _ => return Err(strange(Target::Contractor, field)),
        };
        *place = text(field, value)?;
        Ok(())
    }
}

impl Settable for OrganizationInput {
    fn set(&mut self, field: &str, value: &Value, names: Names<'_>) -> Result<(), SetError> {
        if let Some(title) = field.strip_prefix(Target::CUSTOM) {
            return set_custom(&mut self.cf, title, field, value, names.elements);
        }
        let place = match field {
            "name" => &mut self.name,
            "legalid" => &mut self.legalid,
            "legalid_type" => &mut self.legalid_type,
            "type" => &mut self.r#type,
            "tradingas" => &mut self.tradingas,
            "address" => &mut self.address,
            "country" => &mut self.country,
            "email" => &mut self.email,
            "phone" => &mut self.phone,
            "status" => &mut self.status,
            _ => return Err(strange(Target::Organization, field)),
        };
        *place = text(field, value)?;
        Ok(())
    }
}

impl Settable for MembershipInput {
    fn set(&mut self, field: &str, value: &Value, names: Names<'_>) -> Result<(), SetError> {
        match field {
            Target::MEMBER => self.member_id = id(field, value)?,
            Target::ORGANIZATION => self.org_id = id(field, value)?,
            "roles" => {
                let role = |id: i32| Named { id: Some(id.into()), ..Named::default() };
                self.roles = ids(field, value)?.into_iter().map(role).collect();
            }
            "locations" => {
                let mut places = Vec::new();
                for name in listed(field, value)? {
                    // A place that stays keeps its period: without its end it would stay open for ever.
                    let held = self.locations.iter().find(|place| place.name.as_ref() == Some(&name)).cloned();
                    let found = names.locations.id(&name);
                    let named = found.map(|id| Place { id: Some(id.get().into()), ..Place::default() });
                    places.push(held.or(named).ok_or_else(|| SetError::Location { field: field.to_owned() })?);
                }
                self.locations = places;
            }
            _ => return Err(strange(Target::Membership, field)),
        }
        Ok(())
    }
}

impl Settable for HolderInput {
    fn set(&mut self, field: &str, value: &Value, _: Names<'_>) -> Result<(), SetError> {
        match field {
            // It is part of the address, and never changes.
            "certification" => {}
            "record_type" => self.record_type = text(field, value)?,
            "holder" => self.record_id = id(field, value)?,
            "validfrom" => self.validfrom = text(field, value)?,
            "validto" => self.validto = text(field, value)?,
            "certification_number" => self.certification_number = text(field, value)?,
            _ => return Err(strange(Target::Holder, field)),
        }
        Ok(())
    }
}

/// Nothing is sent as null, so that a service that merges the map clears it too.
fn set_custom(cf: &mut Fields, title: &str, field: &str, value: &Value, elements: &Elements) -> Result<(), SetError> {
    let (id, checkbox) = elements.resolve(title)?;
    let json = match value {
        Value::Empty => Json::Null,
        value if checkbox => i32::from(truth(value).ok_or_else(|| wrong(field, "1 or 0"))?).into(),
        value => Json::String(value.shown()),
    };
    cf.insert(id.to_string(), json);
    Ok(())
}

fn listed(field: &str, value: &Value) -> Result<Vec<String>, SetError> {
    match value {
        Value::Empty => Ok(Vec::new()),
        Value::Text(name) => Ok(vec![name.to_string()]),
        Value::List(names) => Ok(names.clone()),
        _ => Err(wrong(field, "names")),
    }
}

fn ids(field: &str, value: &Value) -> Result<Vec<i32>, SetError> {
    match value {
        Value::Empty => Ok(Vec::new()),
        Value::Ids(ids) => Ok(ids.clone()),
        _ => Err(wrong(field, "ids")),
    }
}

/// The id of another entity, which is kept as text.
fn id(field: &str, value: &Value) -> Result<Option<i64>, SetError> {
    let number = value.as_text().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| wrong(field, "an id"))
}

fn strange(target: Target, field: &str) -> SetError {
    SetError::Field { target, field: field.to_owned() }
}

fn text(field: &str, value: &Value) -> Result<Option<String>, SetError> {
    match value {
        Value::Empty => Ok(None),
        Value::Text(text) => Ok(Some(text.to_string())),
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
    use crate::api::{Element, Location, Wire as _};

    fn elements() -> Elements {
        let element = |json: Json| Element::read(json.as_object().unwrap().clone()).unwrap();
        Elements::new(vec![
            element(json!({"id": 4, "title": "Locker", "element_type": "text"})),
            element(json!({"id": 5, "title": "First aider", "element_type": "checkbox"})),
            element(json!({"id": 6, "title": "Desk"})),
            element(json!({"id": 7, "title": "Desk"})),
        ])
    }

    fn locations() -> Locations {
        let quay = json!({"id": 3, "name": "Quay"});
        Locations::of(&[Location::read(quay.as_object().unwrap().clone()).unwrap()])
    }

    fn set<I: Settable>(input: &mut I, field: &str, value: &Value) -> Result<(), SetError> {
        input.set(field, value, Names { elements: &elements(), locations: &locations() })
    }

    fn check<I: Settable + serde::Serialize + Default>(target: Target) {
        let mut input = I::default();
        use crate::record::FieldKind;
        for field in target.fields().filter(|field| field.name != "certification" && field.kind != FieldKind::Photo) {
            let value = match field.kind {
                FieldKind::Flag => Value::Flag(true),
                FieldKind::Names | FieldKind::Places => Value::List(vec!["Quay".into()]),
                FieldKind::Ids => Value::Ids(vec![1]),
                _ => Value::text("1"),
            };
            let before = serde_json::to_value(&input).unwrap();
            set(&mut input, &field.name, &value).unwrap();
            assert_ne!(before, serde_json::to_value(&input).unwrap(), "{} of {target} is not sent", field.name);
            if field.kind != FieldKind::Link && field.name != "holder" {
                set(&mut input, &field.name, &Value::Empty).unwrap();
                let after = serde_json::to_value(&input).unwrap();
                let sent = &after[field.name.as_str()];
                assert!(sent.is_null() || *sent == json!([]), "{} of {target} is not cleared", field.name);
            }
        }
    }

    #[test]
    fn every_field_of_every_target_can_be_set() {
        check::<StaffInput>(Target::Staff);
        check::<MemberInput>(Target::Contractor);
        check::<OrganizationInput>(Target::Organization);
        check::<MembershipInput>(Target::Membership);
        check::<HolderInput>(Target::Holder);
    }

    #[test]
    fn custom_fields_are_set_by_title() {
        let mut input = StaffInput::default();
        set(&mut input, "cf.Locker", &Value::text("B7")).unwrap();
        set(&mut input, "cf.First aider", &Value::text("1")).unwrap();
        assert_eq!(serde_json::to_value(&input.cf).unwrap(), json!({"4": "B7", "5": 1}));
        set(&mut input, "cf.Locker", &Value::Empty).unwrap();
        assert_eq!(serde_json::to_value(&input.cf).unwrap(), json!({"4": null, "5": 1}));
    }

    #[test]
    fn a_place_that_stays_keeps_its_period() {
        let held =
            Place { id: Some(9), name: Some("Old".into()), expires: Some("2027-01-01".into()), ..Place::default() };
        let mut input = MembershipInput { locations: vec![held], ..MembershipInput::default() };
        set(&mut input, "locations", &Value::List(vec!["Quay".into(), "Old".into()])).unwrap();
        let sent = serde_json::to_value(&input).unwrap();
        assert_eq!(
            sent["locations"],
            json!([{"id": 3, "start": null, "expires": null}, {"id": 9, "start": null, "expires": "2027-01-01"}])
        );
    }

    #[test]
    fn what_can_t_be_set_is_refused_without_its_value() {
        fn check<I: Settable + Default>(field: &str, value: Value, part: &str) {
            let error = set(&mut I::default(), field, &value).unwrap_err();
            let chain = format!("{error} {:?}", std::error::Error::source(&error).map(ToString::to_string));
            assert!(chain.contains(part), "{field}: {chain}");
            assert!(!chain.contains("Canary"), "{chain}");
        }
        check::<StaffInput>("onsite_status", Value::text("onsite"), "no field");
        check::<MemberInput>("onsite_status", Value::text("onsite"), "no field");
        check::<StaffInput>("nonsense", Value::text("Canary"), "no field");
        check::<StaffInput>("globalroaming", Value::text("Canary"), "1 or 0");
        check::<StaffInput>("globalroaming_locations", Value::text("Canary"), "ids");
        check::<StaffInput>("name", Value::Flag(true), "takes text");
        check::<StaffInput>("cf.First aider", Value::text("Canary"), "1 or 0");
        check::<StaffInput>("cf.Desk", Value::text("Canary"), "several");
        check::<StaffInput>("cf.Lockers", Value::text("Canary"), "did you mean");
        check::<MembershipInput>("locations", Value::text("Canary"), "exactly once");
        check::<HolderInput>("holder", Value::text("Canary"), "an id");
    }
}
