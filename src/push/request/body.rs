//! Builds the inputs of requests from entities.

use smol_str::SmolStr;

use super::assign::{Names, Settable};
use crate::api::{
    self, Answered, Api, Carry, CarryError, CertificationHolder, Client, Fields, HolderInput, Member, MemberInput,
    Membership, MembershipInput, Organization, OrganizationInput, RequestInput as _, Staff, StaffInput,
};
use crate::mirror::{Elements, EntityRef, Mirror, Remote, holders};
use crate::record::{RemoteId, Target, Value, Values};

/// One entity as a request holds it.
pub(crate) enum RequestBody {
    Staff(Box<StaffInput>),
    Member(Box<MemberInput>),
    Organization(Box<OrganizationInput>),
    Membership(Box<MembershipInput>),
    /// With the certification that it lies below.
    Holder(Box<HolderInput>, RemoteId),
}

impl RequestBody {
    /// A new entity. What can't be sent is said in words.
    pub(crate) fn new(target: Target, fields: &Values, mirror: &Mirror) -> Result<Self, String> {
        let names = Names::of(mirror);
        Ok(match target {
            Target::Staff => Self::Staff(new(fields, names)?),
            Target::Contractor => Self::Member(new(fields, names)?),
            Target::Organization => Self::Organization(new(fields, names)?),
            Target::Membership => Self::Membership(new(fields, names)?),
            Target::Holder => {
                let id = fields.get("certification").and_then(Value::as_text).and_then(|text| text.parse().ok());
                let id = id.and_then(RemoteId::new).ok_or("the certification is not known by its id")?;
                Self::Holder(new(fields, names)?, id)
            }
        })
    }

    /// An entity as just read, with the fields of `moved` as they are wanted. What can't be carried over is said in words.
    pub(crate) fn changed(
        fresh: &Remote,
        wanted: &Values,
        moved: &[&str],
        at: EntityRef,
        mirror: &Mirror,
    ) -> Result<Self, String> {
        let names = Names::of(mirror);
        Ok(match fresh {
            Remote::Staff(staff) => Self::Staff(changed(&**staff, wanted, moved, names)?),
            Remote::Member(member) => Self::Member(changed(&**member, wanted, moved, names)?),
            Remote::Organization(organization) => Self::Organization(changed(&**organization, wanted, moved, names)?),
            Remote::Membership(membership) => {
                let inherits = membership.locations_same_as_org == Some(true) && !membership.locations.is_empty();
                if inherits && !wanted.contains_key("locations") {
                    return Err("its locations are those of its organization, and a PUT would end that; map \
                                membership.locations, or make the change at the service"
                        .to_owned());
                }
                Self::Membership(changed(&**membership, wanted, moved, names)?)
            }
            Remote::Holder(holder) => {
                let id = at.below.expect("a holder is read below its certification");
                Self::Holder(changed(&**holder, wanted, moved, names)?, id)
            }
        })
    }

    /// Creates the entity; `None` where the service confirms it without showing it.
    pub(crate) async fn create(&self, client: &Client) -> Result<Answered<Option<Remote>>, api::Error> {
        match self {
            Self::Staff(input) => client.send(Api::<Staff>::root().create(input)).await.map(staff),
            Self::Member(input) => client.send(Api::<Member>::root().create(input)).await.map(member),
            Self::Organization(input) => client.send(Api::<Organization>::root().create(input)).await.map(organization),
            Self::Membership(input) => client.send(Api::<Membership>::root().create(input)).await.map(membership),
            Self::Holder(input, below) => {
                client.send(holders(Some(*below)).create(input)).await.map(|answered| holder(answered, *below))
            }
        }
    }

    /// Replaces the entity; `None` where the service confirms it without showing it.
    pub(crate) async fn replace(&self, client: &Client, id: RemoteId) -> Result<Answered<Option<Remote>>, api::Error> {
        match self {
            Self::Staff(input) => client.send(Api::<Staff>::root().replace(id, input)).await.map(staff),
            Self::Member(input) => client.send(Api::<Member>::root().replace(id, input)).await.map(member),
            Self::Organization(input) => {
                client.send(Api::<Organization>::root().replace(id, input)).await.map(organization)
            }
            Self::Membership(input) => client.send(Api::<Membership>::root().replace(id, input)).await.map(membership),
            Self::Holder(input, below) => {
                client.send(holders(Some(*below)).replace(id, input)).await.map(|answered| holder(answered, *below))
            }
        }
    }
}

/// Removes an entity; `None` where the API has no such operation.
pub(crate) async fn delete(client: &Client, at: EntityRef) -> Option<Result<(), api::Error>> {
    let id = at.id;
    let done = match at.target {
        Target::Staff => client.send(Api::<Staff>::root().delete(id)).await,
        Target::Contractor => client.send(Api::<Member>::root().delete(id)).await,
        Target::Organization => return None,
        Target::Membership => client.send(Api::<Membership>::root().delete(id)).await,
        Target::Holder => client.send(holders(at.below).delete(id)).await,
    };
    Some(done.map(drop))
}

fn staff(answered: Answered<Option<Staff>>) -> Answered<Option<Remote>> {
    answered.map(|shown| shown.map(|shown| Remote::Staff(Box::new(shown))))
}

fn member(answered: Answered<Option<Member>>) -> Answered<Option<Remote>> {
    answered.map(|shown| shown.map(|shown| Remote::Member(Box::new(shown))))
}

fn organization(answered: Answered<Option<Organization>>) -> Answered<Option<Remote>> {
    answered.map(|shown| shown.map(|shown| Remote::Organization(Box::new(shown))))
}

fn membership(answered: Answered<Option<Membership>>) -> Answered<Option<Remote>> {
    answered.map(|shown| shown.map(|shown| Remote::Membership(Box::new(shown))))
}

fn holder(answered: Answered<Option<CertificationHolder>>, below: RemoteId) -> Answered<Option<Remote>> {
    answered.map(|shown| {
        shown.map(|mut shown| {
            shown.certification_id.get_or_insert(below.get().into());
            Remote::Holder(Box::new(shown))
        })
    })
}

fn new<I: Settable + Default>(fields: &Values, names: Names<'_>) -> Result<Box<I>, String> {
    let mut input = Box::<I>::default();
    for (field, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        input.set(field, value, names).map_err(|error| error.to_string())?;
    }
    Ok(input)
}

fn changed<R: Carry>(fresh: &R, wanted: &Values, moved: &[&str], names: Names<'_>) -> Result<Box<R::Sent>, String>
where
    R::Sent: Settable,
{
    let mut input = fresh.carried(|field| wanted.contains_key(field)).map_err(|error| error.to_string())?;
    // What no answer shows is sent as it is wanted, or not at all.
    let hidden = wanted.keys().map(SmolStr::as_str).filter(|field| input.undecided() == Some(*field));
    for field in hidden.chain(moved.iter().copied()).collect::<Vec<_>>() {
        let value = wanted.get(field).unwrap_or(&Value::Empty);
        input.set(field, value, names).map_err(|error| error.to_string())?;
    }
    match input.undecided() {
        Some(field) => Err(CarryError::Unshown { field }.to_string()),
        None => Ok(Box::new(input)),
    }
}

/// A field that held a value, that the change does not touch, and that came back empty.
pub(crate) fn lost(fresh: &Remote, shown: &Remote, wanted: &Values, elements: &Elements) -> Option<String> {
    let (before, after) = (fresh.entity(elements), shown.entity(elements));
    let emptied = before.fields.keys().find(|field| !wanted.contains_key(*field) && after.value(field).is_empty());
    emptied.map(SmolStr::to_string).or_else(|| {
        // Where no job maps custom fields, their titles are not known; their ids are.
        let empty = |value: Option<&serde_json::Value>| value.is_none_or(|value| value.is_null() || value == "");
        let untouched = wanted.keys().all(|field| !field.starts_with(Target::CUSTOM));
        let (held, left) = (custom(fresh)?, custom(shown)?);
        let mut held = held.iter().filter(|(_, value)| untouched && !empty(Some(value)));
        held.find(|(id, _)| empty(left.get(*id))).map(|(id, _)| format!("custom field {id}"))
    })
}

fn custom(shown: &Remote) -> Option<&Fields> {
    match shown {
        Remote::Staff(staff) => Some(&staff.customfields),
        Remote::Member(member) => Some(&member.customfields),
        Remote::Organization(organization) => Some(&organization.customfields),
        Remote::Membership(_) | Remote::Holder(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Element, Wire as _};

    fn staff(text: &str) -> Remote {
        Remote::Staff(Box::new(Staff::read(serde_json::from_str(text).unwrap()).unwrap()))
    }

    #[test]
    fn law_2_what_came_back_is_compared() {
        let element = Element::read(serde_json::from_str(r#"{"id":4,"title":"Locker"}"#).unwrap()).unwrap();
        let before = r#"{"id":1,"name":"Ana","title":"Chief","mobile":"64 21","customfields":{"4":"B7"}}"#;
        let wanted = |fields: &[&str]| fields.iter().map(|field| ((*field).into(), Value::Empty)).collect();
        for (after, mapped, titles, expected) in [
            (r#"{"id":1,"name":"Ana","mobile":"64 21","customfields":{"4":"B7"}}"#, &["title"][..], false, None),
            (r#"{"id":1,"name":"Ana","customfields":{"4":"B7"}}"#, &["title"], false, Some("mobile")),
            (r#"{"id":1,"name":"Ana","mobile":"64 21","customfields":[]}"#, &["title"], false, Some("custom field 4")),
            (r#"{"id":1,"name":"Ana","mobile":"64 21"}"#, &["title", "name"], true, Some("cf.Locker")),
            (r#"{"id":1,"name":"Ana","mobile":"64 21"}"#, &["title", "cf.Locker"], true, None),
        ] {
            let elements = Elements::new(titles.then(|| element.clone()).into_iter().collect());
            let found = lost(&staff(before), &staff(after), &wanted(mapped), &elements);
            assert_eq!(found.as_deref(), expected, "{after} {mapped:?}");
        }
    }
}
