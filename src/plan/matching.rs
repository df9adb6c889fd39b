//! Finds the entity of a record the first time.

use smol_str::SmolStr;
use xxhash_rust::xxh3::xxh3_64;

use crate::record::{Entity, RemoteId, Value, Values, normalize};

/// An index over entities by the fields that records are matched by, at 12 bytes an entity and field.
#[derive(Debug)]
pub struct Matcher {
    by: Vec<(SmolStr, Vec<(u64, RemoteId)>)>,
}

/// What a record matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// No entity.
    None,
    /// One entity, by this field.
    One {
        /// The field.
        by: SmolStr,
        /// The entity.
        id: RemoteId,
    },
    /// Several entities, by this field.
    Many {
        /// The field.
        by: SmolStr,
        /// The entities, in order.
        ids: Vec<RemoteId>,
    },
}

impl Matcher {
    /// Indexes entities by the fields of `match_on`, which are tried in their order.
    pub fn new<'a>(match_on: &[SmolStr], entities: impl Iterator<Item = &'a Entity>) -> Self {
        let mut matcher = Self { by: match_on.iter().map(|field| (field.clone(), Vec::new())).collect() };
        for entity in entities {
            matcher.add(entity);
        }
        matcher.finish()
    }

    /// An index without entities, to be filled by [`Matcher::add`] and put in order by [`Matcher::finish`].
    pub fn empty(match_on: &[SmolStr]) -> Self {
        Self::new(match_on, std::iter::empty())
    }

    /// Adds an entity.
    pub fn add(&mut self, entity: &Entity) {
        for (field, index) in &mut self.by {
            if let Some(hash) = hash(entity.value(field)) {
                index.push((hash, entity.id));
            }
        }
    }

    /// Whether no entity has anything to be matched by.
    pub fn is_empty(&self) -> bool {
        self.by.iter().all(|(_, index)| index.is_empty())
    }

    /// Puts the index in order.
    pub fn finish(mut self) -> Self {
        for (_, index) in &mut self.by {
            index.sort_unstable();
        }
        self
    }

    /// Finds what a record is: the first field of `match_on` that hits decides. A field that the record leaves empty hits
    /// nothing.
    pub fn find(&self, fields: &Values) -> Match {
        self.find_by(self.by.iter().map(|(field, _)| match_hash(fields, field)))
    }

    /// The same by the marks of a record, one for each field of `match_on`.
    pub fn find_by(&self, marks: impl Iterator<Item = Option<u64>>) -> Match {
        for ((field, index), hash) in self.by.iter().zip(marks) {
            let Some(hash) = hash else { continue };
            let start = index.partition_point(|(other, _)| *other < hash);
            let ids: Vec<RemoteId> =
                index[start..].iter().take_while(|(other, _)| *other == hash).map(|(_, id)| *id).collect();
            match ids.as_slice() {
                [] => {}
                [id] => return Match::One { by: field.clone(), id: *id },
                _ => return Match::Many { by: field.clone(), ids },
            }
        }
        Match::None
    }

    /// Whether a hit by `field` is one in truth and not two texts with one hash.
    pub fn confirmed(fields: &Values, entity: &Entity, field: &str) -> bool {
        let text = |value: &Value| value.as_text().map(normalize);
        fields.get(field).and_then(text) == text(entity.value(field))
    }
}

/// A field of `match_on` that is tried before `by`, that a record and an entity both fill, and in which they differ: so a
/// hit by `by` does not say that they are one person.
pub fn contradicted<'m>(match_on: &'m [SmolStr], by: &str, fields: &Values, entity: &Entity) -> Option<&'m str> {
    let earlier = match_on.iter().take_while(|field| *field != by);
    earlier.map(SmolStr::as_str).find(|field| {
        let wanted = fields.get(*field).and_then(|value| value.as_text().map(normalize));
        let held = entity.value(field).as_text().map(normalize);
        wanted.is_some() && held.is_some() && wanted != held
    })
}

/// What a record is matched by in a field: the hash of its folded text, never 0; none where it leaves the field empty.
pub fn match_hash(fields: &Values, field: &str) -> Option<u64> {
    fields.get(field).and_then(hash)
}

fn hash(value: &Value) -> Option<u64> {
    let folded = normalize(value.as_text()?);
    (!folded.is_empty()).then(|| xxh3_64(folded.as_bytes()).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(id: i64, employee_id: &str, email: &str) -> Entity {
        Entity { id: RemoteId::new(id).unwrap(), created: String::new(), fields: fields(employee_id, email) }
    }

    fn fields(employee_id: &str, email: &str) -> Values {
        [("employee_id".into(), Value::text(employee_id)), ("email".into(), Value::text(email))].into()
    }

    #[test]
    fn the_first_field_that_hits_decides() {
        let people =
            [entity(1, "0042", "ana@example.com"), entity(2, "43", "Bo@Example.com"), entity(3, "", "bo@example.com")];
        let match_on = ["employee_id", "email"].map(SmolStr::from);
        let matcher = Matcher::new(&match_on, people.iter());
        let id = |id| RemoteId::new(id).unwrap();
        for (employee_id, email, expected) in [
            ("42", "", Match::One { by: "employee_id".into(), id: id(1) }),
            ("42", "bo@example.com", Match::One { by: "employee_id".into(), id: id(1) }),
            ("99", " ANA@example.com", Match::One { by: "email".into(), id: id(1) }),
            ("99", "bo@example.com", Match::Many { by: "email".into(), ids: vec![id(2), id(3)] }),
            ("", "", Match::None),
            ("99", "cy@example.com", Match::None),
        ] {
            assert_eq!(matcher.find(&fields(employee_id, email)), expected, "{employee_id} {email}");
        }
    }
}
