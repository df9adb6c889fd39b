//! Validation rules for an entity as a whole.

use axum::http::StatusCode;
use serde_json::Value;

use crate::answer::Rejection;
use crate::resource::{Resource, Rule};
use crate::row::EntityRow;
use crate::store::Entities;
use crate::tables::{INDUCTION, INDUCTION_HOLDER, MEMBER, ORG};

impl Rule {
    /// Checks an entity that is about to be laid down, and sets what follows.
    pub(crate) fn check(self, entities: &Entities, resource: &Resource, row: &mut EntityRow) -> Result<(), Rejection> {
        match self {
            Self::Learner => check_learner(entities, row),
            Self::Record => check_record(entities, resource, row),
            Self::Unattached => Ok(()),
        }
    }

    /// Checks an entity that is about to go.
    pub(crate) fn check_removal(self, entities: &Entities, id: i64) -> Result<(), Rejection> {
        let is_in =
            |org: &EntityRow| org.value(ORG.at("groups")).as_array().is_some_and(|ids| ids.contains(&id.into()));
        if self == Self::Unattached && entities.rows(ORG.name).values().any(is_in) {
            return Err(Rejection::new(StatusCode::CONFLICT, "organizations are attached to the group"));
        }
        Ok(())
    }
}

fn check_learner(entities: &Entities, row: &mut EntityRow) -> Result<(), Rejection> {
    let resource = &INDUCTION_HOLDER;
    let learner = |field| row.integer(resource.at(field));
    let (audience, learner) = match (learner("staff_id"), learner("sp_member_id")) {
        (Some(id), None) => ("staff_audience", id),
        (None, Some(id)) => ("contractor_audience", id),
        _ => return Err(Rejection::bad("an induction holder is one of staff_id and sp_member_id")),
    };
    let induction = row.integer(resource.at("induction_id")).and_then(|id| entities.rows(INDUCTION.name).get(&id));
    let audience = induction.and_then(|induction| induction.value(INDUCTION.at(audience)).as_array());
    if audience.is_some_and(|ids| !ids.contains(&learner.into())) {
        return Err(Rejection::new(StatusCode::CONFLICT, "the member is not part of the induction's audience"));
    }
    let attempts = row.integer(resource.at("attempts")).unwrap_or(0);
    let most = induction.and_then(|induction| induction.integer(INDUCTION.at("attempts_max")));
    let left = most.map_or(Value::Null, |most| (most - attempts).max(0).into());
    let is_done = !row.value(resource.at("completed")).is_null();
    row.set(resource.at("attempts_left"), left);
    row.set(resource.at("status"), if is_done { "completed" } else { "incomplete" }.into());
    Ok(())
}

fn check_record(entities: &Entities, resource: &Resource, row: &EntityRow) -> Result<(), Rejection> {
    let others = match row.text(resource.at("record_type")) {
        Some("staff") => "staff",
        _ => MEMBER.name,
    };
    let is_there = row.integer(resource.at("record_id")).is_some_and(|id| entities.rows(others).contains_key(&id));
    if is_there { Ok(()) } else { Err(Rejection::bad("record_id takes the id of one of record_type")) }
}
