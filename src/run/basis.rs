//! What a planned change is based on, so that it can be told later whether any of that moved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::error::Error;
use super::prepare::{ON_SITE, Prepared};
use super::{Narrow, held};
use crate::config::Job;
use crate::mirror::Mirror;
use crate::plan::{Guarded, Held, Judged as _, Outline, Seen, Verdict};
use crate::record::{Field, Key, RemoteId, Value};
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

/// What the service holds of all whom a plan changes, held ones included, by digest.
pub(super) fn remotes(prepared: &Prepared, mirror: &Mirror, store: &Store) -> Result<BTreeMap<Key, u128>, Error> {
    let mut remotes = of_held(prepared, mirror, store)?;
    for change in &prepared.go {
        let digest = remote(&prepared.fields, change.id, mirror, store)?;
        remotes.extend(digest.map(|digest| (change.key.clone(), digest)));
    }
    Ok(remotes)
}

/// The same of those whose change is held.
pub(super) fn of_held(prepared: &Prepared, mirror: &Mirror, store: &Store) -> Result<BTreeMap<Key, u128>, Error> {
    let mut remotes = BTreeMap::new();
    for change in prepared.held.iter().filter_map(|held| held.change.as_ref()) {
        let digest = remote(&prepared.fields, change.id, mirror, store)?;
        remotes.extend(digest.map(|digest| (change.key.clone(), digest)));
    }
    Ok(remotes)
}

/// What the service holds of a person, to be remembered with what was shown of it.
pub(super) fn seen(id: RemoteId, remote: u128) -> Seen {
    Seen { id, remote: text(remote) }
}

/// What people decided of a job.
pub(super) struct Standing {
    /// What counts.
    pub(super) verdicts: BTreeMap<Key, Verdict>,
    /// Those who changed at the service since the change was shown that a person approved, with what they are now.
    pub(super) outdated: BTreeMap<Key, Outdated>,
}

/// An approval of what is not the change any more that was shown.
pub(super) struct Outdated {
    /// The digest of what was approved.
    pub(super) wish: u64,
    /// What a person would see now.
    pub(super) seen: Option<Seen>,
}

/// Tells approvals that count from those that are void by now.
pub(super) fn decided(
    job: &Job,
    fields: &[Field],
    mirror: &Mirror,
    store: &Store,
    narrow: &Narrow,
) -> Result<Standing, Error> {
    let mut standing = Standing { verdicts: BTreeMap::new(), outdated: BTreeMap::new() };
    for (key, decided) in held::decisions(store, &job.name)? {
        if let Some(before) = decided.seen.as_ref().filter(|_| narrow.has(&key)) {
            let now = remote(fields, Some(before.id), mirror, store)?.map(|remote| seen(before.id, remote));
            if now.as_ref() != Some(before) {
                if let Verdict::Approved(wish) = decided.verdict {
                    standing.outdated.insert(key, Outdated { wish, seen: now });
                }
                continue;
            }
        }
        standing.verdicts.insert(key, decided.verdict);
    }
    Ok(standing)
}

/// Why what was approved is held again.
pub(super) const OUTDATED: &str = "this person changed at the service since it was approved: look at it once more";

/// Holds again what a person approved, where it is not the change any more that was shown. What is wanted otherwise by now
/// nobody approved: it is judged as any change is.
pub(super) fn hold_outdated(guarded: &mut Guarded<Outline>, outdated: &BTreeMap<Key, Outdated>) {
    let was_approved = |change: &Outline| outdated.get(&change.key).is_some_and(|one| one.wish == change.wish());
    for held in guarded.held.iter_mut().filter(|held| held.change.as_ref().is_some_and(was_approved)) {
        held.reason = format!("{OUTDATED}; {}", held.reason).into();
    }
    let reason = OUTDATED.into();
    let open = guarded.go.extract_if(.., |change| was_approved(change) && !change.is_approved());
    guarded.held.extend(open.map(|change| Held::change(change, &reason)));
}

impl Basis {
    /// What a change of a plan is based on.
    pub(super) fn of(prepared: &Prepared, change: &Outline) -> Self {
        let remote = prepared.new.remote.get(&change.key).copied().map(text);
        Self { row: row(prepared, &change.key), remote, wish: wish(change) }
    }
}

/// A run that was just worked out, against which planned changes are held.
pub(super) struct Present<'a> {
    prepared: &'a Prepared,
    mirror: &'a Mirror,
    store: &'a Store,
    go: BTreeMap<&'a Key, &'a Outline>,
    held: BTreeMap<&'a Key, &'a str>,
}

impl<'a> Present<'a> {
    pub(super) fn new(prepared: &'a Prepared, mirror: &'a Mirror, store: &'a Store) -> Self {
        let go = prepared.go.iter().map(|change| (&change.key, change)).collect();
        let held = prepared.held.iter().map(|held| (&held.key, &*held.reason)).collect();
        Self { prepared, mirror, store, go, held }
    }

    /// The planned change as it is wanted now, with true where a person released it; or why it is not to be sent.
    pub(super) fn judge(
        &self,
        key: &Key,
        id: Option<RemoteId>,
        basis: &Basis,
    ) -> Result<Result<&'a Outline, String>, Error> {
        let row = row(self.prepared, key);
        let remote = remote(&self.prepared.fields, id, self.mirror, self.store)?.map(text);
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
                Some(change) if wish(change) != basis.wish => {
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

fn wish(change: &Outline) -> String {
    format!("{:016x}", change.wish())
}

fn row(prepared: &Prepared, key: &Key) -> Option<String> {
    prepared.new.digests.get(key).map(text)
}

fn text(digest: u128) -> String {
    format!("{digest:032x}")
}

fn remote(fields: &[Field], id: Option<RemoteId>, mirror: &Mirror, store: &Store) -> Result<Option<u128>, Error> {
    let Some(entity) = id.map(|id| mirror.get(store, id)).transpose()?.flatten() else { return Ok(None) };
    let owned: BTreeMap<&str, &Value> =
        fields.iter().map(|field| (field.name.as_str(), entity.value(&field.name))).collect();
    Ok(Some(xxh3_128(&serde_json::to_vec(&(entity.id, &entity.created, owned)).expect("plain values"))))
}
