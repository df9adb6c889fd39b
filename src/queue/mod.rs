//! Changes on their way to the service, durable until their outcome is known.
//!
//! Invariants:
//! - One change a job and key. It holds what is wanted under our own key, never a rendered request: requests are built
//!   when they are sent, on what is true then.
//! - Before a request that changes something leaves, its change is on disk as [`State::Sent`]; after it, one commit
//!   takes the change out and moves what is known (law 3, law 5). So whatever is marked as sent when a process begins
//!   has an unknown fate, and is looked up before it is tried again.
//! - A waiting change may be replaced or dropped by the next plan; a sent one only after it was looked up; a create whose
//!   outcome stays unknown never. A parked one stays, unsent, until the plan wants something else for its key.
//! - Leavers go first, then joiners, then movers (law 12). Of each kind those that failed in earlier runs go last, so that they
//!   keep no one else from being sent (law 8).
//!
//! Rejected: a log of requests to replay. Replaying yesterday's PUT would undo what others did since.

mod change;
mod holdings;
mod undo;

pub use change::{Brief, Change, State, Ticket};
pub use holdings::{Holding, Holdings};
pub use undo::Undo;

use crate::plan::Decided;
use crate::record::{JobName, Key};
use crate::store::{self, Batch, Keyspace, Store, Table};

/// The changes of a job, by key.
pub const QUEUE: Table<Key, Change> = Table::new(Keyspace::Queue);
/// The same without the values that they want.
const BRIEFS: Table<Key, Brief> = QUEUE.of();
/// What was decided about held changes, by job and key.
pub const DECISIONS: Table<Key, Decided> = Table::new(Keyspace::Decision);

/// So the row of a change that waits ends; one that ended otherwise would be read before it is passed over.
const WAITING: &[u8] = br#","state":{"is":"waiting"}}"#;

/// All changes of a job, in order of key.
pub fn list(store: &Store, job: &JobName) -> Result<Vec<Change>, store::Error> {
    let mut changes = Vec::new();
    each(store, job, |change| changes.push(change))?;
    Ok(changes)
}

/// Whether a job has no change.
pub fn is_empty(store: &Store, job: &JobName) -> Result<bool, store::Error> {
    QUEUE.is_empty(store, job)
}

/// Shows `take` the changes of a job one by one, in order of key: there may be one for everybody.
pub fn each(store: &Store, job: &JobName, mut take: impl FnMut(Change)) -> Result<(), store::Error> {
    QUEUE.each(store, job, |_, change| take(change))
}

/// Shows `take` how far each change of a job is, in order of key, without reading what is wanted.
pub fn briefs(store: &Store, job: &JobName, mut take: impl FnMut(Brief)) -> Result<(), store::Error> {
    BRIEFS.each(store, job, |_, brief| take(brief))
}

/// The same for the changes that do more than wait, which are few.
pub fn briefs_but_waiting(store: &Store, job: &JobName, mut take: impl FnMut(Brief)) -> Result<(), store::Error> {
    let wanted = |row: &[u8]| !row.ends_with(WAITING);
    BRIEFS.each_where(store, job, wanted, |_, brief| {
        if brief.state != State::Waiting {
            take(brief);
        }
    })
}

/// The changes of the memberships of a person, in order of key, without a look at those of others.
pub fn of_member(store: &Store, memberships: &JobName, person: &Key) -> Result<Vec<Change>, store::Error> {
    let mut changes = Vec::new();
    QUEUE.each_of(store, memberships, &person.membership_head(), |_, change| changes.push(change))?;
    Ok(changes)
}

/// The changes of these keys, as far as there are any.
pub fn of(store: &Store, job: &JobName, keys: &[Key]) -> Result<Vec<Change>, store::Error> {
    keys.iter().filter_map(|key| get(store, job, key).transpose()).collect()
}

/// One change of a job.
pub fn get(store: &Store, job: &JobName, key: &Key) -> Result<Option<Change>, store::Error> {
    QUEUE.get(store, job, key)
}

/// Puts a change in place of whatever its key had.
pub fn put(batch: &mut Batch, change: &Change) {
    QUEUE.put(batch, &change.job, &change.key, change);
}

/// Takes the change of a key out.
pub fn remove(batch: &mut Batch, job: &JobName, key: &Key) {
    QUEUE.remove(batch, job, key);
}

/// Puts changes in the order in which they are sent.
pub fn order(tickets: &mut [Ticket]) {
    tickets.sort_unstable_by(|one, other| {
        (one.rank(), one.failures, &one.key).cmp(&(other.rank(), other.failures, &other.key))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Action, DesiredState, RowMetadata, Target, Value, Values};

    fn change(key: &str, action: Action) -> Change {
        Change {
            job: JobName::new("employees").unwrap(),
            key: Key::new(key).unwrap(),
            target: Target::Staff,
            wish: DesiredState {
                action,
                id: None,
                fields: Values::from([("name".into(), Value::text("Ana Secret"))]),
                leaver: false,
            },
            approved: false,
            marks: RowMetadata::default(),
            undo: None,
            from: None,
            failures: 0,
            before: None,
            state: State::Waiting,
        }
    }

    #[test]
    fn law_12_leavers_first_then_joiners_then_movers() {
        let mut tickets = [
            change("a", Action::Update),
            change("b", Action::Create),
            change("c", Action::Delete),
            change("a2", Action::Create),
        ]
        .map(|change| change.ticket());
        order(&mut tickets);
        assert_eq!(tickets.map(|ticket| ticket.key.as_str().to_owned()), ["c", "a2", "b", "a"]);
    }

    #[test]
    fn a_change_survives_the_store_and_one_key_has_one() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let mut wanted = change("a", Action::Create);
        for state in [
            State::Waiting,
            State::Sent { attempts: 1, held: Holdings::default() },
            State::Parked { status: 409, words: "no".into() },
        ] {
            wanted.state = state;
            let mut batch = Batch::default();
            put(&mut batch, &wanted);
            store.commit(batch).unwrap();
            assert_eq!(list(&store, &wanted.job).unwrap(), vec![wanted.clone()]);
            let mut briefs = Vec::new();
            super::briefs(&store, &wanted.job, |brief| briefs.push(brief)).unwrap();
            let Change { key, state, .. } = wanted.clone();
            assert_eq!(
                briefs,
                [Brief { key: key.clone(), action: Action::Create, failures: 0, undoes: false, tried: false, state }]
            );
            let is_waiting = briefs.pop().is_some_and(|brief| brief.state == State::Waiting);
            briefs_but_waiting(&store, &wanted.job, |brief| briefs.push(brief)).unwrap();
            assert_eq!(briefs.len(), usize::from(!is_waiting));
            assert_eq!(serde_json::to_vec(&wanted).unwrap().ends_with(WAITING), is_waiting);
            assert_eq!(of(&store, &wanted.job, &[key, Key::new("b").unwrap()]).unwrap(), vec![wanted.clone()]);
        }
        let mut batch = Batch::default();
        remove(&mut batch, &wanted.job, &wanted.key);
        store.commit(batch).unwrap();
        assert_eq!(list(&store, &wanted.job).unwrap(), vec![]);
    }

    #[test]
    fn law_11_debug_of_a_change_shows_no_value() {
        assert!(!format!("{:?}", change("a", Action::Create)).contains("Ana"));
    }
}
