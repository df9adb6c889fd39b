//! The resources with a replacing PUT, and what is peculiar to some of them.

use rosterd::api::{
    Api, Asset, AssetGroup, Carry, Certification, CertificationHolder, Community, CommunityMember, Induction,
    InductionHolder, Insurance, Member, Membership, Named, Organization, OrganizationGroup, Qualification,
    QualificationHolder, Staff, Visit, VisitorEvent, VisitorGroup, Zone,
};
use serde_json::{Value, json};

use super::fields;
use super::subject::{Subject, Tried};
use super::values::Fields;
use crate::support::caller::id;

/// What a changed text becomes.
const CHANGED: &str = "changed ∎";

/// A subject of which everything is shown and one text is changed.
fn plain<R: Carry>(
    resource: &'static str,
    api: Api<R>,
    fields: Fields,
    field: &'static str,
    change: fn(&mut R::Sent),
) -> Subject<R> {
    let changed = Box::new(move |stored: &mut Value| stored[field] = CHANGED.into());
    Subject { resource, api, fields, fit: |_| (), refused_for: |_| None, decide: |_, _| (), change, changed }
}

/// All of them, in the order of the specification. Whether answers show where an employee may roam is the sandbox's to
/// choose.
pub(super) fn subjects(is_roaming_shown: bool) -> Vec<Box<dyn Tried>> {
    vec![
        Box::new(staff(is_roaming_shown)),
        Box::new(plain("sp.member", Api::<Member>::root(), fields::MEMBER, "title", |input| input.title = text())),
        Box::new(plain("sp.org", Api::<Organization>::root(), fields::ORGANIZATION, "type", |input| {
            input.r#type = text();
        })),
        Box::new(plain(
            "sp.org.group",
            Api::<OrganizationGroup>::root(),
            fields::ORGANIZATION_GROUP,
            "name",
            |input| {
                input.name = text();
            },
        )),
        Box::new(membership()),
        Box::new(plain("sp.insurance", Api::<Insurance>::root(), fields::INSURANCE, "value", |input| {
            input.value = text();
        })),
        Box::new(plain("certification", Api::<Certification>::root(), fields::CERTIFICATION, "description", |input| {
            input.description = text();
        })),
        Box::new(Subject {
            fit: of_certification,
            ..plain(
                "certification.holder",
                Api::<Certification>::root().below::<CertificationHolder>(id(801)),
                fields::HOLDER,
                "certification_number",
                |input| input.certification_number = text(),
            )
        }),
        Box::new(qualification()),
        Box::new(Subject {
            fit: of_certification,
            ..plain(
                "certification.holder",
                Api::<Qualification>::root().below::<QualificationHolder>(id(801)),
                fields::HOLDER,
                "certification_number",
                |input| input.certification_number = text(),
            )
        }),
        Box::new(induction_holder()),
        Box::new(community_member()),
        Box::new(plain("visitor.event", Api::<VisitorEvent>::root(), fields::EVENT, "mode_in", |input| {
            input.mode_id = text();
        })),
        Box::new(visit()),
        Box::new(plain("visitor.group", Api::<VisitorGroup>::root(), fields::VISITOR_GROUP, "description", |input| {
            input.description = text();
        })),
        Box::new(plain("zone", Api::<Zone>::root(), fields::ZONE, "reference", |input| input.reference = text())),
        Box::new(plain("asset", Api::<Asset>::root(), fields::ASSET, "geo_lat", |input| input.geo_lat = text())),
        Box::new(plain("assetgroup", Api::<AssetGroup>::root(), fields::ASSET_GROUP, "class", |input| {
            input.class = text();
        })),
    ]
}

fn text() -> Option<String> {
    Some(CHANGED.to_owned())
}

/// Where someone may roam is shown by no answer of the specification. A person who doesn't roam is taken to have no
/// such places: a PUT leaves none.
fn staff(is_roaming_shown: bool) -> Subject<Staff> {
    let plain = plain("staff", Api::<Staff>::root(), fields::STAFF, "title", |input| input.title = text());
    if is_roaming_shown {
        return plain;
    }
    Subject {
        fit: |entity| {
            if entity["globalroaming"] == 0 {
                entity["globalroaming_locations"] = json!([]);
            }
        },
        refused_for: |entity| (entity["globalroaming"] == 1).then_some("globalroaming_locations"),
        decide: |input, entity| {
            if entity["globalroaming"] == 1 {
                input.globalroaming_locations = serde_json::from_value(entity["globalroaming_locations"].clone()).ok();
            }
        },
        ..plain
    }
}

/// Its locations are its own here: one that has none inherits those of its organization.
fn membership() -> Subject<Membership> {
    Subject {
        fit: |entity| {
            (entity["org_id"], entity["member_id"]) = (401.into(), 2003.into());
            if entity["locations"] == json!([]) {
                entity["locations"] = json!([{ "id": 13, "start": null, "expires": null }]);
            }
        },
        changed: Box::new(|stored| stored["roles"] = json!([64])),
        ..plain("sp.membership", Api::<Membership>::root(), fields::MEMBERSHIP, "roles", |input| {
            input.roles = vec![Named { id: Some(64), ..Named::default() }];
        })
    }
}

fn of_certification(entity: &mut Value) {
    entity["certification_id"] = 801.into();
    let is_member = entity["record_type"] == "sp";
    entity["record_type"] = if is_member { "sp" } else { "staff" }.into();
    entity["record_id"] = if is_member { 2003 } else { 1003 }.into();
}

fn qualification() -> Subject<Qualification> {
    Subject {
        refused_for: |_| Some("certification_type_id"),
        decide: |input, entity| input.certification_type_id = entity["certification_type_id"].as_i64(),
        ..plain("certification", Api::<Qualification>::root(), fields::CERTIFICATION, "category", |input| {
            input.category = text();
        })
    }
}

/// Either an employee or a contractor member. The service counts the attempts, of the three that the induction allows,
/// and says whether it is completed.
fn induction_holder() -> Subject<InductionHolder> {
    const TIME: &str = "2031-02-03T04:05:06+00:00";
    let api = Api::<Induction>::root().below::<InductionHolder>(id(901));
    Subject {
        fit: |entity| {
            entity["induction_id"] = 901.into();
            entity["sp_member_id"] = if entity["staff_id"].is_null() { 2002.into() } else { Value::Null };
            (entity["attempts"], entity["attempts_left"]) = (1.into(), 2.into());
            entity["status"] = if entity["completed"].is_null() { "incomplete" } else { "completed" }.into();
        },
        changed: Box::new(|stored| {
            (stored["completed"], stored["status"]) = (TIME.into(), "completed".into());
        }),
        ..plain("induction.holder", api, fields::INDUCTION_HOLDER, "completed", |input| {
            input.completed = Some(TIME.to_owned());
        })
    }
}

fn community_member() -> Subject<CommunityMember> {
    let api = Api::<Community>::root().below::<CommunityMember>(id(951));
    Subject {
        fit: |entity| entity["community_id"] = 951.into(),
        refused_for: |_| Some("year"),
        decide: |input, entity| input.year = entity["year"].as_i64(),
        ..plain("community.member", api, fields::COMMUNITY_MEMBER, "title", |input| input.title = text())
    }
}

/// Who announced it is sent as `staff_id`; 0 means no one.
fn visit() -> Subject<Visit> {
    Subject {
        refused_for: |_| Some("staff_id"),
        decide: |input, entity| input.staff_id = Some(entity["created_staff_id"].as_i64().unwrap_or(0)),
        ..plain("visitor.register", Api::<Visit>::root(), fields::VISIT, "name", |input| input.name = text())
    }
}
