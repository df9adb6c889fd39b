//! Derived fields: values computed from other fields or other entities.

use serde_json::{Value, json};

use crate::resource::{Derived, FieldKind};
use crate::row::EntityRow;
use crate::tables::{self, EVENT, MEMBER, MEMBERSHIP, ORG};
use crate::view::View;
use crate::zone;

impl<'e> View<'e> {
    /// What follows for an entity; null where nothing does.
    pub(crate) fn derived(&self, row: &EntityRow, derived: Derived) -> Value {
        match derived {
            Derived::Of(references, field) => {
                let mut followed = references.iter().filter_map(|(from, other)| self.followed(row, from, other, field));
                followed.next().unwrap_or(Value::Null)
            }
            Derived::OfRecord(field) => {
                let other = match self.text(row, "record_type") {
                    Some("staff") => "staff",
                    _ => MEMBER.name,
                };
                self.followed(row, "record_id", other, field).unwrap_or(Value::Null)
            }
            Derived::Count(other, by) => self.count(row, other, by).into(),
            Derived::AccessPointName(from) => {
                let id = row.integer(self.resource.at(from));
                id.and_then(|id| self.entities.access_point(id)).cloned().unwrap_or(Value::Null)
            }
            Derived::Joined(fields) => {
                let texts: Vec<&str> = fields.iter().filter_map(|field| self.text(row, field)).collect();
                if texts.is_empty() { Value::Null } else { texts.join(" - ").into() }
            }
            Derived::Duration => self.duration(row).unwrap_or(Value::Null),
            Derived::Members => self.members(row),
            Derived::Organizations => {
                self.memberships(row.id).into_iter().map(|membership| self.organization(membership)).collect()
            }
            Derived::LearnerFrom => self.learner_from(row),
            Derived::SameAsOrganization => {
                let position = self.resource.at("locations");
                let (own, shared) = (row.value(position), self.organizations_places(row, "org_id"));
                (is_empty(own) || shared == Some(own)).into()
            }
        }
    }

    /// The places that count for the entity: its own, or those of its organization.
    pub(crate) fn effective_places<'s>(&'s self, row: &'s EntityRow, position: usize) -> &'s Value {
        let own = row.value(position);
        match self.resource.fields[position].kind {
            FieldKind::Places(Some(from)) if is_empty(own) => self.organizations_places(row, from).unwrap_or(own),
            _ => own,
        }
    }

    fn organizations_places(&self, row: &EntityRow, from: &str) -> Option<&'e Value> {
        let org = row.integer(self.resource.at(from))?;
        self.entities.rows(ORG.name).get(&org).map(|org| org.value(ORG.at("locations")))
    }

    fn text<'r>(&self, row: &'r EntityRow, field: &str) -> Option<&'r str> {
        row.text(self.resource.at(field))
    }

    /// A field of the entity that another field refers to.
    fn followed(&self, row: &EntityRow, from: &str, other: &str, field: &str) -> Option<Value> {
        let id = row.integer(self.resource.at(from))?;
        let found = self.entities.rows(other).get(&id)?;
        tables::resource(other).map(|resource| found.value(resource.at(field)).clone())
    }

    fn count(&self, row: &EntityRow, other: &'static str, by: &'static str) -> usize {
        let by_name = tables::resource(other)
            .is_some_and(|resource| matches!(resource.fields[resource.at(by)].kind, FieldKind::NameOf(_)));
        let target = if by_name { self.text(row, "name").unwrap_or_default().into() } else { row.id.into() };
        self.entities.count(other, by, &target)
    }

    fn duration(&self, row: &EntityRow) -> Option<Value> {
        let time = |field| row.text(EVENT.at(field)).and_then(zone::read);
        let seconds = time("signed_out").unwrap_or(self.sight.now).duration_since(time("signed_in")?).as_secs().max(0);
        Some(zone::in_words(seconds.unsigned_abs()).into())
    }

    /// The members of an organization as objects of id and name.
    fn members(&self, org: &EntityRow) -> Value {
        let referring = self.referring(MEMBERSHIP.name, "org_id");
        let members = referring.get(&org.id).into_iter().flatten();
        let ids: Value = members.map(|membership| membership.value(MEMBERSHIP.at("member_id")).clone()).collect();
        self.named(&ids, MEMBER.name)
    }

    fn memberships(&self, member: i64) -> Vec<&'e EntityRow> {
        self.referring(MEMBERSHIP.name, "member_id").get(&member).cloned().unwrap_or_default()
    }

    /// An organization as one of its members shows it (specification, Contractor member).
    fn organization(&self, membership: &EntityRow) -> Value {
        let id = membership.integer(MEMBERSHIP.at("org_id")).unwrap_or(0);
        let org = self.entities.rows(ORG.name).get(&id);
        let shared = org.map(|org| org.value(ORG.at("locations")));
        let own = membership.value(MEMBERSHIP.at("locations"));
        let same = is_empty(own) || shared == Some(own);
        json!({
            "id": id,
            "name": org.map(|org| org.value(ORG.at("name"))),
            "roles": self.named(membership.value(MEMBERSHIP.at("roles")), "sp.role"),
            "locations": self.places(shared.filter(|_| same).unwrap_or(own)),
            "locations_same_as_org": same,
        })
    }

    fn learner_from(&self, row: &EntityRow) -> Value {
        if let Some(location) = self.followed(row, "staff_id", "staff", "location") {
            return location;
        }
        let member = row.integer(self.resource.at("sp_member_id")).unwrap_or(0);
        let org = self.memberships(member).first().and_then(|membership| membership.integer(MEMBERSHIP.at("org_id")));
        let org = org.and_then(|id| self.entities.rows(ORG.name).get(&id));
        org.map_or(Value::Null, |org| org.value(ORG.at("name")).clone())
    }
}

fn is_empty(list: &Value) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}
