//! An employee as read.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value as Json};

use super::read::Reader;
use super::{Elements, Wire};
use crate::record::{Entity, RemoteId, Target, Value};

/// An employee as read (specification, Employee).
#[derive(Clone, PartialEq)]
pub struct Staff {
    /// Its id.
    pub id: RemoteId,
    /// When it was made, as the service wrote it.
    pub created: Option<String>,
    /// When it was last changed, as the service wrote it.
    pub modified: Option<String>,
    /// The state of the account; an open list of values.
    pub account_status: Option<String>,
    /// The last login, as the service wrote it.
    pub last_login: Option<String>,
    /// `onsite`, `offsite`, or another value.
    pub onsite_status: Option<String>,
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
    /// How the account was set up.
    pub setup_method: Option<String>,
    /// The employee id, as text.
    pub employee_id: Option<String>,
    /// The home location's name.
    pub location: Option<String>,
    /// The present location's name.
    pub cur_location: Option<String>,
    /// The department.
    pub department: Option<String>,
    /// Roles, as the service wrote them.
    pub roles: Option<Json>,
    /// The names of role types, flat.
    pub role_types: Vec<String>,
    /// Tokens, as the service wrote them.
    pub tokens: Option<Json>,
    /// Whether they work remotely.
    pub remote: Option<bool>,
    /// Custom fields by element id.
    pub customfields: BTreeMap<String, Json>,
    /// Whether they may enter other locations.
    pub globalroaming: Option<bool>,
    /// Which ones; `None` where the service does not show it.
    pub globalroaming_locations: Option<Vec<i32>>,
    /// Fields that the specification does not name.
    pub extra: BTreeMap<String, Json>,
    /// The names of fields that hold something other than the specification says.
    pub unreadable: Vec<&'static str>,
}

impl Wire for Staff {
    fn read(object: Map<String, Json>) -> Result<Self, &'static str> {
        let mut reader = Reader::new(object);
        let mut staff = Self {
            id: reader.id()?,
            created: reader.text("created"),
            modified: reader.text("modified"),
            account_status: reader.text("account_status"),
            last_login: reader.text("last_login"),
            onsite_status: reader.text("onsite_status"),
            name: reader.text("name"),
            title: reader.text("title"),
            altname: reader.text("altname"),
            email: reader.text("email"),
            phone: reader.text("phone"),
            mobile: reader.text("mobile"),
            ice: reader.text("ice"),
            setup_method: reader.text("setup_method"),
            employee_id: reader.text("employee_id"),
            location: reader.text("location"),
            cur_location: reader.text("cur_location"),
            department: reader.text("department"),
            roles: reader.any("roles"),
            role_types: reader.names("role_types"),
            tokens: reader.any("tokens"),
            remote: reader.flag("remote"),
            customfields: reader.object("customfields"),
            globalroaming: reader.flag("globalroaming"),
            globalroaming_locations: reader.ids("globalroaming_locations"),
            extra: BTreeMap::new(),
            unreadable: Vec::new(),
        };
        (staff.extra, staff.unreadable) = reader.finish();
        Ok(staff)
    }

    fn id(&self) -> RemoteId {
        self.id
    }
}

impl Staff {
    /// The employee in the program's own field names: those of [`Target::Staff`], `cf.TITLE`, and `onsite_status`.
    pub fn entity(&self, elements: &Elements) -> Entity {
        let mut fields = BTreeMap::from([
            ("name", text(&self.name)),
            ("title", text(&self.title)),
            ("altname", text(&self.altname)),
            ("email", text(&self.email)),
            ("phone", text(&self.phone)),
            ("mobile", text(&self.mobile)),
            ("ice", text(&self.ice)),
            ("employee_id", text(&self.employee_id)),
            ("location", text(&self.location)),
            ("roletype", Value::list(self.role_types.clone())),
            ("globalroaming", self.globalroaming.map_or(Value::Empty, Value::Flag)),
            ("globalroaming_locations", Value::ids(self.globalroaming_locations.clone().unwrap_or_default())),
            ("onsite_status", text(&self.onsite_status)),
        ])
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect::<BTreeMap<_, _>>();
        for (title, id) in elements.titles() {
            let value = self.customfields.get(&id.to_string()).map_or(Value::Empty, custom);
            fields.insert(format!("{}{title}", Target::CUSTOM), value);
        }
        fields.retain(|_, value| !value.is_empty());
        // One moment has many spellings: an answer to a write may come in another zone than a list.
        let moment = |text: &str| text.parse::<Timestamp>().map_or_else(|_| text.to_owned(), |at| at.to_string());
        Entity { id: self.id, created: self.created.as_deref().map(moment).unwrap_or_default(), fields }
    }

    /// When it was last changed, where that can be read as a time with an offset.
    pub fn modified_at(&self) -> Option<Timestamp> {
        self.modified.as_deref()?.parse().ok()
    }

    /// Whether exactly `onsite` is what the service says (law 10).
    pub fn is_onsite(&self) -> bool {
        self.onsite_status.as_deref() == Some("onsite")
    }
}

fn text(value: &Option<String>) -> Value {
    value.as_deref().map_or(Value::Empty, Value::text)
}

/// A custom field's value: text as it is, a checkbox as 1 or 0, anything else as its JSON.
fn custom(value: &Json) -> Value {
    match value {
        Json::Null => Value::Empty,
        Json::String(text) => Value::text(text.as_str()),
        Json::Bool(flag) => Value::text(if *flag { "1" } else { "0" }),
        other => Value::text(other.to_string()),
    }
}

/// Shows the id only (law 11).
impl fmt::Debug for Staff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staff").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Element;
    use super::*;

    fn staff(text: &str) -> Staff {
        Staff::read(serde_json::from_str(text).unwrap()).unwrap()
    }

    fn elements() -> Elements {
        let one = r#"{"id":4,"title":"Locker","element_type":"text"}"#;
        let two = r#"{"id":5,"title":"First aider","element_type":"checkbox"}"#;
        Elements::new(vec![
            Element::read(serde_json::from_str(one).unwrap()).unwrap(),
            Element::read(serde_json::from_str(two).unwrap()).unwrap(),
        ])
    }

    #[test]
    fn every_field_becomes_its_own() {
        let staff = staff(
            r#"{"id":"9","created":"2021-10-06T15:35:50+13:00","modified":"2026-01-02T03:04:05+00:00","name":"Ada",
                "title":null,"email":"","employee_id":123,"role_types":[["Warden"],["Nurse"]],"customfields":{"4":"B7",
                "5":1,"99":"x"},"globalroaming":"1","globalroaming_locations":[{"id":3,"name":"Quay"}],
                "onsite_status":"onsite","roles":[[44,6]],"tokens":[],"remote":0,"badge":{"a":1}}"#,
        );
        assert!(staff.unreadable.is_empty(), "{:?}", staff.unreadable);
        assert_eq!(staff.extra.keys().collect::<Vec<_>>(), ["badge"]);
        assert_eq!(staff.modified_at(), Some("2026-01-02T03:04:05Z".parse().unwrap()));
        let entity = staff.entity(&elements());
        assert_eq!((entity.id.get(), entity.created.as_str()), (9, "2021-10-06T02:35:50Z"));
        let check = |field: &str, expected: Value| assert!(*entity.value(field) == expected, "{field}");
        check("name", Value::text("Ada"));
        check("title", Value::Empty);
        check("email", Value::Empty);
        check("employee_id", Value::text("123"));
        check("roletype", Value::List(vec!["Warden".into(), "Nurse".into()]));
        check("globalroaming", Value::Flag(true));
        check("globalroaming_locations", Value::Ids(vec![3]));
        check("onsite_status", Value::text("onsite"));
        check("cf.Locker", Value::text("B7"));
        check("cf.First aider", Value::text("1"));
    }

    #[test]
    fn every_field_of_the_target_is_read() {
        let json = Target::Staff.fields().map(|field| (field.response.to_owned(), Json::from("1"))).collect();
        let mut staff = Staff::read({
            let mut object: Map<String, Json> = json;
            object.insert("id".into(), 1.into());
            object.insert("role_types".into(), serde_json::json!(["1"]));
            object.insert("globalroaming_locations".into(), serde_json::json!([1]));
            object
        })
        .unwrap();
        assert!(staff.extra.is_empty());
        staff.customfields = BTreeMap::from([("4".to_owned(), Json::from("x"))]);
        let entity = staff.entity(&elements());
        for field in Target::Staff.fields() {
            assert!(!entity.value(&field.name).is_empty(), "{} is not read", field.name);
        }
    }

    #[test]
    fn an_odd_field_spoils_its_record_only() {
        let staff =
            staff(r#"{"id":1,"name":{"first":"A"},"role_types":[[44,6]],"customfields":[],"globalroaming":"x"}"#);
        assert_eq!(staff.unreadable, ["name", "role_types", "globalroaming"]);
        assert!(staff.customfields.is_empty());
    }

    #[test]
    fn law_11_debug_shows_the_id_only() {
        assert_eq!(format!("{:?}", staff(r#"{"id":1,"name":"Canary"}"#)), "Staff { id: RemoteId(1), .. }");
    }
}
