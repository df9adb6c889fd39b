//! What a file of changes said is worked out again by each run until it is done: it is not said a second time.

use jiff::SignedDuration;
use rosterd::clock::Clock;

use super::{Inbox, inbox_of};
use crate::support::{Config, World};

const HEADER: &str = "Employee No,Name,Email,Title,Start,End\n";
const APPROVE: &str = "writes = \"approve\"\n";

/// A world with files of changes of employees, on its clock.
struct Staff {
    world: World,
    clock: Clock,
    files: usize,
}

impl Staff {
    /// A dozen people at the service, then these tables.
    fn new(job: &str, rest: &str) -> Self {
        let clock = Clock::fixed("2027-03-01T10:00:00Z".parse().unwrap());
        let days = "active_from = \"{{ start }}\"\nactive_until = \"{{ end }}\"\n";
        let leave = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
        let source = "settle = \"0s\"\nmode = \"changes\"\n".to_owned();
        let config = Config { source, ..Config::rest(leave) }.job(days).job(job);
        let mut staff = Self { world: inbox_of(World::at(&clock, config)), clock, files: 0 };
        staff.reads(&(2..14).map(|number| row(number, "3,,")).collect::<String>());
        staff.world.run(&["approve"]);
        staff.after(0);
        staff.world.reconfigure(|config| Config { rest: config.rest + rest, ..config });
        staff
    }

    fn reads(&mut self, rows: &str) {
        self.files += 1;
        Inbox(&self.world).drop(&format!("f{}.csv", self.files), HEADER.to_owned() + rows);
        self.after(0);
    }

    fn after(&self, days: i64) {
        self.clock.advance(SignedDuration::from_hours(24 * days));
        self.world.sync_at(&self.clock);
        self.world.sync_at(&self.clock);
    }

    fn decide(&self, arguments: &[&str]) {
        self.world.run(arguments);
        self.after(0);
    }

    /// The title of the first person; none where they are not at the service.
    fn title(&self) -> Option<String> {
        Some(self.world.held_as(1)?["title"].as_str().unwrap().to_owned())
    }
}

fn row(number: usize, rest: &str) -> String {
    format!("P{number:05},Person {number},person{number}@example.com,{rest}\n")
}

#[test]
fn law_1_who_is_gone_from_the_service_is_made_again_as_the_last_file_says_though_that_waits() {
    for approvals in [1, 2] {
        let mut staff = Staff::new("", "");
        staff.reads(&row(1, "Clerk,,"));
        staff.world.reconfigure(|config| config.job(APPROVE));
        let id = staff.world.held_as(1).unwrap()["id"].as_i64().unwrap();
        staff.world.service().remove("staff", id);
        staff.reads(&row(1, "Nurse,,"));
        staff.after(2);
        staff.reads(&row(2, "Clerk,,"));
        for _ in 0..approvals {
            staff.decide(&["approve"]);
        }
        assert_eq!(staff.title().as_deref(), Some("Nurse"), "after {approvals}");
    }
}

#[test]
fn who_waits_past_their_last_day_is_not_made() {
    for waits in [true, false] {
        let mut staff = Staff::new(APPROVE, "");
        staff.reads(&row(1, "Clerk,,2027-03-02"));
        staff.clock.advance(SignedDuration::from_hours(72));
        if waits {
            staff.after(0);
        }
        staff.decide(&["approve"]);
        assert_eq!(staff.title(), None, "a run in between: {waits}");
    }
}

#[test]
fn whose_update_waits_past_their_last_day_leaves() {
    let mut staff = Staff::new("", "");
    staff.reads(&row(1, "Clerk,,"));
    staff.world.reconfigure(|config| config.job(APPROVE));
    staff.reads(&row(1, "Nurse,,2027-03-02"));
    staff.after(3);
    staff.decide(&["approve"]);
    assert_eq!(staff.title(), None);
}

#[test]
fn law_7_an_approval_is_used_up_by_what_was_done() {
    let mut staff = Staff::new(APPROVE, "");
    staff.reads(&row(1, "Clerk,,"));
    staff.decide(&["approve"]);
    let id = staff.world.held_as(1).unwrap()["id"].as_i64().unwrap();
    staff.after(2);
    staff.world.service().remove("staff", id);
    staff.after(2);
    assert_eq!(staff.title(), None, "to make them again is another question");
    staff.decide(&["approve"]);
    assert_eq!(staff.title().as_deref(), Some("Clerk"));
}

/// The limits of one file say nothing of the next one, and what they hold stays held.
#[test]
fn law_7_what_a_limit_holds_waits_though_later_files_are_small() {
    let mut staff = Staff::new("", "[job.guard]\nmax_creates = 3\n");
    staff.reads(&[1, 21, 22, 23].map(|number| row(number, "Clerk,,")).concat());
    assert_eq!(staff.title(), None, "four are too many");
    staff.reads(&row(31, "Clerk,,"));
    assert_eq!((staff.title(), staff.world.staff().len()), (None, 13), "one is not");
    staff.reads(&row(21, "Nurse,,"));
    assert_eq!((staff.title(), staff.world.staff().len()), (None, 14), "nor is one of the four by itself");
    staff.decide(&["approve"]);
    assert_eq!((staff.title().as_deref(), staff.world.staff().len()), (Some("Clerk"), 17));
}

#[test]
fn law_6_whose_preferred_contract_ends_stays_by_the_other() {
    let rows = |all: &[&str]| all.iter().map(|rest| row(1, rest)).collect::<String>();
    // The rows, and what each day finds: the day of the file, then the second, fourth and seventh after it.
    for (all, found) in [
        (&["5,,2027-03-02", "1,,"][..], [Some("5"), Some("1"), Some("1"), Some("1")]),
        (&["1,,", "5,,2027-03-02"], [Some("5"), Some("1"), Some("1"), Some("1")]),
        (&["5,,2027-03-02", "1,,2027-03-04"], [Some("5"), Some("1"), None, None]),
        (&["1,,", "5,2027-03-03,2027-03-04"], [Some("1"), Some("5"), Some("1"), Some("1")]),
        (&["5,,2027-03-02", "1,,", "4,2027-03-05,2027-03-06"], [Some("5"), Some("1"), Some("4"), Some("1")]),
        (&["5,,2027-03-02", "3,,2027-03-04", "1,,"], [Some("5"), Some("3"), Some("1"), Some("1")]),
        (&["5,2027-03-03,2027-03-04", "1,2027-03-02,"], [None, Some("5"), Some("1"), Some("1")]),
        (&["1,2027-03-03,2027-03-04", "5,2027-03-07,"], [None, Some("1"), None, Some("5")]),
        (&["5,,", "1,2027-03-03,"], [Some("5"), Some("5"), Some("5"), Some("5")]),
    ] {
        let mut staff = Staff::new("prefer = \"{{ title }}\"\n", "");
        staff.reads(&rows(all));
        let mut titles = vec![staff.title()];
        for days in [2, 2, 3] {
            staff.after(days);
            titles.push(staff.title());
        }
        assert_eq!(titles, found.map(|title| title.map(str::to_owned)), "{all:?}");
    }
}

#[test]
fn law_6_the_last_days_that_count_are_those_of_the_last_row_though_the_service_refused_it() {
    for (first, last, expected) in [
        ("Clerk,,", "Clerk,,2027-03-03", None),
        ("Clerk,,2027-03-03", "Clerk,,2027-03-30", Some("Clerk")),
        ("Clerk,,2027-03-03", "Clerk,,", Some("Clerk")),
    ] {
        let mut staff = Staff::new("", "");
        staff.world.faults(&["staff.create status=422"]);
        staff.reads(&row(1, first));
        staff.reads(&row(1, last));
        staff.world.faults(&[]);
        staff.decide(&["queue", "retry"]);
        assert_eq!(staff.title().as_deref(), Some("Clerk"), "{last}");
        staff.after(4);
        assert_eq!(staff.title().as_deref(), expected, "{last}");
    }
}

#[test]
fn law_1_who_has_a_next_contract_gets_it_though_the_first_one_was_held_or_refused() {
    let rows = |number: usize| row(number, "A,,2027-03-02") + &row(number, "B,2027-03-03,");
    for (job, rest, fault) in
        [(APPROVE, "", None), ("", "[job.guard]\nmax_creates = 3\n", None), ("", "", Some("staff.create status=422"))]
    {
        let mut staff = Staff::new("", rest);
        staff.world.reconfigure(|config| config.job(job));
        staff.world.faults(&fault.into_iter().collect::<Vec<_>>());
        staff.reads(&[1, 21, 22, 23].map(rows).concat());
        assert_eq!(staff.title(), None, "{job}{rest}{fault:?}");
        staff.world.faults(&[]);
        staff.after(3);
        staff.decide(&["approve"]);
        assert_eq!(staff.title().as_deref(), Some("B"), "{job}{rest}{fault:?}");
    }
}

#[test]
fn law_7_leavers_over_a_limit_wait_for_a_decision_though_one_of_them_is_mended() {
    let mut staff = Staff::new("include = \"{{ title != 'gone' }}\"\n", "[job.guard]\nmax_leavers = 3\n");
    staff.reads(&(2..6).map(|number| row(number, "gone,,")).collect::<String>());
    assert_eq!(staff.world.staff().len(), 12, "four are too many");
    staff.reads(&row(2, "3,,"));
    staff.reads(&row(6, "gone,,"));
    assert_eq!(staff.world.staff().len(), 11, "three wait, and another one leaves");
    staff.decide(&["approve"]);
    assert_eq!(staff.world.staff().len(), 8);
}

#[test]
fn law_6_a_last_day_waits_for_a_file_that_may_put_it_off() {
    let mut staff = Staff::new("", "");
    staff.reads(&row(1, "Clerk,,"));
    let id = staff.world.held_as(1).unwrap()["id"].clone();
    let put = |name: &str, rows: &str| Inbox(&staff.world).drop(name, HEADER.to_owned() + rows);
    put("x1.csv", &row(1, "Clerk,,2027-03-02"));
    put("x2.csv", &row(1, "Clerk,,"));
    staff.after(3);
    assert_eq!(staff.world.held_as(1).unwrap()["id"], id, "the second one puts it off");
    put("x3.csv", &row(1, "Clerk,,2027-03-02"));
    put("x4.csv", &row(2, "3,,"));
    staff.after(1);
    assert_eq!(staff.title(), None, "the second one says nothing of it");
}

#[test]
fn what_the_service_lacks_is_looked_at_again_beside_a_next_contract() {
    let mut staff = Staff::new("", "");
    staff.world.reconfigure(|config| config.map("location = \"{{ title | replace('A', '') }}\"\n"));
    staff.reads(&row(2, "3,,"));
    staff.decide(&["approve"]);
    staff.reads(&(row(1, "There A,,2027-03-05") + &row(1, "There,2027-03-06,")));
    staff.decide(&["approve"]);
    staff.world.service().put("location", serde_json::json!({"name": "There"}));
    staff.after(2);
    staff.decide(&["approve"]);
    let is_there = |staff: &Staff| staff.world.held_as(1).is_some_and(|one| one["location"] == "There");
    assert!(is_there(&staff), "{:?}", staff.world.held_as(1));
    staff.after(5);
    staff.decide(&["approve"]);
    assert_eq!(staff.title().as_deref(), Some("There"), "the next one has begun");
}
