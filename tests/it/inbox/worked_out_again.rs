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
fn law_1_a_last_day_that_a_bad_row_took_back_counts_once_the_same_row_says_it_again() {
    let dated = row(1, "Clerk,,2027-03-05");
    for bad in ["Clerk,,5/3", "Clerk,5/3,"] {
        for beside in [String::new(), row(2, "4,,")] {
            // Said again before that day, or after it.
            for days in [1, 6] {
                let what = format!("{bad} beside {beside:?}, {days} days later");
                let mut staff = Staff::new("", "");
                staff.reads(&row(1, "Clerk,,"));
                staff.reads(&(dated.clone() + &beside));
                staff.reads(&(row(1, bad) + &beside.replace("4", "5")));
                staff.after(days);
                assert_eq!(staff.title().as_deref(), Some("Clerk"), "{what}");
                staff.reads(&(dated.clone() + &beside));
                staff.after(6 - days);
                assert_eq!(staff.title(), None, "{what}");
            }
        }
    }
}

#[test]
fn who_waits_on_site_and_then_has_a_bad_row_stays_and_nothing_is_held_of_them() {
    for gone in ["gone,,", "Clerk,,2027-02-27"] {
        let mut staff = Staff::new("include = \"{{ title != 'gone' }}\"\n", "");
        staff.reads(&row(1, "Clerk,,"));
        let id = staff.world.held_as(1).unwrap()["id"].as_i64().unwrap();
        let is_at = |place: &str| serde_json::json!({"onsite_status": place});
        staff.world.service().edit("staff", id, is_at("onsite"));
        staff.reads(&(row(1, gone) + &row(2, "4,,")));
        assert!(staff.world.run(&["plan"]).out.contains("on site"), "{gone}");
        staff.reads(&(row(1, "Clerk,5/3,") + &row(2, "5,,")));
        let status = staff.world.run(&["status", "--json"]).json();
        assert_eq!(status["jobs"][0]["held"], 0, "{gone}: the row took it back");
        staff.world.service().edit("staff", id, is_at("offsite"));
        staff.after(2);
        assert_eq!(staff.title().as_deref(), Some("Clerk"), "{gone}");
        staff.reads(&row(1, gone));
        assert_eq!(staff.title(), None, "{gone}");
    }
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

/// A file may also be read a second time: its row is unchanged then.
#[test]
fn law_6_whose_row_is_unchanged_beside_one_for_some_days_comes_back_to_it() {
    for (first, then, titles) in [
        ("Clerk,,", "Boss,2027-03-03,2027-03-04", [Some("Boss"), Some("Clerk"), Some("Clerk")]),
        ("Clerk,,2027-03-02", "Boss,2027-03-07,", [None, None, Some("Boss")]),
    ] {
        let mut staff = Staff::new("", "");
        let (first, then) = (row(1, first), row(1, then));
        staff.reads(&first);
        staff.reads(&(first + &then));
        for (days, title) in [2, 2, 3].into_iter().zip(titles) {
            staff.after(days);
            assert_eq!(staff.title().as_deref(), title, "{then} after {days}");
        }
    }
}

#[test]
fn law_1_no_last_day_comes_after_rows_of_which_none_can_be_used() {
    let (wrong, another) = ("Clerk,,until June", "Cook,,2027-03-09");
    for (first, rows) in [
        ("Clerk,,2027-03-02", vec!["Boss,,2027-03-09", another]),
        ("Clerk,,2027-03-02", vec![wrong]),
        ("Boss,2027-03-03,2027-03-04", vec![wrong]),
        ("Boss,2027-03-03,2027-03-04", vec!["Boss,,2027-03-09", another]),
    ] {
        for is_known in [true, false] {
            let mut staff = Staff::new("", "");
            if is_known {
                staff.reads(&row(1, "Clerk,,"));
            }
            staff.reads(&row(1, first));
            staff.reads(&rows.iter().map(|rest| row(1, rest)).collect::<String>());
            staff.after(5);
            assert!(staff.title().is_some(), "{first} {rows:?} {is_known}");
        }
    }
}

#[test]
fn law_1_nor_of_what_is_held_or_was_refused() {
    for refused in [true, false] {
        let mut staff = Staff::new(if refused { "" } else { APPROVE }, "");
        staff.world.faults(if refused { &["staff.create status=422"] } else { &[] });
        staff.reads(&row(1, "Clerk,,2027-03-04"));
        staff.world.faults(&[]);
        staff.reads(&row(1, "Clerk,,until June"));
        staff.decide(if refused { &["queue", "retry", "staff"] } else { &["approve"] });
        staff.after(5);
        assert!(staff.title().is_some(), "{refused}");
    }
}

/// Of a file that is too short nothing is taken, and its bad row may take back all the same what an earlier one said.
#[test]
fn law_1_a_bad_row_of_a_file_that_is_not_taken_ends_the_removal_that_waits() {
    // One waits for a decision, or until the person has left the site.
    for is_held in [true, false] {
        let job = "include = \"{{ title != 'gone' }}\"\n".to_owned() + if is_held { APPROVE } else { "" };
        let mut staff = Staff::new(&job, "[job.guard]\nmin_records = 3\nmax_leavers = \"off\"\n");
        let there = |staff: &Staff, number: usize| staff.world.held_as(number).is_some();
        let are_at = |staff: &Staff, place: &str| {
            for number in [2, 3] {
                let id = staff.world.held_as(number).unwrap()["id"].as_i64().unwrap();
                staff.world.service().edit("staff", id, serde_json::json!({"onsite_status": place}));
            }
        };
        are_at(&staff, if is_held { "offsite" } else { "onsite" });
        let gone: String = [2, 3].map(|number| row(number, "gone,,")).concat();
        staff.reads(&(gone + &[4, 5].map(|number| row(number, "3,,")).concat()));
        staff.reads(&row(2, "Clerk,5/3,"));
        assert!(there(&staff, 2) && there(&staff, 3), "{is_held}");
        are_at(&staff, "offsite");
        staff.decide(&["approve"]);
        assert_eq!((there(&staff, 2), there(&staff, 3)), (true, false), "{is_held}: no row took the other one back");
        assert_eq!(staff.world.run(&["status", "--json"]).json()["jobs"][0]["held"], 0, "{is_held}");
    }
}

#[test]
fn law_1_a_bad_row_of_a_file_that_is_not_taken_ends_the_last_day_that_was_named() {
    let mut staff = Staff::new("", "[job.guard]\nmin_records = 3\nmax_leavers = \"off\"\n");
    // Two whose last day is known, and two who have one once another row of theirs counts.
    let (known, later) = ("3,,2027-03-04", "Boss,2027-03-02,2027-03-04");
    staff.reads(&[(2, known), (3, known), (4, later), (5, later)].map(|(number, rest)| row(number, rest)).concat());
    staff.reads(&[2, 4].map(|number| row(number, "Clerk,,until June")).concat());
    staff.after(5);
    let left: Vec<usize> = (2..6).filter(|number| staff.world.held_as(*number).is_some()).collect();
    assert_eq!(left, [2, 4]);
}

#[test]
fn law_5_what_an_outage_keeps_from_being_sent_is_sent_though_no_file_says_it_again() {
    for approved in [true, false] {
        let mut staff = Staff::new(if approved { APPROVE } else { "" }, "");
        staff.reads(&row(1, "Clerk,,"));
        staff.decide(&["approve"]);
        staff.reads(&row(1, if approved { "Boss,," } else { "Boss,2027-03-03," }));
        staff.world.faults(&["staff.update status=503"]);
        staff.world.run(&["approve"]);
        staff.after(2);
        assert_eq!(staff.title().as_deref(), Some("Clerk"));
        staff.world.faults(&[]);
        staff.after(0);
        assert_eq!(staff.title().as_deref(), Some("Boss"), "{approved}");
    }
}

#[test]
fn a_limit_on_updates_holds_no_one_whose_last_day_has_passed() {
    let mut staff = Staff::new("", "[job.guard]\nmax_updates = 3\n");
    staff.reads(&(row(1, "Clerk,,") + &(14..24).map(|number| row(number, "3,,")).collect::<String>()));
    staff.reads(&(row(1, "Boss,,2027-03-02") + &(2..6).map(|number| row(number, "4,,")).collect::<String>()));
    assert_eq!(staff.title().as_deref(), Some("Clerk"));
    staff.after(2);
    assert_eq!(staff.title(), None);
}

#[test]
fn what_files_of_changes_kept_for_later_ends_with_a_list_of_everyone() {
    let mut staff = Staff::new("", "");
    staff.reads(&(row(1, "Clerk,2027-03-03,") + &row(2, "Boss,2027-03-03,")));
    staff.world.reconfigure(|config| Config { source: "settle = \"0s\"\n".into(), ..config });
    let everyone: String = (2..14).map(|number| row(number, "3,,")).collect();
    staff.reads(&everyone);
    staff.world.reconfigure(|config| Config { source: config.source + "mode = \"changes\"\n", ..config });
    staff.after(4);
    staff.reads(&row(3, "Nurse,,"));
    let titles = [1, 2, 3].map(|number| staff.world.held_as(number).map(|one| one["title"].clone()));
    assert_eq!(titles, [None, Some("3".into()), Some("Nurse".into())]);
}

#[test]
fn each_run_says_that_what_waits_for_its_day_was_read_by_another_mapping() {
    let mut staff = Staff::new("", "");
    staff.reads(&row(1, "Clerk,2027-03-09,"));
    staff.world.reconfigure(|config| Config { map: config.map + "phone = \"03 123\"\n", ..config });
    for _ in 0..2 {
        let reasons = staff.world.sync_at(&staff.clock).reasons;
        assert!(reasons.iter().any(|reason| reason.text.contains("can't be used any more")), "{reasons:?}");
    }
}

#[test]
fn law_6_who_has_a_new_key_in_a_file_of_changes_is_asked_about_and_a_leaver_no_one_knows_is_named() {
    let mut staff = Staff::new("include = \"{{ title != 'gone' }}\"\n", "");
    let named = |number: usize, key: &str, title: &str| row(number, title).replace(&format!("P{number:05}"), key);
    staff.reads(&row(1, "Clerk,,"));
    let id = staff.world.held_as(1).unwrap()["id"].clone();
    staff.reads(&named(1, "N1", "Boss,,"));
    assert_eq!(staff.title().as_deref(), Some("Clerk"), "it waits");
    staff.decide(&["approve"]);
    let now = staff.world.staff().into_iter().find(|one| one["email"] == "person1@example.com").unwrap();
    assert_eq!((&now["id"], &now["title"]), (&id, &"Boss".into()));
    Inbox(&staff.world).drop("gone.csv", HEADER.to_owned() + &row(1, "gone,,"));
    let reasons = staff.world.sync_at(&staff.clock).reasons;
    assert!(reasons.iter().any(|reason| reason.text.contains("does not know that it is gone")), "{reasons:?}");
    staff.reads(&named(1, "N1", "gone,,"));
    assert_eq!(staff.world.staff().len(), 12);
}

/// Whichever comes first: that the old number is gone, or the new one.
#[test]
fn law_6_whose_new_number_was_approved_is_not_removed_under_the_old_one() {
    let new = row(1, "Boss,,").replace("P00001", "N1");
    for (first, files) in [
        ("Clerk,,", vec![new.clone(), row(1, "gone,,")]),
        ("Clerk,,", vec![new.clone() + &row(1, "gone,,")]),
        ("Clerk,,2027-03-02", vec![new.clone()]),
        ("Clerk,2027-03-01,", vec![row(1, "Cook,2027-03-03,"), new]),
        ("Clerk,,2027-03-02", vec![row(1, "Boss,2027-03-03,").replace("P00001", "N1")]),
    ] {
        let mut staff = Staff::new("include = \"{{ title != 'gone' }}\"\n", "");
        staff.reads(&row(1, first));
        let id = staff.world.held_as(1).unwrap()["id"].clone();
        for file in &files {
            staff.reads(file);
        }
        for days in [0, 4, 0] {
            staff.after(days);
            staff.decide(&["approve"]);
        }
        let her: Vec<_> = staff.world.staff().into_iter().filter(|one| one["email"] == "person1@example.com").collect();
        assert_eq!((her.len(), &her[0]["id"], &her[0]["title"]), (1, &id, &"Boss".into()), "{files:?}");
    }
}

#[test]
fn law_5_an_approved_update_that_met_an_outage_is_asked_about_again_where_the_person_was_edited_since() {
    let mut staff = Staff::new(APPROVE, "");
    staff.reads(&row(1, "Clerk,,"));
    staff.decide(&["approve"]);
    staff.reads(&row(1, "Boss,,"));
    staff.world.faults(&["staff.update status=503"]);
    staff.decide(&["approve"]);
    staff.world.faults(&[]);
    let id = staff.world.held_as(1).unwrap()["id"].as_i64().unwrap();
    staff.world.service().edit("staff", id, serde_json::json!({"title": "By hand"}));
    staff.after(0);
    assert_eq!(staff.title().as_deref(), Some("By hand"));
    staff.decide(&["approve"]);
    assert_eq!(staff.title().as_deref(), Some("Boss"));
}

#[test]
fn law_8_equal_rows_that_begin_later_are_one_beside_a_third() {
    let mut staff = Staff::new("", "");
    let later = row(1, "Cook,2027-03-03,2027-03-04");
    staff.reads(&(later.clone() + &later + &row(1, "Boss,2027-03-06,")));
    staff.after(2);
    assert_eq!(staff.title().as_deref(), Some("Cook"));
    staff.after(4);
    assert_eq!(staff.title().as_deref(), Some("Boss"));
}

#[test]
fn law_9_a_last_day_that_differs_from_the_one_before_outlives_a_rebuild() {
    let mut staff = Staff::new("", "");
    staff.reads(&row(1, "Clerk,,2027-03-02"));
    staff.reads(&(row(1, "Cook,,2027-03-03") + &row(1, "Boss,2027-03-06,")));
    staff.world.run(&["rebuild"]).expect(0);
    staff.after(3);
    assert_eq!(staff.title(), None);
    staff.after(3);
    assert_eq!(staff.title().as_deref(), Some("Boss"));
}

#[test]
fn law_6_a_new_number_is_asked_about_again_where_a_newer_file_has_the_old_one() {
    for again in ["Cook,,", "Clerk,,"] {
        let mut staff = Staff::new("", "");
        staff.reads(&row(1, "Clerk,,"));
        staff.reads(&row(1, "Boss,,").replace("P00001", "N1"));
        staff.world.run(&["approve"]).expect(0);
        staff.reads(&row(1, again));
        assert_eq!(staff.title().as_deref(), Some(&again[..again.len() - 2]), "{again}");
    }
}

/// No later file says it again, and a plan of one holds what that says besides.
#[test]
fn a_plan_shows_what_earlier_files_left_with_the_fields_that_it_would_change_by_now() {
    let mut staff = Staff::new("", "");
    staff.world.reconfigure(|config| config.job(APPROVE));
    staff.reads(&[2, 3].map(|number| row(number, "Nurse,,")).concat());
    let ids = [2, 3].map(|number| staff.world.held_as(number).unwrap()["id"].as_i64().unwrap());
    staff.world.service().edit("staff", ids[0], serde_json::json!({"title": "Nurse", "name": "Edited"}));
    staff.after(0);
    let shown = |staff: &Staff| {
        let planned = staff.world.plan().expect(0).job();
        let one = |one: &serde_json::Value| (one["key"].clone(), one["fields"].clone(), one["held"].is_null());
        planned["changes"].as_array().unwrap().iter().map(one).collect::<Vec<_>>()
    };
    let expected = |is_free| {
        let name = serde_json::json!({"name": {"from": "Edited", "to": "Person 2"}});
        let title = serde_json::json!({"title": {"from": "3", "to": "Nurse"}});
        [("P00002".into(), name, is_free), ("P00003".into(), title, is_free)]
    };
    assert_eq!(shown(&staff), expected(false));
    staff.world.faults(&["staff.update status=503"]);
    staff.decide(&["approve"]);
    assert_eq!(shown(&staff), expected(true), "approved, and not delivered");
    staff.world.faults(&[]);
    staff.reads(&row(21, "Clerk,,"));
    assert_eq!(shown(&staff).len(), 1, "the create of the new file waits for an approval");
    let titles = [2, 3].map(|number| staff.world.held_as(number).unwrap()["title"].clone());
    assert_eq!(titles, ["Nurse", "Nurse"]);
}
