//! Injected faults, and the small language that describes them.

use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;

use crate::error::Error;
use crate::operation::{Operation, operations};

/// One thing that goes wrong on purpose: which requests, what, and when. Made of text, see its error for the grammar.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    place: FaultPlace,
    pub(crate) effect: Effect,
    pub(crate) when: When,
}

/// Which requests a fault fits.
#[derive(Clone, Debug, Default, PartialEq)]
struct FaultPlace {
    method: Option<Method>,
    path: Option<String>,
    operation: Option<String>,
    lists_only: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Method {
    Named(String),
    Read,
    Write,
}

/// What a fault does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// An answer of that status; nothing is done.
    Status(u16, Option<u64>),
    /// It is done, and an answer of that status given.
    StatusAfter(u16, Option<u64>),
    /// It is done, the answer comes later.
    Delay(Duration),
    /// It is done later.
    DelayBefore(Duration),
    /// It is done, the answer waits until it is released.
    Hold,
    /// It is done when it is released.
    HoldBefore,
    /// The connection closes; nothing is done.
    CutBefore,
    /// It is done, the connection closes.
    CutAfter,
    /// It is done, the connection closes in the middle of the answer.
    Half,
    /// A web page with status 200; nothing is done.
    Html,
    /// `[]` with status 200; nothing is done.
    EmptyList,
    /// A 404; nothing is done.
    NotFound,
    /// It is done, and the answer shows entities otherwise.
    Disguised(Disguise),
}

/// How entities are shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Disguise {
    /// Without a field.
    Without(String),
    /// With a field under another name.
    As(String, String),
    /// With another value in a field.
    Shown(String, Value),
    /// A list does not have the one of that id.
    Omit(i64),
}

impl Disguise {
    /// Shows an entity, or each of a list, so.
    pub(crate) fn apply(&self, document: &mut Value) {
        match document {
            Value::Array(entities) => {
                entities.retain(|entity| !matches!(self, Self::Omit(id) if entity["id"] == *id));
                entities.iter_mut().for_each(|entity| self.apply(entity));
            }
            Value::Object(fields) => match self {
                Self::Omit(_) => {}
                Self::Without(name) => drop(fields.remove(name)),
                Self::Shown(name, value) => drop(fields.insert(name.clone(), value.clone())),
                Self::As(name, other) => {
                    let value = fields.remove(name);
                    fields.extend(value.map(|value| (other.clone(), value)));
                }
            },
            _ => {}
        }
    }
}

/// Which of the fitting requests a fault strikes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct When {
    pub(crate) after: u64,
    pub(crate) nth: Option<u64>,
    pub(crate) every: Option<u64>,
    pub(crate) times: Option<u64>,
    pub(crate) chance: Option<f64>,
    pub(crate) seed: u64,
}

/// A request as faults see it.
#[derive(Clone, Copy)]
pub(crate) struct FaultTarget<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) operation: Option<&'a Operation>,
}

impl Fault {
    /// Whether the fault is about such requests. Token requests are meant only where they are named.
    pub(crate) fn fits(&self, target: FaultTarget<'_>) -> bool {
        let FaultPlace { method, path, operation, lists_only } = &self.place;
        let reads = matches!(target.method, "GET" | "HEAD");
        let method = method.as_ref().is_none_or(|method| match method {
            Method::Named(name) => name == target.method,
            Method::Read => reads,
            Method::Write => !reads,
        });
        let by_path = path.as_ref().is_none_or(|path| target.path.starts_with(path.as_str()));
        let by_name = operation
            .as_ref()
            .is_none_or(|wanted| target.operation.is_some_and(|operation| is_named(operation, wanted)));
        let by_list = !lists_only || target.operation.is_some_and(Operation::is_list);
        let is_token = target.operation.is_some_and(Operation::is_token_request);
        let named = path.is_some() || operation.is_some();
        method && by_path && by_name && by_list && (!is_token || named)
    }
}

impl FromStr for Fault {
    type Err = Error;

    fn from_str(spec: &str) -> Result<Self, Error> {
        read(spec).map_err(|reason| Error::Fault { spec: spec.to_owned(), reason })
    }
}

fn read(spec: &str) -> Result<Fault, String> {
    let mut place = FaultPlace::default();
    let mut effect = None;
    let mut when = When::default();
    let mut retry_after = None;
    for word in spec.split([' ', ',', '\t']).filter(|word| !word.is_empty()) {
        if let Some(found) = read_effect(word)? {
            if effect.replace(found).is_some() {
                return Err(format!("{word:?} is a second effect"));
            }
        } else if let Some(seconds) = word.strip_prefix("retry-after=") {
            retry_after = Some(number(word, seconds, 0)?);
        } else if !read_when(word, &mut when)? {
            read_place(word, &mut place)?;
        }
    }
    let effect = effect.ok_or("there is no effect")?;
    let effect = match (effect, retry_after) {
        (Effect::Status(status, _), _) => Effect::Status(status, retry_after),
        (Effect::StatusAfter(status, _), _) => Effect::StatusAfter(status, retry_after),
        (effect, None) => effect,
        _ => return Err("retry-after goes with status only".to_owned()),
    };
    Ok(Fault { place, effect, when })
}

fn read_effect(word: &str) -> Result<Option<Effect>, String> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    Ok(Some(match name {
        "status" => Effect::Status(status(word, value)?, None),
        "status-after" => Effect::StatusAfter(status(word, value)?, None),
        "delay" => Effect::Delay(duration(word, value)?),
        "delay-before" => Effect::DelayBefore(duration(word, value)?),
        "hold" => Effect::Hold,
        "hold-before" => Effect::HoldBefore,
        "cut-before" => Effect::CutBefore,
        "cut-after" => Effect::CutAfter,
        "half" => Effect::Half,
        "html" => Effect::Html,
        "empty-list" => Effect::EmptyList,
        "not-found" => Effect::NotFound,
        "without" if !value.is_empty() => Effect::Disguised(Disguise::Without(value.to_owned())),
        "omit" => {
            let id = value.parse().map_err(|_| format!("{word:?} has no id"))?;
            Effect::Disguised(Disguise::Omit(id))
        }
        "show" => match value.split_once(':') {
            Some((name, value)) if !name.is_empty() => {
                let value = value.parse::<i64>().map_or_else(|_| value.into(), Value::from);
                Effect::Disguised(Disguise::Shown(name.to_owned(), value))
            }
            _ => return Err(format!("{word:?} has no name and value, such as show=name:Other")),
        },
        "as" => match value.split_once(':') {
            Some((name, other)) if !name.is_empty() && !other.is_empty() => {
                Effect::Disguised(Disguise::As(name.to_owned(), other.to_owned()))
            }
            _ => return Err(format!("{word:?} has no two names, such as as=customfields:cf")),
        },
        _ => return Ok(None),
    }))
}

fn read_when(word: &str, when: &mut When) -> Result<bool, String> {
    let Some((name, value)) = word.split_once('=') else { return Ok(false) };
    match name {
        "after" => when.after = number(word, value, 0)?,
        "nth" => when.nth = Some(number(word, value, 1)?),
        "every" => when.every = Some(number(word, value, 1)?),
        "times" => when.times = Some(number(word, value, 1)?),
        "seed" => when.seed = number(word, value, 0)?,
        "p" => {
            let chance = value.parse().ok().filter(|chance| (0.0..=1.0).contains(chance));
            when.chance = Some(chance.ok_or_else(|| format!("{word:?} is no probability from 0 to 1"))?);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn read_place(word: &str, place: &mut FaultPlace) -> Result<(), String> {
    match word {
        "GET" | "HEAD" | "POST" | "PUT" | "DELETE" => place.method = Some(Method::Named(word.to_owned())),
        "read" => place.method = Some(Method::Read),
        "write" => place.method = Some(Method::Write),
        "list" => place.lists_only = true,
        _ if word.starts_with('/') => place.path = Some(word.to_owned()),
        _ => {
            if !operations().iter().any(|operation| is_named(operation, word)) {
                return Err(format!("{word:?} is no operation and no other word that is known"));
            }
            place.operation = Some(word.to_owned());
        }
    }
    Ok(())
}

/// Whether an operation has that name, or one that begins so.
fn is_named(operation: &Operation, wanted: &str) -> bool {
    wanted.strip_suffix('*').map_or(operation.name == wanted, |beginning| operation.name.starts_with(beginning))
}

fn status(word: &str, value: &str) -> Result<u16, String> {
    value
        .parse()
        .ok()
        .filter(|status| (200..=599).contains(status))
        .ok_or_else(|| format!("{word:?} has no HTTP status"))
}

fn number(word: &str, value: &str, least: u64) -> Result<u64, String> {
    value.parse().ok().filter(|number| *number >= least).ok_or_else(|| format!("{word:?} has no number from {least}"))
}

/// Reads a number with its unit: `200ms`, `5s`, `2m`.
fn duration(word: &str, value: &str) -> Result<Duration, String> {
    let digits = value.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let amount: Option<u32> = digits.parse().ok();
    let unit = match &value[digits.len()..] {
        "ms" => Some(Duration::from_millis(1)),
        "s" => Some(Duration::from_secs(1)),
        "m" => Some(Duration::from_secs(60)),
        _ => None,
    };
    amount
        .zip(unit)
        .map(|(amount, unit)| unit * amount)
        .ok_or_else(|| format!("{word:?} has no time such as 200ms or 5s"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Route, route};

    fn fits(spec: &str, method: &str, path: &str) -> bool {
        let segments: Vec<String> = path.split('/').skip(1).map(str::to_owned).collect();
        let operation = match route(method, &segments) {
            Route::Operation(operation, _) => Some(operation),
            _ => operations().iter().find(|operation| operation.is_token_request() && path == "/oauth2/token"),
        };
        spec.parse::<Fault>().unwrap().fits(FaultTarget { method, path, operation })
    }

    #[test]
    fn a_fault_strikes_the_requests_it_names() {
        for (spec, method, path, expected) in [
            ("status=500", "GET", "/staff", true),
            ("status=500", "POST", "/oauth2/token", false),
            ("/oauth2 status=500", "POST", "/oauth2/token", true),
            ("oauth2.* status=500", "POST", "/oauth2/token", true),
            ("PUT /staff status=500", "PUT", "/staff/7", true),
            ("PUT /staff status=500", "GET", "/staff/7", false),
            ("PUT,/staff,status=500", "PUT", "/location", false),
            ("staff.create cut-after", "POST", "/staff", true),
            ("staff.create cut-after", "GET", "/staff", false),
            ("staff.* html", "GET", "/staff/7", true),
            ("list half", "GET", "/staff", true),
            ("list half", "GET", "/customfield/element/staff", true),
            ("list half", "GET", "/staff/7", false),
            ("write delay=1s", "DELETE", "/staff/7", true),
            ("read delay=1s", "DELETE", "/staff/7", false),
        ] {
            assert_eq!(fits(spec, method, path), expected, "{spec}: {method} {path}");
        }
    }

    #[test]
    fn an_effect_is_read_with_its_value() {
        for (spec, expected) in [
            ("status=429 retry-after=7", Effect::Status(429, Some(7))),
            ("status-after=502", Effect::StatusAfter(502, None)),
            ("delay=200ms", Effect::Delay(Duration::from_millis(200))),
            ("delay-before=2m", Effect::DelayBefore(Duration::from_secs(120))),
            ("hold", Effect::Hold),
            ("hold-before", Effect::HoldBefore),
            ("cut-before", Effect::CutBefore),
            ("empty-list", Effect::EmptyList),
            ("not-found", Effect::NotFound),
            ("without=ice", Effect::Disguised(Disguise::Without("ice".to_owned()))),
            ("omit=1003", Effect::Disguised(Disguise::Omit(1003))),
            ("show=name:Other", Effect::Disguised(Disguise::Shown("name".to_owned(), "Other".into()))),
            ("show=org_id:7", Effect::Disguised(Disguise::Shown("org_id".to_owned(), 7.into()))),
            ("as=customfields:cf", Effect::Disguised(Disguise::As("customfields".to_owned(), "cf".to_owned()))),
        ] {
            assert_eq!(spec.parse::<Fault>().unwrap().effect, expected, "{spec}");
        }
    }

    #[test]
    fn a_mistake_is_named_with_the_grammar() {
        for (spec, reason) in [
            ("", "no effect"),
            ("GET", "no effect"),
            ("html half", "second effect"),
            ("status=abc", "no HTTP status"),
            ("omit=all", "no id"),
            ("as=cf", "no two names"),
            ("show=name", "no name and value"),
            ("status=99", "no HTTP status"),
            ("delay=5", "no time"),
            ("delay=5é", "no time"),
            ("half nth=0", "no number from 1"),
            ("half p=1.5", "no probability"),
            ("half retry-after=3", "retry-after goes with"),
            ("staff.hire half", "no operation"),
        ] {
            let error = spec.parse::<Fault>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains("a fault is a few words"), "{spec}: {error}");
        }
    }
}
