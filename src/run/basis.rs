//! What a planned change is based on, so that it can be told later whether any of that moved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::error::Error;
use super::prepare::{ON_SITE, Prepared};
use crate::mirror::Mirror;
use crate::plan::Change;
use crate::record::{Key, RemoteId, Value};
use crate::store::Store;

/// What a planned change is based on. Presence and the service's time stamps have no part in it: someone who comes in in
/// the morning is no other person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Basis {
    /// The digest of the source row and of the job's mapping; none for a leaver.
    pub(super) row: Option<String>,
    /// The digest of what the service holds in the fields that the job owns; none for a joiner.
    pub(super) remote: Option<String>,
    /// The digest of what is wanted.
    pub(super) wish: String,
}

/// What every change of a plan is based on, held ones included.
pub(super) fn all(prepared: &Prepared, mirror: &Mirror, store: &Store) -> Result<BTreeMap<Key, Basis>, Error> {
    let held = prepared.held.iter().filter_map(|held| held.change.as_ref());
    let changes = prepared.go.iter().map(|(change, _)| change).chain(held);
    changes
        .map(|change| {
            let row = row(prepared, &change.key);
            let remote = remote(prepared, change.wish.id, mirror, store)?;
            Ok((change.key.clone(), Basis { row, remote, wish: wish(change) }))
        })
        .collect()
}

/// A run that was just worked out, against which planned changes are held.
pub(super) struct Present<'a> {
    prepared: &'a Prepared,
    mirror: &'a Mirror,
    store: &'a Store,
    go: BTreeMap<&'a Key, &'a (Change, bool)>,
    held: BTreeMap<&'a Key, &'a str>,
}

impl<'a> Present<'a> {
    pub(super) fn new(prepared: &'a Prepared, mirror: &'a Mirror, store: &'a Store) -> Self {
        let go = prepared.go.iter().map(|one| (&one.0.key, one)).collect();
        let held = prepared.held.iter().map(|held| (&held.key, held.reason.as_str())).collect();
        Self { prepared, mirror, store, go, held }
    }

    /// The planned change as it is wanted now, with true where a person released it; or why it is not to be sent.
    pub(super) fn judge(
        &self,
        key: &Key,
        id: Option<RemoteId>,
        basis: &Basis,
    ) -> Result<Result<&'a (Change, bool), String>, Error> {
        let row = row(self.prepared, key);
        let remote = remote(self.prepared, id, self.mirror, self.store)?;
        let why = if row.is_some() && basis.row.is_some() && row != basis.row {
            "its row in the source changed since".to_owned()
        } else if remote.is_none() && basis.remote.is_some() {
            "the service does not have this person any more".to_owned()
        } else if remote != basis.remote {
            "this person changed at the service since".to_owned()
        } else if let Some(reason) = self.held.get(key) {
            format!("held by now: {reason}")
        } else if self.prepared.dropped.iter().any(|dropped| dropped.key == *key) {
            "a person rejected it since".to_owned()
        } else {
            match self.go.get(key) {
                None => "it is not wanted any more".to_owned(),
                Some((change, _)) if wish(change) != basis.wish => {
                    "something else is wanted for this record by now".to_owned()
                }
                Some(found) => match self.prepared.waits.get(key).filter(|reason| *reason != ON_SITE) {
                    None => return Ok(Ok(found)),
                    Some(reason) => reason.clone(),
                },
            }
        };
        Ok(Err(why))
    }
}

fn wish(change: &Change) -> String {
    format!("{:016x}", change.wish.digest())
}

fn row(prepared: &Prepared, key: &Key) -> Option<String> {
    prepared.new.digests.get(key).map(|digest| format!("{digest:032x}"))
}

fn remote(prepared: &Prepared, id: Option<RemoteId>, mirror: &Mirror, store: &Store) -> Result<Option<String>, Error> {
    let Some(entity) = id.map(|id| mirror.get(store, id)).transpose()?.flatten() else { return Ok(None) };
    let owned: BTreeMap<&str, &Value> =
        prepared.fields.iter().map(|field| (field.name.as_str(), entity.value(&field.name))).collect();
    let text = serde_json::to_vec(&(entity.id, &entity.created, owned)).expect("plain values");
    Ok(Some(format!("{:032x}", xxh3_128(&text))))
}
