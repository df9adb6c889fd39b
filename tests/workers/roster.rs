//! What workers go through, and what must be true of it at the end.

use std::collections::BTreeMap;

use rosterd::sandbox::Options;
use serde_json::{Value, json};

use crate::support::config::{Config, UNLIMITED};
use crate::support::{HEADER, World, people, row};
use crate::worker;

const LEAVERS: &str =
    "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_updates = \"off\"\nmax_leavers = \"off\"\n";

/// What a worker is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// People to create, to match and to change, and more than are stored one by one.
    First,
    /// Joiners, movers and leavers of people who are known.
    Changes,
}

/// How everything stands at the end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Everybody at the service, in order, with a field that no job owns.
    people: Vec<[String; 5]>,
    /// What the log tells: key, action and whether the values are those of one change; and how often.
    told: BTreeMap<(String, String), usize>,
}

impl Work {
    /// A world in which nothing of it has been done. The service takes a person twice.
    pub(crate) fn world(self) -> World {
        let config = Config { api: UNLIMITED.into(), ..Config::rest(LEAVERS) }.in_database();
        let world = World::with(Options { accept_duplicates: true, ..Options::default() }, config);
        match self {
            Self::First => {
                let last = 20;
                let ids: Vec<i64> = (3..last).map(|number| world.person(number, "Clerk")).collect();
                ids.into_iter().for_each(|id| world.service().edit("staff", id, json!({"mobile": "+64 21 555 0100"})));
                world.csv(people(1..last).replacen(",Clerk", ",Baker", 6));
            }
            Self::Changes => {
                world.csv(people(1..8));
                world.sync().expect(0);
                let ids: Vec<i64> = world.staff().iter().filter_map(|person| person["id"].as_i64()).collect();
                ids.into_iter().for_each(|id| world.service().edit("staff", id, json!({"mobile": "+64 21 555 0100"})));
                let movers: String = (2..6).map(|number| row(number, "Baker")).collect();
                world.csv(HEADER.to_owned() + &row(1, "Clerk") + &movers + &row(9, "New") + &row(10, "New"));
            }
        }
        world
    }

    /// How it stands once it is done, and nothing came between.
    pub(crate) fn end(self) -> End {
        let world = self.world();
        world.sync().expect(0);
        End::of(&world)
    }
}

impl End {
    pub(crate) fn of(world: &World) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let fields = ["employee_id", "name", "email", "title", "mobile"];
        let mut people: Vec<[String; 5]> =
            world.staff().iter().map(|one| fields.map(|field| text(&one[field]))).collect();
        people.sort();
        let mut told = BTreeMap::new();
        for line in world.database().sql("select line from rosterd.audit order by n").lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if line["what"] == "change" {
                *told.entry((text(&line["key"]), text(&line["action"]))).or_default() += 1;
            }
        }
        Self { people, told }
    }
}

/// Goes on until nothing is left to do, and compares: no one is twice or out, nothing is wiped, each change has one line.
pub(crate) fn check_end(world: &World, expected: &End, what: &str) {
    worker::sync_when_free(world, "last");
    let writes = world.service().writes();
    worker::sync_when_free(world, "last");
    assert_eq!(world.service().writes(), writes, "{what}: a run on unchanged input writes");
    assert_eq!(End::of(world), *expected, "{what}: {}", worker::log(world, "first"));
}
