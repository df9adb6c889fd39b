//! What becomes of requests whose answers were lost.

use super::*;
use crate::queue::{self, Holdings, State};
use crate::reconcile::commit::enqueue::left_unknown;
use crate::record::{DesiredState, Entity, RemoteId, RowMetadata, Target, Values};
use crate::snapshot::{Owner, SyncedRecord};
use crate::store::Batch;

/// A new record with the email of a known person, once a person said that they are two.
async fn two_of_one_email(fault: &str) -> Rig {
    let rig = Rig::with(Options { accept_duplicates: true, ..Options::default() }, &staff("", "")).await;
    rig.sync_of(&people(0..3)).await;
    assert_eq!(rig.sync_of(&(people(0..3) + &row(3, "Clerk").replace("person3@", "person1@"))).await, (0, 0, 0));
    rig.approve().await;
    rig.faults(&[fault]);
    rig.sync().await;
    rig.faults(&[]);
    rig
}

#[tokio::test]
async fn law_6_a_lost_create_is_not_taken_for_a_person_that_another_record_owns() {
    // The pause before the second look is real, so it is paid for once.
    let (made, unmade) = tokio::join!(
        two_of_one_email("staff.create cut-after times=1"),
        two_of_one_email("staff.create cut-before times=1")
    );
    for rig in [made, unmade] {
        let mut numbers: Vec<_> = rig.staff().iter().map(|person| person["employee_id"].clone()).collect();
        numbers.sort_by_key(Json::to_string);
        assert_eq!(numbers, (0..4).map(number_of).collect::<Vec<_>>());
        assert_eq!(rig.sync().await.counts.unchanged, 4);
    }
}

/// A change as a process left it that ended before it had an answer.
fn sent(id: i64, created: &str, before: &[(&str, &str)], wanted: &[(&str, &str)]) -> Change {
    let values = |pairs: &[(&str, &str)]| -> Values {
        pairs.iter().map(|(field, value)| ((*field).into(), Value::text(*value))).collect()
    };
    let id = RemoteId::new(id).unwrap();
    let before = Entity { id, created: created.to_owned(), fields: values(before) };
    Change {
        job: JobName::new("staff").unwrap(),
        key: key(1),
        target: Target::Staff,
        wish: DesiredState { action: Action::Update, id: Some(id), fields: values(wanted), leaver: false },
        approved: false,
        marks: RowMetadata::default(),
        undo: None,
        from: None,
        failures: 0,
        before: Some(Box::new(before)),
        state: State::Sent { attempts: 1, held: Holdings::default() },
    }
}

/// Leaves an update of person 1 as a process does that ends before it has the answer.
fn leave_sent(rig: &Rig, title: &str) {
    let number = number_of(1);
    let rest = [("email", "person1@example.com"), ("employee_id", number.as_str())];
    let before = [&[("name", "Person 1"), ("title", "Clerk")][..], &rest].concat();
    let wanted = [&[("name", "Ana One"), ("title", title)][..], &rest].concat();
    let id = rig.id(1);
    let bench = rig.bench();
    let known = SyncedRecord::get(&bench.store, &bench.config.jobs[0].name, &key(1)).unwrap().unwrap();
    let mut batch = Batch::default();
    queue::put(&mut batch, &sent(id, &known.created, &before, &wanted));
    bench.store.commit(batch).unwrap();
}

#[tokio::test]
async fn law_3_an_update_that_arrives_after_it_was_looked_for_is_in_the_audit_file() {
    let arrived = json!({"name": "Ana One", "title": "Baker"});
    // (what goes wrong with the read before it is sent again, runs until it is known)
    for (fault, runs) in [("staff.get hold-before times=1", 1), ("staff.get status=500", 2)] {
        let rig = Rig::new(&staff("", "")).await;
        rig.sync_of(&people(0..3)).await;
        leave_sent(&rig, "Baker");
        rig.csv(&(row(0, "Clerk") + &row(2, "Clerk") + &row(1, "Baker").replace("Person 1", "Ana One")));
        let told = rig.changes().len();
        rig.faults(&[fault]);
        // It is looked for in the list, and arrives before the update is sent again.
        let arrives = async {
            while runs == 1 && rig.service.held() == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            if runs == 1 {
                rig.service.edit("staff", rig.id(1), arrived.clone());
                rig.service.release();
            }
        };
        tokio::join!(rig.sync(), arrives);
        if runs == 2 {
            rig.faults(&[]);
            rig.service.edit("staff", rig.id(1), arrived.clone());
            rig.sync().await;
        }
        assert_eq!((rig.count("staff.update"), rig.title(1).as_str()), (0, "Baker"), "{fault}");
        assert_eq!(rig.changes().len() - told, 1, "{fault}: it is in the audit file once");
        assert_eq!(rig.sync().await.counts.unchanged, 3, "{fault}");
        assert_eq!(rig.changes().len() - told, 1, "{fault}");
    }
}

#[tokio::test]
async fn law_3_an_update_of_unknown_fate_is_done_only_where_all_of_it_is() {
    let other = "2020-01-01T00:00:00+00:00";
    // (what the service holds by now, what was wanted of the title, PUTs that follow, what the title becomes)
    for (now, title, puts, becomes) in [
        (json!({"name": "Ana One", "title": "Baker"}), "Baker", 0, "Baker"),
        (json!({"name": "Ana One"}), "Baker", 1, "Baker"),
        (json!({"title": "Baker"}), "Baker", 1, "Baker"),
        (json!({"name": "Ana One"}), "CLERK", 1, "CLERK"),
        (json!({"name": "Ana One", "title": null}), "Baker", 1, "Baker"),
        (json!({}), "Baker", 1, "Baker"),
        (json!({"name": "Ana One", "title": "Baker", "created": other}), "Cook", 0, "Baker"),
    ] {
        // What differs from what is remembered as sent counts as an edit made at the service and stays.
        let rig = Rig::new(&staff("on_drift = \"keep\"\n", "")).await;
        rig.sync_of(&people(0..3)).await;
        let id = rig.id(1);
        leave_sent(&rig, title);
        rig.service.edit("staff", id, now.clone());
        let told = rig.changes().len();
        rig.csv(&(row(0, "Clerk") + &row(2, "Clerk") + &row(1, title).replace("Person 1", "Ana One")));
        let report = rig.sync().await;
        assert_eq!((rig.count("staff.update"), rig.title(1).as_str()), (puts, becomes), "{now}: {report:?}");
        let is_other = now["created"] == other;
        assert_eq!(rig.changes().len() - told, usize::from(!is_other), "{now}: reported once: {report:?}");
    }
}

#[tokio::test]
async fn law_3_what_is_looked_up_before_anything_is_planned() {
    let changes = "mode = \"changes\"\n";
    for (mode, action, state, is_unknown) in [
        ("", Action::Create, State::Waiting, false),
        ("", Action::Update, State::Waiting, false),
        ("", Action::Create, State::Sent { attempts: 1, held: Holdings::default() }, true),
        ("", Action::Update, State::Sent { attempts: 1, held: Holdings::default() }, true),
        ("", Action::Delete, State::Sent { attempts: 1, held: Holdings::default() }, true),
        ("", Action::Create, State::Parked { status: 422, words: "no".into() }, false),
        // A file of changes says nothing a second time: what waits is sent as it is.
        (changes, Action::Create, State::Waiting, true),
        (changes, Action::Update, State::Waiting, false),
        (changes, Action::Create, State::Parked { status: 422, words: "no".into() }, false),
    ] {
        let rig = Rig::new(&staff("", "").replace("[job.map]", &format!("{mode}[job.map]"))).await;
        let bench = rig.bench();
        let mut change = Change { state: state.clone(), before: None, ..sent(7, "", &[], &[]) };
        change.wish.action = action;
        let mut batch = Batch::default();
        queue::put(&mut batch, &change);
        bench.store.commit(batch).unwrap();
        let unknown = left_unknown(&bench.store, &bench.config.jobs[0]).unwrap();
        assert_eq!(unknown.len(), usize::from(is_unknown), "{mode} {action:?} {state:?}");
    }
}

#[tokio::test]
async fn law_6_an_update_takes_an_entity_only_from_the_record_that_had_it_when_it_was_planned() {
    let owner = |number| Some(Owner { job: JobName::new("staff").unwrap(), key: key(number) });
    for (from, puts) in [(None, 0), (owner(2), 0), (owner(1), 1)] {
        let rig = Rig::new(&staff("", "").replace("[job.map]", "mode = \"changes\"\n[job.map]")).await;
        rig.sync_of(&people(0..3)).await;
        {
            let bench = rig.bench();
            let wanted = sent(rig.id(1), "", &[], &[("title", "Boss")]);
            let change = Change { key: key(7), approved: true, from: from.clone(), state: State::Waiting, ..wanted };
            let mut batch = Batch::default();
            queue::put(&mut batch, &change);
            bench.store.commit(batch).unwrap();
        }
        for _ in 0..2 {
            rig.sync_of(&people(0..1)).await;
            let title = if puts == 1 { "Boss" } else { "Clerk" };
            assert_eq!((rig.count("staff.update"), rig.title(1).as_str()), (puts, title), "{from:?}");
        }
    }
}
