//! The same where a row is about one of several companies of its person.

use jiff::SignedDuration;
use rosterd::clock::Clock;

use super::LEAVE;
use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, World};

const HEADER: &str = "No,Name,Email,Company,Status,Start,End\n";

/// A world with files of changes of contractors, on its clock.
struct Site {
    world: World,
    clock: Clock,
    files: usize,
}

impl Site {
    /// A dozen people, and a file of each of these rows of the person that the test is about.
    fn new(rows: &[&str]) -> Self {
        let clock = Clock::fixed("2027-03-01T10:00:00Z".parse().unwrap());
        let job = "key = \"{{ no }}\"\nmatch_on = [\"email\"]\ninclude = \"{{ status != 'gone' }}\"\n\
                   active_from = \"{{ start }}\"\nactive_until = \"{{ end }}\"\n";
        let map = "name = \"{{ name }}\"\nemail = \"{{ email }}\"\n\"org.name\" = \"{{ company }}\"\n";
        let config = Config {
            target: "contractor".into(),
            source: "settle = \"0s\"\nmode = \"changes\"\n".into(),
            job: job.into(),
            map: map.into(),
            ..Config::rest(LEAVE)
        };
        let mut site = Self { world: inbox_of(World::at(&clock, config)), clock, files: 0 };
        let others = (2..14).map(|number| format!("C{number},Con {number},c{number}@x.com,Acme,,,\n"));
        site.reads(&others.collect::<String>());
        for row in rows {
            site.arrives(row);
        }
        site
    }

    fn reads(&mut self, rows: &str) {
        self.files += 1;
        Inbox(&self.world).drop(&format!("f{}.csv", self.files), HEADER.to_owned() + rows);
        self.after(0);
    }

    /// A file that says this of her: company, status, first and last day.
    fn arrives(&mut self, row: &str) {
        self.reads(&format!("C1,Ana Lee,ana@x.com,{row}\n"));
    }

    fn after(&self, days: i64) {
        self.clock.advance(SignedDuration::from_hours(24 * days));
        self.world.sync_at(&self.clock);
        self.world.sync_at(&self.clock);
    }

    /// The companies that she works for; none where she is not at the service.
    fn companies(&self) -> Option<Vec<String>> {
        let all = |what: &str| self.world.service().all(what);
        let her = all("sp.member").into_iter().find(|one| one["email"] == "ana@x.com")?;
        let pairs = all("sp.membership").into_iter().filter(|pair| pair["member_id"] == her["id"]);
        let name = |id| all("sp.org").into_iter().find(|one| one["id"] == id).unwrap()["name"].clone();
        let mut names: Vec<String> =
            pairs.map(|pair| name(pair["org_id"].clone()).as_str().unwrap().to_owned()).collect();
        names.sort();
        Some(names)
    }

    fn expect(&self, companies: Option<&[&str]>, when: &str) {
        let expected = companies.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(self.companies(), expected, "{when}");
    }
}

#[test]
fn law_1_who_begins_later_at_one_company_comes_though_a_row_about_another_follows() {
    for (what, rows, before) in [
        ("the other is over", &["Acme,,,", "Bolt,,2027-03-03,", "Acme,gone,,"][..], None),
        ("she is new, and the other was never there", &["Bolt,,2027-03-03,", "Acme,gone,,"], None),
        ("she is new, and begins there later", &["Bolt,,2027-03-03,", "Acme,,2027-03-20,"], None),
        ("the same in the other order", &["Acme,,2027-03-20,", "Bolt,,2027-03-03,"], None),
        ("both in one file", &["Bolt,,2027-03-03,\nC1,Ana Lee,ana@x.com,Acme,,2027-03-20,"], None),
        ("the other one ends on that day", &["Acme,,,2027-03-02", "Bolt,,2027-03-03,"], Some(&["Acme"][..])),
    ] {
        let site = Site::new(rows);
        site.expect(before, what);
        site.after(2);
        site.expect(Some(&["Bolt"]), what);
    }
}

#[test]
fn law_1_who_goes_to_another_company_stays_though_the_new_membership_was_given_up() {
    let mut site = Site::new(&["Acme,,,"]);
    site.reads("C20,Con 20,c20@x.com,Bolt,,,\n");
    site.world.faults(&["sp.membership.create status=422 times=1"]);
    site.arrives("Acme,gone,,\nC1,Ana Lee,ana@x.com,Bolt,,,");
    site.expect(Some(&["Acme"]), "the new one was refused");
    site.world.run(&["queue", "drop", "staff", "C1 @ Bolt"]).expect(0);
    site.after(0);
    assert!(site.companies().is_some(), "a row has her");
    site.arrives("Bolt,gone,,");
    site.expect(None, "and now none has");
}

#[test]
fn who_begins_later_at_two_companies_is_there_for_both() {
    let mut site = Site::new(&["Bolt,,2027-03-03,2027-03-04", "Crow,,2027-03-10,"]);
    site.after(2);
    site.expect(Some(&["Bolt"]), "the first has begun");
    site.after(3);
    site.expect(None, "the first is over");
    site.after(5);
    site.expect(Some(&["Crow"]), "the second has begun");
    site.arrives("Crow,gone,,");
    site.expect(None, "both are over");
}

#[test]
fn whose_only_company_takes_its_later_day_back_does_not_come() {
    let site = Site::new(&["Bolt,,2027-03-03,", "Bolt,gone,,"]);
    site.after(5);
    site.expect(None, "nothing is left");
}

#[test]
fn who_comes_back_to_a_company_for_some_days_leaves_after_them() {
    let site = Site::new(&["Acme,,,\nC1,Ana Lee,ana@x.com,Bolt,,,", "Acme,,2027-03-03,2027-03-05", "Bolt,gone,,"]);
    site.after(3);
    site.expect(Some(&["Acme"]), "the days have begun");
    site.after(4);
    site.expect(None, "no company is left");
}

#[test]
fn who_begins_on_a_day_on_which_two_files_come_is_there() {
    let site = Site::new(&["Bolt,,2027-03-03,"]);
    site.clock.advance(SignedDuration::from_hours(48));
    for name in ["x1", "x2"] {
        Inbox(&site.world).drop(&format!("{name}.csv"), format!("{HEADER}C2,Con {name},c2@x.com,Acme,,,\n"));
    }
    site.after(0);
    site.expect(Some(&["Bolt"]), "she has begun");
}

#[test]
fn law_8_no_one_leaves_by_the_day_of_a_row_that_is_not_used() {
    for row in [
        "C1,,ana@x.com,Bolt,,,2027-03-12",
        "C1,,ana@x.com,Bolt,,,2027-03-05",
        "C1,Ana Lee,ana@x.com,Bolt,,,2027-03-12\nC1,Ana Leeds,ana@x.com,Bolt,,,2027-03-15",
        "C1,,ana@x.com,Bolt,,,2027-03-12\nC2,Con 2,c2@x.com,Acme,,,",
    ] {
        let mut site = Site::new(&["Bolt,,,2027-03-05"]);
        site.reads(&format!("{row}\n"));
        for days in [5, 9, 9] {
            site.after(days);
            site.expect(Some(&["Bolt"]), &format!("{row}: {days} days later"));
        }
        site.arrives("Bolt,,,2027-03-10");
        site.expect(None, row);
    }
}

#[test]
fn whose_first_day_is_taken_back_or_put_off_on_that_day_does_not_come() {
    let mut site = Site::new(&["Bolt,,2027-03-03,"]);
    site.clock.advance(SignedDuration::from_hours(48));
    site.arrives("Bolt,gone,,");
    site.expect(None, "taken back");
    site.arrives("Bolt,,2027-03-06,");
    site.clock.advance(SignedDuration::from_hours(72));
    site.arrives("Bolt,,2027-03-08,");
    site.expect(None, "put off");
    site.after(2);
    site.expect(Some(&["Bolt"]), "she has begun");
}

#[test]
fn whose_last_company_ends_by_its_last_day_leaves_though_another_named_none() {
    let site = Site::new(&["Acme,,,2027-03-03\nC1,Ana Lee,ana@x.com,Bolt,,,", "Bolt,gone,,"]);
    site.expect(Some(&["Acme"]), "one is left");
    site.after(4);
    site.expect(None, "no company is left");
}

#[test]
fn law_6_who_waits_for_a_new_company_is_not_removed_with_the_old_one() {
    let mut site = Site::new(&["Acme,,,"]);
    site.world.reconfigure(|config| Config { job: config.job + "writes = \"approve\"\n", ..config });
    site.arrives("Bolt,,,");
    site.arrives("Acme,gone,,");
    site.world.run(&["approve"]).expect(0);
    site.after(0);
    site.expect(Some(&["Bolt"]), "all is approved");
}

/// The service refuses a membership of someone it does not hold.
#[test]
fn law_1_who_is_gone_from_the_service_has_what_a_file_said_meanwhile_once_they_are_made_again() {
    for (row, expected) in [
        ("Bolt,,,", Some(&["Acme", "Bolt"][..])),
        ("Bolt,,,\nC1,Ana Lee,ana@x.com,Acme,gone,,", Some(&["Bolt"])),
        ("Acme,gone,,", None),
    ] {
        let mut site = Site::new(&["Acme,,,"]);
        let members = site.world.service().all("sp.member");
        let her = members.iter().find(|one| one["email"] == "ana@x.com").unwrap();
        site.world.service().remove("sp.member", her["id"].as_i64().unwrap());
        site.arrives(row);
        site.expect(None, "only the daily listing shows that she is gone");
        site.after(2);
        site.expect(expected, row);
    }
}

#[test]
fn whose_new_days_at_the_only_company_pass_without_a_run_leaves() {
    let site = Site::new(&["Acme,,,", "Acme,,2027-03-03,2027-03-05"]);
    site.after(7);
    site.expect(None, "both days have passed");
}

/// A site where each change waits for an approval, and at which she has these companies.
fn approving(rows: &[&str]) -> Site {
    let mut site = Site::new(rows);
    site.world.reconfigure(|config| Config { job: config.job + "writes = \"approve\"\n", ..config });
    site
}

#[test]
fn who_is_taken_back_while_their_creation_waits_is_not_made() {
    for row in ["Bolt,gone,,", "Bolt,,,2027-02-27", "Bolt,,2027-09-01,"] {
        for is_approved in [false, true] {
            let mut site = approving(&[]);
            site.arrives("Bolt,,,");
            if is_approved {
                site.world.run(&["approve"]).expect(0);
            }
            Inbox(&site.world).drop("f9.csv", format!("{HEADER}C1,Ana Lee,ana@x.com,{row}\n"));
            site.after(0);
            site.world.run(&["approve"]);
            site.after(0);
            site.expect(None, row);
        }
    }
}

#[test]
fn who_waits_past_their_last_day_is_not_made() {
    let mut site = approving(&[]);
    site.arrives("Bolt,,,2027-03-02");
    site.clock.advance(SignedDuration::from_hours(72));
    site.world.run(&["approve"]).expect(0);
    site.after(0);
    site.expect(None, "the last day has passed");
}

#[test]
fn law_8_a_row_about_another_company_that_can_not_be_used_keeps_no_one_out_on_their_first_day() {
    for (bad, companies) in
        [("Core,,,xx", &["Bolt"][..]), ("Core,,,\nC1,Another Name,ana@x.com,Core,,,", &["Bolt"]), (",,,", &["Bolt"])]
    {
        let mut site = Site::new(&["Bolt,,2027-03-03,"]);
        site.clock.advance(SignedDuration::from_hours(48));
        site.reads(&format!("C1,Ana Lee,ana@x.com,{bad}\nC2,Con Two,c2@x.com,Acme,,,\n"));
        site.expect(Some(companies), bad);
    }
}

#[test]
fn who_goes_to_another_company_is_one_update() {
    let limited = "max_leavers = \"off\"\nmax_updates = 3\n";
    let mut site = Site::new(&["Acme,,,"]);
    site.world.reconfigure(|config| Config { rest: format!("{}[job.guard]\n{limited}", config.rest), ..config });
    let rows = |count: u32| {
        let rows = (2..count).map(|number| {
            format!(
                "C{number},Con {number},c{number}@x.com,Acme,gone,,\nC{number},Con {number},c{number}@x.com,Bolt,,,\n"
            )
        });
        rows.collect::<String>()
    };
    site.reads(&(rows(7) + "C1,Ana Lee,ana@x.com,Acme,gone,,\nC1,Ana Lee,ana@x.com,Bolt,,,\n"));
    site.expect(Some(&["Acme"]), "six are too many");
    site.after(1);
    site.expect(Some(&["Acme"]), "and wait until it is decided");
    site.world.run(&["approve"]).expect(0);
    site.after(0);
    site.expect(Some(&["Bolt"]), "all move");
}

#[test]
fn law_6_a_decision_on_a_half_of_a_move_is_one_on_both() {
    for (decision, keys, expected) in [
        ("reject", &["C1 @ Acme", "C1 @ Bolt"][..], "Acme"),
        ("reject", &["C1 @ Bolt"], "Acme"),
        ("approve", &["C1 @ Acme"], "Bolt"),
    ] {
        let mut site = approving(&["Acme,,,"]);
        site.arrives("Acme,gone,,\nC1,Ana Lee,ana@x.com,Bolt,,,");
        site.world.run(&["approve", "staff", "Bolt"]);
        site.world.run(&[&[decision, "staff"], keys].concat());
        site.after(0);
        site.world.run(&["approve"]);
        site.after(0);
        site.expect(Some(&[expected]), decision);
    }
}

#[test]
fn nothing_is_held_of_what_waited_for_its_member_and_is_done() {
    let site = Site::new(&["Bolt,,2027-03-03,"]);
    site.world.faults(&["sp.member.create status=503"]);
    site.after(2);
    site.world.faults(&[]);
    site.after(0);
    site.expect(Some(&["Bolt"]), "the service is back");
    let report = site.world.sync_at(&site.clock);
    assert!(report.held.is_empty(), "{:?}", report.held);
}

/// The days of a row count though the service refused what it wants before.
#[test]
fn law_6_the_last_days_that_count_are_those_of_the_last_row() {
    for (first, last, days, expected) in [
        ("Bolt,,,", "Bolt,,,2027-03-03", 4, None),
        ("Bolt,,,2027-03-03", "Bolt,,,2027-03-30", 4, Some(&["Bolt"][..])),
        ("Bolt,,,2027-03-03", "Bolt,,,", 4, Some(&["Bolt"])),
    ] {
        for refused in ["sp.member.create status=422", "sp.membership.create status=422"] {
            let mut site = Site::new(&[]);
            site.world.faults(&[refused]);
            site.arrives(first);
            site.arrives(last);
            site.world.faults(&[]);
            site.world.run(&["queue", "retry"]);
            site.after(0);
            site.expect(Some(&["Bolt"]), first);
            site.after(days);
            site.expect(expected, last);
        }
    }
}

#[test]
fn who_is_on_site_or_protected_leaves_once_they_are_not() {
    let mut site = Site::new(&["Acme,,,"]);
    let members = site.world.service().all("sp.member");
    let her = members.iter().find(|one| one["email"] == "ana@x.com").unwrap()["id"].as_i64().unwrap();
    site.world.service().edit("sp.member", her, serde_json::json!({"onsite_status": "onsite"}));
    site.arrives("Acme,gone,,");
    site.expect(Some(&["Acme"]), "she is on site");
    site.world.reconfigure(|config| Config { job: config.job + "protect = [\"C1\"]\n", ..config });
    site.world.service().edit("sp.member", her, serde_json::json!({"onsite_status": "offsite"}));
    site.after(1);
    site.expect(Some(&["Acme"]), "she is protected");
    site.world.reconfigure(|config| Config { job: config.job.replace("protect = [\"C1\"]\n", ""), ..config });
    site.after(0);
    site.expect(None, "nothing keeps her");
    assert!(site.world.sync_at(&site.clock).held.is_empty());
}

#[test]
fn whose_leaving_was_rejected_gets_another_company_besides() {
    let mut site = approving(&["Acme,,,"]);
    site.arrives("Acme,gone,,");
    site.world.run(&["reject", "staff"]).expect(0);
    site.after(0);
    site.arrives("Bolt,,,");
    for _ in 0..2 {
        site.world.run(&["approve", "staff"]);
        site.after(0);
    }
    site.expect(Some(&["Acme", "Bolt"]), "the end was rejected");
}

#[test]
fn law_6_whose_leaving_was_approved_keeps_the_company_until_the_next_one_is_decided_on() {
    let mut site = approving(&["Acme,,,"]);
    site.arrives("Acme,gone,,");
    site.world.run(&["approve", "staff"]).expect(0);
    site.arrives("Bolt,,,");
    site.expect(Some(&["Acme"]), "by now it is a move");
    for _ in 0..2 {
        site.world.run(&["approve", "staff"]);
        site.after(0);
    }
    site.expect(Some(&["Bolt"]), "which is approved");
}

/// No one leaves, or loses a company, by a file with a row of theirs that can't be used.
#[test]
fn law_6_a_row_is_used_as_a_whole_or_not_at_all() {
    let [gone, ends, over] = ["Acme,gone,,", "Acme,,,2027-03-01", "Acme,,,2027-03-02"];
    for (earlier, rows) in [
        (None, vec![gone, "Bolt,,xx,"]),
        (None, vec![ends, "Bolt,,xx,"]),
        (Some(over), vec!["Bolt,,xx,"]),
        (None, vec![gone, ",,,"]),
        (None, vec![ends, ",,,"]),
        (None, vec![",gone,,"]),
        (None, vec!["Bolt,,,", "Crow,,,xx"]),
    ] {
        let mut site = Site::new(&["Acme,,,"]);
        if let Some(row) = earlier {
            site.arrives(row);
        }
        let rows = rows.iter().map(|row| format!("C1,Ana Lee,ana@x.com,{row}\n")).collect::<String>();
        site.reads(&(rows.clone() + "C2,Con Two,c2@x.com,Acme,,,\n"));
        site.after(3);
        site.expect(Some(&["Acme"]), &rows);
    }
    let mut site = Site::new(&["Acme,,,"]);
    site.reads("C1,,ana@x.com,Bolt,,,\nC2,Con Two,c2@x.com,Acme,,,\n");
    site.after(1);
    site.expect(Some(&["Acme"]), "a row without a name");
}

/// What an earlier file keeps for a later day, or once something is mended, comes all the same.
#[test]
fn law_1_a_row_that_is_not_used_ends_nothing_that_is_kept() {
    for slip in ["C1,,ana@x.com,Bolt,,,\n", "C1,Ana Lee,ana@x.com,Bolt,,,\nC1,Ana Ley,ana@x.com,Bolt,,,\n"] {
        let mut site = Site::new(&["Acme,,,", "Bolt,,2027-03-03,"]);
        site.reads(slip);
        site.after(3);
        site.expect(Some(&["Acme", "Bolt"]), slip);
    }
}

/// Where the organization of a row of theirs can't be read, no one leaves, and what is not used for it is rejected.
#[test]
fn law_6_a_row_that_may_be_about_any_company_keeps_its_person() {
    for rows in [["Acme,gone,,", ",,2027-03-04,"], ["Acme,,,2027-02-27", ",,2027-03-04,"], ["Acme,,,2027-03-02", ",,,"]]
    {
        let mut site = Site::new(&["Acme,,,"]);
        let rows: String = rows.iter().map(|row| format!("C1,Ana Lee,ana@x.com,{row}\n")).collect();
        site.files += 1;
        let another = "C2,Con Two,c2@x.com,Acme,,,\n";
        Inbox(&site.world).drop(&format!("f{}.csv", site.files), HEADER.to_owned() + &rows + another);
        let report = site.world.sync_at(&site.clock);
        assert_eq!(report.counts.rejected, 2, "{rows}: {:?}", report.rejections);
        site.after(2);
        site.expect(Some(&["Acme"]), &rows);
    }
}

#[test]
fn who_was_rejected_is_asked_about_again_at_another_company() {
    let mut site = approving(&[]);
    site.arrives("Bolt,,,");
    site.world.run(&["reject"]).expect(0);
    site.after(0);
    site.arrives("Crow,,,");
    for _ in 0..2 {
        site.world.run(&["approve"]);
        site.after(0);
    }
    site.expect(Some(&["Crow"]), "approved");
}

/// Both halves of a removal that was approved end by a row that may be about any organization.
#[test]
fn law_6_a_row_without_a_company_ends_a_removal_as_a_whole() {
    for decides in [true, false] {
        let mut site = approving(&["Acme,,,"]);
        site.arrives("Acme,gone,,");
        if decides {
            site.world.run(&["approve"]).expect(0);
        }
        site.reads("C1,Ana Lee,ana@x.com,,,,\nC2,Con 2,c2@x.com,Acme,,,\n");
        site.world.run(&["approve"]);
        site.after(1);
        site.expect(Some(&["Acme"]), "approved before");
    }
}

/// Their memberships go along.
#[test]
fn law_6_whose_new_number_was_approved_keeps_the_other_companies() {
    let mut site = Site::new(&["Acme,,,", "Bolt,,,"]);
    let new = |company: &str, status: &str| format!("N1,Ana Lee,ana@x.com,{company},{status},,\n");
    site.reads(&new("Acme", ""));
    site.world.run(&["approve"]).expect(0);
    site.after(0);
    site.expect(Some(&["Acme", "Bolt"]), "the number");
    site.reads(&new("Acme", "gone"));
    site.expect(Some(&["Bolt"]), "one is over");
    site.reads(&new("Bolt", "gone"));
    site.expect(None, "both are");
}

#[test]
fn law_6_whose_new_number_was_approved_once_the_old_one_was_over_keeps_the_company() {
    let mut site = Site::new(&["Acme,,,2027-03-02"]);
    site.reads("N1,Ana Lee,ana@x.com,Acme,,,\n");
    site.after(3);
    site.world.run(&["approve"]).expect(0);
    site.after(0);
    site.after(1);
    site.expect(Some(&["Acme"]), "the new number");
}

#[test]
fn law_6_an_older_file_ends_no_day_that_a_newer_one_named() {
    let site = Site::new(&["Acme,,,"]);
    let her = |rest: &str| HEADER.to_owned() + &format!("C1,Ana Lee,ana@x.com,{rest}\n");
    Inbox(&site.world).drop("2027-02-20.csv", her("Acme,,,2027-03-02"));
    site.after(0);
    Inbox(&site.world).drop("2027-02-10.csv", her("Acme,,,"));
    site.after(0);
    site.after(3);
    site.expect(None, "the day of the newer file");
}

/// A value of theirs that can't be used is looked at again by each run, as long as they are there.
#[test]
fn a_value_that_can_not_be_used_brings_no_one_back_and_uses_no_row() {
    let with_fax = |config: Config| Config { map: config.map + "altemail = \"none\"\n", ..config };
    let mut site = Site::new(&[]);
    site.world.reconfigure(with_fax);
    site.arrives("Acme,,,");
    site.world.run(&["approve"]);
    site.after(0);
    site.reads("C1,,ana@x.com,Bolt,,,\nC2,Con 2,c2@x.com,Acme,,,\n");
    site.after(1);
    site.expect(Some(&["Acme"]), "a row without a name");
    site.arrives("Acme,gone,,");
    site.after(1);
    site.expect(None, "they left");
}

#[test]
fn law_8_a_row_of_another_person_that_can_not_be_used_keeps_no_company_from_being_made() {
    let mut site = Site::new(&[]);
    site.reads("C1,Ana Lee,ana@x.com,Bolt,,,\nC2,Con 2,c2@x.com,Bolt,,xx,\n");
    site.expect(Some(&["Bolt"]), "her row is right");
}

#[test]
fn law_6_what_an_older_file_ends_is_not_over_before_it_is_decided_on() {
    let site = Site::new(&["Acme,,,"]);
    let drop = |name: &str, rows: &[&str]| {
        let rows = rows.iter().map(|row| format!("C1,Ana Lee,ana@x.com,{row}\n")).collect::<String>();
        Inbox(&site.world).drop(name, format!("{HEADER}{rows}C2,Con Two,c2@x.com,Acme,,,\n"));
        site.after(0);
    };
    drop("s-2027-02-25.csv", &["Acme,,,"]);
    drop("s-2027-02-20.csv", &["Acme,gone,,", "Core,,,"]);
    drop("s-2027-02-27.csv", &["Core,gone,,"]);
    site.expect(Some(&["Acme"]), "no one decided on the older one");
}
