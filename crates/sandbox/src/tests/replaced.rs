//! A PUT that sends back what was read changes nothing: whatever is read under one name and sent under another is named
//! so in the tables.

use std::collections::BTreeSet;

use serde_json::{Map, json};

use super::*;
use crate::binding::{Action, binding};
use crate::chance::{bits, pick};
use crate::operation::operations;
use crate::resource::{Field, FieldKind, Resource, Sent, Visibility};
use crate::tables::resource;

/// Where each resource is replaced, without the id.
const REPLACED: &[(&str, &str)] = &[
    ("staff", "/staff"),
    ("sp.member", "/sp/member"),
    ("sp.org", "/sp/org"),
    ("sp.org.group", "/sp/org/group"),
    ("sp.membership", "/sp/membership"),
    ("sp.insurance", "/sp/insurance"),
    ("certification", "/certification"),
    ("certification.holder", "/certification/801/holder"),
    ("induction.holder", "/induction/901/holder"),
    ("community.member", "/community/951/member"),
    ("visitor.event", "/visitor/event"),
    ("visitor.register", "/visitor/register"),
    ("visitor.group", "/visitor/group"),
    ("zone", "/zone"),
    ("asset", "/asset"),
    ("assetgroup", "/assetgroup"),
];

/// What can be sent and not read: a client that sends back what it read clears it.
const UNREADABLE: &[(&str, &str)] = &[("staff", "globalroaming_locations"), ("community.member", "year")];

/// What the service works out whenever it is written to.
const WORKED_OUT: &[(&str, &str)] = &[("induction.holder", "status"), ("induction.holder", "attempts_left")];

/// How many entities of each resource are tried.
const TRIES: u64 = 40;

/// Values by chance, each entity's its own.
struct Maker<'a> {
    rig: &'a Rig,
    number: u64,
    drawn: std::cell::Cell<u64>,
}

impl Maker<'_> {
    fn draw(&self) -> u64 {
        self.drawn.set(self.drawn.get() + 1);
        bits(self.number, self.drawn.get())
    }

    fn one<T: Copy>(&self, items: &[T]) -> T {
        pick(items, self.number, self.draw())
    }

    fn an_id(&self, other: &str) -> Value {
        let all = self.rig.sandbox.all(other);
        let ids: Vec<i64> = all.iter().map(|entity| entity["id"].as_i64().unwrap()).collect();
        self.one(&ids).into()
    }

    fn text(&self) -> Value {
        let text = format!("{} {}", self.one(&["Zoë", "a,b:c", "\"x\"", " O'Dowd ", "%", "<&>"]), self.draw() % 1000);
        text.into()
    }

    /// A value that an entity may hold in a field, as it is stored.
    fn value(&self, kind: FieldKind) -> Value {
        let is_set = !self.draw().is_multiple_of(4);
        let list = |one: &dyn Fn() -> Value| (0..self.draw() % 3).map(|_| one()).collect::<Value>();
        match kind {
            FieldKind::Flag => json!(self.draw() % 2),
            FieldKind::Bool => json!(self.draw().is_multiple_of(2)),
            FieldKind::IdsOf(other) => list(&|| self.an_id(other)),
            FieldKind::Places(_) => {
                list(&|| json!({ "id": self.an_id("location"), "start": "2026-01-31", "expires": null }))
            }
            FieldKind::NestedNames if is_set => json!([[self.text(), "Warden"]]),
            FieldKind::NestedNames => json!([]),
            FieldKind::Tokens => list(&|| json!({ "type": "card", "number": self.draw() % 1000 })),
            FieldKind::List(_) => list(&|| json!({ "id": self.draw() % 1000 })),
            FieldKind::Custom(Some("customfield.element.staff")) => {
                json!({ "3": self.text(), "5": self.one(&["0", "1"]) })
            }
            FieldKind::Custom(Some(_)) => json!({ "31": self.text(), "33": null }),
            FieldKind::Custom(None) => json!({ "7": self.text() }),
            FieldKind::Parts(fields) => list(&|| self.part(fields)),
            _ if !is_set => Value::Null,
            FieldKind::Timestamp | FieldKind::LocalTime => {
                json!(format!("2026-01-{:02}T03:04:05+00:00", 1 + self.draw() % 28))
            }
            FieldKind::Date => json!(format!("2026-02-{:02}", 1 + self.draw() % 28)),
            FieldKind::Integer => json!(self.draw() % 1000),
            FieldKind::Decimal => json!(0.5),
            FieldKind::Email => json!(format!("Ana{}@Example.com", self.draw() % 1000)),
            FieldKind::Number => json!(format!("00{}", self.draw() % 1000)),
            FieldKind::Choice(words) => json!(self.one(words)),
            FieldKind::NameOf(_) => json!(self.one(&["Auckland Office", "Dunedin Workshop"])),
            FieldKind::IdOf(other) => self.an_id(other),
            FieldKind::AccessPoint => json!(self.one(&[110, 120])),
            _ => self.text(),
        }
    }

    fn part(&self, fields: &[Field]) -> Value {
        let member = |field: &Field| {
            let value = if field.name == "id" { json!(self.draw() % 100_000 + 1) } else { self.value(field.kind) };
            (field.name.to_owned(), value)
        };
        Value::Object(fields.iter().map(member).collect())
    }

    fn entity(&self, resource: &Resource) -> Value {
        let made = resource.fields.iter().filter(|field| {
            !matches!(field.kind, FieldKind::Id | FieldKind::Created | FieldKind::LocalCreated | FieldKind::Modified)
                && !WORKED_OUT.contains(&(resource.name, field.name))
        });
        let mut entity: Map<String, Value> =
            made.map(|field| (field.name.to_owned(), self.value(field.kind))).collect();
        entity.extend(self.bound(resource.name).as_object().unwrap().clone());
        entity.insert("modified".to_owned(), "2026-01-01T00:00:00Z".into());
        Value::Object(entity)
    }

    /// What can't be left to chance: which entity belongs to which, and what must be there.
    fn bound(&self, resource: &str) -> Value {
        let member = self.rig.sandbox.put("sp.member", json!({ "name": "Bo" }));
        match resource {
            "sp.member" => json!({ "name": self.text() }),
            "sp.membership" => json!({ "org_id": self.an_id("sp.org"), "member_id": member }),
            "certification" => json!({ "name": format!("Certification {}", self.number) }),
            "certification.holder" => {
                json!({ "certification_id": 801, "record_id": self.an_id("staff"), "record_type": "staff" })
            }
            "induction.holder" => json!({ "induction_id": 901, "staff_id": null, "sp_member_id": member }),
            "community.member" => json!({ "community_id": 951 }),
            _ => json!({}),
        }
    }
}

/// What was read, under the names and in the forms in which it is sent.
fn as_input(resource: &Resource, answer: &Value) -> Value {
    let mut body = Map::new();
    for field in resource.fields.iter().filter(|field| field.is_input() && field.sent != Sent::OnCreate) {
        let Some(value) = answer.get(field.name) else { continue };
        let list = || value.as_array().into_iter().flatten();
        let sent = match field.kind {
            FieldKind::NestedNames => list().flat_map(|names| names.as_array().unwrap()).cloned().collect(),
            FieldKind::IdsOf(_) => list().map(|item| item["id"].clone()).collect(),
            _ => value.clone(),
        };
        body.insert(field.inputs[0].to_owned(), sent);
    }
    Value::Object(body)
}

/// The names of fields that differ.
fn differing(one: &Value, other: &Value) -> BTreeSet<String> {
    let names = one.as_object().unwrap().keys().chain(other.as_object().unwrap().keys());
    names.filter(|name| one.get(name.as_str()) != other.get(name.as_str())).cloned().collect()
}

#[tokio::test]
async fn law_2_what_is_read_and_sent_back_stays_as_it_was() {
    let clock = fixed_clock("2026-06-01T12:00:00Z");
    let rig = rig(Options { clock, ..full() }).await;
    for (number, (name, path)) in (0..TRIES).flat_map(|number| REPLACED.iter().map(move |row| (number, row))) {
        let resource = resource(name).unwrap();
        let maker = Maker { rig: &rig, number, drawn: std::cell::Cell::default() };
        let id = rig.sandbox.put(name, maker.entity(resource));
        let path = format!("{path}/{id}");
        let stored = |rig: &Rig| rig.sandbox.all(name).into_iter().find(|entity| entity["id"] == id).unwrap();
        let (kept_before, (status, before)) = (stored(&rig), rig.get(&path).await);
        assert_eq!(status, 200, "{path}");
        let body = as_input(resource, &before);
        let (status, answer) = rig.send("PUT", &path, Some(body.clone())).await;
        assert!(status < 300, "{path}: {answer}\n{body}");
        let (kept_after, (_, after)) = (stored(&rig), rig.get(&path).await);
        let mut changed = differing(&before, &after);
        assert_eq!(changed.remove("modified"), after.get("modified").is_some(), "{path}");
        changed.retain(|field| !WORKED_OUT.contains(&(*name, field)));
        assert!(changed.is_empty(), "{path}: {changed:?}\n{before}\n{after}");
        let hidden =
            resource.fields.iter().filter(|field| matches!(field.shown, Visibility::Never | Visibility::Roaming));
        for field in hidden.filter(|field| kept_before[field.name] != kept_after[field.name]) {
            assert!(UNREADABLE.contains(&(*name, field.name)), "{path}: {}", field.name);
        }
    }
}

#[test]
fn every_resource_that_can_be_replaced_is_tried() {
    let bound = operations().iter().filter(|operation| !operation.is_token_request());
    let replaced = bound.map(|operation| binding(operation.name)).filter(|binding| binding.action == Action::Replace);
    let expected: BTreeSet<_> = replaced.map(|binding| binding.resource.name).collect();
    assert_eq!(REPLACED.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>(), expected);
    let unreadable = expected.iter().flat_map(|name| {
        let resource = resource(name).unwrap();
        let hidden =
            |field: &&Field| field.is_input() && matches!(field.shown, Visibility::Never | Visibility::Roaming);
        resource.fields.iter().filter(hidden).map(|field| (resource.name, field.name))
    });
    assert_eq!(unreadable.collect::<BTreeSet<_>>(), UNREADABLE.iter().copied().collect());
}
