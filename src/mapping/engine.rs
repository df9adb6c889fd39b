//! The template engine, as narrow as templates need it.

use std::sync::Arc;

use jiff::tz::TimeZone;
use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value};

use super::filters;
use super::filters::FilterRefusal;
use super::options::Tables;

/// How many steps one template may take on one row.
const FUEL: u64 = 50_000;
/// How deep a template may nest.
const DEPTH_MAX: usize = 64;

/// The most that one template may print on one row, in bytes: the largest photo as base64 fits.
const PRINTED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How much a template has printed so far.
#[derive(Default)]
struct Printed(usize);

/// The blocks that templates may use. What makes templates of templates, or leaves text unread, is not among them.
pub(super) const BLOCKS: &[&str] =
    &["if", "elif", "else", "endif", "for", "endfor", "set", "endset", "with", "endwith"];

/// Words that may be before a bracket without being a function.
pub(super) const KEYWORDS: &[&str] =
    &["and", "or", "not", "in", "if", "elif", "else", "is", "for", "set", "with", "recursive"];

/// The filters, the engine's own and ours.
pub(super) const FILTERS: &[&str] = &[
    "abs",
    "attr",
    "batch",
    "bit",
    "bool",
    "capitalize",
    "chain",
    "count",
    "d",
    "date",
    "default",
    "dictsort",
    "digits",
    "e",
    "escape",
    "filetime",
    "first",
    "float",
    "format",
    "groupby",
    "guid",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "last_day",
    "length",
    "lines",
    "list",
    "lookup",
    "lower",
    "map",
    "max",
    "min",
    "ou",
    "phone",
    "pprint",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "split",
    "squeeze",
    "string",
    "sum",
    "title",
    "trim",
    "unique",
    "upper",
    "zfill",
    "zip",
];

/// The tests, all of them the engine's own.
pub(super) const TESTS: &[&str] = &[
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "eq",
    "equalto",
    "escaped",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "int",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "safe",
    "sameas",
    "sequence",
    "startingwith",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];

/// An engine that knows the row, the filters and nothing else.
pub(super) fn environment(tables: Arc<Tables>, time_zone: TimeZone) -> Environment<'static> {
    let mut environment = Environment::new();
    let globals: Vec<String> = environment.globals().map(|(name, _)| name.to_owned()).collect();
    globals.iter().for_each(|name| environment.remove_global(name));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(DEPTH_MAX);
    // Else an error would carry the row along.
    environment.set_debug(false);
    environment.set_formatter(print);
    filters::add(&mut environment, tables, time_zone);
    environment
}

/// What stands between other text must be text; nothing is printed for none, and all together no more than a limit, what is
/// set from printed text included.
fn print(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    let printed = state.get_or_insert_extension(Printed::default());
    printed.0 = printed.0.saturating_add(value.as_str().map_or(0, str::len));
    if printed.0 > PRINTED_BYTES_MAX {
        return Err(FilterRefusal::error(format!(
            "the template prints more than {} MiB",
            PRINTED_BYTES_MAX / 1024 / 1024
        )));
    }
    match value.kind() {
        ValueKind::None => Ok(()),
        ValueKind::String | ValueKind::Number | ValueKind::Bool => Ok(write_value(out, value)?),
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        _ => Err(FilterRefusal::error("a list cannot stand inside text; use `join`, or `first`")),
    }
}

fn write_value(out: &mut Output<'_>, value: &Value) -> std::fmt::Result {
    match value.as_str() {
        Some(text) => out.write_str(text),
        None => write!(out, "{value}"),
    }
}

/// The text that a literal of the template language means.
pub(super) fn text_of_literal(literal: &str) -> String {
    let bare = literal.get(1..literal.len().saturating_sub(1)).unwrap_or("");
    if !bare.contains('\\') {
        return bare.to_owned();
    }
    let environment = Environment::empty();
    let value = environment.compile_expression(literal).and_then(|expression| expression.eval(()));
    value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_else(|| bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_filter_and_test_is_there() {
        let environment = environment(Arc::default(), TimeZone::UTC);
        for (names, test) in [(FILTERS, "filter"), (TESTS, "test")] {
            for name in names {
                let expression = format!("'{name}' is {test}");
                let there = environment.compile_expression(&expression).unwrap().eval(()).unwrap();
                assert!(there.is_true(), "{expression}");
            }
            assert!(names.is_sorted());
        }
    }

    #[test]
    fn templates_know_no_function() {
        assert_eq!(environment(Arc::default(), TimeZone::UTC).globals().count(), 0);
    }

    #[test]
    fn a_literal_means_its_text() {
        for (literal, text) in [("'a b'", "a b"), ("\"a\\\"b\"", "a\"b"), ("'a\\\\b'", "a\\b"), ("''", "")] {
            assert_eq!(text_of_literal(literal), text, "{literal}");
        }
    }
}
