//! The service, and the requests of the workers to it.

use super::rules::{LIFE, Model, Mutation, WINDOW};
use super::state::{AccountState, ChangeKind, Holder, Kept, Law, Moment, PushStage, SLOTS, WORKERS, Wire, WorkerMode};

impl Model {
    /// A look at the service for a change of unknown outcome: a create counts as absent after the second look only.
    pub(super) fn look(&self, state: &mut Moment, worker: u8, account: usize, change: u8) {
        let all = &mut state.accounts[account];
        self.read(all, worker);
        let is_there = all.taken[usize::from(change)] > 0;
        let is_enough = self.kind(account, change) == ChangeKind::Update || self.is(Mutation::OneLook);
        let session = all.session(worker);
        session.stage = match session.stage {
            _ if is_there => PushStage::Found(change),
            PushStage::Looked(..) => PushStage::Absent(change),
            _ if is_enough => PushStage::Absent(change),
            _ => PushStage::Looked(change, false),
        };
    }

    /// The whole listing: which creates the service shows to have happened. A commit makes it the mirror.
    pub(super) fn list(&self, state: &mut Moment, worker: u8, account: usize) {
        let all = &mut state.accounts[account];
        self.read(all, worker);
        let shown = all.taken.iter().rev().fold(0, |shown, taken| shown << 1 | u8::from(*taken > 0));
        all.session(worker).stage = PushStage::Listed(shown);
    }

    /// The look at the deadline. The first byte follows at once, unless the whole worker stops in between.
    pub(super) fn send(&self, state: &mut Moment, worker: u8, account: usize, change: u8) {
        let session = state.accounts[account].session(worker);
        self.take_slot(session, LIFE + WINDOW);
        if self.scope.hole > 0 {
            session.stage = PushStage::Checked(change, 0);
        } else {
            self.leave(state, worker, account, change);
        }
    }

    /// The first byte of a write.
    pub(super) fn leave(&self, state: &mut Moment, worker: u8, account: usize, change: u8) {
        let all = &mut state.accounts[account];
        let is_holder = all.row.holder == Holder::Worker(worker);
        let is_intended = all.row.kept[usize::from(change)] == Kept::Sent;
        // An intent that was lost with the tail does not count: the next claim waits and lists.
        let has_lost = all.is_unlisted;
        let session = all.session(worker);
        let is_superseded = session.is_superseded;
        session.stage = PushStage::OnWire(change);
        if all.newest == worker {
            all.sessions.iter_mut().flatten().for_each(|session| session.is_superseded = true);
            all.session(worker).is_superseded = false;
        }
        let wire = all.wires.iter_mut().find(|wire| wire.life == 0).expect("there are never so many requests at once");
        *wire = Wire { life: LIFE, change, sender: Some(worker) };
        if is_superseded {
            self.breaks(state, Law::Order);
        }
        if is_holder && !is_intended && !has_lost {
            self.breaks(state, Law::Intent);
        }
    }

    /// The service carries out a write, and its answer reaches who waits for it.
    pub(super) fn deliver(&self, state: &mut Moment, account: usize, wire: usize) {
        let all = &mut state.accounts[account];
        let Wire { change, sender, .. } = std::mem::replace(&mut all.wires[wire], Wire::NONE);
        let most = if self.kind(account, change) == ChangeKind::Create { 2 } else { 1 };
        let taken = &mut all.taken[usize::from(change)];
        *taken = (*taken + 1).min(most);
        let is_twice = *taken > 1;
        self.count(all);
        if let Some(sender) = sender {
            let session = all.session(sender);
            session.stage = PushStage::Answered(change);
            self.answer_slot(session, WINDOW);
        }
        if is_twice {
            self.breaks(state, Law::Twice);
        }
    }

    /// The connection of a write is cut: it happened, or it happens before long, or never.
    pub(super) fn cut_answer(&self, state: &mut Moment, worker: u8, account: usize) {
        state.faults -= 1;
        let all = &mut state.accounts[account];
        let PushStage::OnWire(change) = all.session(worker).stage else { return };
        for wire in all.wires.iter_mut().filter(|wire| wire.sender == Some(worker)) {
            *wire = Wire { life: 1, sender: None, ..*wire };
        }
        all.session(worker).stage = PushStage::Unknown(change);
    }

    /// A moment passes.
    pub(super) fn tick(&self, state: &mut Moment) {
        for all in &mut state.accounts {
            all.is_left = all.row.lease == 0 && self.scope.second == WorkerMode::Barred;
            let less = |left: &mut u8| *left = left.saturating_sub(1);
            less(&mut all.row.lease);
            all.wires.iter_mut().for_each(|wire| {
                wire.life -= u8::from(wire.life > 0);
            });
            all.arrivals.iter_mut().for_each(less);
            for (session, mode) in all.sessions.iter_mut().zip(&state.workers) {
                let Some(session) = session else { continue };
                if *mode != WorkerMode::Paused || !self.is(Mutation::ClockStandsStill) {
                    less(&mut session.deadline);
                }
                less(&mut session.settle);
                session.slots.iter_mut().for_each(less);
                session.stage = match session.stage {
                    PushStage::Looked(change, _) => PushStage::Looked(change, true),
                    PushStage::Checked(change, held) => PushStage::Checked(change, held + 1),
                    stage => stage,
                };
            }
        }
        for row in state.standby.iter_mut().flatten() {
            row.lease = row.lease.saturating_sub(1);
        }
        for worker in 0..WORKERS as u8 {
            if state.workers[usize::from(worker)] == WorkerMode::Up {
                self.accounts().for_each(|account| self.renew(state, worker, account));
            }
        }
    }

    /// Whether time may pass: what must happen by now has happened.
    pub(super) fn can_tick(&self, state: &Moment) -> bool {
        state.accounts.iter().all(|all| {
            let has_left = all.sessions.iter().zip(&state.workers).all(|(session, mode)| {
                match session.map(|session| session.stage) {
                    Some(PushStage::Checked(_, held)) => *mode == WorkerMode::Paused && held < self.scope.hole,
                    _ => true,
                }
            });
            has_left && all.wires.iter().all(|wire| wire.life != 1)
        })
    }

    fn read(&self, all: &mut AccountState, worker: u8) {
        self.take_slot(all.session(worker), WINDOW);
        self.count(all);
    }

    /// The service counts a request.
    fn count(&self, all: &mut AccountState) {
        if self.scope.counts_budget {
            let oldest = all.arrivals.iter_mut().min().expect("there are more places than slots");
            *oldest = WINDOW;
        }
    }

    /// Looks at what must be true at every moment.
    pub(super) fn judge(&self, state: &mut Moment) {
        for account in self.accounts() {
            let all = &state.accounts[account];
            let is_over = all.arrivals.iter().filter(|left| **left > 0).count() > SLOTS;
            let is_true = all.row.kept.iter().enumerate().all(|(change, kept)| match kept {
                Kept::Done => all.taken[change] > 0,
                Kept::Waiting | Kept::Sent => all.acknowledged & 1 << change == 0,
            });
            if is_over {
                self.breaks(state, Law::Budget);
            }
            if !is_true {
                self.breaks(state, Law::Remembered);
            }
        }
    }
}
