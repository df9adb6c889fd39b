//! What may happen.

use proptest::collection::vec;
use proptest::prelude::*;

/// How many people HR knows at most.
pub(super) const PEOPLE: u8 = 8;

/// What happens, one after the other.
pub(super) type History = Vec<Step>;

/// One thing that happens.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// HR's file becomes these people with these titles; `cut` in the middle of the last row, and with these slips.
    File { rows: Vec<(u8, u8)>, cut: bool, slips: Vec<Slip> },
    /// A user gives two people at the service each other's name and email.
    Exchange { one: u8, other: u8 },
    /// A user edits a person at the service: a field of the job's, or one that it does not map.
    Edit { person: u8, owned: bool, value: u8 },
    /// A user removes a person at the service.
    Remove { person: u8 },
    /// A person signs in or out.
    Sign { person: u8, onsite: bool },
    /// A run.
    Sync(Sync),
    /// A user releases all that is held.
    Approve,
    /// A user drops one of the held changes.
    Reject { which: u8 },
    /// The state is lost.
    Lose,
    /// Time passes.
    Wait { hours: u8 },
}

/// A slip in one row of HR's file, or in two.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slip {
    /// A number that no one has.
    Mistyped(u8),
    /// No number, but what a spreadsheet puts in its place.
    Broken(u8),
    /// The number of another row.
    Shared(u8, u8),
    /// Two rows have each other's numbers.
    SortedApart(u8, u8),
    /// Two rows have each other's names, and keep their emails.
    NamesSortedApart(u8, u8),
    /// A phone number that is none.
    BadPhone(u8),
    /// The number goes on with a stranger's name and email.
    GivenAway(u8),
}

/// A run, and what goes wrong meanwhile.
#[derive(Clone, Debug)]
pub(super) struct Sync {
    /// Faults of the service.
    pub(super) faults: Vec<&'static str>,
    /// The process dies.
    pub(super) killed: Option<Moment>,
    /// Only this record.
    pub(super) only: Option<u8>,
    /// Who signs in or out meanwhile.
    pub(super) moves: Vec<(u8, bool, Moment)>,
}

/// When something happens in a run: so long after the engine began so many requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) requests: u8,
    pub(super) millis: u8,
}

/// What the service may do wrong. It never lies about who is there: no reader can see through an empty list of changes.
const FAULTS: &[&str] = &[
    "staff.create cut-after every=3",
    "staff.create cut-before nth=1",
    "staff.create half nth=2",
    "staff.create status=500 nth=1",
    "staff.create status-after=502 nth=2",
    "staff.create status=422 nth=1",
    "staff.update cut-after nth=1",
    "staff.update cut-before nth=2",
    "staff.update half every=2",
    "staff.update status=422 nth=1",
    "staff.update delay-before=20ms",
    "staff.delete cut-after nth=1",
    "staff.delete status=403",
    "staff.get status=500 every=4",
    "staff.get cut-before nth=1",
    "staff.list half nth=1",
    "staff.list html nth=2",
    "staff.list status=500 after=1",
    "staff.movement.list status=403",
    "staff.movement.list cut-before",
    "staff.movement.put cut-after nth=1",
];

pub(super) fn histories() -> impl Strategy<Value = History> {
    vec(steps(), 4..14)
}

fn steps() -> impl Strategy<Value = Step> {
    let person = 0..PEOPLE;
    let rows = vec((0..PEOPLE, 0..4_u8), 0..PEOPLE as usize);
    prop_oneof![
        4 => (rows, prop::bool::weighted(0.2), vec(slips(), 0..3))
            .prop_map(|(rows, cut, slips)| Step::File { rows, cut, slips }),
        1 => (person.clone(), person.clone()).prop_map(|(one, other)| Step::Exchange { one, other }),
        2 => (person.clone(), any::<bool>(), 0..9_u8)
            .prop_map(|(person, owned, value)| Step::Edit { person, owned, value }),
        1 => person.clone().prop_map(|person| Step::Remove { person }),
        2 => (person, any::<bool>()).prop_map(|(person, onsite)| Step::Sign { person, onsite }),
        8 => syncs().prop_map(Step::Sync),
        1 => Just(Step::Approve),
        1 => any::<u8>().prop_map(|which| Step::Reject { which }),
        1 => Just(Step::Lose),
        1 => (1..50_u8).prop_map(|hours| Step::Wait { hours }),
    ]
}

fn slips() -> impl Strategy<Value = Slip> {
    let (one, two) = (0..PEOPLE, (0..PEOPLE, 0..PEOPLE));
    prop_oneof![
        one.clone().prop_map(Slip::Mistyped),
        one.clone().prop_map(Slip::Broken),
        two.clone().prop_map(|(one, other)| Slip::Shared(one, other)),
        two.clone().prop_map(|(one, other)| Slip::SortedApart(one, other)),
        two.prop_map(|(one, other)| Slip::NamesSortedApart(one, other)),
        one.clone().prop_map(Slip::BadPhone),
        one.prop_map(Slip::GivenAway),
    ]
}

fn syncs() -> impl Strategy<Value = Sync> {
    let faults = vec(prop::sample::select(FAULTS), 0..3);
    let killed = prop::option::weighted(0.3, moments());
    let only = prop::option::weighted(0.1, 0..PEOPLE);
    let moves = vec((0..PEOPLE, any::<bool>(), moments()), 0..6);
    (faults, killed, only, moves).prop_map(|(faults, killed, only, moves)| Sync { faults, killed, only, moves })
}

fn moments() -> impl Strategy<Value = Moment> {
    (0..40_u8, 0..12_u8).prop_map(|(requests, millis)| Moment { requests, millis })
}
