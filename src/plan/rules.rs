//! How a job treats the fields that it maps.
//!
//! Every mapped field belongs to the job, with two exceptions: one of `seed_only` belongs to the service as soon as its
//! person exists, and one that was edited at the service may stay so (`on_drift`) until the source's own value changes.

use smol_str::SmolStr;

use crate::record::{Entity, Field, Target, Values};
use crate::snapshot::SyncedRecord;

/// What happens to a field that was edited at the service while the source stayed the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDrift {
    /// It is set as the source has it.
    #[default]
    Overwrite,
    /// It stays until the source's own value changes.
    Keep,
    /// The same, and it is named in every run.
    Report,
}

/// How a job treats the fields that it maps.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// What the records are.
    pub target: Target,
    /// The fields.
    pub fields: &'a [Field],
    /// Those of them that are set when a person is created, and never again.
    pub seed_only: &'a [SmolStr],
    /// What becomes of edits at the service.
    pub on_drift: OnDrift,
}

impl<'a> Rules<'a> {
    /// The fields that stay the job's own.
    pub fn owned(self) -> impl Iterator<Item = &'a Field> {
        self.fields.iter().filter(move |field| !self.seed_only.contains(&field.name))
    }

    /// The fields that were edited at the service and stay so. What a job sets for a missing person is no such edit, nor is what the
    /// service still has in place of a value that could not be sent.
    pub fn drifted(self, wanted: &Values, known: &SyncedRecord, entity: &Entity) -> Vec<&'a str> {
        if self.on_drift == OnDrift::Overwrite || known.left.is_some() || known.unsent {
            return Vec::new();
        }
        let drifted = |field: &&Field| {
            wanted.get(&field.name).is_some_and(|wanted| {
                known.sent.get(&field.name) == Some(wanted)
                    && !known.is_in_sync(&field.name, field.kind, wanted, entity.value(&field.name))
            })
        };
        self.owned().filter(drifted).map(|field| field.name.as_str()).collect()
    }
}
