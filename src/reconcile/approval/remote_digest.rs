//! What the service holds of the people that a plan changes, by digest, so that a later run sees whether any of it has
//! changed.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_128;

use crate::mirror::Mirror;
use crate::plan::RemoteDigest;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::JobPlan;
use crate::record::{Field, Key, RemoteId, Value};
use crate::store::Store;

/// What the service holds of all people that a plan changes, held ones included, by digest.
pub(crate) fn remotes(prepared: &JobPlan, mirror: &Mirror, store: &Store) -> Result<BTreeMap<Key, u128>, Error> {
    let mut remotes = of_held(prepared, mirror, store)?;
    for change in &prepared.go {
        let digest = remote(&prepared.fields, change.id, mirror, store)?;
        remotes.extend(digest.map(|digest| (change.key.clone(), digest)));
    }
    Ok(remotes)
}

/// The same of those whose change is held.
pub(crate) fn of_held(prepared: &JobPlan, mirror: &Mirror, store: &Store) -> Result<BTreeMap<Key, u128>, Error> {
    let mut remotes = BTreeMap::new();
    for change in prepared.held.iter().filter_map(|held| held.change.as_ref()) {
        let digest = remote(&prepared.fields, change.id, mirror, store)?;
        remotes.extend(digest.map(|digest| (change.key.clone(), digest)));
    }
    Ok(remotes)
}

/// What the service holds of a person, to be remembered with what was shown of it.
pub(crate) fn seen(id: RemoteId, remote: u128) -> RemoteDigest {
    RemoteDigest { id, remote: text(remote) }
}

pub(crate) fn remote(
    fields: &[Field],
    id: Option<RemoteId>,
    mirror: &Mirror,
    store: &Store,
) -> Result<Option<u128>, Error> {
    let Some(entity) = id.map(|id| mirror.get(store, id)).transpose()?.flatten() else { return Ok(None) };
    let owned: BTreeMap<&str, &Value> =
        fields.iter().map(|field| (field.name.as_str(), entity.value(&field.name))).collect();
    Ok(Some(xxh3_128(&serde_json::to_vec(&(entity.id, &entity.created, owned)).expect("plain values"))))
}

pub(crate) fn text(digest: u128) -> String {
    format!("{digest:032x}")
}
