//! What the service can take of a record, as far as its lists tell.

use crate::config::Job;
use crate::mapping::OnBadValue;
use crate::mirror::{ElementError, Mirror};
use crate::reconcile::model::error::Error;
use crate::record::{CellValue, Field, FieldKind, Key, Record, Rejected, RowDefect, Target, Value};

/// What the service can take, as far as its lists tell.
pub(crate) struct Fitting<'a> {
    job: &'a Job,
    fields: &'a [Field],
    mirror: &'a Mirror,
    pub(crate) checkboxes: Vec<&'a str>,
}

impl<'a> Fitting<'a> {
    pub(crate) fn new(job: &'a Job, fields: &'a [Field], mirror: &'a Mirror) -> Result<Self, Error> {
        Ok(Self { job, fields, mirror, checkboxes: checkboxes(fields, mirror)? })
    }

    /// Takes the values out of a record that the service can't take; else the one for which the whole row can't be used
    /// (law 8). `line` is that of its row, if its source has lines.
    pub(crate) fn fit(&self, record: &mut Record, line: Option<u64>, bad_values: &mut Vec<Rejected>) -> Option<Fault> {
        loop {
            let fault = value_fault(record, self.fields, self.mirror).or_else(|| tick(record, &self.checkboxes))?;
            let (field, reason) = fault;
            let is_optional = |found: &&Field| found.name == field && !found.required;
            let spoils_row = self.job.mapping.on_bad_value == OnBadValue::Row
                || self.job.match_on.iter().any(|name| *name == field)
                || !self.fields.iter().any(|found| is_optional(&found));
            if spoils_row {
                return Some((field, reason));
            }
            // What a lookup says does not stand in the file.
            let value = record.fields.remove(field.as_str()).filter(|_| self.job.lookups.is_empty());
            let value = value.and_then(|value| CellValue::new([value.shown().as_str()]));
            bad_values.push(Rejected { value, ..self.rejected(&record.key, line, (field, reason)) });
        }
    }

    pub(crate) fn rejected(&self, key: &Key, line: Option<u64>, (field, reason): Fault) -> Rejected {
        let field = Some(format!("{}{field}", self.job.mapping.prefix));
        Rejected { key: Some(key.clone()), line, field, value: None, reason }
    }
}

/// A field that does not fit, and why.
pub(crate) type Fault = (String, RowDefect);

/// Fits a record to what the service has; else the field that does not fit, and why.
pub(crate) fn fit(record: &mut Record, fields: &[Field], mirror: &Mirror) -> Result<Option<Fault>, Error> {
    let checkboxes = checkboxes(fields, mirror)?;
    let fault = value_fault(record, fields, mirror).or_else(|| tick(record, &checkboxes));
    Ok(fault)
}

/// The mapped custom fields that are checkboxes. A title that the service does not have, or has twice, is a mistake in the
/// mapping of the whole job.
fn checkboxes<'a>(fields: &'a [Field], mirror: &Mirror) -> Result<Vec<&'a str>, Error> {
    let mut checkboxes = Vec::new();
    for field in fields.iter().filter(|field| field.kind == FieldKind::Custom) {
        let title = field.name.trim_start_matches(Target::CUSTOM);
        let resolved = mirror.elements().resolve(title);
        let fail = |error: ElementError| Error::Element { field: field.name.to_string(), problem: error.to_string() };
        if resolved.map_err(fail)?.1 {
            checkboxes.push(field.name.as_str());
        }
    }
    Ok(checkboxes)
}

/// Turns what a source says of a checkbox into the 1 or 0 that the service holds (specification, Conventions).
fn tick(record: &mut Record, checkboxes: &[&str]) -> Option<Fault> {
    for field in checkboxes {
        let Some(value) = record.fields.get(*field).filter(|value| value.as_text().is_some()) else { continue };
        let Some(ticked) = value.ticked() else { return Some(((*field).to_owned(), RowDefect::Checkbox)) };
        record.fields.insert((*field).into(), Value::text(ticked));
    }
    None
}

/// A location that the service does not have, or has twice; a further email that is none, for which it would refuse the whole person.
fn value_fault(record: &Record, fields: &[Field], mirror: &Mirror) -> Option<Fault> {
    let fault = |name: &str| mirror.locations().fault(name);
    fields.iter().find_map(|field| {
        let value = || record.fields.get(&field.name);
        let reason = match field.kind {
            FieldKind::Location => fault(value()?.as_text()?)?,
            FieldKind::Places => match value()? {
                Value::List(names) => names.iter().find_map(|name| fault(name))?,
                _ => return None,
            },
            FieldKind::Ids if field.name == Target::ROAMING => match value()? {
                Value::Ids(ids) => ids.iter().find_map(|id| mirror.locations().id_fault(*id))?,
                _ => return None,
            },
            FieldKind::Email if field.name != Target::EMAIL || !mirror.target().has_presence() => {
                Some(RowDefect::NoEmail)
                    .filter(|_| value().and_then(Value::as_text).is_some_and(|text| !is_email(text)))?
            }
            _ => return None,
        };
        Some((field.name.to_string(), reason))
    })
}

fn is_email(text: &str) -> bool {
    let halves = text.split_once('@').filter(|_| !text.contains(char::is_whitespace));
    halves.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_has_a_name_and_a_host_and_no_blank() {
        for (text, expected) in [
            ("a@b", true),
            ("ana.jones@site.example", true),
            ("", false),
            ("@", false),
            ("ana", false),
            ("@site.example", false),
            ("ana@", false),
            ("ana@site@example", false),
            ("ana @site.example", false),
            ("ana@site.example bo@site.example", false),
        ] {
            assert_eq!(is_email(text), expected, "{text:?}");
        }
    }
}
