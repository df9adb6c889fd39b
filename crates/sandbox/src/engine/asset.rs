//! Assets that are issued and come back.

use jiff::tz::TimeZone;
use serde_json::Value;

use super::super::answer::{Answer, Rejection};
use super::super::row::EntityRow;
use super::super::store::{Change, Entities};
use super::super::tables::{ASSET, ASSET_MOVEMENT};
use super::super::zone;
use super::Call;

/// Who issues an asset and takes it back by these operations.
const ISSUER: &str = "API";

/// Who receives an asset: the word, and the field that holds the id.
const ASSIGNED: &[(&str, &str)] =
    &[("staff", "assigned_staff_id"), ("spm", "assigned_spm_id"), ("visitor", "assigned_visitor_id")];

impl Call<'_> {
    pub(super) fn issue(&self) -> Result<Answer, Rejection> {
        let body = self.object()?;
        let mut entities = self.store.write();
        let asset = self.asset(&entities, "in")?;
        let (input, mut movement) = self.fresh(&entities, &body)?;
        input.check_required(&movement)?;
        let assigned_type = movement.text(ASSET_MOVEMENT.at("assigned_type"));
        for (word, field) in ASSIGNED {
            if (assigned_type == Some(*word)) == movement.value(ASSET_MOVEMENT.at(field)).is_null() {
                return Err(Rejection::bad("an asset is issued to one person, who is of assigned_type"));
            }
        }
        movement.set(ASSET_MOVEMENT.at("asset_id"), asset.id.into());
        movement.set(ASSET_MOVEMENT.at("signed_out"), self.now());
        movement.set(ASSET_MOVEMENT.at("issued_out"), ISSUER.into());
        self.book(&mut entities, asset, "out", &movement)
    }

    pub(super) fn take_back(&self) -> Result<Answer, Rejection> {
        let mut entities = self.store.write();
        let asset = self.asset(&entities, "out")?;
        let (by, signed_in) = (ASSET_MOVEMENT.at("asset_id"), ASSET_MOVEMENT.at("signed_in"));
        let is_open = |row: &&EntityRow| row.integer(by) == Some(asset.id) && row.value(signed_in).is_null();
        let open = entities.rows(ASSET_MOVEMENT.name).values().rev().find(is_open).cloned();
        let mut movement = open.ok_or_else(|| Rejection::bad("the asset is not issued"))?;
        movement.set(signed_in, self.now());
        movement.set(ASSET_MOVEMENT.at("issued_in"), ISSUER.into());
        movement.modified = self.order.now;
        self.book(&mut entities, asset, "in", &movement)
    }

    /// The asset in the path, where it has this status.
    fn asset(&self, entities: &Entities, status: &str) -> Result<EntityRow, Rejection> {
        let asset = self.row_at(0, &ASSET, entities)?.clone();
        let is_so = asset.text(ASSET.at("status")) == Some(status);
        is_so.then_some(asset).ok_or_else(|| Rejection::bad(format!("the asset is not {status}")))
    }

    fn book(
        &self,
        entities: &mut Entities,
        mut asset: EntityRow,
        status: &str,
        movement: &EntityRow,
    ) -> Result<Answer, Rejection> {
        asset.set(ASSET.at("status"), status.into());
        asset.modified = self.order.now;
        self.save(entities, vec![Change::Put(&ASSET, asset), Change::Put(&ASSET_MOVEMENT, movement.clone())])?;
        Ok(self.one(entities, movement))
    }

    fn now(&self) -> Value {
        zone::written(self.order.now, &TimeZone::UTC).into()
    }
}
