//! Explorations, and the mistakes that they must find. See the head of the folder.

use std::io::Write as _;

use std::env;

use super::rules::{EARLY, Fault, LATE, Model, Mutation, Scope};
use super::state::{ChangeKind, Law, WorkerMode};

/// What can happen to a worker and to what it sends and hears.
const COMMON: &[Fault] = &[Fault::Pause, Fault::CutOff, Fault::Crash, Fault::LostReply, Fault::LostAnswer];
/// The same, and what can happen to the database.
const ALL: &[Fault] = &[
    Fault::Failover,
    Fault::ClockJump,
    Fault::Pause,
    Fault::CutOff,
    Fault::Crash,
    Fault::LostReply,
    Fault::LostAnswer,
];
/// All of them but the one that the budget does not survive.
const NO_JUMP: &[Fault] =
    &[Fault::Failover, Fault::Pause, Fault::CutOff, Fault::Crash, Fault::LostReply, Fault::LostAnswer];

const ONE: Scope = Scope {
    name: "one account, three changes",
    changes: [&[ChangeKind::Create, ChangeKind::Create, ChangeKind::Update], &[]],
    allowed: COMMON,
    faults: 2,
    releases: 1,
    counts_budget: false,
    spans: LATE,
    hole: 0,
    second: WorkerMode::Up,
};

const FAILOVER: Scope = Scope {
    name: "one account, failover",
    changes: [&[ChangeKind::Create, ChangeKind::Update], &[]],
    allowed: ALL,
    ..ONE
};

const ONE_CREATE: Scope = Scope { name: "one create", changes: [&[ChangeKind::Create], &[]], ..FAILOVER };

/// What a clock that jumps does by itself.
const JUMP: Scope =
    Scope { name: "one account, a clock that jumps", allowed: &[Fault::ClockJump, Fault::CutOff], ..FAILOVER };

const TWO: Scope = Scope {
    name: "two accounts, three changes",
    changes: [&[ChangeKind::Create, ChangeKind::Update], &[ChangeKind::Create]],
    releases: 0,
    ..ONE
};

const TWO_FAILOVER: Scope = Scope { name: "two accounts, failover", allowed: ALL, faults: 1, ..TWO };

const BARRED: Scope =
    Scope { name: "two accounts, one worker that claims nothing", faults: 1, second: WorkerMode::Barred, ..TWO };

const BUDGET: Scope = Scope {
    name: "budget",
    changes: [&[ChangeKind::Create, ChangeKind::Update], &[]],
    counts_budget: true,
    faults: 1,
    ..ONE
};

const BUDGET_FAILOVER: Scope =
    Scope { name: "budget, failover", changes: [&[ChangeKind::Create], &[]], allowed: NO_JUMP, ..BUDGET };

const HOLE: Scope =
    Scope { name: "the hole", changes: [&[ChangeKind::Create], &[]], allowed: &[Fault::Pause], releases: 0, ..ONE };

/// Two faults, whatever the scope has otherwise.
const fn twice(scope: Scope) -> Scope {
    Scope { faults: 2, ..scope }
}

/// Explores a scope to its end; `ROSTERD_MODEL=large` with so many faults as `large` says.
fn holds(scope: Scope, large: u8) {
    let is_large = env::var("ROSTERD_MODEL").is_ok_and(|size| size == "large");
    let scope = Scope { faults: if is_large { large } else { scope.faults }, ..scope };
    let model = Model { scope, mutation: None, watched: None };
    let explored = model.explore();
    let (name, faults) = (scope.name, scope.faults);
    let _ =
        writeln!(std::io::stderr(), "{name}, {faults} faults: {} states, {} steps", explored.states, explored.steps);
    if let Some((law, history)) = explored.found {
        panic!("{name}: {law:?} is broken by\n{}", model.tell(&history));
    }
}

/// Explores each mistake until its law is broken.
fn finds(mistakes: &[(Mutation, Scope, Law)]) {
    for (mutation, scope, law) in mistakes {
        let model = Model { scope: *scope, mutation: Some(*mutation), watched: Some(*law) };
        let explored = model.explore();
        let (_, history) = explored.found.unwrap_or_else(|| panic!("{mutation:?} does not break {law:?}"));
        let _ = writeln!(
            std::io::stderr(),
            "{mutation:?} breaks {law:?}, found in {} states by\n{}",
            explored.states,
            model.tell(&history)
        );
    }
}

#[test]
fn law_3_no_history_of_one_account_breaks_a_law() {
    holds(ONE, 3);
}

#[test]
fn law_3_no_history_of_two_accounts_breaks_a_law() {
    holds(TWO, 3);
    holds(TWO_FAILOVER, 2);
}

#[test]
fn law_3_no_history_with_a_lost_tail_breaks_a_law() {
    holds(FAILOVER, 3);
}

#[test]
fn law_3_a_write_may_end_early_or_the_successor_wait_longer() {
    holds(Scope { name: "one create, early writes", spans: EARLY, ..ONE_CREATE }, 3);
    finds(&[(Mutation::SettleWithoutLife, ONE_CREATE, Law::Twice), (Mutation::SettleWithoutLease, JUMP, Law::Twice)]);
}

/// The fence compares the end of the lease too. No law needs it: a worker that overslept hears of it a little sooner.
#[test]
fn law_3_no_law_needs_the_end_of_the_lease_in_the_fence() {
    let model = Model { scope: ONE_CREATE, mutation: Some(Mutation::FenceWithoutExpiry), watched: None };
    assert!(model.explore().found.is_none());
}

#[test]
fn law_12_no_history_overspends_the_budget() {
    holds(BUDGET, 2);
    holds(BUDGET_FAILOVER, 2);
}

#[test]
fn a_worker_that_claims_nothing_keeps_no_account_from_the_others() {
    holds(BARRED, 2);
}

#[test]
fn law_5_mistakes_in_the_fence_of_a_commit_are_found() {
    finds(&[
        (Mutation::FenceWithoutHolder, FAILOVER, Law::Fence),
        (Mutation::HolderOfProcess, FAILOVER, Law::Fence),
        (Mutation::FenceWithoutEpoch, ONE, Law::Fence),
        (Mutation::FenceWithoutCounter, ONE, Law::Fence),
        (Mutation::FenceWithoutTimeline, FAILOVER, Law::Listing),
        (Mutation::RetryBlind, ONE, Law::Fence),
        (Mutation::DoubtForgotten, ONE, Law::Intent),
        (Mutation::LostIsApplied, ONE, Law::Intent),
        (Mutation::UnknownIsDone, ONE, Law::Remembered),
    ]);
}

#[test]
fn law_3_mistakes_in_lease_and_deadline_are_found() {
    finds(&[
        (Mutation::RenewalByHolder, ONE, Law::Order),
        (Mutation::DeadlineFromReply, ONE, Law::Order),
        (Mutation::ClockStandsStill, ONE, Law::Twice),
        (Mutation::DeadlineUnchecked, ONE, Law::Twice),
        (Mutation::DeadlineUnchecked, ONE, Law::Order),
        (Mutation::DeadlineBeforeIntent, ONE, Law::Twice),
        (Mutation::ReleaseInTakeover, FAILOVER, Law::Listing),
        (Mutation::ReleaseInFlight, ONE, Law::Twice),
        (Mutation::HardQuota, BARRED, Law::Progress),
    ]);
}

#[test]
fn law_3_mistakes_in_the_takeover_are_found() {
    finds(&[
        (Mutation::LooksBeforeSettle, ONE_CREATE, Law::Twice),
        (Mutation::SettleFromRow, ONE_CREATE, Law::Order),
        (Mutation::SettleFromRow, ONE_CREATE, Law::Twice),
        (Mutation::SettleWithoutLease, ONE_CREATE, Law::Twice),
        (Mutation::NoLook, ONE, Law::Twice),
        (Mutation::OneLook, ONE, Law::Twice),
        (Mutation::NoListing, ONE_CREATE, Law::Listing),
        (Mutation::NoListing, ONE_CREATE, Law::Twice),
        (Mutation::ListingInMemory, ONE_CREATE, Law::Twice),
        (Mutation::TimelineStale, ONE_CREATE, Law::Listing),
    ]);
}

#[test]
fn law_12_mistakes_in_the_budget_are_found() {
    finds(&[
        (Mutation::ClockOfWorker, twice(BUDGET), Law::Budget),
        (Mutation::ReadsUnchecked, twice(BUDGET), Law::Budget),
        (Mutation::BudgetForgotten, BUDGET, Law::Budget),
        (Mutation::WindowKept, BUDGET, Law::Budget),
        (Mutation::BudgetWithoutSettle, twice(BUDGET_FAILOVER), Law::Budget),
        (Mutation::WindowAfterFailover, twice(BUDGET_FAILOVER), Law::Budget),
    ]);
}

/// The shortest pause between the look at the deadline and the first byte that creates a person twice.
fn harmful_pause(mutation: Option<Mutation>) -> u8 {
    let harms = |hole: u8| {
        let model = Model { scope: Scope { hole, ..HOLE }, mutation, watched: Some(Law::Twice) };
        model.explore().found.is_some()
    };
    (1..20).find(|hole| harms(*hole)).expect("a pause that is long enough does harm")
}

#[test]
fn law_3_the_residual_hole_is_found_and_the_settle_narrows_it() {
    let harmful = harmful_pause(None);
    let unsettled = harmful_pause(Some(Mutation::NoSettle));
    let _ = writeln!(std::io::stderr(), "harmful from {harmful} on, without a settle from {unsettled} on");
    assert_eq!(harmful, unsettled + LATE.settle, "the hole is narrower by the settle");
    holds(Scope { hole: harmful - 1, ..HOLE }, HOLE.faults);
    // Who looks at the deadline too early, or never, needs no hole at all.
    finds(&[
        (Mutation::DeadlineUnchecked, Scope { hole: 1, ..HOLE }, Law::Twice),
        (Mutation::DeadlineBeforeIntent, Scope { hole: 1, ..HOLE }, Law::Twice),
        (Mutation::NoSettle, Scope { hole: unsettled, ..HOLE }, Law::Twice),
    ]);
}
