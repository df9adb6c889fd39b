//! The properties that a mapping needs: what is asked for, and what becomes of what comes.
//!
//! Names ignore case, dashes and underscores, as attributes of a directory do. A property within another is called by both
//! names: `employee_org_data_cost_center`, or `source["employeeOrgData.costCenter"]`; `extension_attribute1` is that of
//! `onPremisesExtensionAttributes`. The service refuses a request for a property that it does not know, so a wrong
//! name is an error and no empty column.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::limits::VALUE_BYTES_MAX;
use super::manager::MANAGER;
use super::options::Options;
use super::photo::{self, PHOTO};
use crate::source::{Columns, Name, RequiredColumns, bare};

/// Properties within others.
const NESTED: [&str; 2] = ["employeeOrgData.costCenter", "employeeOrgData.division"];
/// What holds `extensionAttribute1` to 15.
const EXTENSIONS: &str = "onPremisesExtensionAttributes";
/// Properties whose names say nothing about where their words end.
const SPELLED: [&str; 5] =
    ["onPremisesSamAccountName", "userPrincipalName", "onPremisesUserPrincipalName", "accountEnabled", "employeeId"];

/// The properties that a mapping needs.
pub(super) struct Properties {
    /// One for each property, named as the mapping spells it.
    pub(super) columns: Arc<Columns>,
    /// Of each column: whether a user must have it.
    pub(super) required: Vec<bool>,
    /// What the service is asked for.
    pub(super) asked: Vec<String>,
    /// Whether the managers are asked for.
    pub(super) has_manager: bool,
    /// Whether it is asked who has which photo.
    pub(super) has_photo: bool,
    /// Of each column: where its value lies.
    places: Vec<Place>,
}

/// Where a value lies.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// Below these names, one in the other.
    Path(Vec<String>),
    /// The manager's mail, or the user principal name of one without mail.
    Manager,
    /// The manager's id.
    ManagerId,
    /// The reference to the photo.
    Photo,
}

/// The values of a column in a user's object.
pub(super) enum Values {
    /// As text, sorted, each once; none where it is empty.
    Texts(Vec<String>),
    /// Not usable; why.
    Flaw(String),
}

impl Properties {
    pub(super) fn new(wanted: &RequiredColumns, options: &Options) -> Self {
        let (mut names, mut required, mut places): (Vec<String>, Vec<bool>, Vec<Place>) = Default::default();
        for need in &wanted.needs {
            let spelled = need.name.as_str().trim();
            let known = names.iter().position(|name| bare(name) == bare(spelled));
            let at = known.unwrap_or_else(|| {
                names.push(spelled.to_owned());
                required.push(false);
                places.push(Place::of(&need.name));
                names.len() - 1
            });
            let is_optional = need.optional || options.optional.iter().any(|name| bare(name) == bare(spelled));
            required[at] |= !is_optional;
        }
        let of_places = places.iter().filter_map(|place| match place {
            Place::Path(path) => Some(path[0].clone()),
            Place::Manager | Place::ManagerId | Place::Photo => None,
        });
        let mut asked: Vec<String> = of_places.chain(options.select.iter().cloned()).chain(["id".to_owned()]).collect();
        asked.sort();
        asked.dedup();
        let has_manager = places.iter().any(|place| matches!(place, Place::Manager | Place::ManagerId));
        let has_photo = places.contains(&Place::Photo);
        Self { columns: Arc::new(Columns::of_attributes(names)), required, asked, has_manager, has_photo, places }
    }

    /// The values of the column at a position.
    pub(super) fn values(&self, at: usize, user: &Map<String, Value>) -> Values {
        let place = &self.places[at];
        if matches!(place, Place::Manager | Place::ManagerId) && !user.contains_key(MANAGER) {
            return Values::Flaw("the list of managers does not show this user".to_owned());
        }
        let manager = |name: &str| user.get(MANAGER).and_then(|manager| manager.get(name)).filter(|v| !v.is_null());
        let value = match place {
            Place::Photo => match user.get(PHOTO) {
                Some(known @ (Value::String(_) | Value::Null)) => Some(known),
                unknown => return Values::Flaw(photo::flaw(unknown.and_then(Value::as_u64))),
            },
            Place::Manager => manager("mail").or_else(|| manager("userPrincipalName")),
            Place::ManagerId => manager("id"),
            Place::Path(path) => {
                path[1..].iter().fold(user.get(&path[0]), |value, name| value.and_then(|value| value.get(name)))
            }
        };
        texts(value.unwrap_or(&Value::Null))
    }
}

impl Place {
    fn of(name: &Name) -> Self {
        let text = name.as_str().trim();
        let plain = bare(text);
        match plain.as_str() {
            "manager" => return Self::Manager,
            "managerid" => return Self::ManagerId,
            PHOTO => return Self::Photo,
            _ => {}
        }
        let number = plain.strip_prefix("extensionattribute").and_then(|number| number.parse::<u8>().ok());
        if let Some(number) = number.filter(|number| (1..=15).contains(number)) {
            return Self::Path(vec![EXTENSIONS.to_owned(), format!("extensionAttribute{number}")]);
        }
        if let Some(nested) = NESTED.iter().find(|nested| bare(&nested.replace('.', "")) == plain) {
            return Self::Path(nested.split('.').map(str::to_owned).collect());
        }
        if let Some(own) = SPELLED.iter().find(|own| bare(own) == plain) {
            return Self::Path(vec![(*own).to_owned()]);
        }
        match name {
            Name::Verbatim(_) | Name::Joined(_) => Self::Path(text.split('.').map(str::to_owned).collect()),
            Name::Plain(_) if plain.starts_with("extension") => Self::Path(vec![text.to_owned()]),
            Name::Plain(_) => Self::Path(vec![camel(text)]),
        }
    }
}

/// `given_name` → `givenName`.
fn camel(text: &str) -> String {
    let mut parts = text.split('_');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut chars = part.chars();
        out.extend(chars.next().into_iter().flat_map(char::to_uppercase));
        out.push_str(chars.as_str());
    }
    out
}

fn texts(value: &Value) -> Values {
    let values = match value {
        Value::Array(values) => values.as_slice(),
        other => std::slice::from_ref(other),
    };
    let mut texts = Vec::new();
    for value in values {
        match value {
            Value::Null => {}
            Value::Bool(value) => texts.push(value.to_string()),
            Value::Number(number) => texts.push(number.to_string()),
            Value::String(text) if text.len() > VALUE_BYTES_MAX => {
                return Values::Flaw(format!("it has a value of more than {} KiB", VALUE_BYTES_MAX / 1024));
            }
            Value::String(text) if text.is_empty() => {}
            Value::String(text) => texts.push(text.clone()),
            Value::Object(_) | Value::Array(_) => {
                return Values::Flaw("it is a group of properties; name one of them".to_owned());
            }
        }
    }
    texts.sort_unstable();
    texts.dedup();
    Values::Texts(texts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::source::ColumnRequirement;

    fn properties(names: &[Name]) -> Properties {
        let needs = names.iter().map(|name| ColumnRequirement { name: name.clone(), optional: false }).collect();
        Properties::new(&RequiredColumns { needs, ..RequiredColumns::default() }, &Options::of_test())
    }

    fn plain(name: &str) -> Name {
        Name::Plain(name.into())
    }

    fn verbatim(name: &str) -> Name {
        Name::Verbatim(name.into())
    }

    #[test]
    fn a_template_s_name_finds_its_property() {
        for (name, asked) in [
            (plain("given_name"), "givenName"),
            (plain("givenName"), "givenName"),
            (plain("employeeid"), "employeeId"),
            (plain("on_premises_sam_account_name"), "onPremisesSamAccountName"),
            (plain("extension_attribute1"), "onPremisesExtensionAttributes"),
            (plain("employee_org_data_cost_center"), "employeeOrgData"),
            (verbatim("employeeOrgData.costCenter"), "employeeOrgData"),
            (plain("extension_ab12_locker"), "extension_ab12_locker"),
        ] {
            let mut expected = vec![asked, "id"];
            expected.sort_unstable();
            assert_eq!(properties(std::slice::from_ref(&name)).asked, expected, "{name}");
        }
        let manager = properties(&[plain("manager"), plain("manager_id")]);
        assert_eq!((manager.asked, manager.has_manager), (vec!["id".to_owned()], true));
        let photo = properties(&[plain("photo")]);
        assert_eq!((photo.asked, photo.has_photo), (vec!["id".to_owned()], true));
    }

    #[test]
    fn a_value_is_the_text_of_its_property() {
        let user = json!({
            "id": "1", "accountEnabled": false, "mail": null, "city": "", "businessPhones": ["2", "1", "2"],
            "onPremisesExtensionAttributes": { "extensionAttribute1": "A" }, "employeeOrgData": null,
            "photo": "1 v",
            "manager": { "id": "9", "mail": null, "userPrincipalName": "m@example.com" },
        });
        let user = user.as_object().unwrap();
        for (name, expected) in [
            (plain("id"), Some(vec!["1"])),
            (plain("account_enabled"), Some(vec!["false"])),
            (plain("mail"), Some(vec![])),
            (plain("city"), Some(vec![])),
            (plain("department"), Some(vec![])),
            (plain("business_phones"), Some(vec!["1", "2"])),
            (plain("extension_attribute1"), Some(vec!["A"])),
            (plain("extension_attribute2"), Some(vec![])),
            (plain("employee_org_data_cost_center"), Some(vec![])),
            (plain("manager"), Some(vec!["m@example.com"])),
            (plain("manager_id"), Some(vec!["9"])),
            (plain("photo"), Some(vec!["1 v"])),
            (plain("onPremisesExtensionAttributes"), None),
        ] {
            let values = match properties(std::slice::from_ref(&name)).values(0, user) {
                Values::Texts(texts) => Some(texts),
                Values::Flaw(_) => None,
            };
            let expected = expected.map(|texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect());
            assert_eq!(values, expected, "{name}");
        }
    }
}
