//! People who go from one list to another, where both come by files of changes: what a file said earlier counts for the other list, too.

use jiff::SignedDuration;
use rosterd::clock::Clock;
use serde_json::Value;

use crate::support::{Config, World};

const HEADER: &str = "No,Name,Email,Company,Status,Start,End\n";
const STAFF: &str = "staff";
const CONTRACTOR: &str = "contractor";

/// Two lists, of which north runs first.
struct Lists {
    world: World,
    clock: Clock,
    files: usize,
}

impl Lists {
    /// Lists of these targets, with people of their own; she is in north.
    fn new(north: &str, south: &str, of_south: &str) -> Self {
        let clock = Clock::fixed("2027-03-01T10:00:00Z".parse().unwrap());
        let list = |name: &str, target: &str| {
            let own = if target == STAFF {
                "employee_id = \"{{ no }}\"\ntitle = \"{{ company }}\"\n"
            } else {
                "\"org.name\" = \"{{ company }}\"\n"
            };
            let leave = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\n";
            let job = "key = \"{{ no }}\"\nmatch_on = [\"email\"]\ninclude = \"{{ status != 'gone' }}\"\nactive_from = \"{{ start }}\"\nactive_until = \"{{ end }}\"\n";
            Config {
                name: name.into(),
                target: target.into(),
                job: job.into(),
                path: name.into(),
                source: "settle = \"0s\"\nmode = \"changes\"\n".into(),
                map: format!("name = \"{{{{ name }}}}\"\nemail = \"{{{{ email }}}}\"\n{own}"),
                ..Config::rest(leave)
            }
        };
        let world = World::at(&clock, list("north", north).and(&list("south", south).job(of_south)));
        for name in ["north", "south"] {
            std::fs::create_dir(world.dir().join(name)).unwrap();
        }
        let mut lists = Self { world, clock, files: 0 };
        let others = |first: u32| (first..first + 12).map(|no| format!("{no},Person {no},p{no}@x.com,Acme,,,\n"));
        lists.put("north", &(others(10).collect::<String>() + &her(",")));
        lists.put("south", &others(40).collect::<String>());
        lists.after(0);
        lists.world.run(&["approve", "south"]);
        lists.after(0);
        assert_eq!(lists.places(), [north]);
        lists
    }

    fn put(&mut self, list: &str, rows: &str) {
        self.files += 1;
        self.world.put(&format!("{list}/f{}.csv", self.files), (HEADER.to_owned() + rows).as_bytes());
    }

    /// A file of a list, and the runs that come by it.
    fn reads(&mut self, list: &str, rows: &str) {
        self.put(list, rows);
        self.after(0);
    }

    fn after(&self, days: i64) {
        self.clock.advance(SignedDuration::from_hours(24 * days));
        for _ in 0..3 {
            self.world.sync_all_at(&self.clock);
        }
    }

    fn all(&self, what: &str) -> Vec<Value> {
        self.world.service().all(what)
    }

    /// Where she is: one entry for each time.
    fn places(&self) -> Vec<&'static str> {
        let places = [("staff", STAFF), ("sp.member", CONTRACTOR)];
        let is_her = |one: &&Value| one["email"] == "ana@x.com";
        places
            .iter()
            .flat_map(|(what, place)| self.all(what).iter().filter(is_her).map(|_| *place).collect::<Vec<_>>())
            .collect()
    }

    fn id(&self) -> Value {
        let one = |one: Value| (one["email"] == "ana@x.com").then(|| one["id"].clone());
        self.all("staff").into_iter().chain(self.all("sp.member")).find_map(one).unwrap()
    }
}

/// A row of hers: her status, and her first day.
fn her(rest: &str) -> String {
    format!("1,Ana Lee,ana@x.com,Acme,{rest},\n")
}

/// A row of another person of south.
const ANOTHER: &str = "41,Person Another,p41@x.com,Acme,,,\n";
const SIDES: [(&str, &str); 4] = [(STAFF, STAFF), (STAFF, CONTRACTOR), (CONTRACTOR, STAFF), (CONTRACTOR, CONTRACTOR)];

#[test]
fn law_6_who_goes_to_another_list_is_there_once_whichever_file_comes_first() {
    for (north, south) in SIDES {
        for south_first in [true, false] {
            let mut lists = Lists::new(north, south, "");
            let id = lists.id();
            let files = [("south", her(",")), ("north", her("gone,"))];
            let order = if south_first { [0, 1] } else { [1, 0] };
            for at in order {
                lists.put(files[at].0, &files[at].1);
                // A list of which she is gone before the other one names her has no one to hand over.
                if south_first {
                    lists.after(0);
                }
            }
            lists.after(1);
            let case = format!("{north} {south} {south_first}");
            assert_eq!(lists.places(), [south], "{case}");
            assert_eq!(
                lists.id() == id,
                north == south,
                "{case}: who comes to a list of the same kind stays who they are"
            );
            for report in lists.world.sync_all_at(&lists.clock) {
                assert!(report.held.is_empty() && report.parked.is_empty(), "{case}: {report:?}");
            }
            let memberships = lists.all("sp.membership").iter().filter(|one| one["member_id"] == lists.id()).count();
            assert_eq!(memberships, usize::from(south == CONTRACTOR), "{case}");
        }
    }
}

#[test]
fn law_6_who_begins_later_in_another_list_stays_until_then_though_that_read_other_files() {
    for (north, south) in SIDES {
        let mut lists = Lists::new(north, south, "");
        lists.reads("south", &her(",2027-03-04"));
        lists.reads("south", ANOTHER);
        lists.reads("north", &her("gone,"));
        assert_eq!(lists.places(), [north], "{north} {south}");
        lists.after(3);
        lists.after(1);
        assert_eq!(lists.places(), [south], "{north} {south}");
    }
}

#[test]
fn who_is_taken_back_by_the_other_list_leaves() {
    for (north, south) in SIDES {
        let mut lists = Lists::new(north, south, "");
        lists.put("south", &her(",2027-03-04"));
        lists.reads("north", &her("gone,"));
        assert_eq!(lists.places(), [north], "{north} {south}");
        lists.reads("south", &her("gone,"));
        lists.after(1);
        assert_eq!(lists.places(), [] as [&str; 0], "{north} {south}: no list has her");
    }
}

#[test]
fn law_6_who_is_approved_in_another_list_is_taken_over() {
    for side in [STAFF, CONTRACTOR] {
        let mut lists = Lists::new(side, side, "writes = \"approve\"\n");
        let id = lists.id();
        lists.reads("south", &her(","));
        lists.reads("south", ANOTHER);
        lists.reads("north", &her("gone,"));
        assert_eq!(lists.places(), [side]);
        for _ in 0..3 {
            lists.world.run(&["approve", "south"]);
            lists.world.sync_all_at(&lists.clock);
            assert_eq!(lists.places(), [side]);
        }
        assert_eq!(lists.id(), id, "{side}");
    }
}

#[test]
fn law_6_who_is_about_to_be_removed_from_the_other_list_again_stays() {
    for (north, south) in [(STAFF, CONTRACTOR), (CONTRACTOR, STAFF)] {
        let mut lists = Lists::new(north, south, "");
        lists.put("north", &her("gone,"));
        lists.put("south", &her(","));
        // One run of each: south makes her, and north has not seen that yet.
        lists.world.sync_all_at(&lists.clock);
        assert_eq!(lists.places().len(), 2, "{north} {south}");
        let events = lists.world.run(&["history", "--json"]).expect(0).json()["events"].clone();
        let run = events.as_array().unwrap().iter().find(|one| one["what"] == "run" && one["job"] == "south").unwrap();
        lists.world.run(&["revert", &run["run"].to_string()]).expect(4);
        lists.after(0);
        assert_eq!(lists.places().len(), 2, "{north} {south}: nothing is decided");
        lists.world.run(&["approve", "south"]).expect(0);
        lists.after(0);
        assert_eq!(lists.places(), [north], "{north} {south}");
    }
}

#[test]
fn law_6_who_is_kept_from_changing_in_the_other_list_stays() {
    for (rejects, of_south) in [(true, "writes = \"approve\"\n"), (false, "")] {
        let mut lists = Lists::new(STAFF, STAFF, of_south);
        if !rejects {
            lists.world.faults(&["staff.update status=422"]);
        }
        lists.put("south", &her(",").replace("Acme", "Bolt"));
        lists.reads("north", &her("gone,"));
        lists.world.run(if rejects { &["reject", "south"] } else { &["queue", "drop", "south"] }).expect(0);
        lists.reads("south", ANOTHER);
        lists.after(2);
        assert_eq!(lists.places(), [STAFF], "rejected: {rejects}");
    }
}

#[test]
fn who_is_kept_from_coming_to_the_other_list_leaves_once_its_row_is_over() {
    for decides in [true, false] {
        let mut lists = Lists::new(STAFF, STAFF, "writes = \"approve\"\n");
        lists.put("south", "1,Ana Lee,ana@x.com,Bolt,,,2027-03-02\n");
        lists.reads("north", &her("gone,"));
        if decides {
            lists.world.run(&["reject", "south"]).expect(0);
        }
        lists.after(0);
        assert_eq!(lists.places(), [STAFF], "{decides}");
        lists.after(3);
        assert!(lists.places().is_empty(), "{decides}");
    }
}

#[test]
fn law_6_who_is_in_rows_of_the_other_list_that_differ_stays() {
    let at = |company: &str, rest: &str| her(rest).replace("Acme", company);
    for (rows, another) in [
        ([at("Bolt", ","), at("Crow", ",")], ""),
        ([at("Bolt", ","), at("Crow", ",")], ANOTHER),
        ([at("Bolt", ","), at("Bolt", ",xx")], ""),
        ([at("Bolt", ",2027-03-09"), at("Crow", ",2027-03-09")], ""),
    ] {
        let mut lists = Lists::new(STAFF, STAFF, "");
        lists.put("south", &(rows.concat() + another));
        lists.reads("north", &her("gone,"));
        lists.after(2);
        assert_eq!(lists.places(), [STAFF], "{rows:?} {another}");
    }
}

#[test]
fn a_list_that_was_one_of_others_makes_no_organizations() {
    let mut lists = Lists::new(STAFF, STAFF, "");
    let config = std::fs::read_to_string(lists.world.config_path()).unwrap();
    let (north, south) = config.split_once("name = \"south\"").unwrap();
    let south = south.replace("target = \"staff\"", "target = \"contractor\"");
    let south = south.replace("employee_id = \"{{ no }}\"\ntitle =", "\"org.name\" =");
    lists.world.put_config(&format!("{north}name = \"south\"{south}"));
    lists.reads("south", ANOTHER);
    assert!(lists.all("sp.org").is_empty() && lists.all("sp.member").is_empty());
}
