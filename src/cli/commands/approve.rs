//! `rosterd approve` and `rosterd reject`.

use std::collections::BTreeMap;

use serde_json::json;

use super::decision::{Decision, refused, release};
use crate::cli::args::{ApproveArgs, DecideArgs};
use crate::cli::backend::{Backend, session};
use crate::cli::ui::{Exit, Failure, Message, Ui, sanitize};
use crate::clock::Clock;
use crate::config::{Job, Mode, Needs};
use crate::operator::{self, KeysOf};
use crate::reconcile;
use crate::record::{JobName, Key};
use crate::text::some_of;

/// How many keys a note names; the rest is counted.
const NAMED_MAX: usize = 3;

const APPROVE: Decision = Decision { done: "approved", decide: operator::approve, takes_back: false };
const REJECT: Decision = Decision { done: "rejected", decide: operator::reject, takes_back: true };

pub(crate) async fn approve(ui: &Ui, host: &Backend, args: &ApproveArgs) -> Result<Exit, Failure> {
    if args.server {
        return believe(ui, host, args.decide.job.as_deref()).await;
    }
    let (job, has_grace) = decide(ui, host, &args.decide, &APPROVE).await?;
    release(ui, host, &job);
    if has_grace && !ui.json {
        ui.note(format!(
            "who is missing leaves once the grace is over; `rosterd reject {job} KEY` takes it back until then"
        ));
    }
    Ok(Exit::Done)
}

pub(crate) async fn reject(ui: &Ui, host: &Backend, args: &DecideArgs) -> Result<Exit, Failure> {
    let (job, _) = decide(ui, host, args, &REJECT).await?;
    host.decided(Some(&[job]));
    Ok(Exit::Done)
}

/// Takes a directory for right as it was read last.
async fn believe(ui: &Ui, host: &Backend, job: Option<&str>) -> Result<Exit, Failure> {
    let config = session::configuration_for(ui, host, Needs::Local)?;
    let job = session::job_or_only(&config, job)?;
    let store = host.store(&config).await?;
    let Some(server) = operator::believe(&store, &Clock::system(), job).map_err(refused)? else {
        return Err(Failure::failed(Message(format!("nothing that job {} read last is in doubt", job.name)))
            .hint("a run says when the server that it read may be behind what was read before"));
    };
    if ui.json {
        ui.document(&json!({"version": 1, "job": job.name, "server": server}));
    } else {
        ui.line(format!("job {}: the directory is taken for right as {} showed it last", job.name, sanitize(&server)));
        ui.note("who is missing there leaves with the usual grace and limits");
    }
    host.decided(Some(std::slice::from_ref(&job.name)));
    Ok(Exit::Done)
}

/// Decides, and says about what. Returns the job, and whether anyone is among it who leaves only when a grace is over.
async fn decide(ui: &Ui, host: &Backend, args: &DecideArgs, decision: &Decision) -> Result<(JobName, bool), Failure> {
    let config = session::configuration_for(ui, host, Needs::Local)?;
    let store = host.store(&config).await?;
    let is_held = |job: &Job, key: &Key| operator::is_key(&store, job, KeysOf::Held, key);
    let (job, keys) = session::job_and_keys(&config, args.job.as_deref(), &args.keys, is_held)?;
    let word = decision.done;
    let set = operator::held_set(&store, job)?;
    let waiting = |part: &Job| reconcile::held(&store, &part.name);
    let held: Vec<_> = job.parts().map(waiting).collect::<Result<_, _>>()?;
    if held.iter().all(BTreeMap::is_empty) && keys.is_empty() {
        return Err(Failure::failed(Message(format!("nothing of job {} is held", job.name))).hint(if decision.takes_back {
            "what is held is worked out by `rosterd sync`; what was approved and is not sent is rejected by its keys"
        } else {
            "what is held is worked out by `rosterd sync`; `rosterd plan` shows it"
        }));
    }
    let done = decision.make(&store, job, &keys, args.set)?;
    if done.is_empty() {
        return Err(Failure::failed(Message(format!("none of the held records of job {} can be {word}", job.name)))
            .hint("each names what has to be mended first; see `rosterd plan`"));
    }
    decision.show(ui, &job.name, &done, Some(set));
    let is_said_again = |key: &&Key| held.iter().any(|held| held.contains_key(*key));
    let silent: Vec<&Key> = done.iter().filter(|key| !is_said_again(key)).collect();
    if job.mode == Mode::Changes && !decision.takes_back && !silent.is_empty() && !ui.json {
        let keys = some_of(silent.iter().map(|key| format!("key {}", sanitize(key.as_str()))), NAMED_MAX);
        ui.note(format!("was rejected before, and is sent once a file of changes has the row again: {keys}"));
    }
    let left: Vec<_> = job.parts().map(waiting).collect::<Result<_, _>>()?;
    let left = left.iter().flat_map(BTreeMap::values).filter(|change| change.action.is_some()).count();
    if left > 0 && !ui.json {
        ui.note(format!("{left} more {} a decision", if left == 1 { "waits for" } else { "wait for" }));
    }
    let mut changes = job.parts().zip(&held).flat_map(|(part, held)| held.iter().map(move |change| (part, change)));
    let has_grace = changes.any(|(part, (key, change))| change.has_grace(part) && done.contains(key));
    Ok((job.name.clone(), has_grace))
}
