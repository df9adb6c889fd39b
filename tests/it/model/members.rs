//! Random histories of contractors in companies: moves, rows without a company, what users do at the service, faults, kills,
//! decisions, runs that are taken back, `rebuild` and lost state; of files that name everybody, and of files of changes.
//!
//! The laws promise, of what a run does:
//! - no person, company or membership is there twice (3);
//! - a membership ends, and a person leaves, only by a complete read of everybody that does not name it, and only where a run knew it;
//!   not by a row that names no company (1, 6, 7);
//! - no one who is in the file loses their last membership (3);
//! - in the end all is there that the file names, and nothing else that is known (3, 4).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use rosterd::operator;
use rosterd::reconcile::{KeyFilter, Status};
use rosterd::record::Key;
use serde_json::{Value, json};

use super::history::Moment;
use super::lived::{Decided, Lived};
use super::machine::{Decide, Machine};
use crate::support::Config;

/// How many people HR knows at most.
const PEOPLE: u8 = 6;
/// The companies they are in.
const COMPANIES: u8 = 3;
/// The editions of HR's file: this one comes last.
const SETTLED: u8 = 5;
/// The runs in which everything must be read.
const READING_RUNS_MAX: usize = 8;

/// A job, and what happens to it.
#[derive(Clone, Debug)]
pub(super) struct History {
    mode: Mode,
    steps: Vec<Step>,
}

/// What HR's files hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Everybody, each time.
    Everyone,
    /// What is another since the last file; one lies behind the other in an inbox.
    Changes,
}

/// A person in a company, or in none.
type Row = (u8, Option<u8>);

/// One thing that happens.
#[derive(Clone, Debug)]
enum Step {
    /// HR writes these rows, all of this edition, each with whether it is over; `cut` in the middle of the last row.
    File { rows: Vec<(Row, bool)>, edition: u8, cut: bool },
    /// A user ends a membership at the service, or makes one.
    Membership { person: u8, company: u8 },
    /// A user removes a person at the service.
    Remove { person: u8 },
    /// A run; with faults of the service, a death, or of one person only.
    Sync { faults: Vec<&'static str>, killed: Option<Moment>, only: Option<u8> },
    /// A user releases all that is held.
    Approve,
    /// A user drops one of the held changes.
    Reject { which: u8 },
    /// A user takes back what one of the last runs did.
    Revert { back: u8 },
    /// A user has everybody matched again.
    Rebuild,
    /// The state is lost.
    Lose,
}

const FAULTS: &[&str] = &[
    "sp.org.create cut-after nth=1",
    "sp.org.create status=422 nth=1",
    "sp.member.create cut-after every=2",
    "sp.member.create status=422 nth=1",
    "sp.member.update cut-before nth=1",
    "sp.member.update status=422 nth=1",
    "sp.member.delete cut-after nth=1",
    "sp.member.delete status=403",
    "sp.member.get status=500 every=3",
    "sp.member.list half nth=1",
    "sp.membership.create cut-after nth=1",
    "sp.membership.create cut-before nth=1",
    "sp.membership.create status=422 nth=1",
    "sp.membership.create status=422",
    "sp.membership.update cut-after nth=1",
    "sp.membership.delete cut-after nth=1",
    "sp.membership.delete status=403",
    "sp.membership.get status=500 every=3",
    "sp.membership.list half nth=1",
];

pub(super) fn histories() -> impl Strategy<Value = History> {
    prop_oneof![
        (Just(Mode::Everyone), vec(steps(0.15), 4..16)),
        // What was cut off would never come again.
        (Just(Mode::Changes), vec(steps(0.0), 4..16)),
    ]
    .prop_map(|(mode, steps)| History { mode, steps })
}

/// Steps; files are cut off that often.
fn steps(cut: f64) -> impl Strategy<Value = Step> {
    let company = prop_oneof![5 => (0..COMPANIES).prop_map(Some), 1 => Just(None)];
    let rows = vec((((0..PEOPLE), company), prop::bool::weighted(0.3)), 1..9);
    let moment = (0..30_u8, 0..12_u8).prop_map(|(requests, millis)| Moment { requests, millis });
    let faults = vec(prop::sample::select(FAULTS), 0..2);
    let (killed, only) = (prop::option::weighted(0.2, moment), prop::option::weighted(0.1, 0..PEOPLE));
    prop_oneof![
        5 => (rows, 0..4_u8, prop::bool::weighted(cut))
            .prop_map(|(rows, edition, cut)| Step::File { rows, edition, cut }),
        2 => (0..PEOPLE, 0..COMPANIES).prop_map(|(person, company)| Step::Membership { person, company }),
        1 => (0..PEOPLE).prop_map(|person| Step::Remove { person }),
        8 => (faults, killed, only).prop_map(|(faults, killed, only)| Step::Sync { faults, killed, only }),
        2 => Just(Step::Approve),
        1 => any::<u8>().prop_map(|which| Step::Reject { which }),
        1 => (0..3_u8).prop_map(|back| Step::Revert { back }),
        2 => Just(Step::Rebuild),
        1 => Just(Step::Lose),
    ]
}

/// A person's number, and that of their company.
type Pair = (String, String);

/// A service, a state, and what must be true of them.
struct World {
    machine: Machine,
    mode: Mode,
    /// What HR says, without the files that lie unread, and whether the last one is whole.
    stated: BTreeMap<Row, bool>,
    is_whole: bool,
    /// The files in the inbox, the first one first, and how many there ever were.
    unread: Vec<(PathBuf, Vec<(Row, bool)>)>,
    files: usize,
    /// What runs may have read since the state was lost.
    seen: BTreeSet<Pair>,
    seen_people: BTreeSet<String>,
    /// What was in the file and at the service after a run that came to its end.
    known: BTreeSet<Pair>,
    known_people: BTreeSet<String>,
    /// Memberships that are not there though the last read named them, or users ended them since: nothing waits for them.
    absent: BTreeSet<Pair>,
    /// The keys of what users released at any time, and of what they rejected.
    released: BTreeSet<String>,
    rejected: BTreeSet<String>,
    /// How many runs there may have been, and what the last one said.
    runs: u64,
    said: Option<String>,
}

/// Lives through a history; the error is the law that broke, and after which step.
pub(super) async fn run(history: &History) -> Result<(), String> {
    World::new(history.mode).await.live(&history.steps).await
}

impl World {
    async fn new(mode: Mode) -> Self {
        let machine = Machine::new(config(mode)).await;
        if mode == Mode::Changes {
            std::fs::create_dir(machine.site.dir().join(INBOX)).unwrap();
        }
        let service = machine.service();
        let org = service.put("sp.org", json!({"name": company(0), "legalid": legal(0)}));
        let member = service.put("sp.member", json!({"name": "Foreign", "service_provider_id": FOREIGN}));
        service.put("sp.membership", json!({"org_id": org, "member_id": member, "roles": [61]}));
        for edition in 0..=SETTLED {
            service.put("sp.role", json!({"id": role(edition), "name": format!("Role {edition}")}));
        }
        let (stated, unread, seen, seen_people, known, known_people) = Default::default();
        let (absent, released, rejected) = Default::default();
        let mut world = Self {
            machine,
            mode,
            stated,
            is_whole: true,
            unread,
            files: 0,
            seen,
            seen_people,
            known,
            known_people,
            absent,
            released,
            rejected,
            runs: 0,
            said: None,
        };
        world.write(&[((0, Some(0)), false)], 0, false);
        world
    }

    fn forget_gone(&mut self) {
        let (pairs, people) = (self.pairs(), self.people());
        self.known.retain(|pair| pairs.contains(pair));
        self.absent.retain(|pair| !pairs.contains(pair));
        self.known_people.retain(|person| people.contains_key(person));
    }

    fn write(&mut self, rows: &[(Row, bool)], edition: u8, cut: bool) {
        let mut text = HEADER.to_owned();
        let mut rows: BTreeMap<Row, bool> =
            rows.iter().copied().map(|(row, is_over)| (row, is_over && row.1.is_some())).collect();
        if self.mode == Mode::Changes {
            // One file does not say of someone that they are there and that they are gone.
            let over: BTreeSet<u8> =
                rows.iter().filter(|(_, is_over)| **is_over).map(|((person, _), _)| *person).collect();
            rows.retain(|(person, of), _| of.is_some() || !over.contains(person));
        }
        for ((person, of), is_over) in &rows {
            let (legal, company) = of.map(|of| (legal(of), format!("{} {edition}", company(of)))).unwrap_or_default();
            let (number, role, status) = (number(*person), role(edition), if *is_over { "over" } else { "" });
            text += &format!(
                "{number},Worker {person},worker{person}@example.com,Title {edition},{legal},{company},{role},{status},{}\n",
                self.files
            );
        }
        if cut {
            text += "C99,\"Wor";
        }
        self.is_whole = !cut;
        match self.mode {
            Mode::Everyone => {
                self.stated = rows;
                self.machine.site.csv(text);
            }
            Mode::Changes => {
                self.files += 1;
                let path = self.machine.site.dir().join(INBOX).join(format!("{:03}.csv", self.files));
                std::fs::rename(self.machine.site.put("beside", text.as_bytes()), &path).unwrap();
                self.unread.push((path, rows.into_iter().collect()));
            }
        }
    }

    /// What HR says by now, and what it says with each file that lies unread.
    fn states(&self) -> Vec<BTreeMap<Row, bool>> {
        let mut states = vec![self.stated.clone()];
        for (_, rows) in &self.unread {
            let mut next = states[states.len() - 1].clone();
            apply(rows, &mut next);
            states.push(next);
        }
        states
    }

    /// Takes note of what a run read of the inbox.
    fn take_note(&mut self) -> Result<(), String> {
        let refused = self.machine.site.dir().join(INBOX).join("failed");
        if std::fs::read_dir(refused).is_ok_and(|mut files| files.next().is_some()) {
            return Err(format!("a file was refused: {:?}", self.said));
        }
        while self.unread.first().is_some_and(|(path, _)| !path.exists()) {
            let (_, rows) = self.unread.remove(0);
            apply(&rows, &mut self.stated);
        }
        Ok(())
    }

    /// A user ends a membership of someone HR may know, or makes it.
    fn edit(&mut self, person: u8, company: u8) {
        let service = self.machine.service();
        let member = self.id("sp.member", "service_provider_id", &number(person));
        let (Some(member), Some(org)) = (member, self.id("sp.org", "legalid", &legal(company))) else { return };
        let is_it = |one: &&Value| one["member_id"] == member && one["org_id"] == org;
        match service.all("sp.membership").iter().find(is_it) {
            Some(there) => {
                service.remove("sp.membership", there["id"].as_i64().unwrap());
                self.absent.insert((number(person), legal(company)));
            }
            None => {
                service.put("sp.membership", json!({"org_id": org, "member_id": member, "roles": [61]}));
            }
        }
    }

    /// A run, and the laws about what it may end.
    async fn sync(&mut self, faults: &[&str], killed: Option<Moment>, only: Option<u8>) -> Result<(), String> {
        self.machine.site.faults(faults);
        let narrow = KeyFilter { keys: only.and_then(|person| Key::new(&number(person))).into_iter().collect() };
        let (before, people, states) = (self.pairs(), self.people(), self.states());
        self.runs += 1;
        let report = self.machine.run(&self.machine.client(), &narrow, killed).await;
        self.machine.arrived(report.is_none()).await;
        self.said = report.as_ref().and_then(|report| report.reason());
        self.take_note()?;
        self.seen.extend(states.iter().flat_map(named));
        self.seen_people.extend(states.iter().flat_map(numbers));
        self.check_ends(&before, &people, &states, only.is_some())?;
        self.absent = named(&self.stated);
        self.forget_gone();
        if let Some(report) = report
            && report.status != Status::Failed
            && faults.is_empty()
            && self.is_whole
            && only.is_none()
            && self.unread.is_empty()
        {
            self.known.extend(named(&self.stated).intersection(&self.pairs()).cloned());
            let people = self.people();
            self.known_people.extend(numbers(&self.stated).into_iter().filter(|person| people.contains_key(person)));
        }
        Ok(())
    }

    /// What went away in a run was known, and is not there by what HR says: by none of these, from the first to the last.
    fn check_ends(
        &self,
        before: &BTreeSet<Pair>,
        people: &BTreeMap<String, i64>,
        states: &[BTreeMap<Row, bool>],
        is_narrowed: bool,
    ) -> Result<(), String> {
        let (after, still) = (self.pairs(), self.people());
        let always = |of: &dyn Fn(&BTreeMap<Row, bool>) -> bool| states.iter().all(of);
        let is_in_file = |person: &String| always(&|state| numbers(state).contains(person));
        let is_placed_nowhere = |person: &String| {
            let is_it = |(one, of): &Row| of.is_none() && number(*one) == *person;
            self.mode == Mode::Everyone && always(&|state| state.keys().any(is_it))
        };
        let is_over = |pair: &Pair| {
            let is_it = |(one, of): &Row| number(*one) == pair.0 && of.is_some_and(|of| legal(of) == pair.1);
            states.iter().flatten().any(|(row, is_over)| *is_over && is_it(row))
        };
        // What a row says of itself counts in any read.
        let is_said_of = |person: &String| before.iter().any(|pair| pair.0 == *person && is_over(pair));
        // Who was made again is another one at the service.
        let is_still = |person: &String| people.get(person) == still.get(person);
        for gone in people.keys().filter(|person| !is_still(person) && !self.released.contains(*person)) {
            broken(
                gone,
                [
                    ("law 1: a person was removed who is in the file", is_in_file(gone)),
                    ("law 1: a person was removed by an incomplete read", !self.is_whole && !is_said_of(gone)),
                    ("law 6: a person was removed who was not known", !self.seen_people.contains(gone)),
                    ("law 7: a person was removed by a narrowed run", is_narrowed),
                ],
            )?;
        }
        let ended = before.difference(&after).filter(|(member, _)| is_still(member));
        for pair in ended.filter(|pair| !self.is_among(&self.released, pair)) {
            let member = &pair.0;
            let is_theirs = |(other, _): &Pair| other == member;
            broken(
                &key(pair),
                [
                    ("law 1: a membership ended that is in the file", always(&|state| named(state).contains(pair))),
                    ("law 1: a membership ended by an incomplete read", !self.is_whole && !is_over(pair)),
                    (
                        "law 1: a membership ended by a row without a company",
                        is_placed_nowhere(member) && !is_over(pair),
                    ),
                    ("law 6: a membership ended that was not known", !self.seen.contains(pair)),
                    ("law 7: a membership ended by a narrowed run", is_narrowed),
                    (
                        "law 3: who is in the file lost their last membership",
                        always(&|state| named(state).iter().any(is_theirs))
                            && !self.absent.iter().any(is_theirs)
                            && !after.iter().any(|(other, _)| other == member),
                    ),
                ],
            )?;
        }
        Ok(())
    }

    fn decide(&self, decide: Decide, which: Option<u8>) -> Vec<String> {
        self.machine.decide(decide, which).into_iter().map(|key| key.as_str().to_owned()).collect()
    }

    /// A user takes back one of the last runs. What it made goes only where that is released.
    async fn revert(&mut self, back: u8) -> Result<(), String> {
        let Some(run) = self.runs.checked_sub(u64::from(back)).filter(|run| *run > 0) else { return Ok(()) };
        let (before, people) = (self.pairs(), self.people());
        if !self.machine.revert(run).await {
            return Ok(());
        }
        self.runs += 1;
        let (after, still) = (self.pairs(), self.people());
        let gone: Vec<&Pair> = before.difference(&after).filter(|pair| !self.is_among(&self.released, pair)).collect();
        if !gone.is_empty() || !people.keys().all(|person| still.contains_key(person)) {
            return Err(format!("law 6: what a run made was removed by a revert that nobody released: {gone:?}"));
        }
        Ok(())
    }

    /// The memberships at the service.
    fn pairs(&self) -> BTreeSet<Pair> {
        let service = self.machine.service();
        let (members, orgs) = (service.all("sp.member"), service.all("sp.org"));
        let name = |all: &[Value], id: &Value, field: &str| Some(text(all.iter().find(|one| one["id"] == *id)?, field));
        let pair = |one: &Value| {
            Some((name(&members, &one["member_id"], "service_provider_id")?, name(&orgs, &one["org_id"], "legalid")?))
        };
        service.all("sp.membership").iter().filter_map(pair).collect()
    }

    /// All people at the service: their numbers and ids.
    fn people(&self) -> BTreeMap<String, i64> {
        let all = self.machine.service().all("sp.member");
        all.iter().map(|one| (text(one, "service_provider_id"), one["id"].as_i64().unwrap())).collect()
    }

    fn id(&self, of: &str, field: &str, value: &str) -> Option<i64> {
        self.machine.service().all(of).iter().find(|one| one[field] == value)?["id"].as_i64()
    }

    /// Whether it was decided about a membership, or about its person.
    fn is_among(&self, decided: &BTreeSet<String>, pair: &Pair) -> bool {
        decided.contains(&key(pair)) || decided.contains(&pair.0)
    }
}

impl Lived for World {
    type Step = Step;

    fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::File { rows, edition, cut } => self.write(rows, *edition, *cut),
            Step::Membership { person, company } => self.edit(*person, *company),
            Step::Remove { person } => {
                if let Some(id) = self.id("sp.member", "service_provider_id", &number(*person)) {
                    let before = self.pairs();
                    self.machine.service().remove("sp.member", id);
                    self.absent.extend(before.difference(&self.pairs()).cloned());
                }
            }
            Step::Sync { faults, killed, only } => self.sync(faults, *killed, *only).await?,
            Step::Approve => _ = self.release_all(),
            Step::Reject { which } => {
                let keys = self.decide(operator::reject, Some(*which));
                self.rejected.extend(keys);
            }
            Step::Revert { back } => self.revert(*back).await?,
            Step::Rebuild => {
                self.machine.rebuild();
                // Who leaves before the next read is known no more; of files of changes all are kept, since none says it again.
                if self.mode == Mode::Everyone {
                    self.known.clear();
                    self.known_people.clear();
                }
            }
            Step::Lose => {
                self.machine.site.lose_state();
                (self.seen, self.known) = Default::default();
                (self.seen_people, self.known_people) = Default::default();
                self.runs = 0;
                if self.mode == Mode::Changes {
                    self.stated.clear();
                }
            }
        }
        self.forget_gone();
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let service = self.machine.service();
        let twice = |of: &str, names: Vec<String>| {
            let once: BTreeSet<&String> = names.iter().collect();
            if once.len() == names.len() { Ok(()) } else { Err(format!("law 3: {of} is there twice: {names:?}")) }
        };
        let texts = |of: &str, field: &str| service.all(of).iter().map(|one| text(one, field)).collect();
        twice("a person", texts("sp.member", "service_provider_id"))?;
        twice("a company", texts("sp.org", "legalid"))?;
        let joined = |one: &Value| format!("{} @ {}", one["member_id"], one["org_id"]);
        twice("a membership", service.all("sp.membership").iter().map(joined).collect())?;
        if !self.pairs().contains(&(FOREIGN.to_owned(), legal(0))) {
            return Err("law 6: the membership of someone no file names ended".to_owned());
        }
        Ok(())
    }

    /// As the file says. That takes two editions: what is released in the first may be the undoing of what the file wants.
    async fn settle(&mut self) -> Result<(), String> {
        for _ in 0..READING_RUNS_MAX {
            if !self.unread.is_empty() {
                self.sync(&[], None, None).await?;
            }
        }
        if !self.unread.is_empty() {
            return Err(format!("files are not read: {:?}", self.said));
        }
        // A list of no one is not believed.
        if numbers(&self.stated).is_empty() {
            self.stated.insert((0, Some(0)), false);
        }
        for edition in [SETTLED - 1, SETTLED] {
            let rows: Vec<(Row, bool)> = self.stated.clone().into_iter().collect();
            self.write(&rows, edition, false);
            self.rest().await?;
        }
        let (pairs, people, named, in_file) = (self.pairs(), self.people(), named(&self.stated), numbers(&self.stated));
        let memberships = self.machine.service().all("sp.membership");
        let current = memberships.iter().filter(|one| one["roles"] == json!([role(SETTLED)])).count();
        if !named.is_subset(&pairs)
            || current != named.len()
            || !in_file.iter().all(|person| people.contains_key(person))
        {
            let said = &self.said;
            return Err(format!(
                "law 3: the file names {named:?}, and there are {pairs:?}; {current} as it says: {said:?}"
            ));
        }
        let is_placed_nowhere =
            |pair: &&Pair| self.stated.keys().any(|(one, of)| of.is_none() && number(*one) == pair.0);
        let left = self.known.difference(&named).filter(|pair| !is_placed_nowhere(pair));
        let left: Vec<&Pair> = left.filter(|pair| !self.is_among(&self.rejected, pair)).collect();
        let stayed: Vec<&String> =
            self.known_people.difference(&in_file).filter(|one| !self.rejected.contains(*one)).collect();
        if !left.is_empty() || !stayed.is_empty() {
            let said = &self.said;
            return Err(format!("law 4: known and not in the file, and still there: {left:?} {stayed:?}: {said:?}"));
        }
        Ok(())
    }
}

impl Decided for World {
    async fn calm_run(&mut self) -> Result<(), String> {
        self.sync(&[], None, None).await
    }

    fn release_all(&mut self) -> bool {
        let keys = self.decide(operator::approve, None);
        let is_any = !keys.is_empty();
        self.released.extend(keys);
        is_any
    }
}

/// What HR says with a file of changes. What is over for someone in no company is all there was of them.
fn apply(rows: &[(Row, bool)], state: &mut BTreeMap<Row, bool>) {
    for ((person, of), is_over) in rows.iter().copied() {
        state.insert((person, of), is_over);
        if is_over {
            state.remove(&(person, None));
        }
    }
}

/// The memberships that are there by what HR says.
fn named(state: &BTreeMap<Row, bool>) -> BTreeSet<Pair> {
    let there = state.iter().filter(|(_, is_over)| !**is_over);
    there.filter_map(|((person, of), _)| Some((number(*person), legal((*of)?)))).collect()
}

/// The people who are.
fn numbers(state: &BTreeMap<Row, bool>) -> BTreeSet<String> {
    state.iter().filter(|(_, is_over)| !**is_over).map(|((person, _), _)| number(*person)).collect()
}

/// The first of these laws that is broken, and whose case it is.
fn broken<const LAWS: usize>(who: &dyn Display, laws: [(&str, bool); LAWS]) -> Result<(), String> {
    match laws.into_iter().find(|(_, is_broken)| *is_broken) {
        Some((law, _)) => Err(format!("{law} ({who})")),
        None => Ok(()),
    }
}

fn text(one: &Value, field: &str) -> String {
    one[field].as_str().unwrap_or_default().to_owned()
}

/// A person no file names.
const FOREIGN: &str = "F0";

/// HR's header.
const HEADER: &str = "No,Name,Email,Trade,Company No,Company,Role,Status,File\n";
/// Where files of changes come.
const INBOX: &str = "inbox";

fn number(person: u8) -> String {
    format!("C{person}")
}

fn company(company: u8) -> String {
    format!("Company {company}")
}

fn legal(company: u8) -> String {
    format!("940{company}")
}

/// The role in which everybody is by an edition.
fn role(edition: u8) -> i64 {
    100 + i64::from(edition)
}

/// The key of a membership.
fn key((member, org): &Pair) -> String {
    format!("{member} @ {org}")
}

fn config(mode: Mode) -> Config {
    let (path, source) = match mode {
        Mode::Everyone => ("staff.csv", ""),
        Mode::Changes => (INBOX, "mode = \"changes\"\n"),
    };
    Config {
        name: "sites".into(),
        path: path.into(),
        source: format!("settle = \"0s\"\n{source}"),
        target: "contractor".into(),
        job: "key = \"{{ no }}\"\nmatch_on = [\"service_provider_id\"]\ninclude = \"{{ status != 'over' }}\"\n".into(),
        map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\ntitle = \"{{ trade }}\"\nservice_provider_id = \"{{ no }}\"\n\
              \"org.name\" = \"{{ company }}\"\n\"org.legalid\" = \"{{ company_no }}\"\n\
              \"membership.roles\" = \"{{ role }}\"\n"
            .into(),
        ..Config::rest(
            "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n\
             [job.guard]\nmax_updates = \"off\"\nmax_blanked = \"off\"\n",
        )
    }
}
