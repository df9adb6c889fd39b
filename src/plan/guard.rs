//! The limits that hold a plan.

use std::collections::{BTreeMap, BTreeSet};

use super::hold_reason::Leaving;
use super::options::{Limit, Limits, Writes};

use super::{Change, Held, HoldReason, Judged};
use crate::record::{Action, Day, Key, RemoteId, is_default};

/// What the limits are measured against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// People that the job knows.
    pub known: u64,
    /// People that the job matched in this run.
    pub matched: u64,
    /// People that the job removed by itself in the last 24 hours.
    pub removed: u64,
}

/// What a person decided about a held change: it holds for just the wish that it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase", tag = "is", content = "wish")]
pub enum Verdict {
    /// It is sent.
    Approved(u64),
    /// It is not, until the record changes or comes back.
    Rejected(u64),
}

/// The fewest people who make a job, or segments, that would lose everybody suspect.
pub(super) const EMPTIED_MIN: u64 = 2;

/// A verdict as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Decided {
    /// What was decided.
    pub verdict: Verdict,
    /// What the service held of the person when the change was shown that was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<RemoteDigest>,
    /// The entity that the record may be, as it was found before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<RemoteId>,
    /// The entity that the change was about; none for one that makes a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RemoteId>,
    /// Whether it was asked who the record is: who releases a change past a limit says nothing of that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_answer: bool,
    /// How many copies of the state had been laid back by then: an approval in a later copy is one of another time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub copies: u64,
    /// Whether it was rejected as what a file says that seems to be an older one: what a later file says was not rejected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_older_file: bool,
    /// From which day on the row says nothing any more that was decided on, where it named a last day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Day>,
    /// The question that was answered by a rejection: the person that it names may be that of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<HoldReason>,
    /// The person whose changes are one update, of which this is a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<Key>,
}

/// What the service holds of a person in the fields that a job owns, by digest.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RemoteDigest {
    /// The person.
    pub id: RemoteId,
    /// The digest.
    pub remote: String,
}

impl Decided {
    /// Whether it was rejected, by a row that still counts on a day.
    pub fn is_rejected(&self, on: Option<Day>) -> bool {
        matches!(self.verdict, Verdict::Rejected(_)) && self.due.zip(on).is_none_or(|(due, on)| on < due)
    }

    /// Rejects a wish.
    pub fn rejected(wish: u64) -> Self {
        Self {
            verdict: Verdict::Rejected(wish),
            seen: None,
            doubt: None,
            id: None,
            is_answer: false,
            copies: 0,
            of_older_file: false,
            due: None,
            part_of: None,
            question: None,
        }
    }
}

/// Changes after the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded<C = Change> {
    /// What is sent.
    pub go: Vec<C>,
    /// What waits for a person.
    pub held: Vec<Held<C>>,
    /// What a person rejected.
    pub rejected: Vec<C>,
}

impl<C> Default for Guarded<C> {
    fn default() -> Self {
        Self { go: Vec::new(), held: Vec::new(), rejected: Vec::new() }
    }
}

impl<C: Judged> Guarded<C> {
    /// Holds those among what is sent for which there is a reason.
    pub fn hold(&mut self, reason: impl Fn(&C) -> Option<HoldReason>) {
        let held = self.go.extract_if(.., |change| reason(change).is_some());
        self.held.extend(held.filter_map(|change| {
            let reason = reason(&change)?;
            Some(Held::change(change, &reason))
        }));
    }

    /// Holds a record with nothing to approve, whatever was to become of it.
    pub fn hold_record(&mut self, key: Key, reason: HoldReason) {
        self.go.retain(|change| *change.key() != key);
        self.held.retain(|held| held.key != key);
        self.held.push(Held { key, reason, change: None, other: None });
    }

    /// Holds those among `keys` who would go, unless a person released them.
    pub fn hold_leavers(&mut self, keys: &BTreeSet<Key>, reason: &HoldReason) {
        let is_held = |change: &C| keys.contains(change.key()) && change.leaves() && !change.is_approved();
        self.hold(|change| is_held(change).then(|| reason.clone()));
    }
}

/// Divides changes into those that go, those that wait and those that were rejected; those that a person released go before
/// the others.
pub fn guard<C: Judged>(
    mut open: Vec<C>,
    limits: &Limits,
    base: Base,
    writes: Writes,
    verdicts: &BTreeMap<Key, Verdict>,
) -> Guarded<C> {
    let off = writes == Writes::Off;
    let mut guarded = Guarded::default();
    if !verdicts.is_empty() {
        for mut change in std::mem::take(&mut open) {
            match verdicts.get(change.key()) {
                Some(Verdict::Approved(approved)) if *approved == change.wish() && !off => {
                    change.approve();
                    guarded.go.push(change);
                }
                Some(Verdict::Rejected(rejected)) if *rejected == change.wish() => guarded.rejected.push(change),
                _ => open.push(change),
            }
        }
    }
    let mut reasons = Reasons::of(&open, limits, base, writes);
    let leaving = guarded.go.iter().chain(&open).filter(|change| change.leaves()).count() as u64;
    reasons.leavers = reasons.leavers.or_else(|| everyone_leaves(leaving, limits, base));
    let held = open.extract_if(.., |change| reasons.for_change(change).is_some());
    let held = held.filter_map(|change| {
        let reason = reasons.for_change(&change)?.clone();
        Some(Held::change(change, &reason))
    });
    guarded.held.extend(held);
    if guarded.go.is_empty() {
        guarded.go = open;
    } else {
        guarded.go.append(&mut open);
    }
    guarded
}

/// Why changes of a kind wait.
#[derive(Default)]
pub(super) struct Reasons {
    all: Option<HoldReason>,
    leavers: Option<HoldReason>,
    updates: Option<HoldReason>,
    creates: Option<HoldReason>,
    blanked: BTreeMap<String, HoldReason>,
}

impl Reasons {
    pub(super) fn of<C: Judged>(changes: &[C], limits: &Limits, base: Base, writes: Writes) -> Self {
        let all = match writes {
            Writes::Auto => None,
            Writes::Approve => Some(HoldReason::WritesApprove),
            Writes::Off => Some(HoldReason::WritesOff),
        };
        let count = |kind: fn(&C) -> bool| changes.iter().filter(|change| kind(change)).count() as u64;
        let people = base.known + base.matched;
        let how = if changes.iter().any(C::is_leaver) { Leaving::SetAsGone } else { Leaving::Removed };
        let leavers = count(C::leaves);
        let parts: BTreeSet<&Key> = changes.iter().filter_map(C::part_of).collect();
        let updates = count(|change| change.is_known() && !change.leaves() && change.part_of().is_none());
        let updates = updates + parts.len() as u64;
        let creates = count(C::joins);
        Self {
            all,
            leavers: too_many_leave(leavers, limits, base, how),
            updates: over(limits.updates, updates, people, |allowed| HoldReason::MaxUpdates {
                changed: updates,
                people,
                allowed,
                in_parts: false,
            }),
            creates: over(limits.creates, creates, people, |allowed| HoldReason::MaxCreates {
                people: creates,
                allowed,
            }),
            blanked: blanked(changes)
                .into_iter()
                .filter_map(|(field, blanked)| {
                    let reason = |allowed| HoldReason::MaxBlanked { field: field.clone(), people: blanked, allowed };
                    let reason = over(limits.blanked, blanked, people, reason)?;
                    Some((field, reason))
                })
                .collect(),
        }
    }

    pub(super) fn for_change(&self, change: &impl Judged) -> Option<&HoldReason> {
        if change.leaves() {
            return self.leavers.as_ref().or(self.all.as_ref());
        }
        let kind = if change.joins() { &self.creates } else { &self.updates };
        let blanked = || change.blanked().find_map(|field| self.blanked.get(field));
        kind.as_ref().or_else(blanked).or(self.all.as_ref())
    }
}

/// Why the leavers of a job are held if too many people leave in all its parts together.
pub fn leavers_held(people: u64, limits: &Limits, base: Base) -> Option<HoldReason> {
    too_many_leave(people, limits, base, Leaving::InParts).or_else(|| everyone_leaves(people, limits, base))
}

/// Why leavers are held where they are all people of the job: a short list may be that of another job. One person who was alone
/// is an ordinary leaver.
fn everyone_leaves(people: u64, limits: &Limits, base: Base) -> Option<HoldReason> {
    let all = people + base.removed;
    let stays = base.matched > 0 || people < base.known;
    let is_suspect = limits.leavers != Limit::Off && people > 0 && !stays && all >= EMPTIED_MIN;
    is_suspect.then_some(HoldReason::EveryoneLeaves { people: all })
}

fn too_many_leave(people: u64, limits: &Limits, base: Base, how: Leaving) -> Option<HoldReason> {
    let earlier = base.removed;
    let reason = |allowed| HoldReason::MaxLeavers { people, earlier, allowed, how };
    over(limits.leavers, people + earlier, base.known, reason).filter(|_| people > 0)
}

/// Why the updates of a job are held if too many people are changed in all its parts together.
pub fn updates_held(changed: u64, limits: &Limits, base: Base) -> Option<HoldReason> {
    let people = base.known + base.matched;
    let reason = |allowed| HoldReason::MaxUpdates { changed, people, allowed, in_parts: true };
    over(limits.updates, changed, people, reason)
}

fn over(limit: Limit, count: u64, base: u64, reason: impl FnOnce(u64) -> HoldReason) -> Option<HoldReason> {
    let allowed = limit.allows(base)?;
    (count > allowed).then(|| reason(allowed))
}

/// How many people would lose each field.
fn blanked<C: Judged>(changes: &[C]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for change in changes.iter().filter(|change| change.action() == Action::Update && !change.is_leaver()) {
        for field in change.blanked() {
            *counts.entry(field.to_owned()).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::plan::{Delta, Deltas, Outline};
    use crate::record::{DesiredState, RemoteId, RowMetadata, Value, Values};
    use crate::spool::Spool;

    fn change(key: usize, action: Action) -> Change {
        let id = (action != Action::Create).then(|| RemoteId::new(key as i64 + 1).unwrap());
        let wish = DesiredState { action, id, fields: Values::new(), leaver: false };
        let known = action != Action::Create;
        Change {
            key: Key::new(&key.to_string()).unwrap(),
            wish,
            fields: Deltas::new(),
            line: None,
            known,
            approved: false,
            marks: RowMetadata::default(),
        }
    }

    #[test]
    fn a_rejection_counts_up_to_the_day_before_its_row_is_due() {
        let day = |text: &str| Day::of(text.parse().unwrap());
        for (due, on, counts) in [
            (None, None, true),
            (None, day("2026-03-02"), true),
            (day("2026-03-02"), None, true),
            (day("2026-03-02"), day("2026-03-01"), true),
            (day("2026-03-02"), day("2026-03-02"), false),
            (day("2026-03-02"), day("2026-03-03"), false),
        ] {
            assert_eq!(Decided { due, ..Decided::rejected(7) }.is_rejected(on), counts, "{due:?} {on:?}");
            let approved = Decided { due, verdict: Verdict::Approved(7), ..Decided::rejected(7) };
            assert!(!approved.is_rejected(on), "{due:?} {on:?}");
        }
    }

    fn many(count: usize, action: Action) -> Vec<Change> {
        (0..count).map(|key| change(key, action)).collect()
    }

    fn limits() -> Limits {
        Limits { creates: Limit::Count(10), ..Limits::default() }
    }

    /// The numbers of held and released changes, of these numbers of leavers, updates and creates.
    fn check(leavers: usize, updates: usize, creates: usize, base: Base) -> (usize, usize) {
        let mut changes = many(leavers, Action::Delete);
        changes.extend(many(updates, Action::Update));
        changes.extend(many(creates, Action::Create));
        let guarded = guard(changes, &limits(), base, Writes::Auto, &BTreeMap::new());
        (guarded.held.len(), guarded.go.len())
    }

    #[test]
    fn a_kind_over_its_limit_is_held_whole_and_the_rest_goes_on() {
        let base = |known, matched, removed| Base { known, matched, removed };
        for ((leavers, updates, creates), base, expected) in [
            ((3, 3, 3), base(10, 0, 0), (0, 9)),
            ((4, 3, 3), base(10, 0, 0), (4, 6)),
            ((20, 0, 0), base(1000, 0, 0), (0, 20)),
            ((21, 5, 0), base(1000, 0, 0), (21, 5)),
            ((11, 0, 0), base(1000, 0, 10), (11, 0)),
            ((0, 5, 0), base(1000, 0, 30), (0, 5)),
            ((0, 301, 10), base(900, 100, 0), (301, 10)),
            ((0, 300, 11), base(900, 100, 0), (11, 300)),
        ] {
            assert_eq!(check(leavers, updates, creates, base), expected, "{leavers} {updates} {creates} {base:?}");
        }
    }

    #[test]
    fn a_record_that_is_held_is_held_once_and_the_others_are_left_as_they_are() {
        let key = |number: usize| Key::new(&number.to_string()).unwrap();
        let keys = |guarded: &Guarded| {
            let held = guarded.held.iter().map(|held| (held.key.clone(), held.change.is_some()));
            (guarded.go.iter().map(|change| change.key.clone()).collect::<Vec<_>>(), held.collect::<Vec<_>>())
        };
        let mut guarded = Guarded { go: many(4, Action::Create), ..Guarded::default() };
        guarded.hold(|change| [key(0), key(1)].contains(&change.key).then_some(HoldReason::RestoredState));
        guarded.hold_record(key(1), HoldReason::NeedsOwnKey);
        guarded.hold_record(key(2), HoldReason::NeedsOwnKey);
        guarded.hold_record(key(9), HoldReason::NeedsOwnKey);
        let held = vec![(key(0), true), (key(1), false), (key(2), false), (key(9), false)];
        assert_eq!(keys(&guarded), (vec![key(3)], held));
    }

    #[test]
    fn of_those_who_are_missing_only_who_would_go_unreleased_is_held() {
        // Who is asked about, what becomes of them, whether they are changed for being gone, whether released; whether held.
        let table = [
            (true, Action::Delete, false, false, true),
            (true, Action::Update, true, false, true),
            (true, Action::Update, false, false, false),
            (true, Action::Create, false, false, false),
            (true, Action::Delete, false, true, false),
            (true, Action::Update, true, true, false),
            (false, Action::Delete, false, false, false),
            (false, Action::Update, true, false, false),
        ];
        let mut guarded = Guarded::default();
        let (mut asked, mut expected) = (BTreeSet::new(), Vec::new());
        for (number, (is_asked, action, leaver, approved, held)) in table.into_iter().enumerate() {
            let mut change = Change { approved, ..change(number, action) };
            change.wish.leaver = leaver;
            asked.extend(is_asked.then(|| change.key.clone()));
            expected.extend(held.then(|| change.key.clone()));
            guarded.go.push(change);
        }
        guarded.hold_leavers(&asked, &HoldReason::RestoredState);
        assert_eq!(guarded.held.iter().map(|held| held.key.clone()).collect::<Vec<_>>(), expected);
        assert_eq!(guarded.go.len(), table.len() - expected.len());
    }

    #[test]
    fn changes_that_are_one_update_of_a_person_count_once_and_leave_no_one() {
        let spool = Spool::new(Path::new("/nowhere"));
        let place = spool.put(b"nothing").unwrap();
        let parts = |person: usize| {
            [(2 * person, Action::Delete), (2 * person + 1, Action::Create)].map(|(key, action)| {
                let mut outline = Outline::of(&change(key, action), place);
                outline.make_part_of(Key::new(&format!("P{person}")).unwrap());
                outline
            })
        };
        let base = Base { known: 100, ..Base::default() };
        for (people, held) in [(30, 0), (31, 62)] {
            let changes: Vec<Outline> = (0..people).flat_map(parts).collect();
            let guarded = guard(changes, &limits(), base, Writes::Auto, &BTreeMap::new());
            assert_eq!((guarded.held.len(), guarded.go.len()), (held, 2 * people - held));
            let reason = "max_updates: 31 of 100 people would be changed, 30 are allowed";
            assert!(guarded.held.iter().all(|held| held.reason.to_string() == reason), "{:?}", guarded.held);
        }
    }

    #[test]
    fn who_went_in_the_last_24_hours_is_reported_wherever_they_count() {
        let base = Base { known: 500, matched: 0, removed: 8 };
        let reasons = [
            leavers_held(5, &Limits::default(), base),
            Reasons::of(&many(5, Action::Delete), &limits(), base, Writes::Auto).leavers,
        ];
        for reason in reasons {
            let reason = reason.unwrap();
            assert!(reason.to_string().ends_with(" besides 8 of the last 24 hours, 10 are allowed"), "{reason}");
        }
        assert_eq!(leavers_held(2, &Limits::default(), base), None);
    }

    #[test]
    fn a_column_that_turns_empty_is_held_for_those_who_lose_it() {
        let mut changes = many(6, Action::Update);
        for change in &mut changes[..4] {
            let delta = Delta { from: Value::text("64 21"), to: Value::Empty };
            change.fields.insert("mobile".into(), delta);
        }
        let base = Base { known: 60, ..Base::default() };
        let guarded = guard(changes, &Limits::default(), base, Writes::Auto, &BTreeMap::new());
        assert_eq!((guarded.held.len(), guarded.go.len()), (4, 2));
        let reason = "max_blanked: mobile would turn empty for 4 people, 3 are allowed";
        assert!(guarded.held.iter().all(|held| held.reason.to_string() == reason), "{:?}", guarded.held);
    }

    #[test]
    fn a_verdict_holds_for_the_wish_that_it_was_made_for() {
        let changes = many(5, Action::Delete);
        let base = Base { known: 5, ..Base::default() };
        let mut verdicts = BTreeMap::new();
        verdicts.insert(changes[0].key.clone(), Verdict::Approved(changes[0].wish.digest()));
        verdicts.insert(changes[1].key.clone(), Verdict::Approved(changes[1].wish.digest() ^ 1));
        verdicts.insert(changes[2].key.clone(), Verdict::Rejected(changes[2].wish.digest()));
        let guarded = guard(changes.clone(), &Limits::default(), base, Writes::Approve, &verdicts);
        let held: Vec<&str> = guarded.held.iter().map(|held| held.key.as_str()).collect();
        assert_eq!(
            (guarded.go, held, guarded.rejected),
            (vec![Change { approved: true, ..changes[0].clone() }], vec!["1", "3", "4"], vec![changes[2].clone()])
        );
    }

    #[test]
    fn what_is_off_is_not_sent_even_where_it_was_approved() {
        let changes = many(1, Action::Update);
        let verdicts = BTreeMap::from([(changes[0].key.clone(), Verdict::Approved(changes[0].wish.digest()))]);
        let base = Base { known: 10, ..Base::default() };
        assert_eq!(guard(changes, &Limits::default(), base, Writes::Off, &verdicts).held.len(), 1);
    }

    #[test]
    fn approved_leavers_do_not_count() {
        let changes = many(6, Action::Delete);
        let verdicts = changes[..3].iter().map(|c| (c.key.clone(), Verdict::Approved(c.wish.digest()))).collect();
        let base = Base { known: 10, ..Base::default() };
        assert_eq!(guard(changes, &Limits::default(), base, Writes::Auto, &verdicts).go.len(), 6);
    }
}
