//! One moment of the model, as small as it can be.
//!
//! All times are what is left of them, so that two moments that differ only in their date are one state. Numbers of which
//! only equality counts (epochs, counters) are shifted down to nought, and the two workers may change places.

use std::fmt;

/// How many workers there are.
pub(super) const WORKERS: usize = 2;
/// How many accounts.
pub(super) const ACCOUNTS: usize = 2;
/// How many changes an account can have.
pub(super) const CHANGES: usize = 3;
/// The budget of a credential: so many requests in any span of `WINDOW`.
pub(super) const SLOTS: usize = 2;
/// How many write requests of an account can be on their way at once.
const WIRES: usize = 4;

/// What a change asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChangeKind {
    /// A POST: done twice, it makes two people.
    Create,
    /// A PUT: done twice, it does no harm.
    Update,
}

/// How far a change is, according to the rows of its account. Waiting and sent are those of `queue::State`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Kept {
    Waiting,
    Sent,
    /// Out of the queue, and in the snapshot.
    Done,
}

/// What a commit changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum RowWrite {
    /// How far a change is.
    Move(u8, Kept),
    /// The mirror: which creates the whole listing showed to be there already, as bits.
    Mirror(u8),
}

/// Whose claim the row of an account names. The program draws an id for each claim; the model needs to know only whether it is
/// that of the claim a worker lives by now.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Holder {
    Nobody,
    /// The claim behind the session of this worker.
    Worker(u8),
    /// A claim whose session has ended.
    Ended,
}

/// The row of an account and the rows that commits move: what PostgreSQL holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct AccountRow {
    pub(super) holder: Holder,
    pub(super) epoch: u8,
    /// What is left of the lease by the clock of the database.
    pub(super) lease: u8,
    pub(super) commits: u8,
    pub(super) timeline: u8,
    /// The slots that a clean release left behind.
    pub(super) window: Option<[u8; SLOTS]>,
    pub(super) kept: [Kept; CHANGES],
    /// The creates that the last whole listing showed to be there, as bits.
    pub(super) mirror: u8,
}

/// Where a session stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum PushStage {
    /// Between two changes, or in the takeover.
    Idle,
    /// The intent is durable; the request waits for its turn.
    Intended(u8),
    /// The deadline was looked at, and nothing has left yet. Time passes here only in the hole.
    Checked(u8, u8),
    OnWire(u8),
    /// The answer has arrived.
    Answered(u8),
    /// The connection was cut.
    Unknown(u8),
    /// A look did not find it; the second is due when the flag is set.
    Looked(u8, bool),
    Found(u8),
    /// Two looks did not find it.
    Absent(u8),
    /// The whole listing was read, and is not in the mirror yet.
    Listed(u8),
    /// A commit was sent, and its reply was lost.
    Doubt(RowWrite),
    /// The counter said that the commit was not applied: it is sent again.
    Resend(RowWrite),
}

/// What a worker knows of an account that it holds, or thinks it holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct WorkerSession {
    pub(super) stage: PushStage,
    pub(super) epoch: u8,
    pub(super) commits: u8,
    /// What is left of the lease by the worker's own clock, from the sending of the last renewal on.
    pub(super) deadline: u8,
    /// How long it waits until what it sees is what its predecessors left.
    pub(super) settle: u8,
    pub(super) is_listed: bool,
    /// The mirror as this session knows it.
    pub(super) mirror: u8,
    /// When each slot of the budget is free.
    pub(super) slots: [u8; SLOTS],
    /// Whether a later claim has begun a write. The program does not know this; the laws do.
    pub(super) is_superseded: bool,
}

/// A write request on its way, or at work in the service.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Wire {
    /// How long it may still take effect; nought: there is none.
    pub(super) life: u8,
    pub(super) change: u8,
    /// Who waits for the answer.
    pub(super) sender: Option<u8>,
}

/// A commit as the database receives it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct CommitStatement {
    pub(super) worker: u8,
    pub(super) epoch: u8,
    pub(super) commits: u8,
    pub(super) write: RowWrite,
}

/// Everything about one account.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct AccountState {
    pub(super) row: AccountRow,
    pub(super) sessions: [Option<WorkerSession>; WORKERS],
    pub(super) wires: [Wire; WIRES],
    /// A commit whose connection is gone and which the database may still carry out.
    pub(super) late: Option<CommitStatement>,
    /// How often the service carried out each change.
    pub(super) taken: [u8; CHANGES],
    /// How long each counted request counts, as the service sees it.
    pub(super) arrivals: [u8; SLOTS + 1],
    /// Who claimed last, while there are two sessions.
    pub(super) newest: u8,
    /// Changes whose last commit was acknowledged, as bits.
    pub(super) acknowledged: u8,
    /// A tail was lost, and no whole listing was made since.
    pub(super) is_unlisted: bool,
    /// Whether it could have been claimed for some time.
    pub(super) is_left: bool,
}

/// How a worker is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum WorkerMode {
    Up,
    /// Stopped as a whole: SIGSTOP, suspend, a paused machine.
    Paused,
    /// It can't reach the database.
    CutOff,
    /// Seen by the others, and for a reason of its own it claims nothing: another build, another configuration.
    Barred,
}

/// A rule that every reachable moment must keep.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Law {
    /// Law 3: no one is created twice at the service.
    Twice,
    /// Law 3: a write begins only with a durable intent.
    Intent,
    /// A commit of an old holder, epoch or counter is never applied, and none is applied twice.
    Fence,
    /// Law 5: what is confirmed is remembered, and nothing else.
    Remembered,
    /// No write of an older claim begins after the first write of a newer one.
    Order,
    /// Law 12: the budget holds over all workers.
    Budget,
    /// After a lost tail a whole listing comes before the first write.
    Listing,
    /// Where faults stop, everything gets done.
    Progress,
}

/// One moment of everything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Moment {
    pub(super) accounts: [AccountState; ACCOUNTS],
    pub(super) workers: [WorkerMode; WORKERS],
    /// The rows as the standby has them, from the moment on at which it stopped to follow.
    pub(super) standby: Option<[AccountRow; ACCOUNTS]>,
    pub(super) timeline: u8,
    pub(super) is_failed_over: bool,
    /// How many faults may still happen.
    pub(super) faults: u8,
    pub(super) releases: u8,
    pub(super) broken: Option<Law>,
}

impl AccountRow {
    /// A row that no one ever held.
    pub(super) const NEW: Self = Self {
        holder: Holder::Nobody,
        epoch: 0,
        lease: 0,
        commits: 0,
        timeline: 0,
        window: None,
        kept: [Kept::Waiting; CHANGES],
        mirror: 0,
    };
}

impl AccountState {
    pub(super) const NEW: Self = Self {
        row: AccountRow::NEW,
        sessions: [None; WORKERS],
        wires: [Wire::NONE; WIRES],
        late: None,
        taken: [0; CHANGES],
        arrivals: [0; SLOTS + 1],
        newest: 0,
        acknowledged: 0,
        is_unlisted: false,
        is_left: false,
    };

    pub(super) fn session(&mut self, worker: u8) -> &mut WorkerSession {
        self.sessions[usize::from(worker)].as_mut().expect("an action of a session is enabled only while there is one")
    }

    /// Whether a row lacks something that a worker knows. A commit that was never acknowledged is nothing: its session sends it
    /// again.
    pub(super) fn has_lost(&self, row: &AccountRow) -> bool {
        let is_same_claim =
            self.row.holder == row.holder && self.row.epoch == row.epoch && self.row.window == row.window;
        let is_unknown = match row.holder {
            Holder::Worker(worker) => {
                self.sessions[usize::from(worker)].is_some_and(|session| session.commits <= row.commits)
            }
            Holder::Nobody | Holder::Ended => self.row.commits == row.commits,
        };
        !is_same_claim || !is_unknown
    }

    fn exchange_workers(&mut self) {
        self.sessions.swap(0, 1);
        self.row.exchange_workers();
        for wire in &mut self.wires {
            wire.sender = wire.sender.map(|sender| 1 - sender);
        }
        if let Some(late) = &mut self.late {
            late.worker = 1 - late.worker;
        }
        self.newest = 1 - self.newest;
    }

    /// Shifts the numbers of which only equality counts, and puts what has no order in one.
    fn settle_numbers(&mut self, mut standby: Option<&mut AccountRow>) {
        let mut epoch = self.row.epoch;
        let mut commits = self.row.commits;
        for session in self.sessions.iter().flatten() {
            epoch = epoch.min(session.epoch);
            commits = commits.min(session.commits);
        }
        if let Some(late) = &self.late {
            epoch = epoch.min(late.epoch);
            commits = commits.min(late.commits);
        }
        if let Some(row) = &standby {
            epoch = epoch.min(row.epoch);
            commits = commits.min(row.commits);
        }
        for row in [Some(&mut self.row), standby.take()].into_iter().flatten() {
            row.epoch -= epoch;
            row.commits -= commits;
        }
        for session in self.sessions.iter_mut().flatten() {
            session.epoch -= epoch;
            session.commits -= commits;
            session.slots.sort_unstable();
        }
        if let Some(late) = &mut self.late {
            late.epoch -= epoch;
            late.commits -= commits;
        }
        self.wires.sort_unstable();
        self.arrivals.sort_unstable();
        if self.sessions.iter().flatten().count() < WORKERS {
            self.newest = 0;
        }
    }
}

impl fmt::Display for AccountState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AccountRow { holder, epoch, lease, commits, kept, .. } = &self.row;
        write!(out, "{holder:?} epoch {epoch} lease {lease} commits {commits} {kept:?} taken {:?}", self.taken)?;
        for (worker, session) in self.sessions.iter().enumerate() {
            if let Some(WorkerSession { stage, epoch, commits, deadline, .. }) = session {
                write!(out, " | {worker}: {stage:?} epoch {epoch} commits {commits} deadline {deadline}")?;
            }
        }
        Ok(())
    }
}

impl AccountRow {
    fn exchange_workers(&mut self) {
        if let Holder::Worker(worker) = &mut self.holder {
            *worker = 1 - *worker;
        }
    }
}

impl Wire {
    pub(super) const NONE: Self = Self { life: 0, change: 0, sender: None };
}

impl Moment {
    /// The same state in the form in which it is compared, and whether the workers changed places in it.
    pub(super) fn canonical(&self) -> (Self, bool) {
        let mut same = *self;
        same.settle_numbers();
        let mut exchanged = same;
        exchanged.workers.swap(0, 1);
        exchanged.accounts.iter_mut().for_each(AccountState::exchange_workers);
        exchanged.standby.iter_mut().flatten().for_each(AccountRow::exchange_workers);
        exchanged.settle_numbers();
        if exchanged < same { (exchanged, true) } else { (same, false) }
    }

    fn settle_numbers(&mut self) {
        match &mut self.standby {
            None => self.accounts.iter_mut().for_each(|account| account.settle_numbers(None)),
            Some(rows) => {
                for (account, row) in self.accounts.iter_mut().zip(rows) {
                    account.settle_numbers(Some(row));
                }
            }
        }
    }
}
