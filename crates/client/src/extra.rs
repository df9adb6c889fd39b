//! Operations of no common kind: photos, bulk upload, groups of an organization, links of zones, issue of assets.

use serde::Serialize;
use serde_json::json;

use crate::RemoteId;
use crate::answer::Done;
use crate::api::Api;
use crate::call::{Body, Call};
use crate::filter::Filter;
use crate::photo::{Photo, PhotoHead};
use crate::wire::{
    Asset, AssetMovement, GroupRef, Issue, MemberMovement, MemberMovementInput, Organization, Staff, StaffInput, Zone,
};

/// Which part of the account a bulk upload is the whole of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// All employees.
    Account,
    /// The employees of that group.
    Group(String),
}

impl Api<Staff> {
    /// Uploads employees as a whole. People who belong to `part` and are not in `people` may be removed, so a part must
    /// never be sent as the account; what became of it is known only after another listing, and `None` is an upload
    /// that is confirmed without being shown. Not in the specification (Employees, bulk): the path is configurable.
    pub fn bulk(&self, people: &[StaffInput], part: &Part) -> Call<Option<Vec<Staff>>> {
        let call = self.call(Staff::BULK).json(&people);
        match part {
            Part::Account => call,
            Part::Group(group) => call.with("group", group.clone()),
        }
    }

    /// Reads the photo; `None` where there is no photo, or no such employee.
    pub fn photo(&self, id: RemoteId) -> Call<Option<Photo>> {
        self.one(Staff::PHOTO_GET, id).utc()
    }

    /// Replaces the photo.
    pub fn replace_photo(&self, id: RemoteId, photo: &Photo) -> Call<Done> {
        let (media_type, bytes) = (photo.media_type().to_owned(), photo.bytes().to_vec());
        self.one(Staff::PHOTO_PUT, id).body(Body::Bytes { media_type, bytes })
    }

    /// Reads format and size of the photo; `None` where there is none.
    pub fn photo_head(&self, id: RemoteId) -> Call<Option<PhotoHead>> {
        self.one(Staff::PHOTO_HEAD, id).utc()
    }
}

impl Api<MemberMovement> {
    /// Signs a member in or out, and says who in the query too: the specification has it in either place.
    pub fn put_for(&self, member: RemoteId, input: &MemberMovementInput) -> Call<Option<MemberMovement>> {
        let input = MemberMovementInput { sp_member_id: Some(member.get().into()), ..input.clone() };
        self.put(&input).with("sp_member_id", member.to_string())
    }
}

/// What is done to the groups of an organization; `add` is the only function that the specification names.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum GroupFunction {
    /// The groups are added to those that it has.
    Add,
}

impl Api<Organization> {
    /// Lists the groups of an organization.
    pub fn groups(&self, id: RemoteId, filter: &Filter) -> Call<Vec<GroupRef>> {
        let call = self.one(Organization::GROUPS_GET, id);
        let call = if filter.is_empty() { call } else { call.with("q", filter.text()) };
        call.utc()
    }

    /// Changes the groups of an organization, and shows those that it has then; `None` where the service confirms it
    /// without showing them. The path is configurable.
    pub fn change_groups(
        &self,
        id: RemoteId,
        groups: &[GroupRef],
        function: GroupFunction,
    ) -> Call<Option<Vec<GroupRef>>> {
        let group = |group: &GroupRef| json!({"id": group.id, "name": group.name, "category_id": group.category_id});
        let groups: Vec<_> = groups.iter().map(group).collect();
        self.one(Organization::GROUPS_UPDATE, id).json(&json!({"groups": groups, "function": function}))
    }
}

impl Api<Zone> {
    /// Links a zone to an access point.
    pub fn link(&self, zone: RemoteId, access_point: RemoteId) -> Call<Done> {
        Call::new(Zone::LINK, vec![zone, access_point])
    }

    /// Ends the link of a zone to an access point.
    pub fn unlink(&self, zone: RemoteId, access_point: RemoteId) -> Call<Done> {
        Call::new(Zone::UNLINK, vec![zone, access_point])
    }
}

impl Api<Asset> {
    /// Issues an asset to a person. The path is configurable.
    pub fn issue(&self, id: RemoteId, issue: &Issue) -> Call<Option<AssetMovement>> {
        self.one(Asset::ISSUE, id).of(id).json(issue)
    }

    /// Takes an asset back.
    pub fn take_back(&self, id: RemoteId) -> Call<Option<AssetMovement>> {
        self.one(Asset::RETURN, id).of(id)
    }
}
