//! Builds the inputs of requests from entities.

use super::assign::{Names, Settable};
use crate::api::{
    self, Answered, Api, Carry, CarryError, CertificationHolder, Client, Deleted, HolderInput, Member, MemberInput,
    Membership, MembershipInput, Organization, OrganizationInput, RequestInput as _, Staff, StaffInput,
};
use crate::mirror::{Elements, EntityRef, Mirror, Remote, holders};
use crate::queue::{Holding, Holdings};
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

    /// An entity as just read, with the fields of `moved` as they are wanted; `sent` is what was sent of it last. What can't be carried
    /// over is said in words.
    pub(crate) fn changed(
        fresh: &Remote,
        (wanted, sent): (&Values, &Values),
        moved: &[&str],
        at: EntityRef,
        mirror: &Mirror,
    ) -> Result<Self, String> {
        Ok(match fresh {
            Remote::Staff(staff) => Self::Staff(changed(&**staff, (wanted, sent), moved, mirror)?),
            Remote::Member(member) => Self::Member(changed(&**member, (wanted, sent), moved, mirror)?),
            Remote::Organization(organization) => {
                Self::Organization(changed(&**organization, (wanted, sent), moved, mirror)?)
            }
            Remote::Membership(membership) => {
                let inherits = membership.locations_same_as_org == Some(true) && !membership.locations.is_empty();
                if inherits && !wanted.contains_key("locations") {
                    return Err("its locations are those of its organization, and a PUT would end that; map \
                                membership.locations, or make the change at the service"
                        .to_owned());
                }
                Self::Membership(changed(&**membership, (wanted, sent), moved, mirror)?)
            }
            Remote::Holder(holder) => {
                let id = at.below.expect("a holder is read below its certification");
                Self::Holder(changed(&**holder, (wanted, sent), moved, mirror)?, id)
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
pub(crate) async fn delete(client: &Client, at: EntityRef) -> Option<Result<Deleted, api::Error>> {
    let id = at.id;
    let done = match at.target {
        Target::Staff => client.send(Api::<Staff>::root().delete(id)).await,
        Target::Contractor => client.send(Api::<Member>::root().delete(id)).await,
        Target::Organization => return None,
        Target::Membership => client.send(Api::<Membership>::root().delete(id)).await,
        Target::Holder => client.send(holders(at.below).delete(id)).await,
    };
    Some(done.map(|answered| answered.value))
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

fn changed<R: Carry>(
    fresh: &R,
    (wanted, sent): (&Values, &Values),
    moved: &[&str],
    mirror: &Mirror,
) -> Result<Box<R::Sent>, String>
where
    R::Sent: Settable,
{
    let names = Names::of(mirror);
    let is_hidden = |(shown, input): &&(&'static str, &str)| {
        fresh.unshown().contains(shown) && mirror.hides(shown) && !wanted.contains_key(*input)
    };
    if let Some((field, _)) = R::REBUILT.iter().find(is_hidden) {
        return Err(format!(
            "the service does not show {field} any more, and a PUT would clear it: let the credential see it again, or make \
             the change at the service"
        ));
    }
    let mut input = fresh.carried(|field| wanted.contains_key(field)).map_err(|error| error.to_string())?;
    for field in moved {
        let value = wanted.get(*field).unwrap_or(&Value::Empty);
        input.set(field, value, names).map_err(|error| error.to_string())?;
    }
    // What no answer shows is sent as it is wanted, or was sent last, or not at all. What was moved may be what makes it count.
    if let Some(field) = input.undecided()
        && let Some(value) = wanted.get(field).or_else(|| sent.get(field))
    {
        input.set(field, value, names).map_err(|error| error.to_string())?;
    }
    match input.undecided() {
        Some(field) => Err(CarryError::Unshown { field }.to_string()),
        None => Ok(Box::new(input)),
    }
}

/// What was held before a change, is not touched by it and is not there any more, in words; none where nothing is lost.
pub(crate) fn lost(held: &Holdings, now: &Remote, wanted: &Values, elements: &Elements) -> Option<String> {
    let titles = wanted.keys().filter_map(|field| field.strip_prefix(Target::CUSTOM));
    let meant: Vec<String> = titles.filter_map(|title| Some(elements.resolve(title).ok()?.0.to_string())).collect();
    let known = Remote::field_names(now.target());
    let is_meant = |part: &Holding| {
        // What can't be read may be there all the same.
        now.unreadable().contains(&part.field())
            || match part {
                Holding::Entry(field, id) if field == CUSTOM_FIELDS => meant.contains(id),
                // Its entries are compared.
                Holding::Field(field) if field == CUSTOM_FIELDS => true,
                // Nothing is known of what the specification does not name but that it should not be emptied.
                Holding::Entry(field, _) | Holding::Item(field, _) if !known.contains(&field.as_str()) => true,
                part => wanted.contains_key(part.field()) || set_by(part.field()).any(|name| wanted.contains_key(name)),
            }
    };
    let found = held.lost(&Holdings::of(&now.shown()), is_meant)?;
    Some(match found {
        Holding::Field(field) => field.clone(),
        Holding::Entry(field, id) if field == CUSTOM_FIELDS => {
            let title = elements.titles().find(|(_, element)| element.to_string() == *id);
            title.map_or_else(|| format!("custom field {id}"), |(title, _)| format!("{}{title}", Target::CUSTOM))
        }
        Holding::Entry(field, _) | Holding::Item(field, _) => format!("a part of {field}"),
    })
}

/// What custom fields are called in answers.
const CUSTOM_FIELDS: &str = "customfields";

/// The program's own names of fields by which a field is set that answers call otherwise, or that follows from it.
fn set_by(shown: &str) -> impl Iterator<Item = &'static str> {
    const NAMES: &[(&str, &str)] = &[
        ("role_types", "roletype"),
        ("globalroaming_locations", "globalroaming"),
        ("certification_id", "certification"),
        ("record_id", "holder"),
        ("locations_same_as_org", "locations"),
    ];
    NAMES.iter().filter(move |(field, _)| *field == shown).map(|(_, own)| *own)
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
            let held = Holdings::of(&staff(before).shown());
            let found = lost(&held, &staff(after), &wanted(mapped), &elements);
            assert_eq!(found.as_deref(), expected, "{after} {mapped:?}");
        }
        // A list that is set under another name, and an object of which the specification says nothing.
        let elements = Elements::new(Vec::new());
        for (before, after, mapped, expected) in [
            (r#"{"role_types":["Nurse"]}"#, r#"{"role_types":["Warden"]}"#, "roletype", None),
            (
                r#"{"role_types":["Nurse"]}"#,
                r#"{"role_types":["Warden"]}"#,
                "globalroaming",
                Some("a part of role_types"),
            ),
            (r#"{"extras":{"1":"a","2":"b"}}"#, r#"{"extras":{"1":"a"}}"#, "title", None),
            (r#"{"extras":{"1":"a"}}"#, "{}", "title", Some("extras")),
        ] {
            let named = |text: &str| staff(&text.replacen('{', r#"{"id":1,"name":"Ana","#, 1).replace(",}", "}"));
            let found = lost(&Holdings::of(&named(before).shown()), &named(after), &wanted(&[mapped]), &elements);
            assert_eq!(found.as_deref(), expected, "{before} {after} {mapped}");
        }
    }
}
