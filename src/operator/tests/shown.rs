//! A person decides on what was shown, or not at all.

use super::*;
use crate::operator::{DecisionError, HeldSet};
use crate::queue;
use crate::reconcile::approval::held::{HELD, PendingApproval};
use crate::store::Batch;

#[tokio::test]
async fn a_decision_is_of_what_was_shown_and_waits_while_that_changes() {
    let rig = Rig::new(&staff("writes = \"approve\"\n", FREE)).await;
    rig.sync_of(&people(0..5)).await;
    rig.approve().await;
    rig.sync().await;
    rig.sync_of(&(people(1..5) + &row(0, "Baker"))).await;
    let bench = rig.bench();
    let (store, job) = (&bench.store, &bench.config.jobs[0]);
    let shown = HeldSet::load(store, job).unwrap();
    let [change] = shown.changes.as_slice() else { panic!("{} are held", shown.changes.len()) };
    let [field] = change.fields.as_slice() else { panic!("{} fields are another", change.fields.len()) };
    let texts = [field.name.clone(), field.from.shown(), field.to.shown(), change.name.clone().unwrap()];
    assert_eq!(texts, ["title", "Clerk", "Baker", "Person 0"]);

    let digest = shown.digest();
    let decide = |digest: &str| {
        let chosen = Chosen { set: Some(shown.number), digest: Some(digest), ..Chosen::default() };
        approve(store, &rig.clock, job, &chosen)
    };
    let key = change.key.clone();
    assert!(matches!(decide("another"), Err(DecisionError::Changed { .. })));
    let decided = std::thread::scope(|scope| {
        let alone = store.deciding();
        let deciding = scope.spawn(|| decide(&digest));
        // The number stays; only what is shown is another.
        let held = HELD.get(store, &job.name, &key).unwrap().unwrap();
        let mut batch = Batch::default();
        HELD.put(&mut batch, &job.name, &key, &PendingApproval { reason: "another reason".into(), ..held });
        store.commit(batch).unwrap();
        drop(alone);
        deciding.join().unwrap()
    });
    assert!(matches!(decided, Err(DecisionError::Changed { .. })), "{decided:?}");
    assert!(queue::is_empty(store, &job.name).unwrap());
    let now = HeldSet::load(store, job).unwrap().digest();
    assert_eq!(decide(&now).unwrap(), [key]);
}
