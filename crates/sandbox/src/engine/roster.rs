//! The rows of an uploaded roster: a JSON array of employee inputs, or CSV with a header of input names.
//!
//! In CSV a cell that is empty isn't sent; a list is separated by semicolons; `cf<ID>` is a custom field. Tokens are
//! columns in both (specification, Employee): `token<N>type`, `token<N>number`, `token<N>issued`, `token<N>expires`.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::super::answer::Rejection;
use super::super::resource::Field;
use super::super::tables::STAFF;
use super::super::zone;
use super::Call;

/// The most rows that one upload may have.
const ROWS_MAX: usize = 500_000;

/// Columns that hold lists.
const LISTS: &[&str] = &["roletype", "globalroaming_locations"];

/// One row: an employee's input, and the tokens where it has any.
pub(super) struct RosterEntry {
    pub(super) body: Map<String, Value>,
    pub(super) tokens: Option<Value>,
}

impl Call<'_> {
    /// The rows of the body.
    pub(super) fn roster(&self) -> Result<Vec<RosterEntry>, Rejection> {
        let bodies =
            if self.media_type() == "text/csv" { from_csv(self.order.body)? } else { from_list(self.body()?)? };
        if bodies.len() > ROWS_MAX {
            return Err(Rejection::bad(format!("the roster has more than {ROWS_MAX} rows")));
        }
        let entry = |(index, mut body): (usize, Map<String, Value>)| {
            let tokens = take_tokens(&mut body).ok_or_else(|| at_row(index, "a token that can't be read"))?;
            Ok(RosterEntry { body, tokens })
        };
        bodies.into_iter().enumerate().map(entry).collect()
    }
}

/// Says in which row something is wrong.
pub(super) fn at_row(index: usize, what: &str) -> Rejection {
    Rejection::bad(format!("row {} has {what}", index + 1))
}

fn from_list(body: Value) -> Result<Vec<Map<String, Value>>, Rejection> {
    let Value::Array(rows) = body else { return Err(Rejection::bad("the body is no list of employees")) };
    let object = |(index, row)| match row {
        Value::Object(row) => Ok(row),
        _ => Err(at_row(index, "no object")),
    };
    rows.into_iter().enumerate().map(object).collect()
}

fn from_csv(bytes: &[u8]) -> Result<Vec<Map<String, Value>>, Rejection> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut reader = csv::Reader::from_reader(bytes);
    let header = reader.headers().map_err(|_| Rejection::bad("the CSV has no header in UTF-8"))?.clone();
    // Without a row below it a wrong header would be an empty roster, which removes everybody.
    if header.is_empty() || !header.iter().all(is_column) {
        return Err(Rejection::bad("the CSV has no column, or one that doesn't exist"));
    }
    let mut rows = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(|_| at_row(index, "other columns than the header, or is not UTF-8"))?;
        rows.push(header.iter().zip(record.iter()).filter(|(_, cell)| !cell.is_empty()).fold(Map::new(), with_cell));
    }
    Ok(rows)
}

/// Whether a column of that name is taken.
fn is_column(name: &str) -> bool {
    let is_field = |field: &Field| field.name == name || field.inputs.contains(&name);
    element_column(name).is_some() || token_column(name).is_some() || STAFF.fields.iter().any(is_field)
}

/// The row with one more cell.
fn with_cell(mut row: Map<String, Value>, (name, cell): (&str, &str)) -> Map<String, Value> {
    if let Some(id) = element_column(name) {
        let custom = row.entry("cf").or_insert_with(|| json!({}));
        if let Value::Object(custom) = custom {
            custom.insert(id.to_owned(), cell.into());
        }
    } else if LISTS.contains(&name) {
        row.insert(name.to_owned(), cell.split(';').map(str::trim).filter(|item| !item.is_empty()).collect());
    } else {
        row.insert(name.to_owned(), cell.into());
    }
    row
}

/// The element whose custom field a column holds.
fn element_column(name: &str) -> Option<&str> {
    name.strip_prefix("cf").filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Takes the columns of tokens out of a row; `Some(None)` where there are none.
fn take_tokens(body: &mut Map<String, Value>) -> Option<Option<Value>> {
    let mut tokens: BTreeMap<u64, Map<String, Value>> = BTreeMap::new();
    let names: Vec<String> = body.keys().filter(|name| token_column(name).is_some()).cloned().collect();
    for name in names {
        let (number, part) = token_column(&name)?;
        let value = body.remove(&name).filter(|value| !value.is_null());
        let value = value.map_or(Some(Value::Null), |value| token_value(part, &value))?;
        tokens.entry(number).or_default().insert(part.to_owned(), value);
    }
    let object = |token: &Map<String, Value>| {
        let part = |name| token.get(name).cloned().unwrap_or(Value::Null);
        json!({ "type": part("type"), "number": part("number"), "issued": part("issued"), "expiry": part("expires") })
    };
    Some((!tokens.is_empty()).then(|| tokens.values().map(object).collect()))
}

/// The number of a token and which part of it a column holds.
fn token_column(name: &str) -> Option<(u64, &'static str)> {
    let rest = name.strip_prefix("token")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let part = ["type", "number", "issued", "expires"].into_iter().find(|part| *part == &rest[digits..])?;
    Some((rest[..digits].parse().ok()?, part))
}

/// A token's number is an integer where it is written like one.
fn token_value(part: &str, sent: &Value) -> Option<Value> {
    match (part, sent) {
        ("number", Value::Number(number)) => number.as_u64().map(Value::from),
        ("number", Value::String(text)) => {
            let number = text.parse::<u64>().ok().filter(|number| number.to_string() == *text);
            Some(number.map_or_else(|| text.as_str().into(), Value::from))
        }
        ("issued" | "expires", Value::String(text)) => Some(zone::written(zone::read(text)?, &TimeZone::UTC).into()),
        ("type", Value::String(_)) => Some(sent.clone()),
        _ => None,
    }
}
