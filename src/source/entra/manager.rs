//! The managers of users, as a walk of their own shows them.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::page::{ListPage, id};

/// What a user's object calls the manager.
pub(super) const MANAGER: &str = "manager";

/// By user: the manager.
#[derive(Default)]
pub(super) struct Managers {
    /// By id of a user: the place of the manager; `None` for who has none.
    of: HashMap<u128, Option<usize>>,
    /// By id of a manager: the place.
    places: HashMap<u128, usize>,
    known: Vec<Value>,
}

impl Managers {
    /// Takes a page of users with their managers.
    pub(super) fn take(&mut self, page: &ListPage) {
        for user in &page.value {
            let manager = user.get(MANAGER).and_then(Value::as_object).filter(|manager| !id(manager).is_empty());
            let place = manager.map(|manager| self.place(manager));
            self.of.insert(digest(user), place);
        }
    }

    /// Puts the managers of the users of a page into their objects. Whose manager is not known gets none there.
    pub(super) fn join(&self, page: &mut ListPage) {
        for user in &mut page.value {
            user.remove(MANAGER);
            if let Some(place) = self.of.get(&digest(user)) {
                let manager = place.map_or(Value::Null, |place| self.known[place].clone());
                user.insert(MANAGER.to_owned(), manager);
            }
        }
    }

    fn place(&mut self, manager: &Map<String, Value>) -> usize {
        *self.places.entry(digest(manager)).or_insert_with(|| {
            let named = |name: &str| manager.get(name).cloned().unwrap_or_default();
            self.known.push(json!({
                "id": named("id"), "mail": named("mail"), "userPrincipalName": named("userPrincipalName"),
            }));
            self.known.len() - 1
        })
    }
}

fn digest(object: &Map<String, Value>) -> u128 {
    xxh3_128(id(object).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_2_who_has_no_manager_differs_from_whose_manager_is_not_known() {
        let page = |value: Value| ListPage::parse(json!({ "value": value }).to_string().as_bytes()).unwrap();
        let boss = json!({ "id": "9", "mail": "boss@example.com", "userPrincipalName": "b@example.com", "city": "x" });
        let mut managers = Managers::default();
        managers.take(&page(json!([{ "id": "1", "manager": boss }, { "id": "2" }, { "id": "3", "manager": null }])));
        let mut users = page(json!([{ "id": "1" }, { "id": "2" }, { "id": "3" }, { "id": "4", "manager": boss }]));
        managers.join(&mut users);
        let found: Vec<_> = users.value.iter().map(|user| user.get(MANAGER).map(|one| one["mail"].as_str())).collect();
        assert_eq!(found, [Some(Some("boss@example.com")), Some(None), Some(None), None]);
    }
}
