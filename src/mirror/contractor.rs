//! Contractors, their organizations and what joins the two, and holders of certifications, in the program's own field
//! names.

use super::elements::Elements;
use super::fields::{AsEntity, entity, text};
use crate::api::{CertificationHolder, Member, Membership, Organization};
use crate::record::{Entity, Target, Value};

impl AsEntity for Member {
    /// The member in the program's own field names: those of [`Target::Contractor`], `cf.TITLE`, and `onsite_status`.
    fn entity(&self, elements: &Elements) -> Entity {
        let fields = [
            ("name", text(&self.name)),
            ("title", text(&self.title)),
            ("email", text(&self.email)),
            ("altemail", text(&self.altemail)),
            ("phone", text(&self.phone)),
            ("mobile", text(&self.mobile)),
            ("ice", text(&self.ice)),
            ("extension", text(&self.extension)),
            ("valid_from", text(&self.valid_from)),
            ("valid_to", text(&self.valid_to)),
            ("service_provider_id", text(&self.service_provider_id)),
            ("onsite_status", text(&self.onsite_status)),
        ];
        entity(self.id, &self.created, fields, Some((&self.customfields, elements)))
    }
}

impl AsEntity for Organization {
    /// The organization in the program's own field names: those of [`Target::Organization`] and `cf.TITLE`.
    fn entity(&self, elements: &Elements) -> Entity {
        let fields = [
            ("name", text(&self.name)),
            ("legalid", text(&self.legalid)),
            ("legalid_type", text(&self.legalid_type)),
            ("type", text(&self.r#type)),
            ("tradingas", text(&self.tradingas)),
            ("address", text(&self.address)),
            ("country", text(&self.country)),
            ("email", text(&self.email)),
            ("phone", text(&self.phone)),
            ("status", text(&self.status)),
        ];
        entity(self.id, &self.created, fields, Some((&self.customfields, elements)))
    }
}

impl AsEntity for Membership {
    /// The membership in the program's own field names: those of [`Target::Membership`], whose two links are ids, and
    /// [`Target::COMPOSITE`].
    fn entity(&self, _: &Elements) -> Entity {
        let fields = [
            (Target::MEMBER, number(self.member_id)),
            (Target::ORGANIZATION, number(self.org_id)),
            ("roles", Value::ids(ids(self.roles.iter().map(|role| role.id)))),
            ("locations", Value::list(self.locations.iter().filter_map(|place| place.name.clone()).collect())),
            (Target::COMPOSITE, pair(&[self.member_id, self.org_id].map(|id| number(id).shown()))),
        ];
        entity(self.id, &self.created, fields, None)
    }
}

impl AsEntity for CertificationHolder {
    /// The holder in the program's own field names: those of [`Target::Holder`], where certification and holder are ids,
    /// and [`Target::COMPOSITE`].
    fn entity(&self, _: &Elements) -> Entity {
        let (certification, record) = (number(self.certification_id), number(self.record_id));
        let record_type = self.record_type.as_deref().map(record_type).unwrap_or_default();
        let fields = [
            (Target::COMPOSITE, pair(&[certification.shown(), record_type.clone(), record.shown()])),
            ("certification", certification),
            ("record_type", text(&Some(record_type).filter(|text| !text.is_empty()))),
            ("holder", record),
            ("validfrom", text(&self.validfrom)),
            ("validto", text(&self.validto)),
            ("certification_number", text(&self.certification_number)),
        ];
        entity(self.id, &self.created, fields, None)
    }
}

/// The kind of a holder: the service has several spellings of one thing (`Staff`, `spm`, `sp/member`).
fn record_type(shown: &str) -> String {
    match shown.to_lowercase() {
        member if member == "spm" || member == "sp/member" => "sp".to_owned(),
        kind => kind,
    }
}

/// What two or three ids are found by together; nothing where one of them is missing.
pub fn pair(parts: &[String]) -> Value {
    let whole = parts.iter().all(|part| !part.is_empty());
    if whole { Value::text(format!("of {}", parts.join("/"))) } else { Value::Empty }
}

fn number(id: Option<i64>) -> Value {
    id.map_or(Value::Empty, |id| Value::text(id.to_string()))
}

fn ids(ids: impl Iterator<Item = Option<i64>>) -> Vec<i32> {
    ids.filter_map(|id| i32::try_from(id?).ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value as Json, json};

    use super::*;
    use crate::api::{Element, Wire as _};
    use crate::record::FieldKind;

    fn object(json: Json) -> Map<String, Json> {
        json.as_object().unwrap().clone()
    }

    fn elements() -> Elements {
        Elements::new(vec![Element::read(object(json!({"id": 31, "title": "Licence number"}))).unwrap()])
    }

    fn filled(target: Target) -> Map<String, Json> {
        let mut all: Map<String, Json> = target
            .fields()
            .map(|field| {
                let value = match field.kind {
                    FieldKind::Ids | FieldKind::Places => json!([{"id": 4, "name": "Quay"}]),
                    _ => json!("1"),
                };
                (field.response.to_owned(), value)
            })
            .collect();
        all.insert("id".into(), 9.into());
        all
    }

    #[test]
    fn every_field_of_every_target_is_read() {
        let read = [
            (Target::Contractor, Member::read(filled(Target::Contractor)).unwrap().entity(&elements())),
            (Target::Organization, Organization::read(filled(Target::Organization)).unwrap().entity(&elements())),
            (Target::Membership, Membership::read(filled(Target::Membership)).unwrap().entity(&elements())),
            (Target::Holder, CertificationHolder::read(filled(Target::Holder)).unwrap().entity(&elements())),
        ];
        for (target, entity) in read {
            for field in target.fields() {
                assert!(!entity.value(&field.name).is_empty(), "{} of {target} is not read", field.name);
            }
        }
    }

    #[test]
    fn a_membership_is_found_by_both_its_ids() {
        let read = |json: Json| Membership::read(object(json)).unwrap().entity(&elements());
        let entity = read(json!({"id": 1, "org_id": 7, "member_id": 12, "roles": [{"id": 61}], "locations": []}));
        assert_eq!(*entity.value(Target::COMPOSITE), pair(&["12".into(), "7".into()]));
        assert_eq!(*entity.value("roles"), Value::ids(vec![61]));
        assert!(read(json!({"id": 1, "org_id": 7, "member_id": null})).value(Target::COMPOSITE).is_empty());
    }

    #[test]
    fn custom_fields_of_a_member_are_read_by_title() {
        let member = Member::read(object(json!({"id": 1, "customfields": {"31": "LN7", "99": "x"}}))).unwrap();
        assert_eq!(*member.entity(&elements()).value("cf.Licence number"), Value::text("LN7"));
    }
}
