//! The groups that an organization is in.

use serde_json::{Map, Value, json};

use super::super::answer::{Answer, Rejection};
use super::super::list::{self, ListScope, Listing};
use super::super::row::EntityRow;
use super::super::sent;
use super::super::store::{Change, Entities};
use super::super::tables::{ORG, ORG_GROUP};
use super::Call;

impl Call<'_> {
    pub(super) fn list_groups(&self) -> Result<Answer, Rejection> {
        let entities = self.store.read();
        let org = self.row_at(0, &ORG, &entities)?;
        self.groups(&entities, org, self.parameter("q"))
    }

    /// Adds groups, the only function that is known (specification, Contractor organization group).
    pub(super) fn add_groups(&self) -> Result<Answer, Rejection> {
        let body = self.object()?;
        if body.keys().any(|name| !matches!(name.as_str(), "groups" | "function")) {
            return Err(Rejection::bad("the body has a field other than groups and function"));
        }
        if body.get("function").and_then(Value::as_str) != Some("add") {
            return Err(Rejection::bad("function takes add"));
        }
        let mut entities = self.store.write();
        let mut org = self.row_at(0, &ORG, &entities)?.clone();
        let mut ids = group_ids(&org);
        for id in added(&body, &entities).ok_or_else(|| Rejection::bad("groups takes objects with ids that exist"))? {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        org.set(ORG.at("groups"), ids.into());
        org.modified = self.order.now;
        self.save(&mut entities, vec![Change::Put(&ORG, org.clone())])?;
        self.groups(&entities, &org, None)
    }

    fn groups(&self, entities: &Entities, org: &EntityRow, filter: Option<&str>) -> Result<Answer, Rejection> {
        let view = self.view(&ORG_GROUP, entities);
        let ids = group_ids(org);
        let listing = Listing { filter, page_max: u32::MAX, scope: ListScope::Ids(&ids), ..Listing::default() };
        let group = |row: &EntityRow| {
            let value = |name| row.value(ORG_GROUP.at(name));
            json!({ "id": row.id, "name": value("name"), "category_id": value("category_id") })
        };
        let groups: Value = list::select(&view, &listing)?.into_iter().map(group).collect();
        let document = json!({ "group": groups }).to_string();
        Ok(self.answer(|status| Answer::document(status, document.into_bytes())))
    }
}

fn group_ids(org: &EntityRow) -> Vec<i64> {
    org.value(ORG.at("groups")).as_array().into_iter().flatten().filter_map(Value::as_i64).collect()
}

/// The ids of groups that exist; their names are taken and ignored.
fn added(body: &Map<String, Value>, entities: &Entities) -> Option<Vec<i64>> {
    let known = entities.rows(ORG_GROUP.name);
    let groups = body.get("groups")?.as_array()?;
    groups.iter().map(|group| sent::id(group.get("id")?).filter(|id| known.contains_key(id))).collect()
}
