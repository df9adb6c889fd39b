//! Who is missing, or gone by a row, and may be meant by another row of the same read that is in doubt.
//!
//! The number of such a row may be mistyped, and its person is there. A row that waits for a decision, or that can't be used, means
//! those whose name or email it has. One under an unknown key that waits, or that the service refused, and of which nothing else says
//! who it is, means those who share a word of its name. They stay until that is decided, or the row is mended.
//!
//! A rejection does not say what the row is then. So it keeps those that it kept before, and no one who is missing later.
//!
//! Rejected: to take the whole read for incomplete. One shared mailbox that waits would keep everybody.

use std::collections::{BTreeMap, BTreeSet};

use super::correlator::CorrelationContext;
use crate::plan::{Held, HoldReason, Judged as _, Outline, Verdict, name_words, named_by};
use crate::queue::{self, DECISIONS};
use crate::reconcile::approval::held::HELD;
use crate::reconcile::model::error::Error;
use crate::record::{Action, Key, RemoteId};
use crate::snapshot::SyncedRecord;
use crate::store;

/// Who may be meant by rows in doubt.
#[derive(Default)]
pub(super) struct InDoubt {
    /// Their entities.
    pub(super) kept: BTreeSet<RemoteId>,
    /// What is said of them, where another row is to be decided on or mended.
    pub(super) reasons: BTreeMap<RemoteId, HoldReason>,
}

/// A record under an unknown key that may be anybody.
pub(super) struct Stranger {
    key: Key,
    /// The words of its name.
    words: BTreeSet<String>,
    /// Whether a person rejected it: then it keeps those alone that it kept before.
    is_rejected: bool,
}

/// The records under unknown keys that may be anybody: those that wait for a decision, and those that the service refused.
pub(super) fn strangers(held: &[Held<Outline>], context: &CorrelationContext<'_>) -> Result<Vec<Stranger>, Error> {
    let (store, job) = (context.store, &context.job.name);
    let (mut keys, mut strangers) = (Vec::new(), Vec::new());
    if context.absent.is_empty() || !context.rules.target.has_presence() {
        return Ok(strangers);
    }
    let mut named = BTreeMap::new();
    for held in held.iter().filter(|held| held.reason.may_be_anybody()) {
        keys.extend((!is_approved(held, context)?).then(|| held.key.clone()));
        if let HoldReason::Taken { id, .. } = &held.reason
            && let Some(entity) = context.mirror.get(context.store, *id)?
        {
            named.insert(held.key.clone(), name_words(&entity.fields));
        }
    }
    queue::briefs_but_waiting(store, job, |change| {
        keys.extend((change.action == Action::Create && change.state.is_parked()).then_some(change.key));
    })?;
    for key in keys.into_iter().filter(|key| context.index.by_key(key.as_str()).is_none()) {
        if let Ok(at) = context.candidates.binary_search_by(|candidate| candidate.key.cmp(&key)) {
            let words = name_words(&context.candidates[at].open(context.spill)?.0.fields);
            if named.get(&key) == Some(&words) {
                // It is the person that another job has.
                continue;
            }
            let decided = DECISIONS.get(store, job, &key)?;
            let is_rejected = decided.is_some_and(|decided| matches!(decided.verdict, Verdict::Rejected(_)));
            strangers.push(Stranger { key, words, is_rejected });
        }
    }
    Ok(strangers)
}

/// What rows in doubt say of people who are missing, or gone by their rows: the number of such a row may be mistyped, and they are there.
pub(super) struct RowsInDoubt {
    /// The names and emails in rows that wait for a decision, by field, with the key of a known person where the row has one.
    pub(super) doubted: BTreeMap<(&'static str, String), Option<Key>>,
    /// The same in rows that can't be used.
    pub(super) unusable: BTreeSet<(&'static str, String)>,
    /// Records that may be anybody.
    pub(super) strangers: Vec<Stranger>,
}

impl RowsInDoubt {
    /// Finds those that they may be about.
    pub(super) fn about(&self, context: &CorrelationContext<'_>) -> Result<InDoubt, store::Error> {
        let mut found = InDoubt::default();
        if self.doubted.is_empty() && self.unusable.is_empty() && self.strangers.is_empty() {
            return Ok(found);
        }
        for at in context.absent {
            let Some(key) = Key::new(context.index.entry(*at).key) else { continue };
            let Some(known) = SyncedRecord::get(context.store, &context.job.name, &key)? else { continue };
            let reason = if let Some(row) = named_by(&known.sent).find_map(|named| self.doubted.get(&named)) {
                row.as_ref().map(asked_about)
            } else if named_by(&known.sent).any(|named| self.unusable.contains(&named)) {
                Some(HoldReason::MovesUnusable { job: context.job.name.root().to_string() })
            } else if let Some(row) = self.stranger(&key, &known, context)? {
                Some(asked_about(row))
            } else {
                continue;
            };
            found.kept.insert(known.id);
            found.reasons.extend(reason.map(|reason| (known.id, reason)));
        }
        Ok(found)
    }

    /// The first of the records that may be anybody whose name has a word of this one's, or that has no name.
    fn stranger(
        &self,
        key: &Key,
        known: &SyncedRecord,
        context: &CorrelationContext<'_>,
    ) -> Result<Option<&Key>, store::Error> {
        let held_before = || HELD.get(context.store, &context.job.name, key);
        let name = name_words(&known.sent);
        let is_like = |words: &BTreeSet<String>| words.is_empty() || !words.is_disjoint(&name);
        for stranger in self.strangers.iter().filter(|stranger| is_like(&stranger.words)) {
            let is_kept = || Ok(held_before()?.is_some_and(|held| held.reason == asked_about(&stranger.key)));
            if !stranger.is_rejected || is_kept()? {
                return Ok(Some(&stranger.key));
            }
        }
        Ok(None)
    }
}

fn asked_about(row: &Key) -> HoldReason {
    HoldReason::AskedAbout { key: row.to_string() }
}

/// Whether a person said that a change is right, so that its row is about no one else.
pub(super) fn is_approved(held: &Held<Outline>, context: &CorrelationContext<'_>) -> Result<bool, store::Error> {
    let wish = held.change.as_ref().map(Outline::wish);
    let decided = DECISIONS.get(context.store, &context.job.name, &held.key)?;
    Ok(decided.is_some_and(|decided| matches!(decided.verdict, Verdict::Approved(wanted) if wish == Some(wanted))))
}
