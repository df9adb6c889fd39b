//! One sandbox, one client, and the row that every call is held against.

use std::collections::BTreeSet;

use rosterd::api::{Answer, Call, Client, Wire};
use rosterd::sandbox::{Options, Sandbox};
use serde_json::Value;

use crate::support::caller::{client, key_options};

/// A sandbox with an entry in every list, its client, and the operations that were called so far.
pub(super) struct Bench {
    pub(super) sandbox: Sandbox,
    pub(super) client: Client,
    called: BTreeSet<&'static str>,
}

impl Bench {
    pub(super) async fn start() -> Self {
        let options = Options { seed_staff: 9, seed_contractors: 20, rate: 0, ..Options::default() };
        let sandbox = Sandbox::start(options).await.unwrap();
        let client = client(&key_options(&sandbox));
        Self { sandbox, client, called: BTreeSet::new() }
    }

    /// Sends the call of one row, which says what the sandbox must see: operation, method, target, status.
    pub(super) async fn row<T: Answer>(&mut self, row: &str, call: Call<T>) -> T {
        let before = self.sandbox.requests().len();
        let operation = call.operation();
        let answered = self.client.send(call).await.unwrap_or_else(|error| panic!("{row}: {:?}", error.kind));
        let requests = self.sandbox.requests();
        let [seen] = &requests[before..] else { panic!("{row}: {} requests", requests.len() - before) };
        let target = if seen.query.is_empty() { seen.path.clone() } else { format!("{}?{}", seen.path, seen.query) };
        assert_eq!(format!("{} {} {target} {}", seen.operation, seen.method, seen.status), row);
        assert_eq!((operation.name, answered.status), (seen.operation, seen.status), "{row}");
        self.note(operation.name);
        answered.value
    }

    /// Notes an operation as called.
    pub(super) fn note(&mut self, operation: &'static str) {
        self.called.insert(operation);
    }

    /// The operations called so far.
    pub(super) fn called(&self) -> &BTreeSet<&'static str> {
        &self.called
    }

    /// One entity as it is stored; null where there is none.
    pub(super) fn stored(&self, resource: &str, id: i64) -> Value {
        self.sandbox.all(resource).into_iter().find(|entity| entity["id"] == id).unwrap_or(Value::Null)
    }

    /// Fails unless the entity is stored with these values: what a write brought.
    pub(super) fn holds(&self, resource: &str, id: i64, expected: &Value) {
        let stored = self.stored(resource, id);
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&stored[name], value, "{resource} {id}: {name} in {stored}");
        }
    }

    /// Fails unless the answer was read as the entity is stored, in these fields.
    pub(super) fn shows<T: Wire>(&self, answer: &T, resource: &str, id: i64, fields: &[&str]) {
        assert_eq!(answer.unreadable(), <&[&str]>::default(), "{resource} {id}");
        let (read, stored) = (serde_json::to_value(answer).unwrap(), self.stored(resource, id));
        for name in fields {
            assert!(!stored[name].is_null(), "{resource} {id}: {name} would prove nothing in {stored}");
            assert_eq!(read[name], stored[name], "{resource} {id}: {name}");
        }
    }

    /// How many entities are stored.
    pub(super) fn count(&self, resource: &str) -> usize {
        self.sandbox.all(resource).len()
    }
}
