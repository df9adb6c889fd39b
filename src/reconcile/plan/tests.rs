//! Plans of one part of a job, from a file, a state and what was last seen of a service; nothing is asked of one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use super::build::{Digested, draft_plan, finish_plan};
use super::inputs::JobContext;
use super::precondition::{CurrentPlan, Precondition};
use crate::api::Client;
use crate::clock::Clock;
use crate::config::Config;
use crate::mirror;
use crate::plan::{Held, HoldReason};
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::context::{Context, KeyFilter, NoObserver};
use crate::reconcile::model::job_plan::{Block, JobPlan};
use crate::reconcile::model::testing;
use crate::record::{Action, Entity, JobName, Key, RemoteId, Target, Value, reveal};
use crate::snapshot::{Owner, SyncedRecord};
use crate::store::{Batch, MetaKey, Store};

/// What a plan is made from.
#[derive(Clone, Default)]
struct World<'a> {
    match_on: &'a str,
    guard: &'a str,
    rows: &'a str,
    /// People at the service: number and name. The id of each is 100 more.
    there: &'a [(i64, &'a str)],
    /// Keys that the job knows, with the ids of their entities.
    known: &'a [(&'a str, i64)],
    asked: &'a [&'a str],
}

impl World<'_> {
    fn config(&self, dir: &Path) -> Config {
        let match_on = if self.match_on.is_empty() { "\"employee_id\"" } else { self.match_on };
        testing::config(dir, match_on, self.guard)
    }

    /// Puts into a store what the service shows and what the job knows.
    fn fill(&self, store: &Store, job: &JobName) {
        let mut batch = Batch::default();
        let pull = json!({"fields": FIELDS, "count": self.there.len(), "locations": 0, "elements": 0});
        batch.put_meta(MetaKey::Pull(Target::Staff), &pull);
        for (number, name) in self.there {
            mirror::put(&mut batch, Target::Staff, &entity(*number, name));
        }
        for (key, id) in self.known {
            let (key, id) = (Key::new(key).unwrap(), RemoteId::new(*id).unwrap());
            let shown = self.there.iter().find(|(number, _)| entity(*number, "").id == id);
            let sent = shown.map(|(number, name)| entity(*number, name).fields).unwrap_or_default();
            SyncedRecord { sent, ..SyncedRecord::of(id, "then".into()) }.put(&mut batch, job, &key);
            Owner { job: job.clone(), key }.put(&mut batch, Target::Staff, id);
        }
        store.commit(batch).unwrap();
    }

    /// What a plan over these rows comes to, and the people that it remembers.
    fn plan(&self) -> (JobPlan, Vec<String>) {
        let dir = TempDir::new().unwrap();
        let Planned { plan, remembered, .. } = self.plan_in(&dir, Digested::Nothing);
        (plan, remembered)
    }

    /// The same with what it was made from, in a folder.
    fn plan_in(&self, dir: &TempDir, digested: Digested) -> Planned {
        let rows = dir.path().join("staff.csv");
        fs::write(&rows, format!("No,Name,Email\n{}", self.rows)).unwrap();
        fs::set_permissions(&rows, fs::Permissions::from_mode(0o600)).unwrap();
        let config = self.config(dir.path());
        let (store, job) = (Store::open(&config.state.home).unwrap(), &config.jobs[0]);
        self.fill(&store, &job.name);
        let clock = Clock::fixed("2040-03-05T08:00:00Z".parse().unwrap());
        let client = Client::new(&config.api, &clock).unwrap();
        let context = Context { config: &config, client: &client, store: &store, clock: &clock, watch: &NoObserver };
        let mirrors = Mirrors::stored(&store, job).unwrap().unwrap();
        let filter = KeyFilter { keys: self.asked.iter().filter_map(|key| Key::new(key)).collect() };
        let part =
            JobContext { context: &context, job, mirrors: &mirrors, filter: &filter, earlier: &[], looks_ahead: false };
        let mut remembered = Vec::new();
        let draft = draft_plan(part, &mut |key, _| {
            remembered.push(key.as_str().to_owned());
            Ok(())
        });
        let plan = finish_plan(draft.unwrap(), &mirrors, &store, digested).unwrap();
        Planned { plan, remembered, mirrors, store }
    }
}

/// A plan, the people that it remembers, and what it was made from.
struct Planned {
    plan: JobPlan,
    remembered: Vec<String>,
    mirrors: Mirrors,
    store: Store,
}

const FIELDS: [&str; 3] = ["name", "email", "employee_id"];

fn entity(number: i64, name: &str) -> Entity {
    let values = [name.to_owned(), email(number), number.to_string()];
    let fields = FIELDS.into_iter().zip(values).map(|(field, value)| (field.into(), Value::text(value))).collect();
    Entity { id: RemoteId::new(100 + number).unwrap(), created: "then".into(), fields }
}

/// The same of a job that knows no one yet.
fn plan(guard: &str, rows: &str, there: &[(i64, &str)], asked: &[&str]) -> (JobPlan, Vec<String>) {
    World { guard, rows, there, asked, ..World::default() }.plan()
}

fn email(number: i64) -> String {
    format!("p{number}@example.com")
}

fn row(number: i64, name: &str) -> String {
    format!("{number},{name},{}\n", email(number))
}

/// What is sent, and what waits.
fn shown(plan: &JobPlan) -> (Vec<(Action, &str)>, Vec<&str>) {
    let go = plan.go.iter().map(|change| (change.action, change.key.as_str())).collect();
    (go, plan.held.iter().map(|held| held.key.as_str()).collect())
}

#[test]
fn a_first_plan_creates_updates_and_remembers() {
    let rows = row(1, "Ana") + &row(2, "Ben") + &row(3, "Cleo");
    let (plan, remembered) = plan("", &rows, &[(1, "Ana"), (2, "Benjamin")], &[]);
    assert_eq!(shown(&plan), (vec![(Action::Update, "2"), (Action::Create, "3")], vec![]), "{:?}", plan.notes);
    assert_eq!(remembered, ["1"]);
    assert_eq!((plan.records, plan.unchanged, plan.complete), (3, 1, true));
    assert_eq!(plan.matched_by.get("employee_id"), Some(&2));
    assert!(plan.updates.judged_all && plan.updates.mapping_settled && plan.blocked.is_empty());
}

#[test]
fn a_source_that_is_too_short_blocks_the_plan_and_nothing_is_taken_from_it() {
    let (plan, remembered) = plan("min_records = 3\n", &row(1, "Ana"), &[(1, "Ana")], &[]);
    assert_eq!(shown(&plan), (vec![], vec![]));
    assert_eq!((remembered.len(), plan.records, plan.complete), (0, 1, false));
    assert_eq!(plan.blocked, [Block::TooFewRecords { records: 1, least: 3 }]);
}

#[test]
fn a_limit_holds_all_changes_of_its_kind() {
    let rows: String = (1..=5).map(|number| row(number, &format!("Person {number}"))).collect();
    let (plan, _) = plan("max_creates = 3\n", &rows, &[(1, "Ana")], &[]);
    assert_eq!(shown(&plan), (vec![(Action::Update, "1")], vec!["2", "3", "4", "5"]));
}

#[test]
fn a_plan_for_some_keys_judges_no_one_else_and_names_unknown_keys() {
    let rows = row(1, "Ana") + &row(2, "Ben");
    let (plan, _) = plan("min_records = 2\n", &rows, &[], &["2", "9"]);
    assert_eq!(shown(&plan), (vec![(Action::Create, "2")], vec![]));
    assert_eq!((plan.records, plan.updates.judged_all), (1, false));
    assert_eq!(plan.updates.unknown, BTreeSet::from([Key::new("9").unwrap()]));
    assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
}

#[test]
fn a_row_that_can_not_be_used_is_rejected_and_proves_no_one_absent() {
    let (plan, _) = plan("", &(row(1, "Ana") + &row(2, "")), &[], &[]);
    assert_eq!(shown(&plan), (vec![(Action::Create, "1")], vec![]));
    assert_eq!((plan.rejected.len(), plan.rejected[0].line), (1, Some(3)), "{:?}", plan.rejected);
    assert_eq!((plan.records, plan.complete), (1, false));
}

/// Each row of the table is one way in which a record may be a person at the service, or none (law 6).
#[test]
fn law_6_a_record_is_the_person_that_it_is_known_as_or_found_as_and_else_a_person_decides() {
    const BY_EMAIL: &str = "\"email\"";
    let (ana, ben) = (row(1, "Ana"), row(2, "Ben"));
    let both = ana.clone() + &ben;
    let cases: &[(&str, World<'_>, &[&str])] = &[
        (
            "known, there and the same",
            World { rows: &ana, there: &[(1, "Ana")], known: &[("1", 101)], ..World::default() },
            &[],
        ),
        (
            "known, and another there",
            World { rows: &ana, there: &[(1, "Anna")], known: &[("1", 101)], ..World::default() },
            &["update 1"],
        ),
        (
            "known, and gone there",
            World { rows: &ana, there: &[(7, "Gus")], known: &[("1", 101)], ..World::default() },
            &["create 1"],
        ),
        (
            "known under an id that is gone, and there under another",
            World { rows: &ana, there: &[(1, "Ana")], known: &[("1", 199)], ..World::default() },
            &[],
        ),
        ("found by a field", World { rows: &ana, there: &[(1, "Ana")], ..World::default() }, &[]),
        (
            "found by a field, and another there",
            World { rows: &ana, there: &[(1, "Anna")], ..World::default() },
            &["update 1"],
        ),
        ("not there", World { rows: &ana, ..World::default() }, &["create 1"]),
        (
            "the entity is that of another key whose row is there",
            World {
                rows: &(row(1, "Ana") + "9,Zoe,p1@example.com\n"),
                there: &[(1, "Ana")],
                known: &[("1", 101)],
                match_on: BY_EMAIL,
                ..World::default()
            },
            &["9 has the email of key 1, who is in the source too"],
        ),
        (
            "two new rows with one value",
            World { rows: "8,Yan,x@example.com\n9,Zoe,x@example.com\n", match_on: BY_EMAIL, ..World::default() },
            &["8 and that of key 9 have the same email", "9 and that of key 8 have the same email"],
        ),
        (
            "two rows that fit one entity",
            World {
                rows: "8,Yan,p1@example.com\n9,Zoe,p1@example.com\n",
                there: &[(1, "Ana")],
                match_on: BY_EMAIL,
                ..World::default()
            },
            &[
                "8 and that of key 9 both fit the person with id 101",
                "9 and that of key 8 both fit the person with id 101",
            ],
        ),
        (
            "nothing to be found by",
            World { rows: "9,Zoe,\n", there: &[(1, "Ana")], match_on: BY_EMAIL, ..World::default() },
            &["9 is empty in every field of match_on"],
        ),
        (
            "a namesake on the first run",
            World { rows: "9,Ana,z@example.com\n", there: &[(1, "Ana")], match_on: BY_EMAIL, ..World::default() },
            &["9 has the name of a person at the service that no record matches (id 101)"],
        ),
        (
            "nothing is known of who is asked for alone",
            World { rows: &both, asked: &["2"], ..World::default() },
            &["create 2"],
        ),
    ];
    for (what, world, expected) in cases {
        let (plan, _) = world.plan();
        let shown = outcomes(&plan);
        assert_eq!(shown.len(), expected.len(), "{what}: {shown:?}");
        for (shown, expected) in shown.iter().zip(*expected) {
            let (key, words) = expected.split_once(' ').unwrap();
            let fits = shown == expected || (shown.starts_with(&format!("held {key}:")) && shown.contains(words));
            assert!(fits, "{what}: {shown}");
        }
    }
}

/// A planned change is sent only where everything that it is based on is as it was.
#[test]
fn a_planned_change_counts_as_long_as_row_person_and_decision_are_what_it_is_based_on() {
    let rows = row(1, "Ana") + &row(2, "Ben") + &row(3, "Cleo");
    let there = [(1, "Anna"), (3, "Cleo"), (4, "Dan")];
    let world = World { rows: &rows, there: &there, known: &[("1", 101), ("3", 103), ("4", 104)], ..World::default() };
    let dir = TempDir::new().unwrap();
    let Planned { mut plan, mirrors, store, .. } = world.plan_in(&dir, Digested::All);
    assert_eq!(shown(&plan).0, [(Action::Update, "1"), (Action::Create, "2")]);
    let key = |key: &str| Key::new(key).unwrap();
    let found = |plan: &JobPlan, name: &str, id: Option<i64>, basis: &Precondition| {
        let current = CurrentPlan::new(plan, mirrors.of(Target::Staff), &store);
        let judged = current.judge(&key(name), id.and_then(RemoteId::new), basis).unwrap();
        judged.map(|change| change.key.as_str().to_owned())
    };
    let update = Precondition::of(&plan, &plan.go[0]).unwrap();
    let create = Precondition::of(&plan, &plan.go[1]).unwrap();
    assert!(update.row.is_some() && update.remote.is_some() && create.row.is_some() && create.remote.is_none());
    let other = || Some("0".to_owned());
    let (row, remote) =
        (|row| Precondition { row, ..update.clone() }, |remote| Precondition { remote, ..update.clone() });
    let differs = "the planned change differs from the one in the file";
    let edited = "this person changed at the service since";
    // Who, under which id, by what it is based on; and what keeps it from being sent.
    for (name, id, basis, expected) in [
        ("1", Some(101), update.clone(), Ok("1")),
        ("2", None, create.clone(), Ok("2")),
        ("1", Some(101), row(other()), Err("its row in the source changed since")),
        // A leaver has no row: who is there by now is not to be removed.
        ("1", Some(101), row(None), Ok("1")),
        ("1", Some(101), Precondition { wish: "0".into(), ..row(None) }, Err(differs)),
        ("1", Some(101), Precondition { wish: "0".into(), ..update.clone() }, Err(differs)),
        ("1", Some(101), remote(other()), Err(edited)),
        ("1", Some(101), remote(None), Err(edited)),
        (
            "2",
            None,
            Precondition { remote: other(), ..create.clone() },
            Err("the service does not have this person any more"),
        ),
        ("2", Some(103), create.clone(), Err(edited)),
        ("3", Some(103), Precondition { row: None, ..update.clone() }, Err(edited)),
        ("5", None, Precondition { remote: None, ..update.clone() }, Err("it is not wanted any more")),
        ("5", None, Precondition { row: None, ..create.clone() }, Err("it is not wanted any more")),
        ("3", None, Precondition { row: None, ..create.clone() }, Err("this person was made since")),
    ] {
        let judged = found(&plan, name, id, &basis);
        assert_eq!(
            judged.as_deref(),
            expected.map_err(str::to_owned).as_ref().map(|key| *key),
            "{name} {id:?} {basis:?}"
        );
    }
    // What a run decided since.
    plan.moving.push((key("5"), HoldReason::NeedsOwnKey));
    let leaver = Precondition { row: None, ..create.clone() };
    assert_eq!(found(&plan, "5", None, &leaver), Err(HoldReason::NeedsOwnKey.to_string()));
    plan.waits.insert(key("1"), HoldReason::OnSite);
    assert_eq!(found(&plan, "1", Some(101), &update).as_deref(), Ok("1"), "sending looks at the place by itself");
    plan.waits.insert(key("1"), HoldReason::Protected);
    assert_eq!(found(&plan, "1", Some(101), &update), Err(HoldReason::Protected.to_string()));
    plan.dropped.push(plan.go[1].clone());
    assert_eq!(found(&plan, "2", None, &create), Err("a person rejected it since".into()));
    assert_eq!(found(&plan, "1", Some(101), &update), Err(HoldReason::Protected.to_string()), "not that of another");
    plan.held.push(Held { key: key("2"), reason: HoldReason::NeedsOwnKey, change: None, other: None });
    assert_eq!(found(&plan, "2", None, &create), Err(format!("held by now: {}", HoldReason::NeedsOwnKey)));
}

/// What is sent, and what waits with its reason.
fn outcomes(plan: &JobPlan) -> Vec<String> {
    let sent = plan.go.iter().map(|change| format!("{} {}", change.action.name(), change.key.as_str()));
    let held = plan.held.iter().map(|held| format!("held {}: {}", held.key.as_str(), reveal(&held.reason.to_string())));
    sent.chain(held).collect()
}
