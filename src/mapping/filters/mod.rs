//! The filters beyond the template engine's own.
//!
//! Each takes what a source gives: text, or nothing, which stays nothing. What it cannot take rejects the row, with a
//! reason that names the rule and not the value (law 11).

mod bounded;
mod country;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod phone;
mod refusal;
mod text;
mod time;

use std::sync::Arc;

use jiff::tz::TimeZone;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, Value};

pub(super) use phone::knows_country;
pub(super) use refusal::FilterRefusal;
pub(super) use time::{YEAR_MIN, check_format as check_date_format};

use super::options::Tables;
use crate::record::RowDefect;

/// Adds the filters to an engine.
pub(super) fn add(environment: &mut Environment<'static>, tables: Arc<Tables>, time_zone: TimeZone) {
    bounded::add(environment);
    environment.add_filter("ou", |value: Value| each(&value, text::ou));
    let zone = time_zone.clone();
    environment.add_filter("last_day", move |value: Value| each(&value, |it| time::last_day(it, &zone)));
    environment.add_filter("zfill", |value: Value, width: usize| each(&value, |it| text::zfill(it, width)));
    environment.add_filter("digits", |value: Value| each(&value, |it| Ok(text::digits(it))));
    environment.add_filter("squeeze", |value: Value| each(&value, |it| Ok(text::squeeze(it))));
    environment.add_filter("bit", |value: Value, mask: i64| each(&value, |it| text::bit(it, mask)));
    environment
        .add_filter("date", move |value: Value, format: String| each(&value, |it| time::date(it, &format, &time_zone)));
    environment.add_filter("filetime", |value: Value| each(&value, time::filetime));
    environment.add_filter("phone", |value: Value, country: String| each(&value, |it| phone::phone(it, &country)));
    environment.add_filter("guid", |value: Value| match value.as_bytes() {
        Some(bytes) if value.kind() == ValueKind::Bytes => {
            text::guid_of_bytes(bytes).map_err(FilterRefusal::error).map(Value::from)
        }
        _ => each(&value, text::guid),
    });
    environment.add_filter("lookup", move |value: Value, table: String| {
        let rows =
            tables.get(&table).ok_or_else(|| FilterRefusal::error("the template names a table that is not there"))?;
        each(&value, |it| rows.get(it).cloned().ok_or_else(|| RowDefect::NotInTable { table: table.clone() }))
    });
}

/// Applies a filter to text without its outer white space. Nothing stays nothing; a list is filtered entry by entry.
fn each<T: Into<Value>>(value: &Value, filter: impl Fn(&str) -> Result<T, RowDefect> + Copy) -> Result<Value, Error> {
    let on_text = |text: &str| match text.trim() {
        "" => Ok(Value::from("")),
        text => filter(text).map(Into::into).map_err(FilterRefusal::error),
    };
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(Value::from("")),
        ValueKind::String => on_text(value.as_str().unwrap_or_default()),
        ValueKind::Number => on_text(&value.to_string()),
        ValueKind::Seq | ValueKind::Iterable => {
            let filtered = value.try_iter()?.map(|entry| each(&entry, filter));
            Ok(Value::from(filtered.collect::<Result<Vec<Value>, Error>>()?))
        }
        _ => Err(FilterRefusal::error("the filter takes text only")),
    }
}
