//! What no source says again, for those who look at a plan: what earlier files of changes left, and what takes back a run.
//!
//! A later file of changes says nothing of it, so no plan of the file holds it; a run keeps what is held of it, and sends what
//! was released of it or could not be delivered.

use std::collections::BTreeSet;

use crate::config::{Job, Mode};
use crate::mirror::Mirror;
use crate::plan::{Change, Delta, Deltas, Held, HoldReason, Writes};
use crate::queue;
use crate::reconcile::approval::held::HELD;
use crate::reconcile::model::context::KeyFilter;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::{For, JobPlan};
use crate::record::{Action, DesiredState, Field, Key};
use crate::store::{self, Store};

/// The plan of a part of a job with what no source says again. A plan that is kept as a file holds only what is planned by
/// the run that sends it, so what would be sent is not added to it.
pub(crate) fn with_left(
    mut plan: JobPlan,
    part: &Job,
    filter: &KeyFilter,
    (mirror, store): (&Mirror, &Store),
    what_for: For,
) -> Result<JobPlan, Error> {
    // What the run judges itself is in its plan already.
    let judged = plan.go.iter().map(|change| &change.key).chain(plan.held.iter().map(|held| &held.key));
    let judged: BTreeSet<Key> = judged.chain(plan.moving.iter().map(|(key, _)| key)).cloned().collect();
    let is_left =
        |plan: &JobPlan, key: &Key| filter.has(key) && !plan.updates.digests.has(key) && !judged.contains(key);
    let of_changes = part.mode == Mode::Changes;
    let takes_back = |key: &Key| what_for == For::Show && filter.has(key) && !judged.contains(key);
    for (key, held) in HELD.list::<Vec<_>>(store, &plan.job)? {
        if !(if held.undo.is_some() { takes_back(&key) } else { of_changes && is_left(&plan, &key) }) {
            continue;
        }
        let change = match held.change {
            Some(wish) => {
                let change = compared(key.clone(), wish, &plan.fields, mirror, store)?;
                Some(plan.spill.put(Change { marks: held.marks, ..change })?)
            }
            None => None,
        };
        plan.held.push(Held { key, reason: held.reason, change, other: None });
    }
    for change in queue::list(store, &plan.job)? {
        let is_carried = match change.undo {
            Some(_) => takes_back(&change.key),
            // A row that can't be used ends a removal that waits.
            None if change.wish.action == Action::Delete && plan.updates.spoilt.concerns(&change.key) => false,
            None => of_changes && what_for != For::File && is_left(&plan, &change.key),
        };
        if is_carried && !change.state.is_parked() {
            let (approved, marks) = (change.approved, change.marks);
            let change = compared(change.key, change.wish, &plan.fields, mirror, store)?;
            let change = plan.spill.put(Change { approved, marks, ..change })?;
            match part.writes {
                Writes::Off => plan.held.push(Held::change(change, &HoldReason::WritesOff)),
                Writes::Auto | Writes::Approve => plan.go.push(change),
            }
        }
    }
    Ok(plan)
}

/// What is wanted, with the fields that it would move now.
fn compared(
    key: Key,
    wish: DesiredState,
    fields: &[Field],
    mirror: &Mirror,
    store: &Store,
) -> Result<Change, store::Error> {
    let entity = wish.id.map(|id| mirror.get(store, id)).transpose()?.flatten();
    let mut moves = Deltas::new();
    if let Some(entity) = entity.filter(|_| wish.action == Action::Update) {
        for (name, to) in wish.fields.iter() {
            let (from, field) = (entity.value(name), fields.iter().find(|field| field.name == *name));
            if !field.map_or(from == to, |field| field.kind.same(to, from)) {
                moves.insert(name.clone(), Delta { from: from.clone(), to: to.clone() });
            }
        }
    }
    let known = wish.id.is_some();
    Ok(Change { key, wish, fields: moves, line: None, known, approved: false, marks: Default::default() })
}
