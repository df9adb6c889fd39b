//! `rosterd explain`.

use serde_json::{Value as Json, json};

use crate::cli::args::ExplainArgs;
use crate::cli::backend::Backend;
use crate::cli::backend::session::{self, Session, Work};
use crate::cli::commands::pause;
use crate::cli::ui::{Exit, Failure, Message, Paint, Ui, joined_document, joined_line, sanitize, typed, values};
use crate::config::{Job, Needs};
use crate::mapping::Mapped;
use crate::operator::{self, Explanation, FieldState, FieldView, Fit, Outlook, SourceRow};
use crate::plan::{Change, Verdict};
use crate::queue::State;
use crate::record::{Action, Key, RemoteId, Value};
use crate::snapshot::Owner;

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &ExplainArgs) -> Result<Exit, Failure> {
    let config = session::configuration_for(ui, host, Needs::Local)?;
    let job = session::job_or_only(&config, args.job.as_deref())?;
    let key = Key::new(&args.key).ok_or_else(|| Failure::usage("a key can't be empty"))?;
    let session = Session::open(ui, host, &config, Work::Look).await?;
    let explanation = session.guard(async { operator::explain(&session.context(), job, &key) }).await?;
    if !explanation.is_known() {
        return Err(never_seen(job, &key, &explanation));
    }
    if ui.json {
        ui.document(&document(job, &key, &explanation));
    } else {
        View { ui, job, key: &key, all: &explanation, show_values: args.show_values }.show();
    }
    Ok(Exit::Done)
}

fn never_seen(job: &Job, key: &Key, explanation: &Explanation) -> Failure {
    let path = &job.source;
    let words = match &explanation.unreadable {
        None => format!("job {} never saw a record with key {key}, and no row of {path} has it", job.name),
        Some(reason) => format!("job {} never saw a record with key {key}, and {reason}", job.name),
    };
    let near: Vec<String> = explanation.nearest.iter().map(|key| typed(key.as_str())).collect();
    let failure = Failure::failed(Message(words));
    if explanation.unreadable.is_some() {
        failure.hint("the next file may have it all the same; `rosterd check` looks at the source")
    } else if near.is_empty() {
        failure.hint(format!("keys come from {}; `rosterd preview {}` shows some", job.mapping.key, job.name))
    } else {
        failure.hint(format!("keys that look like it: {}", near.join(", ")))
    }
}

/// How source and service compare, in a word.
fn state_name(state: FieldState) -> &'static str {
    match state {
        FieldState::Unknown => "unknown",
        FieldState::Same => "same",
        FieldState::Differs => "differs",
        FieldState::Drifted => "drifted",
        FieldState::Kept => "kept",
        FieldState::Seeded => "seeded",
    }
}

fn owner_document(owner: Option<&Owner>) -> Option<Json> {
    owner.map(|owner| json!({"job": owner.job, "key": owner.key}))
}

fn row_document(row: &SourceRow) -> Json {
    let cells: serde_json::Map<String, Json> =
        row.cells.iter().map(|(column, cell)| (column.clone(), cell.as_str().into())).collect();
    let rejected = match &row.reading.mapped {
        Mapped::Rejected(rejected) => json!({"field": rejected.field, "reason": rejected.reason.to_string()}),
        _ => Json::Null,
    };
    let absence = row.reading.absence();
    json!({
        "line": row.line,
        "dn": row.dn,
        "included": absence.is_none(),
        "absence": absence,
        "lookups": joined_document(&row.joined),
        "cells": cells,
        "rejected": rejected,
    })
}

fn document(job: &Job, key: &Key, all: &Explanation) -> Json {
    let json_of = |value: &Option<Value>| value.as_ref().map(Value::to_json);
    let field = |field: &FieldView| {
        json!({
            "field": field.name,
            "template": field.template,
            "source": json_of(&field.wanted),
            "service": json_of(&field.holds),
            "sent": json_of(&field.sent),
            "echo": json_of(&field.echo),
            "owner": job.name,
            "state": state_name(field.state),
        })
    };
    let fit = |Fit { field, people }: &Fit| {
        let ids: Vec<Json> =
            people.iter().map(|(id, of)| json!({"id": id, "owner": owner_document(of.as_ref())})).collect();
        json!({"field": field, "fits": ids})
    };
    json!({
        "version": 1,
        "job": job.name,
        "key": key,
        "source": {
            "path": job.source.to_string(),
            "from": all.from,
            "rows": all.rows.iter().map(row_document).collect::<Vec<_>>(),
            "incomplete": all.incomplete,
            "lost": all.lost,
            "error": all.unreadable,
            "inbox": all.inbox,
        },
        "entity": all.known.as_ref().map(|known| json!({
            "id": known.id,
            "created": known.created,
            "at_service": all.entity.is_some(),
            "owner": owner_document(all.owner.as_ref()),
            "presence": presence(all),
        })),
        "fields": all.fields.iter().map(field).collect::<Vec<_>>(),
        "match": all.fits.iter().map(fit).collect::<Vec<_>>(),
        "outlook": outlook_document(&all.outlook),
        "paused": all.paused.as_ref().map(pause::document),
        "held": all.held.as_ref().map(|(held, set)| json!({"action": held.action, "reason": held.reason.to_string(), "set": set})),
        "decision": all.decision.map(decision_name),
        "queued": all.queued.as_ref().map(|change| {
            json!({"action": change.wish.action, "approved": change.approved, "state": change.state})
        }),
        "kept": all.kept.as_ref().map(|kept| {
            json!({"begins": kept.begins.map(|day| day.to_string()), "usable": kept.is_usable})
        }),
        "leaves": all.leaves.map(|day| day.to_string()),
        "missing": all.known.as_ref().and_then(|known| known.gone.as_ref()).map(|gone| {
            json!({"since": gone.since, "further_reads": gone.reads, "grace_ends": all.due})
        }),
        "leaving": all.leaving.as_ref().map(|leaving| match leaving {
            Ok(values) => {
                let values = values.iter().map(|(field, value)| (field.to_string(), value.to_json()));
                json!({"fields": values.collect::<serde_json::Map<_, _>>(), "error": null})
            }
            Err(reason) => json!({"fields": null, "error": reason}),
        }),
        "left": all.known.as_ref().and_then(|known| known.left.as_ref()).map(|left| left.at),
        "last_run": all.last_run,
        "last_change": all.last_change.as_ref().map(|changed| json!({
            "at": changed.at,
            "run": changed.run,
            "action": changed.action,
            "id": changed.id,
            "fields": values::moved(changed.fields.iter()),
        })),
        "decisions": all.decisions,
    })
}

fn outlook_document(outlook: &Outlook) -> Json {
    let change = |change: &Change| {
        let fields: serde_json::Map<String, Json> =
            change.moves().map(|(field, from, to)| (field.to_owned(), json!({"from": from, "to": to}))).collect();
        json!({"action": change.wish.action, "id": change.wish.id, "fields": fields})
    };
    match outlook {
        Outlook::Unclear(reason) => json!({"is": "unclear", "reason": reason}),
        Outlook::Absent => json!({"is": "absent"}),
        Outlook::Leaves(action) => json!({"is": "leaves", "action": action}),
        Outlook::Nothing => json!({"is": "nothing"}),
        Outlook::Rejected(reasons) => json!({"is": "rejected", "reason": reasons.join("; ")}),
        Outlook::Change(wanted) => json!({"is": "change", "change": change(wanted)}),
        Outlook::Held { reason, change: wanted } => {
            json!({"is": "held", "reason": reason, "change": wanted.as_ref().map(|wanted| change(wanted))})
        }
        Outlook::Dropped(wanted) => json!({"is": "dropped", "change": change(wanted)}),
    }
}

fn decision_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approved(_) => "approved",
        Verdict::Rejected(_) => "rejected",
    }
}

fn presence(all: &Explanation) -> Option<&str> {
    all.entity.as_ref()?.value("onsite_status").as_text()
}

/// The text for a person.
struct View<'a> {
    ui: &'a Ui,
    job: &'a Job,
    key: &'a Key,
    all: &'a Explanation,
    show_values: bool,
}

impl View<'_> {
    fn show(&self) {
        self.ui.line(format!("{} of job {}", self.ui.paint(Paint::Bold, &sanitize(self.key.as_str())), self.job.name));
        self.source();
        self.service();
        self.fields();
        self.matches();
        self.outlook();
        self.waits();
        self.past();
    }

    fn say(&self, what: &str, text: impl AsRef<str>) {
        self.ui.line(format!("{what:9} {}", text.as_ref()));
    }

    fn source(&self) {
        let from = sanitize(&self.all.from);
        if let Some(inbox) = self.all.inbox.as_ref().filter(|_| self.all.unreadable.is_none()) {
            self.ui.line(format!("  {}", sanitize(inbox)));
        }
        if let Some(reason) = &self.all.unreadable {
            self.say("source", sanitize(reason));
        } else if self.all.rows.is_empty() {
            self.say("source", format!("{from}: no row has this key"));
        }
        for row in &self.all.rows {
            let said = match &row.reading.mapped {
                Mapped::Rejected(rejected) => {
                    let field = rejected.field.as_ref().map(|field| format!("{field}: ")).unwrap_or_default();
                    format!(": rejected: {}{}", sanitize(&field), sanitize(&rejected.reason.to_string()))
                }
                _ => row.reading.absence().map(|absence| format!(": {absence}")).unwrap_or_default(),
            };
            let place = sanitize(&self.job.source.place(row.line, row.dn.as_deref()));
            self.say("source", format!("{from}, {place}{said}"));
            row.joined.iter().for_each(|joined| self.say("", joined_line(joined)));
            if self.show_values {
                row.cells.iter().for_each(|(column, cell)| {
                    self.ui.line(format!("            {} = \"{}\"", sanitize(column), sanitize(cell)));
                });
            }
        }
        self.all.incomplete.iter().for_each(|reason| self.say("", format!("incomplete read: {}", sanitize(reason))));
        self.all.lost.iter().for_each(|reason| self.say("", sanitize(reason)));
    }

    fn service(&self) {
        let Some(known) = &self.all.known else {
            self.say("service", "this record neither created nor matched anyone there");
            return;
        };
        let stands = match (&self.all.entity, presence(self.all)) {
            (None, _) => "gone from there at the last look".to_owned(),
            (Some(_), Some(presence)) => format!("{} at the last look", sanitize(presence)),
            (Some(_), None) => "presence not known".to_owned(),
        };
        let whose = match &self.all.owner {
            Some(owner) if owner.job == self.job.name && owner.key == *self.key => "owned by this record".to_owned(),
            Some(owner) => format!("owned by key {} of job {}", sanitize(owner.key.as_str()), owner.job),
            None => "owned by no record".to_owned(),
        };
        self.say("service", format!("id {}, made there {}; {whose}; {stands}", known.id, sanitize(&known.created)));
    }

    fn fields(&self) {
        for field in &self.all.fields {
            let text = |value: &Option<Value>| match value {
                Some(value) => values::text(&field.name, value, self.show_values),
                None => "–".to_owned(),
            };
            let state = match field.state {
                FieldState::Unknown => String::new(),
                FieldState::Same => "  in step".to_owned(),
                FieldState::Differs => self.ui.paint(Paint::Yellow, "  differs"),
                FieldState::Drifted => self.ui.paint(Paint::Yellow, "  edited at the service since it was sent"),
                FieldState::Kept => {
                    "  edited at the service, which stays until the source changes (on_drift)".to_owned()
                }
                FieldState::Seeded => "  the service's own since it was made (seed_only)".to_owned(),
            };
            self.say("field", format!("{} = {}{state}", sanitize(&field.name), sanitize(&field.template)));
            let echo = match &field.echo {
                Some(echo) => format!(", which the service made {}", values::text(&field.name, echo, self.show_values)),
                None => String::new(),
            };
            let (wanted, holds, sent) = (text(&field.wanted), text(&field.holds), text(&field.sent));
            self.ui.line(format!("            source {wanted}, service {holds}, last sent {sent}{echo}"));
        }
        self.say("", "these fields belong to this job; what it does not map is left to the service");
    }

    fn matches(&self) {
        for Fit { field, people } in &self.all.fits {
            let one = |(id, owner): &(RemoteId, Option<Owner>)| match owner {
                Some(owner) if owner.job == self.job.name && owner.key == *self.key => {
                    format!("id {id} (this record's)")
                }
                Some(owner) => format!("id {id} (of key {} of job {})", sanitize(owner.key.as_str()), owner.job),
                None => format!("id {id} (no record's)"),
            };
            let fits: Vec<String> = people.iter().map(one).collect();
            let fits = if fits.is_empty() { "no one at the service".to_owned() } else { fits.join(", ") };
            self.say("match", format!("by {}: {fits}", sanitize(field)));
        }
    }

    fn outlook(&self) {
        let wanted = |change: &Change| {
            let fields: Vec<String> = change.moves().map(|(field, ..)| sanitize(field)).collect();
            match fields.is_empty() {
                true => change.wish.action.name().to_owned(),
                false => format!("{} ({})", change.wish.action.name(), fields.join(", ")),
            }
        };
        let text = match &self.all.outlook {
            Outlook::Unclear(reason) => format!("can't be said: {}", sanitize(reason)),
            Outlook::Absent if self.all.rows.is_empty() && !self.all.incomplete.is_empty() => {
                "nothing: no one leaves by a read that is not complete".to_owned()
            }
            Outlook::Absent | Outlook::Nothing if self.all.held.is_some() => {
                "nothing before what is held is decided or mended".to_owned()
            }
            Outlook::Absent if self.all.rows.is_empty() => "nothing of the source: it has no such record".to_owned(),
            Outlook::Absent => "nothing of the source: its row does not count today".to_owned(),
            Outlook::Leaves(action) => {
                let fate = if *action == Action::Update { "set as gone" } else { "removed" };
                format!("{fate}: the source does not have them any more, and the grace is over")
            }
            Outlook::Nothing => "nothing: source and service agree".to_owned(),
            Outlook::Rejected(reasons) => format!("nothing: the row is rejected: {}", sanitize(&reasons.join("; "))),
            Outlook::Change(change) => wanted(change),
            Outlook::Held { reason, change: Some(change) } => format!("{}, held: {}", wanted(change), sanitize(reason)),
            Outlook::Held { reason, change: None } => format!("held: {}", sanitize(reason)),
            Outlook::Dropped(change) => {
                format!("nothing: {} was rejected, until the record changes or comes back", wanted(change))
            }
        };
        self.say("next", text);
        for bad in &self.all.bad_values {
            let field = bad.field.as_deref().map(|field| format!("{field}: ")).unwrap_or_default();
            self.say("not used", format!("{}{}", sanitize(&field), sanitize(&bad.reason.to_string())));
        }
    }

    fn waits(&self) {
        if let Some(pause) = &self.all.paused {
            self.say("paused", sanitize(&pause.reason()));
        }
        if let Some((held, set)) = &self.all.held {
            let action = held.action.map_or("held", |action| action.name());
            self.say("held", format!("{action} (set {set}): {}", sanitize(&held.reason.to_string())));
        }
        if let Some(verdict) = self.all.decision {
            self.say("decided", decision_name(verdict));
        }
        if let Some(change) = &self.all.queued {
            let action = change.wish.action.name();
            self.say(
                "queue",
                match &change.state {
                    State::Waiting => format!("{action} waits to be sent"),
                    State::Sent { attempts, .. } => {
                        format!("{action} was sent ({attempts} attempts), and what became of it is not known yet")
                    }
                    State::Parked { status: 0, words } => format!("{action} is parked: {}", sanitize(words)),
                    State::Parked { status, words } => {
                        format!("{action} is parked: the service answered {status}: {}", sanitize(words))
                    }
                },
            );
        }
        if let Some(kept) = &self.all.kept {
            let when = match kept.begins {
                Some(day) => format!("an earlier file of changes names it from {day} on"),
                None => "an earlier file of changes names it; it comes once a run finds what it lacks".to_owned(),
            };
            let unless =
                if kept.is_usable { "" } else { ", but by another mapping: drop it again, else it never comes" };
            self.say("later", when + unless);
        }
        if let Some(day) = self.all.leaves {
            self.say("leaves", format!("on {day}, the day after the last one that its file names"));
        }
        if let Some(gone) = self.all.known.as_ref().and_then(|known| known.gone.as_ref()) {
            let end = match self.all.due {
                Some(due) => format!("; the grace ends {due:.0}"),
                None => "; the job keeps leavers".to_owned(),
            };
            let reads = gone.reads;
            self.say("missing", format!("since {:.0}, and in {reads} further complete reads{end}", gone.since));
        }
        if let Some(left) = self.all.known.as_ref().and_then(|known| known.left.as_ref()) {
            self.say("left", format!("what leavers.set asks for was done {:.0}", left.at));
        }
        match &self.all.leaving {
            None => {}
            Some(Err(reason)) => self.say("leaving", sanitize(reason)),
            Some(Ok(values)) => {
                for (field, value) in values {
                    let text = values::text(field, value, self.show_values);
                    self.say("leaving", format!("{} = {text} (leavers.set)", sanitize(field)));
                }
            }
        }
    }

    fn past(&self) {
        for decided in &self.all.decisions {
            self.say(
                "decided",
                format!("{:.0}  {} by {}", decided.at, sanitize(&decided.decision), sanitize(&decided.by)),
            );
        }
        if let Some(changed) = &self.all.last_change {
            self.say("changed", format!("{:.0}  {} by run {}", changed.at, changed.action.name(), changed.run));
            for (field, moved) in &changed.fields {
                let text = |value| values::text(field, value, self.show_values);
                let moved = moved.as_ref().map(|[from, to]| format!("{} → {}", text(from), text(to)));
                let moved = moved.unwrap_or_else(|| "values dropped".to_owned());
                self.ui.line(format!("            {}: {moved}", sanitize(field)));
            }
        }
        if let Some(last) = &self.all.last_run {
            self.say("last run", format!("{}, ended {:.0}: {}", last.run, last.ended, last.status.name()));
        }
    }
}
