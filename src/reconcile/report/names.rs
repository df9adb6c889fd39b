//! What reports call the records of a job's parts: with what they are before the key, where that is not the job's own kind.

use crate::config::Job;
use crate::record::{JobName, Key, Target};

/// A key of another target than the job's own, as reports name it.
pub(crate) fn named(target: Target, key: &Key) -> Key {
    Key::new(&format!("{target} {}", key.as_str())).expect("it is not empty")
}

/// What a report calls a record of a job, or of a part of one.
pub(crate) fn called(job: &JobName, key: &Key) -> Key {
    job.part_of().map_or_else(|| key.clone(), |part| named(part, key))
}

/// The person whose membership a report calls so.
pub(crate) fn person_of(name: &Key) -> Option<Key> {
    Key::new(name.as_str().strip_prefix(Target::Membership.name())?.strip_prefix(' ')?)?.member()
}

/// The records that a report of the job may call so.
pub(crate) fn named_as(job: &Job, name: &str) -> Vec<(JobName, Key)> {
    let own = Key::new(name).map(|key| (job.name.clone(), key));
    let of_part = |part: &Job| {
        let key = Key::new(name.strip_prefix(part.mapping.target.name())?.strip_prefix(' ')?)?;
        Some((part.name.clone(), key))
    };
    own.into_iter().chain(job.parts().filter(|part| part.name != job.name).filter_map(of_part)).collect()
}
