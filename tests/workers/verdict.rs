//! What must be true of a history, by what the service and the database recorded.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::history::{DIVISOR, REQUESTS};
use crate::support::World;
use crate::support::postgres::Database;

/// What a history was like.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) histories: usize,
    /// Those in which a standby took over.
    pub(crate) failovers: usize,
    pub(crate) requests: usize,
    pub(crate) writes: usize,
    /// Tenures that wrote.
    pub(crate) tenures: usize,
    pub(crate) commits: usize,
    /// The most requests in a minute that is divided as the terms are.
    pub(crate) busiest: usize,
    /// Writes whose answer was not heard.
    pub(crate) unheard: usize,
    /// How many seconds the longest one took, and its seed.
    pub(crate) longest: (u64, u64),
}

impl Verdict {
    pub(crate) fn add(&mut self, other: Self) {
        self.histories += other.histories;
        self.failovers += other.failovers;
        self.requests += other.requests;
        self.writes += other.writes;
        self.tenures += other.tenures;
        self.commits += other.commits;
        self.busiest = self.busiest.max(other.busiest);
        self.unheard += other.unheard;
        self.longest = self.longest.max(other.longest);
    }
}

/// Has the database write down who made each commit of an account.
pub(crate) fn watch(database: &Database) {
    database.sql(
        "create table public.commits (n bigint generated always as identity, commits bigint, holder text, epoch bigint);
         create function public.note() returns trigger language plpgsql as $note$ begin
           insert into public.commits (commits, holder, epoch) values (new.commits, new.holder, new.epoch); return new;
         end $note$;
         create trigger note after update on rosterd.account for each row when (new.commits <> old.commits)
           execute function public.note();",
    );
}

/// A history that has been played.
pub(crate) struct Case<'a> {
    pub(crate) world: &'a World,
    /// Where its state lies at the end.
    pub(crate) database: Database,
    /// The last file.
    pub(crate) source: &'a str,
    /// Whether a standby took over: then the last commits of the one before are lost, and with them their lines and claims.
    pub(crate) fails_over: bool,
}

impl Case<'_> {
    pub(crate) fn judge(&self) -> Result<Verdict, String> {
        let (world, failovers) = (self.world, usize::from(self.fails_over));
        let commits = one_holder_a_commit(&self.database)?;
        let mut verdict = Verdict { histories: 1, failovers, commits, ..Verdict::default() };
        one_tenure_at_a_time(world, &mut verdict, self.fails_over)?;
        within_the_budget(world, &mut verdict)?;
        told_of_once(self, &mut verdict)?;
        self.as_the_source_says()?;
        Ok(verdict)
    }
}

/// Each commit has one holder, and none comes after one of a later epoch.
fn one_holder_a_commit(database: &Database) -> Result<usize, String> {
    let doubled =
        "select count(*) from (select commits from public.commits group by commits having count(*) > 1) as doubled";
    let back = "select count(*) from (select epoch < lag(epoch) over (order by n) as is_back from public.commits) as steps where is_back";
    for (what, statement) in [("commits have two holders", doubled), ("commits came after a later epoch's", back)] {
        let found = database.sql(statement);
        if found != "0" {
            return Err(format!("{found} {what}"));
        }
    }
    Ok(database.sql("select count(*) from public.commits").parse().unwrap())
}

/// No write arrives from a tenure once a later one has written. Where claims were lost, a later tenure may have the name of an
/// earlier one.
fn one_tenure_at_a_time(world: &World, verdict: &mut Verdict, fails_over: bool) -> Result<(), String> {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut latest = String::new();
    for request in world.service().requests() {
        verdict.requests += 1;
        if request.method == "GET" {
            continue;
        }
        verdict.writes += 1;
        if !request.agent.contains("; epoch ") {
            return Err(format!("a write does not say whose it is: {request:?}"));
        }
        if request.agent != latest {
            if !seen.insert(request.agent.clone()) && !fails_over {
                return Err(format!("a write came after one of {latest}: {request:?}"));
            }
            latest = request.agent;
        }
    }
    verdict.tenures = seen.len();
    Ok(())
}

/// No divided minute has more requests than are allowed in one.
fn within_the_budget(world: &World, verdict: &mut Verdict) -> Result<(), String> {
    let minute = 60_000 / u64::from(DIVISOR);
    let arrivals: Vec<u64> = world.service().requests().iter().map(|request| request.at_millis).collect();
    let mut first = 0;
    for (last, at) in arrivals.iter().enumerate() {
        while arrivals[first] + minute <= *at {
            first += 1;
        }
        verdict.busiest = verdict.busiest.max(last + 1 - first);
    }
    match verdict.busiest {
        busiest if busiest > REQUESTS => Err(format!("{busiest} requests within {minute} ms")),
        _ => Ok(()),
    }
}

/// Each write that was carried out has its line, and each line its write.
fn told_of_once(case: &Case<'_>, verdict: &mut Verdict) -> Result<(), String> {
    let Case { world, database, fails_over, .. } = case;
    // By what was done, and the id: a create has none in its path, so all of them count together.
    let mut done: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
    for request in world.service().requests().into_iter().filter(|request| request.method != "GET") {
        let action = match request.method.as_str() {
            "POST" => "create",
            "PUT" => "update",
            _ => "delete",
        };
        let id = request.path.rsplit('/').next().filter(|id| id.parse::<u64>().is_ok()).unwrap_or_default();
        let (sure, unheard) = done.entry((action.to_owned(), id.to_owned())).or_default();
        match request.status {
            200..=299 => *sure += 1,
            0 => *unheard += 1,
            _ => {}
        }
    }
    let mut told: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in database.sql("select line from rosterd.audit order by n").lines() {
        let line: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if line["what"] == "change" {
            let action = line["action"].as_str().unwrap_or_default().to_owned();
            let id = if action == "create" { String::new() } else { line["id"].to_string() };
            *told.entry((action, id)).or_default() += 1;
        }
    }
    verdict.unheard = done.values().map(|(_, unheard)| unheard).sum();
    let all: BTreeSet<&(String, String)> = done.keys().chain(told.keys()).collect();
    for what in all {
        let (sure, unheard) = done.get(what).copied().unwrap_or_default();
        let lines = told.get(what).copied().unwrap_or_default();
        let are_lost = lines < sure && !fails_over;
        if are_lost || lines > sure + unheard {
            return Err(format!("{what:?}: {sure} writes for sure, {unheard} unheard, and {lines} lines"));
        }
    }
    Ok(())
}

impl Case<'_> {
    /// The service holds those of the source, each once, and no one else. A person who was made by a commit that was lost, and who
    /// left before the next run, is not known any more, and stays.
    fn as_the_source_says(&self) -> Result<(), String> {
        let person = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            [cells[0].to_owned(), cells[2].to_owned(), cells[3].to_owned()]
        };
        let mut expected: Vec<[String; 3]> = self.source.lines().skip(1).map(person).collect();
        expected.sort();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let fields = ["employee_id", "email", "title"];
        let people = self.world.staff();
        let mut found: Vec<[String; 3]> = people.iter().map(|one| fields.map(|field| text(&one[field]))).collect();
        found.sort();
        let keys: BTreeSet<&String> = found.iter().map(|one| &one[0]).collect();
        if keys.len() < found.len() {
            return Err(format!("the service holds someone twice: {found:?}"));
        }
        let mut strangers = found.clone();
        if self.fails_over {
            let known: BTreeSet<&String> = expected.iter().map(|one| &one[0]).collect();
            found.retain(|one| known.contains(&one[0]));
            strangers.retain(|one| !known.contains(&one[0]));
        }
        match found == expected {
            true => Ok(()),
            false => Err(format!("the service holds {found:?}, {strangers:?} besides, and the source {expected:?}")),
        }
    }
}
