//! What the service holds of the people that a plan changes, by digest, so that a later run sees whether any of it has
//! changed.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_128;

use crate::mirror::Mirror;
use crate::plan::{Outline, RemoteDigest};
use crate::reconcile::model::error::Error;
use crate::record::{Field, Key, RemoteId, Value};
use crate::store::Store;

/// What the service holds in `fields` of the people that these changes are about, by digest.
pub(crate) fn remotes(
    fields: &[Field],
    changes: Vec<&Outline>,
    mirror: &Mirror,
    store: &Store,
) -> Result<BTreeMap<Key, u128>, Error> {
    let mut remotes = BTreeMap::new();
    for change in changes {
        let digest = remote(fields, change.id, mirror, store)?;
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
