//! What a session does next. Pure: it looks at the session and the rows of its account alone.

use super::rules::{MARGIN, Model, Mutation};
use super::state::{AccountState, CHANGES, ChangeKind, Kept, PushStage, RowWrite, SLOTS, WorkerSession};

/// The next step of a session; there is at most one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Nothing to do, or time has to pass, or an answer is awaited.
    Wait,
    Commit(RowWrite),
    /// A look at the service for a create or an update of unknown outcome.
    Look(u8),
    /// The whole listing.
    List,
    /// The look at the deadline and, in the same moment, the first byte of the write.
    Send(u8),
    /// The first byte, after a pause in the hole.
    Leave(u8),
    /// Reading the counter after a lost reply.
    ReadCounter,
}

impl Model {
    pub(super) fn next(&self, account: usize, all: &AccountState, session: &WorkerSession) -> Next {
        let next = match session.stage {
            PushStage::Idle => self.next_idle(account, all, session),
            PushStage::Intended(change) => Next::Send(change),
            PushStage::Checked(change, _) => Next::Leave(change),
            PushStage::Unknown(change) if self.is(Mutation::UnknownIsDone) => {
                Next::Commit(RowWrite::Move(change, Kept::Done))
            }
            PushStage::Unknown(change) if self.is(Mutation::NoLook) => {
                Next::Commit(RowWrite::Move(change, Kept::Waiting))
            }
            PushStage::Unknown(change) | PushStage::Looked(change, true) => Next::Look(change),
            PushStage::OnWire(_) | PushStage::Looked(_, false) => Next::Wait,
            PushStage::Answered(change) | PushStage::Found(change) => Next::Commit(RowWrite::Move(change, Kept::Done)),
            PushStage::Absent(change) => Next::Commit(RowWrite::Move(change, Kept::Waiting)),
            PushStage::Doubt(RowWrite::Move(change, _)) if self.is(Mutation::DoubtForgotten) => {
                let other = (0..CHANGES as u8)
                    .find(|other| *other != change && all.row.kept[usize::from(*other)] == Kept::Waiting);
                other.map_or(Next::ReadCounter, |other| Next::Commit(RowWrite::Move(other, Kept::Sent)))
            }
            PushStage::Doubt(..) => Next::ReadCounter,
            PushStage::Listed(shown) => Next::Commit(RowWrite::Mirror(shown)),
            PushStage::Resend(write) => Next::Commit(write),
        };
        match next {
            Next::Look(_) | Next::List if !self.may_read(session) => Next::Wait,
            Next::Send(_) if !self.may_write(session) => Next::Wait,
            Next::Commit(RowWrite::Move(_, Kept::Sent)) if !self.may_intend(session) => Next::Wait,
            next => next,
        }
    }

    /// Takeover: wait, settle what was marked as sent, list, and only then write.
    fn next_idle(&self, account: usize, all: &AccountState, session: &WorkerSession) -> Next {
        let kept = |wanted: Kept| (0..CHANGES as u8).find(|change| all.row.kept[usize::from(*change)] == wanted);
        let has_settled = session.settle == 0;
        let may_look = has_settled || self.is(Mutation::LooksBeforeSettle);
        if let Some(change) = kept(Kept::Sent) {
            return match may_look {
                false => Next::Wait,
                true if self.is(Mutation::NoLook) => Next::Commit(RowWrite::Move(change, Kept::Waiting)),
                true => Next::Look(change),
            };
        }
        if !session.is_listed {
            return if may_look { Next::List } else { Next::Wait };
        }
        match kept(Kept::Waiting) {
            Some(change) if has_settled => {
                let is_there = self.kind(account, change) == ChangeKind::Create && session.mirror & 1 << change != 0;
                Next::Commit(RowWrite::Move(change, if is_there { Kept::Done } else { Kept::Sent }))
            }
            _ => Next::Wait,
        }
    }

    fn has_slot(&self, session: &WorkerSession) -> bool {
        !self.scope.counts_budget || session.slots.contains(&0)
    }

    /// A read does no harm late, but it counts: it begins before the lease may have ended.
    fn may_read(&self, session: &WorkerSession) -> bool {
        self.has_slot(session) && (session.deadline >= MARGIN || self.is(Mutation::ReadsUnchecked))
    }

    /// A write begins so early that the successor's wait covers it.
    fn may_write(&self, session: &WorkerSession) -> bool {
        let is_unchecked = self.is(Mutation::DeadlineUnchecked) || self.is(Mutation::DeadlineBeforeIntent);
        self.has_slot(session) && (is_unchecked || session.deadline >= self.scope.spans.write)
    }

    fn may_intend(&self, session: &WorkerSession) -> bool {
        !self.is(Mutation::DeadlineBeforeIntent) || session.deadline >= self.scope.spans.write
    }

    /// Takes a slot for so long.
    pub(super) fn take_slot(&self, session: &mut WorkerSession, span: u8) {
        if self.scope.counts_budget {
            let slot = session.slots.iter_mut().find(|slot| **slot == 0);
            *slot.expect("a request is enabled only while a slot is free") = span;
        }
    }

    /// The request that holds the slot furthest ahead was answered: it is free again so much later.
    pub(super) fn answer_slot(&self, session: &mut WorkerSession, span: u8) {
        let last = (0..SLOTS).max_by_key(|slot| session.slots[*slot]).expect("there are slots");
        session.slots[last] = session.slots[last].min(span);
    }
}
