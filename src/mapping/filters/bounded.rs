//! The engine's filters that make more of what they are given, with a limit: else a short template takes gigabytes.

use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State, Value};

use super::refusal::FilterRefusal;

/// The longest text that a filter makes, in bytes: the largest photo as base64 fits.
const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The largest number that a width or a count may be.
const WIDTH_MAX: i64 = 1000;
/// What a value that is no text may take as text, about.
const PLAIN_BYTES: usize = 64;

/// How long the result would be at most, of the value and the other arguments; or why it is refused.
type Estimate = fn(&[Value]) -> Result<usize, Error>;

/// The filters, and the names under which they do their work.
const BOUNDED: &[(&str, &str, Estimate)] = &[
    ("batch", "unbounded batch", narrow),
    ("format", "unbounded format", formatted),
    ("indent", "unbounded indent", indented),
    ("join", "unbounded join", joined),
    ("replace", "unbounded replace", replaced),
    ("slice", "unbounded slice", narrow),
];

/// Puts the limits before the engine's own filters. No template can name what they stand before.
pub(super) fn add(environment: &mut Environment<'static>) {
    use minijinja::filters;
    environment.add_filter("unbounded batch", filters::batch);
    environment.add_filter("unbounded format", filters::format);
    environment.add_filter("unbounded indent", filters::indent);
    environment.add_filter("unbounded join", filters::join);
    environment.add_filter("unbounded replace", filters::replace);
    environment.add_filter("unbounded slice", filters::slice);
    for (name, own, estimate) in BOUNDED {
        environment.add_filter(*name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
            let args: Vec<Value> = args.iter().map(|arg| Value::clone(arg)).collect();
            match estimate(&args)? {
                bytes if bytes > TEXT_BYTES_MAX => Err(FilterRefusal::error(format!(
                    "`{name}` would make more than {} MiB",
                    TEXT_BYTES_MAX / 1024 / 1024
                ))),
                _ => state.apply_filter(own, &args),
            }
        });
    }
}

/// Refuses a large number, wherever it is among the arguments.
fn narrow(args: &[Value]) -> Result<usize, Error> {
    let named = args.iter().filter(|arg| arg.is_kwargs()).flat_map(|named| {
        let names = named.try_iter().into_iter().flatten();
        names.filter_map(|name| named.get_item(&name).ok()).collect::<Vec<_>>()
    });
    let is_wide = |arg: &Value| arg.kind() == ValueKind::Number && arg.as_i64().is_none_or(|number| number > WIDTH_MAX);
    if args.iter().skip(1).any(is_wide) || named.collect::<Vec<_>>().iter().any(is_wide) {
        return Err(FilterRefusal::error(format!("widths and counts go up to {WIDTH_MAX}")));
    }
    Ok(0)
}

fn indented(args: &[Value]) -> Result<usize, Error> {
    narrow(args)?;
    let text = text(args.first());
    let lines = text.lines().count() + 1;
    Ok(text.len() + lines * usize::try_from(WIDTH_MAX).unwrap_or_default().min(TEXT_BYTES_MAX / lines))
}

/// A width is part of the format itself; a width as an argument is refused.
fn formatted(args: &[Value]) -> Result<usize, Error> {
    let format = text(args.first());
    let is_wide = |digits: &str| digits.parse::<i64>().map_or(!digits.is_empty(), |number| number > WIDTH_MAX);
    if format.contains('*') || format.split(|c: char| !c.is_ascii_digit()).any(is_wide) {
        return Err(FilterRefusal::error(format!("widths and counts go up to {WIDTH_MAX}")));
    }
    // The engine takes a name there apart by bytes.
    let plain = format.replace("%%", "");
    let mut names = plain.split("%(").skip(1).map(|rest| rest.split(')').next().unwrap_or_default());
    if !names.all(str::is_ascii) {
        return Err(FilterRefusal::error("a name in `%(…)` is of plain letters and digits"));
    }
    Ok(format.len() + args.iter().skip(1).map(length).sum::<usize>())
}

fn joined(args: &[Value]) -> Result<usize, Error> {
    let Some(list) = args.first() else { return Ok(0) };
    let joiner = args.get(1).filter(|joiner| !joiner.is_kwargs()).map_or(PLAIN_BYTES, length);
    let Ok(entries) = list.try_iter() else { return Ok(0) };
    let mut bytes = 0usize;
    for entry in entries {
        bytes = bytes.saturating_add(length(&entry)).saturating_add(joiner);
        if bytes > TEXT_BYTES_MAX {
            break;
        }
    }
    Ok(bytes)
}

fn replaced(args: &[Value]) -> Result<usize, Error> {
    let (text, from) = (text(args.first()), text(args.get(1)));
    let hits = if from.is_empty() { text.len() + 1 } else { text.matches(from).count() };
    Ok(text.len().saturating_add(hits.saturating_mul(args.get(2).map_or(0, length))))
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

fn length(value: &Value) -> usize {
    value.as_str().map_or(PLAIN_BYTES, str::len)
}
