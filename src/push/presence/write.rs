//! The presence that a PUT writes, and the movements that people made meanwhile.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::api::{Member, MemberMovement, MemberMovementInput, StaffMovement, StaffMovementInput};
use crate::mirror::Remote;
use crate::record::{RemoteId, Target};
use crate::store::{self, Batch, Keyspace, Store, Table};

/// The echoes that have not been compared with later movements.
pub(crate) const ECHOES: Table<RemoteId, Echo> = Table::new(Keyspace::Echo);

/// What the service's clocks may be apart: the one that dates answers, and the one that dates movements.
const OVERLAP: SignedDuration = SignedDuration::from_secs(30);

/// The presence that a PUT echoes, and from when on the person may have moved without the PUT knowing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Echo {
    /// The service's time, surely before it made the copy that the PUT was built from.
    pub(crate) since: Timestamp,
    /// What the PUT says, where that was known when this was written.
    #[serde(skip)]
    pub(crate) onsite: Option<bool>,
    /// That the PUT undid a movement which can't be repeated: a person has to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) astray: Option<Astray>,
}

/// A person whose presence is wrong and can't be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Astray {
    /// How they signed.
    pub(crate) onsite: bool,
    lacks: Lacks,
}

/// What a movement must name to be made once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Lacks {
    Location,
    Organization,
}

impl fmt::Display for Astray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (signed, sign, stands) = if self.onsite { ("in", "in", "off") } else { ("out", "out", "on") };
        let lacks = match self.lacks {
            Lacks::Location => "location",
            Lacks::Organization => "organization",
        };
        write!(
            f,
            "signed {signed} while they were updated and is shown as {stands} site; the movement names no {lacks}, so it can't \
             be repeated: sign them {sign} at the service"
        )
    }
}

/// The people of a target whose presence is wrong and can't be restored, and why. Each is forgotten by the first look
/// that finds the service and their latest movement agree.
pub fn astray(store: &Store, target: Target) -> Result<Vec<(RemoteId, String)>, store::Error> {
    let echoes: Vec<_> = ECHOES.list(store, &target)?;
    Ok(echoes.into_iter().filter_map(|(id, echo)| Some((id, echo.astray?.to_string()))).collect())
}

impl Echo {
    /// Of a copy whose answer bears `date` and took so long to come, waiting for the rate limit included.
    pub(crate) fn new(date: Timestamp, took: SignedDuration, onsite: bool) -> Self {
        let since = date.saturating_sub(took + OVERLAP).unwrap_or(Timestamp::MIN);
        Self { since, onsite: Some(onsite), astray: None }
    }

    /// Of a copy that is yet to be made, at a service whose clock showed `before` a while ago.
    pub(crate) fn ahead(before: Timestamp) -> Self {
        Self { since: before, onsite: None, astray: None }
    }

    pub(crate) fn put(&self, batch: &mut Batch, target: Target, id: RemoteId) {
        ECHOES.put(batch, &target, &id, self);
    }
}

/// A movement of an employee or of a member, as far as it says where the person is.
#[derive(Clone, Debug)]
pub(crate) struct Moved {
    id: RemoteId,
    pub(crate) person: Option<RemoteId>,
    /// The organization that a member signed in for.
    organization: Option<i64>,
    location: Option<i64>,
    zone: Option<i64>,
    remote: Option<bool>,
    signed_in: Option<String>,
    signed_out: Option<String>,
    modified: Option<String>,
    accessdenied: Option<bool>,
}

impl From<StaffMovement> for Moved {
    fn from(movement: StaffMovement) -> Self {
        Self {
            id: movement.id,
            person: movement.staff_id.and_then(RemoteId::new),
            organization: None,
            location: movement.location_id,
            zone: movement.zone_id,
            remote: movement.remote,
            signed_in: movement.signed_in,
            signed_out: movement.signed_out,
            modified: movement.modified,
            accessdenied: movement.accessdenied,
        }
    }
}

impl From<MemberMovement> for Moved {
    fn from(movement: MemberMovement) -> Self {
        Self {
            id: movement.id,
            person: movement.sp_member_id.and_then(RemoteId::new),
            organization: movement.sp_org_id,
            location: movement.location_id,
            zone: movement.zone_id,
            remote: None,
            signed_in: movement.signed_in,
            signed_out: movement.signed_out,
            modified: movement.modified,
            accessdenied: movement.accessdenied,
        }
    }
}

/// A movement that is made once more.
pub(crate) enum Again {
    Staff(StaffMovementInput),
    Member(Box<MemberMovementInput>),
}

/// Where a movement leaves the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    pub(crate) movement: RemoteId,
    pub(crate) onsite: bool,
    /// When they signed in or out.
    at: Timestamp,
    modified: Option<Timestamp>,
    organization: Option<i64>,
    location: Option<i64>,
    zone: Option<i64>,
    remote: Option<bool>,
}

impl Stand {
    /// Nothing for a movement that is expected, or was refused at the door.
    pub(crate) fn of(movement: &Moved) -> Option<Self> {
        let time = |text: &Option<String>| text.as_deref().filter(|text| !text.is_empty()).map(str::parse::<Timestamp>);
        let (at, onsite) = match (time(&movement.signed_in), time(&movement.signed_out)) {
            (_, Some(out)) => (out, false),
            (Some(inside), None) => (inside, true),
            (None, None) => return None,
        };
        let modified = time(&movement.modified).and_then(Result::ok);
        (movement.accessdenied != Some(true)).then(|| Self {
            movement: movement.id,
            onsite,
            // A time in no form that is known counts as the latest: it is not overlooked.
            at: at.ok().or(modified).unwrap_or(Timestamp::MAX),
            modified,
            organization: movement.organization,
            location: movement.location,
            zone: movement.zone,
            remote: movement.remote,
        })
    }

    /// Whether it says where the person is since then. An old sign-out that is edited now says nothing; an old sign-in
    /// does, because a person too many on an evacuation list is safer than one too few.
    pub(crate) fn counts(&self, since: Timestamp) -> bool {
        self.modified.is_none_or(|modified| modified >= since) && (self.onsite || self.at >= since)
    }

    /// Of several movements the latest counts, and of those in one second the one that was begun last.
    pub(crate) fn order(&self) -> (Timestamp, RemoteId) {
        (self.at, self.movement)
    }

    /// The same movement once more; what it does not name is taken from what is known of the person.
    pub(crate) fn again(&self, target: Target, person: RemoteId, place: &KnownPlace) -> Result<Again, Astray> {
        let lacks = |lacks| Astray { onsite: self.onsite, lacks };
        let onsite_status = Some(if self.onsite { "onsite" } else { "offsite" }.to_owned());
        let location_id = Some(self.location.or(place.location).ok_or(lacks(Lacks::Location))?);
        Ok(match target {
            Target::Contractor => Again::Member(Box::new(MemberMovementInput {
                onsite_status,
                location_id,
                sp_member_id: Some(person.get().into()),
                sp_org_id: Some(self.organization.or(place.organization).ok_or(lacks(Lacks::Organization))?),
                zone_id: self.zone,
                ..MemberMovementInput::default()
            })),
            _ => Again::Staff(StaffMovementInput {
                onsite_status,
                location_id,
                staff_id: Some(person.get().into()),
                zone_id: self.zone,
                remote: self.remote,
                ..StaffMovementInput::default()
            }),
        })
    }
}

/// Where a person is for certain, or the only place that they belong to, as the service shows them.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownPlace {
    pub(crate) location: Option<i64>,
    /// The location by its name, where only that is shown.
    pub(crate) name: Option<String>,
    pub(crate) organization: Option<i64>,
}

impl KnownPlace {
    pub(crate) fn of(person: &Remote) -> Self {
        match person {
            Remote::Staff(staff) => Self { name: staff.cur_location.clone(), ..Self::default() },
            Remote::Member(member) => Self::of_member(member),
            _ => Self::default(),
        }
    }

    /// The only membership says more than where the member signed in last.
    fn of_member(member: &Member) -> Self {
        let id = |named: &serde_json::Value| named.get("id")?.as_i64();
        let only = match &member.sp_orgs[..] {
            [only] => Some(only),
            _ => None,
        };
        let only_location = only.and_then(|only| match &only.get("locations")?.as_array()?[..] {
            [location] => id(location),
            _ => None,
        });
        Self {
            location: member.cur_location_id.or(only_location),
            name: member.cur_location.clone(),
            organization: only.and_then(id).or(member.cur_sp_org_id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Wire as _;

    fn stand(text: &str) -> Option<Stand> {
        let text = format!(r#"{{"id":5,"location_id":3,"staff_id":9,"modified":"2026-01-02T10:00:00+00:00",{text}}}"#);
        Stand::of(&StaffMovement::read(serde_json::from_str(&text).unwrap()).unwrap().into())
    }

    #[test]
    fn law_10_a_movement_says_where_its_person_stands() {
        let early: Timestamp = "2026-01-02T09:00:00Z".parse().unwrap();
        let late: Timestamp = "2026-01-02T09:59:59Z".parse().unwrap();
        let later: Timestamp = "2026-01-02T10:00:01Z".parse().unwrap();
        // (movement, since, what it says)
        for (text, since, expected) in [
            (r#""signed_in":"2026-01-02T09:30:00+00:00","signed_out":null"#, early, Some(true)),
            (r#""signed_in":"2026-01-02T09:30:00+00:00","signed_out":null"#, late, Some(true)),
            (r#""signed_in":"2026-01-02T09:30:00+00:00","signed_out":null"#, later, None),
            (r#""signed_in":"2026-01-02T09:30:00+00:00","signed_out":"""#, early, Some(true)),
            (r#""signed_in":"2026-01-02T08:30:00+00:00","signed_out":"2026-01-02T09:30:00+00:00""#, early, Some(false)),
            (r#""signed_in":"2026-01-02T08:30:00+00:00","signed_out":"2026-01-02T09:30:00+00:00""#, late, None),
            (r#""signed_in":null,"signed_out":"2026-01-02T22:30:00+13:00""#, early, Some(false)),
            (r#""signed_in":"half past nine","signed_out":null"#, late, Some(true)),
            (r#""signed_in":null,"signed_out":null,"expected":true"#, early, None),
            (r#""signed_in":"2026-01-02T09:30:00+00:00","signed_out":null,"accessdenied":true"#, early, None),
        ] {
            let said = stand(text).filter(|stand| stand.counts(since)).map(|stand| stand.onsite);
            assert_eq!(said, expected, "{text} since {since}");
        }
    }

    #[test]
    fn law_10_a_movement_is_repeated_with_its_own_location_and_zone() {
        let person = RemoteId::new(9).unwrap();
        let nowhere = KnownPlace::default();
        let own = stand(r#""signed_in":"2026-01-02T09:30:00+00:00","zone_id":7,"remote":1"#).unwrap();
        let elsewhere = KnownPlace { location: Some(8), ..KnownPlace::default() };
        let Ok(Again::Staff(input)) = own.again(Target::Staff, person, &elsewhere) else {
            panic!("it says where it was")
        };
        let sent = serde_json::to_value(input).unwrap();
        assert_eq!((&sent["onsite_status"], &sent["location_id"]), (&"onsite".into(), &3.into()));
        assert_eq!((&sent["zone_id"], &sent["staff_id"], &sent["remote"]), (&7.into(), &9.into(), &true.into()));
        assert!(sent["changed_at"].is_null());
        assert!(own.again(Target::Contractor, person, &nowhere).is_err(), "the organization is unknown");
        let text = r#"{"id":5,"location_id":3,"sp_member_id":9,"sp_org_id":4,"zone_id":7,
            "signed_in":"2026-01-02T09:30:00+00:00","signed_out":"2026-01-02T10:30:00+00:00"}"#;
        let movement = MemberMovement::read(serde_json::from_str(text).unwrap()).unwrap();
        let again = Stand::of(&movement.into()).unwrap().again(Target::Contractor, person, &nowhere);
        let Ok(Again::Member(input)) = again else { panic!("it says where it was") };
        let sent = serde_json::to_value(input).unwrap();
        assert_eq!((&sent["onsite_status"], &sent["sp_org_id"]), (&"offsite".into(), &4.into()));
        assert_eq!((&sent["sp_member_id"], &sent["zone_id"]), (&9.into(), &7.into()));
    }

    #[test]
    fn law_10_what_a_movement_does_not_name_is_taken_from_the_only_place_that_it_can_be() {
        let one = r#"[{"id":4,"locations":[{"id":3}]}]"#;
        let two = r#"[{"id":4,"locations":[{"id":3}]},{"id":5,"locations":[]}]"#;
        let wide = r#"[{"id":4,"locations":[{"id":3},{"id":6}]}]"#;
        // (memberships, where the member is at present, the member's organization, what is sent)
        for (memberships, location, organization, expected) in [
            (one, "null", "null", Ok((3, 4))),
            (one, "8", "null", Ok((8, 4))),
            (two, "8", "5", Ok((8, 5))),
            (two, "8", "null", Err("organization")),
            (wide, "null", "null", Err("location")),
            (wide, "6", "null", Ok((6, 4))),
            ("[]", "null", "null", Err("location")),
        ] {
            let text = format!(
                r#"{{"id":9,"cur_location_id":{location},"cur_sp_org_id":{organization},"sp_orgs":{memberships}}}"#
            );
            let member = Member::read(serde_json::from_str(&text).unwrap()).unwrap();
            let moved = r#"{"id":5,"sp_member_id":9,"signed_in":"2026-01-02T09:30:00+00:00"}"#;
            let movement = MemberMovement::read(serde_json::from_str(moved).unwrap()).unwrap();
            let stand = Stand::of(&movement.into()).unwrap();
            let place = KnownPlace::of(&Remote::Member(Box::new(member)));
            let again = stand.again(Target::Contractor, RemoteId::new(9).unwrap(), &place);
            match (again, expected) {
                (Ok(Again::Member(input)), Ok((location, organization))) => {
                    assert_eq!((input.location_id, input.sp_org_id), (Some(location), Some(organization)), "{text}");
                }
                (Err(astray), Err(lacks)) => assert!(astray.to_string().contains(lacks), "{text}: {astray}"),
                (again, expected) => panic!("{text}: {}, and {expected:?} was expected", again.is_ok()),
            }
        }
    }

    #[test]
    fn law_10_the_copy_was_made_before_its_answer_is_dated() {
        let date: Timestamp = "2026-01-02T10:00:00Z".parse().unwrap();
        let echo = Echo::new(date, SignedDuration::from_secs(12), true);
        assert_eq!(echo.since, "2026-01-02T09:59:18Z".parse().unwrap());
    }
}
