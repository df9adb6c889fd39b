//! `rosterd api`.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::{Client, Operation, Raw, RawAnswer, Verb, operations};
use crate::cli::args::ApiArgs;
use crate::cli::backend::startup_failure::of_account;
use crate::cli::backend::{Backend, body, session};
use crate::cli::ui::{Exit, Failure, Message, Ui};
use crate::clock::Clock;
use crate::config::{Config, Needs};
use crate::daemon::client_for_command;
use crate::store::Store;

/// The most pages that `--all` reads.
const PAGES_MAX: usize = 20_000;
/// Lists that can't be walked, and how many entries the service shows of them (specification, Limits).
const SHOWN_AT_MOST: [(&str, usize); 2] = [("induction.holder.list", 1000), ("notification.list", 200)];
/// The header that is given like a parameter.
const SINCE: &str = "If-Modified-Since";

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &ApiArgs) -> Result<Exit, Failure> {
    let Some(name) = &args.operation else {
        list(ui);
        return Ok(Exit::Done);
    };
    let raw = Raw {
        operation: name.clone(),
        parameters: parameters(args)?,
        body: args.body.as_deref().map(|text| given(host, text)).transpose()?,
        media_type: args.content_type.clone(),
    };
    let operation = operations().iter().find(|operation| operation.name == *name);
    let verb = operation.map(|operation| operation.verb);
    if args.since.is_some() && operation.is_some_and(|operation| !operation.parameters.contains(&SINCE)) {
        let words = format!("{name} takes no --since: the service would show all of it, as if all had changed");
        return Err(Failure::usage(Message(words)).hint("`rosterd api --json` lists what each operation takes"));
    }
    if verb == Some(Verb::Photo) && args.out.is_none() {
        return Err(Failure::usage(Message("a photo can't be shown here".to_owned())).hint("give --out FILE"));
    }
    let config = session::configuration_for(ui, host, Needs::Account)?;
    host.expect_right_to_send()?;
    // Where the state lies in a database, only who has the account sends.
    let store = match config.state.home.relay() {
        Some(_) => Some(host.store(&config).await?),
        None => None,
    };
    let client = client(host, &config, store.as_deref())?;
    if args.all {
        return all(ui, &client, raw, config.api.page_size).await;
    }
    let answer = client.raw(raw).await?;
    if answer.is_success() && args.out.is_none() && !answer.body.is_empty() && !is_json(&answer) {
        show(ui, &answer);
        return Err(Failure::failed(Message(format!("the answer {} is not JSON", answer.status)))
            .hint("check base_url and what stands between, or give --out FILE for whatever it is"));
    }
    if verb == Some(Verb::PhotoHead) && answer.is_success() {
        ui.shown(&json!({"content_type": answer.content_type, "length": answer.length}));
        return Ok(Exit::Done);
    }
    match &args.out {
        Some(path) if answer.is_success() => host.write(path, &answer.body)?,
        _ if answer.body.is_empty() => {}
        _ => show(ui, &answer),
    }
    Ok(ended(ui, &answer))
}

/// The client with its record of requests sent, which counts these with those of `sync` (law 12).
fn client(host: &Backend, config: &Config, store: Option<&Store>) -> Result<Client, Failure> {
    match host {
        Backend::Here(_) => {
            config.state.home.create()?;
            match store {
                Some(store) => client_for_command(config, store, &Clock::system()).map_err(of_account),
                None => Ok(Client::new(&config.api, &Clock::system())?),
            }
        }
        Backend::Daemon(lent) => Ok(lent.engine.setup().client.for_run()),
    }
}

fn list(ui: &Ui) {
    let row = |operation: &Operation| {
        json!({
            "name": operation.name,
            "method": operation.method.as_str(),
            "path": operation.path,
            "about": operation.about,
            "parameters": operation.path_parameters().chain(operation.parameters.iter().copied()).collect::<Vec<_>>(),
        })
    };
    if ui.json {
        ui.document(&json!({"version": 1, "operations": operations().iter().map(row).collect::<Vec<_>>()}));
        return;
    }
    let width = operations().iter().map(|operation| operation.name.len()).max().unwrap_or(0);
    for operation in operations() {
        let call = format!("{} {}", operation.method.as_str(), operation.path);
        ui.line(format!("{:width$}  {call:38}  {}", operation.name, operation.about));
    }
}

fn parameters(args: &ApiArgs) -> Result<Vec<(String, String)>, Failure> {
    let mut parameters = Vec::new();
    for text in &args.parameters {
        let Some((name, value)) = text.split_once('=') else {
            return Err(
                Failure::usage(Message(format!("{text:?} is no NAME=VALUE"))).hint("for example: staff.get id=7")
            );
        };
        parameters.push((name.to_owned(), value.to_owned()));
    }
    if let Some(since) = &args.since {
        parameters.push((SINCE.to_owned(), since_header(since)));
    }
    Ok(parameters)
}

/// A time with a zone becomes the form that the service reads; anything else is sent as it is.
fn since_header(text: &str) -> String {
    let utc = |at: Timestamp| at.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    text.parse::<Timestamp>().map_or_else(|_| text.to_owned(), utc)
}

/// The body, which the caller of a daemon has read.
fn given(host: &Backend, text: &str) -> Result<Vec<u8>, Failure> {
    match host {
        Backend::Here(_) => body::read(text),
        Backend::Daemon(_) => body::received(&host.read(Path::new(text))?),
    }
}

fn is_json(answer: &RawAnswer) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(&answer.body).is_ok()
}

/// Prints what was answered: JSON as such, anything else as it is.
fn show(ui: &Ui, answer: &RawAnswer) {
    match serde_json::from_slice::<Value>(&answer.body) {
        Ok(value) => ui.shown(&value),
        Err(_) => ui.bytes(&answer.body),
    }
}

fn ended(ui: &Ui, answer: &RawAnswer) -> Exit {
    if answer.is_success() {
        return Exit::Done;
    }
    ui.note(format!("the service answered {}", answer.status));
    Exit::Failed
}

/// Walks all pages of a list by id and prints one array.
async fn all(ui: &Ui, client: &Client, first: Raw, page_size: u32) -> Result<Exit, Failure> {
    let Some(operation) = operations().iter().find(|operation| operation.name == first.operation) else {
        client.raw(first).await?;
        return Ok(Exit::Failed);
    };
    let takes = |name| operation.parameters.contains(&name);
    if operation.verb != Verb::List {
        return Err(Failure::usage(Message(format!("{} is no list", operation.name))).hint("leave --all out"));
    }
    if !takes("q") || !takes("order") {
        return plain(ui, client, first).await;
    }
    if let Some((name, _)) = first.parameters.iter().find(|(name, _)| matches!(name.as_str(), "order" | "page")) {
        return Err(Failure::usage(Message(format!("--all walks by id and can't be given {name}"))));
    }
    let mut items: Vec<Value> = Vec::new();
    let mut cursor = None;
    for pages in 0.. {
        if pages == PAGES_MAX {
            return Err(Failure::failed(Message(format!(
                "the list does not end after {PAGES_MAX} pages; nothing is shown"
            ))));
        }
        let answer = client.raw(page(&first, cursor, page_size)).await?;
        if answer.status == 404 && cursor.is_some() || answer.status == 304 {
            break;
        }
        if !answer.is_success() {
            show(ui, &answer);
            return Ok(ended(ui, &answer));
        }
        let Some(mut found) = answer.list() else {
            return Err(Failure::failed(Message(format!("the answer to {} is no list", operation.name))));
        };
        if found.is_empty() {
            break;
        }
        let last = found.iter().filter_map(|item| item.get("id")?.as_i64()).max();
        if last.is_none() || last <= cursor {
            return Err(Failure::failed(Message("the list's ids do not grow; it can't be walked".to_owned())));
        }
        cursor = last;
        items.append(&mut found);
    }
    ui.shown(&Value::Array(items));
    Ok(Exit::Done)
}

/// Reads a list that has no order, and so no pages: one request brings all that the service shows.
async fn plain(ui: &Ui, client: &Client, request: Raw) -> Result<Exit, Failure> {
    let name = request.operation.clone();
    let answer = client.raw(request).await?;
    show(ui, &answer);
    let count = answer.list().map_or(0, |list| list.len());
    if SHOWN_AT_MOST.iter().any(|(list, most)| *list == name && count >= *most) {
        ui.warn(format!("the service shows {count} entries of this list at most; there may be more"));
    }
    Ok(ended(ui, &answer))
}

fn page(first: &Raw, cursor: Option<i64>, page_size: u32) -> Raw {
    let mut raw = first.clone();
    raw.parameters.push(("order".to_owned(), "id".to_owned()));
    if !raw.parameters.iter().any(|(name, _)| name == "limit") {
        raw.parameters.push(("limit".to_owned(), page_size.to_string()));
    }
    if let Some(cursor) = cursor {
        match raw.parameters.iter_mut().find(|(name, _)| name == "q") {
            Some((_, filter)) => filter.push_str(&format!(",id>{cursor}")),
            None => raw.parameters.push(("q".to_owned(), format!("id>{cursor}"))),
        }
    }
    raw
}
