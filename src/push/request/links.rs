//! Entities that link two others: their record names the two by key, the service by id.

use crate::api;
use crate::mirror::{EntityRef, Remote, pair};
use crate::plan::HoldReason;
use crate::push::Push;
use crate::push::photo::without_photo;
use crate::queue::Change;
use crate::record::{Entity, Key, RemoteId, Target, Value, Values};
use crate::snapshot::{Links, SyncedRecord};
use crate::store;

impl Push<'_> {
    /// The fields of a change with ids for links; or what it waits for.
    pub(crate) fn linked(&self, change: &Change) -> Result<Result<Values, HoldReason>, store::Error> {
        let mut fields = without_photo(change.wish.fields.clone());
        if self.target != Target::Membership {
            return Ok(Ok(fields));
        }
        let Some(links) = Links::of(self.store, &change.job, &fields)? else {
            return Ok(Err("its member or organization is not named".into()));
        };
        let Links { member, member_id, organization, organization_id } = links;
        Ok(Err(match (member_id, organization_id) {
            (Some(member), Some(organization)) => {
                fields.insert(Target::MEMBER.into(), Value::text(member.to_string()));
                fields.insert(Target::ORGANIZATION.into(), Value::text(organization.to_string()));
                return Ok(Ok(fields));
            }
            (None, _) => HoldReason::AwaitsMember { key: member.to_string() },
            (Some(_), None) => HoldReason::AwaitsOrganization { key: organization.to_string() },
        }))
    }

    /// The fields of a change with what its entity is found by.
    pub(crate) fn findable(&self, change: &Change) -> Result<Values, store::Error> {
        let mut fields = change.wish.fields.clone();
        let text = |field: &str| fields.get(field).map(Value::shown).unwrap_or_default();
        let found = match self.target {
            Target::Membership => match self.linked(change)? {
                Ok(linked) => {
                    let id = |field: &str| linked.get(field).map(Value::shown).unwrap_or_default();
                    pair(&[id(Target::MEMBER), id(Target::ORGANIZATION)])
                }
                Err(_) => Value::Empty,
            },
            Target::Holder => pair(&Target::HOLDER_LINKS.map(text)),
            Target::Staff | Target::Contractor | Target::Organization => return Ok(fields),
        };
        fields.insert(Target::COMPOSITE.into(), found);
        Ok(fields)
    }

    /// The member of a membership, as just read.
    pub(crate) async fn member(&self, fresh: &Remote) -> Result<Option<Remote>, api::Error> {
        let Remote::Membership(membership) = fresh else { return Ok(None) };
        let Some(id) = membership.member_id.and_then(RemoteId::new) else { return Ok(None) };
        let at = EntityRef { target: Target::Contractor, id, below: None };
        Ok(Remote::get(self.client, at).await?.value)
    }

    /// Whether the member of a membership is protected from removal.
    pub(crate) fn covers_member(
        &self,
        change: &Change,
        known: Option<&SyncedRecord>,
        member: &Entity,
    ) -> Result<bool, store::Error> {
        let key = known.and_then(|known| known.sent.get(Target::MEMBER)?.as_text()).and_then(Key::new);
        let Some(key) = key else { return Ok(false) };
        let known = SyncedRecord::get(self.store, &change.job.root(), &key)?;
        Ok(self.protection.covers(Target::Contractor, &key, known.as_ref(), member))
    }
}
