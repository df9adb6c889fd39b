//! The parts of a plan together.

use std::collections::BTreeMap;

use super::*;
use crate::record::{Entity, Field, Record, RemoteId, Target, Values};
use crate::snapshot::SyncedRecord;

fn values(pairs: &[(&str, &str)]) -> Values {
    pairs.iter().map(|(name, value)| ((*name).into(), Value::text(*value))).collect()
}

fn known() -> SyncedRecord {
    SyncedRecord { sent: values(&[("name", "Ana"), ("mobile", "1")]), ..SyncedRecord::of(id(), "then".into()) }
}

fn id() -> RemoteId {
    RemoteId::new(5).unwrap()
}

fn key(number: usize) -> Key {
    Key::new(&number.to_string()).unwrap()
}

fn decided(number: usize, correlation: Correlation, on_drift: OnDrift) -> Decision {
    let record = Record { key: key(number), fields: values(&[("name", "Ana"), ("mobile", "2")]) };
    let fields: Vec<Field> = ["name", "mobile"].into_iter().filter_map(|name| Target::Staff.field(name)).collect();
    let rules = Rules { target: Target::Staff, fields: &fields, seed_only: &[], on_drift };
    decide(Subject { record, line: None, marks: RowMetadata::default() }, correlation, rules)
}

#[test]
fn creating_people_again_counts_as_changing_them() {
    let changes: Vec<Change> = (0..20)
        .map(|number| match decided(number, Correlation::Vanished { known: known() }, OnDrift::Overwrite) {
            Decision::Change(change) => change,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(changes.iter().all(|change| change.wish.action == Action::Create && change.known));
    let base = Base { known: 40, ..Base::default() };
    let guarded = guard(changes, &Limits::default(), base, Writes::Auto, &BTreeMap::new());
    assert_eq!((guarded.go.len(), guarded.held.len()), (0, 20), "20 of 40 removed at the service are no joiners");
}

#[test]
fn law_6_a_new_record_that_may_be_a_known_person_is_held() {
    let by = "email".into();
    let entity = Entity { id: id(), created: "then".into(), fields: Values::new() };
    let unclear = [
        Unclear::Shared { by, key: key(9), seen: true },
        Unclear::Twin { by: "email".into(), key: key(9) },
        Unclear::Stranger { field: Target::NAME, id: id() },
        Unclear::Stranger { field: Target::EMAIL, id: id() },
        Unclear::Unfindable,
        Unclear::Contested { id: id(), key: key(9) },
        Unclear::Ambiguous { by: "email".into(), ids: vec![id()] },
        Unclear::Taken { by: "email".into(), id: id(), job: "other".into(), key: key(9) },
    ];
    let doubtful = Correlation::Doubtful { reason: "it is".into(), entity, earlier: None };
    for correlation in unclear.map(Correlation::Unclear).into_iter().chain([doubtful]) {
        let shown = format!("{correlation:?}");
        assert!(matches!(decided(1, correlation, OnDrift::Overwrite), Decision::Held(_)), "{shown}");
    }
}

#[test]
fn what_is_edited_until_an_update_is_sent_stays_unless_the_job_overwrites_it() {
    for (on_drift, wanted) in
        [(OnDrift::Overwrite, &["mobile", "name"][..]), (OnDrift::Keep, &["mobile"]), (OnDrift::Report, &["mobile"])]
    {
        let entity = Entity { id: id(), created: "then".into(), fields: values(&[("name", "Ana"), ("mobile", "1")]) };
        let Decision::Change(change) = decided(1, Correlation::Mine { known: known(), entity }, on_drift) else {
            panic!("the mobile number differs")
        };
        let mut fields: Vec<&str> = change.wish.fields.keys().map(|field| field.as_str()).collect();
        fields.sort_unstable();
        assert_eq!(fields, wanted, "{on_drift:?}");
    }
}

#[test]
fn a_job_that_would_lose_everybody_is_held_whatever_its_size() {
    // People known, found just now, removed in the last 24 hours, and leaving; and whether these are held.
    for (known, matched, removed, people, held) in [
        (3, 0, 0, 3, true),
        (2, 0, 0, 2, true),
        (1, 0, 1, 1, true),
        (1, 0, 0, 1, false),
        (3, 0, 0, 2, false),
        (2, 7, 0, 2, false),
        (2, 0, 1, 0, false),
    ] {
        let base = Base { known, matched, removed };
        assert_eq!(leavers_held(people, &Limits::default(), base).is_some(), held, "{people} of {base:?}");
        let off = Limits { leavers: Limit::Off, ..Limits::default() };
        assert_eq!(leavers_held(people, &off, base), None, "{people} of {base:?}");
    }
}

#[test]
fn the_limit_that_all_parts_share_counts_who_left_in_the_last_24_hours() {
    for (people, removed, held) in [(20, 0, false), (21, 0, true), (10, 10, false), (11, 10, true), (0, 30, false)] {
        let base = Base { known: 1_000, removed, ..Base::default() };
        assert_eq!(leavers_held(people, &Limits::default(), base).is_some(), held, "{people} besides {removed}");
    }
}
