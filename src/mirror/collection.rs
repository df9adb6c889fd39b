//! The collections that are pulled, and the record of the last pull.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::api::Location;
use crate::record::{FieldKind, RemoteId, RowDefect, Target};

/// What the jobs need of the service.
#[derive(Clone, Debug)]
pub struct PullSet {
    /// What is pulled.
    pub target: Target,
    /// The fields that are kept.
    pub fields: BTreeSet<String>,
    /// The certifications whose holders are wanted, by name or id.
    pub certifications: BTreeSet<String>,
    /// How often a whole listing must come.
    pub full_pull: SignedDuration,
    /// Whether the credential may be another account's: then a whole listing comes, and nothing of it is stored or believed
    /// unless it shows the people known.
    pub doubted: bool,
}

impl PullSet {
    /// Kept whatever the jobs map: who it is, and whether they are on site.
    fn always(target: Target) -> &'static [&'static str] {
        match target {
            Target::Staff | Target::Contractor => &["name", "onsite_status"],
            Target::Organization => &["name"],
            Target::Membership => &[Target::MEMBER, Target::ORGANIZATION, Target::COMPOSITE],
            Target::Holder => &["certification", "record_type", "holder", Target::COMPOSITE],
        }
    }

    /// What jobs that map and match by `fields` of a target need.
    pub fn new(target: Target, fields: impl IntoIterator<Item = String>, full_pull: SignedDuration) -> Self {
        let always = Self::always(target).iter().map(|field| (*field).to_owned());
        let fields = fields.into_iter().chain(always).collect();
        Self { target, fields, certifications: BTreeSet::new(), full_pull, doubted: false }
    }

    pub(super) fn elements(&self) -> bool {
        self.fields.iter().any(|field| field.starts_with(Target::CUSTOM))
    }

    pub(super) fn locations(&self) -> bool {
        let is_place = |kind: FieldKind| matches!(kind, FieldKind::Location | FieldKind::Places);
        let names_places = |field: &String| {
            field == Target::ROAMING || self.target.field(field).is_some_and(|field| is_place(field.kind))
        };
        self.fields.iter().any(names_places)
    }
}

/// What is remembered of the last finished pull.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PullState {
    /// From when on a delta must read.
    pub(super) watermark: Option<Timestamp>,
    /// The newest `modified` seen.
    pub(super) newest: Option<Timestamp>,
    /// When the last whole listing came, by this machine's clock.
    pub(super) full_at: Option<Timestamp>,
    /// The fields that are stored.
    pub(super) fields: BTreeSet<String>,
    /// The service's names of the fields that lists show; an entity that is read by itself may lack some of them.
    #[serde(default)]
    pub(super) listed: BTreeSet<String>,
    /// How many entities the last whole listing had.
    pub(super) count: u64,
    /// How many locations there were.
    pub(super) locations: u64,
    /// How many custom-field elements there were.
    pub(super) elements: u64,
    /// The certifications whose holders were listed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) certifications: BTreeSet<RemoteId>,
}

/// Which fields the service shows, by its names: what it showed of everyone once holds values where it is not shown any more.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ShownFields {
    /// Those that the last whole listing showed of every entity.
    pub(super) always: BTreeSet<String>,
    /// Those that a whole listing once showed of every entity, and that none shows of any since.
    pub(super) hidden: BTreeSet<String>,
}

impl ShownFields {
    /// Takes in what a listing showed of any entity; of a whole one, `lacked` are those that some entity lacked.
    pub(super) fn listed(&mut self, names: &[&str], is_shown: impl Fn(&str) -> bool, lacked: Option<&BTreeSet<&str>>) {
        self.hidden.retain(|name| !is_shown(name));
        if let Some(lacked) = lacked {
            let all = names.iter().filter(|name| !lacked.contains(*name)).map(|name| (*name).to_owned()).collect();
            let before = std::mem::replace(&mut self.always, all);
            self.hidden.extend(before.into_iter().filter(|name| !is_shown(name)));
        }
    }
}

impl PullState {
    /// What two clocks, a slow transaction and a granularity of a second may be apart.
    const OVERLAP: SignedDuration = SignedDuration::from_mins(2);

    /// From when on to read, or `None` for a whole listing.
    pub(super) fn since(&self, wanted: &PullSet, now: Timestamp) -> Option<Timestamp> {
        let full_at = self.full_at?;
        let age = now.duration_since(full_at);
        // A clock that was set back says nothing about the age.
        let fresh = !wanted.doubted && !age.is_negative() && age < wanted.full_pull;
        (fresh && wanted.fields.is_subset(&self.fields)).then_some(self.watermark).flatten()
    }

    /// Moves the watermark at the end of a pull (law 5).
    pub(super) fn moved(&mut self, date: Option<Timestamp>, newest: Option<Timestamp>) {
        self.newest = self.newest.max(newest);
        let oldest = match (date, self.newest) {
            (Some(date), Some(newest)) => Some(date.min(newest)),
            // Without a Date, or without entities, there is no time of the service to use.
            (None, _) | (_, None) => None,
        };
        self.watermark = oldest.and_then(|oldest| oldest.checked_sub(Self::OVERLAP).ok());
    }
}

/// The names of the locations and how often each occurs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Locations {
    names: Option<BTreeMap<String, u32>>,
    /// The ids of those whose name is there once.
    #[serde(default)]
    ids: BTreeMap<String, RemoteId>,
    /// The ids of all.
    #[serde(default)]
    all: BTreeSet<RemoteId>,
}

impl Locations {
    /// Orders locations by name.
    pub fn of(locations: &[Location]) -> Self {
        let mut names = BTreeMap::new();
        for name in locations.iter().filter_map(|location| location.name.clone()) {
            *names.entry(name).or_default() += 1;
        }
        let once = |location: &Location| Some((location.name.clone()?, location.id));
        let ids = locations.iter().filter_map(once).filter(|(name, _)| names.get(name) == Some(&1)).collect();
        let all = locations.iter().map(|location| location.id).collect();
        Self { names: Some(names), ids, all }
    }

    /// The id of a location whose name is there once.
    pub fn id(&self, name: &str) -> Option<RemoteId> {
        self.ids.get(name).copied()
    }

    /// What is wrong with `id` as that of a location; `None` where the service has it, or was not asked.
    pub fn id_fault(&self, id: i32) -> Option<RowDefect> {
        let is_known = self.names.is_none() || self.all.iter().any(|known| known.get() == id);
        (!is_known).then_some(RowDefect::NoLocationId { id })
    }

    /// What is wrong with `name` as a location; `None` where the service has exactly one of it, or was not asked.
    pub fn fault(&self, name: &str) -> Option<RowDefect> {
        match self.names.as_ref()?.get(name) {
            Some(1) => None,
            Some(_) => Some(RowDefect::SeveralLocations),
            None => Some(RowDefect::NoLocation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn law_5_the_watermark_is_the_older_of_two_times_of_the_service() {
        for (date, newest, expected) in [
            (Some("2026-01-01T12:00:00Z"), Some("2026-01-01T11:00:00Z"), Some("2026-01-01T10:58:00Z")),
            (Some("2026-01-01T12:00:00Z"), Some("2026-01-01T12:15:00Z"), Some("2026-01-01T11:58:00Z")),
            (Some("2026-01-01T12:00:00Z"), None, None),
            (None, Some("2026-01-01T12:00:00Z"), None),
        ] {
            let mut last = PullState::default();
            last.moved(date.map(at), newest.map(at));
            assert_eq!(last.watermark, expected.map(at), "{date:?} {newest:?}");
        }
    }

    #[test]
    fn a_whole_listing_comes_when_it_is_due_and_when_a_field_is_new() {
        let wanted = |fields: &[&str]| {
            PullSet::new(Target::Staff, fields.iter().map(|field| (*field).to_owned()), SignedDuration::from_hours(24))
        };
        let last = PullState {
            watermark: Some(at("2026-01-01T10:00:00Z")),
            full_at: Some(at("2026-01-01T10:00:00Z")),
            fields: wanted(&["email"]).fields,
            ..PullState::default()
        };
        for (fields, now, delta) in [
            (&["email"][..], "2026-01-02T09:59:00Z", true),
            (&["email"], "2026-01-02T10:00:00Z", false),
            (&["email"], "2026-01-01T09:00:00Z", false),
            (&["email", "title"], "2026-01-01T11:00:00Z", false),
        ] {
            assert_eq!(last.since(&wanted(fields), at(now)).is_some(), delta, "{fields:?} {now}");
        }
        assert_eq!(PullState::default().since(&wanted(&[]), at("2026-01-01T09:00:00Z")), None);
    }
}
