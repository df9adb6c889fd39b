//! Random histories of a directory whose servers are behind each other, are restored from a copy or imported again, and
//! of reads that end early.
//!
//! Law 1 promises, of the people at the service:
//! - only a read that came to its end removes anybody, of everybody, and from a server that holds everybody it has heard of;
//! - only where that server had, before it was asked, at least the changes that the server had which showed this person
//!   last, when that read ended. As each server has the first so many of the changes of one directory, a person who is
//!   removed was really removed there since they were shown;
//! - a server that does not show this (another one that shows nothing, or no more than a count of its own) is not
//!   believed about people that another one showed; a person may say that it is right;
//! - no one is there twice, and no one is created that the read did not show;
//! - once all servers have everything, and each was read, the service holds the people of the directory.
//!
//! It does not promise what no server shows: that one which shows nothing of itself was laid back, or that another answers
//! under the address of one that is known by its address alone; no history does that. Nor that a server is being imported,
//! where none has ever shown how far it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use jiff::SignedDuration;
use proptest::collection::vec;
use proptest::prelude::*;
use rosterd::operator;
use rosterd::reconcile::KeyFilter;
use rosterd::record::Key;

use super::directory::{Change, Directory, Kind, PEOPLE, Read, SERVERS, Seen, Trouble};
use super::lived::Lived;
use super::machine::Machine;
use crate::ldap;
use crate::support::scripted::Scripted;
use crate::support::slapd;

/// A directory, and what happens.
#[derive(Clone, Debug)]
pub(super) struct History {
    kind: Kind,
    /// Whether one address leads to all servers.
    one_name: bool,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    Change(Change),
    /// A server gets so many further changes, or all of them if it was imported again.
    CatchUp {
        server: u8,
        by: u8,
    },
    /// A server is laid back, under its own identity or a new one.
    Restore {
        server: u8,
        back: u8,
        new_identity: bool,
    },
    /// A server is imported again, and holds the people below this one so far.
    Import {
        server: u8,
        shows: u8,
    },
    Run(Read),
}

pub(super) fn histories() -> impl Strategy<Value = History> {
    let kinds = prop::sample::select(&[
        Kind::OpenLdap,
        Kind::ActiveDirectory,
        Kind::Blind,
        Kind::Replicated389,
        Kind::Alone389,
        Kind::Silent,
    ]);
    (kinds, prop::bool::weighted(0.3), vec(steps(), 4..18)).prop_map(|(kind, one_name, steps)| History {
        kind,
        one_name: one_name && kind.tells_apart(),
        steps,
    })
}

fn steps() -> impl Strategy<Value = Step> {
    let replica = 1..SERVERS;
    prop_oneof![
        4 => changes().prop_map(Step::Change),
        3 => (replica.clone(), 1..4_u8).prop_map(|(server, by)| Step::CatchUp { server, by }),
        1 => (replica.clone(), 1..6_u8, any::<bool>())
            .prop_map(|(server, back, new_identity)| Step::Restore { server, back, new_identity }),
        1 => (replica, 0..PEOPLE).prop_map(|(server, shows)| Step::Import { server, shows }),
        7 => reads().prop_map(Step::Run),
    ]
}

fn changes() -> impl Strategy<Value = Change> {
    (0..PEOPLE, prop::option::of(1..4_u8))
        .prop_map(|(person, title)| Change { person, title: if person == 0 { title.or(Some(1)) } else { title } })
}

fn reads() -> impl Strategy<Value = Read> {
    let troubles = prop::sample::select(&[Trouble::Cut, Trouble::Limit, Trouble::Lost]);
    (
        0..SERVERS,
        prop::option::weighted(0.1, 0..PEOPLE),
        prop::option::weighted(0.25, (0..3_u8, troubles)),
        prop::option::weighted(0.25, (0..4_u8, changes())),
    )
        .prop_map(|(server, only, trouble, meanwhile)| Read { server, only, trouble, meanwhile })
}

/// The job, its directory, and what must be true of them.
struct World {
    machine: Machine,
    directory: Arc<Mutex<Directory>>,
    /// Its addresses; they are there as long as this is.
    _servers: Vec<Scripted>,
    kind: Kind,
    /// Whether something happened after which it may take a person to say that the directory is right.
    may_doubt: bool,
    /// How many changes the server had that showed a person last.
    shown: BTreeMap<u8, usize>,
    /// Whether any server has shown how far it is.
    tells: bool,
}

/// Lives through a history; the error is the law that broke, and after which step.
pub(super) async fn run(history: &History) -> Result<(), String> {
    World::new(history).await.live(&history.steps).await
}

impl World {
    async fn new(history: &History) -> Self {
        let directory = Arc::new(Mutex::new(Directory::new(history.kind, history.one_name)));
        let addresses = if history.one_name { 1 } else { SERVERS };
        let servers: Vec<Scripted> = (0..addresses)
            .map(|address| {
                let directory = Arc::clone(&directory);
                Scripted::start(move |asked, _| directory.lock().unwrap().answer(address, asked))
            })
            .collect();
        let urls: Vec<String> = servers.iter().map(Scripted::url).collect();
        let mut config = ldap::config(slapd::source(&urls, "page_size = 2\n"));
        config.rest += "max_updates = \"off\"\n";
        let machine = Machine::new(config).await;
        let (kind, shown) = (history.kind, BTreeMap::new());
        Self { machine, directory, _servers: servers, kind, may_doubt: false, shown, tells: false }
    }

    /// A run, and the laws.
    async fn sync(&mut self, read: &Read) -> Result<(), String> {
        self.directory.lock().unwrap().is_read(read);
        let before = self.people()?;
        let key = |person: u8| Key::new(&number(person));
        let narrow = KeyFilter { keys: read.only.and_then(key).into_iter().collect() };
        self.machine.run(&self.machine.client(), &narrow, None).await.expect("nothing kills it");
        let after = self.people()?;
        let directory = self.directory.lock().unwrap();
        let seen = &directory.seen;
        self.tells |= seen.tells;
        for person in before.difference(&after) {
            let shown = self.shown.get(person).copied();
            if self.kind.is_silent_in_imports() && !self.tells {
                continue;
            }
            // A server that counts has an identity of its own since its import began, and only gets more people in it.
            let began = seen.began.or(shown.filter(|_| !self.kind.is_silent_in_imports()));
            check_removed(*person, read, seen, began, shown, &directory)
                .map_err(|law| format!("law 1: {person} was removed {law}"))?;
        }
        if let Some(person) = after.difference(&before).find(|person| !seen.people.contains(person)) {
            return Err(format!("{person} was made, whom the read did not show"));
        }
        let ended = seen.ended;
        self.shown.extend(seen.people.iter().map(|person| (*person, ended)));
        Ok(())
    }

    async fn read_all(&mut self) -> Result<(), String> {
        for server in 0..SERVERS {
            self.machine.clock.advance(SignedDuration::from_secs(1));
            self.sync(&Read { server, only: None, trouble: None, meanwhile: None }).await?;
        }
        Ok(())
    }

    /// Who is at the service.
    fn people(&self) -> Result<BTreeSet<u8>, String> {
        let mut people = BTreeSet::new();
        for one in self.machine.service().all("staff") {
            let person = one["employee_id"].as_str().unwrap_or_default()[1..].parse().unwrap();
            if !people.insert(person) {
                return Err(format!("law 3: {person} is there twice"));
            }
        }
        Ok(people)
    }
}

impl Lived for World {
    type Step = Step;

    fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        if let Step::Run(read) = step {
            // What a server showed in a read of unknown end, only that server itself has.
            self.may_doubt |= read.trouble.is_some();
            return self.sync(read).await;
        }
        let mut directory = self.directory.lock().unwrap();
        match step {
            Step::Change(change) => directory.change(*change),
            Step::CatchUp { server, by } => directory.catch_up(*server, *by),
            Step::Restore { server, back, new_identity } if self.kind.tells() => {
                self.may_doubt = true;
                directory.restore(*server, *back, *new_identity);
            }
            Step::Import { server, shows } if self.kind.tells() => {
                self.may_doubt = true;
                directory.import(*server, *shows);
            }
            Step::Run(_) | Step::Restore { .. } | Step::Import { .. } => {}
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        self.people().map(drop)
    }

    /// Once every server has everything and was read, all comes to rest as the directory is.
    async fn settle(&mut self) -> Result<(), String> {
        self.directory.lock().unwrap().all_catch_up();
        self.read_all().await?;
        if self.may_doubt {
            let store = self.machine.store();
            operator::believe(&store, &self.machine.clock, self.machine.job()).unwrap();
            drop(store);
            self.read_all().await?;
        }
        let writes = self.machine.service().writes();
        self.read_all().await?;
        if self.machine.service().writes() != writes {
            return Err("law 4: runs on unchanged input go on writing".to_owned());
        }
        let truth = self.directory.lock().unwrap().truth();
        let truth: BTreeMap<String, String> =
            truth.into_iter().map(|(person, title)| (number(person), format!("Title {title}"))).collect();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let staff = self.machine.service().all("staff").into_iter();
        let held: BTreeMap<String, String> =
            staff.map(|one| (text(&one["employee_id"]), text(&one["title"]))).collect();
        if truth == held { Ok(()) } else { Err(format!("the directory holds {truth:?}, the service {held:?}")) }
    }
}

/// Why a person should not have been removed, if so.
fn check_removed(
    person: u8,
    read: &Read,
    seen: &Seen,
    began: Option<usize>,
    shown: Option<usize>,
    directory: &Directory,
) -> Result<(), String> {
    let Some(began) = began else { return Err("by a server that does not hold everybody yet".to_owned()) };
    if !seen.is_whole || read.only.is_some() {
        return Err("by a read that did not come to its end, or was narrowed".to_owned());
    }
    if let Some(shown) = shown.filter(|shown| *shown > began) {
        return Err(format!("by a server that had {began} changes, and one that had {shown} showed them"));
    }
    let was_gone = (began..=seen.ended).any(|changes| !directory.people(changes).contains_key(&person));
    if was_gone { Ok(()) } else { Err("and was there".to_owned()) }
}

/// The staff number of a person, as the entries have it.
fn number(person: u8) -> String {
    format!("P{person:05}")
}
