//! What a plan makes and another job may have made just now: the request of that job got no answer, and the list that was read before it
//! does not show it.
//!
//! Such a record waits until the other job knows what became of its request (law 3). Then it is at the service, and belongs to that
//! job, or it is not there, and this one makes it.
//!
//! Rejected: to read the list once more. The look-up of the other job has failed, or it would know; so may this one.

use super::inputs::Inputs;
use crate::plan::{Guarded, HoldReason, Judged as _, Outline, match_hash};
use crate::queue::{self, State};
use crate::reconcile::model::error::Error;
use crate::record::{Action, JobName, Key, Target, Values};

impl Inputs<'_> {
    /// The records among what is sent that another job may have made, and why they wait.
    pub(super) fn sent_by_others(&self, changes: &Guarded<Outline>) -> Result<Vec<(Key, HoldReason)>, Error> {
        let sent = self.unsettled_creates()?;
        let mut waits = Vec::new();
        for change in changes.go.iter().filter(|change| change.joins() && !sent.is_empty()) {
            let fields = self.spill.change(change)?.wish.fields;
            let same = sent.iter().find(|(_, theirs)| self.may_be_one(&fields, theirs));
            let reason = |(job, _): &(JobName, Values)| HoldReason::SentByJob { job: job.root().to_string() };
            waits.extend(same.map(|same| (change.key.clone(), reason(same))));
        }
        Ok(waits)
    }

    /// What other jobs make of the same target and have sent, without knowing what became of it.
    fn unsettled_creates(&self) -> Result<Vec<(JobName, Values)>, Error> {
        let (job, store) = (self.job(), self.store());
        let mut sent = Vec::new();
        for other in self.part.context.config.parts() {
            if other.mapping.target != job.mapping.target || other.name == job.name {
                continue;
            }
            let mut keys = Vec::new();
            queue::briefs_but_waiting(store, &other.name, |brief| {
                keys.extend(matches!(brief.state, State::Sent { .. }).then_some(brief.key));
            })?;
            for key in keys {
                let change = queue::get(store, &other.name, &key)?;
                let create = change.filter(|change| change.wish.action == Action::Create);
                sent.extend(create.map(|change| (other.name.clone(), change.wish.fields)));
            }
        }
        Ok(sent)
    }

    /// Whether two new records may be of one entity: something that is one's own is the same in both.
    fn may_be_one(&self, own: &Values, theirs: &Values) -> bool {
        let of_organization = (self.job().mapping.target == Target::Organization).then_some(Target::NAME);
        let by = self.job().match_on.iter().map(|field| field.as_str()).chain([Target::EMAIL]).chain(of_organization);
        by.into_iter().any(|field| {
            let value = match_hash(own, field);
            value.is_some() && value == match_hash(theirs, field)
        })
    }
}
