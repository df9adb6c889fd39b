//! What can happen next. Each action names the function of the program that it models.

use super::database::{CommitReply, StandbyClock};
use super::rules::{Fault, Model};
use super::session::Next;
use super::state::{Moment, PushStage, WORKERS, WorkerMode};

/// One thing that happens. Workers and accounts are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ModelAction {
    /// A moment passes; workers that are up renew in it: `renewal::renew`, which compares holder, epoch and timeline.
    Tick,
    /// `tenure::claim`: one statement, whose reply is the row as it was and the timeline of the log.
    Claim(u8, usize),
    /// The same, and its reply is lost.
    ClaimUnheard(u8, usize),
    /// `tenure::release`, after the push has come to rest.
    Release(u8, usize),
    /// `Rows::commit_fenced`: of an intent (`push::attempt`), of an outcome (`push::attempt`, `push::resolve_unknown`), of a match.
    Commit(u8, usize, CommitReply),
    /// `Rows::commit_fenced` after a lost reply: the counter is read before anything else.
    ReadCounter(u8, usize),
    /// `push::resolve_unknown`, `push::recover`: one look.
    Look(u8, usize, u8),
    /// `mirror::pull`: the whole listing.
    List(u8, usize),
    /// `push::attempt` and `api::budget`: slot, deadline, and the first byte in the same moment.
    Send(u8, usize, u8),
    /// The same after a pause in the hole.
    Leave(u8, usize, u8),
    /// The service carries out a write and answers.
    Deliver(usize, usize),
    /// A write of a sender that is gone never happens.
    Drop(usize, usize),
    /// The answer to a write is lost.
    CutAnswer(u8, usize),
    /// PostgreSQL carries out a commit whose connection is gone.
    CarryOutLate(usize),
    /// A worker stops as a whole.
    Pause(u8),
    /// A worker loses the database.
    CutOff(u8),
    /// A worker goes on, or finds the database again.
    Resume(u8),
    /// A worker ends and is started again, with ids of its own.
    Crash(u8),
    /// The clock of the database is set ahead.
    ClockJump,
    /// The standby stops to follow.
    Lag,
    /// The primary is lost, and the standby promoted.
    Promote(StandbyClock),
}

impl ModelAction {
    /// Faults come from outside; where they stop, the rest must come to an end.
    pub(super) fn is_fault(self) -> bool {
        match self {
            Self::Tick
            | Self::Claim(..)
            | Self::Commit(_, _, CommitReply::Heard)
            | Self::ReadCounter(..)
            | Self::Look(..)
            | Self::List(..)
            | Self::Send(..)
            | Self::Leave(..)
            | Self::Deliver(..)
            | Self::Drop(..)
            | Self::CarryOutLate(_)
            | Self::Resume(_) => false,
            Self::Release(..)
            | Self::ClaimUnheard(..)
            | Self::ClockJump
            | Self::Commit(..)
            | Self::CutAnswer(..)
            | Self::Pause(_)
            | Self::CutOff(_)
            | Self::Crash(_)
            | Self::Lag
            | Self::Promote(_) => true,
        }
    }

    /// The same with other names for the workers.
    pub(super) fn exchange_workers(self) -> Self {
        match self {
            Self::Claim(worker, account) => Self::Claim(1 - worker, account),
            Self::ClaimUnheard(worker, account) => Self::ClaimUnheard(1 - worker, account),
            Self::Release(worker, account) => Self::Release(1 - worker, account),
            Self::Commit(worker, account, reply) => Self::Commit(1 - worker, account, reply),
            Self::ReadCounter(worker, account) => Self::ReadCounter(1 - worker, account),
            Self::Look(worker, account, change) => Self::Look(1 - worker, account, change),
            Self::List(worker, account) => Self::List(1 - worker, account),
            Self::Send(worker, account, change) => Self::Send(1 - worker, account, change),
            Self::Leave(worker, account, change) => Self::Leave(1 - worker, account, change),
            Self::CutAnswer(worker, account) => Self::CutAnswer(1 - worker, account),
            Self::Pause(worker) => Self::Pause(1 - worker),
            Self::CutOff(worker) => Self::CutOff(1 - worker),
            Self::Resume(worker) => Self::Resume(1 - worker),
            Self::Crash(worker) => Self::Crash(1 - worker),
            Self::Tick
            | Self::Deliver(..)
            | Self::Drop(..)
            | Self::CarryOutLate(_)
            | Self::ClockJump
            | Self::Lag
            | Self::Promote(_) => self,
        }
    }
}

impl Model {
    /// Everything that can happen now.
    pub(super) fn actions(&self, state: &Moment, actions: &mut Vec<ModelAction>) {
        if self.can_tick(state) {
            actions.push(ModelAction::Tick);
        }
        for worker in 0..WORKERS as u8 {
            self.of_worker(state, worker, actions);
        }
        for account in self.accounts() {
            let all = &state.accounts[account];
            for (index, wire) in all.wires.iter().enumerate().filter(|(_, wire)| wire.life > 0) {
                actions.push(ModelAction::Deliver(account, index));
                if wire.sender.is_none() {
                    actions.push(ModelAction::Drop(account, index));
                }
            }
            if all.late.is_some() {
                actions.push(ModelAction::CarryOutLate(account));
            }
        }
        if self.allows(state, Fault::ClockJump) && state.accounts.iter().any(|all| all.row.lease > 0) {
            actions.push(ModelAction::ClockJump);
        }
        if state.standby.is_some() {
            actions.extend([StandbyClock::Same, StandbyClock::Ahead, StandbyClock::Behind].map(ModelAction::Promote));
        } else if self.allows(state, Fault::Failover) && !state.is_failed_over {
            actions.push(ModelAction::Lag);
        }
    }

    fn of_worker(&self, state: &Moment, worker: u8, actions: &mut Vec<ModelAction>) {
        let mode = state.workers[usize::from(worker)];
        let is_busy = state.accounts.iter().any(|all| all.sessions[usize::from(worker)].is_some());
        match mode {
            WorkerMode::Up if is_busy => {
                let faults = [
                    (Fault::Pause, ModelAction::Pause(worker)),
                    (Fault::CutOff, ModelAction::CutOff(worker)),
                    (Fault::Crash, ModelAction::Crash(worker)),
                ];
                actions.extend(
                    faults.into_iter().filter(|(fault, _)| self.allows(state, *fault)).map(|(_, action)| action),
                );
            }
            WorkerMode::Paused | WorkerMode::CutOff => actions.push(ModelAction::Resume(worker)),
            WorkerMode::Up | WorkerMode::Barred => {}
        }
        for account in self.accounts() {
            if self.can_claim(state, worker, account) {
                actions.push(ModelAction::Claim(worker, account));
                if self.allows(state, Fault::LostReply) {
                    actions.push(ModelAction::ClaimUnheard(worker, account));
                }
            }
            if self.can_release(state, worker, account) {
                actions.push(ModelAction::Release(worker, account));
            }
            if mode == WorkerMode::Up || mode == WorkerMode::CutOff {
                self.of_session(state, worker, account, actions);
            }
            // The network does not ask whether the worker stands still.
            let all = &state.accounts[account];
            let is_on_wire =
                all.sessions[usize::from(worker)].is_some_and(|session| matches!(session.stage, PushStage::OnWire(_)));
            if is_on_wire && self.allows(state, Fault::LostAnswer) {
                actions.push(ModelAction::CutAnswer(worker, account));
            }
        }
    }

    fn of_session(&self, state: &Moment, worker: u8, account: usize, actions: &mut Vec<ModelAction>) {
        let all = &state.accounts[account];
        let Some(session) = &all.sessions[usize::from(worker)] else { return };
        let is_up = state.workers[usize::from(worker)] == WorkerMode::Up;
        match self.next(account, all, session) {
            Next::Commit(..) if is_up => {
                actions.push(ModelAction::Commit(worker, account, CommitReply::Heard));
                if self.allows(state, Fault::LostReply) {
                    let lost = [CommitReply::LostApplied, CommitReply::LostDropped, CommitReply::LostLate];
                    let lost = lost.into_iter().filter(|reply| *reply != CommitReply::LostLate || all.late.is_none());
                    actions.extend(lost.map(|reply| ModelAction::Commit(worker, account, reply)));
                }
            }
            Next::ReadCounter if is_up => actions.push(ModelAction::ReadCounter(worker, account)),
            Next::Look(change) => actions.push(ModelAction::Look(worker, account, change)),
            Next::List => actions.push(ModelAction::List(worker, account)),
            Next::Send(change) => actions.push(ModelAction::Send(worker, account, change)),
            Next::Leave(change) => actions.push(ModelAction::Leave(worker, account, change)),
            Next::Wait | Next::Commit(..) | Next::ReadCounter => {}
        }
    }

    /// The state after an action.
    pub(super) fn after(&self, state: &Moment, action: ModelAction) -> Moment {
        let mut after = *state;
        match action {
            ModelAction::Tick => self.tick(&mut after),
            ModelAction::Claim(worker, account) => self.claim(&mut after, worker, account),
            ModelAction::Release(worker, account) => self.release(&mut after, worker, account),
            ModelAction::Commit(worker, account, reply) => self.commit(&mut after, worker, account, reply),
            ModelAction::ReadCounter(worker, account) => self.read_counter(&mut after, worker, account),
            ModelAction::Look(worker, account, change) => self.look(&mut after, worker, account, change),
            ModelAction::List(worker, account) => self.list(&mut after, worker, account),
            ModelAction::Send(worker, account, change) => self.send(&mut after, worker, account, change),
            ModelAction::Leave(worker, account, change) => self.leave(&mut after, worker, account, change),
            ModelAction::Deliver(account, wire) => self.deliver(&mut after, account, wire),
            ModelAction::Drop(account, wire) => after.accounts[account].wires[wire] = super::state::Wire::NONE,
            ModelAction::CutAnswer(worker, account) => self.cut_answer(&mut after, worker, account),
            ModelAction::CarryOutLate(account) => self.carry_out_late(&mut after, account),
            ModelAction::Pause(worker) => self.fail(&mut after, worker, WorkerMode::Paused),
            ModelAction::CutOff(worker) => self.fail(&mut after, worker, WorkerMode::CutOff),
            ModelAction::Crash(worker) => {
                self.fail(&mut after, worker, WorkerMode::Up);
                self.accounts().for_each(|account| self.end(&mut after, worker, account));
            }
            ModelAction::Resume(worker) => self.resume(&mut after, worker),
            ModelAction::ClaimUnheard(worker, account) => self.claim_unheard(&mut after, worker, account),
            ModelAction::ClockJump => self.jump(&mut after),
            ModelAction::Lag => self.lag(&mut after),
            ModelAction::Promote(clock) => self.promote(&mut after, clock),
        }
        self.judge(&mut after);
        after
    }

    fn fail(&self, state: &mut Moment, worker: u8, mode: WorkerMode) {
        state.faults -= 1;
        state.workers[usize::from(worker)] = mode;
    }

    fn resume(&self, state: &mut Moment, worker: u8) {
        state.workers[usize::from(worker)] = WorkerMode::Up;
        if self.is(super::rules::Mutation::DeadlineFromReply) {
            let sessions = state.accounts.iter_mut().filter_map(|all| all.sessions[usize::from(worker)].as_mut());
            sessions.for_each(|session| session.deadline = super::rules::LEASE);
        }
    }
}
