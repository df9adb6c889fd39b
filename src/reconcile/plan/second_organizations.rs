//! Organizations that a plan makes with the name of another one of the job: most likely a number was mistyped, or corrected.
//!
//! The service has both then, and no operation removes an organization. So plan and run say so.
//!
//! Rejected: to take the other one over, as it is done with people. Two companies may have one name, and the one would get the number
//! of the other, and its people. Rejected, too: to hold it. No one is joined to an organization that is not there.

use std::collections::HashMap;

use super::inputs::Inputs;
use super::notes;
use crate::plan::{Guarded, Judged as _, Outline, match_hash};
use crate::reconcile::model::error::Error;
use crate::record::{Key, Target};
use crate::snapshot::{SYNCED, SyncedRecord};

impl Inputs<'_> {
    /// What is to be said of organizations that the plan makes and that have the name of another one.
    pub(super) fn second_organizations(&self, changes: &Guarded<Outline>) -> Result<Option<String>, Error> {
        if self.job().mapping.target != Target::Organization {
            return Ok(None);
        }
        let mut by_name: HashMap<u64, &Key> = HashMap::new();
        let mut second: Vec<(&Key, Key)> = Vec::new();
        for change in changes.go.iter().filter(|change| change.joins()) {
            let name = match_hash(&self.spill.change(change)?.wish.fields, Target::NAME);
            let Some(name) = name else { continue };
            let first = *by_name.entry(name).or_insert(&change.key);
            second.extend((*first != change.key).then(|| (&change.key, first.clone())));
        }
        if !by_name.is_empty() {
            SYNCED.each(self.store(), &self.job().name, |key: Key, known: SyncedRecord| {
                let new = match_hash(&known.sent, Target::NAME).and_then(|name| by_name.get(&name));
                second.extend(new.filter(|new| ***new != key).map(|new| (*new, key)));
            })?;
        }
        Ok(notes::second_organizations_note(&second))
    }
}
