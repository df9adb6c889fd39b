//! The field values of someone who is gone: templates without a row.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use minijinja::{Environment, Value as Given};

use super::check::unknown;
use super::engine::environment;
use super::error::Error;
use super::options::Vocabulary;
use super::template::Compiled;
use crate::record::{Field, RowDefect, Target, Value, Values};
use crate::source::Name;

/// What the templates see: what the record last was, by field, and the date since when they are gone.
const LAST: &str = "last";
const LEFT: &str = "left";

/// What a job says about the fields of someone who is gone. Every text is a template.
#[derive(Clone, Debug)]
pub struct LeaverOptions {
    /// What the records are.
    pub target: Target,
    /// Templates by field name.
    pub fields: BTreeMap<String, String>,
    /// Look-up tables by name.
    pub tables: BTreeMap<String, BTreeMap<String, String>>,
    /// The fields that the job maps, which `last` has.
    pub mapped: Vec<String>,
    /// Where days begin and end.
    pub time_zone: TimeZone,
}

/// The templates, found to be right.
pub struct LeaverSet {
    environment: Environment<'static>,
    fields: Vec<(Field, Compiled)>,
    mapped: Vec<String>,
}

impl LeaverSet {
    /// Compiles every template; everything that is wrong comes at once.
    pub fn compile(options: &LeaverOptions) -> Result<Self, Vec<Error>> {
        let tables = Arc::new(options.tables.clone());
        let mut environment = environment(Arc::clone(&tables), options.time_zone.clone());
        let mut faults = Vec::new();
        let mut fields = Vec::new();
        for (name, text) in &options.fields {
            let place = format!("leavers.set.{name}");
            let Some(field) = options.target.field(name) else {
                faults.push(Error::whole(&place, format!("{} has no such field", options.target)));
                continue;
            };
            match Compiled::new(&mut environment, &place, text, Vocabulary::of_tables(&tables)) {
                Ok(compiled) => {
                    faults.extend(strangers(&compiled, &environment, &options.mapped));
                    fields.push((field, compiled));
                }
                Err(found) => faults.extend(found),
            }
        }
        if faults.is_empty() { Ok(Self { environment, fields, mapped: options.mapped.clone() }) } else { Err(faults) }
    }

    /// The fields that are set.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().map(|(field, _)| field)
    }

    /// The values for someone who `last` was so and is gone since the day `left`; or the field that can't be had, and why.
    pub fn values(&self, last: &Values, left: Date) -> Result<Values, (String, RowDefect)> {
        let last: BTreeMap<&str, Given> = self
            .mapped
            .iter()
            .map(|field| (field.as_str(), given(last.get(field.as_str()).unwrap_or(&Value::Empty))))
            .collect();
        let variables = Given::from(BTreeMap::from([(LAST, Given::from(last)), (LEFT, left.to_string().into())]));
        let mut values = Values::new();
        for (field, template) in &self.fields {
            let value = template
                .on_variables(&self.environment, variables.clone())
                .and_then(|outcome| outcome.value(field.kind))
                .and_then(|value| match value {
                    value if field.required && value.is_empty() => Err(RowDefect::Empty),
                    value => Ok(value),
                });
            match value {
                Ok(value) => values.insert(field.name.clone(), value),
                Err(reason) => return Err((field.name.to_string(), reason)),
            };
        }
        Ok(values)
    }
}

/// Shows the fields' names.
impl fmt::Debug for LeaverSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.fields().map(|field| field.name.as_str()).collect();
        f.debug_struct("LeaverSet").field("fields", &names).finish_non_exhaustive()
    }
}

/// Names that a template uses and that a person who is gone does not have.
fn strangers(compiled: &Compiled, environment: &Environment<'static>, mapped: &[String]) -> Vec<Error> {
    let fault = |reason| Error::whole(&compiled.place, reason);
    let is_own = |name: &Name| matches!(name, Name::Plain(name) if name == LAST || name == LEFT);
    let mut faults: Vec<Error> = compiled
        .names
        .iter()
        .filter(|name| !is_own(name))
        .map(|name| {
            let name = name.as_str();
            fault(format!("`{name}` is not there: someone who is gone has no row; there are {LAST}.FIELD and {LEFT}"))
        })
        .collect();
    let nested = environment.get_template(&compiled.place).map(|template| template.undeclared_variables(true));
    let prefix = format!("{LAST}.");
    let nested = nested.unwrap_or_default();
    let fields = nested.iter().filter_map(|name| name.strip_prefix(&prefix));
    faults.extend(
        fields
            .filter(|field| !mapped.iter().any(|known| known == field))
            .map(|field| fault(unknown("mapped field", field, mapped.iter().map(String::as_str)))),
    );
    faults
}

fn given(value: &Value) -> Given {
    match value {
        Value::Empty => Given::from(""),
        Value::Text(text) => Given::from(text.as_str()),
        Value::Flag(flag) => Given::from(*flag),
        Value::List(names) => Given::from(names.clone()),
        Value::Ids(ids) => Given::from(ids.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(text: &str) -> Result<LeaverSet, Vec<Error>> {
        LeaverSet::compile(&LeaverOptions {
            target: Target::Staff,
            fields: BTreeMap::from([("title".to_owned(), text.to_owned())]),
            tables: BTreeMap::new(),
            mapped: ["name", "roletype", "cf.Locker"].map(str::to_owned).to_vec(),
            time_zone: TimeZone::UTC,
        })
    }

    #[test]
    fn a_template_sees_what_the_record_last_was_and_since_when_it_is_gone() {
        let last = Values::from([
            ("name".into(), Value::text("Ana")),
            ("roletype".into(), Value::list(vec!["a".into(), "b".into()])),
        ]);
        let left = jiff::civil::date(2026, 2, 3);
        for (text, expected) in [
            ("Left", Ok("Left")),
            ("{{ left }}", Ok("2026-02-03")),
            ("{{ last.name }}", Ok("Ana")),
            ("{{ last.name }} (left {{ left }})", Ok("Ana (left 2026-02-03)")),
            ("{{ last.roletype | join('/') }}", Ok("a/b")),
            ("{{ last['cf.Locker'] }}", Ok("")),
            ("{{ last.roletype }}", Err("the template gives a list; take one of it with `first`, or `join` it")),
        ] {
            let values = compiled(text).unwrap().values(&last, left);
            let title = values.map(|values| values["title"].shown()).map_err(|(_, reason)| reason.to_string());
            assert_eq!(title.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }

    #[test]
    fn a_template_that_asks_for_a_row_is_refused() {
        for (text, part) in [
            ("{{ first_name }}", "`first_name` is not there"),
            ("{{ source['First Name'] }}", "`First Name` is not there"),
            ("{{ last.nmae }}", "there is no mapped field `nmae`; did you mean `name`?"),
            ("{{ last.name | lookup('x') }}", "there is no table `x`"),
            ("{{ last.name ", "unexpected"),
        ] {
            let faults = compiled(text).unwrap_err();
            assert!(faults.iter().any(|fault| fault.to_string().contains(part)), "{text}: {faults:?}");
        }
    }
}
