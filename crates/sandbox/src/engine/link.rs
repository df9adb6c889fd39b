//! Links between zones and the access points of locations.

use serde_json::Value;

use super::super::answer::{Answer, Rejection};
use super::super::store::Change;
use super::super::tables::ZONE;
use super::Call;

impl Call<'_> {
    /// Links the zone to the access point, or removes the link; to do so again changes nothing.
    pub(super) fn link(&self, is_linked: bool) -> Result<Answer, Rejection> {
        let mut entities = self.store.write();
        let mut zone = self.row_at(0, &ZONE, &entities)?.clone();
        let no_point = || Rejection::missing("there is no access point of that id");
        let point: i64 = self.order.path.get(1).and_then(|id| id.parse().ok()).ok_or_else(no_point)?;
        entities.access_point(point).ok_or_else(no_point)?;
        let position = ZONE.at("lacps");
        let mut links = zone.value(position).as_array().cloned().unwrap_or_default();
        links.retain(|link| link.as_i64() != Some(point));
        if is_linked {
            links.push(point.into());
        }
        zone.set(position, Value::Array(links));
        zone.modified = self.order.now;
        self.save(&mut entities, vec![Change::Put(&ZONE, zone)])?;
        Ok(self.answer(Answer::bare))
    }
}
