//! Employees in the program's own field names.

use super::elements::Elements;
use super::fields::{AsEntity, entity, text};
use crate::api::Staff;
use crate::record::{Entity, Value};

impl AsEntity for Staff {
    /// The employee in the program's own field names: those of `Target::Staff`, `cf.TITLE`, and `onsite_status`.
    fn entity(&self, elements: &Elements) -> Entity {
        // In order of name: they are put together for everybody.
        let fields = [
            ("altname", text(&self.altname)),
            ("email", text(&self.email)),
            ("employee_id", text(&self.employee_id)),
            ("globalroaming", self.globalroaming.map_or(Value::Empty, Value::Flag)),
            ("globalroaming_locations", Value::ids(self.globalroaming_locations.clone().unwrap_or_default())),
            ("ice", text(&self.ice)),
            ("location", text(&self.location)),
            ("mobile", text(&self.mobile)),
            ("name", text(&self.name)),
            ("onsite_status", text(&self.onsite_status)),
            ("phone", text(&self.phone)),
            ("roletype", Value::list(self.role_types.clone())),
            ("title", text(&self.title)),
        ];
        entity(self.id, &self.created, fields, Some((&self.customfields, elements)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Map, Value as Json};

    use super::*;
    use crate::api::{Element, Wire as _};
    use crate::mirror::Remote;
    use crate::record::{FieldKind, Target};

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
        assert_eq!(Remote::Staff(Box::new(staff.clone())).modified_at(), Some("2026-01-02T03:04:05Z".parse().unwrap()));
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
        let shown = || Target::Staff.fields().filter(|field| field.kind != FieldKind::Photo);
        let json = shown().map(|field| (field.response.to_owned(), Json::from("1"))).collect();
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
        for field in shown() {
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
