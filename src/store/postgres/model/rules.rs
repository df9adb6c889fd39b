//! What is explored: the spans of time, the bounds of an exploration, and the ways in which the protocol can be broken.

use super::state::{
    ACCOUNTS, AccountRow, AccountState, CHANGES, ChangeKind, Holder, Kept, Law, Moment, PushStage, SLOTS, WorkerMode,
    WorkerSession,
};

/// A lease from its renewal on (30 s).
pub(super) const LEASE: u8 = 4;
/// So much before its end the worker stops by its own clock (5 s).
pub(super) const MARGIN: u8 = 1;
/// How long a write request may take effect, from its first byte on (20 s).
pub(super) const LIFE: u8 = 2;
/// The span of the budget (60 s).
pub(super) const WINDOW: u8 = 7;

/// What can go wrong from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// A worker stops as a whole and goes on later.
    Pause,
    /// A worker loses the database and finds it again.
    CutOff,
    /// A worker ends and is started again.
    Crash,
    /// A commit's reply is lost, whether it was applied, was not, or will be.
    LostReply,
    /// The service's answer is lost.
    LostAnswer,
    /// The primary is lost with its tail, and the standby promoted.
    Failover,
    /// The clock of the database is set ahead, so that every lease has ended.
    ClockJump,
}

/// Two spans that belong together: until when a write may begin, and how long a successor waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spans {
    /// What must be left of the deadline for a write to begin.
    pub(super) write: u8,
    /// How long a successor waits from its claim on before it looks.
    pub(super) settle: u8,
}

/// A write may begin as long as a read may, and the successor waits for its whole life (45 s from the claim).
pub(super) const LATE: Spans = Spans { write: MARGIN, settle: LEASE - MARGIN + LIFE };
/// A write ends before the lease, so the wait is shorter (25 s), and much of each lease is no time for writes.
pub(super) const EARLY: Spans = Spans { write: MARGIN + LIFE, settle: LEASE - MARGIN };

/// The bounds of one exploration.
#[derive(Clone, Copy)]
pub(super) struct Scope {
    pub(super) name: &'static str,
    /// The changes of each account; an account without any takes no part.
    pub(super) changes: [&'static [ChangeKind]; ACCOUNTS],
    pub(super) allowed: &'static [Fault],
    /// How many faults at most.
    pub(super) faults: u8,
    /// How many clean releases at most.
    pub(super) releases: u8,
    pub(super) counts_budget: bool,
    pub(super) spans: Spans,
    /// The longest pause between the look at the deadline and the first byte.
    pub(super) hole: u8,
    /// How the second worker begins.
    pub(super) second: WorkerMode,
}

/// A mistake in the protocol. The laws must find each of them; one that no test tries is refused by the compiler as unused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mutation {
    /// The fence compares the epoch and not the holder.
    FenceWithoutHolder,
    /// The holder is an id of the process, not of the claim.
    HolderOfProcess,
    /// The same, and the fence does not compare the epoch.
    FenceWithoutEpoch,
    /// The same, and a renewal asks for the holder alone.
    RenewalByHolder,
    /// The fence does not compare the counter.
    FenceWithoutCounter,
    /// The fence does not compare the timeline of the row with that of the log.
    FenceWithoutTimeline,
    /// The fence does not look at the end of the lease: the one change that breaks nothing.
    FenceWithoutExpiry,
    /// The end of a lease is judged by the clock of the worker that claims.
    ClockOfWorker,
    /// The deadline counts from the reply to a renewal, not from its sending.
    DeadlineFromReply,
    /// The worker's clock stands still while the machine is suspended.
    ClockStandsStill,
    /// The deadline is not looked at before a write is sent.
    DeadlineUnchecked,
    /// The deadline is looked at before the intent, not after the wait for a slot of the budget.
    DeadlineBeforeIntent,
    /// The deadline is not looked at before a read is sent.
    ReadsUnchecked,
    /// A successor does not wait at all.
    NoSettle,
    /// Only the first write waits, not the looks.
    LooksBeforeSettle,
    /// The wait counts from the end of the lease that the row names, which is long past after a failover.
    SettleFromRow,
    /// A write may begin late, and the wait is as short as if it had to end early.
    SettleWithoutLife,
    /// The wait is the life of a request and no more.
    SettleWithoutLease,
    /// What was marked as sent is sent again without a look.
    NoLook,
    /// One look is enough.
    OneLook,
    /// A write of unknown outcome counts as done.
    UnknownIsDone,
    /// The slots of the predecessor count as free.
    BudgetForgotten,
    /// After a change of the timeline the budget counts as spent no longer than after any takeover.
    BudgetWithoutSettle,
    /// The slots of a clean release count after a change of the timeline too.
    WindowAfterFailover,
    /// A claim leaves the slots of the last clean release in the row.
    WindowKept,
    /// A change of the timeline does not bring about a whole listing.
    NoListing,
    /// The whole listing is not made durable before the takeover counts as over.
    ListingInMemory,
    /// The timeline is the one of the last checkpoint or of an earlier connection, or a tail is lost without a change of it.
    TimelineStale,
    /// A release in the midst of a takeover counts as clean.
    ReleaseInTakeover,
    /// A release with a request on its way counts as clean.
    ReleaseInFlight,
    /// After a lost reply the commit is sent again under the counter that the row has now.
    RetryBlind,
    /// After a lost reply a commit is given up, and the next one sent under the same counter; where that is refused and the
    /// counter is one further, it counts as applied.
    DoubtForgotten,
    /// After a lost reply a commit counts as applied.
    LostIsApplied,
    /// A worker never takes more than its share of the accounts.
    HardQuota,
}

/// A protocol within bounds.
#[derive(Clone, Copy)]
pub(super) struct Model {
    pub(super) scope: Scope,
    pub(super) mutation: Option<Mutation>,
    /// The only law that is looked at; all of them without.
    pub(super) watched: Option<Law>,
}

impl Model {
    pub(super) fn is(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    /// Whether the workers are two sessions of one process that has one id for all its claims.
    pub(super) fn is_one_process(&self) -> bool {
        self.is(Mutation::HolderOfProcess) || self.is(Mutation::FenceWithoutEpoch) || self.is(Mutation::RenewalByHolder)
    }

    pub(super) fn allows(&self, state: &Moment, fault: Fault) -> bool {
        state.faults > 0 && self.scope.allowed.contains(&fault)
    }

    /// The accounts that take part.
    pub(super) fn accounts(&self) -> impl Iterator<Item = usize> {
        let changes = self.scope.changes;
        (0..ACCOUNTS).filter(move |account| !changes[*account].is_empty())
    }

    pub(super) fn kind(&self, account: usize, change: u8) -> ChangeKind {
        self.scope.changes[account][usize::from(change)]
    }

    /// Notes that a law is broken.
    pub(super) fn breaks(&self, state: &mut Moment, law: Law) {
        if self.watched.is_none_or(|watched| watched == law) {
            state.broken.get_or_insert(law);
        }
    }

    /// Both workers hold an account each, or the first one holds the only one and has done so for a while. If the second is barred,
    /// the second account is free.
    pub(super) fn initial(&self) -> Moment {
        let mut accounts = [AccountState::NEW; ACCOUNTS];
        for account in self.accounts() {
            let changes = self.scope.changes[account].len();
            let mut kept = [Kept::Done; CHANGES];
            kept[..changes].fill(Kept::Waiting);
            let mut taken = [1; CHANGES];
            taken[..changes].fill(0);
            accounts[account].row.kept = kept;
            accounts[account].taken = taken;
            if account == 1 && self.scope.second == WorkerMode::Barred {
                continue;
            }
            let worker = u8::try_from(account).expect("there are two");
            accounts[account].row =
                AccountRow { holder: Holder::Worker(worker), lease: LEASE, kept, ..accounts[account].row };
            accounts[account].sessions[account] = Some(WorkerSession {
                stage: PushStage::Idle,
                epoch: 0,
                commits: 0,
                deadline: LEASE,
                settle: 0,
                is_listed: true,
                mirror: 0,
                slots: [0; SLOTS],
                is_superseded: false,
            });
        }
        Moment {
            accounts,
            workers: [WorkerMode::Up, self.scope.second],
            standby: None,
            timeline: 0,
            is_failed_over: false,
            faults: self.scope.faults,
            releases: self.scope.releases,
            broken: None,
        }
    }

    pub(super) fn is_done(&self, state: &Moment) -> bool {
        state.accounts.iter().enumerate().all(|(account, all)| {
            self.scope.changes[account].is_empty() || all.row.kept.iter().all(|kept| *kept == Kept::Done)
        })
    }
}
