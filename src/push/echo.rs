//! What a PUT says of a person's presence, and what the person's own movements say.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::api::{MemberMovement, MemberMovementInput, StaffMovement, StaffMovementInput};
use crate::record::{RemoteId, Target};
use crate::store::{self, Batch, Space, Store};

/// What the service's clocks may be apart: the one that dates answers, and the one that dates movements.
const OVERLAP: SignedDuration = SignedDuration::from_secs(30);

/// The presence that a PUT echoes, and from when on the person may have moved without the PUT knowing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Echo {
    /// The service's time, surely before it made the copy that the PUT was built from.
    pub(super) since: Timestamp,
    /// What the PUT says, where that was known when this was written.
    #[serde(skip)]
    pub(super) onsite: Option<bool>,
}

impl Echo {
    /// Of a copy whose answer bears `date` and took so long to come, waiting for the rate limit included.
    pub(super) fn new(date: Timestamp, took: SignedDuration, onsite: bool) -> Self {
        let since = date.saturating_sub(took + OVERLAP).unwrap_or(Timestamp::MIN);
        Self { since, onsite: Some(onsite) }
    }

    /// Of a copy that is yet to be made, at a service whose clock showed `before` a while ago.
    pub(super) fn ahead(before: Timestamp) -> Self {
        Self { since: before, onsite: None }
    }

    pub(super) fn put(&self, batch: &mut Batch, target: Target, id: RemoteId) {
        batch.put(Space::Echo, &Space::by_target(target, id), self);
    }

    pub(super) fn remove(batch: &mut Batch, target: Target, id: RemoteId) {
        batch.remove(Space::Echo, &Space::by_target(target, id));
    }

    /// Those that nobody compared with the movements since.
    pub(super) fn list(store: &Store, target: Target) -> Result<Vec<(RemoteId, Self)>, store::Error> {
        let rows = store.list(Space::Echo, &Space::all_of(target))?;
        Ok(rows.into_iter().filter_map(|(id, echo)| Some((RemoteId::new(id.parse().ok()?)?, echo))).collect())
    }
}

/// A movement of an employee or of a member, as far as it says where somebody stands.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    id: RemoteId,
    pub(super) person: Option<RemoteId>,
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
pub(super) enum Again {
    Staff(StaffMovementInput),
    Member(Box<MemberMovementInput>),
}

/// Where a movement leaves the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stand {
    pub(super) movement: RemoteId,
    pub(super) onsite: bool,
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
    pub(super) fn of(movement: &Moved) -> Option<Self> {
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

    /// Whether it says where the person stands since then. An old sign-out that somebody edits now says nothing; an old
    /// sign-in does, for a person too many on an evacuation list is safer than one too few.
    pub(super) fn counts(&self, since: Timestamp) -> bool {
        self.modified.is_none_or(|modified| modified >= since) && (self.onsite || self.at >= since)
    }

    /// Of several movements the latest counts, and of those in one second the one that was begun last.
    pub(super) fn order(&self) -> (Timestamp, RemoteId) {
        (self.at, self.movement)
    }

    /// The same movement once more; `None` where it does not say at which location it was, or for which organization.
    pub(super) fn again(&self, target: Target, person: RemoteId) -> Option<Again> {
        let onsite_status = Some(if self.onsite { "onsite" } else { "offsite" }.to_owned());
        let location_id = Some(self.location?);
        Some(match target {
            Target::Contractor => Again::Member(Box::new(MemberMovementInput {
                onsite_status,
                location_id,
                sp_member_id: Some(person.get().into()),
                sp_org_id: Some(self.organization?),
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
        let own = stand(r#""signed_in":"2026-01-02T09:30:00+00:00","zone_id":7,"remote":1"#).unwrap();
        let Some(Again::Staff(input)) = own.again(Target::Staff, person) else { panic!("it says where it was") };
        let sent = serde_json::to_value(input).unwrap();
        assert_eq!((&sent["onsite_status"], &sent["location_id"]), (&"onsite".into(), &3.into()));
        assert_eq!((&sent["zone_id"], &sent["staff_id"], &sent["remote"]), (&7.into(), &9.into(), &true.into()));
        assert!(sent["changed_at"].is_null());
        assert!(
            stand(r#""signed_in":"2026-01-02T09:30:00+00:00","location_id":null"#)
                .unwrap()
                .again(Target::Staff, person)
                .is_none()
        );
        assert!(own.again(Target::Contractor, person).is_none(), "nobody knows for which organization");
        let text = r#"{"id":5,"location_id":3,"sp_member_id":9,"sp_org_id":4,"zone_id":7,
            "signed_in":"2026-01-02T09:30:00+00:00","signed_out":"2026-01-02T10:30:00+00:00"}"#;
        let movement = MemberMovement::read(serde_json::from_str(text).unwrap()).unwrap();
        let again = Stand::of(&movement.into()).unwrap().again(Target::Contractor, person);
        let Some(Again::Member(input)) = again else { panic!("it says where it was") };
        let sent = serde_json::to_value(input).unwrap();
        assert_eq!((&sent["onsite_status"], &sent["sp_org_id"]), (&"offsite".into(), &4.into()));
        assert_eq!((&sent["sp_member_id"], &sent["zone_id"]), (&9.into(), &7.into()));
    }

    #[test]
    fn law_10_the_copy_was_made_before_its_answer_is_dated() {
        let date: Timestamp = "2026-01-02T10:00:00Z".parse().unwrap();
        let echo = Echo::new(date, SignedDuration::from_secs(12), true);
        assert_eq!(echo.since, "2026-01-02T09:59:18Z".parse().unwrap());
    }
}
