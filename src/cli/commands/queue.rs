//! `rosterd queue list`, `retry` and `drop`.

use serde_json::{Value, json};

use super::decision::{Decision, release};
use crate::cli::args::{QueueArgs, QueueCommand, QueuedArgs};
use crate::cli::backend::{Backend, session};
use crate::cli::ui::{Exit, Failure, Message, Ui, sanitize};
use crate::config::{Job, Needs};
use crate::operator::{self, KeysOf, QueuedChange};
use crate::queue::{Change, State};
use crate::record::{JobName, Key};
use crate::store;

const RETRY: Decision = Decision {
    done: "retried",
    decide: |store, clock, job, chosen| operator::retry(store, clock, job, &chosen.named()),
    takes_back: false,
};
const DROP: Decision = Decision {
    done: "dropped",
    decide: |store, clock, job, chosen| operator::discard(store, clock, job, &chosen.named()),
    takes_back: false,
};

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &QueueArgs) -> Result<Exit, Failure> {
    match &args.command {
        QueueCommand::List { job } => return list(ui, host, job.as_deref()).await,
        QueueCommand::Retry(args) => {
            let job = decide(ui, host, args, &RETRY, "parked").await?;
            release(ui, host, &job);
        }
        QueueCommand::Drop(args) => {
            // A run has read the queue, and would send what is dropped meanwhile.
            let _quiet = host.preempt_runs().await;
            let job = decide(ui, host, args, &DROP, "queued that can be dropped").await?;
            host.decided(Some(&[job]));
        }
    }
    Ok(Exit::Done)
}

async fn list(ui: &Ui, host: &Backend, job: Option<&str>) -> Result<Exit, Failure> {
    let config = session::configuration_for(ui, host, Needs::Local)?;
    let names: Vec<String> = job.map(str::to_owned).into_iter().collect();
    let jobs = session::jobs(&config, &names)?;
    let store = host.store(&config).await?;
    let queued: Result<Vec<Vec<QueuedChange>>, store::Error> =
        jobs.iter().map(|job| operator::waiting(&store, job)).collect();
    let queued: Vec<QueuedChange> = queued?.into_iter().flatten().collect();
    if ui.json {
        ui.document(&json!({"version": 1, "changes": queued.iter().map(document).collect::<Vec<_>>()}));
    } else if queued.is_empty() {
        ui.line("nothing is queued");
    } else {
        queued.iter().for_each(|waiting| ui.line(line(waiting)));
    }
    Ok(Exit::Done)
}

/// Names people by key only (law 11).
fn document(waiting: &QueuedChange) -> Value {
    let QueuedChange { change, unclear } = waiting;
    let (attempts, status) = match change.state {
        State::Waiting => (None, None),
        State::Sent { attempts, .. } => (Some(attempts), None),
        State::Parked { status, .. } => (None, (status > 0).then_some(status)),
    };
    json!({
        "job": change.job,
        "key": change.key,
        "action": change.wish.action,
        "id": change.wish.id,
        "state": state(waiting),
        "approved": change.approved,
        "attempts": attempts,
        "status": status,
        "reason": reason(change).or(unclear.as_deref()),
    })
}

fn line(waiting: &QueuedChange) -> String {
    let QueuedChange { change, unclear } = waiting;
    let (state, action) = (state(waiting), change.wish.action.name());
    let (job, key) = (change.job.as_str(), sanitize(change.key.as_str()));
    let reason = match &change.state {
        State::Waiting => String::new(),
        State::Sent { .. } if unclear.is_some() => unclear.as_deref().map(sanitize).unwrap_or_default(),
        State::Sent { attempts: 1, .. } => "sent once; the next run looks up what became of it".to_owned(),
        State::Sent { attempts, .. } => format!("sent {attempts} times; the next run looks up what became of it"),
        State::Parked { status: 0, words } => sanitize(words),
        State::Parked { status, words } => format!("{status}: {}", sanitize(words)),
    };
    let line = format!("{state:<8}  {job}  {key} ({action})");
    if reason.is_empty() { line } else { format!("{line}: {reason}") }
}

fn state(waiting: &QueuedChange) -> &'static str {
    match waiting.change.state {
        State::Waiting => "waiting",
        State::Sent { .. } if waiting.unclear.is_some() => "unclear",
        State::Sent { .. } => "sent",
        State::Parked { .. } => "parked",
    }
}

fn reason(change: &Change) -> Option<&str> {
    match &change.state {
        State::Parked { words, .. } => Some(words),
        State::Waiting | State::Sent { .. } => None,
    }
}

/// Decides about the changes of a job; `which` says what kind of them it may be about.
async fn decide(
    ui: &Ui,
    host: &Backend,
    args: &QueuedArgs,
    decision: &Decision,
    which: &str,
) -> Result<JobName, Failure> {
    let config = session::configuration_for(ui, host, Needs::Local)?;
    let store = host.store(&config).await?;
    let is_queued = |job: &Job, key: &Key| operator::is_key(&store, job, KeysOf::Queued, key);
    let (job, keys) = session::job_and_keys(&config, args.job.as_deref(), &args.keys, is_queued)?;
    let done = decision.make(&store, job, &keys, None)?;
    if done.is_empty() {
        return Err(Failure::failed(Message(format!("nothing of job {} is {which}", job.name)))
            .hint("`rosterd queue list` shows what waits"));
    }
    decision.show(ui, &job.name, &done, None);
    Ok(job.name.clone())
}
