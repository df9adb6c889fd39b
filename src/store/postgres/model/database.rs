//! PostgreSQL: the row of an account, its lease, the fence of a commit, and the loss of a tail.

use super::rules::{EARLY, LEASE, LIFE, Model, Mutation, WINDOW};
use super::session::Next;
use super::state::{
    AccountRow, CommitStatement, Holder, Kept, Law, Moment, PushStage, RowWrite, SLOTS, WORKERS, WorkerMode,
    WorkerSession,
};

/// What becomes of a commit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum CommitReply {
    Heard,
    /// It was applied, and the reply was lost.
    LostApplied,
    /// It never reached the database.
    LostDropped,
    /// It is under way in the database while the worker has given up its connection.
    LostLate,
}

/// The clock of a standby that was promoted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum StandbyClock {
    Same,
    /// So far ahead that every lease has ended.
    Ahead,
    /// So far behind that every lease has just begun.
    Behind,
}

impl Model {
    pub(super) fn can_claim(&self, state: &Moment, worker: u8, account: usize) -> bool {
        let all = &state.accounts[account];
        let is_free = all.row.lease == 0 || self.is(Mutation::ClockOfWorker);
        let held = state.accounts.iter().filter(|all| all.sessions[usize::from(worker)].is_some()).count();
        let share = self.accounts().count().div_ceil(WORKERS);
        let is_mine = all.sessions[usize::from(worker)].is_some();
        let may_take = held < share || all.is_left && !self.is(Mutation::HardQuota);
        state.workers[usize::from(worker)] == WorkerMode::Up && !is_mine && is_free && may_take
    }

    /// One statement: it returns what the row held before, and leaves no slots behind.
    pub(super) fn claim(&self, state: &mut Moment, worker: u8, account: usize) {
        let timeline = state.timeline;
        let all = &mut state.accounts[account];
        let is_moved = all.row.timeline != timeline && !self.is(Mutation::TimelineStale);
        let was_released = all.row.window.is_some();
        let is_clean = was_released && !is_moved;
        let window = all.row.window.filter(|_| !is_moved || self.is(Mutation::WindowAfterFailover));
        let settle = match (is_clean, is_moved) {
            _ if self.is(Mutation::NoSettle) => 0,
            (true, _) => 0,
            (false, true) if self.is(Mutation::SettleFromRow) => 0,
            _ if self.is(Mutation::SettleWithoutLife) => EARLY.settle,
            _ if self.is(Mutation::SettleWithoutLease) => LIFE,
            _ => self.scope.spans.settle,
        };
        let slots = match window {
            _ if !self.scope.counts_budget || self.is(Mutation::BudgetForgotten) => [0; SLOTS],
            Some(slots) => slots,
            None if is_moved && !self.is(Mutation::BudgetWithoutSettle) => [self.scope.spans.settle + WINDOW; SLOTS],
            None => [WINDOW; SLOTS],
        };
        all.row.holder = Holder::Worker(worker);
        all.row.epoch += 1;
        all.row.lease = LEASE;
        all.row.timeline = timeline;
        if !self.is(Mutation::WindowKept) {
            all.row.window = None;
        }
        all.newest = worker;
        all.is_left = false;
        all.sessions[usize::from(worker)] = Some(WorkerSession {
            stage: PushStage::Idle,
            epoch: all.row.epoch,
            commits: all.row.commits,
            deadline: LEASE,
            settle,
            is_listed: is_clean || was_released && self.is(Mutation::NoListing),
            mirror: all.row.mirror,
            slots,
            is_superseded: false,
        });
    }

    /// The same, and the worker does not hear that the account is its own.
    pub(super) fn claim_unheard(&self, state: &mut Moment, worker: u8, account: usize) {
        state.faults -= 1;
        self.claim(state, worker, account);
        self.end(state, worker, account);
    }

    /// One statement for all accounts of a worker; what does not come back is lost.
    pub(super) fn renew(&self, state: &mut Moment, worker: u8, account: usize) {
        let timeline = state.timeline;
        let all = &mut state.accounts[account];
        let is_moved = all.row.timeline != timeline && !self.is_timeless();
        let Some(session) = &mut all.sessions[usize::from(worker)] else { return };
        let is_epoch = all.row.epoch == session.epoch || self.is(Mutation::RenewalByHolder);
        if self.is_same(all.row.holder, worker) && is_epoch && !is_moved {
            all.row.lease = LEASE;
            session.deadline = LEASE;
        } else {
            self.end(state, worker, account);
        }
    }

    /// Whether a worker may give an account back so that its successor need not wait: nothing is on its way, and the takeover is
    /// over.
    pub(super) fn can_release(&self, state: &Moment, worker: u8, account: usize) -> bool {
        let all = &state.accounts[account];
        let Some(session) = &all.sessions[usize::from(worker)] else { return false };
        let is_mine = all.row.holder == Holder::Worker(worker);
        let is_taken_over = session.is_listed && session.settle == 0 || self.is(Mutation::ReleaseInTakeover);
        let is_still = session.stage == PushStage::Idle && !all.row.kept.contains(&Kept::Sent)
            || matches!(session.stage, PushStage::OnWire(_)) && self.is(Mutation::ReleaseInFlight);
        state.releases > 0
            && state.workers[usize::from(worker)] == WorkerMode::Up
            && is_mine
            && is_taken_over
            && is_still
    }

    pub(super) fn release(&self, state: &mut Moment, worker: u8, account: usize) {
        state.releases -= 1;
        let all = &mut state.accounts[account];
        let slots = all.session(worker).slots;
        all.row = AccountRow { holder: Holder::Nobody, lease: 0, window: Some(slots), ..all.row };
        self.end(state, worker, account);
    }

    /// The end of a session: nothing of it is left but what is on its way.
    pub(super) fn end(&self, state: &mut Moment, worker: u8, account: usize) {
        let all = &mut state.accounts[account];
        all.sessions[usize::from(worker)] = None;
        all.late = all.late.filter(|late| late.worker != worker);
        for wire in all.wires.iter_mut().filter(|wire| wire.sender == Some(worker)) {
            wire.sender = None;
        }
        let rows = [Some(&mut all.row), state.standby.as_mut().map(|rows| &mut rows[account])];
        for row in rows.into_iter().flatten().filter(|row| row.holder == Holder::Worker(worker)) {
            row.holder = Holder::Ended;
        }
    }

    /// Sends the commit that a session is at.
    pub(super) fn commit(&self, state: &mut Moment, worker: u8, account: usize, reply: CommitReply) {
        let all = &mut state.accounts[account];
        let session = all.sessions[usize::from(worker)].expect("only a session commits");
        let Next::Commit(write) = self.next(account, all, &session) else { return };
        let statement = CommitStatement { worker, epoch: session.epoch, commits: session.commits, write };
        if reply == CommitReply::Heard {
            match (self.carry_out(state, account, statement), session.stage) {
                (true, _) => self.acknowledge(state, worker, account, write),
                (false, PushStage::Doubt(..)) if self.is_one_further(state, worker, account) => {
                    self.acknowledge(state, worker, account, write);
                }
                // The first of the two may have been carried out meanwhile.
                (false, PushStage::Resend(..)) => {
                    state.accounts[account].session(worker).stage = PushStage::Doubt(write);
                }
                (false, _) => self.end(state, worker, account),
            }
            return;
        }
        state.faults -= 1;
        match reply {
            CommitReply::LostApplied => _ = self.carry_out(state, account, statement),
            CommitReply::LostLate => all.late = Some(statement),
            CommitReply::LostDropped | CommitReply::Heard => {}
        }
        if self.is(Mutation::LostIsApplied) {
            self.acknowledge(state, worker, account, write);
        } else {
            state.accounts[account].session(worker).stage = PushStage::Doubt(write);
        }
    }

    fn is_one_further(&self, state: &Moment, worker: u8, account: usize) -> bool {
        let all = &state.accounts[account];
        let session = all.sessions[usize::from(worker)].expect("only a session commits");
        self.is_same(all.row.holder, worker) && all.row.epoch == session.epoch && all.row.commits == session.commits + 1
    }

    /// The database carries out a commit whose connection is gone, or refuses it.
    pub(super) fn carry_out_late(&self, state: &mut Moment, account: usize) {
        let late = state.accounts[account].late.take().expect("enabled only while there is one");
        self.carry_out(state, account, late);
    }

    /// After a lost reply: was it applied?
    pub(super) fn read_counter(&self, state: &mut Moment, worker: u8, account: usize) {
        let all = &mut state.accounts[account];
        let row = all.row;
        let session = all.session(worker);
        let PushStage::Doubt(write) = session.stage else { return };
        let is_mine = self.is_same(row.holder, worker) && row.epoch == session.epoch;
        if is_mine && self.is(Mutation::RetryBlind) {
            session.commits = row.commits;
        }
        if is_mine && row.commits == session.commits {
            session.stage = PushStage::Resend(write);
        } else if is_mine && row.commits == session.commits + 1 {
            self.acknowledge(state, worker, account, write);
        } else {
            self.end(state, worker, account);
        }
    }

    /// The clock of the database is set ahead.
    pub(super) fn jump(&self, state: &mut Moment) {
        state.faults -= 1;
        state.accounts.iter_mut().for_each(|all| all.row.lease = 0);
    }

    /// The standby stops to follow.
    pub(super) fn lag(&self, state: &mut Moment) {
        state.faults -= 1;
        state.standby = Some(state.accounts.map(|all| all.row));
    }

    /// The primary is gone for ever, and the standby takes its place.
    pub(super) fn promote(&self, state: &mut Moment, clock: StandbyClock) {
        let Some(rows) = state.standby.take() else { return };
        state.timeline = 1;
        state.is_failed_over = true;
        for (all, row) in state.accounts.iter_mut().zip(rows) {
            all.is_unlisted |= all.has_lost(&row);
            all.row = row;
            match clock {
                StandbyClock::Ahead => all.row.lease = 0,
                StandbyClock::Behind if row.holder != Holder::Nobody => all.row.lease = LEASE,
                StandbyClock::Behind | StandbyClock::Same => {}
            }
            all.late = None;
            for (change, kept) in row.kept.iter().enumerate() {
                if *kept != Kept::Done {
                    all.acknowledged &= !(1 << change);
                }
            }
        }
    }

    /// Whether a row names the claim of this worker, as far as the fence can tell.
    fn is_same(&self, holder: Holder, worker: u8) -> bool {
        match holder {
            Holder::Worker(other) => other == worker || self.is_one_process(),
            Holder::Nobody | Holder::Ended => false,
        }
    }

    /// Whether commits and renewals know nothing of the timeline.
    fn is_timeless(&self) -> bool {
        self.is(Mutation::TimelineStale) || self.is(Mutation::FenceWithoutTimeline)
    }

    /// The fence and what it guards, in one statement. The laws compare with what is true.
    fn carry_out(&self, state: &mut Moment, account: usize, statement: CommitStatement) -> bool {
        let row = state.accounts[account].row;
        let CommitStatement { worker, epoch, commits, write } = statement;
        let passes = (self.is_same(row.holder, worker) || self.is(Mutation::FenceWithoutHolder))
            && (row.epoch == epoch || self.is(Mutation::FenceWithoutEpoch))
            && (row.commits == commits || self.is(Mutation::FenceWithoutCounter))
            && (row.timeline == state.timeline || self.is_timeless())
            && (row.lease > 0 || self.is(Mutation::FenceWithoutExpiry));
        if !passes {
            return false;
        }
        let is_true = row.holder == Holder::Worker(worker) && row.epoch == epoch && row.commits == commits;
        let is_a_step = match write {
            RowWrite::Mirror(_) => true,
            RowWrite::Move(change, to) => matches!(
                (row.kept[usize::from(change)], to),
                (Kept::Waiting, Kept::Sent | Kept::Done) | (Kept::Sent, Kept::Waiting | Kept::Done)
            ),
        };
        if !is_true || !is_a_step {
            self.breaks(state, Law::Fence);
        }
        if matches!(write, RowWrite::Move(_, Kept::Sent)) && state.accounts[account].is_unlisted {
            self.breaks(state, Law::Listing);
        }
        let all = &mut state.accounts[account];
        all.row.commits += 1;
        match write {
            RowWrite::Move(change, to) => all.row.kept[usize::from(change)] = to,
            RowWrite::Mirror(shown) => {
                all.is_unlisted = false;
                if !self.is(Mutation::ListingInMemory) {
                    all.row.mirror = shown;
                }
            }
        }
        true
    }

    /// The worker knows that its commit was applied.
    fn acknowledge(&self, state: &mut Moment, worker: u8, account: usize, write: RowWrite) {
        let all = &mut state.accounts[account];
        let session = all.session(worker);
        session.commits += 1;
        session.stage = PushStage::Idle;
        match write {
            RowWrite::Mirror(shown) => {
                session.mirror = shown;
                session.is_listed = true;
            }
            RowWrite::Move(change, Kept::Sent) => session.stage = PushStage::Intended(change),
            RowWrite::Move(change, Kept::Done) => all.acknowledged |= 1 << change,
            RowWrite::Move(_, Kept::Waiting) => {}
        }
    }
}
