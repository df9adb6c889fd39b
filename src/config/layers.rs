//! Applies the environment's variables over the file.
//!
//! A variable names its key with `__` for the dot: `ROSTERD__API__BASE_URL`. Jobs are a list and can't be set this way, save
//! for the password of a job's directory: `ROSTERD__JOB__EMPLOYEES__SOURCE__BIND_PASSWORD`.

use config::{Environment, Map, Source as _, Value};
use secrecy::SecretString;

use super::keys::{self, Shape};
use super::nearest::nearest;
use super::report::Report;

const PREFIX: &str = "rosterd";
const SEPARATOR: &str = "__";

/// Merges what the file says with what the environment says; `None` where they don't make a whole, with the reason in
/// the report.
pub(super) fn merge(
    file: Map<String, Value>,
    variables: &[(String, String)],
    report: &mut Report,
) -> Option<Map<String, Value>> {
    let accepted = accepted(variables, report);
    // Never `try_parsing`: a client id `007` would become the number 7.
    let environment =
        Environment::with_prefix(PREFIX).prefix_separator(SEPARATOR).separator(SEPARATOR).source(Some(accepted));
    let mut entries = file.into_iter();
    let builder = entries.try_fold(config::Config::builder(), |builder, (key, value)| builder.set_default(key, value));
    let merged = builder.and_then(|builder| builder.add_source(environment).build()?.collect());
    if merged.is_err() {
        report.problem_on_line(None, String::new(), "the configuration can't be read".to_owned(), None);
    }
    merged.ok()
}

/// The variables that set a known key to a value of the right shape.
fn accepted(variables: &[(String, String)], report: &mut Report) -> Map<String, String> {
    let mut accepted = Map::new();
    for (name, value) in variables {
        let lower = name.to_lowercase();
        let Some(path) = lower.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix(SEPARATOR)) else {
            warn_of_lookalike(name, &lower, report);
            continue;
        };
        let key = path.replace(SEPARATOR, ".");
        if job_of_password(&key).is_some() {
            continue;
        }
        if key == "job" || key.starts_with("job.") {
            let hint = "write it into the configuration file";
            report.problem_of_variable(name, "a job can't be set from the environment", Some(hint));
            continue;
        }
        match keys::shape(&key) {
            Some(Shape::Text | Shape::List) => {}
            Some(Shape::Number) if value.trim().parse::<i64>().is_ok() => {}
            Some(Shape::Table) | None => {
                refuse(name, &key, report);
                continue;
            }
            Some(shape) => {
                report.problem_of_variable(name, format!("must be {}", shape.described()), None);
                continue;
            }
        }
        report.set_by(&key, name);
        let value = if keys::shape(&key) == Some(Shape::Number) { value.trim() } else { value };
        accepted.insert(name.clone(), value.to_owned());
    }
    accepted
}

/// The passwords of jobs' directories among the variables: variable, job as a variable spells it, password.
pub(super) fn bind_passwords(variables: &[(String, String)]) -> Vec<(String, String, SecretString)> {
    let password = |(name, value): &(String, String)| {
        let lower = name.to_lowercase();
        let key = lower.strip_prefix(PREFIX)?.strip_prefix(SEPARATOR)?.replace(SEPARATOR, ".");
        Some((name.clone(), job_of_password(&key)?.to_owned(), SecretString::from(value.as_str())))
    };
    variables.iter().filter_map(password).collect()
}

/// The job whose password a variable sets.
fn job_of_password(key: &str) -> Option<&str> {
    key.strip_prefix("job.")?.strip_suffix(".source.bind_password").filter(|job| !job.is_empty())
}

fn refuse(name: &str, key: &str, report: &Report) {
    let known = keys::KNOWN.iter().filter(|key| key.shape != Shape::Table && !key.name.starts_with("job"));
    let hint = nearest(key, known.map(|key| key.name)).map(|key| format!("did you mean {}?", variable(&key)));
    report.problem_of_variable(name, "sets no known key", hint.as_deref());
}

/// `ROSTERD_API__BASE_URL` has one underscore too few and would be ignored in silence.
fn warn_of_lookalike(name: &str, lower: &str, report: &Report) {
    let Some(rest) = lower.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('_')) else { return };
    let key = rest.replace(SEPARATOR, ".");
    let meant = keys::KNOWN
        .iter()
        .find(|known| known.shape != Shape::Table && (known.name == key || known.name.replace('.', "_") == rest));
    if let Some(known) = meant {
        let hint = format!("did you mean {}?", variable(known.name));
        report.warning_of_variable(name, "is ignored", Some(&hint));
    }
}

/// The variable that sets a key.
fn variable(key: &str) -> String {
    format!("{PREFIX}{SEPARATOR}{}", key.replace('.', SEPARATOR)).to_uppercase()
}
