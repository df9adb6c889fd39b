//! Engine and service as a history drives them, and the laws.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use rosterd::api::{Api, Client, Fate, StaffMovement, StaffMovementInput};
use rosterd::operator;
use rosterd::reconcile::{self, KeyFilter};
use rosterd::record::Key;
use serde_json::{Value, json};

use super::history::{History, PEOPLE, Slip, Step, Sync};
use super::lived::{Decided, Lived};
use super::machine::{Decide, Machine};
use crate::support::Config;

/// People that are unknown to HR.
const FOREIGN: usize = 2;
/// So many may leave by themselves: no limit is below three.
const LEAVERS_MAX: usize = 3;

/// A service, a state folder, and what must be true of them.
struct World {
    machine: Machine,
    movers: Client,
    location: i64,
    /// HR's file: who is in it, and whether it is whole.
    file: BTreeMap<u8, u8>,
    /// The numbers that stand in it.
    numbers: BTreeSet<String>,
    is_whole: bool,
    /// By id: who that really is, by email.
    real: BTreeMap<i64, String>,
    /// Which numbers stood in a file that a run read since the state was lost.
    seen: BTreeSet<String>,
    /// By id: the value of the field that the job does not map, as it was edited last.
    unowned: BTreeMap<i64, Value>,
    /// By id: where the person stands by their own movement.
    stands: BTreeMap<i64, bool>,
    /// People whose change was released by a user, at any time.
    released: BTreeSet<String>,
    /// How runs showed people: id, name and email.
    shown: BTreeSet<(i64, String, String)>,
}

/// Runs a history to its end; the error is the law that broke, and after which step.
pub(super) async fn run(history: &History) -> Result<(), String> {
    World::new().await.live(history).await
}

impl World {
    async fn new() -> Self {
        let machine = Machine::new(config()).await;
        machine.site.csv(HEADER);
        let (config, sandbox) = (&machine.config, machine.service());
        let movers = Client::new(
            &rosterd::api::Options { budget: rosterd::api::BudgetPlace::Own, ..config.api.clone() },
            &machine.clock,
        )
        .unwrap();
        let location = sandbox.put("location", json!({"name": "Quay"}));
        let mut unowned = BTreeMap::new();
        for number in 0..FOREIGN {
            let person =
                json!({"name": format!("Foreign {number}"), "employee_id": format!("F{number}"), "mobile": "1"});
            unowned.insert(sandbox.put("staff", person), json!("1"));
        }
        let (file, numbers, real, seen, stands) = Default::default();
        Self {
            machine,
            movers,
            location,
            file,
            numbers,
            is_whole: true,
            real,
            seen,
            unowned,
            stands,
            released: BTreeSet::new(),
            shown: BTreeSet::new(),
        }
    }

    fn write(&mut self, file: BTreeMap<u8, u8>, cut: bool, slips: &[Slip]) {
        let mut rows: BTreeMap<u8, [String; 5]> =
            file.iter().map(|(person, title)| (*person, row(*person, *title))).collect();
        for slip in slips {
            if !self.hides_all(*slip) {
                slip_up(&mut rows, *slip);
            }
        }
        let mut text = rows.values().fold(HEADER.to_owned(), |text, row| text + &row.join(",") + "\n");
        self.numbers = rows.values().map(|row| row[0].clone()).collect();
        self.is_whole = !cut;
        if cut {
            text += "P99,\"Per";
        }
        self.file = file;
        self.machine.site.csv(text);
    }

    /// Whether a slip takes a name and an email from a row by which alone the service could tell whose it is: it shows this
    /// person under another number, or someone else under this one.
    fn hides_all(&self, slip: Slip) -> bool {
        let Slip::GivenAway(person) = slip else { return false };
        let own = self.id(person);
        self.real.iter().any(|(id, email)| (Some(*id) == own) != (*email == self::email(person)))
    }

    /// A user gives two people at the service each other's name and email.
    fn exchange(&self, one: u8, other: u8) {
        let (Some(one), Some(other)) = (self.id(one), self.id(other)) else { return };
        let staff = self.machine.service().all("staff");
        let who = |id: i64| {
            let person = staff.iter().find(|person| person["id"] == id).unwrap();
            json!({"name": person["name"], "email": person["email"]})
        };
        self.machine.service().edit("staff", one, who(other));
        self.machine.service().edit("staff", other, who(one));
    }

    /// A run, and the laws about what it may remove.
    async fn sync(&mut self, sync: &Sync) -> Result<(), String> {
        self.machine.site.faults(&sync.faults);
        let before = self.people();
        let before_run = self.faces();
        let narrow = KeyFilter { keys: sync.only.and_then(|person| Key::new(&number(person))).into_iter().collect() };
        let inside: BTreeSet<i64> = self.stands.iter().filter(|(_, onsite)| **onsite).map(|(id, _)| *id).collect();
        let (client, ended) = (self.machine.client(), Cell::new(false));
        let engine = async {
            let report = self.machine.run(&client, &narrow, sync.killed).await;
            ended.set(true);
            report
        };
        let movers = async {
            let mut moved = Vec::new();
            for (person, onsite, moment) in &sync.moves {
                moment.comes(&client, || ended.get()).await;
                let Some(id) = self.id(*person) else { continue };
                if sign(&self.movers, self.location, id, *onsite).await {
                    moved.push((id, *onsite));
                }
            }
            moved
        };
        let (report, moved) = tokio::join!(engine, movers);
        self.machine.arrived(report.is_none()).await;
        self.stands.extend(moved.iter().copied());
        self.seen.extend(self.numbers.iter().cloned());
        let after = self.people();
        let removed: Vec<(&i64, &String)> = before.iter().filter(|(id, _)| !after.contains_key(id)).collect();
        for (id, key) in &removed {
            let who = self.real.get(id);
            // Who is shown by another entry, which a person released, is not missing.
            let is_shown = self.faces().values().any(|face| Some(&face.email) == who);
            let here = !is_shown && self.file.keys().any(|person| who == Some(&email(*person)));
            let stayed_inside = inside.contains(id) && !moved.iter().any(|(other, _)| other == *id);
            for (law, broken) in [
                ("law 1: somebody was removed who is in the file", here),
                ("law 1: somebody was removed by an incomplete read", !self.is_whole),
                ("law 6: somebody was removed whom no run knew", !self.seen.contains(*key)),
                ("law 7: somebody was removed by a narrowed run", sync.only.is_some()),
                ("law 10: somebody was removed who is on site", stayed_inside),
            ] {
                if broken {
                    return Err(format!("{law} ({key})"));
                }
            }
        }
        let by_itself = removed.iter().filter(|(_, key)| !self.released.contains(*key)).count();
        if by_itself > LEAVERS_MAX {
            return Err(format!("the guard: {by_itself} people were removed whom nobody released"));
        }
        self.check_identity(&before_run)?;
        self.forget_gone(&after);
        if let Some(report) = report
            && sync.faults.is_empty()
            && report.status != reconcile::Status::Failed
        {
            self.check_presence()?;
        }
        Ok(())
    }

    /// Takes a decision about one held change, or about all; tells whether there was any.
    fn decide(&mut self, decide: Decide, which: Option<u8>) -> bool {
        let keys = self.machine.decide(decide, which);
        self.released.extend(keys.iter().map(|key| key.as_str().to_owned()));
        !keys.is_empty()
    }

    /// No run turns one person into another, nor creates a person a second time, unless a user approved it.
    fn check_identity(&mut self, before: &BTreeMap<i64, Face>) -> Result<(), String> {
        let keys = self.people();
        for (id, now) in &self.faces() {
            let is_released = keys.get(id).is_some_and(|key| self.released.contains(key));
            let Some(who) = self.real.get(id).cloned() else {
                let twin = self.real.iter().find(|(_, email)| **email == now.email);
                if let Some((twin, who)) = twin.filter(|_| !is_released) {
                    return Err(format!("law 3: {who} was made a second time (ids {twin} and {id})"));
                }
                self.real.insert(*id, now.email.clone());
                self.shown.insert((*id, now.name.clone(), now.email.clone()));
                continue;
            };
            let was = &before[id];
            let is_other = was.email != now.email && now.email != who;
            // A name that no one had before may be the same person's new one.
            let is_another_s = before.values().any(|other| other.name == now.name);
            // What a run showed before, the next one may show again.
            let is_new = self.shown.insert((*id, now.name.clone(), now.email.clone()));
            let is_mixed = is_new && was.name != now.name && is_another_s && was.is_one() && !now.is_one();
            if (is_other || is_mixed) && !is_released {
                return Err(format!("law 6: {who} was made {now:?} (id {id})"));
            }
            if is_other {
                self.real.insert(*id, now.email.clone());
            }
        }
        Ok(())
    }

    /// By id, the people that HR knows, as the service shows them.
    fn faces(&self) -> BTreeMap<i64, Face> {
        let text = |person: &Value, field: &str| person[field].as_str().unwrap_or_default().to_owned();
        let face = |person: &Value| Face { name: text(person, "name"), email: text(person, "email") };
        let all = self.machine.service().all("staff");
        let known = all.iter().filter(|person| person["email"].is_string());
        known.map(|person| (person["id"].as_i64().unwrap(), face(person))).collect()
    }

    /// Everybody stands as they signed last.
    fn check_presence(&self) -> Result<(), String> {
        for person in self.machine.service().all("staff") {
            let (id, is_inside) = (person["id"].as_i64().unwrap(), person["onsite_status"] == "onsite");
            if self.stands.get(&id).is_some_and(|onsite| *onsite != is_inside) {
                return Err(format!("law 10: {} stands {}", person["employee_id"], person["onsite_status"]));
            }
        }
        Ok(())
    }

    fn people(&self) -> BTreeMap<i64, String> {
        let key = |person: &Value| person["employee_id"].as_str().unwrap_or_default().to_owned();
        self.machine.service().all("staff").iter().map(|person| (person["id"].as_i64().unwrap(), key(person))).collect()
    }

    /// The id of a person that HR knows, if the service has them.
    fn id(&self, person: u8) -> Option<i64> {
        let wanted = number(person % PEOPLE);
        self.people().into_iter().find(|(_, key)| *key == wanted).map(|(id, _)| id)
    }

    fn forget_gone(&mut self, there: &BTreeMap<i64, String>) {
        self.stands.retain(|id, _| there.contains_key(id));
        self.unowned.retain(|id, _| there.contains_key(id));
        self.real.retain(|id, _| there.contains_key(id));
    }
}

impl Lived for World {
    type Step = Step;

    fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::File { rows, cut, slips } => self.write(rows.iter().copied().collect(), *cut, slips),
            Step::Exchange { one, other } => self.exchange(*one, *other),
            Step::Edit { person, owned, value } => {
                let Some(id) = self.id(*person) else { return Ok(()) };
                let field = if *owned { "title" } else { "mobile" };
                let value = json!(value.to_string());
                self.machine.service().edit("staff", id, json!({field: value}));
                if !owned {
                    self.unowned.insert(id, value);
                }
            }
            Step::Remove { person } => {
                if let Some(id) = self.id(*person) {
                    self.machine.service().remove("staff", id);
                    self.stands.remove(&id);
                    self.real.remove(&id);
                    self.unowned.remove(&id);
                }
            }
            Step::Sign { person, onsite } => {
                if let Some(id) = self.id(*person) {
                    let moved = sign(&self.movers, self.location, id, *onsite).await;
                    self.stands.extend(moved.then_some((id, *onsite)));
                }
            }
            Step::Sync(sync) => self.sync(sync).await?,
            Step::Approve => _ = self.release_all(),
            Step::Reject { which } => _ = self.decide(operator::reject, Some(*which)),
            Step::Lose => {
                self.machine.site.lose_state();
                self.seen.clear();
            }
            Step::Wait { hours } => self.machine.clock.advance(SignedDuration::from_hours(i64::from(*hours))),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let staff = self.machine.service().all("staff");
        let mut keys = BTreeSet::new();
        for person in &staff {
            let (id, key) = (person["id"].as_i64().unwrap(), person["employee_id"].as_str().unwrap_or_default());
            if !keys.insert(key.to_owned()) {
                return Err(format!("law 3: {key} is there twice"));
            }
            let expected = self.unowned.get(&id).cloned().unwrap_or(Value::Null);
            if person["mobile"] != expected {
                return Err(format!("law 2: mobile of {key} is {} and was {expected}", person["mobile"]));
            }
        }
        for foreign in 0..FOREIGN {
            let name = json!(format!("Foreign {foreign}"));
            if !staff.iter().any(|person| person["name"] == name && person["title"].is_null()) {
                return Err(format!("law 6: {name} was touched, and no job knows them"));
            }
        }
        Ok(())
    }

    /// As the file says.
    async fn settle(&mut self) -> Result<(), String> {
        let people = if self.file.is_empty() { vec![0] } else { self.file.keys().copied().collect() };
        // New titles make every earlier verdict void.
        self.write(people.into_iter().map(|person| (person, 100 + person)).collect(), false, &[]);
        self.rest().await?;
        self.check_presence()?;
        let staff = self.machine.service().all("staff");
        for (person, title) in &self.file {
            let (key, title) = (json!(number(*person)), json!(format!("Title {title}")));
            if !staff.iter().any(|one| one["employee_id"] == key && one["title"] == title) {
                return Err(format!("law 3: {key} of the file is missing, or not as the file says"));
            }
        }
        Ok(())
    }
}

impl Decided for World {
    async fn calm_run(&mut self) -> Result<(), String> {
        self.sync(&Sync { faults: Vec::new(), killed: None, only: None, moves: Vec::new() }).await
    }

    fn release_all(&mut self) -> bool {
        self.decide(operator::approve, None)
    }
}

/// The name and email under which a person is shown.
#[derive(Clone, Debug)]
struct Face {
    name: String,
    email: String,
}

impl Face {
    /// Whether name and email are of one person.
    fn is_one(&self) -> bool {
        (0..PEOPLE).any(|person| self.name == name(person) && self.email == email(person))
            || self
                .name
                .strip_prefix("Stranger ")
                .is_some_and(|rest| self.email == format!("stranger{rest}@example.com"))
    }
}

/// HR's header.
const HEADER: &str = "No,Name,Email,Phone,Title\n";

/// A person's row without slips.
fn row(person: u8, title: u8) -> [String; 5] {
    [number(person), name(person), email(person), format!("021 555 {person:04}"), format!("Title {title}")]
}

/// Does a slip to the rows.
fn slip_up(rows: &mut BTreeMap<u8, [String; 5]>, slip: Slip) {
    let cell = |rows: &BTreeMap<u8, [String; 5]>, person: u8, at: usize| rows.get(&person).map(|row| row[at].clone());
    let set = |rows: &mut BTreeMap<u8, [String; 5]>, person: u8, at: usize, text: String| {
        rows.entry(person).and_modify(|row| row[at] = text);
    };
    match slip {
        // With another number, name and email, nothing that identifies a person is left: no one could tell it from a leaver
        // and a joiner.
        Slip::Mistyped(one) if cell(rows, one, 2) != Some(email(one)) => {}
        Slip::GivenAway(one) if cell(rows, one, 0) == Some(format!("X{one}")) => {}
        Slip::Mistyped(one) => set(rows, one, 0, format!("X{one}")),
        Slip::Broken(one) => set(rows, one, 0, "#N/A".to_owned()),
        Slip::BadPhone(one) => set(rows, one, 3, "ask reception".to_owned()),
        Slip::GivenAway(one) => {
            set(rows, one, 1, format!("Stranger {one}"));
            set(rows, one, 2, format!("stranger{one}@example.com"));
        }
        Slip::Shared(one, other) | Slip::SortedApart(one, other) | Slip::NamesSortedApart(one, other) => {
            let at = usize::from(matches!(slip, Slip::NamesSortedApart(..)));
            let (Some(mine), Some(theirs)) = (cell(rows, one, at), cell(rows, other, at)) else { return };
            set(rows, one, at, theirs);
            if !matches!(slip, Slip::Shared(..)) {
                set(rows, other, at, mine);
            }
        }
    }
}

fn email(person: u8) -> String {
    format!("p{person}@example.com")
}

fn name(person: u8) -> String {
    format!("Person {person}")
}

fn number(person: u8) -> String {
    format!("P{person}")
}

/// Signs a person in or out; returns whether the service did it.
async fn sign(client: &Client, location: i64, person: i64, onsite: bool) -> bool {
    let input = StaffMovementInput {
        onsite_status: Some(if onsite { "onsite" } else { "offsite" }.into()),
        location_id: Some(location),
        staff_id: Some(person),
        ..StaffMovementInput::default()
    };
    // The faults that strike it lose the answer only.
    let sent = client.send(Api::<StaffMovement>::root().put(&input)).await;
    sent.map_or_else(|error| error.fate() == Fate::Unknown, |_| true)
}

fn config() -> Config {
    Config {
        job: "key = \"{{ no }}\"\nmatch_on = [\"employee_id\"]\n".into(),
        map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nphone = \"{{ phone }}\"\nemployee_id = \"{{ no }}\"\n\
              title = \"{{ title }}\"\n"
            .into(),
        ..Config::rest(
            "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n\
             [job.guard]\nmax_updates = \"off\"\nmax_blanked = \"off\"\n",
        )
    }
}
