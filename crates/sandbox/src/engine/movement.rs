//! Signing in and out: a movement is made or changed, and with it the person's presence (specification, States).
//!
//! A person has at most one open movement. To sign in where one is open updates it; to sign in elsewhere closes it
//! first. To sign out without one leaves a movement that never began.

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::super::answer::{Answer, Rejection};
use super::super::resource::Resource;
use super::super::row::EntityRow;
use super::super::store::{Change, Entities};
use super::super::tables::{LOCATION, MEMBER, MEMBER_MOVEMENT, MEMBERSHIP, STAFF};
use super::super::{sent, zone};
use super::Call;

/// How a person signs in and out by this operation.
const MODE: &str = "Auto";

impl Call<'_> {
    pub(super) fn put_movement(&self) -> Result<Answer, Rejection> {
        let is_member = self.resource.name == MEMBER_MOVEMENT.name;
        let (person_field, people) = if is_member { ("sp_member_id", &MEMBER) } else { ("staff_id", &STAFF) };
        let mut body = self.object()?;
        if is_member {
            self.take_member(&mut body)?;
        }
        let mut entities = self.store.write();
        let (input, form) = self.fresh(&entities, &body)?;
        input.check_required(&form)?;
        if is_member {
            check_membership(&entities, &form)?;
        }
        let id = form.integer(self.resource.at(person_field)).unwrap_or(0);
        let Some(mut person) = entities.rows(people.name).get(&id).cloned() else {
            return Err(Rejection::bad(format!("{person_field} takes the id of one that exists")));
        };
        let open = self.open_movement(&entities, person_field, id);
        let is_in = form.text(self.resource.at("onsite_status")) == Some("onsite");
        let (movement, left) =
            if is_in { self.sign_in(form, open, &body) } else { (self.sign_out(form, open, &body), None) };
        set_presence(people, &mut person, &movement, self.resource, &entities);
        if self.options.movement_touches_person {
            person.modified = self.order.now;
        }
        let left = left.map(|left| Change::Put(self.resource, left));
        let changes =
            left.into_iter().chain([Change::Put(self.resource, movement.clone()), Change::Put(people, person)]);
        self.save(&mut entities, changes.collect())?;
        Ok(self.one(&entities, &movement))
    }

    /// Takes the member's id from the query where it is there; in both places it must be the same.
    fn take_member(&self, body: &mut Map<String, Value>) -> Result<(), Rejection> {
        let Some(asked) = self.parameter("sp_member_id") else { return Ok(()) };
        let sent = body.get("sp_member_id").filter(|sent| !sent.is_null());
        if sent.is_some_and(|sent| sent::id(sent) != sent::id(&asked.into())) {
            return Err(Rejection::bad("sp_member_id in the body is not that in the query"));
        }
        body.insert("sp_member_id".to_owned(), asked.into());
        Ok(())
    }

    /// The movement of a person that hasn't ended.
    fn open_movement(&self, entities: &Entities, person_field: &str, person: i64) -> Option<EntityRow> {
        let [by, signed_in, signed_out] = [person_field, "signed_in", "signed_out"].map(|name| self.resource.at(name));
        let is_open = |row: &&EntityRow| {
            row.integer(by) == Some(person) && !row.value(signed_in).is_null() && row.value(signed_out).is_null()
        };
        entities.rows(self.resource.name).values().rev().find(is_open).cloned()
    }

    /// The movement of a sign-in, and the one that it ended elsewhere.
    fn sign_in(
        &self,
        form: EntityRow,
        open: Option<EntityRow>,
        body: &Map<String, Value>,
    ) -> (EntityRow, Option<EntityRow>) {
        let [location, access_point] = ["location_id", "lacp_id"].map(|name| self.resource.at(name));
        let mut left = None;
        let mut movement = match open {
            Some(open) if open.value(location) == form.value(location) => self.renewed(open, &form, body, &[]),
            other => {
                left = other.map(|open| self.ended(open, &form));
                let mut fresh = form.clone();
                fresh.set(self.resource.at("signed_in"), self.moment(&form));
                fresh.set(self.resource.at("mode_in"), MODE.into());
                fresh
            }
        };
        if !form.value(access_point).is_null() {
            movement.set(self.resource.at("lacp_in_id"), form.value(access_point).clone());
        }
        movement.set(self.resource.at("scanned_out"), Value::Null);
        (movement, left)
    }

    fn sign_out(&self, form: EntityRow, open: Option<EntityRow>, body: &Map<String, Value>) -> EntityRow {
        let mut movement = match open {
            Some(open) => self.renewed(open, &form, body, &["location_id", "scanned_in"]),
            None => {
                let mut never_begun = form.clone();
                never_begun.set(self.resource.at("scanned_in"), Value::Null);
                never_begun
            }
        };
        movement.set(self.resource.at("lacp_out_id"), form.value(self.resource.at("lacp_id")).clone());
        self.ended(movement, &form)
    }

    /// An open movement with the fields that were sent, except those in `kept`.
    fn renewed(&self, mut open: EntityRow, form: &EntityRow, body: &Map<String, Value>, kept: &[&str]) -> EntityRow {
        let is_sent = |name: &&str| body.get(*name).is_some_and(|sent| !sent.is_null());
        for (position, field) in
            self.resource.fields.iter().enumerate().filter(|(_, field)| !kept.contains(&field.name))
        {
            if field.inputs.iter().any(is_sent) {
                open.set(position, form.value(position).clone());
            }
        }
        open.modified = self.order.now;
        open
    }

    /// A movement that ends when the form says.
    fn ended(&self, mut movement: EntityRow, form: &EntityRow) -> EntityRow {
        movement.set(self.resource.at("signed_out"), self.moment(form));
        movement.set(self.resource.at("mode_out"), MODE.into());
        movement.modified = self.order.now;
        movement
    }

    /// When it happened: now, or when an employee's caller says.
    fn moment(&self, form: &EntityRow) -> Value {
        let stated = self.resource.position("changed_at").and_then(|position| form.text(position));
        zone::written(stated.and_then(zone::read).unwrap_or(self.order.now), &TimeZone::UTC).into()
    }
}

/// Checks that the member is one of the organization's.
fn check_membership(entities: &Entities, form: &EntityRow) -> Result<(), Rejection> {
    let same = [("sp_org_id", "org_id"), ("sp_member_id", "member_id")]
        .map(|(from, to)| (MEMBER_MOVEMENT.at(from), MEMBERSHIP.at(to)));
    let is_it = |membership: &EntityRow| same.iter().all(|(from, to)| form.value(*from) == membership.value(*to));
    let is_member = entities.rows(MEMBERSHIP.name).values().any(is_it);
    if is_member { Ok(()) } else { Err(Rejection::bad("sp_org_id takes an organization that the member belongs to")) }
}

/// Sets where a person is from now on.
fn set_presence(
    people: &Resource,
    person: &mut EntityRow,
    movement: &EntityRow,
    movements: &Resource,
    entities: &Entities,
) {
    let of = |name| movement.value(movements.at(name)).clone();
    let status = of("onsite_status");
    let is_in = status == "onsite";
    let here = |value: Value| if is_in { value } else { Value::Null };
    person.set(people.at("onsite_status"), status);
    if people.name == MEMBER.name {
        person.set(people.at("cur_location_id"), here(of("location_id")));
        person.set(people.at("cur_sp_org_id"), here(of("sp_org_id")));
    } else {
        let location = of("location_id").as_i64().and_then(|id| entities.rows(LOCATION.name).get(&id));
        let name = location.map_or(Value::Null, |location| location.value(LOCATION.at("name")).clone());
        person.set(people.at("cur_location"), here(name));
    }
}
