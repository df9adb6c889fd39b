//! The keys of a job, for a person who types one.

use std::collections::BTreeSet;

use crate::config::Job;
use crate::queue;
use crate::reconcile::approval::held::held;
use crate::record::Key;
use crate::snapshot::Index;
use crate::store::{self, Store};

/// Which keys of a job are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeysOf {
    /// Of every record that the job knows.
    Known,
    /// Of held changes, those of the job's parts among them.
    Held,
    /// Of queued changes, likewise.
    Queued,
}

/// The first `limit` keys in their order that begin with `prefix`.
pub fn keys(store: &Store, job: &Job, of: KeysOf, prefix: &str, limit: usize) -> Result<Vec<Key>, store::Error> {
    if of == KeysOf::Known {
        let index = Index::load(store, &job.name)?;
        let found = index.from_key(prefix).take_while(|key| key.starts_with(prefix)).take(limit);
        return Ok(found.filter_map(Key::new).collect());
    }
    let mut all = BTreeSet::new();
    for part in job.parts() {
        match of {
            KeysOf::Held => all.extend(held(store, &part.name)?.into_keys()),
            _ => queue::briefs(store, &part.name, |brief| {
                all.insert(brief.key);
            })?,
        }
    }
    Ok(all.into_iter().filter(|key| key.as_str().starts_with(prefix)).take(limit).collect())
}

/// Whether a key is among those of the queue or of held changes.
pub fn is_key(store: &Store, job: &Job, of: KeysOf, key: &Key) -> Result<bool, store::Error> {
    Ok(keys(store, job, of, key.as_str(), 1)?.first() == Some(key))
}
