use proptest::prelude::*;

use super::*;
use crate::plan::{Change, Deltas};
use crate::reconcile::model::testing;
use crate::record::Value;
use crate::record::Values;

const KEYS: usize = 5;

/// What is held, by the number of its key: the title that is wanted, or none where there is nothing to approve.
type Wanted = BTreeMap<usize, Option<u8>>;

fn key(number: usize) -> Key {
    Key::new(&format!("P{number}")).unwrap()
}

fn change(number: usize, title: u8) -> Change {
    let fields = Values::from_iter([("title".into(), Value::text(title.to_string()))]);
    let wish = DesiredState { action: Action::Update, id: RemoteId::new(7), fields, leaver: false };
    let (fields, marks) = (Deltas::new(), RowMetadata::default());
    Change { key: key(number), wish, fields, line: None, known: true, approved: false, marks }
}

fn held_set(plan: &JobPlan, wanted: &Wanted) -> Vec<Held<Outline>> {
    let one = |(number, title): (&usize, &Option<u8>)| {
        let change = title.map(|title| plan.spill.put(change(*number, title)).unwrap());
        Held { key: key(*number), reason: HoldReason::NeedsOwnKey, change, other: None }
    };
    wanted.iter().map(one).collect()
}

#[test]
fn what_a_verdict_makes_of_a_record_that_may_be_somebody_or_a_new_person() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Comes {
        Sent(u8),
        Waits(u8),
        Rejected(u8),
    }
    use Comes::{Rejected, Sent, Waits};
    let dir = tempfile::tempdir().unwrap();
    let config = testing::config(dir.path(), "\"employee_id\"", "");
    let (job, store) = (&config.jobs[0], Store::open(&config.state.home).unwrap());
    let plan = JobPlan::nothing(job, &store);
    let held = |title: u8, other: Option<Box<Held<Outline>>>| Held {
        key: key(1),
        reason: HoldReason::NeedsOwnKey,
        change: Some(plan.spill.put(change(1, title)).unwrap()),
        other,
    };
    let wish = |title: u8| change(1, title).wish.digest();
    // Matched, the first is wanted; as a new person, the second. The verdict; what comes of it, with or without writes; and
    // whether it stays in force for a change that it was not made for.
    for (verdict, expected, off, stays) in [
        (None, Waits(1), Waits(1), false),
        (Some(Verdict::Approved(wish(1))), Sent(1), Waits(1), false),
        (Some(Verdict::Rejected(wish(1))), Waits(2), Waits(2), true),
        (Some(Verdict::Approved(wish(2))), Sent(2), Waits(2), false),
        (Some(Verdict::Rejected(wish(2))), Rejected(2), Rejected(2), false),
        (Some(Verdict::Approved(wish(3))), Waits(1), Waits(1), false),
        (Some(Verdict::Rejected(wish(3))), Waits(1), Waits(1), false),
    ] {
        let verdicts: BTreeMap<Key, Verdict> = verdict.iter().map(|verdict| (key(1), *verdict)).collect();
        for (writes, expected) in [(Writes::Auto, expected), (Writes::Off, off)] {
            let one = held(1, Some(Box::new(held(2, None))));
            let (guarded, in_force) = decided(vec![one.clone()], writes, &verdicts, |_, _| false);
            let title = |change: &Outline| if change.wish() == wish(1) { 1 } else { 2 };
            let sent = guarded.go.iter().map(|change| Sent(title(change)));
            let waits = guarded.held.iter().filter_map(|held| Some(Waits(title(held.change.as_ref()?))));
            let rejected = guarded.rejected.iter().map(|change| Rejected(title(change)));
            let found: Vec<Comes> = sent.chain(waits).chain(rejected).collect();
            assert_eq!(found, [expected], "{verdict:?} {writes:?}");
            assert!(guarded.go.iter().all(Judged::is_approved));
            assert_eq!(in_force.contains(&key(1)), stays, "{verdict:?} {writes:?}");
            // Who released it for another reason was not asked who it is.
            let (guarded, _) =
                decided(vec![one], writes, &verdicts, |_, verdict| matches!(verdict, Verdict::Approved(_)));
            assert!(guarded.go.is_empty(), "{verdict:?} {writes:?}");
        }
    }
}

#[test]
fn fault_114_no_question_names_a_forgotten_person_be_it_the_next_one_or_the_one_that_was_rejected() {
    let asked = |number: usize| {
        let reason = HoldReason::AskedAbout { key: key(number).to_string() };
        PendingApproval::new(None, &reason, None)
    };
    let has =
        |one: &PendingApproval, number: usize| serde_json::to_string(one).unwrap().contains(&key(number).to_string());
    let boxed = |number: usize| Some(Box::new(asked(number)));
    for (place, one) in [
        ("its own", asked(1)),
        ("the next one", PendingApproval { other: boxed(1), rejected: boxed(3), ..asked(2) }),
        ("the one before", PendingApproval { other: boxed(3), rejected: boxed(1), ..asked(2) }),
    ] {
        assert!(has(&one, 1), "{place}");
        let without = one.without(&key(1)).unwrap();
        assert!(!has(&without, 1), "{place}");
        assert_eq!([2, 3].map(|number| has(&without, number)), [2, 3].map(|number| has(&one, number)), "{place}");
        assert_eq!(one.without(&key(4)), None, "{place}");
    }
}

fn wanted() -> impl Strategy<Value = Wanted> {
    proptest::collection::btree_map(0..KEYS, proptest::option::of(0u8..2), 0..KEYS)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_number_of_a_held_set_grows_if_and_only_if_an_approval_would_cover_something_else(
        sets in proptest::collection::vec((wanted(), proptest::collection::btree_set(0..KEYS, 0..3)), 1..5),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let config = testing::config(dir.path(), "\"employee_id\"", "");
        let (job, store) = (&config.jobs[0], Store::open(&config.state.home).unwrap());
        let mut state = JobState::default();
        let mut model = Wanted::new();
        for (wanted, stay) in sets {
            let mut plan = JobPlan::nothing(job, &store);
            plan.held = held_set(&plan, &wanted);
            let mut batch = Batch::default();
            let number = state.held_set;
            let stays = |key: &Key, _: &PendingApproval| stay.iter().any(|number| self::key(*number) == *key);
            let kept = replace(&store, &mut batch, (&plan, Mode::Full), stays, &mut state).unwrap();
            let there = |wanted: &Wanted| wanted.keys().copied().collect::<BTreeSet<usize>>();
            let stayed = there(&model).intersection(&stay).copied().collect::<BTreeSet<usize>>();
            let expected_kept = stayed.difference(&there(&wanted)).map(|number| key(*number)).collect::<BTreeSet<_>>();
            prop_assert_eq!(kept.keys().cloned().collect::<BTreeSet<_>>(), expected_kept);
            store.commit(batch).unwrap();

            let mut after: Wanted = model.clone().into_iter().filter(|(number, _)| stay.contains(number)).collect();
            after.extend(wanted);
            let digests = |wanted: &Wanted| -> BTreeMap<Key, Option<u64>> {
                let digest = |(number, title): (&usize, &Option<u8>)| (key(*number), title.map(|title| change(*number, title).wish.digest()));
                wanted.iter().map(digest).collect()
            };
            let found: BTreeMap<Key, Option<u64>> =
                held(&store, &job.name).unwrap().into_iter().map(|(key, held)| (key, held.approvable())).collect();
            prop_assert_eq!(found, digests(&after));
            let approvable = |wanted: &Wanted| digests(wanted).into_iter().filter(|(_, wish)| wish.is_some()).collect::<Vec<_>>();
            let grows = approvable(&model) != approvable(&after);
            prop_assert_eq!(state.held_set, number + u64::from(grows));
            prop_assert_eq!(JobState::load(&store, &job.name).unwrap().held_set, state.held_set);
            model = after;
        }
    }
}
