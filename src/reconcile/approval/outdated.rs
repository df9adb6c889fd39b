//! Approvals of changes that are not any more what was shown.

use std::collections::{BTreeMap, BTreeSet};

use super::held;
use super::remote_digest::{remote, seen};
use crate::config::Job;
use crate::mirror::Mirror;
use crate::plan::{Guarded, Held, HoldReason, Judged as _, Outline, Verdict};
use crate::reconcile::model::context::KeyFilter;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::state_updates::Outdated;
use crate::record::{Field, Key};
use crate::store::Store;

/// What people decided of a job.
#[derive(Default)]
pub(crate) struct Decisions {
    /// What counts.
    pub(crate) verdicts: BTreeMap<Key, Verdict>,
    /// Those who changed at the service since the change was shown that a person approved, with what they are now; and those
    /// that an older state knows as approved.
    pub(crate) outdated: BTreeMap<Key, Outdated>,
    /// Those whose record was rejected in an older file, and is that of another file now.
    pub(crate) void: BTreeSet<Key>,
    /// Those whose verdict does not say who their record is.
    unasked: BTreeSet<Key>,
    /// The keys of records of which it was rejected that they are someone else than another one.
    one_person: BTreeSet<Key>,
}

/// Tells approvals that count from those that are void by now. `copies` is how many copies of the state were laid back so far, and
/// `is_older` whether what is read seems to be an older export.
pub(crate) fn decided(
    job: &Job,
    fields: &[Field],
    mirror: &Mirror,
    (store, copies): (&Store, u64),
    (narrow, is_older): (&KeyFilter, bool),
) -> Result<Decisions, Error> {
    let mut in_force = Decisions::default();
    for (key, decided) in held::decisions(store, &job.name)? {
        if let Verdict::Approved(wish) = decided.verdict
            && decided.copies != copies
            && narrow.has(&key)
        {
            in_force.outdated.insert(key, Outdated { wish, seen: decided.seen });
            continue;
        }
        if let Some(before) = decided.seen.as_ref().filter(|_| narrow.has(&key)) {
            let now = remote(fields, Some(before.id), mirror, store)?.map(|remote| seen(before.id, remote));
            if now.as_ref() != Some(before) {
                if let Verdict::Approved(wish) = decided.verdict {
                    in_force.outdated.insert(key, Outdated { wish, seen: now });
                }
                continue;
            }
        }
        if decided.of_older_file && !is_older && narrow.has(&key) {
            in_force.void.insert(key);
            continue;
        }
        in_force.unasked.extend((!decided.is_answer).then(|| key.clone()));
        let is_one = decided.question.as_ref().is_some_and(HoldReason::asks_for_two);
        in_force.one_person.extend(is_one.then(|| key.clone()));
        in_force.verdicts.insert(key, decided.verdict);
    }
    Ok(in_force)
}

impl Decisions {
    /// Whether a verdict answered something else than what is held: an approval only says who a record is where that was asked, and who
    /// was said not to be two people may still be asked whether they are one.
    pub(crate) fn is_void(&self, held: &Held<Outline>, verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Approved(_) => self.unasked.contains(&held.key),
            Verdict::Rejected(_) => held.other.is_some() && self.one_person.contains(&held.key),
        }
    }
}

/// Holds an approved change again if it differs from the change that was shown. A change that became different later
/// was not approved: it is judged like any other.
pub(crate) fn hold_outdated(guarded: &mut Guarded<Outline>, outdated: &BTreeMap<Key, Outdated>) {
    let was_approved = |change: &Outline| outdated.get(&change.key).is_some_and(|one| one.wish == change.wish());
    for held in guarded.held.iter_mut().filter(|held| held.change.as_ref().is_some_and(was_approved)) {
        held.reason.precede(HoldReason::Outdated);
    }
    guarded.hold(|change| (was_approved(change) && !change.is_approved()).then_some(HoldReason::Outdated));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Change, Deltas};
    use crate::reconcile::model::change_spill::ChangeSpill;
    use crate::record::{Action, DesiredState, RemoteId, RowMetadata, Values};

    #[test]
    fn an_approval_of_what_was_shown_counts_for_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let spill = ChangeSpill::new(dir.path(), &[], true);
        let outline = |number: u32, approved: bool| {
            let wish =
                DesiredState { action: Action::Update, id: RemoteId::new(7), fields: Values::new(), leaver: false };
            let (key, fields) = (Key::new(&format!("P{number}")).unwrap(), Deltas::new());
            let marks = RowMetadata::default();
            spill.put(Change { key, wish, fields, line: None, known: true, approved, marks }).unwrap()
        };
        let all = [outline(1, false), outline(2, true), outline(3, false), outline(4, false)];
        let wish = all[0].wish();
        let outdated = [(1, wish), (2, wish), (3, wish + 1)]
            .map(|(number, wish)| (Key::new(&format!("P{number}")).unwrap(), Outdated { wish, seen: None }));
        let mut guarded = Guarded { go: all.to_vec(), ..Guarded::default() };
        guarded.held.push(Held::change(outline(1, false), &HoldReason::NeedsOwnKey));
        hold_outdated(&mut guarded, &outdated.into());
        let keys = |changes: &[Outline]| changes.iter().map(|one| one.key.to_string()).collect::<Vec<_>>();
        assert_eq!(keys(&guarded.go), keys(&all[1..]), "released again, of another wish, or never approved");
        assert_eq!(guarded.held.len(), 2);
        for held in &guarded.held {
            assert!(held.reason.to_string().contains(&HoldReason::Outdated.to_string()), "{:?}", held.reason);
        }
    }
}
