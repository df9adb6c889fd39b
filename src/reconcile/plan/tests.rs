//! Plans of one part of a job, from a file, a state and what was last seen of a service; nothing is asked of one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use tempfile::TempDir;

use super::build::{Digested, JobContext, draft_plan, finish_plan};
use crate::api::Client;
use crate::clock::Clock;
use crate::config::{self, Needs};
use crate::mirror;
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::context::{Context, KeyFilter, NoObserver};
use crate::reconcile::model::job_plan::{Block, JobPlan};
use crate::record::{Action, Entity, Key, RemoteId, Target, Value};
use crate::store::{Batch, MetaKey, Store};

const JOB: &str = "[[job]]\nname = \"staff\"\ntarget = \"staff\"\nkey = \"{{ no }}\"\nmatch_on = [\"employee_id\"]\n\
                   [job.source]\ntype = \"csv\"\npath = \"staff.csv\"\nsettle = \"0s\"\n\
                   [job.map]\nname = \"{{ name }}\"\nemail = \"{{ email }}\"\nemployee_id = \"{{ no }}\"\n";

/// What a plan over these rows comes to, with people of these numbers and names at the service; and the people that it remembers.
fn plan(guard: &str, rows: &str, there: &[(i64, &str)], asked: &[&str]) -> (JobPlan, Vec<String>) {
    let dir = TempDir::new().unwrap();
    let put = |name: &str, text: &str| {
        fs::write(dir.path().join(name), text).unwrap();
        fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(0o600)).unwrap();
    };
    put("key", "none");
    put("staff.csv", &format!("No,Name,Email\n{rows}"));
    let service = "[api]\nbase_url = \"http://127.0.0.1:9\"\napi_key_file = \"key\"\n[state]\ndir = \"state\"\n";
    put("config.toml", &format!("{service}{JOB}[job.guard]\n{guard}"));
    let config = config::load(&dir.path().join("config.toml"), std::iter::empty(), Needs::Jobs).unwrap();
    let store = Store::open(&config.state.dir).unwrap();
    let mut batch = Batch::default();
    let fields = ["name", "email", "employee_id"];
    let pull = json!({"fields": fields, "count": there.len(), "locations": 0, "elements": 0});
    batch.put_meta(MetaKey::Pull(Target::Staff), &pull);
    for (number, name) in there {
        let values = [("name", (*name).to_owned()), ("email", email(*number)), ("employee_id", number.to_string())];
        let fields = values.into_iter().map(|(field, value)| (field.into(), Value::text(value))).collect();
        let id = RemoteId::new(100 + number).unwrap();
        mirror::put(&mut batch, Target::Staff, &Entity { id, created: "then".into(), fields });
    }
    store.commit(batch).unwrap();
    let clock = Clock::fixed("2040-03-05T08:00:00Z".parse().unwrap());
    let client = Client::new(&config.api, &clock).unwrap();
    let context = Context { config: &config, client: &client, store: &store, clock: &clock, watch: &NoObserver };
    let job = &config.jobs[0];
    let mirrors = Mirrors::stored(&store, job).unwrap().unwrap();
    let filter = KeyFilter { keys: asked.iter().filter_map(|key| Key::new(key)).collect() };
    let part = JobContext { context: &context, job, mirrors: &mirrors, filter: &filter, earlier: &[] };
    let mut remembered = Vec::new();
    let draft = draft_plan(part, &mut |key, _| {
        remembered.push(key.as_str().to_owned());
        Ok(())
    });
    (finish_plan(draft.unwrap(), &mirrors, &store, Digested::Nothing).unwrap(), remembered)
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
