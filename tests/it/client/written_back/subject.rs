//! One resource under test, and what is done to it.

use std::collections::BTreeMap;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use proptest::{prop_assert, prop_assert_eq};
use rosterd::api::{Api, Carry, CarryError, Client, ErrorKind, Gettable, Replaceable, RequestInput as _};
use rosterd::record::RemoteId;
use rosterd::sandbox::{Options, Sandbox};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::values::{Fields, entity};
use crate::support::caller::{client, id, key_options};

/// A service with a few of everything, and its client.
pub(super) struct World {
    pub(super) runtime: Runtime,
    pub(super) sandbox: Sandbox,
    pub(super) client: Client,
}

/// One resource with a replacing PUT.
pub(super) struct Subject<R: Carry> {
    /// What the sandbox calls it.
    pub(super) resource: &'static str,
    pub(super) api: Api<R>,
    pub(super) fields: Fields,
    /// Makes fields fit each other that were drawn apart.
    pub(super) fit: fn(&mut Value),
    /// The field that keeps this entity from being written back, since no answer shows what it holds.
    pub(super) refused_for: fn(&Value) -> Option<&'static str>,
    /// Says what that field holds.
    pub(super) decide: fn(&mut R::Sent, &Value),
    /// Changes one field,
    pub(super) change: fn(&mut R::Sent),
    /// after which it is stored so.
    pub(super) changed: Box<dyn Fn(&mut Value)>,
}

/// What is done to every subject.
pub(super) trait Tried {
    /// The fields that no answer shows, as `resource.field`.
    fn hidden(&self) -> Vec<String>;

    /// Entities come back as they were laid down.
    fn come_back_whole(&self, world: &World, cases: u32);

    /// One changed field changes that field.
    fn change_alone(&self, world: &World, cases: u32);
}

impl World {
    pub(super) fn new(options: Options) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = Options { seed_staff: 3, seed_contractors: 3, rate: 0, ..options };
        let sandbox = runtime.block_on(Sandbox::start(options)).unwrap();
        sandbox.put("location", json!({"id": 21, "name": "Pōneke Quay"}));
        let client = client(&key_options(&sandbox));
        Self { runtime, sandbox, client }
    }

    /// The entities of these resources, without what doesn't count.
    fn stored(&self, resources: &[&str]) -> Entities {
        let mut stored = Entities::new();
        for resource in resources {
            for mut entity in self.sandbox.all(resource) {
                UNCOUNTED.iter().for_each(|field| drop(entity.as_object_mut().unwrap().remove(*field)));
                // Visitors are sent without ids (specification, Pre-registered visit): they come back as new ones.
                let visitors = entity.get_mut("visitors").and_then(Value::as_array_mut);
                for visitor in visitors.into_iter().flatten() {
                    visitor.as_object_mut().unwrap().remove("id");
                }
                without_empty_text(&mut entity);
                stored.insert(format!("{resource} {}", entity["id"]), entity);
            }
        }
        stored
    }
}

/// Entities by resource and id.
type Entities = BTreeMap<String, Value>;

/// The time of the last change, and what follows from ids and times but can be sent all the same.
const UNCOUNTED: [&str; 5] = ["modified", "visiting_staff_name", "signed_in_by_name", "signed_out_by_name", "onsite"];

/// Everything that the sandbox stores.
const RESOURCES: [&str; 27] = [
    "staff",
    "staff.movement",
    "location",
    "sp.member",
    "sp.member.movement",
    "sp.org",
    "sp.org.group",
    "sp.role",
    "sp.membership",
    "sp.insurance",
    "sp.insurance.type",
    "certification",
    "certification.holder",
    "certification.holder.document",
    "induction",
    "induction.holder",
    "community",
    "community.member",
    "visitor.event",
    "visitor.register",
    "visitor.group",
    "zone",
    "asset",
    "asset.movement",
    "assetgroup",
    "custom-questionnaire.question",
    "notification",
];

impl<R> Subject<R>
where
    R: Gettable + Carry + Replaceable<Input = <R as Carry>::Sent>,
{
    fn modify(
        &self,
        world: &World,
        id: RemoteId,
        change: impl FnOnce(&mut <R as Carry>::Sent),
    ) -> Result<(), ErrorKind> {
        let sent = world.client.modify_in(&self.api, id, change);
        world.runtime.block_on(sent).map(drop).map_err(|error| error.kind)
    }

    /// Lays an entity down, writes it back after `change`, and removes it again.
    fn tried(
        &self,
        world: &World,
        mut entity: Value,
        change: impl FnOnce(&mut <R as Carry>::Sent),
        changed: &dyn Fn(&mut Value),
    ) -> Result<(), TestCaseError> {
        (self.fit)(&mut entity);
        let number = world.sandbox.put(self.resource, entity.clone());
        let outcome = self.written(world, number, &entity, change, changed);
        world.sandbox.remove(self.resource, number);
        outcome
    }

    /// Only what `changed` changes may differ after an entity was written back.
    fn written(
        &self,
        world: &World,
        number: i64,
        entity: &Value,
        change: impl FnOnce(&mut <R as Carry>::Sent),
        changed: &dyn Fn(&mut Value),
    ) -> Result<(), TestCaseError> {
        let mut expected = world.stored(&[self.resource]);
        if let Some(field) = (self.refused_for)(entity) {
            let before = world.client.requests();
            let refused = self.modify(world, id(number), |_| ());
            let is_right =
                matches!(refused, Err(ErrorKind::Carry(CarryError::Unshown { field: named })) if named == field);
            prop_assert!(is_right, "{:?}", refused);
            prop_assert_eq!(world.client.requests(), before + 1, "it is read, and nothing is sent");
            differences(&expected, &world.stored(&[self.resource]))?;
        }
        let decided = |input: &mut <R as Carry>::Sent| {
            (self.decide)(input, entity);
            change(input);
        };
        let before = world.client.requests();
        let written = self.modify(world, id(number), decided);
        prop_assert!(written.is_ok(), "{:?}", written);
        prop_assert_eq!(world.client.requests(), before + 2, "one GET, one PUT");
        changed(expected.get_mut(&format!("{} {number}", self.resource)).unwrap());
        differences(&expected, &world.stored(&[self.resource]))
    }

    /// Tries random entities; when all are gone again, everything else is as it was.
    fn try_all(&self, world: &World, cases: u32, check: impl Fn(Value) -> Result<(), TestCaseError>) {
        let before = world.stored(&RESOURCES);
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let outcome = TestRunner::new_with_rng(config, random).run(&entity(self.fields), check);
        outcome.unwrap_or_else(|failure| panic!("{}: {failure}", R::NAME));
        assert_eq!(world.stored(&RESOURCES), before, "{}", R::NAME);
    }
}

impl<R> Tried for Subject<R>
where
    R: Gettable + Carry + Replaceable<Input = <R as Carry>::Sent>,
{
    fn hidden(&self) -> Vec<String> {
        <R as Carry>::Sent::HIDDEN.iter().map(|field| format!("{}.{field}", R::NAME)).collect()
    }

    fn come_back_whole(&self, world: &World, cases: u32) {
        self.try_all(world, cases, |entity| self.tried(world, entity, |_| (), &|_| ()));
    }

    fn change_alone(&self, world: &World, cases: u32) {
        self.try_all(world, cases, |entity| self.tried(world, entity, self.change, &self.changed));
    }
}

/// Fails at the first value that differs, and names it.
fn differences(expected: &Entities, found: &Entities) -> Result<(), TestCaseError> {
    prop_assert!(expected.keys().eq(found.keys()), "entities came or went");
    for (entity, expected) in expected {
        let found = &found[entity];
        let names = |entity: &Value| entity.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        for field in names(expected).into_iter().chain(names(found)) {
            prop_assert_eq!(&found[&field], &expected[&field], "{} of {}", field, entity);
        }
    }
    Ok(())
}

/// Nothing is written as null, whether it was null or empty text: "the rest become empty or null" (specification,
/// Common behaviour).
fn without_empty_text(value: &mut Value) {
    match value {
        Value::String(text) if text.is_empty() => *value = Value::Null,
        Value::Array(items) => items.iter_mut().for_each(without_empty_text),
        Value::Object(fields) => fields.values_mut().for_each(without_empty_text),
        _ => {}
    }
}
