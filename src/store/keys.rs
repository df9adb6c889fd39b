//! The names of the rows about the state as a whole, a job or a collection.

use std::fmt;

use serde::Serialize;

use super::{Batch, Keyspace};
use crate::record::{JobName, Target};

/// One row about the state as a whole, a job or a collection.
#[derive(Clone, Copy, Debug)]
pub enum MetaKey<'a> {
    /// The number of the stored format.
    Format,
    /// Number and checksums of what the store should hold.
    Integrity,
    /// The file of a keyspace that counts.
    File(Keyspace),
    /// The number of the last run.
    Runs,
    /// The service's address.
    Account,
    /// The credential that the store was last filled with.
    Caller,
    /// What the last run left, by which a copy of the state is recognized.
    Origin,
    /// When the audit files were last looked through for what is too old.
    Retention,
    /// Exists while a person's rows are being removed and may still be in the store's file.
    Forgetting,
    /// What is remembered of a job between its runs.
    Job(&'a JobName),
    /// The newest runs of a job, in numbers.
    Recent(&'a JobName),
    /// How many keys a job has, and how many of them are gone.
    Counts(&'a JobName),
    /// Up to when a job's scheduled times are covered.
    Covered(&'a JobName),
    /// The last finished pull of a collection.
    Pull(Target),
    /// Which fields it has shown of every entity.
    Shown(Target),
    /// The ids that a collection had when its rows were dropped, until it is listed as a whole again.
    Listed(Target),
    /// The names that it found besides people.
    Names(Target),
    /// When old removals of a collection were last dropped.
    Pruned(Target),
}

impl MetaKey<'_> {
    /// Whether a stored key is about how an engine keeps its rows, which says nothing to another one.
    pub(super) fn is_of_engine(key: &[u8]) -> bool {
        let Some((space, name)) = key.split_first() else { return false };
        let own = [Self::Format.to_string(), Self::Integrity.to_string()];
        *space == Keyspace::Meta as u8
            && (own.iter().any(|own| own.as_bytes() == name) || name.starts_with(FILES.as_bytes()))
    }
}

/// What the names of the rows about files of keyspaces begin with.
const FILES: &str = "rows.";

impl fmt::Display for MetaKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let apart = Keyspace::SEPARATOR;
        match self {
            Self::Format => f.write_str("format"),
            Self::Integrity => f.write_str("integrity"),
            Self::File(space) => write!(f, "{FILES}{}", char::from(*space as u8)),
            Self::Runs => f.write_str("runs"),
            Self::Account => f.write_str("account"),
            Self::Caller => f.write_str("caller"),
            Self::Origin => f.write_str("origin"),
            Self::Retention => f.write_str("retention"),
            Self::Forgetting => f.write_str("forgetting"),
            Self::Job(job) => write!(f, "job{apart}{job}"),
            Self::Recent(job) => write!(f, "recent{apart}{job}"),
            Self::Counts(job) => write!(f, "counts{apart}{job}"),
            Self::Covered(job) => write!(f, "covered{apart}{job}"),
            Self::Pull(target) => write!(f, "pull{apart}{target}"),
            Self::Shown(target) => write!(f, "shown{apart}{target}"),
            Self::Listed(target) => write!(f, "listed{apart}{target}"),
            Self::Names(target) => write!(f, "names{apart}{target}"),
            Self::Pruned(target) => write!(f, "pruned{apart}{target}"),
        }
    }
}

impl Batch {
    /// Puts a row about the state as a whole, a job or a collection.
    pub fn put_meta<T: Serialize>(&mut self, key: MetaKey<'_>, value: &T) {
        self.put(Keyspace::Meta, &key.to_string(), value);
    }

    /// Removes one, where it is.
    pub fn remove_meta(&mut self, key: MetaKey<'_>) {
        self.remove(Keyspace::Meta, &key.to_string());
    }
}
